"""Ranks of neighbours and what is counted with them.

Entry points: `closest_pair(pairs)` (O(n) memory), `neighbour_ranks(pairs, rows)` (m n ranks of 2 or 4 bytes) and
`disagreement(ranks, rows, partition, weights)` (one pass over the ranks
inside clusters).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.compiling import exact, fast
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.engine.sums import BLOCK, fill
from offgrid.engine.threads import over_rows

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
# Rows that are sorted at once: few enough to stay in the cache.
_SORTED_ROWS = 16


@exact
def _closest_after(layout: Any, nearest: Any, partners: Any, first: int, last: int) -> None:
    """For each row find the closest row after it: its squared distance and its index (-1 for the last row)."""
    n = layout.order.shape[0]
    buffer = np.empty(BLOCK)
    for i in range(first, last):
        best = np.inf
        partner = -1
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, i, begin, end, buffer)
            for j in range(end - begin):
                if -buffer[j] < best:
                    best = -buffer[j]
                    partner = begin + j
        nearest[i] = best
        partners[i] = partner


def closest_pair(pairs: Pairs) -> tuple[float, int, int]:
    """Return the smallest squared distance between two rows and the first pair that has it."""
    return min(pairs.each_block(_closest_in_block))


def _closest_in_block(pairs: Pairs, first: int, last: int) -> tuple[float, int, int]:
    nearest = np.empty(last)
    partners = np.empty(last, dtype=np.int64)
    _closest_after(pairs.in_order, nearest, partners, first, last)
    row = first + int(nearest[first:].argmin())
    return float(nearest[row]), row, int(partners[row])


@exact
def _distances_from(layout: Any, rows: Any, distances: Any) -> None:
    """Fill `distances` (m, n) with squared distances from each of `rows`; the row itself comes before all others."""
    n = layout.order.shape[0]
    for i in range(rows.shape[0]):
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, rows[i], begin, end, distances[i, begin:end])
        for j in range(n):
            distances[i, j] = -distances[i, j]
        distances[i, rows[i]] = -1.0


@exact
def _rank(distances: Any, order: Any, ranks: Any) -> None:
    """Turn an order by distance into ranks by distance, then by index; all (m, n)."""
    n = order.shape[1]
    for i in range(order.shape[0]):
        begin = 0
        while begin < n:
            end = begin + 1
            while end < n and distances[i, order[i, end]] == distances[i, order[i, begin]]:
                end += 1
            if end > begin + 1:
                order[i, begin:end].sort()
            for rank in range(begin, end):
                ranks[i, order[i, rank]] = rank
            begin = end


def neighbour_ranks(pairs: Pairs, rows: _Ints) -> NDArray[np.uint16] | NDArray[np.int32]:
    """Return the rank of every point among the neighbours of each of `rows`, shape (m, n).

    The row itself has 0, the others 1 to n - 1, by (distance, index).
    """
    n = pairs.n
    layout = pairs.in_order
    ranks: Any = np.empty((len(rows), n), dtype=np.uint16 if n <= 1 << 16 else np.int32)

    def work(first: int, last: int) -> None:
        for begin in range(first, last, _SORTED_ROWS):
            some = rows[begin : min(begin + _SORTED_ROWS, last)]
            distances = np.empty((len(some), n))
            _distances_from(layout, some, distances)
            # NumPy sorts with vector instructions, but leaves equal distances in any order
            _rank(distances, np.argsort(distances, axis=1), ranks[begin : begin + len(some)])

    over_rows(work, len(rows), 8 * ranks.size)
    return ranks


@fast
def _weight_of(ranks: Any, members: Any, weights: Any) -> float:
    """Return the summed weight of some members, by their ranks, (n,)."""
    total = 0.0
    for j in range(members.shape[0]):
        total += weights[ranks[np.uint64(members[j])]]
    return total


@exact
def _disagreement(
    ranks: Any, rows: Any, labels: Any, order: Any, offsets: Any, weights: Any, out: Any, first: int, last: int
) -> None:
    everything = weights.sum()
    n = order.shape[0]
    for i in range(first, last):
        own = labels[rows[i]]
        begin, end = offsets[own], offsets[own + 1]
        if 2 * (end - begin) <= n:
            # most weight lies outside: what lies inside is less to add up
            out[i] = max(everything - _weight_of(ranks[i], order[begin:end], weights), 0.0)
        else:
            out[i] = _weight_of(ranks[i], order[:begin], weights) + _weight_of(ranks[i], order[end:], weights)


def disagreement(ranks: NDArray[Any], rows: _Ints, partition: Partition, weights: _Floats) -> _Floats:
    """Return for each of `rows` the summed weight of the neighbours outside its cluster, shape (m,).

    `weights` has one entry a rank, from 0 (the row itself, weight 0) to n - 1.
    """
    out = np.empty(len(rows))

    def work(first: int, last: int) -> None:
        _disagreement(
            ranks, rows, partition.labels, partition.order, partition.offsets, weights, out, first, last
        )  # fmt: skip

    inside = (partition.sizes * np.minimum(partition.sizes, len(partition.order) - partition.sizes)).sum()
    over_rows(work, len(rows), int(inside) * len(rows) // len(partition.order))
    return out
