"""Ranks of neighbours and what is counted with them.

Entry points: `closest_pair(points)` (O(n d) memory), `neighbour_ranks(points, rows)` (m n ranks of 2 or 4 bytes) and
`disagreement(ranks, rows, labels, weights)` (one pass over the ranks).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from offgrid.engine.sums import squared_distances
from offgrid.engine.threads import over_rows

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@njit(nogil=True, cache=True, fastmath=False)
def _closest_after(points: Any, features: Any, nearest: Any, partners: Any, first: int, last: int) -> None:
    """For each row find the closest row after it: its squared distance and its index (-1 for the last row)."""
    n = features.shape[1]
    buffer = np.empty(n)
    for i in range(first, last):
        squared_distances(points[i], features, i + 1, n, buffer)
        best = np.inf
        partner = -1
        for j in range(n - i - 1):
            if -buffer[j] < best:
                best = -buffer[j]
                partner = i + 1 + j
        nearest[i] = best
        partners[i] = partner


def closest_pair(points: _Floats) -> tuple[float, int, int]:
    """Return the smallest squared distance between two rows and the first pair that has it."""
    features = np.ascontiguousarray(points.T)
    nearest = np.empty(len(points))
    partners = np.empty(len(points), dtype=np.int64)

    def work(first: int, last: int) -> None:
        _closest_after(points, features, nearest, partners, first, last)

    over_rows(work, len(points), len(points) ** 2)
    row = int(nearest.argmin())
    return float(nearest[row]), row, int(partners[row])


@njit(nogil=True, cache=True, fastmath=False)
def _rank_rows(points: Any, features: Any, rows: Any, ranks: Any, first: int, last: int) -> None:
    """Rank all points by (distance, index) from each row, from 1; the row itself gets 0."""
    n = features.shape[1]
    distances = np.empty(n)
    for i in range(first, last):
        row = rows[i]
        squared_distances(points[row], features, 0, n, distances)
        for j in range(n):
            distances[j] = -distances[j]
        distances[row] = -1.0
        order = np.argsort(distances, kind="mergesort")
        for rank in range(n):
            ranks[i, order[rank]] = rank


def neighbour_ranks(points: _Floats, rows: _Ints) -> NDArray[np.uint16] | NDArray[np.int32]:
    """Return the rank of every point among the neighbours of each of `rows`, shape (m, n).

    The row itself has 0, the others 1 to n - 1, by (distance, index).
    """
    n = len(points)
    features = np.ascontiguousarray(points.T)
    ranks: Any = np.empty((len(rows), n), dtype=np.uint16 if n <= 1 << 16 else np.int32)

    def work(first: int, last: int) -> None:
        _rank_rows(points, features, rows, ranks, first, last)

    over_rows(work, len(rows), 8 * ranks.size)
    return ranks


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _disagreement(ranks: Any, rows: Any, labels: Any, weights: Any, out: Any, first: int, last: int) -> None:
    for i in range(first, last):
        own = labels[rows[i]]
        total = 0.0
        for j in range(ranks.shape[1]):
            total += weights[ranks[i, j]] * (labels[j] != own)
        out[i] = total


def disagreement(ranks: NDArray[Any], rows: _Ints, labels: _Ints, weights: _Floats) -> _Floats:
    """Return for each of `rows` the summed weight of the neighbours outside its cluster, shape (m,).

    `weights` has one entry a rank, from 0 (the row itself) to n - 1.
    """
    out = np.empty(len(rows))

    def work(first: int, last: int) -> None:
        _disagreement(ranks, rows, labels, weights, out, first, last)

    over_rows(work, len(rows), ranks.size)
    return out
