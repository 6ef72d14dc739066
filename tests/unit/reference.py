"""The method once more, slowly: plain NumPy from the definitions to compare with, and data drawn for tests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

TOLERANCE = 1e-12
# A margin that rounding may have put on the other side of the tolerance.
ROUNDING = 5e-14
# 1 / (1 / sigma) may lose the last bit of sigma.
LAST_BIT = 1 - 2.0**-51

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

quick = settings(deadline=None, max_examples=25)
thorough = settings(deadline=None, max_examples=60)


# ---------------------------------------------------------------------------------------------- kernel k-means


def squared_distances(X: Floats) -> Floats:
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)


def rbf(X: Floats, sigma: float) -> Floats:
    return np.exp(-squared_distances(X) / sigma)


def cluster_sums(K: Floats, labels: Labels, k: int) -> Floats:
    return np.array([[sum(row[labels == i]) for i in range(k)] for row in K])


def proximities(K: Floats, labels: Labels, k: int) -> Floats:
    result = np.zeros((len(K), k))
    for i in range(k):
        inside = labels == i
        size = inside.sum()
        if size:
            result[:, i] = 2 * K[:, inside].sum(axis=1) / size - K[np.ix_(inside, inside)].sum() / size**2
    return result


def gains(K: Floats, labels: Labels, k: int) -> Floats:
    """By how much each point's best proximity exceeds its own cluster's."""
    delta = proximities(K, labels, k)
    return delta.max(axis=1) - delta[np.arange(len(labels)), labels]


def step(K: Floats, labels: Labels, k: int) -> Labels:
    delta = proximities(K, labels, k)
    result = labels.copy()
    for x in range(len(labels)):
        if delta[x].max() - delta[x, labels[x]] > TOLERANCE:
            result[x] = int(np.argmax(delta[x] >= delta[x].max() - TOLERANCE))
    return result


def objective(K: Floats, labels: Labels, k: int) -> float:
    """Sum of ||phi(x) - mean of phi over the cluster of x||**2."""
    total = 0.0
    for i in range(k):
        members = np.flatnonzero(labels == i)
        for x in members:
            total += K[x, x] - 2 * K[x, members].mean() + K[np.ix_(members, members)].mean()
    return total


def kernel_kmeans(K: Floats, labels: Labels, k: int, max_iter: int = 300) -> Labels:
    for _ in range(max_iter):
        stepped = step(K, labels, k)
        if (stepped == labels).all():
            break
        labels = stepped
    return labels


def settled(X: Floats, labels: Labels, k: int, sigma: float) -> Labels:
    """Labels that kernel k-means converges to."""
    return kernel_kmeans(rbf(X, sigma), labels, k)


def quiet(X: Floats, labels: Labels, k: int, sigma: float) -> bool:
    return bool(gains(rbf(X, sigma), labels, k).max() <= TOLERANCE + ROUNDING)


def moves(X: Floats, labels: Labels, k: int, sigma: float) -> bool:
    return bool(gains(rbf(X, sigma), labels, k).max() > TOLERANCE - ROUNDING)


def lloyd_gains(X: Floats, labels: Labels, k: int) -> Floats:
    """How much nearer, squared, each point's nearest mean is than its own cluster's."""
    means = [X[labels == i].mean(axis=0) if (labels == i).any() else np.full(X.shape[1], np.inf) for i in range(k)]
    to_means = np.array([((X - mean) ** 2).sum(axis=1) for mean in means]).T
    return to_means[np.arange(len(X)), labels] - to_means.min(axis=1)


def dyadic(X: Floats, labels: Labels, k: int, sigma: float, depth: int) -> tuple[Fraction, bool]:
    """Algorithm 2 as it must read: the exponent of the smallest bandwidth seen to move a point, and whether one was."""
    K = rbf(X, sigma)
    numerator = denominator = 1
    moved = False
    best: Fraction | None = None
    for _ in range(depth):
        numerator, denominator = 2 * numerator + (1 if moved else -1), 2 * denominator
        moved = bool((step(K ** (numerator / denominator), labels, k) != labels).any())
        if moved:
            here = Fraction(numerator, denominator)
            best = here if best is None else max(best, here)
    return (Fraction(1, 2**depth), False) if best is None else (best, True)


# ---------------------------------------------------------------------------------------------- measures


def neighbours(X: Floats, x: int) -> list[int]:
    distances = ((X - X[x]) ** 2).sum(axis=1)
    return sorted((j for j in range(len(X)) if j != x), key=lambda j: (distances[j], j))


def nearest_neighbour_cost(X: Floats, labels: Labels, k: int) -> float:
    n = len(X)
    scale = np.log(n - 1) + np.euler_gamma + 1 / (2 * n - 2)
    costs = []
    for i in range(k):
        members = np.flatnonzero(labels == i)
        if len(members) == 0:
            costs.append(1.0)
            continue
        total = 0.0
        for x in members:
            strangers = 0
            for c, y in enumerate(neighbours(X, x), start=1):
                strangers += labels[y] != labels[x]
                total += strangers / c / c
        costs.append(total / scale / len(members))
    return sum(costs) / k


def normalized_mutual_information(a: Any, b: Any) -> float:
    a, b = np.asarray(a), np.asarray(b)
    information = entropies = 0.0
    for i in set(a.tolist()):
        for j in set(b.tolist()):
            p = np.mean((a == i) & (b == j))
            if p > 0:
                information += p * np.log(p / (np.mean(a == i) * np.mean(b == j)))
    for values in (a, b):
        for i in set(values.tolist()):
            p = np.mean(values == i)
            entropies -= p * np.log(p)
    return 1.0 if entropies == 0 else 2 * information / entropies


def adjusted_rand_index(a: Any, b: Any) -> float:
    """Count pairs of rows, one after the other."""
    n, both, first, second = len(a), 0, 0, 0
    for x in range(n):
        for y in range(x):
            both += a[x] == a[y] and b[x] == b[y]
            first += a[x] == a[y]
            second += b[x] == b[y]
    expected = first * second / max(n * (n - 1) / 2, 1)
    largest = (first + second) / 2
    return 1.0 if largest == expected else float((both - expected) / (largest - expected))


# ---------------------------------------------------------------------------------------------- partitions and data


def groups(labels: Any) -> set[frozenset[int]]:
    labels = np.asarray(labels)
    return {frozenset(np.flatnonzero(labels == i).tolist()) for i in np.unique(labels)}


def sample(seed: int, n: int, d: int, k: int, *, on_grid: bool = False) -> tuple[Floats, Labels]:
    """Points (with ties and equal rows where they are `on_grid`) and uniform labels, the same for the same seed."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, d)).astype(float) if on_grid else rng.normal(size=(n, d))
    return X, rng.integers(k, size=n)


