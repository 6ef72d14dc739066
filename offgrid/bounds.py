"""The zone in which a bandwidth is useless (paper, Theorem 1).

Entry point: `bandwidth_lower_bound`.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from offgrid.engine.neighbours import closest_pair
from offgrid.errors import InputError
from offgrid.kernels import RBF, KernelOnData
from offgrid.validation import check_points


def bandwidth_lower_bound(X: ArrayLike) -> float:
    """Return the bandwidth up to which kernel k-means with the RBF kernel moves no point, whatever the partition.

    It is min ||x - y||**2 / log(3 n), the minimum over the pairs of rows (paper, Theorem 1). Time O(n**2 d), memory
    O(n d).

    Parameters
    ----------
    X : array-like of shape (n, d), n >= 2

    Returns
    -------
    float
        In squared units of the data.

    Raises
    ------
    InputError
        Where two rows are equal: their distance is 0, and the theorem says nothing. So do rows so close, relative to
        the spread of the data, that their squared distance vanishes in double precision.

    Examples
    --------
    >>> round(bandwidth_lower_bound([[0.0], [3.0], [5.0]]), 4)
    1.8205
    """
    return lower_bound_on(RBF().on(check_points(X, minimum=2)))


def lower_bound_on(kernel: KernelOnData) -> float:
    """Return the same for an RBF kernel that is bound to data."""
    squared, first, second = closest_pair(kernel.pairs)
    if squared == 0.0:
        equal = bool((kernel.pairs.points[first] == kernel.pairs.points[second]).all())
        what = "equal" if equal else "too close for double precision"
        raise InputError(f"no bound: rows {first} and {second} are {what}.")
    return kernel.unit * squared / math.log(3 * kernel.pairs.n)
