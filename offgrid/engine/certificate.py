"""Certifying an interval of t: nothing moves in it, or here is the first t that moves a point.

Rows whose margins are bounded away from a move are certified and not looked at again; the interval is cut in two for
what is left, and its nearer part (the larger t) is settled first. So the pieces not yet settled lie side by side, and
are kept as a chain of evaluations, far end first: the piece at hand is the one between the last two.

Entry points: `rows_open_before` and `open_rows` (the rows that the near end alone, or both ends, do not certify),
`Chain`, `new_chain` and what appends to one, `advance` (settle what can be settled; it says when sums are too much work
for one thread), `insert` (sums that were worked out elsewhere) and `move_found`. Memory: 2 k float64 for each
evaluation of each open row, as many evaluations as the chain is long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import margins as m
from offgrid.engine import series
from offgrid.engine.assignment import TOLERANCE, cluster_totals
from offgrid.engine.compiling import exact
from offgrid.engine.sums import BLOCK, row_sums, self_moments

# Evaluations in a chain. It is rarely longer than ten; where more are wanted, the piece at hand gets its own chain.
_CAPACITY = 32
# Where no exponent t L exceeds this, the kernel is flat: exp(t L) is 1 + t L up to rounding.
FLAT = 1e-9

# What `advance` returns.
CERTIFIED, FOUND, LOOK, FULL = 0, 1, 2, 3
# Where things are in `Chain.counts` and `Chain.reals`.
LENGTH, LOOKS, UNCERTIFIED, ENTRIES, ORDER = 0, 1, 2, 3, 4
LOOK_T, CENTRE, HALF_WIDTH = 0, 1, 2


class Chain(NamedTuple):
    """Evaluations of the open rows between the ends of an interval, and the series of the clusters' self-sums.

    Attributes
    ----------
    limit : bool
        Whether the far end is the limit t = 0: everything is then in terms of (1 - exp(t L)) / t.
    rows : ndarray of int64, shape (m,)
    shares : ndarray of float64, shape (k,)
        1 / n_j, 0 for an empty cluster.
    slots : ndarray of int64, shape (capacity,)
        The chain: where each evaluation's values are; the free ones after its end.
    t : ndarray of float64, shape (capacity,)
    means, mean_slopes : ndarray of float64, shape (capacity, m, k)
    norms, norm_slopes : ndarray of float64, shape (capacity, k)
    left : ndarray of bool, shape (capacity, m)
        Rows that are open in the piece whose near end the evaluation is.
    halve : ndarray of bool, shape (capacity,)
        Whether that piece is to be halved: what its ends foretold was no good.
    terms : ndarray of float64, shape (orders, k)
        The series of the self-sums; it covers nothing while its half-width is 0.
    counts : ndarray of int64
        Length of the chain, looks so far, rows passed over uncertified, kernel entries evaluated, order of the series.
    reals : ndarray of float64
        The t to look at, and the middle and half-width of the series.
    """

    limit: bool
    rows: NDArray[np.int64]
    shares: NDArray[np.float64]
    slots: NDArray[np.int64]
    t: NDArray[np.float64]
    means: NDArray[np.float64]
    mean_slopes: NDArray[np.float64]
    norms: NDArray[np.float64]
    norm_slopes: NDArray[np.float64]
    left: NDArray[np.bool_]
    halve: NDArray[np.bool_]
    terms: NDArray[np.float64]
    counts: NDArray[np.int64]
    reals: NDArray[np.float64]


@exact
def open_rows(
    labels: Any, shares: Any, limit: bool,
    far_t: float, far_sums: Any, far_slopes: Any, far_self: Any, far_self_slopes: Any,
    near_t: float, near_sums: Any, near_slopes: Any, near_self: Any, near_self_slopes: Any,
) -> Any:  # fmt: skip
    """Return for each row, (n,), whether it may move somewhere between two evaluations of all rows.

    `limit` says that the far end is t = 0 with the sums to which others tend over t.
    """
    n, k = near_sums.shape
    far_norms, near_norms = np.empty((2, k)), np.empty((2, k))
    m.to_means(limit, far_t, m.squares(shares), far_self, far_self_slopes, far_norms[0], far_norms[1])
    m.to_means(limit, near_t, m.squares(shares), near_self, near_self_slopes, near_norms[0], near_norms[1])
    means, slopes, bounds = np.empty(k), np.empty(k), np.empty(k)
    far, near = np.empty((4, k)), np.empty((4, k))
    result = np.empty(n, dtype=np.bool_)
    for i in range(n):
        own = labels[i]
        m.to_means(limit, far_t, shares, far_sums[i], far_slopes[i], means, slopes)
        m.row_margins(limit, means, slopes, far_norms[0], far_norms[1], own, far)
        m.to_means(limit, near_t, shares, near_sums[i], near_slopes[i], means, slopes)
        m.row_margins(limit, means, slopes, near_norms[0], near_norms[1], own, near)
        m.lower_bounds(far, near, near_t - far_t, bounds)
        result[i] = m.first_open(bounds, shares, own, limit, near_t, means[own]) >= 0
    return result


@exact
def rows_open_before(
    labels: Any, shares: Any, far_t: float, near_t: float, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any
) -> Any:
    """Return for each row, (n,), whether it may move between far_t and near_t, for all that the near end can tell.

    It can tell nothing where the far end is 0: margins vanish there.
    """
    n, k = sums.shape
    result = np.ones(n, dtype=np.bool_)
    if far_t == 0.0:
        return result
    ratio, width = min(far_t / near_t, 1.0), near_t - far_t
    norms, norm_slopes, raised = np.empty(k), np.empty(k), np.empty(k)
    m.to_means(False, near_t, m.squares(shares), self_sums, self_slopes, norms, norm_slopes)
    for j in range(k):
        raised[j] = norms[j] ** ratio
    means, mean_slopes = np.empty(k), np.empty(k)
    for i in range(n):
        m.to_means(False, near_t, shares, sums[i], slopes[i], means, mean_slopes)
        result[i] = m.may_move_before(
            ratio, width, means, mean_slopes, norms, norm_slopes, raised, shares, labels[i]
        )  # fmt: skip
    return result


@exact
def new_chain(shares: Any, rows: Any, limit: bool) -> Chain:
    """Return an empty chain for the open rows of an interval; `limit` as in `open_rows`."""
    m, k = rows.shape[0], shares.shape[0]
    slots = np.empty(_CAPACITY, dtype=np.int64)
    left = np.empty((_CAPACITY, m), dtype=np.bool_)
    halve = np.empty(_CAPACITY, dtype=np.bool_)
    counts, reals = np.zeros(5, dtype=np.int64), np.zeros(3)
    for slot in range(_CAPACITY):
        slots[slot] = slot
        halve[slot] = False
    # the far end and the near one come first: all rows are open between them
    for i in range(m):
        left[0, i] = left[1, i] = True
    return Chain(
        limit, rows, shares, slots, np.empty(_CAPACITY), np.empty((_CAPACITY, m, k)), np.empty((_CAPACITY, m, k)),
        np.empty((_CAPACITY, k)), np.empty((_CAPACITY, k)), left, halve, np.empty((series.MAX_ORDER + 1, k)),
        counts, reals,
    )  # fmt: skip


@exact
def append(chain: Chain, t: float, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any) -> None:
    """Put an evaluation of the chain's rows at its end, sums (m, k): the far end first, then the near one."""
    slot = chain.slots[chain.counts[LENGTH]]
    chain.counts[LENGTH] += 1
    chain.t[slot] = t
    m.to_means(
        chain.limit, t, m.squares(chain.shares), self_sums, self_slopes, chain.norms[slot], chain.norm_slopes[slot]
    )
    for i in range(chain.rows.shape[0]):
        m.to_means(chain.limit, t, chain.shares, sums[i], slopes[i], chain.means[slot, i], chain.mean_slopes[slot, i])


