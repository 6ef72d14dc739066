"""Measures of a partition: c-NNC without labels, NMI and ARI against labels (paper, section 7).

Entry points: `nearest_neighbour_cost`, `normalized_mutual_information`, `adjusted_rand_index`, and `neighbour_ranks`
with `NeighbourRanks.cost`, for many partitions of one data set. Memory of the ranks: 2 n**2 bytes (4 n**2 from 65,537
rows on), or a sample of rows within a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.engine import neighbours
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.errors import InputError
from offgrid.memory import for_ranks
from offgrid.validation import check_labels, check_n_clusters, check_points, in_units_of, spread_of


@dataclass(frozen=True, eq=False)
class NeighbourCost:
    """A nearest-neighbour cost and its standard error: 0 where every row was ranked."""

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class NeighbourRanks:
    """Ranks of all points among the neighbours of `rows`, which is all that c-NNC needs of a data set.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        The rows ranked: all, or a random sample.
    ranks : ndarray of uint16 or int32, shape (m, n)
    weights : ndarray of float64, shape (n,)
        w_j = sum of 1 / c**2 for c = j ... n - 1, for each rank j; 0 for rank 0.
    """

    rows: NDArray[np.int64]
    ranks: NDArray[Any]
    weights: NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether every row is ranked."""
        return len(self.rows) == self.ranks.shape[1]

    def check_rows(self, n: int) -> None:
        """Raise InputError where the ranks are those of other data, not of n rows."""
        if self.ranks.shape[1] != n:
            raise InputError(f"ranks are of {self.ranks.shape[1]} rows, X has {n}: rank the neighbours of X.")

    def cost(self, labels: NDArray[np.integer], n_clusters: int) -> NeighbourCost:
        """Return c-NNC of a partition: one pass over the ranks.

        From a sample of rows it is estimated, each cluster by the mean over its sampled rows.
        """
        n = self.ranks.shape[1]
        partition = Partition(check_labels(labels, n, n_clusters), n_clusters)
        scale = np.log(n - 1) + np.euler_gamma + 1.0 / (2 * n - 2)
        costs = neighbours.disagreement(self.ranks, self.rows, partition, self.weights) / scale
        own = partition.labels[self.rows]
        sampled = np.bincount(own, minlength=n_clusters)
        means = np.bincount(own, weights=costs, minlength=n_clusters) / np.maximum(sampled, 1)
        # a cluster that no sampled row belongs to is given the mean of all
        means[(sampled == 0) & (partition.sizes > 0)] = costs.mean()
        value = (means.sum() + np.count_nonzero(partition.sizes == 0)) / n_clusters
        return NeighbourCost(float(value), self._standard_error(costs, own, sampled, partition.sizes))

    def _standard_error(
        self, costs: NDArray[np.float64], own: NDArray[np.int64], sampled: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> float:
        if self.exact:
            return 0.0
        k = len(sizes)
        square = np.bincount(own, weights=(costs - costs.mean()) ** 2, minlength=k)
        mean = np.bincount(own, weights=costs - costs.mean(), minlength=k) / np.maximum(sampled, 1)
        within = np.maximum(square - sampled * mean**2, 0.0) / np.maximum(sampled - 1, 1)
        # one sampled row says nothing of the spread inside its cluster: the spread of all rows stands in
        variance = np.where(sampled > 1, within, np.where(sizes > 0, costs.var(), 0.0))
        missing = 1.0 - sampled / np.maximum(sizes, 1)
        return float(np.sqrt((variance * missing / np.maximum(sampled, 1)).sum()) / k)


def neighbour_ranks(X: ArrayLike, *, memory_limit: int | None = None, random_state: int | None = 0) -> NeighbourRanks:
    """Rank the neighbours of every row, or of a random sample of rows where `memory_limit` (bytes) asks for it.

    Parameters
    ----------
    X : array-like of shape (n, d), n >= 2
    memory_limit : int or None
        Bytes that the ranks may take; None for a third of `OFFGRID_MEMORY_LIMIT`.
    random_state : int or None
        Seed of the sample.
    """
    points = check_points(X, minimum=2)
    # a power of two changes no comparison, and keeps squares within range
    points = in_units_of(points, int(np.frexp(spread_of(points))[1]))
    return ranks_among(Pairs.from_points(points), memory_limit=memory_limit, random_state=random_state)


def ranks_among(pairs: Pairs, *, memory_limit: int | None = None, random_state: int | None = 0) -> NeighbourRanks:
    """Rank neighbours by squared distances that are at hand; see `neighbour_ranks`."""
    n = pairs.n
    rows = np.arange(n)
    memory_limit = for_ranks() if memory_limit is None else memory_limit
    affordable = memory_limit // (n * (2 if n <= 1 << 16 else 4))
    if affordable < n:
        if affordable < 2:
            raise InputError(
                f"memory_limit is {memory_limit} bytes: ranking two of {n} rows takes more; "
                "raise it, or OFFGRID_MEMORY_LIMIT."
            )
        rows = np.sort(np.random.default_rng(random_state).choice(n, affordable, replace=False))
    inverse_squares = 1.0 / np.arange(1, n, dtype=np.float64) ** 2
    weights = np.concatenate(([0.0], np.cumsum(inverse_squares[::-1])[::-1]))
    return NeighbourRanks(rows, neighbours.neighbour_ranks(pairs, rows), weights)


def nearest_neighbour_cost(X: ArrayLike, labels: ArrayLike, n_clusters: int) -> float:
    """Return the nearest-neighbour cost c-NNC of a partition, from 0 (best) to 1 (paper, section 7).

    For each point and each c, the share of its c nearest neighbours that lie in another cluster, weighted by 1 / c;
    averaged over a cluster's points, then over clusters. Neighbours are ranked by (distance, index), an empty cluster
    costs 1.

    Parameters
    ----------
    X : array-like of shape (n, d), n >= 2
    labels : array-like of int, shape (n,)
        Clusters, from 0 to n_clusters - 1.
    n_clusters : int

    Raises
    ------
    InputError
        Where labels do not fit the rows or the number of clusters.

    Notes
    -----
    For several partitions of the same data, `neighbour_ranks` once and `NeighbourRanks.cost` for each save the sorting.

    Examples
    --------
    >>> nearest_neighbour_cost([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], 2).__round__(3)
    0.256
    """
    points = check_points(X, minimum=2)
    check_n_clusters(n_clusters, len(points))
    return neighbour_ranks(points).cost(check_labels(labels, len(points), n_clusters), n_clusters).value


def _contingency(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Return the table of counts of two labellings of the same rows."""
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape or len(a) == 0:
        raise InputError(
            f"labels have shapes {a.shape} and {b.shape}: two labellings need one label for the same rows."
        )
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1), dtype=np.int64)
    np.add.at(table, (a, b), 1)
    return table


def normalized_mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return 2 I / (H + H) of two labellings, from 0 to 1 (paper, equation 6).

    Two labellings that both have one cluster agree perfectly: 1, as in scikit-learn.
    """
    table = _contingency(labels_true, labels_pred)
    if table.shape == (1, 1):
        return 1.0
    joint = table / table.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    cells = joint > 0
    information = (joint[cells] * np.log(joint[cells] / np.outer(rows, columns)[cells])).sum()
    entropies = -(rows * np.log(rows)).sum() - (columns * np.log(columns)).sum()
    return float(min(max(2.0 * information / entropies, 0.0), 1.0))


def adjusted_rand_index(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return the Rand index adjusted for chance: 1 for equal partitions, 0 expected for random ones."""
    table = _contingency(labels_true, labels_pred).astype(np.float64)

    def pairs(counts: NDArray[np.float64]) -> float:
        return float((counts * (counts - 1.0)).sum() / 2.0)

    together, n = pairs(table), table.sum()
    rows, columns = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / max(n * (n - 1.0) / 2.0, 1.0)
    largest = (rows + columns) / 2.0
    return 1.0 if largest == expected else (together - expected) / (largest - expected)
