"""The pairs of a data set, as the kernels see them: the fixed exponents L of K(t) = exp(t L), stored or computed.

Entry points: `Pairs.from_points(points)` (squared or Manhattan distances, stored or matrix-free),
`Pairs.from_exponents(matrix)`, `MixedPairs` (a kernel of which a part does not change with t) and `way_to_hold`.
Memory: n**2 float64 as a square, half of it as a triangle, n (d + k) where computed; n**2 more for a fixed part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import distances, sums
from offgrid.engine.assignment import cluster_totals, self_sums
from offgrid.engine.layout import COMPUTED, SQUARE, TRIANGLE, Layout
from offgrid.engine.partition import Partition
from offgrid.engine.threads import over_chunks, over_rows

# With fewer columns than this, computing a distance costs less than fetching it from memory.
_STORE_FROM = 16

_Floats = NDArray[np.float64]
_T = TypeVar("_T")
# Pairs in a chunk of rows, at least: a chunk is handed to a thread. There are so many chunks at most, unless there are
# so many rows that many machines may share them.
_CHUNK = 300_000
_CHUNKS = 64
_MOST_CHUNKS, _ROWS_OF_MANY = 256, 2_000
_NO_MATRIX = np.zeros((0, 0))


def way_to_hold(n: int, n_columns: int, memory: int) -> int:
    """Return how to hold distances: computed where that is faster than fetching them, or so many bytes are too few."""
    if n_columns < _STORE_FROM or 4 * n * (n - 1) > memory:
        return COMPUTED
    return SQUARE if 8 * n * n <= memory else TRIANGLE


@lru_cache(maxsize=32)
def equal_work(n: int) -> list[int]:
    """Return where to cut the rows so that each chunk meets about as many pairs, each row those after it.

    The same for any number of threads, so that sums are added in the same order.
    """
    chunks = min(max(n * n // (2 * _CHUNK), 1), max(_CHUNKS, min(n // _ROWS_OF_MANY, _MOST_CHUNKS)))
    shares = np.linspace(0.0, 1.0, chunks + 1)
    return np.unique(np.round(n * (1.0 - np.sqrt(1.0 - shares))).astype(np.int64)).tolist()


def column_buffers(partition: Partition | Layout, edges: list[int], count: int) -> list[_Floats]:
    """Return zeros for what the rows of each chunk give to the columns after its first one.

    A chunk has `count` buffers of a row for each cluster that it has rows of, and a column for each column.
    """
    buffers = []
    for first, last in pairwise(edges):
        lowest, highest = partition.labels[partition.order[[first, last - 1]]]
        buffers.append(np.zeros((count, highest - lowest + 1, len(partition.order) - first)))
    return buffers


def by_cluster(
    columns: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return columns sorted by their clusters, and where each cluster begins."""
    offsets = np.concatenate(([0], np.cumsum(np.bincount(clusters, minlength=n_clusters))))
    return columns[np.argsort(clusters, kind="stable")], offsets


