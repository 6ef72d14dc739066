"""What a baseline tries and finds: trials, each a clustering with its measures, and what the trials share.

Entry points: `Trial`, `BaselineResult`, and `Bench`, on which `offgrid.baselines` carries out its trials.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offgrid.engine.layout import SQUARE
from offgrid.engine.pairs import Pairs
from offgrid.engine.percentile import low_percentile
from offgrid.errors import InputError
from offgrid.kernels import RBF
from offgrid.lloyd import initial_labels, iterate
from offgrid.memory import memory_limit
from offgrid.metrics import NeighbourRanks, adjusted_rand_index, normalized_mutual_information, ranks_among
from offgrid.path import partition_key
from offgrid.validation import check_choice, check_n_clusters, check_points, check_truth

_MAX_ITER = 300
# Squared distances that are worked out at once, at most.
_BLOCK = 4_000_000

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """One value tried, and the clustering that came of it.

    Attributes
    ----------
    label : str
        What was tried, in words: ``"j = 3"``, ``"10^-2"``.
    sigma : float or None
        The bandwidth; None where there is not one for all points.
    labels : ndarray of int32, shape (n,)
    cnnc : float
    nmi, ari : float or None
        Agreement with the labels, None where the data have none.
    seconds : float
    passes : float
        Kernel passes spent, in units of n**2 kernel entries.
    iterations : int
        Steps of kernel k-means; 0 for a method that has none.
    converged : bool
    """

    label: str
    sigma: float | None
    labels: NDArray[np.int32]
    cnnc: float
    nmi: float | None
    ari: float | None
    seconds: float
    passes: float
    iterations: int
    converged: bool

    @cached_property
    def key(self) -> bytes:
        """The partition as bytes, equal for equal partitions whatever the names of the clusters."""
        return partition_key(self.labels)


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """What a baseline tried and found.

    Attributes
    ----------
    method : str
        Its name in `BASELINES`.
    trials : tuple of Trial
        In the order tried; at least one.
    seconds : float
        All of it, but for ranking the neighbours that c-NNC needs.
    notes : tuple of str
        What was left out, in sentences for people.
    """

    method: str
    trials: tuple[Trial, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def recommended(self) -> Trial:
        """The trial of lowest c-NNC, the first among equals."""
        return min(self.trials, key=lambda trial: trial.cnnc)

    @property
    def cnnc(self) -> float:
        """The lowest c-NNC of any trial."""
        return self.recommended.cnnc

    @property
    def nmi(self) -> float | None:
        """The highest NMI of any trial, None without labels."""
        return max((trial.nmi for trial in self.trials if trial.nmi is not None), default=None)

    @property
    def ari(self) -> float | None:
        """The highest ARI of any trial, None without labels."""
        return max((trial.ari for trial in self.trials if trial.ari is not None), default=None)

    @property
    def passes(self) -> float:
        """Kernel passes of all trials."""
        return sum(trial.passes for trial in self.trials)

    @property
    def n_partitions(self) -> int:
        """Number of distinct partitions among the trials."""
        return len({trial.key for trial in self.trials})


class Bench:
    """The data, the start partition and the measures that the trials of one baseline share."""

    def __init__(
        self, X: ArrayLike, n_clusters: int, y: ArrayLike | None, init: Any, random_state: Any,
        ranks: NeighbourRanks | None,
    ) -> None:  # fmt: skip
        points = check_points(X, minimum=2)
        n = len(points)
        self.n_clusters = check_n_clusters(n_clusters, n)
        self.y = check_truth(y, n)
        self.points = points
        self.kernel = RBF().on(points)
        self.ranks = ranks_among(self.kernel.pairs) if ranks is None else ranks
        self.ranks.check_rows(n)
        if isinstance(init, str):
            check_choice(init, "init", ("random", "k-means++"))
        self.rng = check_random_state(random_state)
        self.start = initial_labels(init, self.kernel.pairs, self.n_clusters, 0.0, self.rng)
        self.notes: list[str] = []
        self.began = self.clock = time.perf_counter()

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.kernel.pairs.n

    def at(self, label: str, sigma: float) -> Trial:
        """Run kernel k-means at a bandwidth, from the start partition."""
        return self.kernel_kmeans(label, sigma, self.kernel.pairs, self.kernel.t(sigma))

    def kernel_kmeans(self, label: str, sigma: float | None, pairs: Pairs, t: float) -> Trial:
        """Run kernel k-means with any kernel matrix, from the start partition."""
        entries = pairs.entries
        state = iterate(pairs, self.start, self.n_clusters, t, _MAX_ITER)
        passes = (pairs.entries - entries) / self.n**2
        return self.judged(label, sigma, state.partition.labels, passes, state.iterations, converged=state.converged)

    def judged(
        self, label: str, sigma: float | None, labels: NDArray[Any], passes: float, iterations: int = 0, *,
        converged: bool = True,
    ) -> Trial:  # fmt: skip
        """Return a trial with its measures, and the seconds since the trial before."""
        labels = labels.astype(np.int32)
        nmi = ari = None
        if self.y is not None:
            nmi, ari = normalized_mutual_information(self.y, labels), adjusted_rand_index(self.y, labels)
        cnnc = self.ranks.cost(labels, self.n_clusters).value
        before, self.clock = self.clock, time.perf_counter()
        return Trial(label, sigma, labels, cnnc, nmi, ari, self.clock - before, passes, iterations, converged)

    def result(self, method: str, trials: Iterator[Trial]) -> BaselineResult:
        """Carry out the trials, one after the other."""
        done = tuple(trials)
        if not done:
            raise InputError("All rows of X are equal: no bandwidth tells them apart; give data with different rows.")
        return BaselineResult(method, done, time.perf_counter() - self.began, tuple(self.notes))

    def blocks(self) -> Iterator[tuple[int, _Floats]]:
        """Yield squared distances, in the kernel's unit, from blocks of rows to all rows, each with its first row."""
        from scipy.spatial.distance import cdist

        pairs, n = self.kernel.pairs, self.n
        step = max(_BLOCK // n, 1)
        for first in range(0, n, step):
            rows = slice(first, first + step)
            yield (
                first,
                -pairs.matrix[rows] if pairs.held == SQUARE else cdist(pairs.points[rows], pairs.points, "sqeuclidean"),
            )

    def nearest(self, count: int) -> _Floats:
        """Return each row's squared distances to its `count` nearest neighbours, (n, count), in the kernel's unit."""
        nearest = np.empty((self.n, count))
        for first, block in self.blocks():
            own = np.arange(len(block))
            block[own, first + own] = np.inf
            nearest[first : first + len(block)] = np.sort(np.partition(block, count - 1, axis=1)[:, :count], axis=1)
        return nearest

    def median(self) -> float:
        """Return the median of squared distances between rows, in the kernel's unit; if 0, the least above 0."""
        pairs, n = self.kernel.pairs, self.n
        if 4 * n * n <= memory_limit():
            return low_percentile(pairs, 50.0)
        first, second = np.random.default_rng(0).integers(n, size=(2, 1_000_000))
        sample = -pairs.exponents_of(first[first != second], second[first != second])
        return float(np.median(sample))
