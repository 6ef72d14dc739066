"""Which clustering to recommend where there are no labels and the number of clusters is given, and why.

Entry points: `recommend_partition`, and `near_share`, which measures any other clustering as it does. Memory: 24 n**2
bytes for n rows; at most `MAX_ROWS` rows, and no more than `OFFGRID_MEMORY_LIMIT` allows, are worked on: of larger data
a random sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from offgrid.errors import InputError
from offgrid.kernels import RBF
from offgrid.local_cost import LocalCost, standard_error
from offgrid.memory import memory_limit
from offgrid.partitions import match_labels, number_clusters
from offgrid.path import json_value, partition_key
from offgrid.recommendation_words import CHANCE, reasons, verdict
from offgrid.spectral import kmeans_labels, spectral_labels
from offgrid.threading_limits import few_threads
from offgrid.validation import check_count, check_n_clusters, check_points, in_units_of, spread_of
from offgrid.weighted import weighted_kernel_kmeans

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# Bandwidths on a grid that is even in log sigma: a step is less than a factor 2 unless the ends differ by 2**23.
N_BANDWIDTHS = 24
# Starts of k-means, scikit-learn's customary number.
N_INIT = 10
# Rows that are worked on, at most: time grows with their cube, and these take one processor about a minute.
MAX_ROWS = 4000
# Partitions that place no more than this share of rows otherwise count as the same to the eye: for words only.
ALIKE = 0.1
# Bytes for each pair of rows: L, K, and K with its rows and columns scaled.
_BYTES = 24
# A sample that is smaller says little; fewer rows for each cluster say nothing.
_LEAST_ROWS, _LEAST_PER_CLUSTER = 200, 10


@dataclass(frozen=True, eq=False)
class CandidatePartition:
    """One clustering that was considered.

    Attributes
    ----------
    sigma : float
        Bandwidth that it was found at; ``inf`` for ordinary k-means.
    labels : ndarray of int64, shape (n,)
        Clusters, named like those of the recommended partition which they resemble most.
    cost : float
        Local c-NNC, from 0 (best) to 1; see `offgrid.local_cost`.
    standard_error : float
        Of the cost, the rows taken as independent draws.
    """

    sigma: float
    labels: Labels
    cost: float
    standard_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an infinite bandwidth is the string ``"inf"``."""
        return {
            "sigma": json_value(self.sigma),
            "cost": self.cost,
            "standard_error": self.standard_error,
            "labels": self.labels.tolist(),
        }


@dataclass(frozen=True, eq=False)
class RunnerUp:
    """The best of the clusterings that are clearly another one.

    Attributes
    ----------
    candidate : CandidatePartition
    differs : ndarray of int64
        Rows that it places in another cluster, once clusters are named alike.
    excess : float
        By how many standard errors of the difference its cost exceeds the recommended one's; the difference is taken
        row by row. Below 0 where it is ordinary k-means that is kept in its stead.
    """

    candidate: CandidatePartition
    differs: Labels
    excess: float


