"""Sums of exp(t L) over the pairs of a data set, split by cluster: what kernel k-means and every search are made of.

Entry points, all compiled (float64, GIL released, no n x n temporary); they write first to last - 1 of their output:

- `cluster_sums`: S[x, i] = sum over y in cluster i of exp(t L(x, y)), and its t-derivative D; m n exponentials.
- `symmetric_sums`: the same for all rows, each pair met once; n (n - 1) / 2 exponentials, and partial sums for each
  chunk of rows, which `add_columns` adds up.
  `all_sums` does it all for small data.
- `limit_sums`: the same sums of -L and -L**2 / 2, to which (1 - exp(t L)) / t and its t-derivative tend as t -> 0.
- `self_moments`: M[p, x] = sum over y in the cluster of x of exp(t L(x, y)) L(x, y)**p.
- `matrix_sums`: sums of a matrix's entries from rows to clusters, for the part of a kernel that does not change.
- `fill_rows`: L itself.

L comes from a stored matrix or is computed from features on the way, a block of columns at a time that stays in the
nearest cache. Both ways give the same bits, so no decision depends on how the data are held. Of t and L only the
product counts, which is never above 0: both may have their signs turned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offgrid.engine.compiling import exact, fast
from offgrid.engine.exponential import exponential
from offgrid.engine.layout import SQUARE, TRIANGLE

BLOCK = 512
# Blocks with no t L above this are left out: the mean of what is left out over a cluster, which is what a proximity is
# made of, stays under 1e-17, where a move takes 1e-12.
_NEGLIGIBLE = -40.0
# Powers of scale L in the moments are taken of no less than this: exp(t L) is at its smallest long before.
_FAR = -1e4


@exact
def squared_distances(point: Any, features: Any, begin: int, end: int, out: Any) -> None:
    """Write ``-||point - y||**2`` for columns begin..end-1 of `features` (d, n) to `out`.

    No fused operations here: equal distances stay equal, which the ranking of neighbours relies on. Slices, since an
    index that might be negative would keep the loops scalar.
    """
    for f in range(features.shape[0]):
        value = point[f]
        column = features[f, begin:end]
        if f == 0:
            for j in range(end - begin):
                difference = value - column[j]
                out[j] = -(difference * difference)
        else:
            for j in range(end - begin):
                difference = value - column[j]
                out[j] -= difference * difference


@exact
def triangle_start(i: int, n: int) -> int:
    """Return where pair (i, j), i < j, is among the pairs of the triangle, less j."""
    return i * (2 * n - i - 1) // 2 - i - 1


@exact
def manhattan_distances(point: Any, features: Any, begin: int, end: int, out: Any) -> None:
    """Write ``-||point - y||_1`` for columns begin..end-1 of `features` (d, n) to `out`."""
    for f in range(features.shape[0]):
        value = point[f]
        column = features[f, begin:end]
        if f == 0:
            for j in range(end - begin):
                out[j] = -abs(value - column[j])
        else:
            for j in range(end - begin):
                out[j] -= abs(value - column[j])


@exact
def fill(layout: Any, row: int, begin: int, end: int, out: Any) -> None:
    """Write L between a row and columns begin..end-1 of the order to `out`."""
    columns = layout.order[begin:end]
    if layout.held == SQUARE:
        values = layout.matrix[row]
        for j in range(end - begin):
            out[j] = values[np.uint64(columns[j])]
    elif layout.held == TRIANGLE:
        values = layout.matrix[0]
        n = layout.points.shape[0]
        for j in range(end - begin):
            column = columns[j]
            first, second = min(row, column), max(row, column)
            out[j] = values[np.uint64(triangle_start(first, n) + second)] if first < second else 0.0
    elif layout.manhattan:
        manhattan_distances(layout.points[row], layout.features, begin, end, out)
    else:
        squared_distances(layout.points[row], layout.features, begin, end, out)


@exact
def fill_rows(layout: Any, out: Any, first: int, last: int) -> None:
    """Fill rows first..last-1 of `out`, (n, n), with L."""
    for i in range(first, last):
        fill(layout, i, 0, out.shape[1], out[i])


@exact
def _negligible(exponents: Any, t: float) -> bool:
    """Return whether no exp(t L) of a block can be told from 0."""
    count = 0
    for j in range(exponents.shape[0]):
        count += t * exponents[j] > _NEGLIGIBLE
    return count == 0


@fast
def _row_sums(exponents: Any, t: float) -> tuple[float, float]:
    """Return the sums of exp(t L) and of exp(t L) L over a few columns of one cluster."""
    total, slope = 0.0, 0.0
    for j in range(exponents.shape[0]):
        value = exponential(t * exponents[j])
        total += value
        slope += value * exponents[j]
    return total, slope


@fast
def _row_and_column_sums(exponents: Any, t: float, column_sums: Any, column_slopes: Any) -> tuple[float, float]:
    """Return the same, and add each value to its column's sums, too."""
    total, slope = 0.0, 0.0
    for j in range(exponents.shape[0]):
        value = exponential(t * exponents[j])
        derivative = value * exponents[j]
        total += value
        slope += derivative
        column_sums[j] += value
        column_slopes[j] += derivative
    return total, slope


