"""The descent of the certified search from one t to smaller ones, interval by interval.

Entry points: `far_end` (how far to look ahead) and `descend`, the whole search as one compiled routine, for data so
small that calls and allocations would cost more than the arithmetic. Memory: four (n, k) float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from offgrid.engine import certificate, margins
from offgrid.engine.assignment import self_sums as self_sums_of
from offgrid.engine.certificate import ENTRIES, FLAT, FOUND, LOOK, LOOKS, UNCERTIFIED
from offgrid.engine.sums import all_sums, limit_sums

# Ratio of the ends of an interval of t: never wider than this unless the interval before was certified at once.
WIDEST = 1.5
_NARROWEST = 1.02


@njit(nogil=True, cache=True, fastmath=False)
def far_end(near_t: float, crossing: float, mean: float, ratio: float, stop_t: float, next_limit_try: float) -> float:
    """Choose how far to look ahead.

    A little beyond `crossing`, where the first margin would vanish if it went on in a straight line; all the way to 0
    where no margin seems to vanish before and the kernel is flat enough for that to be likely.
    """
    flat = near_t * mean < 1.0 and crossing < 0.3 * near_t
    if stop_t == 0.0 and flat and near_t < next_limit_try:
        return 0.0
    wanted = ratio if crossing <= 0.0 else max((near_t / crossing) ** 1.3, _NARROWEST)
    return max(near_t / min(wanted, ratio), stop_t)


@njit(nogil=True, cache=True, fastmath=False)
def widened(ratio: float, looks: int) -> float:
    """Return the largest ratio of the next interval's ends, after one that took so many looks."""
    return min(ratio, 1e150) ** 2 if looks == 0 else WIDEST


@njit(nogil=True, cache=True, fastmath=False)
def descend(
    layout: Any, shares: Any, near_t: float, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any, rtol: float,
    stop_t: float, largest: float, mean: float,
) -> Any:  # fmt: skip
    """Find the largest t below `near_t` at which a point moves, down to `stop_t`.

    Returns that t (0 if there is none), up to where nothing moves, the labels after a step there, near-ties that were
    passed over, and the kernel entries evaluated.
    """
    n, k = sums.shape
    ratio, next_limit_try = WIDEST, np.inf
    uncertified, entries = 0, 0
    while near_t > stop_t:
        if near_t * largest < FLAT:
            # margins are linear in t from here on: they shrink, and none that is quiet now can become a move
            return 0.0, stop_t, layout.labels, uncertified, entries
        crossing = margins.predicted_crossing(near_t, layout.labels, shares, sums, slopes, self_sums, self_slopes)
        far_t = far_end(near_t, crossing, mean, ratio, stop_t, next_limit_try)
        if far_t == 0.0:
            next_limit_try = near_t / 4.0
        if far_t == 0.0:
            far = np.empty((2, n, k))
            limit_sums(layout, np.arange(n), far[0], far[1], 0, n)
            entries += n * n
        else:
            far = all_sums(layout, far_t, k)
            entries += n * (n - 1) // 2
        far_self = self_sums_of(far[0], layout.labels), self_sums_of(far[1], layout.labels)
        rows = np.flatnonzero(
            certificate.open_rows(
                layout.labels, shares, far_t, far[0], far[1], far_self[0], far_self[1],
                near_t, sums, slopes, self_sums, self_slopes,
            )
        )  # fmt: skip
        looks = 0
        if rows.shape[0] > 0:
            chain = certificate.new_chain(shares, rows, far_t == 0.0)
            certificate.append(chain, far_t, far[0][rows], far[1][rows], far_self[0], far_self[1])
            certificate.append(chain, near_t, sums[rows], slopes[rows], self_sums, self_slopes)
            action = LOOK
            while action == LOOK:
                action = certificate.advance(chain, layout, far_t, near_t, largest, rtol, 1 << 62)
                if action == LOOK:
                    chain = certificate.grown(chain)
            looks = chain.counts[LOOKS]
            uncertified += chain.counts[UNCERTIFIED]
            entries += chain.counts[ENTRIES]
            if action == FOUND:
                t, quiet_to, stepped = certificate.move_found(chain, layout.labels)
                return t, quiet_to, stepped, uncertified, entries
        ratio = widened(ratio, looks)
        near_t, sums, slopes = far_t, far[0], far[1]
        self_sums, self_slopes = far_self[0], far_self[1]
    return 0.0, near_t, layout.labels, uncertified, entries
