"""The assignment step, and what is counted around it: compiled, O(n k).

Entry points: `step` (who moves where), `self_sums`, `cluster_totals`, and `sorted_by_cluster`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offgrid.engine.compiling import exact

# A point moves only if another proximity exceeds its own cluster's by more than this (proximities are at most 1).
TOLERANCE = 1e-12


@exact
def step(sums: Any, self_sums: Any, shares: Any, labels: Any) -> Any:
    """Return the labels, (n,), after one assignment step.

    The proximity of a row to a cluster is 2 S / n_i - B / n_i**2, from its sums, (n, k), the clusters' self-sums, (k,),
    and the shares 1 / n_i; 0 for an empty cluster. A point goes to the cluster of largest proximity, and stays where it
    is unless that proximity exceeds its own cluster's by more than `TOLERANCE`. Of several that are the largest to
    within `TOLERANCE` it takes the lowest index: rounding, which depends on the order of a sum, has no say.
    """
    stepped = labels.copy()
    norms = np.empty(shares.shape[0])
    for j in range(shares.shape[0]):
        norms[j] = self_sums[j] * shares[j] * shares[j]
    for i in range(sums.shape[0]):
        own = labels[i]
        largest = -np.inf
        for j in range(shares.shape[0]):
            largest = max(largest, 2.0 * sums[i, j] * shares[j] - norms[j])
        if largest - (2.0 * sums[i, own] * shares[own] - norms[own]) > TOLERANCE:
            best = 0
            while 2.0 * sums[i, best] * shares[best] - norms[best] < largest - TOLERANCE:
                best += 1
            stepped[i] = best
    return stepped


@exact
def self_sums(sums: Any, labels: Any) -> Any:
    """Return the sums over the pairs inside each cluster, (k,): the total of its rows' sums to it."""
    totals = np.zeros(sums.shape[1])
    for i in range(sums.shape[0]):
        totals[labels[i]] += sums[i, labels[i]]
    return totals


@exact
def cluster_totals(values: Any, offsets: Any) -> Any:
    """Return the clusters' totals of values of rows sorted by cluster, (n, m), as (m, k), added row after row."""
    totals = np.zeros((values.shape[1], offsets.shape[0] - 1))
    for j in range(totals.shape[1]):
        for i in range(offsets[j], offsets[j + 1]):
            for p in range(totals.shape[0]):
                totals[p, j] += values[i, p]
    return totals


@exact
def sorted_by_cluster(labels: Any, n_clusters: int) -> Any:
    """Return the rows sorted by cluster, then by index, (n,), and where each cluster begins, (k + 1,)."""
    offsets = np.zeros(n_clusters + 1, dtype=np.int64)
    for i in range(labels.shape[0]):
        offsets[labels[i] + 1] += 1
    for j in range(n_clusters):
        offsets[j + 1] += offsets[j]
    following = offsets[:-1].copy()
    order = np.empty(labels.shape[0], dtype=np.int64)
    for i in range(labels.shape[0]):
        order[following[labels[i]]] = i
        following[labels[i]] += 1
    return order, offsets
