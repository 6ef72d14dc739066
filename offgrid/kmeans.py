"""Kernel k-means as a scikit-learn estimator.

Entry point: `KernelKMeans`. Memory: O(n k) beside the pairs (see `offgrid.engine.pairs`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.errors import InputError
from offgrid.kernels import RBF, Kernel
from offgrid.lloyd import Converged, initial_labels, iterate
from offgrid.validation import check_count, check_n_clusters, check_points, check_positive


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What `predict` needs of a fit: later changes of the estimator's parameters do not reach it."""

    kernel: Kernel | str
    sigma: float
    points: NDArray[np.float64]
    partition: Partition
    self_sums: NDArray[np.float64]
    log_scale: float  # logarithm of the unit of the self-sums

    def nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cluster of largest proximity for each row."""
        matrix = points
        if isinstance(self.kernel, Kernel):
            matrix = np.exp(self.kernel.logarithms(points, self.points, self.sigma) - self.log_scale)
        members = [self.partition.labels == i for i in range(self.partition.n_clusters)]
        sums = np.stack([matrix[:, rows].sum(axis=1) for rows in members], axis=1)
        inverse = self.partition.inverse_sizes
        return (2.0 * sums * inverse - self.self_sums * inverse**2).argmax(axis=1)


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Kernel k-means: Lloyd's algorithm in the feature space of a kernel (paper, section 3).

    All points are reassigned at once to the cluster of largest proximity 2 sum K(x, y) / n_i - sum K(y, z) / n_i**2. A
    point moves only if that exceeds its own cluster's by more than 1e-12; the lowest index wins among equals. An empty
    cluster's centroid is the origin: proximity 0.

    Parameters
    ----------
    n_clusters : int
    sigma : float
        Bandwidth, in squared units of the data: exp(-||x - y||**2 / sigma). For another kernel the value of its
        parameter, such as a degree. Not used with ``kernel="precomputed"``.
    kernel : Kernel or "precomputed"
        With ``"precomputed"``, X is a symmetric kernel matrix (n, n) with no negative entries.
    init : {"random", "k-means++", "kernel-k-means++"} or array-like of int, shape (n,)
        Start partition.
    n_init : int
        Starts, of which the one of lowest objective is kept.
    max_iter : int
        Steps at most; `converged_` says whether they were enough.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n,)
    objective_ : float
        Sum of squared feature-space distances to the centroids.
    objectives_ : ndarray of float64
        The same at the start and after each step of the start that was kept; it never increases.
    n_iter_ : int
        Steps that moved a point, at least 1 as scikit-learn counts.
    converged_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> KernelKMeans(2, sigma=4.0, random_state=3).fit_predict([[0.0], [0.5], [9.0], [9.5]]).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self, n_clusters: int = 8, *, sigma: float = 1.0, kernel: Kernel | str = RBF(), init: Any = "random",  # noqa: B008
        n_init: int = 1, max_iter: int = 300, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.sigma = sigma
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a precomputed kernel is pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> KernelKMeans:  # noqa: ARG002 - scikit-learn hands it over
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with a precomputed kernel
        y : ignored

        Raises
        ------
        InputError
            Where X or a parameter is not what it must be.
        """
        points = check_points(X)
        validate_data(self, X, skip_check_array=True)
        n_clusters = check_n_clusters(self.n_clusters, len(points))
        check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        pairs, t, log_scale = self._pairs(points)
        rng = check_random_state(self.random_state)
        best = best_of(pairs, t, n_clusters, init=self.init, n_init=self.n_init, max_iter=self.max_iter, rng=rng)
        self.labels_ = best.partition.labels
        with np.errstate(over="ignore"):
            self.objectives_ = np.array(best.objectives) * np.exp(log_scale)
        self.objective_ = float(self.objectives_[-1])
        self.n_iter_ = max(best.iterations, 1)
        self.converged_ = best.converged
        self._fitted = _Fitted(self.kernel, self.sigma, points, best.partition, best.evaluation.self_sums, log_scale)
        if not best.converged:
            warnings.warn(
                f"Kernel k-means has not converged in max_iter={self.max_iter} steps: raise it, or take the labels as "
                "they are.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _pairs(self, points: NDArray[np.float64]) -> tuple[Pairs, float, float]:
        """Return the pairs, t, and the logarithm of the unit that the kernel is in."""
        if isinstance(self.kernel, Kernel):
            kernel = self.kernel.on(points)
            t = kernel.t(check_positive(self.sigma, "sigma"))
            return kernel.pairs, t, kernel.log_scale(t)
        if self.kernel != "precomputed":
            raise InputError(f"kernel is {self.kernel!r}: give a kernel such as RBF(), or 'precomputed'.")
        if points.shape[0] != points.shape[1] or not np.allclose(points, points.T, rtol=1e-10, atol=0.0):
            raise InputError(f"X has shape {points.shape}: with kernel='precomputed' it must be square and symmetric.")
        if not (points >= 0).all():
            raise InputError("X has entries below 0: with kernel='precomputed' no entry may be negative.")
        # a kernel that fades underflows to 0 for points far apart; the smallest number stands in for it
        return Pairs.from_exponents(np.log(np.maximum(points, np.finfo(np.float64).tiny))), 1.0, 0.0

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the cluster of largest proximity for each row of X.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) kernel entries to the fitted rows with a precomputed kernel
        """
        check_is_fitted(self)
        points = check_points(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._fitted.nearest(points)


def best_of(
    pairs: Pairs, t: float, n_clusters: int, *, init: Any, n_init: int, max_iter: int, rng: np.random.RandomState
) -> Converged:
    """Run kernel k-means from `n_init` starts and keep the one of lowest objective, the first among equals."""
    best: Converged | None = None
    for _ in range(n_init):
        found = iterate(pairs, initial_labels(init, pairs, n_clusters, t, rng), n_clusters, t, max_iter)
        if best is None or found.objectives[-1] < best.objectives[-1]:
            best = found
    assert best is not None
    return best
