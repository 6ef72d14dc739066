"""Powers of a kernel matrix by square roots and products, in place: the arithmetic of the paper's Algorithm 2.

Entry point: `PowerOfKernel`. Memory: the matrix and its current root, 2 n**2 float64, beside the exponents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from offgrid.engine.exponential import exponential
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.engine.threads import over_rows

# Entries that start below exp of this have lost digits to underflow; no root brings them back.
_UNDERFLOW = -690.0


@njit(nogil=True, cache=True, fastmath=False)
def _exponentiate(exponents: Any, t: float, out: Any, first: int, last: int) -> None:
    """Fill ``out[first:last]`` with exp(t L)."""
    for i in range(first, last):
        for j in range(exponents.shape[1]):
            out[i, j] = exponential(t * exponents[i, j])


@njit(nogil=True, cache=True, fastmath=False)
def _root_and_multiply(power: Any, root: Any, divide: bool) -> None:
    """Replace each entry of `root` by its square root, and multiply or divide `power` by that."""
    for j in range(root.shape[0]):
        root[j] = np.sqrt(root[j])
    if divide:
        for j in range(root.shape[0]):
            power[j] /= root[j]
    else:
        for j in range(root.shape[0]):
            power[j] *= root[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _round(
    exponents: Any, t: float, fraction: float, unit: float, power: Any, root: Any, divide: bool,
    order: Any, offsets: Any, labels: Any, checked: Any, sums: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Do one round for rows in cluster order, and fill ``sums[first:last]``: (n, k), by row in that order.

    `power` becomes exp(t L)**fraction and `root` exp(t L)**unit. A row that is not `checked` only keeps up the
    columns of its own cluster, for the self-sum. Columns are in cluster order too, so a cluster is a slice.
    """
    for i in range(first, last):
        row = order[i]
        own = labels[row]
        begin, end = offsets[own], offsets[own + 1]
        if checked[row]:
            begin, end = 0, power.shape[1]
        _root_and_multiply(power[i, begin:end], root[i, begin:end], divide)
        for j in range(begin, end):
            if t * exponents[i, j] < _UNDERFLOW:
                power[i, j] = exponential(t * fraction * exponents[i, j])
                root[i, j] = exponential(t * unit * exponents[i, j])
        for cluster in range(sums.shape[1]):
            total = 0.0
            for j in range(max(begin, offsets[cluster]), min(end, offsets[cluster + 1])):
                total += power[i, j]
            sums[i, cluster] = total


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
        self._partition, self._t = partition, t
        order = partition.order
        # rows and columns in cluster order: a cluster's sum is then a sum over neighbours in memory
        self._exponents = np.ascontiguousarray(pairs.exponents()[np.ix_(order, order)])
        self._power = np.empty_like(self._exponents)
        over_rows(self._start, pairs.n, pairs.n**2)
        self._root = self._power.copy()
        self.numerator = self.denominator = 1
        self.entries = pairs.n**2

    def _start(self, first: int, last: int) -> None:
        _exponentiate(self._exponents, self._t, self._power, first, last)

    def refine(self, *, moved: bool, checked: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Halve the unit, take it off the exponent or, if the last query moved a point, add it; return the new sums.

        Parameters
        ----------
        moved : bool
        checked : ndarray of bool, shape (n,)
            Rows whose sums to all clusters are wanted. A row left out once must stay out.

        Returns
        -------
        ndarray of float64, shape (n, k)
            Sums of the power over each cluster; for rows not checked only their own cluster's.
        """
        self.denominator *= 2
        self.numerator = 2 * self.numerator + (1 if moved else -1)
        fraction, unit = self.numerator / self.denominator, 1.0 / self.denominator
        partition = self._partition
        sums = np.empty((len(partition.order), partition.n_clusters))

        def work(first: int, last: int) -> None:
            _round(
                self._exponents, self._t, fraction, unit, self._power, self._root, not moved,
                partition.order, partition.offsets, partition.labels, checked, sums, first, last,
            )  # fmt: skip

        over_rows(work, len(sums), sums.shape[0] ** 2)
        own = partition.sizes[partition.labels]
        self.entries += int(np.where(checked, len(sums), own).sum())
        by_row = np.empty_like(sums)
        by_row[partition.order] = sums
        return by_row
