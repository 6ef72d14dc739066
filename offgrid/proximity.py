"""Proximity of points to clusters in feature space, and the assignment step made with it (paper, equation 4).

Entry points: `Evaluation` (the sums at one t, with proximities and margins) and `step` (who moves where).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.margins import TOLERANCE
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Sums of exp(t L) for some rows and for the clusters themselves, with their t-derivatives.

    Attributes
    ----------
    t : float
    rows : ndarray of int64, shape (m,)
    sums, slopes : ndarray, shape (m, k)
        Sums from each row to each cluster, and their derivatives.
    self_sums, self_slopes : ndarray, shape (k,)
        Sums over all pairs inside each cluster, and their derivatives.
    """

    t: float
    rows: NDArray[np.int64]
    sums: _Floats
    slopes: _Floats
    self_sums: _Floats
    self_slopes: _Floats

    def restricted(self, rows: NDArray[np.int64]) -> Evaluation:
        """Return the same for fewer rows, a subset of `rows` (both sorted)."""
        keep = np.searchsorted(self.rows, rows)
        return Evaluation(self.t, rows, self.sums[keep], self.slopes[keep], self.self_sums, self.self_slopes)

    def proximities(self, partition: Partition) -> _Floats:
        """Return the proximities 2 S / n_i - B / n_i**2 of rows to clusters, shape (m, k); 0 for empty clusters."""
        inverse = partition.inverse_sizes
        return 2.0 * self.sums * inverse - self.self_sums * inverse**2

    def stepped(self, partition: Partition) -> NDArray[np.int64]:
        """Return all labels after one assignment step that looks at `rows` alone."""
        labels = partition.labels.copy()
        labels[self.rows] = step(self.proximities(partition), partition.labels[self.rows])
        return labels


def evaluate(pairs: Pairs, partition: Partition, t: float) -> Evaluation:
    """Evaluate all rows at t: one kernel pass."""
    sums, slopes = pairs.cluster_sums(partition, t)
    return with_self_sums(partition, t, pairs.all_rows, sums, slopes)


def with_self_sums(
    partition: Partition, t: float, rows: NDArray[np.int64], sums: _Floats, slopes: _Floats
) -> Evaluation:
    """Complete an evaluation of all rows: a cluster's self-sum is the total of its rows' sums to it."""
    own = partition.labels
    everyone = np.arange(len(own))
    k = partition.n_clusters
    self_sums = np.bincount(own, weights=sums[everyone, own], minlength=k)
    self_slopes = np.bincount(own, weights=slopes[everyone, own], minlength=k)
    # with weights a bincount is float64, which NumPy's types do not say
    return Evaluation(t, rows, sums, slopes, self_sums.astype(np.float64), self_slopes.astype(np.float64))


def step(proximities: _Floats, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels after one assignment step.

    A point goes to the cluster of largest proximity, the lowest index among equals, and stays where it is unless that
    proximity exceeds its own cluster's by more than `TOLERANCE`.
    """
    everyone = np.arange(len(labels))
    best = proximities.argmax(axis=1)
    moves = proximities[everyone, best] - proximities[everyone, labels] > TOLERANCE
    return np.where(moves, best, labels)
