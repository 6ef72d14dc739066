"""Algorithm 2: exponents, the bandwidth that belongs to them, limiting checks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import RBF, critical_bandwidth
from offgrid.engine.partition import Partition
from offgrid.engine.powers import PowerOfKernel

FAR = np.array([[0.0], [1.0], [10.0], [11.0]])


@reference.thorough
@given(reference.problems(grids=False), reference.relative_bandwidths, st.integers(1, 10))
def test_exponents_are_the_reference_s(problem, relative, depth):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    found = critical_bandwidth(X, labels, sigma, n_clusters=k, method="dyadic", depth=depth)
    expected, changed = reference.dyadic(X, labels, k, sigma, depth)
    assert (Fraction(found.numerator, found.denominator), found.changed) == (expected, changed)
    assert found.sigma == pytest.approx(float(sigma / expected), rel=1e-15)


@reference.thorough
@given(
    reference.problems(), reference.relative_bandwidths, st.integers(1, 12), st.sampled_from([None, "close", "movers"])
)
def test_kernel_and_bandwidth_agree(problem, relative, depth, limiting):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    found = critical_bandwidth(X, labels, sigma, n_clusters=k, method="dyadic", depth=depth, limiting=limiting)
    assert sigma * reference.LAST_BIT <= found.below <= found.sigma
    assert found.checked <= 1.0
    if found.changed:
        assert found.below < found.sigma
        assert reference.moves(X, labels, k, found.sigma)
        assert reference.quiet(X, labels, k, found.below)
        if limiting is None:
            assert np.array_equal(found.labels, reference.step(reference.rbf(X, found.sigma), labels, k))
    else:
        assert found.sigma == pytest.approx(sigma * 2.0**depth, rel=1e-15)
        assert found.numerator == 1
        assert found.below == found.sigma
        assert reference.quiet(X, labels, k, found.sigma)
        assert np.array_equal(found.labels, labels)


def test_no_change_seen_says_how_far_it_looked():
    found = critical_bandwidth(FAR, [0, 0, 1, 1], 1.0, n_clusters=2, method="dyadic", depth=5)
    assert not found.changed
    assert (found.sigma, found.numerator, found.denominator) == (32.0, 1, 32)
    assert len(found.moved) == 0


def test_the_first_query_is_the_square_root():
    X, labels = reference.sample(0, 20, 2, 3)
    labels = reference.settled(X, labels, 3, 0.5)
    found = critical_bandwidth(X, labels, 0.5, n_clusters=3, method="dyadic", depth=1)
    assert found.denominator == 2
    assert found.sigma == 1.0
    assert found.changed == reference.moves(X, labels, 3, 1.0)


def test_the_smallest_bandwidth_seen_to_move_ends_two_quiet_rounds():
    # 1/2 moves, 3/4 and 5/8 are quiet: the result is 1/2, not 5/8 or 9/16
    def queries(X, labels):
        return [reference.moves(X, labels, 2, 0.5 * d / n) for n, d in ((1, 2), (3, 4), (5, 8))]

    for seed in range(2000):
        X, labels = reference.sample(seed, 10, 2, 2)
        labels = reference.settled(X, labels, 2, 0.5)
        if queries(X, labels) == [True, False, False]:
            break
    else:
        raise AssertionError("no such partition")
    found = critical_bandwidth(X, labels, 0.5, n_clusters=2, method="dyadic", depth=3)
    assert (found.sigma, found.below) == (1.0, 0.8)
    assert found.changed


@pytest.mark.parametrize("limiting", ["close", "movers"])
def test_limiting_looks_at_fewer_points(limiting):
    X, labels = reference.sample(1, 200, 2, 4)
    labels = reference.settled(X, labels, 4, 0.3)
    full = critical_bandwidth(X, labels, 0.3, n_clusters=4, method="dyadic", depth=8)
    limited = critical_bandwidth(X, labels, 0.3, n_clusters=4, method="dyadic", depth=8, limiting=limiting)
    assert full.checked == 1.0
    assert limited.checked < 0.7
    assert limited.sigma == full.sigma


@pytest.mark.parametrize("limiting", ["close", "movers"])
def test_limiting_takes_one_cluster(limiting):
    found = critical_bandwidth(FAR, [0, 0, 0, 0], 1.0, n_clusters=1, method="dyadic", depth=3, limiting=limiting)
    assert not found.changed


@reference.quick
@given(reference.problems(), reference.relative_bandwidths, st.integers(-495, 495))
def test_scaling_by_a_power_of_two_scales_the_value_exactly(problem, relative, exponent):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    c = 2.0**exponent
    plain, scaled = (
        critical_bandwidth(X * f, labels, sigma * f * f, n_clusters=k, method="dyadic", depth=8) for f in (1.0, c)
    )
    assert (scaled.numerator, scaled.denominator) == (plain.numerator, plain.denominator)
    assert scaled.sigma == plain.sigma * c * c


@pytest.mark.parametrize("sigma", [1.0, 1e-2, 1e-3])
@pytest.mark.parametrize("d", [2, 8])
def test_powers_of_the_kernel_are_powers_of_the_kernel(sigma, d):
    X, labels = reference.sample(2, 50, d, 3)
    bound, partition = RBF().on(X), Partition(labels, 3)
    power = PowerOfKernel(bound.pairs, partition, bound.t(sigma))
    numerator = denominator = 1
    for moved in (False, True, True, False, True, False, False, True, True, True):
        sums = power.refine(moved=moved, checked=np.ones(50, dtype=bool))
        numerator, denominator = 2 * numerator + (1 if moved else -1), 2 * denominator
        assert (power.numerator, power.denominator) == (numerator, denominator)
        K = reference.rbf(X, sigma * denominator / numerator)
        assert sums == pytest.approx(reference.cluster_sums(K, labels, 3), rel=1e-9, abs=1e-14)


def test_rows_not_checked_keep_up_their_own_cluster():
    X, labels = reference.sample(3, 40, 2, 3)
    bound, partition = RBF().on(X), Partition(labels, 3)
    checked = np.arange(40) % 3 == 0
    power = PowerOfKernel(bound.pairs, partition, bound.t(1.0))
    for _ in range(3):
        sums = power.refine(moved=False, checked=checked)
    expected = reference.cluster_sums(reference.rbf(X, 8.0), labels, 3)
    own = np.arange(40), labels
    assert sums[checked] == pytest.approx(expected[checked], rel=1e-12)
    assert sums[own] == pytest.approx(expected[own], rel=1e-12)
