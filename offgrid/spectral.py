"""The spectral relaxation of the normalised cut: from a kernel matrix to points that ordinary k-means can cluster.

Entry points: `embedding` and `spectral_labels`. Memory: one more matrix of the kernel matrix's size, and O(n k).
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# Rows up to which LAPACK works out the eigenvectors at once; beyond, Lanczos with a factorisation is faster.
_AT_ONCE = 500
# A row whose kernel values to all others add up to less than this is joined to none of them.
_ISOLATED = 1e-12
# How far above 1, the largest eigenvalue there can be, the matrix is inverted. Eigenvalues next to 1 belong to clusters
# that hardly touch.
_SHIFT = 1e-6
# Relative precision of the inverse's eigenvalues, enough for k-means; rounds of Lanczos, of which a few are needed.
_PRECISION, _ROUNDS = 1e-3, 100
# So an eigenvalue this close to 1 can't be told from 1.
_ONE = _SHIFT * _PRECISION


def embedding(K: Floats, n_vectors: int, rng: np.random.RandomState) -> Floats | None:
    """Return the rows of the leading eigenvectors of D^-1/2 K D^-1/2, each row scaled to length 1.

    Minimising the normalised cut over partitions into k clusters (Shi and Malik 2000) is hard; over matrices with
    orthogonal columns, of which partitions are a special case, the k leading eigenvectors minimise it. D has the row
    sums of K on its diagonal.

    Parameters
    ----------
    K : ndarray of float64, shape (n, n)
        Symmetric, no entry negative, the diagonal 0: a point's similarity to itself only blurs the others (Ng, Jordan
        and Weiss 2001, step 1).
    n_vectors : int
        From 1 to n.
    rng : RandomState
        Draws the vector that Lanczos starts from.

    Returns
    -------
    ndarray of float64, shape (n, n_vectors), or None
        None where more eigenvalues than `n_vectors` can't be told from 1: the data fall into more unconnected pieces
        than clusters, and which pieces go together would be arbitrary. None, too, where Lanczos does not converge.

    Notes
    -----
    Clusters that hardly touch have eigenvalues close to 1 and to each other, such as long arms of many points. Lanczos
    on the matrix itself mixes them. So beyond `_AT_ONCE` rows it works on the inverse of (1 + `_SHIFT`) I - D^-1/2 K
    D^-1/2, whose Cholesky factor takes n**3 / 3 multiplications, and where they lie far apart.
    """
    n = len(K)
    scale = 1.0 / np.sqrt(np.maximum(K.sum(axis=1), _ISOLATED))
    matrix = K * scale[:, None]
    matrix *= scale
    # the next one says whether those asked for stand out
    count = min(n_vectors + 1, n)
    if n <= _AT_ONCE or count >= n // 2:
        values, vectors = eigh(matrix, subset_by_index=[n - count, n - 1], overwrite_a=True, check_finite=False)
    else:
        found = _by_lanczos(matrix, count, rng)
        if found is None:
            return None
        values, vectors = found
    if count > n_vectors and values[0] > 1.0 - _ONE:
        return None
    vectors = vectors[:, count - n_vectors :]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _ISOLATED)


def _by_lanczos(matrix: Floats, n_vectors: int, rng: np.random.RandomState) -> tuple[Floats, Floats] | None:
    """Return the leading eigenvalues, increasing, and eigenvectors; None where they do not converge.

    The matrix is overwritten.
    """
    n = len(matrix)
    np.negative(matrix, out=matrix)
    matrix.flat[:: n + 1] += 1.0 + _SHIFT
    # symmetric, so that its transpose is itself in the order that LAPACK overwrites
    factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    inverse = LinearOperator((n, n), matvec=lambda x: lapack.dpotrs(factor, x.ravel(), lower=1)[0], dtype=np.float64)
    options = {}
    if "rng" in inspect.signature(eigsh).parameters:
        # from 1.17 on SciPy draws the vectors to start anew from, where it has to, from a generator that can be given
        options["rng"] = np.random.default_rng(rng.randint(2**31))
    basis = min(n - 1, max(2 * n_vectors + 1, 20))
    start = rng.uniform(size=n)
    try:
        inverted, vectors = eigsh(
            inverse, n_vectors, which="LA", tol=_PRECISION, v0=start, ncv=basis, maxiter=_ROUNDS, **options
        )
    except ArpackNoConvergence:
        return None
    order = np.argsort(inverted)
    return 1.0 + _SHIFT - 1.0 / inverted[order], vectors[:, order]


def kmeans_labels(points: Floats, n_clusters: int, n_init: int, rng: np.random.RandomState) -> Labels:
    """Return the labels of scikit-learn's k-means, of several starts those of lowest cost."""
    with warnings.catch_warnings():
        # fewer distinct points than clusters: some clusters stay empty, which is no fault of anyone
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(points).labels_
    return labels.astype(np.int64)


def spectral_labels(K: Floats, n_clusters: int, n_init: int, rng: np.random.RandomState) -> Labels | None:
    """Return the spectral clustering of a kernel matrix with diagonal 0 (Ng, Jordan and Weiss 2001), see `embedding`.

    References
    ----------
    J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Trans. PAMI 22(8), 2000.
    A. Ng, M. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS 2001.
    """
    rows = embedding(K, n_clusters, rng)
    return None if rows is None else kmeans_labels(rows, n_clusters, n_init, rng)
