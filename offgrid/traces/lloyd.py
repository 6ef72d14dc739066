"""Kernel k-means iteration by iteration (paper, section 3).

Entry point: `lloyd_steps`. Memory: the labels of every iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.engine.partition import Partition
from offgrid.kernels import RBF
from offgrid.lloyd import initial_labels, objective
from offgrid.proximity import evaluate
from offgrid.validation import check_n_clusters, check_positive


@dataclass(frozen=True, eq=False)
class LloydStep:
    """The partition after an iteration, the rows that the iteration moved, and its objective."""

    labels: NDArray[np.int64]
    moved: NDArray[np.int64]
    objective: float


@dataclass(frozen=True, eq=False)
class LloydSteps:
    """The start partition and every iteration that moved a point, and whether the next one would move none."""

    sigma: float
    steps: tuple[LloydStep, ...]
    converged: bool


def lloyd_steps(X: ArrayLike, n_clusters: int, sigma: float, *, seed: int = 0, max_iter: int = 100) -> LloydSteps:
    """Return what kernel k-means does from a random partition; one kernel pass for each iteration.

    It is what `KernelKMeans` does with `random_state` the seed.

    Examples
    --------
    >>> found = lloyd_steps([[0.0], [0.5], [9.0], [9.5]], 2, 4.0, seed=3)
    >>> [step.labels.tolist() for step in found.steps], found.converged
    ([[0, 0, 1, 1]], True)
    """
    kernel = RBF().on(X)
    pairs, t = kernel.pairs, kernel.t(check_positive(sigma, "sigma"))
    check_n_clusters(n_clusters, pairs.n)
    labels = initial_labels("random", pairs, n_clusters, t, np.random.RandomState(seed))
    moved: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    steps: list[LloydStep] = []
    while True:
        partition = Partition(labels, n_clusters)
        evaluation = evaluate(pairs, partition, t)
        steps.append(LloydStep(partition.labels, moved, objective(pairs, partition, evaluation)))
        labels = evaluation.stepped(partition)
        moved = np.flatnonzero(labels != partition.labels)
        if len(moved) == 0 or len(steps) > max_iter:
            return LloydSteps(sigma, tuple(steps), len(moved) == 0)
