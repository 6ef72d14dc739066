"""Margins of points at the two ends of an interval of t, and what they say about all of it: bounds by convexity.

A margin is own proximity minus another cluster's, written ``plus - minus``, each a positive combination of convex sums:
with means a_j = S_j / n_j and centroids' squared norms c_j = B_j / n_j**2 it is
``plus = 2 a_own + c_j`` and ``minus = 2 a_j + c_own``. Where the far end is t = 0 the margin over t is used, made of
``(1 - exp(t L)) / t``, which is convex too, and for which the two change places.

Intervals lie on either side of t = 0 (see `descent`): far is the smaller t, and `width` what near is above it.

Entry points, all compiled: `to_means`, `row_margins`, `lower_bounds`, `first_open` (a cluster that a row may move to),
`may_move_before` (what the near end alone says), `tied`, `crossing` (where the ends foretell a margin to vanish) and
`predicted_crossing` (for all rows).
O(k) for a row with k clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offgrid.engine.assignment import TOLERANCE
from offgrid.engine.compiling import exact

# A margin down to here cannot be a move: the rest of the tolerance, 1e-14, is above any rounding. It is no more
# than that because margins may stay in between for long: those of equal rows in different clusters leave 0 as slowly
# as exp(t L).
QUIET = -0.99 * TOLERANCE
# Ratio of the ends of an interval up to which margins of 0 with slopes of 0 at both are taken for 0 in between.
_TIE_RATIO = 4.0
# What a row's margins are made of, in this order.
PLUS, MINUS, PLUS_SLOPE, MINUS_SLOPE = 0, 1, 2, 3


@exact
def row_margins(limit: bool, means: Any, mean_slopes: Any, norms: Any, norm_slopes: Any, own: int, out: Any) -> None:
    """Write a row's margins against every cluster to `out`, (4, k), in parts; `limit` says that they are over t."""
    a, a_slope = 2.0 * means[own], 2.0 * mean_slopes[own]
    c, c_slope = norms[own], norm_slopes[own]
    plus, minus, plus_slope, minus_slope = out[PLUS], out[MINUS], out[PLUS_SLOPE], out[MINUS_SLOPE]
    if limit:
        plus, minus, plus_slope, minus_slope = minus, plus, minus_slope, plus_slope
    for j in range(means.shape[0]):
        plus[j] = a + norms[j]
        minus[j] = 2.0 * means[j] + c
        plus_slope[j] = a_slope + norm_slopes[j]
        minus_slope[j] = 2.0 * mean_slopes[j] + c_slope


@exact
def lower_bounds(far: Any, near: Any, width: float, out: Any) -> None:
    """Write the smallest values that margins can have between the ends: tangents under plus, a chord over minus."""
    for j in range(out.shape[0]):
        bend = near[PLUS_SLOPE, j] - far[PLUS_SLOPE, j]
        meeting = 0.5 * width
        if bend > 0.0:
            meeting = (far[PLUS, j] - (near[PLUS, j] - near[PLUS_SLOPE, j] * width)) / bend
            meeting = min(max(meeting, 0.0), width)
        chord = far[MINUS, j] + (near[MINUS, j] - far[MINUS, j]) * (meeting / width)
        # either tangent at a point near their meeting is a bound; the better one is free of the division's rounding
        tangent = max(
            far[PLUS, j] + far[PLUS_SLOPE, j] * meeting, near[PLUS, j] + near[PLUS_SLOPE, j] * (meeting - width)
        )
        ends = min(far[PLUS, j] - far[MINUS, j], near[PLUS, j] - near[MINUS, j])
        out[j] = min(ends, tangent - chord)


@exact
def may_move_before(
    ratio: float, width: float, means: Any, mean_slopes: Any, norms: Any, norm_slopes: Any, raised: Any, shares: Any,
    own: int,
) -> bool:  # fmt: skip
    """Return whether the near end alone leaves it open that a row moves somewhere down to the far end.

    What is added lies above its tangent. What is taken off is a mean of powers u**t, at t = ratio * near at most the
    power of the mean, a**ratio (Jensen): convex in t, and `raised` for the norms. So the bound, a straight line less a
    convex function, is smallest at an end. Below t = 0, where t L grows in size, a mean falls: `ratio` is 1 there.
    """
    to_own = 2.0 * (means[own] - mean_slopes[own] * width)
    near_own = 2.0 * means[own] - norms[own]
    for j in range(shares.shape[0]):
        if j == own:
            continue
        if near_own - (2.0 * means[j] - norms[j]) < QUIET:
            return True
        rest = to_own + norms[j] - norm_slopes[j] * width - raised[own]
        if shares[j] == 0.0:
            if rest < QUIET:
                return True
        # a**ratio is at most its chord from 1: no power is needed for most
        elif rest - 2.0 * (ratio * means[j] + 1.0 - ratio) < QUIET and rest - 2.0 * means[j] ** ratio < QUIET:
            return True
    return False


