"""Names of clusters."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid.partitions import match_labels, number_clusters

labellings = st.integers(1, 30).flatmap(lambda n: st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array))


def test_numbers_by_hand():
    # sizes 2, 3, 0, 2: the largest first, then by first row, the empty one last
    assert number_clusters(np.array([3, 1, 1, 0, 1, 0, 3]), 4).tolist() == [1, 0, 0, 2, 0, 2, 1]


@reference.quick
@given(labellings)
def test_numbers_depend_on_the_partition_alone(labels):
    numbered = number_clusters(labels, 5)
    assert reference.groups(numbered) == reference.groups(labels)
    sizes = np.bincount(numbered, minlength=5)
    assert (np.diff(sizes) <= 0).all()
    for names in ([1, 2, 3, 4, 0], [4, 3, 2, 1, 0]):
        assert np.array_equal(number_clusters(np.array(names)[labels], 5), numbered)


def test_matching_by_hand():
    assert match_labels(np.array([0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 1]), 3).tolist() == [0, 0, 1, 1, 2]
    # the larger overlap wins the name
    assert match_labels(np.array([0, 0, 0, 1]), np.array([1, 1, 0, 0]), 2).tolist() == [0, 0, 1, 1]


@reference.quick
@given(labellings, st.integers(0, 1000))
def test_no_other_names_agree_more(labels, seed):
    reference_labels = np.random.default_rng(seed).integers(4, size=len(labels))
    labels = labels % 4
    matched = match_labels(reference_labels, labels, 4)
    assert reference.groups(matched) == reference.groups(labels)
    best = max((np.array(names)[labels] == reference_labels).sum() for names in permutations(range(4)))
    assert (matched == reference_labels).sum() == best
    assert np.array_equal(match_labels(labels, labels, 4), labels)
