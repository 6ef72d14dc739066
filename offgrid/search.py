"""The search along the bandwidth path: from one critical value to the next (paper, sections 5 and 6).

Entry point: `BandwidthSearch`. Memory: the pairs, 2 n**2 bytes of neighbour ranks, n labels for each record.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from offgrid.bounds import lower_bound_on
from offgrid.certified import holds_to_the_end
from offgrid.critical import LIMITING, METHODS, CriticalValue, Method, check_method, find_critical
from offgrid.engine.percentile import low_percentile
from offgrid.errors import InputError
from offgrid.kernels import RBF, Kernel, KernelOnData
from offgrid.kmeans import best_of
from offgrid.lloyd import Converged, iterate
from offgrid.metrics import (
    NeighbourRanks,
    adjusted_rand_index,
    neighbour_ranks,
    normalized_mutual_information,
    ranks_among,
)
from offgrid.path import EndReason, LevelEnd, PathRecord
from offgrid.proximity import evaluate
from offgrid.selection import recommend
from offgrid.validation import check_choice, check_count, check_n_clusters, check_points, check_positive, check_truth

_MAX_ITER = 300
# Where no exponent exceeds this, the kernel is flat up to rounding: kernel k-means has become k-means.
_FLAT = 1e-9
# The far end of the progress bar, in units of the mean squared distance: paths rarely go on beyond it.
_FAR = 50.0


@dataclass(frozen=True)
class SearchProgress:
    """Where a search is: level, of how many, the bandwidth reached, and the share of log sigma covered (0 to 1)."""

    level: int
    n_levels: int
    sigma: float
    share: float


@dataclass(frozen=True)
class _Level:
    """One level of the hierarchical search: its number, depth, and the bandwidths it is confined to."""

    number: int
    depth: int
    low: float
    high: float
    start: NDArray[np.int32] | None  # partition it starts from; None for the search's own start


class BandwidthSearch(ClusterMixin, BaseEstimator):
    """Search for the bandwidths at which the clustering changes, and recommend one.

    Kernel k-means is run at a small bandwidth, then, again and again, just above the critical value of the partition it
    ended with. The search ends where no larger bandwidth moves a point: kernel k-means has become ordinary k-means.

    Parameters
    ----------
    n_clusters : int
    kernel : Kernel
        `RBF`, `Laplacian`, `Polynomial` or a `KernelSum`. Where bandwidths are spoken of, here and in the records, a
        polynomial kernel has its degree.
    method : {"certified", "dyadic", "newton", "bisection"}
        How critical values are found; see `critical_bandwidth`. A `KernelSum` has no ``"dyadic"``.
    depths : tuple of int
        ``"dyadic"``: one level of the hierarchical search for each; every level but the first is confined to the
        bandwidth of lowest c-NNC of the level before and its successor. The other methods have one level.
    start : {"percentile", "bound"} or float
        First bandwidth: the 1st percentile of squared distances between rows (the paper's; of Manhattan distances for
        `Laplacian`; degree 1 for `Polynomial`), Theorem 1's bound (RBF only), or a value.
    init : {"random", "k-means++", "kernel-k-means++"} or array-like of int, shape (n,)
        Start partition of kernel k-means at the first bandwidth.
    n_init : int
        Starts there, of which the one of lowest objective is kept.
    max_steps : int or None
        Critical values to find at most.
    random_state : int, RandomState or None
    limiting : {None, "close", "movers"}
        ``"dyadic"``: which points its queries look at; see `critical_bandwidth`.
    min_step : float
        How far past a critical value kernel k-means is run, relative to it. Critical values nearer than that to the one
        before are stepped over. ``"dyadic"`` takes the value it found as it is: it is past the critical value already.
    limit : float or None
        Bandwidth to stop at; without one the search ends at ordinary k-means, or at degree 64.

    Attributes
    ----------
    path_ : list of PathRecord
    ends_ : list of LevelEnd
    lower_bound_ : float or None
        Theorem 1's bound; None where rows are equal or the kernel is not RBF, which `lower_bound_note_` says.
    sigma_ : float
        The recommended bandwidth: lowest c-NNC on the path.
    labels_ : ndarray of int64, shape (n,)
        The partition there.
    progress_ : SearchProgress
        While it runs and after.
    n_features_in_ : int

    Examples
    --------
    >>> search = BandwidthSearch(2, random_state=0).fit([[0.0], [0.5], [1.0], [7.0], [7.5], [8.0]])
    >>> search.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    def __init__(
        self, n_clusters: int = 8, *, kernel: Kernel = RBF(), method: str = "certified",  # noqa: B008
        depths: tuple[int, ...] = (1, 2), start: str | float = "percentile", init: Any = "random", n_init: int = 1,
        max_steps: int | None = None, random_state: Any = None, limiting: str | None = None, min_step: float = 0.01,
        limit: float | None = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.method = method
        self.depths = depths
        self.start = start
        self.init = init
        self.n_init = n_init
        self.max_steps = max_steps
        self.random_state = random_state
        self.limiting = limiting
        self.min_step = min_step
        self.limit = limit

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> BandwidthSearch:
        """Search to the end.

        Parameters
        ----------
        X : array-like of shape (n, d), n >= 2
        y : array-like of shape (n,), optional
            Labels to compare with (NMI, ARI); they do not influence the search.

        Raises
        ------
        InputError
            Where X, y or a parameter is not what it must be.
        """
        self.path_ = list(self.iter_path(X, y))
        best = recommend(self.path_)
        assert best is not None
        self.sigma_ = self.path_[best.index].sigma
        self.labels_ = self.path_[best.index].labels
        return self

    def iter_path(
        self, X: ArrayLike, y: ArrayLike | None = None, *, resume: Sequence[PathRecord] = (),
        ranks: NeighbourRanks | None = None,
    ) -> Iterator[PathRecord]:  # fmt: skip
        """Yield the records of the path as they are found.

        Parameters
        ----------
        X, y
            As for `fit`.
        resume : sequence of PathRecord
            Records found earlier with the same data and parameters: the search goes on after the last one, with the
            records that an uninterrupted search would have found.
        ranks : NeighbourRanks, optional
            The neighbours of X ranked before, by `offgrid.metrics.neighbour_ranks`.
        """
        points = check_points(X, minimum=2)
        validate_data(self, X, skip_check_array=True)
        self._check_parameters(len(points))
        return _Run(self, points, check_truth(y, len(points)), ranks).records(resume)

    def _check_parameters(self, n: int) -> None:
        check_n_clusters(self.n_clusters, n)
        check_choice(self.method, "method", METHODS)
        check_choice(self.limiting, "limiting", LIMITING)
        check_count(self.n_init, "n_init")
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"kernel is {self.kernel!r}: give a kernel such as RBF().")
        if self.max_steps is not None:
            check_count(self.max_steps, "max_steps")
        if not isinstance(self.depths, tuple | list) or not self.depths:
            raise InputError(
                f"depths is {self.depths!r}: give one whole number from 1 to 40 for each level, such as (1, 2)."
            )
        for depth in self.depths:
            check_count(depth, "depths", maximum=40)
        if not isinstance(self.min_step, Real) or not 0.0 <= self.min_step <= 1.0:
            raise InputError(f"min_step is {self.min_step!r}: it must lie between 0 and 1, such as 0.01.")
        if isinstance(self.start, str):
            check_choice(self.start, "start", ("percentile", "bound"))
        else:
            check_positive(self.start, "start")
        if self.limit is not None:
            check_positive(self.limit, "limit")