@exact
def append_rows(chain: Chain, t: float, sums: Any, slopes: Any, self_sums: Any, self_slopes: Any) -> None:
    """Do the same with an evaluation of all rows, sums (n, k)."""
    m_rows, k = chain.rows.shape[0], chain.shares.shape[0]
    some = np.empty((2, m_rows, k))
    for i in range(m_rows):
        for j in range(k):
            some[0, i, j] = sums[chain.rows[i], j]
            some[1, i, j] = slopes[chain.rows[i], j]
    append(chain, t, some[0], some[1], self_sums, self_slopes)


@exact
def append_look(chain: Chain, t: float, sums: Any, slopes: Any) -> None:
    """Do the same with sums of the chain's rows, (m, k), and self-sums from the series, which has to cover t."""
    k = chain.shares.shape[0]
    self_sums, self_slopes = np.empty(k), np.empty(k)
    series.value_at(
        t, chain.reals[CENTRE], chain.reals[HALF_WIDTH], chain.counts[ORDER], chain.terms, self_sums, self_slopes
    )
    append(chain, t, sums, slopes, self_sums, self_slopes)


@exact
def _margins_at(chain: Chain, slot: int, i: int, own: int, out: Any) -> None:
    m.row_margins(
        chain.limit, chain.means[slot, i], chain.mean_slopes[slot, i], chain.norms[slot], chain.norm_slopes[slot],
        own, out,
    )  # fmt: skip