@dataclass(frozen=True, eq=False)
class RecommendedPartition:
    """The clustering recommended, and why.

    Attributes
    ----------
    sigma : float
        Bandwidth of the kernel exp(-||x - y||**2 / sigma); ``inf`` for ordinary k-means.
    labels : ndarray of int64, shape (n,)
        Clusters, numbered by decreasing size.
    cost, standard_error : float
        Local c-NNC, and its standard error.
    candidates : tuple of CandidatePartition
        Ordinary k-means, then one for each bandwidth by decreasing bandwidth; none where the data fall into more
        unconnected pieces than clusters, see `offgrid.spectral.embedding`.
    index : int
        The recommended one among them.
    seen_from, seen_to : float
        Bandwidths, next to each other in `candidates`, at which a clustering was found that places at most a tenth of
        the rows otherwise.
    n_seen : int
        How many bandwidths that are.
    n_tried : int
        Bandwidths tried: 0 with one cluster, or where all rows are equal.
    n_partitions : int
        Distinct clusterings among the candidates.
    excess_of_kmeans : float
        By how many standard errors of the difference, taken row by row, ordinary k-means has a higher cost than the
        clustering of lowest cost. Up to 1 it is kept.
    lowest : CandidatePartition
        The one of lowest cost: the recommended one, unless ordinary k-means is kept in its stead.
    n_neighbours : int
        Nearest neighbours of each row that the cost looks at.
    runner_up : RunnerUp or None
        None where no candidate places more than a tenth of the rows otherwise.
    rows : ndarray of int64
        The rows worked on: all, or a random sample, to which costs and `excess` refer.
    """

    sigma: float
    labels: Labels
    cost: float
    standard_error: float
    candidates: tuple[CandidatePartition, ...]
    index: int
    seen_from: float
    seen_to: float
    n_seen: int
    n_tried: int
    n_partitions: int
    excess_of_kmeans: float
    lowest: CandidatePartition
    n_neighbours: int
    runner_up: RunnerUp | None
    rows: Labels

    @property
    def kmeans(self) -> CandidatePartition:
        """Ordinary k-means."""
        return self.candidates[0]

    @cached_property
    def why(self) -> tuple[str, ...]:
        """The reasons, in sentences for people."""
        return reasons(self)

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """How clear the choice is, what it is tied with, and where it stays the same, in brief."""
        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an infinite bandwidth is the string ``"inf"``."""
        runner_up = self.runner_up
        return {
            "sigma": json_value(self.sigma),
            "cost": self.cost,
            "standard_error": self.standard_error,
            "labels": self.labels.tolist(),
            "why": list(self.why),
            "seen_from": json_value(self.seen_from),
            "seen_to": json_value(self.seen_to),
            "n_seen": self.n_seen,
            "n_tried": self.n_tried,
            "n_partitions": self.n_partitions,
            "n_neighbours": self.n_neighbours,
            "rows_worked_on": len(self.rows),
            "excess_of_kmeans": self.excess_of_kmeans,
            "runner_up": None
            if runner_up is None
            else runner_up.candidate.to_dict() | {"differs": runner_up.differs.tolist(), "excess": runner_up.excess},
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }


def recommend_partition(
    X: ArrayLike, n_clusters: int, *, random_state: Any = None, n_bandwidths: int = N_BANDWIDTHS,
    n_init: int = N_INIT, max_rows: int = MAX_ROWS, progress: Callable[[int, int], None] | None = None,
) -> RecommendedPartition:  # fmt: skip
    """Recommend one clustering into `n_clusters` clusters, and the bandwidth that it belongs to.

    What there is to choose from: ordinary k-means, and for each bandwidth of a grid the normalised cut of the kernel
    matrix, its spectral relaxation (Ng, Jordan and Weiss 2001) refined by weighted kernel k-means (Dhillon, Guan and
    Kulis 2004). The grid runs, even in log sigma, from the squared distance to the nearest other row (median over rows)
    to the mean squared distance between rows; beyond that, all normalised cuts are nearly alike.

    What is chosen: the clustering of lowest local c-NNC (see `offgrid.local_cost`), among equals the one found at most
    bandwidths; but ordinary k-means where its cost is higher by at most one standard error.

    Parameters
    ----------
    X : array-like of shape (n, d), n >= 2
    n_clusters : int
    random_state : int, RandomState or None
        With a number the result is always the same.
    n_bandwidths : int
        Bandwidths on the grid, at least 2.
    n_init : int
        Starts of k-means, in the data's space and in that of the relaxation.
    max_rows : int
        Of more rows, or more than `OFFGRID_MEMORY_LIMIT` allows at 24 bytes for each pair of rows, a random sample is
        worked on. Each other row then joins the cluster of the nearest row of the sample.
    progress : callable, optional
        Is told how many candidates are done, and of how many.

    Returns
    -------
    RecommendedPartition

    Raises
    ------
    InputError
        Where X or a parameter is not what it must be, or the memory limit is too low for a useful sample.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS 2001.
    I. Dhillon, Y. Guan and B. Kulis, "Kernel k-means, spectral clustering and normalized cuts", KDD 2004.
    L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> found = recommend_partition([[0.0], [0.5], [1.0], [7.0], [7.5], [8.0]], 2, random_state=0)
    >>> found.labels.tolist(), found.sigma
    ([0, 0, 0, 1, 1, 1], inf)
    """
    points = check_points(X, minimum=2)
    k = check_n_clusters(n_clusters, len(points))
    check_count(n_bandwidths, "n_bandwidths", minimum=2)
    check_count(n_init, "n_init")
    check_count(max_rows, "max_rows", minimum=2)
    rng = check_random_state(random_state)
    rows = _rows_to_work_on(len(points), k, max_rows, rng)
    with few_threads(len(rows)):
        return _recommended_among(points, k, rows, rng, n_bandwidths, n_init, progress)


def near_share(
    X: ArrayLike, n_clusters: int, *, random_state: Any = None, max_rows: int = MAX_ROWS
) -> Callable[[NDArray[np.integer]], float]:
    """Return a function that tells the local c-NNC of a clustering of X.

    It is counted on the rows that `recommend_partition` works on with the same arguments, so that it compares with
    `RecommendedPartition.cost`. The neighbours are found once: n J int64 are kept.

    Raises
    ------
    InputError
        As `recommend_partition` does.
    """
    points = check_points(X, minimum=2)
    k = check_n_clusters(n_clusters, len(points))
    rows = _rows_to_work_on(len(points), k, max_rows, check_random_state(random_state))
    with few_threads(len(rows)):
        cost = LocalCost.among(RBF().on(points[rows]).pairs.exponents())
    return lambda labels: float(cost.shares(np.asarray(labels, dtype=np.int64)[rows], k).sum())


def _recommended_among(
    points: Floats, k: int, rows: Labels, rng: np.random.RandomState, n_bandwidths: int, n_init: int,
    progress: Callable[[int, int], None] | None,
) -> RecommendedPartition:  # fmt: skip
    kernel = RBF().on(points[rows])
    exponents = kernel.pairs.exponents()
    cost = LocalCost.among(exponents)
    scaled = in_units_of(points, math.frexp(spread_of(points))[1])
    # one cluster is one cluster at every bandwidth
    tried = _bandwidths(exponents, n_bandwidths) if k > 1 else np.empty(0)
    found = _candidates(scaled[rows], exponents, tried, k, n_init, rng, progress)
    choice = _Choice([labels for _, labels in found], cost, k)
    nearest = None if len(rows) == len(points) else pairwise_distances_argmin(scaled, scaled[rows])
    return _described(choice, [sigma * kernel.unit for sigma, _ in found], len(tried), rows, nearest, k)


def _rows_to_work_on(n: int, k: int, max_rows: int, rng: np.random.RandomState) -> Labels:
    affordable = math.isqrt(memory_limit() // _BYTES)
    if affordable < min(n, max(_LEAST_ROWS, _LEAST_PER_CLUSTER * k)):
        raise InputError(
            f"OFFGRID_MEMORY_LIMIT allows a kernel matrix of {affordable} rows, too few of {n} to find {k} clusters "
            "in: raise it."
        )
    count = min(max_rows, affordable)
    if count >= n:
        return np.arange(n)
    if count < k:
        raise InputError(f"max_rows is {max_rows}: it must be at least n_clusters={k}.")
    return np.sort(rng.choice(n, count, replace=False)).astype(np.int64)


def _bandwidths(exponents: Floats, count: int) -> Floats:
    """Return the grid from the largest bandwidth down; none where all rows are equal."""
    n = len(exponents)
    mean = -float(exponents.sum()) / (n * (n - 1))
    nearest = -exponents.max(axis=1, where=exponents < 0, initial=-np.inf)
    nearest = nearest[np.isfinite(nearest)]
    if len(nearest) == 0:
        return np.empty(0)
    # where nearest rows are as far apart as any, the grid still spans a factor of 2
    return np.geomspace(mean, min(float(np.median(nearest)), mean / 2.0), count)


def _candidates(
    points: Floats, exponents: Floats, sigmas: Floats, k: int, n_init: int, rng: np.random.RandomState,
    progress: Callable[[int, int], None] | None,
) -> list[tuple[float, Labels]]:  # fmt: skip
    """Return bandwidths, in the unit of the exponents, and labels."""
    found = [(math.inf, kmeans_labels(points, k, n_init, rng))]
    K = np.empty_like(exponents)
    for done, sigma in enumerate(sigmas.tolist(), 1):
        if progress is not None:
            progress(done, 1 + len(sigmas))
        np.multiply(exponents, 1.0 / sigma, out=K)
        np.exp(K, out=K)
        np.fill_diagonal(K, 0.0)
        start = spectral_labels(K, k, n_init, rng)
        if start is None:
            continue
        # with its diagonal the kernel is positive semi-definite
        np.fill_diagonal(K, 1.0)
        found.append((sigma, weighted_kernel_kmeans(K, K.sum(axis=1), start, k)))
    if progress is not None:
        progress(1 + len(sigmas), 1 + len(sigmas))
    return found


class _Choice:
    """Distinct partitions among the candidates, their costs, and which of them is recommended.

    Attributes
    ----------
    of : list of int
        The distinct partition that each candidate is; 0 is ordinary k-means.
    labels, shares, costs : lists
        Of each distinct partition.
    lowest, chosen : int
    """

    def __init__(self, candidates: Sequence[Labels], cost: LocalCost, k: int) -> None:
        keys = [partition_key(labels) for labels in candidates]
        distinct = list(dict.fromkeys(keys))
        self.of = [distinct.index(key) for key in keys]
        self.labels = [candidates[keys.index(key)] for key in distinct]
        self.shares = [cost.shares(labels, k) for labels in self.labels]
        self.costs = [float(shares.sum()) for shares in self.shares]
        self.n_neighbours = cost.neighbours.shape[1]
        self.ranked = sorted(
            range(len(distinct)), key=lambda which: (round(self.costs[which], 12), -self.of.count(which))
        )
        self.lowest = self.ranked[0]
        self.chosen = 0 if self.excess(0, self.lowest) <= CHANCE else self.lowest

    def excess(self, which: int, other: int) -> float:
        """Return by how many standard errors of the difference, row by row, one cost exceeds another's."""
        difference = self.shares[which] - self.shares[other]
        error = standard_error(difference)
        return float(difference.sum()) / error if error > 0 else 0.0