class Pairs:
    """All pairs of n points: sums over them, and the count of kernel entries that were evaluated for it.

    Attributes
    ----------
    held : int
        How L is at hand, as in `Layout`.
    n : int
    squared, manhattan : bool
        Whether L is -||x - y||**2, or -||x - y||_1.
    all_rows : ndarray of int64, shape (n,)
        0 ... n - 1.
    entries : int
        Kernel entries evaluated so far; `passes` gives them in units of n**2.
    points : ndarray of float64, shape (n, d)
        In the unit of L; (n, 0) where only L is known.
    """

    # Whether a part of the kernel does not change with t: what the compiled routines know, a layout, is then not all.
    mixed = False

    def __init__(self, matrix: _Floats | None, points: _Floats, *, manhattan: bool = False) -> None:
        self.held = COMPUTED if matrix is None else SQUARE
        self.manhattan = manhattan
        self.squared = matrix is None and not manhattan
        self.matrix = _NO_MATRIX if matrix is None else matrix
        self.points = points
        self.n = len(points)
        self.entries = 0
        self.diagonal = matrix.diagonal() if matrix is not None else np.zeros(self.n)
        self.all_rows = np.arange(self.n)
        self._laid_out: tuple[Partition | None, Any] = (None, None)

    @classmethod
    def from_points(cls, points: _Floats, *, held: int = COMPUTED, manhattan: bool = False) -> Pairs:
        """Pairs with L = -||x - y||**2 from a float64 array (n, d), held as `Layout` says.

        With `manhattan` L is -||x - y||_1, which is not held as a triangle.
        """
        pairs = cls(None, np.ascontiguousarray(points, dtype=np.float64), manhattan=manhattan)
        if held == SQUARE:
            pairs.matrix = pairs.exponents()
        elif held == TRIANGLE:
            pairs.matrix = pairs.triangle()
        pairs.held = held
        return pairs

    @classmethod
    def from_exponents(cls, matrix: _Floats, points: _Floats | None = None) -> Pairs:
        """Pairs with any symmetric L, a float64 array (n, n), and the points it is of, if there are any."""
        points = np.zeros((len(matrix), 0)) if points is None else points
        return cls(np.ascontiguousarray(matrix, dtype=np.float64), points)

    @property
    def worth_threads(self) -> bool:
        """Whether a pass over all pairs is spread over threads: fewer pairs are met faster by one."""
        return len(equal_work(self.n)) > 2

    @property
    def passes(self) -> float:
        """Kernel entries evaluated so far, in units of n**2."""
        return self.entries / self.n**2

    def exponents(self) -> _Floats:
        """Return L as a new float64 array (n, n), or the stored one."""
        if self.held == SQUARE:
            return self.matrix
        matrix = np.empty((self.n, self.n))
        if self.manhattan:
            over_rows(lambda first, last: sums.fill_rows(self.in_order, matrix, first, last), self.n, self.n**2)
            return matrix
        features = np.ascontiguousarray(self.points.T)
        edges = equal_work(self.n)

        def above(chunk: int, end: int) -> None:
            distances.distance_rows(self.points, features, matrix, edges[chunk], edges[end])

        over_chunks(above, len(edges) - 1)
        over_rows(lambda first, last: distances.mirror(matrix, first, last), self.n, self.n**2)
        return matrix

    def triangle(self) -> _Floats:
        """Return L of the pairs i < j, row by row, as a new float64 array (1, n (n - 1) / 2)."""
        features = np.ascontiguousarray(self.points.T)
        triangle = np.empty((1, self.n * (self.n - 1) // 2))
        edges = equal_work(self.n)

        def work(chunk: int, end: int) -> None:
            distances.triangle_rows(self.points, features, triangle[0], edges[chunk], edges[end])

        over_chunks(work, len(edges) - 1)
        return triangle

    @cached_property
    def largest(self) -> float:
        """An upper bound of |L|."""
        if self.held == SQUARE:
            return float(max(-self.matrix.min(), self.matrix.max()))
        ranges = self.points.max(axis=0) - self.points.min(axis=0)
        return float(ranges.sum() if self.manhattan else (ranges**2).sum())

    @cached_property
    def mean(self) -> float:
        """The mean of |L| over all pairs."""
        if self.held == SQUARE:
            # a few rows at a time: no second matrix
            step = max(_CHUNK // self.n, 1)
            return float(sum(np.abs(self.matrix[i : i + step]).sum() for i in range(0, self.n, step)) / self.n**2)
        if self.manhattan:
            # of n values in order, the i-th from 0 on is larger than i of them and smaller than n - 1 - i
            weights = 2.0 * self.all_rows - (self.n - 1)
            return float(2.0 * (weights @ np.sort(self.points, axis=0)).sum() / self.n**2)
        return float(2.0 * self.points.var(axis=0).sum())

    def exponents_of(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> _Floats:
        """Return L of the pairs named by two arrays of rows."""
        if self.held == SQUARE:
            return self.matrix[first, second]
        values = np.zeros(len(first))
        for column in self.points.T:
            difference = column[first] - column[second]
            values -= np.abs(difference) if self.manhattan else difference**2
        return values

    @cached_property
    def in_order(self) -> Layout:
        """The layout of all rows in their own order."""
        return self._layout(self.all_rows, np.array([0, self.n]), np.zeros(self.n, dtype=np.int64))

    def row(self, index: int) -> _Floats:
        """Return L between one row and all, shape (n,)."""
        if self.held == SQUARE:
            return self.matrix[index]
        out = np.empty(self.n)
        sums.fill(self.in_order, index, 0, self.n, out)
        return out

    def squared_distances(self, index: int) -> _Floats:
        """Return what is proportional to squared distances between one row and all, shape (n,).

        Where there are no points L stands in: as t -> 0 distances in feature space tend to those of the same form.
        """
        if self.squared or self.points.shape[1] == 0:
            return np.maximum(self.diagonal - 2.0 * self.row(index) + self.diagonal[index], 0.0)
        total: _Floats = ((self.points - self.points[index]) ** 2).sum(axis=1)
        return total

    def kernel_row(self, index: int, t: float) -> _Floats:
        """Return the kernel between one row and all at t, shape (n,)."""
        return np.exp(t * self.row(index))

    def kernel_diagonal(self, t: float) -> _Floats:
        """Return the kernel between each row and itself at t, shape (n,)."""
        return np.exp(t * self.diagonal)

    def layout(self, partition: Partition) -> Layout:
        """Return what the compiled functions need; features are put in order, once for the partition used last."""
        if self._laid_out[0] is not partition:
            self._laid_out = (partition, self._layout(partition.order, partition.offsets, partition.labels))
        return self._laid_out[1]

    def _layout(self, order: NDArray[np.int64], offsets: NDArray[np.int64], labels: NDArray[np.int64]) -> Layout:
        features = _NO_MATRIX if self.held != COMPUTED else np.ascontiguousarray(self.points[order].T)
        return Layout(self.held, self.manhattan, self.matrix, self.points, features, order, offsets, labels)

    def all_sums(self, partition: Partition, t: float) -> tuple[_Floats, _Floats, _Floats, _Floats]:
        """Return sums of exp(t L) from each row to each cluster, and their t-derivatives, both (n, k).

        Then the same over the pairs inside each cluster, (k,). Each pair is evaluated once: n (n - 1) / 2 entries.
        """
        if self.worth_threads:
            totals = self.symmetric_sums(partition, t)
        else:
            totals = sums.all_sums(self.layout(partition), t, partition.n_clusters)
        self.entries += self.n * (self.n - 1) // 2
        labels = partition.labels
        return totals[0], totals[1], self_sums(totals[0], labels), self_sums(totals[1], labels)

    def cluster_sums(self, partition: Partition, t: float, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        """Return sums of exp(t L) from some rows to each cluster, and their t-derivatives, both (m, k); m n entries."""
        return self._row_sums(self.layout(partition), t, rows)

    def sums_over(
        self, columns: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int, t: float
    ) -> tuple[_Floats, _Floats]:
        """Return sums of exp(t L) from every row to some columns, by the columns' clusters, and their t-derivatives."""
        order, offsets = by_cluster(columns, clusters, n_clusters)
        return self._row_sums(self._layout(order, offsets, clusters), t, self.all_rows)

    def _row_sums(self, layout: Layout, t: float, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        totals, slopes = np.empty((2, len(rows), len(layout.offsets) - 1))

        def work(first: int, last: int) -> None:
            sums.cluster_sums(layout, rows, t, totals, slopes, first, last)

        self._run(work, len(rows), len(rows) * len(layout.order))
        return totals, slopes

    def symmetric_sums(self, partition: Partition, t: float) -> _Floats:
        """Return all rows' sums and their t-derivatives, (2, n, k), from chunks of rows spread over threads.

        To what a chunk gives to its own rows is added what all chunks give to their columns, in the chunks' order.
        """
        layout = self.layout(partition)
        rows, columns = np.zeros((2, 2, self.n, partition.n_clusters))
        edges = equal_work(self.n)

        def meet(edges: list[int]) -> None:
            buffers = column_buffers(partition, edges, 2)

            def work(chunk: int, end: int) -> None:
                for c in range(chunk, end):
                    sums.symmetric_sums(layout, t, rows[0], rows[1], *buffers[c], edges[c], edges[c + 1])

            over_chunks(work, len(buffers))
            for first, chunk in zip(edges, buffers, strict=False):
                for part in range(2):
                    sums.add_columns(layout, first, chunk[part], columns[part])

        for begin in range(0, len(edges) - 1, _CHUNKS):
            meet(edges[begin : begin + _CHUNKS + 1])
        rows += columns
        return rows

    def limit_sums(self, partition: Partition) -> tuple[_Floats, _Floats]:
        """Return what (1 - exp(t L)) / t and its t-derivative sum to as t -> 0, from each row to each cluster."""
        totals, slopes = np.empty((2, self.n, partition.n_clusters))
        layout = self.layout(partition)

        def work(first: int, last: int) -> None:
            sums.limit_sums(layout, self.all_rows, totals, slopes, first, last)

        self._run(work, self.n, self.n**2)
        return totals, slopes

    def self_moments(self, partition: Partition, t: float, scale: float, order: int) -> _Floats:
        """Return for each cluster the sums over its pairs of exp(t L) (scale L)**p, p = 0 ... order; (order + 1, k)."""
        moments = np.empty((self.n, (order // 4 + 1) * 4))
        layout = self.layout(partition)

        def work(first: int, last: int) -> None:
            sums.self_moments(layout, t, scale, moments, first, last)

        self._run(work, self.n, int((partition.sizes.astype(float) ** 2).sum()) // 2)
        return cluster_totals(moments, partition.offsets)[: order + 1]

    def each_block(self, work: Callable[[Pairs, int, int], _T]) -> list[_T]:
        """Return ``work(pairs, first, last)`` of blocks of rows that meet about as many pairs, each row those after it.

        `work` is a function of a module, for a block may be worked on elsewhere.
        """
        edges = equal_work(self.n)
        results: dict[int, _T] = {}

        def work_on(chunk: int, end: int) -> None:
            results[chunk] = work(self, edges[chunk], edges[end])

        over_chunks(work_on, len(edges) - 1)
        return [results[chunk] for chunk in range(len(edges) - 1)]

    def _run(self, work: Callable[[int, int], None], n_rows: int, entries: int) -> None:
        over_rows(work, n_rows, entries)
        self.entries += entries


class MixedPairs(Pairs):
    """Pairs of a kernel of which a part does not change with t: weight exp(t L) + exp(t rate) C.

    The part with a rate is one that does not change either, but is measured in a unit that does. No entry of the kernel
    may exceed 1.

    Parameters
    ----------
    pairs : Pairs
        L.
    weight : float
    fixed : ndarray of float64, shape (n, n)
        C, symmetric, none of it negative.
    rate : float
        With t rate <= 0.
    """

    mixed = True

    def __init__(self, pairs: Pairs, weight: float, fixed: _Floats, rate: float) -> None:
        super().__init__(None if pairs.held == COMPUTED else pairs.matrix, pairs.points, manhattan=pairs.manhattan)
        self.held, self.squared, self.diagonal = pairs.held, pairs.squared, pairs.diagonal
        self.weight = weight
        self.fixed = np.ascontiguousarray(fixed)
        self.rate = rate
        self._fixed_sums: tuple[Partition | None, Any] = (None, None)

    def kernel_row(self, index: int, t: float) -> _Floats:
        """Return the kernel between one row and all at t, shape (n,)."""
        return self.weight * super().kernel_row(index, t) + math.exp(t * self.rate) * self.fixed[index]

    def kernel_diagonal(self, t: float) -> _Floats:
        """Return the kernel between each row and itself at t, shape (n,)."""
        return self.weight * super().kernel_diagonal(t) + math.exp(t * self.rate) * self.fixed.diagonal()

    def all_sums(self, partition: Partition, t: float) -> tuple[_Floats, _Floats, _Floats, _Floats]:
        """Return sums of the kernel as `Pairs.all_sums` does."""
        totals, slopes, *_ = super().all_sums(partition, t)
        labels = partition.labels
        totals, slopes = self._with_fixed(totals, slopes, t, self._fixed(partition))
        return totals, slopes, self_sums(totals, labels), self_sums(slopes, labels)

    def cluster_sums(self, partition: Partition, t: float, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        """Return sums of the kernel as `Pairs.cluster_sums` does."""
        return self._with_fixed(*super().cluster_sums(partition, t, rows), t, self._fixed(partition)[rows])

    def sums_over(
        self, columns: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int, t: float
    ) -> tuple[_Floats, _Floats]:
        """Return sums of the kernel as `Pairs.sums_over` does."""
        both = super().sums_over(columns, clusters, n_clusters, t)
        order, offsets = by_cluster(columns, clusters, n_clusters)
        return self._with_fixed(*both, t, self._sums_of_fixed(order, offsets))

    def self_moments(self, partition: Partition, t: float, scale: float, order: int) -> _Floats:
        """Return moments of the kernel as `Pairs.self_moments` does."""
        powers = math.exp(t * self.rate) * (scale * self.rate) ** np.arange(order + 1)
        inside = self_sums(self._fixed(partition), partition.labels)
        return self.weight * super().self_moments(partition, t, scale, order) + powers[:, None] * inside

    def _with_fixed(self, totals: _Floats, slopes: _Floats, t: float, fixed: _Floats) -> tuple[_Floats, _Floats]:
        part = math.exp(t * self.rate) * fixed
        return self.weight * totals + part, self.weight * slopes + self.rate * part

    def _fixed(self, partition: Partition) -> _Floats:
        """Return the sums of C from each row to each cluster, (n, k), worked out once for the partition used last."""
        if self._fixed_sums[0] is not partition:
            self._fixed_sums = (partition, self._sums_of_fixed(partition.order, partition.offsets))
        return self._fixed_sums[1]

    def _sums_of_fixed(self, order: NDArray[np.int64], offsets: NDArray[np.int64]) -> _Floats:
        totals = np.empty((self.n, len(offsets) - 1))

        def work(first: int, last: int) -> None:
            sums.matrix_sums(self.fixed, order, offsets, totals, first, last)

        over_rows(work, self.n, self.n * len(order))
        return totals
