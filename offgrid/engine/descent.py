"""The descent of the certified search from one t to smaller ones, interval by interval.

Where the kernel flattens on the way, t > 0 falls to 0 and L <= 0. Where it sharpens, as a polynomial kernel does with
its degree, t < 0 falls from minus the degree on, and L >= 0: the same descent, with t L <= 0 and sums convex in t; only
what is a ratio of two t is turned round, and there is no end at 0.

Entry points: `far_end` (how far to look ahead) and `descend`, the whole search as one compiled routine, for data so
small that calls and allocations would cost more than the arithmetic. Memory: four (n, k) float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offgrid.engine import certificate, margins
from offgrid.engine.assignment import self_sums as self_sums_of
from offgrid.engine.certificate import ENTRIES, FLAT, FOUND, FULL, LOOKS, UNCERTIFIED
from offgrid.engine.compiling import exact
from offgrid.engine.sums import all_sums, limit_sums

# Ratio of the ends of an interval of t: never wider than this unless the interval before was certified at once.
WIDEST = 1.5
_NARROWEST = 1.02


@exact
def far_end(near_t: float, crossing: float, mean: float, ratio: float, stop_t: float, next_limit_try: float) -> float:
    """Choose how far to look ahead.

    A little beyond `crossing`, where the first margin would vanish if it went on in a straight line; all the way to 0
    where no margin seems to vanish before and the kernel is flat enough for that to be likely.
    """
    flat = near_t * mean < 1.0 and crossing < 0.3 * near_t
    if near_t < 0.0:
        wanted = ratio if crossing == -np.inf else max((crossing / near_t) ** 1.3, _NARROWEST)
        return max(near_t * min(wanted, ratio), stop_t)
    if stop_t == 0.0 and flat and near_t < next_limit_try:
        return 0.0
    wanted = ratio if crossing <= 0.0 else max((near_t / crossing) ** 1.3, _NARROWEST)
    return max(near_t / min(wanted, ratio), stop_t)


@exact
def widened(ratio: float, looks: int) -> float:
    """Return the largest ratio of the next interval's ends, after one that took so many looks."""
    return min(ratio, 1e150) ** 2 if looks == 0 else WIDEST


@exact
def worth_looking_at(n_open: int, n: int) -> bool:
    """Return whether looking at the open rows alone costs less than a pass over all pairs."""
    return 2 * n_open < n


@exact
def _evaluate(layout: Any, t: float, n_clusters: int) -> Any:
    """Return all rows' sums and slopes at t, (2, n, k); at 0 those to which they tend over t."""
    if t != 0.0:
        return all_sums(layout, t, n_clusters)
    n = layout.order.shape[0]
    sums = np.empty((2, n, n_clusters))
    limit_sums(layout, np.arange(n), sums[0], sums[1], 0, n)
    return sums


@exact
def _entries_of(n: int, t: float) -> int:
    return n * (n - 1) // 2 if t != 0.0 else n * n


@exact
def descend(
    layout: Any, shares: Any, near_t: float, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any, rtol: float,
    stop_t: float, largest: float, mean: float,
) -> Any:  # fmt: skip
    """Find the largest t below `near_t` at which a point moves, down to `stop_t`.

    Returns that t (0 if there is none), up to where nothing moves, the labels after a step there, near-ties that were
    passed over, and the kernel entries evaluated.
    """
    n, k = sums.shape
    far = np.empty((0, 0, 0))
    far_self = self_sums, self_slopes
    ratio, next_limit_try = WIDEST, np.inf
    uncertified, entries = 0, 0
    while near_t > stop_t:
        if near_t > 0.0 and near_t * largest < FLAT:
            # margins are linear in t from here on: they shrink, and none that is quiet now can become a move
            return 0.0, stop_t, layout.labels, uncertified, entries
        crossing = margins.predicted_crossing(
            near_t > 0.0, near_t, layout.labels, shares, sums, slopes, self_sums, self_slopes
        )
        far_t = far_end(near_t, crossing, mean, ratio, stop_t, next_limit_try)
        if far_t == 0.0:
            next_limit_try = near_t / 4.0
        # where few rows are open for all that the near end can tell, the far end is looked at for them alone
        rows = certificate.indices(
            certificate.rows_open_before(layout.labels, shares, far_t, near_t, sums, slopes, self_sums, self_slopes)
        )
        partly = worth_looking_at(rows.shape[0], n)
        looks, action = 0, FULL
        while action == FULL:
            if not partly:
                far = _evaluate(layout, far_t, k)
                entries += _entries_of(n, far_t)
                far_self = self_sums_of(far[0], layout.labels), self_sums_of(far[1], layout.labels)
                rows = certificate.indices(
                    certificate.open_rows(
                        layout.labels, shares, far_t == 0.0, far_t, far[0], far[1], far_self[0], far_self[1],
                        near_t, sums, slopes, self_sums, self_slopes,
                    )
                )  # fmt: skip
            if rows.shape[0] == 0:
                break
            chain = certificate.new_chain(shares, rows, far_t == 0.0)
            if partly:
                look = certificate.look_serially(chain, layout, np.arange(rows.shape[0]), far_t, far_t, near_t)
                certificate.append_look(chain, far_t, look[0], look[1])
            else:
                certificate.append_rows(chain, far_t, far[0], far[1], far_self[0], far_self[1])
            certificate.append_rows(chain, near_t, sums, slopes, self_sums, self_slopes)
            action = certificate.advance(chain, layout, far_t, near_t, largest, rtol, 1 << 62)
            looks += chain.counts[LOOKS]
            uncertified += chain.counts[UNCERTIFIED]
            entries += chain.counts[ENTRIES]
            if action == FOUND:
                t, quiet_to, stepped = certificate.move_found(chain, layout.labels)
                return t, quiet_to, stepped, uncertified, entries
            if action == FULL:
                far_t, partly = certificate.piece_at_hand(chain), False
        ratio = widened(ratio, looks)
        near_t = far_t
        if partly:
            far = _evaluate(layout, near_t, k)
            entries += _entries_of(n, near_t)
            far_self = self_sums_of(far[0], layout.labels), self_sums_of(far[1], layout.labels)
        sums, slopes = far[0], far[1]
        self_sums, self_slopes = far_self
    return 0.0, near_t, layout.labels, uncertified, entries