@exact
def first_open(bounds: Any, shares: Any, own: int, limit: bool, near_t: float, own_mean: float) -> int:
    """Return the first cluster that a row may move to somewhere in the interval, -1 where there is none."""
    quiet = QUIET / near_t if limit else QUIET
    for j in range(bounds.shape[0]):
        if j == own:
            continue
        bound = bounds[j]
        if limit and shares[j] == 0.0:
            # against an empty cluster the margin is the own proximity, smallest at the near end or above 2 a_own - 1
            bound = 1.0 / near_t - 2.0 * own_mean
        if bound < quiet:
            return j
    return -1


@exact
def tied(limit: bool, far_t: float, near_t: float, far: Any, near: Any, bounds: Any, own: int) -> bool:
    """Return whether all of a row's open margins are 0 all along, for all that the ends can tell.

    That is so where clusters have rows equal to each other's: no cut, however narrow, would certify them.
    """
    if near_t < 0.0:
        if far_t < _TIE_RATIO * near_t:
            return False
    elif near_t > _TIE_RATIO * far_t and (far_t > 0.0 or not limit):
        return False
    quiet = QUIET / near_t if limit else QUIET
    zero = TOLERANCE / near_t if limit else TOLERANCE
    width = near_t - far_t
    for j in range(bounds.shape[0]):
        if j == own or not bounds[j] < quiet:
            continue
        for end in (far, near):
            value, slope = end[PLUS, j] - end[MINUS, j], end[PLUS_SLOPE, j] - end[MINUS_SLOPE, j]
            if not (abs(value) < zero and abs(slope) * width < zero):
                return False
    return True


@exact
def _cubic(x: float, f0: float, f1: float, s0: float, s1: float) -> float:
    """Return the cubic with values f0, f1 and slopes s0, s1 at 0 and 1."""
    y = 1.0 - x
    return y * y * ((1.0 + 2.0 * x) * f0 + x * s0) + x * x * ((1.0 + 2.0 * y) * f1 - y * s1)


@exact
def crossing(far: Any, near: Any, shares: Any, width: float, best: float) -> float:
    """Return the largest share of the way from far to near at which a row's margin is foretold to vanish, or `best`.

    Foretold by the cubic through both ends' margins and slopes; only a crossing beyond `best` is worth finding.
    """
    for j in range(shares.shape[0]):
        f0, f1 = far[PLUS, j] - far[MINUS, j], near[PLUS, j] - near[MINUS, j]
        if not (f0 < 0.0 < f1 and shares[j] > 0.0):
            continue
        s0 = (far[PLUS_SLOPE, j] - far[MINUS_SLOPE, j]) * width
        s1 = (near[PLUS_SLOPE, j] - near[MINUS_SLOPE, j]) * width
        low = max(best, 0.0)
        if _cubic(low, f0, f1, s0, s1) >= 0.0:
            continue
        high = 1.0
        for _ in range(40):
            x = 0.5 * (low + high)
            if _cubic(x, f0, f1, s0, s1) < 0.0:
                low = x
            else:
                high = x
        best = high
    return best


@exact
def squares(shares: Any) -> Any:
    """Return the shares' squares."""
    result = np.empty(shares.shape[0])
    for j in range(shares.shape[0]):
        result[j] = shares[j] * shares[j]
    return result


@exact
def to_means(limit: bool, t: float, shares: Any, sums: Any, slopes: Any, means: Any, mean_slopes: Any) -> None:
    """Write sums over clusters as means, in terms of (1 - exp(t L)) / t for the limit form.

    `shares` are 1 over the number of terms in a sum, 0 for an empty cluster: with 1 / n_j a row's sums become means,
    with 1 / n_j**2 the clusters' self-sums become squared norms of centroids. At t = 0 sums are of the limit's kind
    already.
    """
    for j in range(shares.shape[0]):
        means[j] = sums[j] * shares[j]
        mean_slopes[j] = slopes[j] * shares[j]
    if limit and t > 0.0:
        for j in range(shares.shape[0]):
            value = (1.0 - means[j]) / t if shares[j] > 0.0 else 0.0
            means[j] = value
            mean_slopes[j] = -(mean_slopes[j] + value) / t


@exact
def predicted_crossing(
    over_t: bool, t: float, labels: Any, shares: Any, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any
) -> float:
    """Return the largest t below this one where a margin would vanish if it, or it over t, were linear.

    0 if none would; below t = 0 minus infinity.
    """
    k = shares.shape[0]
    means, mean_slopes, norms, norm_slopes = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    margins = np.empty((4, k))
    to_means(over_t, t, squares(shares), self_sums, self_slopes, norms, norm_slopes)
    best = 0.0 if t > 0.0 else -np.inf
    for i in range(labels.shape[0]):
        own = labels[i]
        to_means(over_t, t, shares, sums[i], slopes[i], means, mean_slopes)
        row_margins(over_t, means, mean_slopes, norms, norm_slopes, own, margins)
        for j in range(k):
            value = margins[PLUS, j] - margins[MINUS, j]
            slope = margins[PLUS_SLOPE, j] - margins[MINUS_SLOPE, j]
            if j != own and shares[j] > 0.0 and slope > 0.0:
                best = max(best, t - value / slope)
    return best