@exact
def _certify(chain: Chain, labels: Any) -> tuple[int, float]:
    """Certify rows of the piece at hand; return how many are left, and the share of the way to the crossing, or -1.

    Rows that are tied all along are passed over and counted.
    """
    far_slot, near_slot = chain.slots[chain.counts[LENGTH] - 2], chain.slots[chain.counts[LENGTH] - 1]
    far_t, near_t = chain.t[far_slot], chain.t[near_slot]
    left = chain.left[near_slot]
    k = chain.shares.shape[0]
    far, near, bounds = np.empty((4, k)), np.empty((4, k)), np.empty(k)
    n_left, crossing = 0, -1.0
    for i in range(chain.rows.shape[0]):
        if not left[i]:
            continue
        own = labels[chain.rows[i]]
        _margins_at(chain, far_slot, i, own, far)
        _margins_at(chain, near_slot, i, own, near)
        m.lower_bounds(far, near, near_t - far_t, bounds)
        if m.first_open(bounds, chain.shares, own, chain.limit, near_t, chain.means[near_slot, i, own]) < 0:
            left[i] = False
        elif m.tied(chain.limit, far_t, near_t, far, near, bounds, own):
            left[i] = False
            chain.counts[UNCERTIFIED] += 1
        else:
            n_left += 1
            crossing = m.crossing(far, near, chain.shares, near_t - far_t, crossing)
    return n_left, crossing


@exact
def best_cluster(chain: Chain, slot: int, i: int, own: int) -> int:
    """Return where a step at an evaluation takes a row, as `assignment.step` does."""
    largest = -np.inf
    for j in range(chain.shares.shape[0]):
        largest = max(largest, _proximity(chain, slot, i, j))
    if largest - _proximity(chain, slot, i, own) <= TOLERANCE:
        return own
    best = 0
    while _proximity(chain, slot, i, best) < largest - TOLERANCE:
        best += 1
    return best


@exact
def _proximity(chain: Chain, slot: int, i: int, j: int) -> float:
    proximity: float = 2.0 * chain.means[slot, i, j] - chain.norms[slot, j]
    if not chain.limit:
        return proximity
    # proximities less 1; that of an empty cluster is 0
    return -chain.t[slot] * proximity if chain.shares[j] > 0.0 else -1.0


@exact
def _moves_at_far_end(chain: Chain, labels: Any) -> bool:
    far_slot, near_slot = chain.slots[chain.counts[LENGTH] - 2], chain.slots[chain.counts[LENGTH] - 1]
    for i in range(chain.rows.shape[0]):
        own = labels[chain.rows[i]]
        if chain.left[near_slot, i] and best_cluster(chain, far_slot, i, own) != own:
            return True
    return False


