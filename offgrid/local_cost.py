"""c-NNC of near neighbours alone, which does not punish a cluster for being long.

Entry point: `LocalCost`. Memory: n J int64 for J neighbours of n rows; while they are found, a few rows of distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# Distances that are sorted at once.
_SORTED = 1 << 20


def reach(n: int) -> int:
    """Return J = floor(2 (log n + 1)), at most n - 1: how many neighbours of each of n rows are looked at.

    The paper's own limit where it tries numbers of neighbours (MKNN, section 7). A graph of nearest neighbours is
    connected, and shows the shape of the data, once they number about log n (Brito et al. 1997, von Luxburg 2007).
    """
    return min(int(2.0 * (math.log(n) + 1.0)), n - 1)


@dataclass(frozen=True, eq=False)
class LocalCost:
    """The nearest neighbours of every row, and the local c-NNC of any partition.

    c-NNC (paper, section 7) counts, for each row and each c up to n - 1, the share of the row's c nearest neighbours
    that lie in another cluster, weighted by 1 / c. The far ones among them say how round a cluster is: in a long one
    the other end is farther off than the cluster beside it, which is no fault. Here c ends with J. So neighbour j
    weighs the sum of 1 / c**2 for c = j ... J, over the sum of all weights.

    Attributes
    ----------
    neighbours : ndarray of int64, shape (n, J)
        By distance, then by index; a row is no neighbour of its own.
    """

    neighbours: Labels

    @classmethod
    def among(cls, exponents: Floats) -> LocalCost:
        """Find the neighbours from the exponents -||x - y||**2, shape (n, n), n >= 2."""
        n = len(exponents)
        count = reach(n)
        neighbours = np.empty((n, count), dtype=np.int64)
        step = max(_SORTED // n, 1)
        for first in range(0, n, step):
            distances = -exponents[first : first + step]
            inside = np.arange(len(distances))
            distances[inside, first + inside] = -1.0
            neighbours[first : first + step] = np.argsort(distances, axis=1, kind="stable")[:, 1 : count + 1]
        return cls(neighbours)

    @property
    def weights(self) -> Floats:
        """What the neighbours count, the nearest most; they sum to 1."""
        weights = np.cumsum((1.0 / np.arange(1, self.neighbours.shape[1] + 1) ** 2)[::-1])[::-1]
        return weights / weights.sum()

    def shares(self, labels: Labels, n_clusters: int) -> Floats:
        """Return each row's share of the cost, shape (n,): they sum to it.

        The cost is the mean over clusters of the mean over a cluster's rows; an empty cluster costs 1.
        """
        n = len(labels)
        elsewhere = (labels[self.neighbours] != labels[:, None]) @ self.weights
        sizes = np.bincount(labels, minlength=n_clusters)
        empty = np.count_nonzero(sizes == 0)
        return (elsewhere / sizes[labels] + empty / n) / n_clusters


def standard_error(shares: Floats) -> float:
    """Return the standard error of the sum of shares, taken as independent draws."""
    return math.sqrt(len(shares) * float(shares.var()))
