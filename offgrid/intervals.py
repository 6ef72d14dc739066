"""What the ends of an interval of t say about all of it: bounds by convexity.

Entry points: `Interval` (rows that are not certified, ties, where to cut), `predicted_crossing`, `smallest_margin`,
`at_the_end` and `holds_to_the_end`. All is O(m k) for m rows and k clusters, but for the one pass of `at_the_end`.

A margin is written ``plus - minus``, each a positive combination of convex sums of exp(t L):
``plus = 2 S_own / n_own + B_j / n_j**2`` and ``minus = 2 S_j / n_j + B_own / n_own**2``. Where the far end is t = 0 the
margin over t is used, with sums of (1 - exp(t L)) / t, convex too, for which the two change places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.proximity import TOLERANCE, Evaluation, with_self_sums

_Floats = NDArray[np.float64]

# A margin down to here cannot be a move: the rest of the tolerance, 1e-14, is above any rounding. It is no more
# than that because margins may stay in between for long: those of equal rows in different clusters leave 0 as slowly
# as exp(t L).
_QUIET = -0.99 * TOLERANCE
# Ratio of the ends of an interval up to which margins of 0 with slopes of 0 at both are taken for 0 in between.
_TIE_RATIO = 4.0


@dataclass(frozen=True, eq=False)
class _Margins:
    """Margins of some rows against every cluster at one t, as plus - minus, with t-derivatives; all (m, k)."""

    plus: _Floats
    minus: _Floats
    plus_slope: _Floats
    minus_slope: _Floats

    @property
    def value(self) -> _Floats:
        return self.plus - self.minus

    @property
    def slope(self) -> _Floats:
        return self.plus_slope - self.minus_slope


def _combine(sums: _Floats, self_sums: _Floats, own: NDArray[np.int64], inverse: _Floats) -> tuple[_Floats, _Floats]:
    """Return 2 S_own / n_own + B_j / n_j**2 and 2 S_j / n_j + B_own / n_own**2, both (m, k)."""
    to_own = 2.0 * sums[np.arange(len(own)), own] * inverse[own]
    centroids = self_sums * inverse**2
    return to_own[:, None] + centroids, 2.0 * sums * inverse + centroids[own][:, None]


def _plain(evaluation: Evaluation, partition: Partition) -> _Margins:
    own, inverse = partition.labels[evaluation.rows], partition.inverse_sizes
    plus, minus = _combine(evaluation.sums, evaluation.self_sums, own, inverse)
    plus_slope, minus_slope = _combine(evaluation.slopes, evaluation.self_slopes, own, inverse)
    return _Margins(plus, minus, plus_slope, minus_slope)


def _over_t(evaluation: Evaluation, partition: Partition) -> _Margins:
    """Return the margins divided by t; an evaluation at t = 0 holds the limits already."""
    sums, slopes = evaluation.sums, evaluation.slopes
    self_sums, self_slopes = evaluation.self_sums, evaluation.self_slopes
    if evaluation.t > 0.0:
        sums, self_sums = (partition.sizes - sums) / evaluation.t, (partition.sizes**2 - self_sums) / evaluation.t
        slopes, self_slopes = (-slopes - sums) / evaluation.t, (-self_slopes - self_sums) / evaluation.t
    own, inverse = partition.labels[evaluation.rows], partition.inverse_sizes
    minus, plus = _combine(sums, self_sums, own, inverse)
    minus_slope, plus_slope = _combine(slopes, self_slopes, own, inverse)
    return _Margins(plus, minus, plus_slope, minus_slope)


def _lower_bounds(far: _Margins, near: _Margins, width: float) -> _Floats:
    """Return the smallest values that margins can have between the ends: tangents under plus, a chord over minus."""
    bend = near.plus_slope - far.plus_slope
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = (near.plus - near.plus_slope * width - far.plus) / -bend
    meeting = np.where(bend > 0.0, np.clip(meeting, 0.0, width), 0.5 * width)
    chord = far.minus + (near.minus - far.minus) * (meeting / width)
    # either tangent at a point near their meeting is a bound; the better one is free of the rounding of the division
    tangent = np.maximum(far.plus + far.plus_slope * meeting, near.plus + near.plus_slope * (meeting - width))
    return np.minimum(np.minimum(far.value, near.value), tangent - chord)


def predicted_crossing(near: Evaluation, partition: Partition) -> float:
    """Return the largest t below ``near.t`` where a margin would vanish if margin / t were linear; 0 if none would."""
    margins = _over_t(near, partition)
    value, slope = margins.value, margins.slope
    others = np.arange(partition.n_clusters) != partition.labels[near.rows][:, None]
    falling = others & (slope > 0.0) & (partition.sizes > 0)
    return max(float((near.t - value[falling] / slope[falling]).max(initial=0.0)), 0.0)


def smallest_margin(evaluation: Evaluation, partition: Partition) -> tuple[float, float]:
    """Return the smallest margin of any row against any other cluster, and its t-derivative."""
    margins = _plain(evaluation, partition)
    value = margins.value
    value[np.arange(len(value)), partition.labels[evaluation.rows]] = np.inf
    at = np.unravel_index(value.argmin(), value.shape)
    return float(value[at]), float(margins.slope[at])


@dataclass(frozen=True, eq=False)
class Interval:
    """An interval of t between two evaluations of the same rows: `near` the larger t, `far` the smaller, maybe 0."""

    far: Evaluation
    near: Evaluation

    @property
    def width(self) -> float:
        """Difference of the ends."""
        return self.near.t - self.far.t

    def restricted(self, rows: NDArray[np.int64]) -> Interval:
        """Return the interval for fewer rows."""
        return Interval(self.far.restricted(rows), self.near.restricted(rows))

    def _margins(self, partition: Partition) -> tuple[_Margins, _Margins]:
        form = _over_t if self.far.t == 0.0 else _plain
        return form(self.far, partition), form(self.near, partition)

    def uncertified_rows(self, partition: Partition) -> NDArray[np.int64]:
        """Return the rows that may move somewhere in the interval; every other row is certified not to."""
        return self.near.rows[self._uncertified(partition).any(axis=1)]

    def tied_rows(self, partition: Partition) -> NDArray[np.int64]:
        """Return uncertified rows whose margins are 0 all along, for all that the ends can tell.

        That is so where clusters have rows equal to each other's: no cut, however narrow, would certify them.
        """
        if self.near.t > _TIE_RATIO * self.far.t > 0.0:
            return self.near.rows[:0]
        uncertified = self._uncertified(partition)
        zero = TOLERANCE if self.far.t > 0.0 else TOLERANCE / self.near.t
        tied = np.ones_like(uncertified)
        for end in self._margins(partition):
            tied &= (np.abs(end.value) < zero) & (np.abs(end.slope) * self.width < zero)
        return self.near.rows[uncertified.any(axis=1) & (tied | ~uncertified).all(axis=1)]

    def _uncertified(self, partition: Partition) -> NDArray[np.bool_]:
        """Return for each row and cluster whether the margin may become a move somewhere in the interval, (m, k)."""
        rows = self.near.rows
        far, near = self._margins(partition)
        bounds = _lower_bounds(far, near, self.width)
        quiet = _QUIET
        if self.far.t == 0.0:
            quiet = _QUIET / self.near.t
            # against an empty cluster the margin is the own proximity, which is smallest at the near end or above this
            own = partition.labels[rows]
            to_own = 2.0 * self.near.sums[np.arange(len(rows)), own] * partition.inverse_sizes[own] - 1.0
            bounds[:, partition.sizes == 0] = to_own[:, None] / self.near.t
        bounds[np.arange(len(rows)), partition.labels[rows]] = np.inf
        return bounds < quiet

    def middle(self) -> float:
        """Return the geometric middle, or a quarter of the near end where the far end is 0."""
        return float(np.sqrt(self.far.t * self.near.t)) if self.far.t > 0.0 else self.near.t / 4.0

    def cut(self, partition: Partition, rtol: float) -> float:
        """Return where to look next: at the first crossing that the ends foretell, else in the middle.

        Close to an end it goes just past the crossing, so that the interval shrinks from both sides.
        """
        crossing = self._crossing(partition)
        if crossing is None:
            return self.middle()
        step = 0.4 * rtol * crossing
        return float(np.clip(crossing, self.far.t + 2.0 * step, self.near.t - 2.0 * step))

    def _crossing(self, partition: Partition) -> float | None:
        """Return the largest t at which a cubic through both ends' margins and slopes vanishes, None if none does."""
        far, near = self._margins(partition)
        rows, clusters = np.nonzero((far.value < 0.0) & (near.value > 0.0) & (partition.sizes > 0))
        if len(rows) == 0:
            return None
        at = rows, clusters
        f0, f1 = far.value[at], near.value[at]
        s0, s1 = far.slope[at] * self.width, near.slope[at] * self.width
        low, high = np.zeros(len(rows)), np.ones(len(rows))
        for _ in range(40):
            x = 0.5 * (low + high)
            y = 1.0 - x
            cubic = y * y * ((1 + 2 * x) * f0 + x * s0) + x * x * ((1 + 2 * y) * f1 - y * s1)
            low, high = np.where(cubic < 0.0, x, low), np.where(cubic < 0.0, high, x)
        return self.far.t + self.width * float(high.max())


def at_the_end(pairs: Pairs, partition: Partition) -> Evaluation:
    """Return the evaluation at t = 0: the limits of the sums over t, which make kernel k-means ordinary k-means."""
    sums, slopes = pairs.limit_sums(partition)
    return with_self_sums(partition, 0.0, np.arange(pairs.n), sums, slopes)


def holds_to_the_end(pairs: Pairs, partition: Partition, near: Evaluation) -> bool:
    """Return whether it is certified that nothing moves for any t below ``near.t``, all the way to ordinary k-means."""
    return len(Interval(at_the_end(pairs, partition), near).uncertified_rows(partition)) == 0
