"""The frozen zone of Theorem 1 and what lies above it (paper, section 4).

Entry points: `frozen_zone` (points) and `tight_example_zone` (the paper's tight example, which is given by distances).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.bounds import lower_bound_on
from offgrid.critical import find_critical
from offgrid.datasets import tight_example
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.kernels import RBF, KernelOnData
from offgrid.proximity import evaluate
from offgrid.validation import check_labels, check_n_clusters

# The zone is looked at from this far below the bound, at so many bandwidths.
_BELOW = 1 / 4
_COUNT = 48


@dataclass(frozen=True, eq=False)
class FrozenZone:
    """The rows that one step of kernel k-means moves, from below Theorem 1's bound to a nearly flat kernel.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        The partition that the step starts from.
    closest : float
        The smallest squared distance between two rows.
    bound : float
        closest / log(3 n): nothing moves up to here, whatever the partition.
    first : float
        The smallest bandwidth at which a row of this partition moves, as the certified search finds it; ``inf`` if
        none does.
    sigmas : ndarray of float64, shape (m,)
        Increasing; `bound` and `first` are among them.
    moved : tuple of m ndarrays of int64
        The rows that a step at each bandwidth moves.
    """

    labels: NDArray[np.int64]
    closest: float
    bound: float
    first: float
    sigmas: NDArray[np.float64]
    moved: tuple[NDArray[np.int64], ...]


def frozen_zone(X: ArrayLike, labels: ArrayLike, n_clusters: int) -> FrozenZone:
    """Return the zone of a partition of points, up to their largest squared distance.

    Raises
    ------
    InputError
        Where two rows are equal: there is no bound then.

    Examples
    --------
    >>> zone = frozen_zone([[0.0], [3.0], [5.0]], [0, 1, 0], 2)
    >>> round(zone.bound, 4), round(zone.first, 4), zone.moved[-1].tolist()
    (1.8205, 20.8308, [2])
    """
    kernel = RBF().on(X)
    check_n_clusters(n_clusters, kernel.pairs.n)
    partition = Partition(check_labels(labels, kernel.pairs.n, n_clusters), n_clusters)
    bound = lower_bound_on(kernel)
    span = kernel.pairs.points.max(axis=0) - kernel.pairs.points.min(axis=0)
    return _zone(kernel, partition, bound, bound * math.log(3 * kernel.pairs.n), kernel.unit * float((span**2).sum()))


def tight_example_zone(n: int, epsilon: float = 1.0) -> FrozenZone:
    """Return the zone of the paper's tight example: n points, `epsilon` the smallest squared distance.

    One point leaves its cluster a constant factor above the bound, so the theorem can be improved by no more than that.
    """
    squares, labels = tight_example(n, epsilon)
    kernel = KernelOnData(Pairs.from_exponents(-squares), 1.0)
    return _zone(kernel, Partition(labels, 2), epsilon / math.log(3 * n), epsilon, 4.0 * epsilon)


def _zone(kernel: KernelOnData, partition: Partition, bound: float, closest: float, end: float) -> FrozenZone:
    start = evaluate(kernel.pairs, partition, kernel.t(bound))
    first = find_critical(kernel, partition, start).sigma
    marked = [bound, first] if first < end else [bound]
    sigmas = np.unique([*np.geomspace(_BELOW * bound, end, _COUNT), *marked])
    moved = tuple(_moved_at(kernel, partition, float(sigma)) for sigma in sigmas)
    return FrozenZone(partition.labels, closest, bound, first, sigmas, moved)


def _moved_at(kernel: KernelOnData, partition: Partition, sigma: float) -> NDArray[np.int64]:
    stepped = evaluate(kernel.pairs, partition, kernel.t(sigma)).stepped(partition)
    return np.flatnonzero(stepped != partition.labels)
