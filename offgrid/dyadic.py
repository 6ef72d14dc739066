"""The paper's Algorithm 2: the critical value as a dyadic power of the kernel matrix.

Entry point: `find`. The exponent n / d starts at 1 / 1; each round doubles both and takes 1 off n, or adds 1
if the last query moved a point; a query is one assignment step with the kernel to that power. (As printed, the
paper's listing has that test the wrong way round.) It assumes that points, once they move, keep
moving as the bandwidth grows.

That is for a kernel that flattens as its parameter grows. For one that sharpens, as a polynomial kernel does with its
degree, the same is done above the start: exponents lie between 1 and 2, as halves of those of the squared kernel.

Limiting checks (paper, section 6): ``"close"`` looks only at the tenth of the points whose two best proximities are
closest, ``"movers"`` only at those that moved in the first query that moved any. What they left out is looked at once
more in the end: if a point of theirs moves where the queries saw none, the search is done again in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from offgrid.engine import assignment
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.engine.powers import PowerOfKernel
from offgrid.looks import Report, ignore
from offgrid.proximity import Evaluation, evaluate

# Share of the points that "close" looks at.
_CLOSE = 0.1


@dataclass(frozen=True, eq=False)
class Found:
    """The exponent found and the labels after one step with it.

    `numerator / denominator` belongs to the smallest bandwidth seen to move a point, or, if none was (`changed` is
    False), to the largest bandwidth looked at. `quiet_numerator / quiet_denominator` belongs to the largest bandwidth
    under it that was seen quiet; 1 / 1 is the start.
    """

    numerator: int
    denominator: int
    quiet_numerator: int
    quiet_denominator: int
    labels: NDArray[np.int64]
    changed: bool
    checked: float


def find(
    pairs: Pairs, partition: Partition, start: Evaluation, *, depth: int, limiting: str | None, sharper: bool = False,
    report: Report = ignore,
) -> Found:  # fmt: skip
    """Run Algorithm 2 for `depth` rounds from the t of `start`, at which kernel k-means has converged.

    `sharper` looks at powers above 1. `report` is called after each query.
    """
    checked = np.ones(pairs.n, dtype=bool)
    if limiting == "close":
        checked = _close_rows(start, partition)
    search = partial(_search, pairs, partition, start.t, depth, sharper=sharper, report=report)
    found = search(checked, follow=limiting == "movers")
    if limiting is not None and not _verified(pairs, partition, start.t, found):
        return search(np.ones(pairs.n, dtype=bool), follow=False)
    return found


def _search(
    pairs: Pairs, partition: Partition, t: float, depth: int, checked: NDArray[np.bool_], *, follow: bool,
    sharper: bool, report: Report,
) -> Found:  # fmt: skip
    kernel = PowerOfKernel(pairs, partition, 2.0 * t if sharper else t)
    if sharper:
        # back to the start, from where exponents grow
        kernel.refine(moved=False, checked=checked)
    moving: list[tuple[int, int]] = []
    quiet = [(1, 1)]
    labels, moved, looked_at = partition.labels, False, 0
    entries = pairs.entries
    for _ in range(depth):
        looked_at += int(checked.sum())
        stepped = _query(kernel.refine(moved=moved != sharper, checked=checked), partition, checked)
        moved = not np.array_equal(stepped, partition.labels)
        exponent = (kernel.numerator, kernel.denominator // 2 if sharper else kernel.denominator)
        (moving if moved else quiet).append(exponent)
        if moved:
            # after that exponents stay on the start's side of it: the last to move a point is nearest
            labels = stepped
            if follow:
                checked, follow = stepped != partition.labels, False
        pairs.entries = entries + kernel.entries
        # exponents after a quiet one stay on its far side: the last is the nearest to what is looked for
        report(t * exponent[0] / exponent[1], int(checked.sum()), t * quiet[-1][0] / quiet[-1][1])
    best = moving[-1] if moving else quiet[-1]
    # of the quiet exponents on the start's side of it the nearest
    side = -1 if sharper else 1
    before = [e for e in quiet if side * Fraction(*e) > side * Fraction(*best)]
    under = min(before, key=lambda e: side * Fraction(*e)) if moving else best
    return Found(*best, *under, labels, bool(moving), looked_at / (depth * pairs.n))


def _query(sums: NDArray[np.float64], partition: Partition, checked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return all labels after one assignment step of the checked rows, from the sums of the powered kernel."""
    own = partition.labels
    self_sums = assignment.self_sums(sums, own)
    stepped = assignment.step(sums, self_sums, partition.inverse_sizes, own)
    return np.where(checked, stepped, own)


def _close_rows(start: Evaluation, partition: Partition) -> NDArray[np.bool_]:
    """Return the tenth of the rows whose two best proximities are closest."""
    proximities = np.sort(start.proximities(partition), axis=1)
    if proximities.shape[1] == 1:
        return np.ones(len(proximities), dtype=bool)
    gap = proximities[:, -1] - proximities[:, -2]
    return gap <= np.quantile(gap, _CLOSE)


def _verified(pairs: Pairs, partition: Partition, t: float, found: Found) -> bool:
    """Return whether no point moves at the largest bandwidth that the restricted queries took for quiet."""
    exponent = found.quiet_numerator / found.quiet_denominator if found.changed else found.numerator / found.denominator
    evaluation = evaluate(pairs, partition, t * exponent)
    return np.array_equal(evaluation.stepped(partition), partition.labels)