def lonely_point() -> tuple[Floats, Labels]:
    """Clusters 0 and 2 of three; row 4 has a proximity to its own above 0 at sigma = 1, and below 0 a little later."""
    simplex = np.eye(4) * np.sqrt(0.435)
    lonely = np.full((1, 4), simplex.mean() + np.sqrt(6.0) / 2)
    crowd = np.full((200, 4), simplex.mean() - np.sqrt(8.0) / 2)
    return np.vstack([simplex, lonely, crowd]), np.repeat([0, 2], [5, 200])


def scale_of(X: Floats) -> float:
    """Mean squared distance, or 1 where all rows are equal."""
    return float(squared_distances(X).mean()) or 1.0


@st.composite
def problems(draw: st.DrawFn, *, largest: int = 24, grids: bool = True) -> tuple[Floats, Labels, int]:
    """Points, labels (perhaps with empty clusters) and the number of clusters."""
    n = draw(st.integers(2, largest))
    k = draw(st.integers(1, min(4, n)))
    d = draw(st.sampled_from([1, 2, 3, 8]))
    on_grid = draw(st.booleans()) if grids else False
    X, labels = sample(draw(st.integers(0, 10**6)), n, d, k, on_grid=on_grid)
    return X, labels, k


relative_bandwidths = st.floats(-2.5, 1.0).map(lambda exponent: 10.0**exponent)
