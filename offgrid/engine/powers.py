"""Powers of a kernel matrix by square roots and products, in place: the arithmetic of the paper's Algorithm 2.

Entry point: `PowerOfKernel`. A round takes each kernel value once from memory: root, product and the sums of clusters
in one go. The matrix is symmetric, so only pairs i < j in cluster order are kept. Memory: the power and the root,
n (n - 1) float64 together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.compiling import exact, fast
from offgrid.engine.exponential import exponential
from offgrid.engine.pairs import Pairs, column_buffers, equal_work
from offgrid.engine.partition import Partition
from offgrid.engine.sums import BLOCK, add_columns, fill, triangle_start
from offgrid.engine.threads import over_chunks

_Floats = NDArray[np.float64]
# Kernel values that start below exp of this have lost digits to underflow, which no root brings back. Down to exponents
# of `_MEND_BELOW` they are too small to count all the same; below it they are worked out anew.
_UNDERFLOW = -690.0
_MEND_BELOW = 0.07


@fast
def _powers_of_e(exponents: Any, t: float, out: Any) -> None:
    for j in range(exponents.shape[0]):
        out[j] = exponential(t * exponents[j])


@exact
def _count_under(exponents: Any, t: float, level: float) -> int:
    count = 0
    for j in range(exponents.shape[0]):
        count += t * exponents[j] < level
    return count


@exact
def _exponentiate(layout: Any, t: float, power: Any, root: Any, underflows: Any, first: int, last: int) -> None:
    """Set the rows' pairs to exp(t L), and note which rows have values that underflow."""
    n = layout.order.shape[0]
    exponents = np.empty(BLOCK)
    for i in range(first, last):
        start = triangle_start(i, n)
        low = 0
        for begin in range(i + 1, n, BLOCK):
            end = min(begin + BLOCK, n)
            fill(layout, layout.order[i], begin, end, exponents)
            _powers_of_e(exponents[: end - begin], t, power[start + begin : start + end])
            root[start + begin : start + end] = power[start + begin : start + end]
            low += _count_under(exponents[: end - begin], t, _UNDERFLOW)
        underflows[i] = low > 0


@exact
def _mend(layout: Any, t: float, exponent: float, unit: float, power: Any, root: Any, i: int) -> None:
    """Work out anew what has underflowed in a row: `power` at an exponent, `root` at a unit."""
    n = layout.order.shape[0]
    exponents = np.empty(BLOCK)
    start = triangle_start(i, n)
    for begin in range(i + 1, n, BLOCK):
        end = min(begin + BLOCK, n)
        fill(layout, layout.order[i], begin, end, exponents)
        for j in range(end - begin):
            if t * exponents[j] < _UNDERFLOW:
                power[start + begin + j] = exponential(t * exponent * exponents[j])
                root[start + begin + j] = exponential(t * unit * exponents[j])


@fast
def _multiply(power: Any, root: Any, column_sums: Any) -> float:
    """Take the roots, multiply by them, add the products to their columns' sums and return the sum of all."""
    total = 0.0
    for j in range(power.shape[0]):
        value = np.sqrt(root[j])
        root[j] = value
        value *= power[j]
        power[j] = value
        column_sums[j] += value
        total += value
    return total


@fast
def _divide(power: Any, root: Any, column_sums: Any) -> float:
    """Take the roots, divide by them, add the quotients to their columns' sums and return the sum of all."""
    total = 0.0
    for j in range(power.shape[0]):
        value = np.sqrt(root[j])
        root[j] = value
        value = power[j] / value
        power[j] = value
        column_sums[j] += value
        total += value
    return total


