"""The numbers that clusters have wherever a person sees them: on the page, in files, on the command line.

Entry point: `name_clusters`. Cost: a pass over the rows and an assignment problem of size k for each clustering.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offgrid.partitions import match_labels, number_clusters
from offgrid.path import BandwidthPath
from offgrid.selection import recommended_index


def name_clusters(path: BandwidthPath, selection: Sequence[int], n_clusters: int) -> list[NDArray[np.int64]]:
    """Return the labels of some records of a path, alike clusters named alike.

    The recommended clustering has its clusters in order of size, so that it is named the same whatever is selected
    beside it, and without the path too. The others are named one after the other, from it outwards, each to overlap its
    neighbour in the selection best; where it is not selected, the first is named after it.

    Parameters
    ----------
    path : BandwidthPath
    selection : sequence of int
        Indices into the path, in the order in which the clusterings are shown.
    n_clusters : int

    Returns
    -------
    list of ndarray of int64, shape (n,)
        Names from 0, which are shown as numbers from 1.
    """
    best = recommended_index(path)
    if best is None:
        return []
    start = selection.index(best) if best in selection else 0
    named = {start - 1: number_clusters(path.records[best].labels, n_clusters)}
    for place in [*range(start, len(selection)), *range(start - 1, -1, -1)]:
        beside = named[place - 1 if place >= start else place + 1]
        named[place] = match_labels(beside, path.records[selection[place]].labels, n_clusters)
    return [named[place] for place in range(len(selection))]
