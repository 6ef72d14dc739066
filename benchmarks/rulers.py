"""The plain NumPy to compare with, as a careful user would write it from the paper.

Everything is vectorised; cluster sums are products of the kernel matrix with one-hot columns, which the linear algebra
library does on all cores; matrices that can be are updated in place. Entry points: `squared_distances`, `kernel`,
`step`, `kernel_kmeans`, `algorithm_2`, `bisection`, `neighbour_order`, `nearest_neighbour_cost`, `locally_scaled`,
`leading_vectors`. Memory: n**2 float64
for the distances, as much for each of K and its root, and n**2 int64 for the neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# A point moves only if the other proximity is larger by more than this: the library's rule, so that both do the same.
TOLERANCE = 1e-12
# The paper's BinarySearch.
PRECISION, LIMIT = 1e-3, 1e6
# The neighbour whose distance is a point's own scale in self-tuning spectral clustering.
_SEVENTH = 7
# With more columns than this, one matrix product is faster than going column by column.
_FEW_COLUMNS = 16


def squared_distances(X: Floats) -> Floats:
    """Return ||x - y||**2 between the rows of X (n, d), shape (n, n)."""
    if X.shape[1] <= _FEW_COLUMNS:
        squares = np.zeros((len(X), len(X)))
        for column in X.T:
            difference = np.subtract.outer(column, column)
            squares += np.square(difference, out=difference)
        return squares
    norms = np.einsum("ij,ij->i", X, X)
    squares = X @ X.T
    squares *= -2.0
    squares += norms[:, None]
    squares += norms[None, :]
    np.maximum(squares, 0.0, out=squares)
    np.fill_diagonal(squares, 0.0)
    return squares


def kernel(squares: Floats, sigma: float, out: Floats | None = None) -> Floats:
    """Return exp(-squares / sigma), in `out` if given."""
    K = np.multiply(squares, -1.0 / sigma, out=out)
    return np.exp(K, out=K)


def one_hot(labels: Labels, k: int) -> Floats:
    """Return the matrix (n, k) with a 1 where a row belongs to a cluster."""
    Z = np.zeros((len(labels), k))
    Z[np.arange(len(labels)), labels] = 1.0
    return Z


def step(K: Floats, labels: Labels, Z: Floats) -> Labels:
    """Return the labels after one assignment step; Z is `one_hot` of the labels. Equation 4 of the paper."""
    S = K @ Z
    sizes = Z.sum(axis=0)
    inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    proximities = 2.0 * S * inverse - np.einsum("ij,ij->j", Z, S) * inverse**2
    everyone = np.arange(len(labels))
    best = proximities.argmax(axis=1)
    moves = proximities[everyone, best] - proximities[everyone, labels] > TOLERANCE
    return np.where(moves, best, labels)


def kernel_kmeans(K: Floats, labels: Labels, k: int, max_iter: int = 300) -> tuple[Labels, int]:
    """Reassign all points until none moves; return the labels and how many steps moved one."""
    for iteration in range(max_iter):
        stepped = step(K, labels, one_hot(labels, k))
        if np.array_equal(stepped, labels):
            return labels, iteration
        labels = stepped
    return labels, max_iter


@dataclass(frozen=True)
class Exponent:
    """Of the smallest bandwidth that was seen to move a point, if `changed`, else of the largest one looked at."""

    numerator: int
    denominator: int
    changed: bool


def algorithm_2(K: Floats, labels: Labels, k: int, depth: int, root: Floats | None = None) -> Exponent:
    """Find the critical exponent by square roots, products and quotients of the kernel matrix.

    Parameters
    ----------
    K : ndarray, shape (n, n)
        The kernel at which the partition has converged; overwritten.
    labels : ndarray of int64, shape (n,)
    k, depth : int
    root : ndarray, shape (n, n), optional
        Memory to work in.
    """
    root = np.empty_like(K) if root is None else root
    np.copyto(root, K)
    # a kernel value that underflowed stays 0, as every power of it: 0 / 1 where 0 / 0 would not be a number
    root[root == 0.0] = 1.0
    Z = one_hot(labels, k)
    numerator = denominator = 1
    moved, best = False, None
    for _ in range(depth):
        np.sqrt(root, out=root)
        denominator *= 2
        if moved:
            numerator = 2 * numerator + 1
            np.multiply(K, root, out=K)
        else:
            numerator = 2 * numerator - 1
            np.divide(K, root, out=K)
        moved = not np.array_equal(step(K, labels, Z), labels)
        if moved:
            # once points have moved, exponents stay above that one: the last to move a point is the largest
            best = Exponent(numerator, denominator, changed=True)
    return best or Exponent(numerator, denominator, changed=False)


def bisection(squares: Floats, labels: Labels, k: int, sigma: float) -> float:
    """Return a bandwidth at which a point moves, within 1e-3 of one at which none does; ``inf`` if none up to 1e6."""
    Z = one_hot(labels, k)
    K = np.empty_like(squares)

    def moves(at: float) -> bool:
        return not np.array_equal(step(kernel(squares, at, K), labels, Z), labels)

    low, high = sigma, LIMIT
    if not moves(high):
        return math.inf
    while high - low > PRECISION:
        middle = 0.5 * (low + high)
        if moves(middle):
            high = middle
        else:
            low = middle
    return high


def neighbour_order(squares: Floats) -> Labels:
    """Return each row's neighbours from the nearest on, the row itself left out, shape (n, n - 1)."""
    keys = squares.copy()
    np.fill_diagonal(keys, -1.0)
    return np.argsort(keys, axis=1, kind="stable")[:, 1:]


def nearest_neighbour_cost(order: Labels, labels: Labels, k: int) -> float:
    """Return c-NNC (section 7 of the paper) from the neighbours in order: compare, cumulate, weigh."""
    n = len(labels)
    different = np.take(labels, order) != labels[:, None]
    shares = np.cumsum(different, axis=1, dtype=np.int32) @ (1.0 / np.arange(1, n) ** 2)
    costs = shares / (np.log(n - 1) + np.euler_gamma + 1.0 / (2 * n - 2))
    sizes = np.bincount(labels, minlength=k)
    means = np.bincount(labels, weights=costs, minlength=k) / np.maximum(sizes, 1)
    return float(np.where(sizes > 0, means, 1.0).mean())


def locally_scaled(squares: Floats) -> Floats:
    """Return exp(-||x - y||**2 / (s_x s_y)), s the distance to the 7th neighbour; the diagonal is 0.

    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    scales = np.sqrt(np.sort(squares, axis=1)[:, min(_SEVENTH, len(squares) - 1)])
    # more than seven equal rows: the smallest scale that there is
    scales = np.maximum(scales, scales[scales > 0].min(initial=np.inf))
    affinities = np.exp(-squares / np.outer(scales, scales))
    np.fill_diagonal(affinities, 0.0)
    return affinities


def leading_vectors(affinities: Floats, k: int) -> Floats:
    """Return the rows of the k leading eigenvectors of D^-1/2 A D^-1/2, each of length 1 (Ng, Jordan and Weiss)."""
    n = len(affinities)
    scale = 1.0 / np.sqrt(np.maximum(affinities.sum(axis=1), 1e-12))
    vectors = eigh(affinities * scale[:, None] * scale, subset_by_index=[n - k, n - 1])[1]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