def _described(
    choice: _Choice, sigmas: list[float], n_tried: int, rows: Labels, nearest: Labels | None, k: int
) -> RecommendedPartition:
    """Return the recommendation with what people want to know of it."""
    labels = number_clusters(choice.labels[choice.chosen], k)
    named = [match_labels(labels, other, k) for other in choice.labels]
    named[choice.chosen] = labels
    moved = np.array([np.count_nonzero(other != labels) for other in named]) / len(labels)
    own = [index for index, which in enumerate(choice.of) if which == choice.chosen]
    # ordinary k-means by its own name; else the middle one of the bandwidths that found the partition
    index = 0 if choice.chosen == 0 else own[len(own) // 2]
    first = last = index
    while first > 0 and moved[choice.of[first - 1]] <= ALIKE:
        first -= 1
    while last + 1 < len(sigmas) and moved[choice.of[last + 1]] <= ALIKE:
        last += 1

    def everywhere(labels: Labels) -> Labels:
        return labels if nearest is None else labels[nearest]

    candidates = tuple(
        CandidatePartition(sigma, everywhere(named[which]), choice.costs[which], standard_error(choice.shares[which]))
        for sigma, which in zip(sigmas, choice.of, strict=True)
    )
    runner_up = None
    other = next((which for which in choice.ranked if moved[which] > ALIKE), None)
    if other is not None:
        candidate = candidates[choice.of.index(other)]
        differs = np.flatnonzero(candidate.labels != candidates[index].labels)
        runner_up = RunnerUp(candidate, differs, choice.excess(other, choice.chosen))
    best = candidates[index]
    lowest = best if choice.lowest == choice.chosen else candidates[choice.of.index(choice.lowest)]
    return RecommendedPartition(
        sigma=best.sigma, labels=best.labels, cost=best.cost, standard_error=best.standard_error,
        candidates=candidates, index=index, seen_from=sigmas[last], seen_to=sigmas[first], n_seen=last - first + 1,
        n_tried=n_tried, n_partitions=len(choice.labels), excess_of_kmeans=choice.excess(0, choice.lowest),
        lowest=lowest, n_neighbours=choice.n_neighbours, runner_up=runner_up, rows=rows,
    )  # fmt: skip