class _Run:
    """One run of a search on one data set."""

    def __init__(
        self, search: BandwidthSearch, points: NDArray[np.float64], y: NDArray[Any] | None, ranks: NeighbourRanks | None
    ) -> None:
        self.search = search
        self.y = y
        self.kernel: KernelOnData = search.kernel.on(points)
        check_method(self.kernel, search.method)
        if ranks is None:
            ranks = ranks_among(self.kernel.pairs) if self.kernel.pairs.squared else neighbour_ranks(points)
        self.ranks = ranks
        self.ranks.check_rows(len(points))
        self.n_levels = len(search.depths) if search.method == "dyadic" else 1
        search.ends_ = []
        search.lower_bound_, search.lower_bound_note_ = None, ""
        try:
            search.lower_bound_ = lower_bound_on(self.kernel) if isinstance(search.kernel, RBF) else None
            search.lower_bound_note_ = "" if search.lower_bound_ else "no bound: it is for the RBF kernel only."
        except InputError as error:
            search.lower_bound_note_ = str(error)
        self.first = self._first_sigma()
        self.limit = self.kernel.limit if search.limit is None else float(search.limit)
        if self.limit <= self.first:
            what = "bandwidth" if self.kernel.parameter == "sigma" else self.kernel.parameter
            raise InputError(f"limit is {self.limit:.6g}: it must be above the first {what}, {self.first:.6g}.")
        self.steps = 0
        self.clock = time.perf_counter()
        self.entries = 0

    def _first_sigma(self) -> float:
        start = self.search.start
        if not isinstance(start, str):
            return float(start)
        if start == "bound":
            if self.search.lower_bound_ is None:
                raise InputError(
                    f"start is 'bound', but there is {self.search.lower_bound_note_} Start at 'percentile'."
                )
            return self.search.lower_bound_
        sigma = self.kernel.first
        if sigma is None:
            sigma = self.kernel.unit * low_percentile(self.kernel.pairs)
        if sigma == 0.0 or self.kernel.pairs.largest == 0.0:
            raise InputError("All rows of X are equal: no bandwidth tells them apart; give data with different rows.")
        return sigma

    def records(self, resume: Sequence[PathRecord]) -> Iterator[PathRecord]:
        """Yield the records after those of `resume`, level by level."""
        level = _Level(1, self.search.depths[0], self.first, self.limit, None)
        while True:
            known = [record for record in resume if record.level == level.number]
            found = list(known)
            for record in self._level_records(level, known):
                found.append(record)
                yield record
            if level.number == self.n_levels:
                return
            best = min(range(len(found)), key=lambda i: (found[i].cnnc, i))
            high = found[best + 1].sigma if best + 1 < len(found) else self.limit
            depth = self.search.depths[level.number]
            level = _Level(level.number + 1, depth, found[best].sigma, high, found[best].labels)

    def _level_records(self, level: _Level, known: Sequence[PathRecord]) -> Iterator[PathRecord]:
        """Yield a level's records after the known ones, and note how it ends."""
        self._report(level, known[-1].sigma if known else level.low)
        if known:
            self.steps += len(known) - 1
            record = known[-1]
            state = self._again(level, known)
        else:
            state = self._start(level)
            record = self._record(level, level.low, None, None, state)
            yield record
        while self.search.max_steps is None or self.steps < self.search.max_steps:
            critical = self._critical(level, state)
            if critical.sigma > level.high or not critical.changed:
                reason: EndReason = "limit" if math.isfinite(critical.below) else self.kernel.end
                self._end(level, reason, min(critical.below, level.high))
                return
            sigma, state = self._after(critical, record, level)
            self.steps += 1
            record = self._record(level, sigma, critical, record, state)
            self._report(level, sigma)
            yield record
        self._end(level, "budget", record.sigma)

    def _again(self, level: _Level, known: Sequence[PathRecord]) -> Converged:
        """Return the state in which the last known record left the search, to the last bit.

        Kernel k-means is run as it was for that record: sums that were updated on the way differ in rounding from sums
        that are evaluated for the partition alone.
        """
        pairs, k, t = self.kernel.pairs, self.search.n_clusters, self.kernel.t(known[-1].sigma)
        state = iterate(pairs, known[-2].labels, k, t, _MAX_ITER) if len(known) > 1 else self._start(level)
        if np.array_equal(state.partition.labels, known[-1].labels):
            return state
        # a start that was drawn without a seed cannot be drawn again
        return iterate(pairs, known[-1].labels, k, t, 0)

    def _start(self, level: _Level) -> Converged:
        """Run kernel k-means at a level's first bandwidth, from the start or from the best of the level before."""
        search, pairs, t = self.search, self.kernel.pairs, self.kernel.t(level.low)
        if level.start is not None:
            return iterate(pairs, level.start, search.n_clusters, t, _MAX_ITER)
        rng = check_random_state(search.random_state)
        return best_of(pairs, t, search.n_clusters, init=search.init, n_init=search.n_init, max_iter=_MAX_ITER, rng=rng)

    def _critical(self, level: _Level, state: Converged) -> CriticalValue:
        """Find the critical value of a partition; `below` is ``inf`` where nothing larger moves a point.

        Only the certified method says so itself. The dyadic one goes on from as far as it has looked, until the
        partition is certified all the way to ordinary k-means, or the kernel is flat.
        """
        search, pairs = self.search, self.kernel.pairs
        method: Method = check_choice(search.method, "method", METHODS)
        evaluation = state.evaluation
        while True:
            critical = find_critical(
                self.kernel, state.partition, evaluation, method=method, depth=level.depth,
                limiting=search.limiting, limit=level.high,
            )  # fmt: skip
            reached = critical.sigma if method == "dyadic" else critical.below
            if critical.changed or reached >= level.high or method == "certified":
                return critical
            evaluation = evaluate(pairs, state.partition, self.kernel.t(reached))
            if not self.kernel.sharpens:
                flat = evaluation.t * pairs.largest < _FLAT
                if flat or holds_to_the_end(pairs, state.partition, evaluation):
                    return replace(critical, sigma=math.inf, below=math.inf)
            if method != "dyadic":
                return critical

    def _after(self, critical: CriticalValue, record: PathRecord, level: _Level) -> tuple[float, Converged]:
        """Run kernel k-means from the record's partition just above a critical value."""
        pairs, k = self.kernel.pairs, self.search.n_clusters
        past = critical.sigma if self.search.method == "dyadic" else critical.sigma * (1.0 + self.search.min_step)
        sigma = min(max(past, np.nextafter(record.sigma, math.inf)), level.high)
        state = iterate(pairs, record.labels, k, self.kernel.t(sigma), _MAX_ITER)
        if np.array_equal(state.partition.labels, record.labels):
            # points move at the critical value and no more a little past it: the change is there, so look there
            sigma = critical.sigma
            state = iterate(pairs, record.labels, k, self.kernel.t(sigma), _MAX_ITER)
        return sigma, state

    def _record(
        self, level: _Level, sigma: float, critical: CriticalValue | None, before: PathRecord | None, state: Converged
    ) -> PathRecord:
        labels = state.partition.labels.astype(np.int32)
        now, entries = time.perf_counter(), self.kernel.pairs.entries
        agreement: dict[str, float] = {}
        if self.y is not None:
            agreement = {
                "nmi": normalized_mutual_information(self.y, labels), "ari": adjusted_rand_index(self.y, labels)
            }  # fmt: skip
        cost = self.ranks.cost(labels, self.search.n_clusters)
        record = PathRecord(
            sigma=sigma,
            below=sigma if critical is None else critical.below,
            critical=sigma if critical is None else critical.sigma,
            labels=labels,
            moved=np.flatnonzero(labels != before.labels) if before is not None else np.empty(0, dtype=np.int64),
            cnnc=cost.value,
            cnnc_error=cost.standard_error,
            seconds=now - self.clock,
            level=level.number,
            iterations=state.iterations,
            converged=state.converged,
            passes=(entries - self.entries) / self.kernel.pairs.n**2,
            uncertified=0 if critical is None else critical.uncertified,
            **agreement,
        )
        self.clock, self.entries = now, entries
        return record

    def _report(self, level: _Level, sigma: float, *, ended: bool = False) -> None:
        far = level.high if math.isfinite(level.high) else self.kernel.unit * self.kernel.pairs.mean * _FAR
        share = 1.0
        if not ended and far > level.low:
            share = min(max(math.log(sigma / level.low) / math.log(far / level.low), 0.0), 0.99)
        share = (level.number - 1 + share) / self.n_levels
        self.search.progress_ = SearchProgress(level.number, self.n_levels, sigma, share)

    def _end(self, level: _Level, reason: EndReason, holds_to: float) -> None:
        self.search.ends_.append(LevelEnd(level.number, reason, holds_to))
        self._report(level, self.search.progress_.sigma, ended=True)
