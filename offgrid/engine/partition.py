"""A partition laid out for the kernels: rows sorted by cluster.

Entry point: `Partition(labels, n_clusters)`. Memory: three int64 arrays of length n and two of length k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.assignment import sorted_by_cluster


class Partition:
    """Labels with the order that puts each cluster's rows side by side.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
    order : ndarray of int64, shape (n,)
        Rows sorted by cluster, then by index.
    offsets : ndarray of int64, shape (k + 1,)
        Cluster i is ``order[offsets[i]:offsets[i + 1]]``.
    inverse_sizes : ndarray of float64, shape (k,)
        1 / n_i, and 0 for an empty cluster: its centroid is the origin, its proximity 0.
    """

    def __init__(self, labels: NDArray[np.integer], n_clusters: int) -> None:
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.n_clusters = n_clusters
        self.order, self.offsets = sorted_by_cluster(self.labels, n_clusters)
        self.sizes = np.diff(self.offsets)
        self.inverse_sizes = np.divide(1.0, self.sizes, out=np.zeros(n_clusters), where=self.sizes > 0)
