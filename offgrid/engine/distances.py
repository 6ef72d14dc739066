"""The matrix of squared distances, for data with so many columns that it is worth keeping.

Entry points, compiled: `distance_rows` (a block of rows from the diagonal on), `mirror` (the other half of a block of
rows) and `triangle_rows` (each pair once, in half the memory). The same bits as `sums.squared_distances` gives; the
square is about twice as fast, since rows share what is fetched of a column.
"""

from __future__ import annotations

from typing import Any

from offgrid.engine.compiling import exact
from offgrid.engine.sums import BLOCK, squared_distances, triangle_start

_TILE = 64


@exact
def _two_rows(points: Any, i: int, f: int, features: Any, begin: int, end: int, first: Any, second: Any) -> None:
    """Take off four features' squared differences for two rows; in the order of the features, nothing fused."""
    a0, a1, a2, a3 = points[i, f], points[i, f + 1], points[i, f + 2], points[i, f + 3]
    b0, b1, b2, b3 = points[i + 1, f], points[i + 1, f + 1], points[i + 1, f + 2], points[i + 1, f + 3]
    x, y = features[f, begin:end], features[f + 1, begin:end]
    z, w = features[f + 2, begin:end], features[f + 3, begin:end]
    for j in range(end - begin):
        p, q, r, s = a0 - x[j], a1 - y[j], a2 - z[j], a3 - w[j]
        first[j] = (((first[j] - p * p) - q * q) - r * r) - s * s
        p, q, r, s = b0 - x[j], b1 - y[j], b2 - z[j], b3 - w[j]
        second[j] = (((second[j] - p * p) - q * q) - r * r) - s * s


@exact
def _add_feature(value: float, column: Any, out: Any) -> None:
    for j in range(out.shape[0]):
        difference = value - column[j]
        out[j] -= difference * difference


@exact
def _four_rows(points: Any, i: int, features: Any, begin: int, end: int, out: Any) -> None:
    for row in range(i, i + 4):
        out[row, begin:end] = 0.0
    whole = features.shape[0] // 4 * 4
    for f in range(0, whole, 4):
        for row in (i, i + 2):
            _two_rows(points, row, f, features, begin, end, out[row, begin:end], out[row + 1, begin:end])
    for f in range(whole, features.shape[0]):
        for row in range(i, i + 4):
            _add_feature(points[row, f], features[f, begin:end], out[row, begin:end])


@exact
def distance_rows(points: Any, features: Any, out: Any, first: int, last: int) -> None:
    """Fill rows first..last-1 of `out`, (n, n), from the diagonal on with -||x - y||**2.

    `points` (n, d) and `features` (d, n) hold the same rows.
    """
    n = points.shape[0]
    for begin in range(first // BLOCK * BLOCK, n, BLOCK):
        end = min(begin + BLOCK, n)
        i = first
        while i < min(last, end):
            if i + 4 <= last:
                _four_rows(points, i, features, begin, end, out)
                i += 4
            else:
                squared_distances(points[i], features, begin, end, out[i, begin:end])
                i += 1


@exact
def triangle_rows(points: Any, features: Any, triangle: Any, first: int, last: int) -> None:
    """Fill the pairs of rows first..last-1 with later rows in a triangle, (n (n - 1) / 2,)."""
    n = points.shape[0]
    for i in range(first, last):
        start = triangle_start(i, n)
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            squared_distances(points[i], features, begin, end, triangle[start + begin : start + end])


@exact
def mirror(out: Any, first: int, last: int) -> None:
    """Copy what lies above the diagonal to rows first..last-1 below it, tile by tile."""
    for top in range(first, last, _TILE):
        for left in range(0, last, _TILE):
            for i in range(top, min(top + _TILE, last)):
                for j in range(left, min(left + _TILE, i)):
                    out[i, j] = out[j, i]
