"""The numeric kernels: compiled once, kept beside their source, and used by everything above.

Entry point: `warmup`, which compiles all of them ahead of their first use.
"""

from __future__ import annotations


def warmup() -> None:
    """Compile every kernel, or load it where that was done before, by using it once on four points."""
    import numpy as np

    from offgrid.engine import assignment, descent, neighbours
    from offgrid.engine.pairs import MixedPairs, Pairs
    from offgrid.engine.partition import Partition
    from offgrid.engine.percentile import low_percentile
    from offgrid.engine.powers import PowerOfKernel

    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    partition = Partition(np.array([0, 0, 1, 1]), 2)
    pairs = Pairs.from_points(points)
    totals = pairs.all_sums(partition, 1.0)
    pairs.symmetric_sums(partition, 1.0)
    pairs.cluster_sums(partition, 1.0, np.array([2]))
    assignment.step(totals[0], totals[2], partition.inverse_sizes, partition.labels)
    descent.descend(
        pairs.layout(partition), partition.inverse_sizes, 1.0, *totals, 1e-6, 0.0, pairs.largest, pairs.mean
    )
    pairs.limit_sums(partition)
    pairs.self_moments(partition, 1.0, 0.1, 2)
    pairs.row(0)
    pairs.exponents()
    pairs.triangle()
    Pairs.from_points(points, manhattan=True).exponents()
    MixedPairs(pairs, 0.5, np.full((4, 4), 0.5), 0.0).all_sums(partition, 1.0)
    low_percentile(pairs)
    PowerOfKernel(pairs, partition, 1.0).refine(moved=False, checked=np.ones(4, dtype=bool))
    neighbours.closest_pair(pairs)
    rows = np.arange(4)
    ranks = neighbours.neighbour_ranks(pairs, rows)
    neighbours.disagreement(ranks, rows, partition, np.arange(4.0))