@exact
def row_sums(layout: Any, row: int, t: float, exponents: Any, sums: Any, slopes: Any) -> None:
    """Write the sums from one row to each cluster, and their derivatives, to `sums` and `slopes`, both (k,).

    `exponents` is a buffer of `BLOCK` numbers.
    """
    for j in range(sums.shape[0]):
        sums[j] = slopes[j] = 0.0
    n = layout.order.shape[0]
    cluster = 0
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        fill(layout, row, begin, end, exponents)
        if _negligible(exponents[: end - begin], t):
            continue
        at = begin
        while at < end:
            while layout.offsets[cluster + 1] <= at:
                cluster += 1
            stop = min(layout.offsets[cluster + 1], end)
            total, slope = _row_sums(exponents[at - begin : stop - begin], t)
            sums[cluster] += total
            slopes[cluster] += slope
            at = stop


@exact
def cluster_sums(layout: Any, rows: Any, t: float, sums: Any, slopes: Any, first: int, last: int) -> None:
    """Fill ``sums[first:last]`` and ``slopes[first:last]``, both (m, k), for ``rows[first:last]``."""
    exponents = np.empty(BLOCK)
    for i in range(first, last):
        row_sums(layout, rows[i], t, exponents, sums[i], slopes[i])


@exact
def symmetric_sums(
    layout: Any, t: float, sums: Any, slopes: Any, column_sums: Any, column_slopes: Any, first: int, last: int
) -> None:
    """Meet every pair once: rows first..last-1 of the order with the columns after them, and each with itself.

    What a pair gives to its row goes to ``sums[row]``, (n, k); what it gives to its column to
    ``column_sums[cluster of the row - cluster of the first row, column in the order - first]``. All must be 0 at first.
    """
    n = layout.order.shape[0]
    exponents = np.empty(BLOCK)
    lowest = layout.labels[layout.order[first]]
    for i in range(first, last):
        row = layout.order[i]
        own = layout.labels[row]
        itself = layout.matrix[row, row] if layout.held == SQUARE else 0.0
        value = exponential(t * itself)
        sums[row, own] += value
        slopes[row, own] += value * itself
        cluster = own
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, row, begin, end, exponents)
            if _negligible(exponents[: end - begin], t):
                continue
            at = begin
            while at < end:
                while layout.offsets[cluster + 1] <= at:
                    cluster += 1
                stop = min(layout.offsets[cluster + 1], end)
                total, slope = _row_and_column_sums(
                    exponents[at - begin : stop - begin], t,
                    column_sums[own - lowest, at - first : stop - first],
                    column_slopes[own - lowest, at - first : stop - first],
                )  # fmt: skip
                sums[row, cluster] += total
                slopes[row, cluster] += slope
                at = stop


@exact
def add_columns(layout: Any, first: int, column_sums: Any, sums: Any) -> None:
    """Add a chunk's column sums or slopes, as `symmetric_sums` left them, to ``sums``, (n, k)."""
    lowest = layout.labels[layout.order[first]]
    for i in range(column_sums.shape[1]):
        row = layout.order[first + i]
        for c in range(column_sums.shape[0]):
            sums[row, lowest + c] += column_sums[c, i]


@exact
def all_sums(layout: Any, t: float, n_clusters: int) -> Any:
    """Return all rows' sums and their derivatives, (2, n, k), in one go: for data that are too small for threads."""
    n = layout.order.shape[0]
    sums = np.zeros((2, n, n_clusters))
    columns = np.zeros((2, layout.labels[layout.order[n - 1]] - layout.labels[layout.order[0]] + 1, n))
    symmetric_sums(layout, t, sums[0], sums[1], columns[0], columns[1], 0, n)
    for part in range(2):
        add_columns(layout, 0, columns[part], sums[part])
    return sums


