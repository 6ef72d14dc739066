"""The numbers of clusters: by size in the recommended clustering, carried over to the others."""

from __future__ import annotations

import numpy as np

from offgrid.numbering import name_clusters
from offgrid.path import BESIDE, BandwidthPath, LevelEnd, PathRecord
from offgrid.selection import recommended_index


def record(sigma: float, labels: list[int], cnnc: float = 0.5, level: int = 1) -> PathRecord:
    moved = np.empty(0, dtype=np.int64)
    return PathRecord(sigma, sigma, sigma, np.array(labels, dtype=np.int32), moved, cnnc, level=level)


PATH = BandwidthPath(
    [record(1, [0, 0, 1, 1, 2, 2]), record(2, [2, 2, 2, 0, 1, 1], cnnc=0.1), record(3, [1, 1, 1, 1, 2, 0])],
    [LevelEnd(1, "k-means", float("inf"))],
)


def test_the_recommended_clustering_is_numbered_by_size() -> None:
    [alone] = name_clusters(PATH, (1,), 3)
    assert alone.tolist() == [0, 0, 0, 2, 1, 1]


def test_what_is_selected_beside_it_does_not_change_its_numbers() -> None:
    for selection in ((0, 1), (1, 2), (0, 1, 2)):
        named = name_clusters(PATH, selection, 3)
        assert named[selection.index(1)].tolist() == [0, 0, 0, 2, 1, 1]


def test_the_others_are_named_after_it() -> None:
    before, _, after = name_clusters(PATH, (0, 1, 2), 3)
    assert before.tolist() == [0, 0, 2, 2, 1, 1]
    assert after[:4].tolist() == [0, 0, 0, 0]
    [alone] = name_clusters(PATH, (2,), 3)
    assert alone.tolist() == after.tolist()


def test_what_stands_beside_the_path_is_the_recommended_one() -> None:
    path = BandwidthPath([*PATH.records, record(9, [2, 1, 1, 1, 1, 0], level=BESIDE)], PATH.ends.values())
    assert recommended_index(path) == 3
    assert name_clusters(path, (3,), 3)[0].tolist() == [1, 0, 0, 0, 0, 2]


def test_an_empty_path_names_nothing() -> None:
    assert recommended_index(BandwidthPath([])) is None
    assert name_clusters(BandwidthPath([]), (), 3) == []
