"""The certified search for the critical value: nothing moves below it that was not looked for.

Entry point: `find`. The idea: every sum S(t) of exp(t L) is convex in t, so over an interval it lies above its tangents
and below its chord. A margin (own proximity minus another cluster's) is a difference of two such sums; tangents under
the one and the chord over the other bound it from below on the whole interval (`intervals.lower_bounds`). Rows whose
bounds are positive are certified quiet there and are not looked at again; what is left is cut in two, nearer part
first, until an interval narrower than `rtol` is left whose far end moves a point.

Towards t = 0 margins vanish like t, so the last interval is certified for margins divided by t: their limit is ordinary
k-means, and a partition that survives it has no critical value at all.

Cost: about two kernel passes a critical value, plus m n kernel entries for each look at m remaining rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid import intervals
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.engine.series import SelfSums
from offgrid.intervals import Interval
from offgrid.proximity import Evaluation, evaluate

# Ratio of the ends of an interval of t: never wider than this unless the interval before was certified at once.
_WIDEST = 1.5
_NARROWEST = 1.02
# Where no exponent t L exceeds this, the kernel is flat: exp(t L) is 1 + t L up to rounding.
_FLAT = 1e-9


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
    search = _Search(pairs, partition, rtol)
    near, ratio = start, _WIDEST
    while near.t > stop_t:
        if near.t * pairs.largest < _FLAT:
            # margins are linear in t from here on: they shrink, and none that is quiet now can become a move
            return Found(0.0, stop_t, partition.labels, search.uncertified)
        far = search.far_end(near, ratio, stop_t)
        looked_before = search.looks
        found = search.settle(Interval(far, near))
        if found is not None:
            return found
        ratio = min(ratio, 1e150) ** 2 if search.looks == looked_before else _WIDEST
        near = far
    return Found(0.0, near.t, partition.labels, search.uncertified)


class _Search:
    """One search: the pairs, the partition, and what is counted on the way."""

    def __init__(self, pairs: Pairs, partition: Partition, rtol: float) -> None:
        self.pairs = pairs
        self.partition = partition
        self.rtol = rtol
        self.uncertified = 0
        self.looks = 0
        self._next_limit_try = math.inf

    def far_end(self, near: Evaluation, ratio: float, stop_t: float) -> Evaluation:
        """Choose how far to look ahead of `near`, and evaluate all rows there.

        A little beyond where the first margin would vanish if it went on in a straight line; all the way to t = 0 where
        no margin seems to vanish before and the kernel is flat enough for that to be likely.
        """
        crossing = intervals.predicted_crossing(near, self.partition)
        flat = near.t * self.pairs.mean < 1.0 and crossing < 0.3 * near.t
        if stop_t == 0.0 and flat and near.t < self._next_limit_try:
            self._next_limit_try = near.t / 4.0
            return intervals.at_the_end(self.pairs, self.partition)
        predicted = (near.t / crossing) ** 1.3 if crossing > 0.0 else math.inf
        t = near.t / min(max(predicted, _NARROWEST), ratio)
        return evaluate(self.pairs, self.partition, max(t, stop_t))

    def settle(self, interval: Interval) -> Found | None:
        """Certify the interval, or return the first t in it that moves a point."""
        series = SelfSums(self.pairs, self.partition)
        waiting = [(interval, False)]
        while waiting:
            piece, halve = waiting.pop()
            left = piece.uncertified_rows(self.partition)
            if len(left) > 0:
                tied = piece.tied_rows(self.partition)
                self.uncertified += len(tied)
                left = np.setdiff1d(left, tied)
            if len(left) == 0:
                continue
            piece = piece.restricted(left)
            if piece.near.t <= piece.far.t * (1.0 + self.rtol):
                labels = piece.far.stepped(self.partition)
                if not np.array_equal(labels, self.partition.labels):
                    return Found(piece.far.t, piece.near.t, labels, self.uncertified)
                self.uncertified += len(left)
                continue
            if piece.far.t == 0.0 and piece.near.t * self.pairs.largest < _FLAT:
                # a tie in ordinary k-means itself: it cannot be told apart from a move at any bandwidth
                self.uncertified += len(left)
                continue
            t = piece.middle() if halve else piece.cut(self.partition, self.rtol)
            middle = self._look(left, t, interval, series)
            # a foretold crossing that takes off less than a tenth was no good: the rest is halved
            rest = Interval(piece.far, middle)
            waiting += [(rest, rest.width > 0.9 * piece.width), (Interval(middle, piece.near), False)]
        return None

    def _look(self, rows: NDArray[np.int64], t: float, interval: Interval, series: SelfSums) -> Evaluation:
        """Evaluate a few rows at t; the clusters' self-sums come from a series over the interval."""
        self.looks += 1
        sums, slopes = self.pairs.cluster_sums(self.partition, t, rows)
        self_sums, self_slopes = series.at(t, interval.far.t, interval.near.t)
        return Evaluation(t, rows, sums, slopes, self_sums, self_slopes)