@exact
def _where_to_look(chain: Chain, crossing: float, rtol: float) -> float:
    """Return the t at which to cut the piece at hand: just past the crossing that its ends foretell, else the middle.

    Close to an end it goes past the crossing by a part of `rtol`, so that the piece shrinks from both sides.
    """
    near_slot = chain.slots[chain.counts[LENGTH] - 1]
    far_t, near_t = chain.t[chain.slots[chain.counts[LENGTH] - 2]], chain.t[near_slot]
    if crossing < 0.0 or chain.halve[near_slot]:
        if near_t < 0.0:
            return -np.sqrt(far_t * near_t)
        return np.sqrt(far_t * near_t) if far_t > 0.0 else near_t / 4.0
    t = far_t + (near_t - far_t) * crossing
    step = 0.8 * rtol * abs(t)
    return min(max(t, far_t + step), near_t - step)


@exact
def covers(chain: Chain, t: float) -> bool:
    """Return whether the series of the self-sums holds at t."""
    return abs(t - chain.reals[CENTRE]) <= chain.reals[HALF_WIDTH] * (1.0 + 1e-12)


@exact
def indices(mask: Any) -> Any:
    """Return where a mask is true."""
    count = 0
    for i in range(mask.shape[0]):
        count += mask[i]
    found = np.empty(count, dtype=np.int64)
    count = 0
    for i in range(mask.shape[0]):
        if mask[i]:
            found[count] = i
            count += 1
    return found


@exact
def insert(chain: Chain, rows: Any, sums: Any, slopes: Any) -> None:
    """Cut the piece at hand at the t that was looked at; `rows` are indices of open rows, sums (len(rows), k)."""
    length = chain.counts[LENGTH]
    t = chain.reals[LOOK_T]
    far_slot, near_slot, slot = chain.slots[length - 2], chain.slots[length - 1], chain.slots[length]
    k = chain.shares.shape[0]
    self_sums, self_slopes = np.empty(k), np.empty(k)
    series.value_at(
        t, chain.reals[CENTRE], chain.reals[HALF_WIDTH], chain.counts[ORDER], chain.terms, self_sums, self_slopes
    )
    chain.t[slot] = t
    m.to_means(
        chain.limit, t, m.squares(chain.shares), self_sums, self_slopes, chain.norms[slot], chain.norm_slopes[slot]
    )
    for i in range(rows.shape[0]):
        m.to_means(
            chain.limit, t, chain.shares, sums[i], slopes[i], chain.means[slot, rows[i]],
            chain.mean_slopes[slot, rows[i]],
        )  # fmt: skip
    for i in range(chain.rows.shape[0]):
        chain.left[slot, i] = chain.left[near_slot, i]
    # a foretold crossing that takes off less than a tenth was no good: the rest is halved
    chain.halve[slot] = t - chain.t[far_slot] > 0.9 * (chain.t[near_slot] - chain.t[far_slot])
    chain.halve[near_slot] = False
    chain.slots[length - 1], chain.slots[length] = slot, near_slot
    chain.counts[LENGTH] += 1
    chain.counts[LOOKS] += 1


@exact
def next_look(chain: Chain, labels: Any, largest: float, rtol: float) -> int:
    """Settle pieces from what is known; return `CERTIFIED`, `FOUND`, `FULL` or, for sums at ``LOOK_T``, `LOOK`."""
    while chain.counts[LENGTH] > 1:
        length = chain.counts[LENGTH]
        far_t, near_t = chain.t[chain.slots[length - 2]], chain.t[chain.slots[length - 1]]
        n_left, crossing = _certify(chain, labels)
        if n_left > 0:
            narrow = near_t <= far_t * (1.0 + rtol) if near_t > 0.0 else far_t >= near_t * (1.0 + rtol)
            # a tie in ordinary k-means itself cannot be told apart from a move at any bandwidth
            flat = far_t == 0.0 and near_t * largest < FLAT
            if narrow and _moves_at_far_end(chain, labels):
                return FOUND
            if not narrow and not flat and length == chain.slots.shape[0]:
                return FULL
            if not narrow and not flat:
                chain.reals[LOOK_T] = _where_to_look(chain, crossing, rtol)
                return LOOK
            chain.counts[UNCERTIFIED] += n_left
        chain.counts[LENGTH] -= 1
    return CERTIFIED


