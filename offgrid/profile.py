"""What the clusters of a partition are like: sizes, spreads, the means of their columns, and which columns tell.

Entry points: `profile_clusters` and its result, `ClusterProfile`; `profile_csv`. Memory: two copies of the largest
cluster's rows, and (c, d) means.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusterProfile:
    """The clusters of a partition in numbers; empty ones are left out.

    Attributes
    ----------
    clusters, sizes : ndarray of int64, shape (c,)
    distances : ndarray of float64, shape (c,)
        Mean distance of a cluster's rows to their mean.
    spreads : ndarray of float64, shape (c,)
        Root mean square distance of a cluster's rows to their mean.
    overall_distance, overall_spread : float
        The same for all rows and the mean of all.
    means : ndarray of float64, shape (c, d)
        Means of the columns, in the columns' own units.
    overall, deviations : ndarray of float64, shape (d,)
        Mean and standard deviation (ddof 0) of each column over all rows.
    separation : ndarray of float64, shape (d,)
        Share of each column's variance that lies between clusters, from 0 to 1; 0 for a constant column.
    """

    clusters: NDArray[np.int64]
    sizes: NDArray[np.int64]
    distances: _Floats
    spreads: _Floats
    overall_distance: float
    overall_spread: float
    means: _Floats
    overall: _Floats
    deviations: _Floats
    separation: _Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    @property
    def standardised(self) -> _Floats:
        """Means less the overall mean, in the column's standard deviations, (c, d); 0 for a constant column."""
        apart = self.means - self.overall
        return np.divide(apart, self.deviations, out=np.zeros_like(apart), where=self.deviations > 0)

    @property
    def telling(self) -> NDArray[np.int64]:
        """Columns by falling separation."""
        return np.argsort(-self.separation, kind="stable").astype(np.int64)


def profile_clusters(X: _Floats, labels: NDArray[np.integer], raw: _Floats | None = None) -> ClusterProfile:
    """Return the profile of a partition.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        The points as they were clustered: distances are theirs.
    labels : ndarray of int, shape (n,)
    raw : ndarray of float64, shape (n, d), optional
        The same rows in the columns' own units, for the means; X where it is not given.
    """
    raw = X if raw is None else raw
    clusters, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    spread = [_distances(X[rows]) for rows in members]
    whole = _distances(X)
    overall = raw.mean(axis=0)
    means = np.array([raw[rows].mean(axis=0) for rows in members])
    largest = np.abs(raw - overall).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of very large or small values would leave the range of floats
    total = (((raw - overall) / unit) ** 2).sum(axis=0)
    between = (sizes[:, None] * ((means - overall) / unit) ** 2).sum(axis=0)
    return ClusterProfile(
        clusters=clusters.astype(np.int64),
        sizes=sizes.astype(np.int64),
        distances=np.array([mean for mean, _ in spread]),
        spreads=np.array([square for _, square in spread]),
        overall_distance=whole[0],
        overall_spread=whole[1],
        means=means,
        overall=overall,
        deviations=unit * np.sqrt(total / len(raw)),
        separation=np.clip(np.divide(between, total, out=np.zeros_like(total), where=total > 0), 0.0, 1.0),
    )


def _distances(points: _Floats) -> tuple[float, float]:
    """Return the mean and the root mean square distance to the mean."""
    squares = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    return float(np.sqrt(squares).mean()), float(np.sqrt(squares.mean()))


def profile_csv(profile: ClusterProfile, names: Sequence[str]) -> str:
    """Return the profile as CSV: a line for each cluster (numbered from 1) and one for all rows, every column.

    `names` are those of the columns; each has its mean, and the mean in standard deviations from the overall one.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [head for name in names for head in (f"mean of {name}", f"standardised mean of {name}")]
    writer.writerow(["cluster", "size", "share", "mean_distance", "rms_distance", *heads])
    pairs = np.stack([profile.means, profile.standardised], axis=2).reshape(len(profile.clusters), -1)
    n = profile.n_rows
    lines = zip(profile.clusters, profile.sizes, profile.distances, profile.spreads, pairs, strict=True)
    for cluster, size, distance, spread, values in lines:
        writer.writerow([cluster + 1, size, float(size / n), float(distance), float(spread), *values.tolist()])
    overall = [value for mean in profile.overall.tolist() for value in (mean, 0.0)]
    writer.writerow(["all", n, 1.0, profile.overall_distance, profile.overall_spread, *overall])
    return out.getvalue()
