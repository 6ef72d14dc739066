"""Weighted kernel k-means, whose weights decide what is minimised: with degrees, the normalised cut.

Entry point: `weighted_kernel_kmeans`. Memory: O(n k) beside the kernel matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# A point moves only if it comes nearer by more than this, relative to the largest proximity: `offgrid.lloyd`'s rule.
_TOLERANCE = 1e-12
_TINY = np.finfo(np.float64).tiny


def weighted_kernel_kmeans(
    K: Floats, weights: Floats, labels: Labels, n_clusters: int, *, max_iter: int = 300
) -> Labels:
    """Reassign all points at once to the nearest weighted centroid in feature space, until none moves.

    Points have weights w, and the kernel is W^-1 K W^-1 with W the diagonal matrix of weights. With w = 1 that is
    kernel k-means. With w the degrees, the row sums of K, the objective is the normalised cut of the graph that K
    describes, up to a constant (Dhillon, Guan and Kulis 2004). Why degrees: a cluster is then judged by the share of
    its points' similarity that stays inside, whether it is dense or sparse, and that is the very objective which the
    spectral start (`offgrid.spectral`) relaxes.

    Parameters
    ----------
    K : ndarray of float64, shape (n, n)
        Symmetric and positive semi-definite, as kernels are: the objective then never increases.
    weights : ndarray of float64, shape (n,)
        Above 0.
    labels : ndarray of int64, shape (n,)
        Where to start.
    n_clusters : int
    max_iter : int
        Steps at most.

    Returns
    -------
    ndarray of int64, shape (n,)
        Clusters may have become empty; the centroid of an empty one is the origin.

    Notes
    -----
    A step costs one product of K with a matrix (n, k), which the linear algebra library does.

    References
    ----------
    I. Dhillon, Y. Guan and B. Kulis, "Kernel k-means, spectral clustering and normalized cuts", KDD 2004.
    """
    everyone = np.arange(len(K))
    for _ in range(max_iter):
        proximities = _proximities(K, weights, labels, n_clusters)
        best = proximities.argmax(axis=1)
        gain = proximities[everyone, best] - proximities[everyone, labels]
        moves = gain > _TOLERANCE * np.abs(proximities).max()
        if not moves.any():
            break
        labels = np.where(moves, best, labels)
    return labels


def _proximities(K: Floats, weights: Floats, labels: Labels, n_clusters: int) -> Floats:
    """Return 2 <x, c> - <c, c> for each point and centroid, shape (n, k): the larger, the nearer."""
    Z = np.zeros((len(labels), n_clusters))
    Z[np.arange(len(labels)), labels] = 1.0  # whether a row belongs to a cluster
    sums = K @ Z
    volumes = np.maximum(weights @ Z, _TINY)
    # one after the other: the square of an empty cluster's volume would underflow
    norms = (Z * sums).sum(axis=0) / volumes / volumes
    return 2.0 * sums / (weights[:, None] * volumes) - norms
