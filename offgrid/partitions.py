"""Names of clusters, carried from one partition to the next.

Entry points: `match_labels`, and `number_clusters` with the names it gives, `names_by_size`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def number_clusters(labels: NDArray[np.integer], n_clusters: int) -> NDArray[np.int64]:
    """Rename clusters 0, 1, ... by decreasing size, then by their first row. Empty clusters come last."""
    return names_by_size(labels, n_clusters)[labels]


def names_by_size(labels: NDArray[np.integer], n_clusters: int) -> NDArray[np.int64]:
    """Return the new name of each cluster, as `number_clusters` gives it."""
    sizes = np.bincount(labels, minlength=n_clusters)
    first = np.full(n_clusters, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    names = np.empty(n_clusters, dtype=np.int64)
    names[np.lexsort((first, -sizes))] = np.arange(n_clusters)
    return names


def match_labels(reference: NDArray[np.integer], labels: NDArray[np.integer], n_clusters: int) -> NDArray[np.int64]:
    """Rename the clusters of `labels` so that as many rows as possible have the name they have in `reference`."""
    overlap = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(overlap, (labels, reference), 1)
    clusters, matched = linear_sum_assignment(overlap, maximize=True)
    names = np.empty(n_clusters, dtype=np.int64)
    names[clusters] = matched
    return names[labels]
