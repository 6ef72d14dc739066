"""Self-sums of the clusters at any t of an interval, from one pass of Taylor moments.

Where few rows are left to look at, the clusters' own sums would cost most of a search; their Taylor series about the
middle c of an interval of half-width h costs one pass over the pairs inside clusters, and every further t nothing. For
t L <= 0 the remainder after order p is at most (h / (|c| - h))**(p + 1) / sqrt(2 pi (p + 1)) times the number of pairs,
since exp(-x) x**p <= (p / e)**p: the order is chosen so that this is under the rounding of a sum.

Entry points: `span` and `order_for` (where to expand and how far), `coefficients`, and the compiled `value_at`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.compiling import exact

_REMAINDER = 1e-16
# Largest ratio of an expansion's ends, and the order that it takes.
_WIDEST = 1.5
MAX_ORDER = 27


@exact
def span(t: float, lowest: float, highest: float) -> tuple[float, float]:
    """Return the middle and the half-width of an expansion that covers t, and all of lowest to highest if it can."""
    wide = highest > lowest * _WIDEST if highest > 0.0 else lowest < highest * _WIDEST
    if wide:
        half_width = abs(t) * (_WIDEST - 1.0) / (_WIDEST + 1.0)
        return t, half_width
    return (lowest + highest) / 2.0, (highest - lowest) / 2.0


@exact
def order_for(centre: float, half_width: float) -> int:
    """Return the order after which the remainder is under rounding: one less than a multiple of 4, as moments come."""
    least = math.ceil(math.log(_REMAINDER) / math.log(half_width / (abs(centre) - half_width)))
    return max(least, 1) // 4 * 4 + 3


def coefficients(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of ((t - centre) / half_width)**p from moments of any shape (order + 1, ...)."""
    factorials = np.cumprod(np.concatenate(([1.0], np.arange(1.0, len(moments)))))
    result: NDArray[np.float64] = moments / factorials.reshape(-1, *[1] * (moments.ndim - 1))
    return result


@exact
def value_at(t: float, centre: float, half_width: float, order: int, terms: Any, values: Any, slopes: Any) -> None:
    """Write the series' values at t and their t-derivatives, both (k,); `terms` is (order + 1 or more, k)."""
    x = (t - centre) / half_width
    for j in range(values.shape[0]):
        value, slope = terms[order, j], 0.0
        for p in range(order - 1, -1, -1):
            slope = slope * x + value
            value = value * x + terms[p, j]
        values[j] = value
        slopes[j] = slope / half_width
