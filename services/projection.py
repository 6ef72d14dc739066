"""Two coordinates for each point, to draw it.

Entry points: `axis_options`, `default_axes`, `coordinates` and `explained`. Memory: one copy of X while its
principal components are found; they are kept in the data cache, n * 2 * 8 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.model import Points
from services.cache import DataCache

COMPONENTS = 2
Axes = tuple[str, str]  # each "pca:0", "pca:1" or "column:3" (the column's place)


@dataclass(frozen=True)
class Principal:
    """Coordinates (n, 2) on the first principal components, and the share of the variance that each explains."""

    scores: NDArray[np.float64]
    shares: tuple[float, ...]


def axis_options(points: Points) -> list[tuple[str, str]]:
    """Return what can be drawn along an axis, as (value, words)."""
    columns = [(f"column:{i}", name) for i, name in enumerate(points.feature_names)]
    if points.X.shape[1] <= COMPONENTS:
        return columns
    return [("pca:0", "1st component"), ("pca:1", "2nd component"), *columns]


def default_axes(points: Points) -> Axes:
    """Return the columns themselves where there are two at most, the principal components otherwise."""
    if points.X.shape[1] > COMPONENTS:
        return "pca:0", "pca:1"
    return "column:0", f"column:{points.X.shape[1] - 1}"


def coordinates(points: Points, axes: Axes, cache: DataCache) -> NDArray[np.float64]:
    """Return the points (n, 2) on two axes; a table of one column is spread along the diagonal."""
    return np.column_stack([_along(points, axis, cache) for axis in axes])


def explained(points: Points, cache: DataCache) -> float:
    """Return the share of the variance that the two principal components explain together."""
    return float(sum(principal(points, cache).shares))


def _along(points: Points, axis: str, cache: DataCache) -> NDArray[np.float64]:
    kind, _, place = axis.partition(":")
    if kind == "pca":
        return principal(points, cache).scores[:, int(place)]
    return points.X[:, int(place)]


def principal(points: Points, cache: DataCache) -> Principal:
    """Return the principal components, found once for each data set."""
    return cache.get_or_make(
        "principal", points.hash, lambda: principal_components(points.X), points.n * COMPONENTS * 8
    )


def principal_components(X: NDArray[np.float64]) -> Principal:
    """Return scores from the covariance's eigenvectors: for n rows and d columns it costs n * d**2 + d**3."""
    centred = X - X.mean(axis=0)
    scale = float(np.abs(centred).max()) or 1.0  # squares of very large or small values would leave the range of floats
    centred /= scale
    values, vectors = np.linalg.eigh(centred.T @ centred)
    values, vectors = np.clip(values[::-1], 0.0, None), vectors[:, ::-1][:, :COMPONENTS]
    # An eigenvector's sign is arbitrary; fix it, so that a drawing never flips.
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), range(COMPONENTS)] < 0, -1.0, 1.0)
    total = float(values.sum()) or 1.0
    return Principal(centred @ vectors * scale, tuple(float(value / total) for value in values[:COMPONENTS]))
