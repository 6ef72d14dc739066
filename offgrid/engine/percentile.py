"""Low percentiles of -L over the pairs i < j (squared distances, for the RBF kernel), in little memory.

Entry point: `low_percentile`. Up to `_SAMPLE` pairs are all looked at. Of more, a sample says about how large the value
is; all pairs up to a little more are then collected in one pass, and the percentile is read off them exactly. Past
`_MOST_PAIRS` the sample has to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.compiling import exact
from offgrid.engine.layout import Layout
from offgrid.engine.pairs import Pairs
from offgrid.engine.sums import BLOCK, fill
from offgrid.engine.threads import over_rows

_Floats = NDArray[np.float64]
_SAMPLE = 1_000_000
_MOST_PAIRS = 2_000_000_000


@exact
def _count(layout: Layout, level: float, counts: Any, smallest: Any, first: int, last: int) -> None:
    """For rows first..last-1 count the pairs with later rows up to a level, and find the smallest value above 0."""
    buffer = np.empty(BLOCK)
    n = layout.order.shape[0]
    for i in range(first, last):
        counts[i], smallest[i] = 0, np.inf
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, i, begin, end, buffer)
            for j in range(end - begin):
                counts[i] += -buffer[j] <= level
                if 0.0 < -buffer[j] < smallest[i]:
                    smallest[i] = -buffer[j]


@exact
def _collect(layout: Layout, level: float, starts: Any, values: Any, first: int, last: int) -> None:
    """Write those pairs' values to `values`, a row's from ``starts[row]`` on."""
    buffer = np.empty(BLOCK)
    n = layout.order.shape[0]
    for i in range(first, last):
        at = starts[i]
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, i, begin, end, buffer)
            for j in range(end - begin):
                if -buffer[j] <= level:
                    values[at] = -buffer[j]
                    at += 1


def low_percentile(pairs: Pairs, percent: float = 1.0) -> float:
    """Return a percentile of -L over the pairs i < j, between neighbours as `numpy.percentile` does it.

    Where so many pairs are equal that it is 0, the smallest value above 0; 0 if there is none.
    """
    n_pairs = pairs.n * (pairs.n - 1) // 2
    sample = _sample(pairs) if n_pairs > _SAMPLE else -pairs.exponents_of(*np.triu_indices(pairs.n, 1))
    if n_pairs <= _SAMPLE or n_pairs > _MOST_PAIRS:
        value = float(np.percentile(sample, percent))
        return value if value > 0.0 else _least(sample[sample > 0.0])
    layout = pairs.in_order
    needed = int(np.ceil(percent / 100.0 * (n_pairs - 1))) + 1
    counts, smallest = np.empty(pairs.n, dtype=np.int64), np.empty(pairs.n)

    def count(level: float) -> int:
        over_rows(lambda first, last: _count(layout, level, counts, smallest, first, last), pairs.n, n_pairs)
        return int(counts.sum())

    share = min(1.2 * percent + 0.1, 100.0)
    level = float(np.percentile(sample, share))
    while count(level) < needed:
        share *= 2.0
        level = float(np.percentile(sample, share)) if share < 100.0 else np.inf
    starts = np.cumsum(counts) - counts
    values = np.empty(counts.sum())
    over_rows(lambda first, last: _collect(layout, level, starts, values, first, last), pairs.n, n_pairs)
    # the same position among all pairs: those not collected are larger
    position = percent / 100.0 * (n_pairs - 1)
    below = int(np.floor(position))
    ordered = np.partition(values, [below, min(below + 1, len(values) - 1)])
    value = float(ordered[below])
    if position > below:
        value += (position - below) * float(ordered[below + 1] - ordered[below])
    return value if value > 0.0 else _least(smallest)


def _least(values: _Floats) -> float:
    """Return the smallest finite value, 0 if there is none."""
    least = float(values.min(initial=np.inf))
    return least if np.isfinite(least) else 0.0


def _sample(pairs: Pairs) -> _Floats:
    """Return -L of pairs drawn at random (fixed seed)."""
    first, second = np.random.default_rng(0).integers(pairs.n, size=(2, _SAMPLE))
    different = first != second
    return -pairs.exponents_of(first[different], second[different])
