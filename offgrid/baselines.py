"""Other ways to choose a bandwidth, or to do without one, to compare the search with (paper, section 7).

Entry points: `run_baseline`, `BASELINES` (all of them by name), and each by itself: `mknn`, `grid`, `median_heuristic`,
`ben_hur`, `local_scaling`, `spectral`. Every value tried gives a clustering; the one of lowest c-NNC is recommended, as
on a path. Memory: the pairs and the ranks of neighbours, as for a search; `local_scaling` and `spectral` keep a matrix
(n, n).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.engine.pairs import Pairs
from offgrid.engine.percentile import low_percentile
from offgrid.errors import InputError
from offgrid.memory import memory_limit
from offgrid.metrics import NeighbourRanks
from offgrid.trials import BaselineResult, Bench, Trial
from offgrid.validation import check_choice, check_count

_GRID_EXPONENTS = range(-6, 7)


def mknn(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random", random_state: Any = None,
    ranks: NeighbourRanks | None = None, count: int | None = None,
) -> BaselineResult:  # fmt: skip
    """Try the mean distance to the j-th nearest neighbour, j = 1 ... floor(2 (log n + 1)).

    The mean s over the points, themselves excluded as neighbours, is the width of exp(-d**2 / (2 s**2)): the bandwidth
    here is 2 s**2 [1]_. Values of j at which s is 0, as there are where rows are equal, are left out.

    Parameters
    ----------
    X : array-like of shape (n, d), n >= 2
    n_clusters : int
    y : array-like of shape (n,), optional
        Labels to compare with; they influence nothing.
    init : {"random", "k-means++"} or array-like of int, shape (n,)
        Start partition of kernel k-means, the same for every value.
    random_state : int, RandomState or None
    ranks : NeighbourRanks, optional
        The neighbours of X ranked before, by `offgrid.metrics.neighbour_ranks`.
    count : int, optional
        Values of j to try, in place of floor(2 (log n + 1)).

    Raises
    ------
    InputError
        Where an argument is not what it must be.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17 (2007), section 8.

    Examples
    --------
    >>> [round(trial.sigma, 3) for trial in mknn([[0.0], [1.0], [3.0]], 2, init=[0, 0, 1]).trials]
    [3.556, 14.222]
    """
    bench = Bench(X, n_clusters, y, init, random_state, ranks)
    most = math.floor(2.0 * (math.log(bench.n) + 1.0)) if count is None else check_count(count, "count")
    most = min(most, bench.n - 1)

    def trials() -> Iterator[Trial]:
        means = np.sqrt(bench.nearest(most)).mean(axis=0)
        for j, mean in enumerate(means, 1):
            sigma = bench.kernel.unit * 2.0 * float(mean) ** 2
            if sigma > 0.0:
                yield bench.at(f"j = {j}", sigma)
            else:
                bench.notes.append(f"j = {j} is left out: that neighbour is at distance 0 from every point.")

    return bench.result("mknn", trials())


def grid(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random", random_state: Any = None,
    ranks: NeighbourRanks | None = None,
) -> BaselineResult:  # fmt: skip
    """Try 10^i for i = -6 ... 6, the paper's grid (section 7).

    Parameters are those of `mknn`. The grid knows nothing of the data: the same data in another unit give other
    clusterings.
    """
    bench = Bench(X, n_clusters, y, init, random_state, ranks)
    return bench.result("grid", (bench.at(f"10^{i}", 10.0**i) for i in _GRID_EXPONENTS))


def median_heuristic(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random", random_state: Any = None,
    ranks: NeighbourRanks | None = None,
) -> BaselineResult:  # fmt: skip
    """Try one value: the median of the distances between rows, as the width s of exp(-d**2 / (2 s**2)).

    So the bandwidth is twice the median of squared distances [1]_. Parameters are those of `mknn`. Where there are so
    many pairs that they do not fit into memory, the median is that of a sample of a million pairs.

    References
    ----------
    .. [1] D. Garreau, W. Jitkrittum and M. Kanagawa, "Large sample analysis of the median heuristic",
       arXiv:1707.07269 (2017).
    """
    bench = Bench(X, n_clusters, y, init, random_state, ranks)

    def trials() -> Iterator[Trial]:
        median = bench.median()
        if median > 0.0:
            yield bench.at("median", 2.0 * bench.kernel.unit * median)

    return bench.result("median_heuristic", trials())


def ben_hur(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random", random_state: Any = None,
    ranks: NeighbourRanks | None = None,
) -> BaselineResult:  # fmt: skip
    """Descend from the largest squared distance, by half each time, to the 1st percentile of squared distances.

    Ben-Hur et al. [1]_ start their kernel's width there, where the data look like one cluster, and shrink it; they do
    not say by how much. The end is where the search here begins. Each value is tried from the same start partition.
    Parameters are those of `mknn`.

    References
    ----------
    .. [1] A. Ben-Hur, D. Horn, H. T. Siegelmann and V. Vapnik, "Support vector clustering", Journal of Machine Learning
       Research 2 (2001), section 3.
    """
    bench = Bench(X, n_clusters, y, init, random_state, ranks)

    def trials() -> Iterator[Trial]:
        largest = max(float(block.max()) for _, block in bench.blocks())
        least = low_percentile(bench.kernel.pairs)
        halvings = math.floor(math.log2(largest / least)) if least > 0.0 else -1
        for i in range(halvings + 1):
            yield bench.at("max" if i == 0 else f"max / 2^{i}", bench.kernel.unit * largest / 2.0**i)

    return bench.result("ben_hur", trials())


def local_scaling(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random", random_state: Any = None,
    ranks: NeighbourRanks | None = None, neighbour: int = 7,
) -> BaselineResult:  # fmt: skip
    """Give each point a scale of its own, its distance to the 7th nearest neighbour, and try that one kernel.

    The kernel is exp(-||x - y||**2 / (s_x s_y)) [1]_, handed to kernel k-means as it is. It need not be positive
    definite, so kernel k-means need not converge; `Trial.converged` tells. A point whose 7th neighbour is at distance 0
    takes the smallest scale above 0 of any point. Parameters are those of `mknn`, and:

    Parameters
    ----------
    neighbour : int
        The neighbour whose distance is a point's scale.

    References
    ----------
    .. [1] L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", Advances in Neural Information Processing
       Systems 17 (2004).
    """
    check_count(neighbour, "neighbour")
    bench = Bench(X, n_clusters, y, init, random_state, ranks)
    _check_memory(bench.n)

    def trials() -> Iterator[Trial]:
        scales = np.sqrt(bench.nearest(min(neighbour, bench.n - 1))[:, -1])
        if not (scales > 0.0).any():
            return
        scales = np.maximum(scales, scales[scales > 0.0].min())
        exponents = np.empty((bench.n, bench.n))
        for first, block in bench.blocks():
            rows = slice(first, first + len(block))
            exponents[rows] = -block / np.outer(scales[rows], scales)
        yield bench.kernel_kmeans(f"neighbour {neighbour}", None, Pairs.from_exponents(exponents), 1.0)

    return bench.result("local_scaling", trials())


def spectral(
    X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = None,  # noqa: ARG001 - as the others
    random_state: Any = None, ranks: NeighbourRanks | None = None,
) -> BaselineResult:  # fmt: skip
    """Try scikit-learn's spectral clustering: its graph of 10 nearest neighbours, gamma = 1, and the median heuristic.

    After Ng, Jordan and Weiss [1]_, as `sklearn.cluster.SpectralClustering` has it: the first two are its own settings,
    the third is the kernel of `median_heuristic`. It finds its own start. Parameters are those of `mknn`, but `init`
    is not used.

    References
    ----------
    .. [1] A. Y. Ng, M. I. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm", Advances in Neural
       Information Processing Systems 14 (2001).
    """
    bench = Bench(X, n_clusters, y, "random", random_state, ranks)
    _check_memory(bench.n)

    def trials() -> Iterator[Trial]:
        neighbours = min(10, bench.n - 1)
        median = 2.0 * bench.kernel.unit * bench.median()
        kinds: list[tuple[str, float | None]] = [(f"{neighbours} nearest neighbours", None), ("gamma = 1", 1.0)]
        if median > 0.0:
            kinds.append(("median", median))
        for label, sigma in kinds:
            labels = _spectral_labels(bench, sigma, neighbours)
            if labels is not None:
                yield bench.judged(label, sigma, labels, 0.0 if sigma is None else 1.0)
            else:
                bench.notes.append(f"{label} is left out: scikit-learn found no eigenvectors for it.")

    return bench.result("spectral", trials())


def _spectral_labels(bench: Bench, sigma: float | None, neighbours: int) -> NDArray[np.int64] | None:
    """Return scikit-learn's labels for a bandwidth, or for a graph of nearest neighbours; None where it fails."""
    from scipy.sparse.linalg import ArpackError
    from sklearn.cluster import SpectralClustering

    options = {"affinity": "nearest_neighbors", "n_neighbors": neighbours} if sigma is None else {"gamma": 1.0 / sigma}
    model = SpectralClustering(bench.n_clusters, random_state=bench.rng, **options)
    with warnings.catch_warnings():
        # of a graph in several pieces, or of fewer distinct rows than clusters: the measures tell what came of it
        warnings.simplefilter("ignore")
        try:
            labels: NDArray[np.int64] = model.fit(bench.points).labels_
        except (ArpackError, ValueError, TypeError, np.linalg.LinAlgError):
            return None
    return labels


def _check_memory(n: int) -> None:
    """Raise InputError where a matrix (n, n) is more than a search may take."""
    if 8 * n * n > memory_limit():
        raise InputError(
            f"X has {n} rows, and this method keeps a matrix of {8 * n * n / 2**30:.3g} GiB: take fewer rows, or raise "
            "OFFGRID_MEMORY_LIMIT."
        )


BASELINES: Mapping[str, Callable[..., BaselineResult]] = {
    "mknn": mknn,
    "grid": grid,
    "median_heuristic": median_heuristic,
    "ben_hur": ben_hur,
    "local_scaling": local_scaling,
    "spectral": spectral,
}


def run_baseline(
    name: str, X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: Any = "random",
    random_state: Any = None, ranks: NeighbourRanks | None = None,
) -> BaselineResult:  # fmt: skip
    """Carry out the baseline of this name in `BASELINES`; the parameters are those of `mknn`.

    Raises
    ------
    InputError
        Where there is none of this name, or an argument is not what it must be.
    """
    check_choice(name, "name", tuple(BASELINES))
    return BASELINES[name](X, n_clusters, y, init=init, random_state=random_state, ranks=ranks)
