"""The hunt for one critical value by several methods, look by look (paper, sections 5 to 7, and ours).

Entry point: `hunts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.critical import Method, find_critical
from offgrid.engine.partition import Partition
from offgrid.kernels import RBF, KernelOnData
from offgrid.lloyd import initial_labels, iterate
from offgrid.looks import Look
from offgrid.proximity import evaluate
from offgrid.validation import check_n_clusters, check_positive

HUNTERS: tuple[Method, ...] = ("certified", "dyadic", "bisection")
_MAX_ITER = 300


@dataclass(frozen=True)
class Query:
    """One look of a method: what it looked at, whether a point moves there, and the bracket that it then has.

    Attributes
    ----------
    look : Look
    moves : bool
        Whether a step at ``look.sigma`` moves a point.
    above : float
        The smallest bandwidth looked at so far that moves a point, ``inf`` while there is none.
    """

    look: Look
    moves: bool
    above: float

    @property
    def width(self) -> float:
        """Relative width of the bracket: above / below - 1; ``inf`` while no point was seen to move."""
        return math.inf if math.isinf(self.above) else self.above / self.look.below - 1.0


@dataclass(frozen=True)
class Hunt:
    """All looks of one method, and what it returned."""

    method: Method
    queries: tuple[Query, ...]
    sigma: float
    below: float
    passes: float


@dataclass(frozen=True, eq=False)
class Hunts:
    """Several methods' hunts from one clustering.

    Attributes
    ----------
    start : float
        The bandwidth at which kernel k-means converged.
    labels : ndarray of int64, shape (n,)
    hunts : tuple of Hunt
    """

    start: float
    labels: NDArray[np.int64]
    hunts: tuple[Hunt, ...]

    def of(self, method: Method) -> Hunt:
        """Return the hunt of a method."""
        return next(hunt for hunt in self.hunts if hunt.method == method)


def hunts(X: ArrayLike, n_clusters: int, start: float, *, seed: int = 0, depth: int = 10) -> Hunts:
    """Run kernel k-means at `start` from a random partition, and hunt for its critical value by each method.

    `depth` is the number of rounds of Algorithm 2. Whether a point moves at a look is seen by a step of all rows, which
    is not counted.

    Examples
    --------
    >>> found = hunts([[0.0], [1.0], [5.0], [7.0]], 2, 0.5, depth=4)
    >>> [(query.look.sigma, query.moves) for query in found.of("dyadic").queries]
    [(1.0, False), (2.0, False), (4.0, False), (8.0, False)]
    """
    kernel = RBF().on(X)
    check_n_clusters(n_clusters, kernel.pairs.n)
    t = kernel.t(check_positive(start, "start"))
    labels = initial_labels("random", kernel.pairs, n_clusters, t, np.random.RandomState(seed))
    partition = iterate(kernel.pairs, labels, n_clusters, t, _MAX_ITER).partition
    found = tuple(_hunt(kernel, partition, t, method, depth) for method in HUNTERS)
    return Hunts(start, partition.labels, found)


def _hunt(kernel: KernelOnData, partition: Partition, t: float, method: Method, depth: int) -> Hunt:
    looks: list[Look] = []
    evaluation = evaluate(kernel.pairs, partition, t)
    found = find_critical(kernel, partition, evaluation, method=method, depth=depth, observe=looks.append)
    queries: list[Query] = []
    above = math.inf
    for look in looks:
        moves = math.isfinite(look.sigma) and _moves(kernel, partition, look.sigma)
        above = min(above, look.sigma) if moves else above
        queries.append(Query(look, moves, above))
    sigma = found.sigma if found.changed else math.inf
    return Hunt(method, tuple(queries), sigma, found.below, found.passes)


def _moves(kernel: KernelOnData, partition: Partition, sigma: float) -> bool:
    stepped = evaluate(kernel.pairs, partition, kernel.t(sigma)).stepped(partition)
    return not np.array_equal(stepped, partition.labels)
