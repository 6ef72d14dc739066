"""Proximity of points to clusters in feature space, and the assignment step made with it (paper, equation 4).

Entry points: `Evaluation` (the sums at one t, with the proximities and the step they give) and `evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import assignment
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Sums of exp(t L) for all rows and for the clusters themselves, with their t-derivatives.

    Attributes
    ----------
    t : float
    sums, slopes : ndarray, shape (n, k)
        Sums from each row to each cluster, and their derivatives.
    self_sums, self_slopes : ndarray, shape (k,)
        Sums over all pairs inside each cluster, and their derivatives.
    """

    t: float
    sums: _Floats
    slopes: _Floats
    self_sums: _Floats
    self_slopes: _Floats

    def proximities(self, partition: Partition) -> _Floats:
        """Return the proximities 2 S / n_i - B / n_i**2 of rows to clusters, shape (n, k); 0 for empty clusters."""
        inverse = partition.inverse_sizes
        return 2.0 * self.sums * inverse - self.self_sums * inverse**2

    def stepped(self, partition: Partition) -> NDArray[np.int64]:
        """Return the labels after one assignment step."""
        labels: NDArray[np.int64] = assignment.step(
            self.sums, self.self_sums, partition.inverse_sizes, partition.labels
        )
        return labels


def evaluate(pairs: Pairs, partition: Partition, t: float) -> Evaluation:
    """Evaluate all rows at t: one kernel pass."""
    return Evaluation(t, *pairs.all_sums(partition, t))


def with_self_sums(partition: Partition, t: float, sums: _Floats, slopes: _Floats) -> Evaluation:
    """Complete an evaluation of all rows: a cluster's self-sum is the total of its rows' sums to it."""
    labels = partition.labels
    return Evaluation(t, sums, slopes, assignment.self_sums(sums, labels), assignment.self_sums(slopes, labels))
