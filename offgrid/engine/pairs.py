"""The pairs of a data set, as the kernels see them: the fixed exponents L of K(t) = exp(t L), stored or computed.

Entry points: `Pairs.from_points(points)` (squared distances; stored from `STORE_FROM` columns on, else matrix-free) and
`Pairs.from_exponents(matrix)`. Memory: n**2 float64 where stored, else n d.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import sums
from offgrid.engine.partition import Partition
from offgrid.engine.threads import over_chunks, over_rows

# With fewer columns than this, computing a distance costs less than fetching it from memory.
STORE_FROM = 7

_Floats = NDArray[np.float64]
_MANY_PAIRS = 20_000_000
# All pairs are met in this many chunks of rows, from this many rows on.
_CHUNKS = 8
_CHUNKED_FROM = 400
_NO_MATRIX = np.zeros((0, 0))


class Pairs:
    """All pairs of n points: sums over them, and the count of kernel entries that were evaluated for it.

    Attributes
    ----------
    n : int
    entries : int
        Kernel entries evaluated so far; `passes` gives them in units of n**2.
    """

    def __init__(self, matrix: _Floats | None, points: _Floats) -> None:
        self.stored = matrix is not None
        self.matrix = _NO_MATRIX if matrix is None else matrix
        self.points = points
        self.n = len(points)
        self.entries = 0
        self.diagonal = matrix.diagonal() if matrix is not None else np.zeros(self.n)
        self._all_rows = np.arange(self.n)
        self._sorted: tuple[NDArray[np.int64] | None, _Floats] = (None, np.zeros((0, self.n)))

    @classmethod
    def from_points(cls, points: _Floats) -> Pairs:
        """Pairs with L = -||x - y||**2 from a float64 array (n, d)."""
        pairs = cls(None, np.ascontiguousarray(points, dtype=np.float64))
        if points.shape[1] >= STORE_FROM:
            pairs.matrix = pairs.exponents()
            pairs.stored = True
        return pairs

    @classmethod
    def from_exponents(cls, matrix: _Floats) -> Pairs:
        """Pairs with any symmetric L, a float64 array (n, n)."""
        return cls(np.ascontiguousarray(matrix, dtype=np.float64), np.zeros((len(matrix), 0)))

    @property
    def passes(self) -> float:
        """Kernel entries evaluated so far, in units of n**2."""
        return self.entries / self.n**2

    def exponents(self) -> _Floats:
        """Return L as a new float64 array (n, n), or the stored one."""
        if self.stored:
            return self.matrix
        features = np.ascontiguousarray(self.points.T)
        matrix = np.empty((self.n, self.n))

        def work(first: int, last: int) -> None:
            sums.squared_distance_rows(self.points, features, matrix, first, last)

        over_rows(work, self.n, self.n**2)
        return matrix

    @cached_property
    def largest(self) -> float:
        """An upper bound of |L|."""
        if self.stored:
            return float(np.abs(self.matrix).max())
        return float((np.ptp(self.points, axis=0) ** 2).sum())

    @cached_property
    def mean(self) -> float:
        """The mean of |L| over all pairs."""
        if self.stored:
            return float(np.abs(self.matrix).mean())
        return float(2.0 * self.points.var(axis=0).sum())

    def low_percentile(self, percent: float = 1.0) -> float:
        """Return a low percentile of -L over the pairs i < j: of squared distances, for the RBF kernel.

        Where so many pairs are equal that it is 0, the smallest value above 0; 0 if there is none. Past 20 million
        pairs it is taken over as many drawn at random (fixed seed).
        """
        if self.n * (self.n - 1) // 2 <= _MANY_PAIRS:
            values = np.concatenate([-self.row(i)[i + 1 :] for i in range(self.n - 1)])
        else:
            first, second = np.random.default_rng(0).integers(self.n, size=(2, _MANY_PAIRS))
            first, second = first[first != second], second[first != second]
            values = -self._exponents_of(first, second)
        value = float(np.percentile(values, percent))
        positive = values[values > 0.0]
        return value if value > 0.0 or len(positive) == 0 else float(positive.min())

    def _exponents_of(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> _Floats:
        """Return L of the pairs named by two arrays of rows."""
        if self.stored:
            return self.matrix[first, second]
        values = np.zeros(len(first))
        for column in self.points.T:
            values -= (column[first] - column[second]) ** 2
        return values

    def row(self, index: int) -> _Floats:
        """Return L between one row and all, shape (n,)."""
        if self.stored:
            return self.matrix[index]
        out = np.empty(self.n)
        sums.squared_distances(self.points[index], np.ascontiguousarray(self.points.T), 0, self.n, out)
        return out

    def _layout(self, order: NDArray[np.int64]) -> tuple[bool, _Floats, _Floats, _Floats, NDArray[np.int64]]:
        """Return what the compiled functions take first; features are put in order, once for the order used last."""
        if self._sorted[0] is not order and not self.stored:
            self._sorted = (order, np.ascontiguousarray(self.points[order].T))
        return self.stored, self.matrix, self.points, self._sorted[1], order

    def cluster_sums(
        self, partition: Partition, t: float, rows: NDArray[np.int64] | None = None
    ) -> tuple[_Floats, _Floats]:
        """Return sums of exp(t L) from each row to each cluster, and their t-derivatives, both (m, k).

        For all rows (None) each pair is evaluated once: n (n - 1) / 2 kernel entries; for some rows m n.
        """
        if rows is None:
            return self._symmetric_sums(partition, t)
        return self._row_sums(partition.order, partition.offsets, t, rows)

    def sums_over(
        self, columns: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int, t: float
    ) -> tuple[_Floats, _Floats]:
        """Return sums of exp(t L) from every row to some columns, by the columns' clusters, and their t-derivatives."""
        order = columns[np.argsort(clusters, kind="stable")]
        offsets = np.concatenate(([0], np.cumsum(np.bincount(clusters, minlength=n_clusters))))
        return self._row_sums(order, offsets, t, self._all_rows)

    def _row_sums(
        self, order: NDArray[np.int64], offsets: NDArray[np.int64], t: float, rows: NDArray[np.int64]
    ) -> tuple[_Floats, _Floats]:
        totals, slopes = np.empty((2, len(rows), len(offsets) - 1))
        layout = self._layout(order)

        def work(first: int, last: int) -> None:
            sums.cluster_sums(*layout, offsets, rows, t, totals, slopes, first, last)

        self._run(work, len(rows), len(rows) * len(order))
        return totals, slopes

    def _symmetric_sums(self, partition: Partition, t: float) -> tuple[_Floats, _Floats]:
        k = partition.n_clusters
        # chunks of equal work, the same for any number of threads, so that sums are added in the same order
        shares = np.linspace(0.0, 1.0, (_CHUNKS if self.n >= _CHUNKED_FROM else 1) + 1)
        edges = np.round(self.n * (1.0 - np.sqrt(1.0 - shares))).astype(np.int64)
        totals, slopes = np.zeros((2, self.n, k))
        columns = np.zeros((2, len(edges) - 1, k, self.n))
        layout = self._layout(partition.order)

        def work(chunk: int, end: int) -> None:
            for c in range(chunk, end):
                sums.symmetric_sums(
                    *layout, partition.offsets, partition.labels, t, totals, slopes, columns[0, c], columns[1, c],
                    edges[c], edges[c + 1],
                )  # fmt: skip

        over_chunks(work, len(edges) - 1)
        self.entries += self.n * (self.n - 1) // 2
        own = np.exp(t * self.diagonal)
        totals[self._all_rows, partition.labels] += own
        slopes[self._all_rows, partition.labels] += own * self.diagonal
        added = columns.sum(axis=1)
        totals[partition.order] += added[0].T
        slopes[partition.order] += added[1].T
        return totals, slopes

    def limit_sums(self, partition: Partition) -> tuple[_Floats, _Floats]:
        """Return what (1 - exp(t L)) / t and its t-derivative sum to as t -> 0, from each row to each cluster."""
        totals, slopes = np.empty((2, self.n, partition.n_clusters))
        layout = self._layout(partition.order)

        def work(first: int, last: int) -> None:
            sums.limit_sums(*layout, partition.offsets, self._all_rows, totals, slopes, first, last)

        self._run(work, self.n, self.n**2)
        return totals, slopes

    def self_moments(self, partition: Partition, t: float, scale: float, order: int) -> _Floats:
        """Return for each cluster the sums over its pairs of exp(t L) (scale L)**p, p = 0 ... order; (order + 1, k)."""
        moments = np.empty((self.n, order + 1))
        layout = self._layout(partition.order)

        def work(first: int, last: int) -> None:
            sums.self_moments(*layout, partition.offsets, partition.labels, t, scale, moments, first, last)

        self._run(work, self.n, int((partition.sizes.astype(float) ** 2).sum()) // 2)
        totals = np.zeros((order + 1, partition.n_clusters))
        powers = np.exp(t * self.diagonal[partition.order])[:, None] * (
            (scale * self.diagonal[partition.order])[:, None] ** np.arange(order + 1)
        )
        for cluster, size in enumerate(partition.sizes):
            if size:
                inside = slice(partition.offsets[cluster], partition.offsets[cluster + 1])
                totals[:, cluster] = 2.0 * moments[inside].sum(axis=0) + powers[inside].sum(axis=0)
        return totals

    def _run(self, work: Callable[[int, int], None], n_rows: int, entries: int) -> None:
        over_rows(work, n_rows, entries)
        self.entries += entries