@exact
def _expand_serially(chain: Chain, layout: Any, t: float, lowest: float, highest: float) -> None:
    """Expand the self-sums about t, as `series` says."""
    centre, half_width = series.span(t, lowest, highest)
    order = series.order_for(centre, half_width)
    moments = np.empty((layout.order.shape[0], order + 1))
    self_moments(layout, centre, half_width, moments, 0, moments.shape[0])
    totals = cluster_totals(moments, layout.offsets)
    factorial = 1.0
    for p in range(order + 1):
        factorial *= max(p, 1)
        for j in range(chain.shares.shape[0]):
            chain.terms[p, j] = totals[p, j] / factorial
    chain.reals[CENTRE], chain.reals[HALF_WIDTH], chain.counts[ORDER] = centre, half_width, order


@exact
def entries_inside(layout: Any) -> int:
    """Return how many pairs lie inside clusters: what a series of the self-sums costs."""
    inside = 0
    for j in range(layout.offsets.shape[0] - 1):
        inside += (layout.offsets[j + 1] - layout.offsets[j]) ** 2
    return inside // 2


@exact
def look_serially(chain: Chain, layout: Any, rows: Any, t: float, lowest: float, highest: float) -> Any:
    """Return the sums and slopes, (2, len(rows), k), of some of the chain's rows at t; the series is made to cover t.

    `lowest` and `highest` are the ends of the whole interval.
    """
    if not covers(chain, t):
        _expand_serially(chain, layout, t, lowest, highest)
        chain.counts[ENTRIES] += entries_inside(layout)
    buffer = np.empty(BLOCK)
    sums = np.empty((2, rows.shape[0], chain.shares.shape[0]))
    for i in range(rows.shape[0]):
        row_sums(layout, chain.rows[rows[i]], t, buffer, sums[0, i], sums[1, i])
    chain.counts[ENTRIES] += rows.shape[0] * layout.order.shape[0]
    return sums


@exact
def advance(chain: Chain, layout: Any, lowest: float, highest: float, largest: float, rtol: float, budget: int) -> int:
    """Settle the interval from `lowest` to `highest`.

    Returns `CERTIFIED`, `FOUND`, or `LOOK` for a look that takes more than `budget` kernel entries: it is left to the
    caller, who may have threads. `FULL` is rare: the chain has no more room, so the piece at hand wants one of its own.
    """
    inside = entries_inside(layout)
    while True:
        action = next_look(chain, layout.labels, largest, rtol)
        if action != LOOK:
            return action
        rows = indices(chain.left[chain.slots[chain.counts[LENGTH] - 1]])
        t = chain.reals[LOOK_T]
        if rows.shape[0] * layout.order.shape[0] > budget or not (covers(chain, t) or inside <= budget):
            return LOOK
        sums = look_serially(chain, layout, rows, t, lowest, highest)
        insert(chain, rows, sums[0], sums[1])


@exact
def move_found(chain: Chain, labels: Any) -> tuple[float, float, Any]:
    """Return where a point moves, up to where none does, and the labels after a step there."""
    length = chain.counts[LENGTH]
    at, quiet = chain.slots[length - 2], chain.slots[length - 1]
    stepped = labels.copy()
    for i in range(chain.rows.shape[0]):
        if chain.left[quiet, i]:
            stepped[chain.rows[i]] = best_cluster(chain, at, i, labels[chain.rows[i]])
    return chain.t[at], chain.t[quiet], stepped


@exact
def piece_at_hand(chain: Chain) -> float:
    """Return the t at which the piece between the last two evaluations ends."""
    return chain.t[chain.slots[chain.counts[LENGTH] - 2]]
