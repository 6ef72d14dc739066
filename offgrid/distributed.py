"""Passes over pairs as blocks of rows on a Dask cluster, with the same results, to the last bit, as on one machine.

Entry point: `distribute`, which turns pairs that are computed from points into `DistributedPairs` where a cluster is
configured. A pass over fewer than `WORTH` pairs stays in this process.

The points go out once for a data set, labels once for a partition, t with each pass. What comes back are n * k sums and
as many derivatives, or what a pass says of its rows. A pass that meets each pair once leaves on each worker what its
rows give to others: workers exchange that, and each adds up a range of rows in the order in which one machine would.
Memory of a worker: its points twice, and for each block of a pass as much as on one machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from offgrid import dask_cluster
from offgrid.dask_cluster import Cluster
from offgrid.engine import sums
from offgrid.engine.assignment import cluster_totals
from offgrid.engine.layout import COMPUTED, Layout
from offgrid.engine.pairs import Pairs, by_cluster, column_buffers, equal_work
from offgrid.engine.partition import Partition

_Floats = NDArray[np.float64]
_Ints = NDArray[np.integer]
_T = TypeVar("_T")

# Pairs from which a pass is spread: about half a second of one processor, some times what handing it out takes.
WORTH = 200_000_000
# Pairs in a block of rows, at least, and blocks for each thread, at most.
_BLOCK = 50_000_000
_BLOCKS_PER_THREAD = 4
# Rows in a range that one worker adds up, at least, and ranges, at most: each takes something from every block.
_RANGE = 125_000
_RANGES = 8


def distribute(pairs: Pairs) -> Pairs:
    """Return pairs whose passes run on the configured cluster; the same ones where there is none, or L is stored."""
    address = dask_cluster.configured()
    if address is None or pairs.held != COMPUTED:
        return pairs
    return DistributedPairs(pairs, address)


# ---------------------------------------------------------------- what is sent, and what workers do with it


class Columns:
    """Columns with their clusters, as they are sent: those of a partition, which are all, or some."""

    def __init__(self, clusters: _Ints, n_clusters: int, columns: NDArray[np.int64] | None = None) -> None:
        self.clusters = clusters.astype(np.min_scalar_type(max(n_clusters - 1, 0)))
        self.n_clusters = n_clusters
        self.columns = columns
        self._lock = threading.Lock()
        self._layout: Layout | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.clusters, self.n_clusters, self.columns)

    def __sizeof__(self) -> int:
        return self.clusters.nbytes + (0 if self.columns is None else self.columns.nbytes)

    def layout(self, pairs: BlockPairs) -> Layout:
        """Return what the compiled functions need, put in order once on each worker."""
        with self._lock:
            if self._layout is None:
                self._layout = pairs.lay_out(self)
            return self._layout


class Piece(NamedTuple):
    """What a block of the order gives to a range of it: to its own rows, and to those after it from cluster `lowest`.

    Attributes
    ----------
    at : int
        Where in the range `rows` begin; `columns` end with it.
    rows : ndarray, shape (2, m, k)
    columns : ndarray, shape (2, clusters, p)
    lowest : int
    """

    at: int
    rows: _Floats
    columns: _Floats
    lowest: int


class BlockPairs(Pairs):
    """The pairs of all points as a worker has them. Its methods are tasks; blocks of rows go to it one by one.

    Attributes
    ----------
    build : tuple of str
        That of the process which made them: what has another build must not add to its sums.
    """

    build: tuple[str, ...]

    @classmethod
    def received(cls, points: _Floats, manhattan: bool, build: tuple[str, ...]) -> BlockPairs:
        """Make them where they arrive. What arrives cannot be written to, which is another type to the compiler."""
        pairs = cls(None, np.require(points, requirements=["C", "W"]), manhattan=manhattan)
        pairs.build = build
        return pairs

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockPairs.received, (self.points, self.manhattan, self.build)

    def __sizeof__(self) -> int:
        return self.points.nbytes

    def lay_out(self, columns: Columns) -> Layout:
        """Return the layout of some columns."""
        dask_cluster.check_build(self.build)
        clusters = columns.clusters.astype(np.int64)
        if columns.columns is None:
            return self.layout(Partition(clusters, columns.n_clusters))
        return self._layout(*by_cluster(columns.columns, clusters, columns.n_clusters), clusters)

    def sums_of(self, columns: Columns, t: float, rows: NDArray[np.int32] | range) -> _Floats:
        """Return the sums of some rows over columns, and their derivatives, (2, m, k)."""
        both = np.empty((2, len(rows), columns.n_clusters))
        sums.cluster_sums(columns.layout(self), _indices(rows), t, both[0], both[1], 0, len(rows))
        return both

    def limits_of(self, columns: Columns, rows: range) -> _Floats:
        """Return the same for t -> 0, as `Pairs.limit_sums` does."""
        both = np.empty((2, len(rows), columns.n_clusters))
        sums.limit_sums(columns.layout(self), _indices(rows), both[0], both[1], 0, len(rows))
        return both

    def moments_of(self, columns: Columns, t: float, scale: float, count: int, rows: range) -> _Floats:
        """Return moments of rows of the order, (m, count)."""
        moments = np.empty((rows.stop, count))  # what is not written takes no memory
        sums.self_moments(columns.layout(self), t, scale, moments, rows.start, rows.stop)
        return moments[rows.start :]

    def symmetric_block(
        self, columns: Columns, t: float, edges: Sequence[int], cuts: Sequence[int]
    ) -> list[Piece] | list[list[Piece]]:
        """Meet each pair of rows of the order and columns after them, chunk by chunk of rows between `edges`.

        Returns what that gives to each range to `cuts`, from the one in which the rows begin; for a single range no
        list of lists.
        """
        layout = columns.layout(self)
        totals = np.zeros((2, self.n, columns.n_clusters))
        parts: list[list[Piece]] = [[] for end in cuts[1:] if end > edges[0]]
        for first, last in pairwise(edges):
            (buffers,) = column_buffers(layout, [first, last], 2)
            sums.symmetric_sums(layout, t, totals[0], totals[1], buffers[0], buffers[1], first, last)
            own = totals[:, layout.order[first:last]]
            lowest = int(layout.labels[layout.order[first]])
            for part, begin, end in zip(parts, cuts[-len(parts) - 1 :], cuts[-len(parts) :], strict=False):
                if end > first:
                    some = slice(max(begin - first, 0), end - first)
                    part.append(Piece(max(first - begin, 0), own[:, some].copy(), buffers[:, :, some].copy(), lowest))
        return parts[0] if len(cuts) == 2 else parts


def _indices(rows: NDArray[np.int32] | range) -> NDArray[np.int64]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows.astype(np.int64)


def _part(parts: list[list[Piece]], index: int) -> list[Piece]:
    return parts[index]


def _added_up(parts: list[list[Piece]], n_rows: int, n_clusters: int) -> _Floats:
    """Return the sums of a range's rows, (2, n_rows, k), from the pieces of all chunks, in their order.

    First what chunks give to their columns, then what each row is given by its own chunk, as on one machine.
    """
    pieces = list(chain.from_iterable(parts))
    totals = np.zeros((2, n_rows, n_clusters))
    for piece in pieces:
        clusters = slice(piece.lowest, piece.lowest + piece.columns.shape[1])
        totals[:, piece.at :, clusters] += piece.columns.transpose(0, 2, 1)
    for piece in pieces:
        totals[:, piece.at : piece.at + piece.rows.shape[1]] += piece.rows
    return totals


def _on_block(pairs: BlockPairs, work: Callable[[Pairs, int, int], _T], first: int, last: int) -> _T:
    dask_cluster.check_build(pairs.build)
    return work(pairs, first, last)


# ---------------------------------------------------------------- what asks for it


class DistributedPairs(Pairs):
    """Pairs that are computed from points, whose larger passes run on a cluster.

    Parameters
    ----------
    pairs : Pairs
    address : str
        The scheduler's.
    """

    def __init__(self, pairs: Pairs, address: str) -> None:
        super().__init__(None, pairs.points, manhattan=pairs.manhattan)
        self.address = address
        self._sent_to: Cluster | None = None
        self._sent: Any = None
        self._sent_columns: tuple[Partition | None, Any] = (None, None)

    def each_block(self, work: Callable[[Pairs, int, int], _T]) -> list[_T]:
        """Do what `Pairs.each_block` does."""
        if self.n**2 // 2 < WORTH:
            return super().each_block(work)
        results: dict[int, Any] = {}

        def submit(to: Cluster, threads: int) -> list[Any]:
            results.clear()
            edges = [group[0] for group in _grouped(equal_work(self.n), _BLOCKS_PER_THREAD * threads)]
            blocks = pairwise([*edges, self.n])
            return [to.submit(_on_block, self._points(to), work, *ends) for ends in blocks]

        self._carry_out(submit, results.__setitem__)
        return [results[index] for index in range(len(results))]

    def cluster_sums(self, partition: Partition, t: float, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        """Do what `Pairs.cluster_sums` does."""
        if len(rows) * self.n < WORTH:
            return super().cluster_sums(partition, t, rows)
        narrow = rows.astype(np.int32)
        return self._in_row_blocks(BlockPairs.sums_of, partition, len(rows), self.n, lambda some: (t, narrow[some]))

    def sums_over(
        self, columns: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int, t: float
    ) -> tuple[_Floats, _Floats]:
        """Do what `Pairs.sums_over` does."""
        if self.n * len(columns) < WORTH:
            return super().sums_over(columns, clusters, n_clusters, t)
        sent = Columns(clusters, n_clusters, columns)
        return self._in_row_blocks(
            BlockPairs.sums_of, sent, self.n, len(columns), lambda some: (t, range(some.start, some.stop))
        )

    def limit_sums(self, partition: Partition) -> tuple[_Floats, _Floats]:
        """Do what `Pairs.limit_sums` does."""
        if self.n**2 < WORTH:
            return super().limit_sums(partition)
        return self._in_row_blocks(
            BlockPairs.limits_of, partition, self.n, self.n, lambda some: (range(some.start, some.stop),)
        )

    def self_moments(self, partition: Partition, t: float, scale: float, order: int) -> _Floats:
        """Do what `Pairs.self_moments` does."""
        entries = int((partition.sizes.astype(float) ** 2).sum()) // 2
        if entries < WORTH:
            return super().self_moments(partition, t, scale, order)
        moments = np.empty((self.n, (order // 4 + 1) * 4))
        # a row meets those before it in its cluster
        met = np.cumsum(self.all_rows - np.repeat(partition.offsets[:-1], partition.sizes))
        blocks: list[range] = []

        def submit(to: Cluster, threads: int) -> list[Any]:
            shares = np.linspace(0.0, met[-1], _n_blocks(entries, threads) + 1)[1:-1]
            edges = np.concatenate(([0], np.searchsorted(met, shares), [self.n]))
            blocks[:] = [range(*ends) for ends in pairwise(np.unique(edges).tolist())]
            sent = self._points(to), self._columns(to, partition)
            return [to.submit(BlockPairs.moments_of, *sent, t, scale, moments.shape[1], rows) for rows in blocks]

        def place(index: int, some: _Floats) -> None:
            moments[blocks[index].start : blocks[index].stop] = some

        self._carry_out(submit, place)
        self.entries += entries
        return cluster_totals(moments, partition.offsets)[: order + 1]

    def symmetric_sums(self, partition: Partition, t: float) -> _Floats:
        """Do what `Pairs.symmetric_sums` does."""
        if self.n**2 // 2 < WORTH:
            return super().symmetric_sums(partition, t)
        totals = np.empty((2, self.n, partition.n_clusters))
        n_ranges = min(max(self.n // _RANGE, 1), _RANGES)
        cuts = [self.n * i // n_ranges for i in range(n_ranges + 1)]

        def submit(to: Cluster, threads: int) -> list[Any]:
            sent = self._points(to), self._columns(to, partition)
            parts: list[list[Any]] = [[] for _ in cuts[1:]]
            for edges in _grouped(equal_work(self.n), _BLOCKS_PER_THREAD * threads):
                block = to.submit(BlockPairs.symmetric_block, *sent, t, edges, cuts)
                given = [part for part, end in zip(parts, cuts[1:], strict=True) if end > edges[0]]
                for index, part in enumerate(given):
                    part.append(block if n_ranges == 1 else to.submit(_part, block, index))
            return [
                to.submit(_added_up, part, end - begin, partition.n_clusters)
                for part, (begin, end) in zip(parts, pairwise(cuts), strict=True)
            ]

        def place(index: int, some: _Floats) -> None:
            totals[:, partition.order[cuts[index] : cuts[index + 1]]] = some

        self._carry_out(submit, place)
        return totals

    def _in_row_blocks(
        self, task: Callable[..., _Floats], columns: Columns | Partition, n_rows: int, n_columns: int,
        arguments: Callable[[slice], tuple[Any, ...]],
    ) -> tuple[_Floats, _Floats]:  # fmt: skip
        """Return sums and derivatives of rows, which do not depend on one another, from blocks of them."""
        totals = np.empty((2, n_rows, columns.n_clusters))
        blocks: list[slice] = []

        def submit(to: Cluster, threads: int) -> list[Any]:
            count = min(_n_blocks(n_rows * n_columns, threads), n_rows)
            blocks[:] = [slice(n_rows * i // count, n_rows * (i + 1) // count) for i in range(count)]
            sent = self._points(to), self._columns(to, columns)
            return [to.submit(task, *sent, *arguments(some)) for some in blocks]

        def place(index: int, some: _Floats) -> None:
            totals[:, blocks[index]] = some

        self._carry_out(submit, place)
        self.entries += n_rows * n_columns
        return totals[0], totals[1]

    def _carry_out(self, submit: Callable[[Cluster, int], list[Any]], place: Callable[[int, Any], None]) -> None:
        """Have a pass done; see `Cluster.carry_out`."""
        to = self._cluster()

        def begin(threads: int, anew: bool) -> list[Any]:
            if anew or self._sent_to is not to:
                self._sent_to, self._sent, self._sent_columns = to, None, (None, None)
            return submit(to, threads)

        to.carry_out(begin, place)

    def _cluster(self) -> Cluster:
        return dask_cluster.connect(self.address)

    def _points(self, to: Cluster) -> Any:
        """Return the handle of the points, which are sent once."""
        if self._sent is None:
            self._sent = to.send(BlockPairs.received(self.points, self.manhattan, dask_cluster.build()))
        return self._sent

    def _columns(self, to: Cluster, columns: Columns | Partition) -> Any:
        """Return the handle of columns; those of a partition are sent once for the one used last."""
        if isinstance(columns, Columns):
            return to.send(columns)
        if self._sent_columns[0] is not columns:
            self._sent_columns = columns, to.send(Columns(columns.labels, columns.n_clusters))
        return self._sent_columns[1]


def _n_blocks(entries: int, threads: int) -> int:
    return min(max(entries // _BLOCK, 1), _BLOCKS_PER_THREAD * threads)


def _grouped(edges: list[int], count: int) -> list[list[int]]:
    """Return the edges of chunks in so many groups, at most, of chunks side by side."""
    n_chunks = len(edges) - 1
    count = min(count, n_chunks)
    at = [n_chunks * i // count for i in range(count + 1)]
    return [edges[first : last + 1] for first, last in pairwise(at)]
