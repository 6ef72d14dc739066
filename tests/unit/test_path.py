"""Records, ends and paths: JSON, how far partitions hold, recurrences."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import BandwidthPath, BandwidthSearch, PathRecord
from offgrid.path import Extent, LevelEnd, partition_key


def record(sigma, labels, *, below=None, level=1, moved=(), **more):
    labels, moved = np.array(labels, dtype=np.int32), np.array(moved, dtype=np.int64)
    return PathRecord(sigma, sigma if below is None else below, sigma, labels, moved, 0.5, level=level, **more)


RECORDS = [
    record(1.0, [0, 0, 1]),
    record(
        2.0, [0, 1, 1], below=1.5, moved=[1], nmi=0.25, ari=-0.1, seconds=0.5, iterations=3, passes=2.5, uncertified=4
    ),
    record(3.0, [1, 1, 0], below=2.5, moved=[0, 2], converged=False, cnnc_error=0.01),
    record(1.2, [0, 1, 1], level=2),
    record(1.3, [0, 1, 2], level=2, below=1.25, moved=[2]),
]
ENDS = [LevelEnd(1, "k-means", math.inf), LevelEnd(2, "budget", 1.75)]


def same(one, other):
    return all(np.array_equal(value, getattr(other, name)) for name, value in vars(one).items())


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("found", RECORDS)
def test_records_survive_json(found, pack):
    text = json.dumps(found.to_dict(pack=pack), allow_nan=False)
    back = PathRecord.from_dict(json.loads(text))
    assert same(found, back)
    assert back.labels.dtype == np.int32
    assert back.moved.dtype == np.int64
    assert ('"labels": [' in text) != pack


def test_records_kept_before_c_nnc_had_an_error_are_read():
    values = RECORDS[2].to_dict()
    del values["cnnc_error"]
    assert PathRecord.from_dict(values).cnnc_error == 0.0


@pytest.mark.parametrize("end", [*ENDS, LevelEnd(3, "limit", 2.0)])
def test_ends_survive_json(end):
    assert LevelEnd.from_dict(json.loads(json.dumps(end.to_dict(), allow_nan=False))) == end


@pytest.mark.parametrize("y", [None, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]])
def test_a_search_s_own_records_survive_json(y):
    search = BandwidthSearch(3, random_state=0)
    found = list(search.iter_path(reference.sample(0, 20, 2, 1)[0], y))
    for pack in (False, True):
        assert all(
            same(r, PathRecord.from_dict(json.loads(json.dumps(r.to_dict(pack=pack), allow_nan=False)))) for r in found
        )
    assert [
        LevelEnd.from_dict(json.loads(json.dumps(end.to_dict(), allow_nan=False))) for end in search.ends_
    ] == search.ends_


def test_levels():
    path = BandwidthPath(RECORDS, ENDS)
    assert len(path) == 5
    assert path.levels == (1, 2)
    assert path.at_level(1) == [0, 1, 2]
    assert path.at_level(2) == [3, 4]
    assert path.at_level(3) == []


def test_how_far_partitions_hold():
    path = BandwidthPath(RECORDS, ENDS)
    assert [path.holds_to(i) for i in range(5)] == [1.5, 2.5, math.inf, 1.25, 1.75]
    growing = BandwidthPath(RECORDS[:3])
    assert [growing.holds_to(i) for i in range(3)] == [1.5, 2.5, None]
    assert BandwidthPath(RECORDS[:4], ENDS[:1]).holds_to(2) == math.inf


def test_an_extent_is_exact_only_where_the_search_has_looked_closely():
    path = BandwidthPath(RECORDS, ENDS)
    # `critical` is the record's own sigma here: a point was seen to move at 2, and none at 1.5
    assert [path.extent(i) for i in range(5)] == [
        Extent(2.0, False), Extent(3.0, False), Extent(math.inf, True), Extent(1.3, False), Extent(1.75, True)
    ]  # fmt: skip
    assert BandwidthPath(RECORDS[:3]).extent(2) is None
    close = [RECORDS[0], record(2.0, [0, 1, 1], below=2.0 - 1e-6)]
    assert BandwidthPath(close).extent(0) == Extent(2.0 - 1e-6, True)


@pytest.mark.parametrize(("method", "exact"), [("certified", True), ("dyadic", False)])
def test_extents_of_a_search(method, exact):
    X = reference.sample(3, 40, 2, 3)[0]
    search = BandwidthSearch(3, method=method, depths=(1,), random_state=0).fit(X)
    path = BandwidthPath(search.path_, search.ends_)
    assert len(path) > 2
    for i in range(len(path) - 1):
        extent = path.extent(i)
        assert extent is not None
        assert extent.exact is exact
        assert path.records[i].sigma < extent.to <= path.records[i + 1].sigma


def test_recurrences_are_of_partitions_not_of_names():
    path = BandwidthPath(RECORDS, ENDS)
    # {0, 1}, {2} comes back with other names as the third record, {0}, {1, 2} as the fourth
    assert path.recurrences == (0, 1, 0, 1, None)
    assert path.n_partitions == 3


def test_an_empty_path():
    path = BandwidthPath([])
    assert len(path) == 0
    assert path.levels == ()
    assert path.recurrences == ()
    assert path.n_partitions == 0


@reference.quick
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_keys_are_equal_exactly_for_equal_partitions(one, other):
    one, other = np.array(one), np.array(other)
    assert (partition_key(one) == partition_key(other)) == (
        len(one) == len(other) and reference.groups(one) == reference.groups(other)
    )
    assert partition_key(3 - one) == partition_key(one)
