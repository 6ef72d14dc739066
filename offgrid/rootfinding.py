"""The methods to compare with: the paper's first approach and its BinarySearch.

Entry points: `newton` and `bisect`. Both take one full kernel pass for each bandwidth they look at, and both assume
that points, once they move, keep moving as the bandwidth grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.partition import Partition
from offgrid.kernels import KernelOnData
from offgrid.looks import Report, ignore
from offgrid.proximity import Evaluation, evaluate

# The paper's BinarySearch: absolute precision and upper limit of the bandwidth.
BISECTION_PRECISION = 1e-3
BISECTION_LIMIT = 1e6
# Newton's bracket: doublings of the bandwidth before it is given up.
_MAX_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class Seen:
    """A point moves at `sigma` (``inf``: none was seen to), giving `labels`; none moved at `below`."""

    sigma: float
    below: float
    labels: NDArray[np.int64]


def newton(
    kernel: KernelOnData, partition: Partition, start: Evaluation, *, rtol: float, limit: float = math.inf,
    report: Report = ignore,
) -> Seen:  # fmt: skip
    """Find a root of the smallest margin by Newton's method in sigma, kept inside a bracket.

    The margin is g(x, sigma) of the paper's section 5 for the point and the cluster where it is smallest, its
    derivative the paper's. The bracket is found by doubling the bandwidth.
    """
    low = high = kernel.sigma(start.t)
    evaluation = start
    for _ in range(_MAX_DOUBLINGS):
        if high >= limit:
            return Seen(math.inf, limit, partition.labels)
        low, high = high, min(2.0 * high, limit)
        evaluation = evaluate(kernel.pairs, partition, kernel.t(high))
        labels = evaluation.stepped(partition)
        moved = not np.array_equal(labels, partition.labels)
        report(evaluation.t, kernel.pairs.n, kernel.t(low if moved else high))
        if moved:
            break
    else:
        return Seen(math.inf, high, partition.labels)
    while high - low > rtol * low:
        margin, slope = _smallest_margin(evaluation, partition)
        at = kernel.sigma(evaluation.t)
        # dg / dsigma = -dg / dt * t / sigma where t = 1 / sigma, dg / dt * t / sigma where t = -sigma
        step = margin * at / (slope * evaluation.t) if slope != 0.0 else math.nan
        root = at - step if kernel.sharpens else at + step
        # just past the root, and never nearer to an end than a hundredth of the bracket or the precision asked for
        edge = min(0.01 * (high - low), 0.4 * rtol * low)
        sigma = root + edge if root + edge < high else root
        if not low + edge <= sigma <= high - edge:
            sigma = 0.5 * (low + high)
        evaluation = evaluate(kernel.pairs, partition, kernel.t(sigma))
        stepped = evaluation.stepped(partition)
        if np.array_equal(stepped, partition.labels):
            low = sigma
        else:
            high, labels = sigma, stepped
        report(kernel.t(sigma), kernel.pairs.n, kernel.t(low))
    return Seen(high, low, labels)


def _smallest_margin(evaluation: Evaluation, partition: Partition) -> tuple[float, float]:
    """Return the smallest margin (own proximity minus another's) of any row, and its t-derivative."""
    everyone, own, inverse = np.arange(len(evaluation.sums)), partition.labels, partition.inverse_sizes
    values = evaluation.proximities(partition)
    slopes = 2.0 * evaluation.slopes * inverse - evaluation.self_slopes * inverse**2
    margins = values[everyone, own][:, None] - values
    margins[everyone, own] = np.inf
    row, cluster = np.unravel_index(margins.argmin(), margins.shape)
    return float(margins[row, cluster]), float(slopes[row, own[row]] - slopes[row, cluster])


def bisect(
    kernel: KernelOnData, partition: Partition, start: Evaluation, *, limit: float = math.inf, report: Report = ignore
) -> Seen:
    """Halve the interval from the bandwidth of `start` to 1e6 until it is narrower than 1e-3, or than rounding."""
    low, high = kernel.sigma(start.t), min(BISECTION_LIMIT, limit)
    if high <= low:
        return Seen(math.inf, low, partition.labels)
    labels = evaluate(kernel.pairs, partition, kernel.t(high)).stepped(partition)
    quiet = np.array_equal(labels, partition.labels)
    report(kernel.t(high), kernel.pairs.n, kernel.t(high if quiet else low))
    if quiet:
        return Seen(math.inf, high, partition.labels)
    while high - low > max(BISECTION_PRECISION, 4.0 * np.spacing(high)):
        sigma = 0.5 * (low + high)
        stepped = evaluate(kernel.pairs, partition, kernel.t(sigma)).stepped(partition)
        if np.array_equal(stepped, partition.labels):
            low = sigma
        else:
            high, labels = sigma, stepped
        report(kernel.t(sigma), kernel.pairs.n, kernel.t(low))
    return Seen(high, low, labels)
