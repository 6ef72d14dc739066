"""What the compiled functions know of a data set and a partition.

Entry point: `Layout`, made by `Pairs.layout`. It holds references, no copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Layout(NamedTuple):
    """The exponents L, stored or to be computed, and columns sorted by cluster.

    Attributes
    ----------
    stored : bool
        Whether `matrix` holds L; else it is computed from `points` and `features`.
    manhattan : bool
        Whether that is -||x - y||_1, not -||x - y||**2.
    matrix : ndarray of float64, shape (n, n)
    points : ndarray of float64, shape (n, d)
    features : ndarray of float64, shape (d, m)
        The columns' points, in the order of `order`, a feature a row.
    order : ndarray of int64, shape (m,)
        Columns sorted by cluster.
    offsets : ndarray of int64, shape (k + 1,)
        Cluster i has the columns ``order[offsets[i]:offsets[i + 1]]``.
    labels : ndarray of int64, shape (n,)
    """

    stored: bool
    manhattan: bool
    matrix: NDArray[np.float64]
    points: NDArray[np.float64]
    features: NDArray[np.float64]
    order: NDArray[np.int64]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]