@exact
def matrix_sums(matrix: Any, order: Any, offsets: Any, sums: Any, first: int, last: int) -> None:
    """Fill ``sums[first:last]``, (n, k), with each row's sums of `matrix`, (n, n), over columns sorted by cluster."""
    for i in range(first, last):
        values = matrix[i]
        for cluster in range(sums.shape[1]):
            total = 0.0
            for j in range(offsets[cluster], offsets[cluster + 1]):
                total += values[order[j]]
            sums[i, cluster] = total


@fast
def _limit_row_sums(exponents: Any) -> tuple[float, float]:
    total, square = 0.0, 0.0
    for j in range(exponents.shape[0]):
        total += exponents[j]
        square += exponents[j] * exponents[j]
    return -total, -0.5 * square


@exact
def limit_row_sums(layout: Any, row: int, exponents: Any, sums: Any, slopes: Any) -> None:
    """Write one row's sums of -L to each cluster to `sums`, and those of -L**2 / 2 to `slopes`, both (k,)."""
    for j in range(sums.shape[0]):
        sums[j] = slopes[j] = 0.0
    for cluster in range(sums.shape[0]):
        for begin in range(layout.offsets[cluster], layout.offsets[cluster + 1], BLOCK):
            end = min(begin + BLOCK, layout.offsets[cluster + 1])
            fill(layout, row, begin, end, exponents)
            total, slope = _limit_row_sums(exponents[: end - begin])
            sums[cluster] += total
            slopes[cluster] += slope


@exact
def limit_sums(layout: Any, rows: Any, sums: Any, slopes: Any, first: int, last: int) -> None:
    """Fill ``sums[first:last]`` with sums of -L and ``slopes[first:last]`` with sums of -L**2 / 2."""
    exponents = np.empty(BLOCK)
    for i in range(first, last):
        limit_row_sums(layout, rows[i], exponents, sums[i], slopes[i])


@fast
def _add_moments(exponents: Any, values: Any, t: float, scale: float, moments: Any) -> None:
    """Add the sums of exp(t L) (scale L)**p over a few columns to `moments`, twice: each pair is met once."""
    for j in range(exponents.shape[0]):
        values[j] = 2.0 * exponential(t * exponents[j])
        # far pairs have a value of 0 up to rounding: kept so, however high the power
        exponents[j] = max(exponents[j] * scale, _FAR)
    for p in range(0, moments.shape[0], 4):
        # four powers for each time that a value is fetched
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for j in range(exponents.shape[0]):
            value, exponent = values[j], exponents[j]
            first += value
            value *= exponent
            second += value
            value *= exponent
            third += value
            value *= exponent
            fourth += value
            values[j] = value * exponent
        moments[p] += first
        moments[p + 1] += second
        moments[p + 2] += third
        moments[p + 3] += fourth


@exact
def _negate(values: Any) -> None:
    for j in range(values.shape[0]):
        values[j] = -values[j]


@exact
def self_moments(layout: Any, t: float, scale: float, moments: Any, first: int, last: int) -> None:
    """Fill ``moments[first:last]``, (n, a multiple of 4), with sums of exp(t L) (scale L)**p over the pairs of a row.

    Row i stands for the i-th in the order; its pairs are it with itself, and twice with each before it in its cluster.
    """
    exponents = np.empty(BLOCK)
    values = np.empty(BLOCK)
    # the product t L is what it is with both signs turned; odd powers of L change theirs
    sign = -1.0 if t < 0.0 else 1.0
    for i in range(first, last):
        row = layout.order[i]
        itself = sign * layout.matrix[row, row] if layout.held == SQUARE else 0.0
        value = exponential(sign * t * itself)
        for p in range(moments.shape[1]):
            moments[i, p] = value
            value *= max(itself * scale, _FAR)
        for begin in range(layout.offsets[layout.labels[row]], i, BLOCK):
            end = min(begin + BLOCK, i)
            fill(layout, row, begin, end, exponents)
            if sign < 0.0:
                _negate(exponents[: end - begin])
            _add_moments(exponents[: end - begin], values, sign * t, scale, moments[i])
        if sign < 0.0:
            _negate(moments[i, 1::2])
