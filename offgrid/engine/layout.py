"""What the compiled functions know of a data set and a partition.

Entry points: `Layout`, made by `Pairs.layout`, and how L may be held. It holds references, no copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COMPUTED, SQUARE, TRIANGLE = 0, 1, 2


class Layout(NamedTuple):
    """The exponents L, stored or to be computed, and columns sorted by cluster.

    Attributes
    ----------
    held : int
        How L is at hand: `COMPUTED` from `points` and `features`, or in `matrix`, as a `SQUARE` or, in half the memory,
        as the `TRIANGLE` of pairs i < j, row by row; its diagonal is 0. The triangle is for -||x - y||**2 only.
    manhattan : bool
        Whether L is -||x - y||_1, not -||x - y||**2, where it is computed.
    matrix : ndarray of float64, shape (n, n), or (1, n (n - 1) / 2)
    points : ndarray of float64, shape (n, d)
    features : ndarray of float64, shape (d, m)
        The columns' points, in the order of `order`, a feature a row.
    order : ndarray of int64, shape (m,)
        Columns sorted by cluster.
    offsets : ndarray of int64, shape (k + 1,)
        Cluster i has the columns ``order[offsets[i]:offsets[i + 1]]``.
    labels : ndarray of int64, shape (n,)
    """

    held: int
    manhattan: bool
    matrix: NDArray[np.float64]
    points: NDArray[np.float64]
    features: NDArray[np.float64]
    order: NDArray[np.int64]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]
