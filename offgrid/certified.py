"""The certified search for the critical value: nothing moves below it that was not looked for.

Entry points: `find`, and `holds_to_the_end`. The idea: every sum S(t) of exp(t L) is convex in t, so over an interval
it lies above its tangents and below its chord. A margin (own proximity minus another cluster's) is a difference of two
such sums; tangents under the one and the chord over the other bound it from below on the whole interval
(`engine.margins`). Rows whose bounds are positive are certified quiet there and are not looked at again; what is left
is cut in two, nearer part first, until an interval narrower than `rtol` is left whose far end moves a point
(`engine.certificate`). Most rows are certified from the near end of an interval alone, by Jensen's inequality: its far
end is then looked at for the few that are left. How far each interval goes is decided in `engine.descent`, which also
has the whole search as one compiled routine for small data.

Towards t = 0 margins vanish like t, so the last interval is certified for margins divided by t: their limit is ordinary
k-means, and a partition that survives it has no critical value at all. A kernel of which only a part changes with t
tends to the rest of it, and margins to margins of that: t = 0 is then an end like any other. Where a kernel sharpens
as its parameter grows, the search goes down from t < 0 (`engine.descent`), to a limit.

Cost: half a kernel pass (n**2 / 2 entries) for each interval that holds no critical value, at most that for the one
that does, and m n entries for each look at m remaining rows. The sums at the start are kernel k-means' own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import certificate, descent, margins, series
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.engine.threads import SERIAL_COST
from offgrid.looks import Report
from offgrid.proximity import Evaluation, evaluate, with_self_sums


@dataclass(frozen=True, eq=False)
class Found:
    """The result in terms of t: quiet from `quiet_to` up, and a point moves at `t`; 0 if none ever does."""

    t: float
    quiet_to: float
    labels: NDArray[np.int64]
    uncertified: int


def find(
    pairs: Pairs, partition: Partition, start: Evaluation, *, rtol: float, stop_t: float = 0.0,
    report: Report | None = None,
) -> Found:  # fmt: skip
    """Find the largest t below ``start.t`` at which a step from `partition` moves a point.

    Parameters
    ----------
    pairs, partition : Pairs, Partition
    start : Evaluation
        All rows at the t where kernel k-means converged.
    rtol : float
        Relative width at which an interval that cannot be certified is settled by its far end.
    stop_t : float
        Stop where the partition is certified down to here.
    report : Report, optional
        Called after each look; the search is then not done in one compiled routine, and finds the same.
    """
    if not pairs.worth_threads and not pairs.mixed and report is None:
        t, quiet_to, labels, uncertified, entries = descent.descend(
            pairs.layout(partition), partition.inverse_sizes, start.t, start.sums, start.slopes, start.self_sums,
            start.self_slopes, rtol, stop_t, pairs.largest, pairs.mean,
        )  # fmt: skip
        pairs.entries += entries
        return Found(t, quiet_to, labels, uncertified)
    search = _Search(pairs, partition, rtol, report)
    near, ratio = start, descent.WIDEST
    while near.t > stop_t:
        flat = near.t > 0.0 and near.t * pairs.largest < certificate.FLAT
        if flat and not pairs.mixed:
            # margins are linear in t from here on: they shrink, and none that is quiet now can become a move
            return Found(0.0, stop_t, partition.labels, search.uncertified)
        looks = search.looks
        settled = search.settle(stop_t if flat else search.far_end(near, ratio, stop_t), near)
        if isinstance(settled, Found):
            return settled
        ratio = descent.widened(ratio, search.looks - looks)
        near = settled
    return Found(0.0, near.t, partition.labels, search.uncertified)


class _Search:
    """One search whose sums are spread over threads: the pairs, the partition, and what is counted on the way."""

    def __init__(self, pairs: Pairs, partition: Partition, rtol: float, report: Report | None) -> None:
        self.pairs = pairs
        self.partition = partition
        self.rtol = rtol
        self.uncertified = 0
        self.looks = 0
        self._next_limit_try = math.inf
        self._report = report
        self._look: tuple[float, int] | None = None

    def far_end(self, near: Evaluation, ratio: float, stop_t: float) -> float:
        """Choose the far end of the next interval."""
        crossing = margins.predicted_crossing(
            near.t > 0.0 and not self.pairs.mixed, near.t, self.partition.labels, self.partition.inverse_sizes,
            near.sums, near.slopes, near.self_sums, near.self_slopes,
        )  # fmt: skip
        t: float = descent.far_end(near.t, crossing, self.pairs.mean, ratio, stop_t, self._next_limit_try)
        if t == 0.0:
            self._next_limit_try = near.t / 4.0
        return t

    def settle(self, far_t: float, near: Evaluation) -> Found | Evaluation:
        """Return the first t down to `far_t` that moves a point, or the evaluation there if none does."""
        rows = np.flatnonzero(self._open_before(far_t, near))
        if not descent.worth_looking_at(len(rows), self.pairs.n):
            return self._settle_between(self._evaluate(far_t), near)
        if len(rows) > 0:
            # few rows are open for all that the near end can tell: the far end is looked at for them alone
            chain = certificate.new_chain(self.partition.inverse_sizes, rows, False)
            self._look = far_t, len(rows)
            certificate.append_look(chain, far_t, *self._sums_at(chain, np.arange(len(rows)), far_t, far_t, near.t))
            settled = self._settle(chain, far_t, near)
            if settled is not None:
                return settled
        far = self._evaluate(far_t)
        self._tell(far_t)
        return far

    def _tell(self, quiet_to: float) -> None:
        """Report the last look, if it was not reported yet, now that it is known what follows from it."""
        if self._report is not None and self._look is not None:
            self._report(*self._look, quiet_to)
            self._look = None

    def _evaluate(self, t: float) -> Evaluation:
        self._look = t, self.pairs.n
        return evaluate(self.pairs, self.partition, t) if t != 0.0 else _at_the_end(self.pairs, self.partition)

    def _settle_between(self, far: Evaluation, near: Evaluation) -> Found | Evaluation:
        """Return the first t between two evaluations of all rows that moves a point, or the far one if none does."""
        limit = far.t == 0.0 and not self.pairs.mixed
        rows = np.flatnonzero(_open_rows(self.partition, far, near, limit=limit))
        if len(rows) == 0:
            self._tell(far.t)
            return far
        chain = certificate.new_chain(self.partition.inverse_sizes, rows, limit)
        certificate.append_rows(chain, far.t, far.sums, far.slopes, far.self_sums, far.self_slopes)
        return self._settle(chain, far.t, near) or far

    def _settle(self, chain: certificate.Chain, far_t: float, near: Evaluation) -> Found | Evaluation | None:
        """Settle an interval for the rows of a chain that has its far end; None where nothing moves."""
        certificate.append_rows(chain, near.t, near.sums, near.slopes, near.self_sums, near.self_slopes)
        layout, largest = self.pairs.layout(self.partition), self.pairs.largest
        # of a mixed kernel a layout is only a part: every look is left to the pairs, as it is to be reported
        budget = -1 if self.pairs.mixed or self._report is not None else SERIAL_COST
        while True:
            action = certificate.advance(chain, layout, far_t, near.t, largest, self.rtol, budget)
            self._tell(float(chain.t[chain.slots[chain.counts[certificate.LENGTH] - 1]]))
            if action != certificate.LOOK:
                break
            left = np.flatnonzero(chain.left[chain.slots[chain.counts[certificate.LENGTH] - 1]])
            t = float(chain.reals[certificate.LOOK_T])
            self._look = t, len(left)
            certificate.insert(chain, left, *self._sums_at(chain, left, t, far_t, near.t))
        self.looks += int(chain.counts[certificate.LOOKS])
        self.uncertified += int(chain.counts[certificate.UNCERTIFIED])
        self.pairs.entries += int(chain.counts[certificate.ENTRIES])
        if action == certificate.FULL:
            piece = self._evaluate(certificate.piece_at_hand(chain))
            return self._settle_between(piece, near)
        if action == certificate.FOUND:
            t, quiet_to, stepped = certificate.move_found(chain, self.partition.labels)
            return Found(t, quiet_to, stepped, self.uncertified)
        return None

    def _sums_at(
        self, chain: certificate.Chain, rows: NDArray[np.int64], t: float, lowest: float, highest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Evaluate some of a chain's rows, and see that the series of the clusters' self-sums covers t."""
        if not certificate.covers(chain, t):
            centre, half_width = series.span(t, lowest, highest)
            order = series.order_for(centre, half_width)
            moments = self.pairs.self_moments(self.partition, centre, half_width, order)
            chain.terms[: order + 1] = series.coefficients(moments)
            chain.reals[certificate.CENTRE], chain.reals[certificate.HALF_WIDTH] = centre, half_width
            chain.counts[certificate.ORDER] = order
        return self.pairs.cluster_sums(self.partition, t, chain.rows[rows])

    def _open_before(self, far_t: float, near: Evaluation) -> NDArray[np.bool_]:
        labels, shares = self.partition.labels, self.partition.inverse_sizes
        result: NDArray[np.bool_] = certificate.rows_open_before(
            labels, shares, far_t, near.t, near.sums, near.slopes, near.self_sums, near.self_slopes
        )
        return result


def _open_rows(partition: Partition, far: Evaluation, near: Evaluation, *, limit: bool) -> NDArray[np.bool_]:
    ends = ((end.t, end.sums, end.slopes, end.self_sums, end.self_slopes) for end in (far, near))
    result: NDArray[np.bool_] = certificate.open_rows(
        partition.labels, partition.inverse_sizes, limit, *next(ends), *next(ends)
    )
    return result


def _at_the_end(pairs: Pairs, partition: Partition) -> Evaluation:
    """Return the evaluation at t = 0: the limits of the sums over t, which make kernel k-means ordinary k-means.

    Of a mixed kernel the sums themselves.
    """
    if pairs.mixed:
        return evaluate(pairs, partition, 0.0)
    return with_self_sums(partition, 0.0, *pairs.limit_sums(partition))


def holds_to_the_end(pairs: Pairs, partition: Partition, near: Evaluation) -> bool:
    """Return whether it is certified that nothing moves for any t from ``near.t`` down to 0, as by ordinary k-means."""
    return not _open_rows(partition, _at_the_end(pairs, partition), near, limit=not pairs.mixed).any()
