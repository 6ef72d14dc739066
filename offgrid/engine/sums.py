"""Sums of exp(t L) over the pairs of a data set, split by cluster: what kernel k-means and every search are made of.

Entry points, all compiled (float64, GIL released, no n x n temporary); they write first to last - 1 of their output:

- `cluster_sums`: S[x, i] = sum over y in cluster i of exp(t L(x, y)), and its t-derivative D; m n exponentials.
- `symmetric_sums`: the same for all rows, each pair met once; n (n - 1) / 2 exponentials, and a (k, n) array of partial
  sums for each chunk of rows.
- `limit_sums`: the same sums of -L and -L**2 / 2, to which (1 - exp(t L)) / t and its t-derivative tend as t -> 0.
- `self_moments`: M[p, x] = sum over y in the cluster of x of exp(t L(x, y)) L(x, y)**p.

L comes from a stored matrix or is computed from features on the way, a block of columns at a time that stays in the
nearest cache. Both ways give the same bits, so no decision depends on how the data are held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from offgrid.engine.exponential import exponential

_BLOCK = 256
# exp(t L) below exp of this is left out where a whole block is: n of them stay under the rounding of a point's own 1.
_NEGLIGIBLE = -60.0
# Powers of scale L in the moments are taken of no less than this: exp(t L) is at its smallest long before.
_FAR = -1e4
# Sums may be reordered and products fused with sums; infinities and NaN keep their meaning. A function without flags of
# its own would take over those of whichever caller compiles it first: the others say fastmath=False.
_FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=False)
def squared_distances(point: Any, features: Any, begin: int, end: int, out: Any) -> None:
    """Write ``-||point - y||**2`` for columns begin..end-1 of `features` (d, n) to `out`.

    No fused operations here: equal distances stay equal, which the ranking of neighbours relies on.
    """
    for j in range(end - begin):
        out[j] = 0.0
    for f in range(features.shape[0]):
        value = point[f]
        for j in range(end - begin):
            difference = value - features[f, begin + j]
            out[j] -= difference * difference


@njit(nogil=True, cache=True, fastmath=False)
def squared_distance_rows(points: Any, features: Any, out: Any, first: int, last: int) -> None:
    """Fill ``out[first:last]`` with -||x - y||**2; `points` (n, d) and `features` (d, n) hold the same rows."""
    for i in range(first, last):
        squared_distances(points[i], features, 0, features.shape[1], out[i])


@njit(nogil=True, cache=True, fastmath=False)
def _fill(
    stored: bool, matrix: Any, points: Any, features: Any, order: Any, row: int, begin: int, end: int, out: Any
) -> None:
    if stored:
        for j in range(end - begin):
            out[j] = matrix[row, order[begin + j]]
    else:
        squared_distances(points[row], features, begin, end, out)


@njit(nogil=True, cache=True, fastmath=False)
def _negligible(exponents: Any, size: int, t: float) -> bool:
    """Return whether no exp(t L) of a block can be told from 0 beside a point's own kernel value."""
    count = 0
    for j in range(size):
        count += t * exponents[j] > _NEGLIGIBLE
    return count == 0


@njit(nogil=True, cache=True, fastmath=_FAST)
def _add_to_clusters(
    values: Any, exponents: Any, begin: int, end: int, offsets: Any, cluster: int, sums: Any, derivatives: Any
) -> None:
    """Add a block of columns to the sums of their clusters, from the cluster of its first column on."""
    at = begin
    while at < end:
        while offsets[cluster + 1] <= at:
            cluster += 1
        stop = min(offsets[cluster + 1], end)
        total = 0.0
        slope = 0.0
        for j in range(at - begin, stop - begin):
            total += values[j]
            slope += values[j] * exponents[j]
        sums[cluster] += total
        derivatives[cluster] += slope
        at = stop


