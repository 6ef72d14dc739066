"""A kernel matrix to look at: sorted by cluster, as means over blocks, with what it says of the clusters in numbers.

Entry points: `kernel_view` and its result, `KernelView`. Memory: blocks of a few rows and `cells`**2 means, never
n x n; time: half of m**2 kernel entries of d columns, where m is n, or for large data the rows of a sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from offgrid.kernels import Kernel

CELLS = 200
# Pairs of rows times columns that are looked at, at most: about a twentieth of a second.
BUDGET = 12_000_000
_CHUNK = 120_000  # entries held at a time: they stay in the processor's cache
_OVERHEAD = 6  # an entry costs as much as so many columns, whatever the columns
_DIAGONAL = 64

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KernelView:
    """The kernel matrix of some data at one value of its parameter, sorted by cluster.

    Values are relative to the largest entry, which is on the diagonal (1 for the RBF and the Laplacian kernel).

    Attributes
    ----------
    cells : ndarray of float32, shape (b, b)
        Mean of each block of entries. Blocks never straddle two clusters.
    edges : ndarray of int64, shape (b + 1,)
        Where blocks begin and end, in rows.
    clusters : ndarray of int64, shape (c,)
        The clusters that are not empty, in order.
    cluster_edges : ndarray of int64, shape (c + 1,)
        Where they begin and end, in rows.
    cluster_means : ndarray of float64, shape (c, c)
        Mean entry between the rows of two clusters, a row with itself left out; NaN for one row with itself.
    within, between : float
        Mean entry over all pairs of different rows in the same cluster, and in different ones; NaN without any.
    dominance : float
        Share of the diagonal in the sum of all entries: 1 / n where all rows look alike, 1 where no two do.
    n_rows, n_used : int
        Rows of the data, and of the sample that all this was computed from.
    """

    cells: NDArray[np.float32]
    edges: _Ints
    clusters: _Ints
    cluster_edges: _Ints
    cluster_means: _Floats
    within: float
    between: float
    dominance: float
    n_rows: int
    n_used: int


def kernel_view(
    kernel: Kernel, X: _Floats, labels: NDArray[np.integer], value: float, *, cells: int = CELLS, budget: int = BUDGET
) -> KernelView:
    """Return the kernel matrix of X at a value of the kernel's parameter, sorted by `labels`.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of float64, shape (n, d)
    labels : ndarray of int, shape (n,)
    value : float
    cells : int
        Cells along a side, at most (but at least one for each cluster).
    budget : int
        Pairs of rows times columns to look at. Data that need more are represented by a sample, each cluster by its
        share of rows; means are weighted by the clusters' true sizes.
    """
    clusters, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    most = max(int(math.sqrt(2.0 * budget / (X.shape[1] + _OVERHEAD))), 2 * len(clusters))
    rows, taken = _rows(labels, sizes, most)
    points = np.ascontiguousarray(X[rows], dtype=np.float64)
    cluster_edges = np.concatenate(([0], np.cumsum(taken)))
    edges, owners = _blocks(taken, cells)
    diagonal = _log_diagonal(kernel, points, value)
    peak = float(diagonal.max())
    sums = _block_sums(kernel, points, value, edges, peak)
    areas = np.outer(np.diff(edges), np.diff(edges))
    means, traces = _cluster_means(sums, owners, taken, np.exp(diagonal - peak))
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    total = np.where(pairs > 0, means * pairs, 0.0)
    own = np.eye(len(sizes), dtype=bool)
    trace = float((sizes * traces).sum())
    return KernelView(
        cells=(sums / areas).astype(np.float32),
        edges=edges,
        clusters=clusters.astype(np.int64),
        cluster_edges=cluster_edges,
        cluster_means=means,
        within=_ratio(total[own].sum(), pairs[own].sum()),
        between=_ratio(total[~own].sum(), pairs[~own].sum()),
        dominance=trace / (trace + float(total.sum())),
        n_rows=len(labels),
        n_used=len(rows),
    )


def _rows(labels: NDArray[np.integer], sizes: _Ints, most: int) -> tuple[_Ints, _Ints]:
    """Return rows sorted by cluster and how many of each; of each cluster its share where there are too many."""
    order = np.argsort(labels, kind="stable")
    if len(labels) <= most:
        return order, sizes
    taken = np.minimum(np.maximum((sizes * (most / len(labels))).astype(np.int64), 2), sizes)
    rng = np.random.default_rng(0)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    picked = [
        start + np.sort(rng.choice(size, n, replace=False)) for start, size, n in zip(starts, sizes, taken, strict=True)
    ]
    return order[np.concatenate(picked)], taken


def _blocks(taken: _Ints, cells: int) -> tuple[_Ints, _Ints]:
    """Return where blocks begin and end, and the cluster of each: about equal blocks that respect clusters."""
    wanted = np.clip((taken * (cells / taken.sum())).astype(np.int64), 1, taken)
    starts = np.concatenate(([0], np.cumsum(taken)))
    parts = [start + size * np.arange(n) // n for start, size, n in zip(starts, taken, wanted, strict=False)]
    return np.append(np.concatenate(parts), taken.sum()), np.repeat(np.arange(len(taken)), wanted)


def _log_diagonal(kernel: Kernel, points: _Floats, value: float) -> _Floats:
    """Return the logarithm of each row's kernel with itself, from small squares along the diagonal."""
    squares = [points[i : i + _DIAGONAL] for i in range(0, len(points), _DIAGONAL)]
    return np.concatenate([kernel.logarithms(square, square, value).diagonal() for square in squares])


def _block_sums(kernel: Kernel, points: _Floats, value: float, edges: _Ints, peak: float) -> _Floats:
    """Return the sums of exp(log K - peak) over blocks, (b, b); each pair of blocks is met once."""
    n_blocks = len(edges) - 1
    sums = np.zeros((n_blocks, n_blocks))
    first = 0
    while first < n_blocks:
        room = max(_CHUNK // (len(points) - edges[first]), 1)
        last = max(int(np.searchsorted(edges, edges[first] + room, side="right")) - 1, first + 1)
        low = edges[first]
        entries = kernel.logarithms(points[low : edges[last]], points[low:], value)
        entries -= peak
        np.exp(entries, out=entries)
        columns = np.add.reduceat(entries, edges[first:-1] - low, axis=1)
        sums[first:last, first:] = np.add.reduceat(columns, edges[first:last] - low, axis=0)
        first = last
    upper = np.triu(sums)
    return upper + np.triu(upper, 1).T


def _cluster_means(sums: _Floats, owners: _Ints, taken: _Ints, diagonal: _Floats) -> tuple[_Floats, _Floats]:
    """Return the mean entry between different rows of each two clusters, and the mean of each one's diagonal."""
    starts = np.searchsorted(owners, np.arange(len(taken)))
    total = np.add.reduceat(np.add.reduceat(sums, starts, axis=0), starts, axis=1)
    traces = np.add.reduceat(diagonal, np.concatenate(([0], np.cumsum(taken)[:-1])))
    pairs = np.outer(taken, taken) - np.diag(taken)
    with np.errstate(invalid="ignore"):
        means = np.where(pairs > 0, (total - np.diag(traces)) / np.maximum(pairs, 1), np.nan)
    return means, traces / taken


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count else math.nan
