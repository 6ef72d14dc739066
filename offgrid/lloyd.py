"""Lloyd's loop in feature space: kernel k-means at one t, from a given partition (paper, section 3).

Entry points: `iterate` (the loop) and `initial_labels` (where it starts). Memory: O(n k) beside the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.errors import InputError
from offgrid.proximity import Evaluation, evaluate, with_self_sums
from offgrid.validation import check_labels

# Steps between two evaluations of all pairs.
_REFRESH = 20

INITS = ("random", "k-means++", "kernel-k-means++")


@dataclass(frozen=True, eq=False)
class Converged:
    """What the loop ended with.

    Attributes
    ----------
    partition : Partition
    evaluation : Evaluation
        The sums of that very partition at t, for a search to start from.
    objectives : tuple of float
        The sum of squared feature-space distances at the start and after each step; it never increases.
    converged : bool
        Whether no point moves any more.
    """

    partition: Partition
    evaluation: Evaluation
    objectives: tuple[float, ...]
    converged: bool

    @property
    def iterations(self) -> int:
        """Number of steps that moved a point."""
        return len(self.objectives) - 1


def objective(pairs: Pairs, partition: Partition, evaluation: Evaluation) -> float:
    """Return the sum of squared distances to the centroids in feature space; an empty cluster's adds nothing."""
    diagonal = pairs.kernel_diagonal(evaluation.t).sum()
    return float(diagonal - (evaluation.self_sums * partition.inverse_sizes).sum())


def iterate(pairs: Pairs, labels: NDArray[np.integer], n_clusters: int, t: float, max_iter: int) -> Converged:
    """Reassign all points at once until none moves, or `max_iter` steps are made.

    One kernel pass at the start; then each step evaluates the columns of the points that moved, or all pairs where that
    is less work. Updated sums are refreshed every `_REFRESH` steps, so that rounding does not build up. Everything
    returned depends on the arguments alone.
    """
    partition = Partition(labels, n_clusters)
    evaluation = evaluate(pairs, partition, t)
    objectives = [objective(pairs, partition, evaluation)]
    updates = 0
    while True:
        stepped = evaluation.stepped(partition)
        settled = np.array_equal(stepped, partition.labels)
        if settled or len(objectives) > max_iter:
            return Converged(partition, evaluation, tuple(objectives), settled)
        before, partition = partition, Partition(stepped, n_clusters)
        moved = np.flatnonzero(stepped != before.labels)
        if updates < _REFRESH and 2 * len(moved) < pairs.n:
            evaluation, updates = _updated(pairs, before, partition, evaluation, moved), updates + 1
        else:
            evaluation, updates = evaluate(pairs, partition, t), 0
        objectives.append(objective(pairs, partition, evaluation))


def _updated(
    pairs: Pairs, before: Partition, after: Partition, evaluation: Evaluation, moved: NDArray[np.int64]
) -> Evaluation:
    """Return the evaluation of the next partition: the moved points' columns leave one cluster and join another."""
    k = after.n_clusters
    ways, way = np.unique(before.labels[moved] * k + after.labels[moved], return_inverse=True)
    by_way, slopes_by_way = pairs.sums_over(moved, way, len(ways), evaluation.t)
    sums, slopes = evaluation.sums.copy(), evaluation.slopes.copy()
    for i, (left, joined) in enumerate(zip(ways // k, ways % k, strict=True)):
        sums[:, left] -= by_way[:, i]
        sums[:, joined] += by_way[:, i]
        slopes[:, left] -= slopes_by_way[:, i]
        slopes[:, joined] += slopes_by_way[:, i]
    return with_self_sums(after, evaluation.t, sums, slopes)


def initial_labels(init: Any, pairs: Pairs, n_clusters: int, t: float, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Return the start partition that `init` asks for.

    ``"random"`` draws each label uniformly (the paper's way). ``"k-means++"`` and ``"kernel-k-means++"`` draw seeds
    with probability proportional to the squared distance from the seeds so far, in the data's space and in feature
    space, and give each point to its nearest seed. Anything else is taken as labels.
    """
    if isinstance(init, str):
        if init == "random":
            return rng.randint(n_clusters, size=pairs.n)
        if init in INITS:
            return _seeded(pairs, n_clusters, t if init == "kernel-k-means++" else 0.0, rng)
        raise InputError(f"init is {init!r}: choose one of {', '.join(map(repr, INITS))}, or give labels.")
    return check_labels(init, pairs.n, n_clusters)


def _seeded(pairs: Pairs, n_clusters: int, t: float, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Return the cells of k-means++ seeds; t = 0 stands for the data's own space."""
    diagonal = pairs.kernel_diagonal(t)

    def distances(seed: int) -> NDArray[np.float64]:
        if t == 0.0:
            return pairs.squared_distances(seed)
        # in feature space K(x, x) - 2 K(x, y) + K(y, y)
        return np.maximum(diagonal - 2.0 * pairs.kernel_row(seed, t) + diagonal[seed], 0.0)

    nearest = distances(int(rng.randint(pairs.n)))
    labels = np.zeros(pairs.n, dtype=np.int64)
    for cluster in range(1, n_clusters):
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(pairs.n, 1.0 / pairs.n)
        found = distances(int(rng.choice(pairs.n, p=weights)))
        closer = found < nearest
        labels[closer] = cluster
        nearest = np.minimum(nearest, found)
    return labels