@njit(nogil=True, cache=True, fastmath=_FAST)
def cluster_sums(
    stored: bool, matrix: Any, points: Any, features: Any, order: Any, offsets: Any, rows: Any, t: float,
    sums: Any, derivatives: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Fill ``sums[first:last]`` and ``derivatives[first:last]``, both (m, k), for ``rows[first:last]``."""
    exponents = np.empty(_BLOCK)
    values = np.empty(_BLOCK)
    for i in range(first, last):
        sums[i, :] = 0.0
        derivatives[i, :] = 0.0
        for begin in range(0, order.shape[0], _BLOCK):
            end = min(begin + _BLOCK, order.shape[0])
            _fill(stored, matrix, points, features, order, rows[i], begin, end, exponents)
            if _negligible(exponents, end - begin, t):
                continue
            for j in range(end - begin):
                values[j] = exponential(t * exponents[j])
            _add_to_clusters(values, exponents, begin, end, offsets, 0, sums[i], derivatives[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def symmetric_sums(
    stored: bool, matrix: Any, points: Any, features: Any, order: Any, offsets: Any, labels: Any, t: float,
    sums: Any, derivatives: Any, column_sums: Any, column_derivatives: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Meet every pair once: rows first..last-1 of the order with the columns after them.

    What a pair gives to its row goes to ``sums[row]``, (n, k); what it gives to its column to ``column_sums[cluster of
    the row, column in the order]``, (k, n), which is added up by the caller. All four outputs must be 0 at first.
    """
    n = order.shape[0]
    exponents = np.empty(_BLOCK)
    values = np.empty(_BLOCK)
    for i in range(first, last):
        row = order[i]
        own = labels[row]
        for begin in range(i + 1, n, _BLOCK):
            end = min(begin + _BLOCK, n)
            _fill(stored, matrix, points, features, order, row, begin, end, exponents)
            if _negligible(exponents, end - begin, t):
                continue
            for j in range(end - begin):
                values[j] = exponential(t * exponents[j])
            _add_to_clusters(values, exponents, begin, end, offsets, own, sums[row], derivatives[row])
            to_column = column_sums[own, begin:end]
            to_derivative = column_derivatives[own, begin:end]
            for j in range(end - begin):
                to_column[j] += values[j]
                to_derivative[j] += values[j] * exponents[j]


@njit(nogil=True, cache=True, fastmath=_FAST)
def limit_sums(
    stored: bool, matrix: Any, points: Any, features: Any, order: Any, offsets: Any, rows: Any,
    sums: Any, derivatives: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Fill ``sums[first:last]`` with sums of -L and ``derivatives[first:last]`` with sums of -L**2 / 2."""
    exponents = np.empty(_BLOCK)
    values = np.empty(_BLOCK)
    for i in range(first, last):
        sums[i, :] = 0.0
        derivatives[i, :] = 0.0
        for begin in range(0, order.shape[0], _BLOCK):
            end = min(begin + _BLOCK, order.shape[0])
            _fill(stored, matrix, points, features, order, rows[i], begin, end, exponents)
            for j in range(end - begin):
                values[j] = -exponents[j]
                exponents[j] *= 0.5
            _add_to_clusters(values, exponents, begin, end, offsets, 0, sums[i], derivatives[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def self_moments(
    stored: bool, matrix: Any, points: Any, features: Any, order: Any, offsets: Any, labels: Any, t: float,
    scale: float, moments: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Fill ``moments[first:last]``, (n, p), with sums of exp(t L) (scale L)**p over y before x in the cluster of x.

    Row i stands for the i-th row in cluster order; each pair inside a cluster is met once.
    """
    exponents = np.empty(_BLOCK)
    values = np.empty(_BLOCK)
    n_moments = moments.shape[1]
    for i in range(first, last):
        moments[i, :] = 0.0
        row = order[i]
        for begin in range(offsets[labels[row]], i, _BLOCK):
            end = min(begin + _BLOCK, i)
            _fill(stored, matrix, points, features, order, row, begin, end, exponents)
            for j in range(end - begin):
                values[j] = exponential(t * exponents[j])
                # far pairs have a value of 0 up to rounding: kept so, however high the power
                exponents[j] = max(exponents[j] * scale, _FAR)
            for p in range(n_moments):
                total = 0.0
                for j in range(end - begin):
                    total += values[j]
                    values[j] *= exponents[j]
                moments[i, p] += total
