"""Theorem 1: up to the bound no point moves, whatever the partition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st

from offgrid import InputError, KernelKMeans, bandwidth_lower_bound, critical_bandwidth
from offgrid.certified import find
from offgrid.datasets import tight_example
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.proximity import evaluate


def test_by_hand():
    assert bandwidth_lower_bound([[0.0, 0.0], [3.0, 4.0], [3.0, 6.0]]) == pytest.approx(4 / math.log(9), rel=1e-15)


@reference.thorough
@given(reference.problems(), st.floats(0.01, 1.0))
def test_nothing_moves_at_or_below_the_bound(problem, share):
    X, labels, k = problem
    squares = reference.squared_distances(X)[~np.eye(len(X), dtype=bool)]
    assume(squares.min() > 0)
    bound = bandwidth_lower_bound(X)
    assert bound == pytest.approx(squares.min() / math.log(3 * len(X)), rel=1e-12)
    for sigma in (bound, share * bound):
        assert reference.quiet(X, labels, k, sigma)
        assert np.array_equal(KernelKMeans(k, sigma=sigma, init=labels).fit(X).labels_, labels)
    found = critical_bandwidth(X, labels, share * bound, n_clusters=k)
    assert found.below >= bound * (1 - 1e-12)


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("epsilon", [1.0, 0.003])
def test_the_tight_example_leaves_the_frozen_zone_within_a_constant_factor(n, epsilon):
    squares, labels = tight_example(n, epsilon)
    bound = squares[squares > 0].min() / math.log(3 * n)
    pairs, partition = Pairs.from_exponents(-squares), Partition(labels, 2)
    start = evaluate(pairs, partition, 1 / bound)
    assert np.array_equal(start.stepped(partition), labels)
    found = find(pairs, partition, start, rtol=2**-20)
    assert np.flatnonzero(found.labels != labels).tolist() == [n - 1]
    assert 1.0 < 1 / found.t / bound < 2.5
    # the paper's estimate of where y leaves
    assert 1 / found.t == pytest.approx(epsilon / math.log(n / 3), rel=0.2)


@pytest.mark.parametrize("scale", [2.0**-495, 2.0**495])
def test_scaling_scales_the_bound_exactly(scale):
    X, _ = reference.sample(0, 30, 3, 1)
    assert bandwidth_lower_bound(X * scale) == bandwidth_lower_bound(X) * scale * scale


def test_equal_rows_leave_no_bound():
    with pytest.raises(InputError, match=r"^no bound: rows 1 and 3 are equal\.$"):
        bandwidth_lower_bound([[0.0], [1.0], [2.0], [1.0]])


def test_the_first_of_several_equal_pairs_is_named():
    with pytest.raises(InputError, match=r"rows 0 and 2 are equal"):
        bandwidth_lower_bound([[5.0], [1.0], [5.0], [1.0], [5.0]])


def test_rows_that_only_seem_equal_are_not_called_so():
    with pytest.raises(InputError, match=r"^no bound: rows 0 and 1 are too close for double precision\.$"):
        bandwidth_lower_bound([[0.0], [1e-150], [1e150]])


def test_one_row_has_no_pairs():
    with pytest.raises(InputError, match="minimum of 2"):
        bandwidth_lower_bound([[1.0, 2.0]])