@exact
def _round(
    layout: Any, divide: bool, power: Any, root: Any, checked: Any, positions: Any, sums: Any, column_sums: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """Do one round for rows first..last-1 of the order and the columns after them.

    `sums`, (n, k), get what a pair gives to its row, `column_sums` what it gives to its column, as in `symmetric_sums`.
    A row that is not `checked` keeps up its own cluster, for the self-sum, and the columns that are: at `positions`.
    """
    n = layout.order.shape[0]
    lowest = layout.labels[layout.order[first]]
    for i in range(first, last):
        row = layout.order[i]
        own = layout.labels[row]
        start = triangle_start(i, n)
        end = n if checked[row] else layout.offsets[own + 1]
        cluster, at = own, i + 1
        while at < end:
            while layout.offsets[cluster + 1] <= at:
                cluster += 1
            stop = min(layout.offsets[cluster + 1], end)
            some_power, some_root = power[start + at : start + stop], root[start + at : start + stop]
            to_columns = column_sums[own - lowest, at - first : stop - first]
            if divide:
                sums[row, cluster] += _divide(some_power, some_root, to_columns)
            else:
                sums[row, cluster] += _multiply(some_power, some_root, to_columns)
            at = stop
        for p in range(np.searchsorted(positions, end), positions.shape[0]):
            j = start + positions[p]
            root[j] = np.sqrt(root[j])
            power[j] = power[j] / root[j] if divide else power[j] * root[j]
            column_sums[own - lowest, positions[p] - first] += power[j]


class PowerOfKernel:
    """The kernel matrix at t, raised to a dyadic power n / d that each round brings closer to what is looked for.

    Attributes
    ----------
    numerator, denominator : int
        The present exponent, 1 / 1 at first.
    entries : int
        Kernel entries worked on so far.
    """

    def __init__(self, pairs: Pairs, partition: Partition, t: float) -> None:
        n = pairs.n
        self._layout, self._partition, self._t = pairs.layout(partition), partition, t
        self._edges = equal_work(n)
        self._power, self._root = np.empty((2, n * (n - 1) // 2))
        self._diagonal = t * pairs.diagonal
        self._underflows = np.empty(n, dtype=np.bool_)
        self._over_chunks(self._exponentiate)
        self.numerator = self.denominator = 1
        self.entries = n * (n - 1) // 2

    def _over_chunks(self, work: Callable[[int], None]) -> None:
        def work_on(chunk: int, end: int) -> None:
            for c in range(chunk, end):
                work(c)

        over_chunks(work_on, len(self._edges) - 1)

    def _exponentiate(self, chunk: int) -> None:
        first, last = self._edges[chunk : chunk + 2]
        _exponentiate(self._layout, self._t, self._power, self._root, self._underflows, first, last)

    def refine(self, *, moved: bool, checked: NDArray[np.bool_]) -> _Floats:
        """Halve the unit, take it off the exponent or, if the last query moved a point, add it; return the new sums.

        Parameters
        ----------
        moved : bool
        checked : ndarray of bool, shape (n,)
            Rows whose sums to all clusters are wanted. A row left out once must stay out.

        Returns
        -------
        ndarray of float64, shape (n, k)
            Sums of the power over each cluster; for rows not checked only their own cluster's are all there.
        """
        before, unit_before = self.numerator / self.denominator, 1.0 / self.denominator
        self.denominator *= 2
        self.numerator = 2 * self.numerator + (1 if moved else -1)
        fraction = self.numerator / self.denominator
        partition, n = self._partition, len(checked)
        sums = np.zeros((n, partition.n_clusters))
        columns = column_buffers(partition, self._edges, 1)
        positions = np.flatnonzero(checked[partition.order])

        def work(chunk: int) -> None:
            first, last = self._edges[chunk : chunk + 2]
            if fraction < _MEND_BELOW:
                for i in first + np.flatnonzero(self._underflows[first:last]):
                    _mend(self._layout, self._t, before, unit_before, self._power, self._root, int(i))
            _round(
                self._layout, not moved, self._power, self._root, checked, positions, sums, columns[chunk][0],
                first, last,
            )  # fmt: skip

        self._over_chunks(work)
        for first, buffers in zip(self._edges, columns, strict=False):
            add_columns(self._layout, first, buffers[0], sums)
        sums[np.arange(n), partition.labels] += np.exp(fraction * self._diagonal)
        self.entries += int(np.where(checked, n, partition.sizes[partition.labels]).sum()) // 2
        return sums
