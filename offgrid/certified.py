"""The certified search for the critical value: nothing moves below it that was not looked for.

Entry points: `find`, and `holds_to_the_end`. The idea: every sum S(t) of exp(t L) is convex in t, so over an interval
it lies above its tangents and below its chord. A margin (own proximity minus another cluster's) is a difference of two
such sums; tangents under the one and the chord over the other bound it from below on the whole interval
(`engine.margins`). Rows whose bounds are positive are certified quiet there and are not looked at again; what is left
is cut in two, nearer part first, until an interval narrower than `rtol` is left whose far end moves a point
(`engine.certificate`). How far each interval goes is decided in `engine.descent`, which also has the whole search as
one compiled routine for small data.

Towards t = 0 margins vanish like t, so the last interval is certified for margins divided by t: their limit is ordinary
k-means, and a partition that survives it has no critical value at all.

Cost: about one kernel pass (n**2 entries) a critical value, plus m n entries for each look at m remaining rows.
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
from offgrid.proximity import Evaluation, evaluate, with_self_sums


@dataclass(frozen=True, eq=False)
class Found:
    """The result in terms of t: quiet from `quiet_to` up, and a point moves at `t`; 0 if none ever does."""

    t: float
    quiet_to: float
    labels: NDArray[np.int64]
    uncertified: int


def find(pairs: Pairs, partition: Partition, start: Evaluation, *, rtol: float, stop_t: float = 0.0) -> Found:
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
    """
    if not pairs.worth_threads:
        t, quiet_to, labels, uncertified, entries = descent.descend(
            pairs.layout(partition), partition.inverse_sizes, start.t, start.sums, start.slopes, start.self_sums,
            start.self_slopes, rtol, stop_t, pairs.largest, pairs.mean,
        )  # fmt: skip
        pairs.entries += entries
        return Found(t, quiet_to, labels, uncertified)
    search = _Search(pairs, partition, rtol)
    near, ratio = start, descent.WIDEST
    while near.t > stop_t:
        if near.t * pairs.largest < certificate.FLAT:
            # margins are linear in t from here on: they shrink, and none that is quiet now can become a move
            return Found(0.0, stop_t, partition.labels, search.uncertified)
        far = search.look_ahead(near, ratio, stop_t)
        looks = search.looks
        found = search.settle(far, near)
        if found is not None:
            return found
        ratio = descent.widened(ratio, search.looks - looks)
        near = far
    return Found(0.0, near.t, partition.labels, search.uncertified)


class _Search:
    """One search whose sums are spread over threads: the pairs, the partition, and what is counted on the way."""

    def __init__(self, pairs: Pairs, partition: Partition, rtol: float) -> None:
        self.pairs = pairs
        self.partition = partition
        self.rtol = rtol
        self.uncertified = 0
        self.looks = 0
        self._next_limit_try = math.inf

    def look_ahead(self, near: Evaluation, ratio: float, stop_t: float) -> Evaluation:
        """Evaluate all rows at the far end of the next interval."""
        crossing = margins.predicted_crossing(
            near.t, self.partition.labels, self.partition.inverse_sizes, near.sums, near.slopes, near.self_sums,
            near.self_slopes,
        )  # fmt: skip
        t = descent.far_end(near.t, crossing, self.pairs.mean, ratio, stop_t, self._next_limit_try)
        if t == 0.0:
            self._next_limit_try = near.t / 4.0
            return _at_the_end(self.pairs, self.partition)
        return evaluate(self.pairs, self.partition, t)

    def settle(self, far: Evaluation, near: Evaluation) -> Found | None:
        """Certify the interval between two evaluations of all rows, or return the first t in it that moves a point."""
        labels = self.partition.labels
        rows = np.flatnonzero(_open_rows(self.partition, far, near))
        if len(rows) == 0:
            return None
        chain = certificate.new_chain(self.partition.inverse_sizes, rows, far.t == 0.0)
        for end in (far, near):
            certificate.append(chain, end.t, end.sums[rows], end.slopes[rows], end.self_sums, end.self_slopes)
        layout, largest = self.pairs.layout(self.partition), self.pairs.largest
        while True:
            action = certificate.advance(chain, layout, far.t, near.t, largest, self.rtol, SERIAL_COST)
            if action != certificate.LOOK:
                break
            if certificate.is_full(chain):
                chain = certificate.grown(chain)
            self._look(chain, far.t, near.t)
        self.looks += int(chain.counts[certificate.LOOKS])
        self.uncertified += int(chain.counts[certificate.UNCERTIFIED])
        self.pairs.entries += int(chain.counts[certificate.ENTRIES])
        if action == certificate.CERTIFIED:
            return None
        return Found(*certificate.move_found(chain, labels), self.uncertified)

    def _look(self, chain: certificate.Chain, lowest: float, highest: float) -> None:
        """Evaluate the rows left of the piece at hand; the clusters' self-sums come from a series over the interval."""
        t = float(chain.reals[certificate.LOOK_T])
        if not certificate.covers(chain, t):
            centre, half_width = series.span(t, lowest, highest)
            order = series.order_for(centre, half_width)
            moments = self.pairs.self_moments(self.partition, centre, half_width, order)
            chain.terms[: order + 1] = series.coefficients(moments)
            chain.reals[certificate.CENTRE], chain.reals[certificate.HALF_WIDTH] = centre, half_width
            chain.counts[certificate.ORDER] = order
        left = np.flatnonzero(chain.left[chain.slots[chain.counts[certificate.LENGTH] - 1]])
        certificate.insert(chain, left, *self.pairs.cluster_sums(self.partition, t, chain.rows[left]))


def _open_rows(partition: Partition, far: Evaluation, near: Evaluation) -> NDArray[np.bool_]:
    ends = ((end.t, end.sums, end.slopes, end.self_sums, end.self_slopes) for end in (far, near))
    result: NDArray[np.bool_] = certificate.open_rows(
        partition.labels, partition.inverse_sizes, *next(ends), *next(ends)
    )
    return result


def _at_the_end(pairs: Pairs, partition: Partition) -> Evaluation:
    """Return the evaluation at t = 0: the limits of the sums over t, which make kernel k-means ordinary k-means."""
    return with_self_sums(partition, 0.0, *pairs.limit_sums(partition))


def holds_to_the_end(pairs: Pairs, partition: Partition, near: Evaluation) -> bool:
    """Return whether it is certified that nothing moves for any t below ``near.t``, all the way to ordinary k-means."""
    return not _open_rows(partition, _at_the_end(pairs, partition), near).any()
