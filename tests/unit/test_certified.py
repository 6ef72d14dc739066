"""The certified search: nothing below, something at the value, nothing stepped over."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from offgrid import critical_bandwidth

RTOL = 2.0**-20


def check(X, labels, k, sigma, found, rtol=RTOL):
    scale = reference.scale_of(X)
    if found.changed:
        assert sigma * reference.LAST_BIT <= found.below <= found.sigma
        assert found.sigma <= found.below * (1 + rtol * (1 + 1e-9))
        assert reference.moves(X, labels, k, found.sigma)
        assert len(found.moved)
    else:
        assert found.sigma == found.below == math.inf
        assert reference.lloyd_gains(X, labels, k).max() <= 1e-9 * scale
        assert len(found.moved) == 0
    for s in np.geomspace(sigma, min(found.below, 1e5 * scale + sigma), 150):
        assert reference.quiet(X, labels, k, s)
    assert np.array_equal(np.flatnonzero(found.labels != labels), found.moved)


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_quiet_below_and_moving_at_the_value(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    check(X, labels, k, sigma, critical_bandwidth(X, labels, sigma, n_clusters=k))


@reference.quick
@given(reference.problems(), reference.relative_bandwidths, st.sampled_from([0.1, 1e-3, 1e-9, 1e-12]))
def test_rtol_is_kept(problem, relative, rtol):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    found = critical_bandwidth(X, labels, sigma, n_clusters=k, rtol=rtol)
    if found.changed and found.sigma > sigma:
        assert found.sigma / found.below - 1 <= rtol + 1e-15
        assert reference.moves(X, labels, k, found.sigma)


@pytest.mark.parametrize("n", [3, 11, 40])
def test_a_value_in_closed_form(n):
    # {0} and {1, b}: 1 changes sides where 2 u > (3 + u**m) / 2, with u = exp(-1 / sigma) and m = (b - 1)**2
    b = 1.0 + math.sqrt(n + 2)
    u = brentq(lambda v: v ** (n + 2) - 4 * v + 3, 0.5, 0.9999 - 0.5 / (n + 2))
    found = critical_bandwidth([[0.0], [1.0], [b]], [0, 1, 1], 0.2, n_clusters=2)
    assert found.moved.tolist() == [1]
    assert found.labels.tolist() == [0, 0, 1]
    assert found.below * (1 - 1e-11) <= -1 / math.log(u) <= found.sigma * (1 + 1e-11)


def test_no_value_where_k_means_agrees():
    found = critical_bandwidth([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], 1.0, n_clusters=2)
    assert found.sigma == math.inf
    assert found.below == math.inf
    assert not found.changed
    assert found.labels.tolist() == [0, 0, 1, 1]


# Quiet from 0.3 on, moving from 0.4513 to 0.4853, quiet again, and moving from 0.6614 on.
WINDOW = np.array([
    [1.17, -0.81], [-1.38, 0.39], [-0.4, 0.68], [1.87, 0.29], [1.37, -0.98], [2.01, 0.05], [-0.58, -1.63],
    [0.69, -0.81], [-0.35, -1.42],
])  # fmt: skip
WINDOW_LABELS = np.array([0, 1, 1, 0, 0, 1, 2, 1, 2])


def test_a_window_is_not_stepped_over():
    quiet = [
        reference.quiet(WINDOW, WINDOW_LABELS, 3, sigma) for sigma in (0.3, 0.45, 0.453, 0.48, 0.487, 0.655, 0.665)
    ]
    assert quiet == [True, True, False, False, True, True, False]
    found = critical_bandwidth(WINDOW, WINDOW_LABELS, 0.3, n_clusters=3)
    assert found.sigma == pytest.approx(0.4513, abs=1e-3)
    check(WINDOW, WINDOW_LABELS, 3, 0.3, found)
    # the paper's method looks at 0.6 first, and never again below
    assert critical_bandwidth(WINDOW, WINDOW_LABELS, 0.3, n_clusters=3, method="dyadic").sigma > 0.655


@reference.quick
@given(reference.problems(), reference.relative_bandwidths, st.integers(-495, 495))
def test_scaling_by_a_power_of_two_scales_the_value_exactly(problem, relative, exponent):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    c = 2.0**exponent
    plain = critical_bandwidth(X, labels, sigma, n_clusters=k)
    scaled = critical_bandwidth(X * c, labels, sigma * c * c, n_clusters=k)
    assert scaled.sigma == plain.sigma * c * c
    assert scaled.below == plain.below * c * c
    assert np.array_equal(scaled.labels, plain.labels)


def brackets_meet(one, other, factor=1.0):
    """Both are brackets of the same value, up to rounding."""
    slack = 1 + 1e-9
    return one.below * factor <= other.sigma * slack and other.below <= one.sigma * factor * slack


@reference.quick
@given(reference.problems(grids=False), reference.relative_bandwidths, st.floats(1e-3, 1e3))
def test_scaling_by_c_scales_the_value_by_c_squared(problem, relative, c):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    plain = critical_bandwidth(X, labels, sigma, n_clusters=k)
    scaled = critical_bandwidth(X * c, labels, sigma * c * c, n_clusters=k)
    assert scaled.changed == plain.changed
    if plain.changed:
        assert brackets_meet(plain, scaled, c * c)


@reference.quick
@given(reference.problems(grids=False), reference.relative_bandwidths, st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_the_names_of_clusters_matter(problem, relative, random):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    order = np.array(random.sample(range(len(X)), len(X)))
    names = np.array(random.sample(range(k), k))
    plain = critical_bandwidth(X, labels, sigma, n_clusters=k)
    other = critical_bandwidth(X[order], names[labels][order], sigma, n_clusters=k)
    assert other.changed == plain.changed
    if plain.changed:
        assert brackets_meet(plain, other)


def test_an_empty_cluster_is_not_forgotten_on_the_way_to_k_means():
    # the last point's proximity to its own cluster falls below 0 and rises again, while everything looks settled
    X, labels = reference.lonely_point()
    assert reference.quiet(X, labels, 3, 1.0)
    assert reference.squared_distances(X).mean() < 1.0
    found = critical_bandwidth(X, labels, 1.0, n_clusters=3)
    assert found.labels[4] == 1
    assert found.moved.tolist() == [4]
    check(X, labels, 3, 1.0, found)


@pytest.mark.parametrize("d", [1, 2, 8])
def test_clusters_of_equal_rows_are_a_tie_at_every_bandwidth(d):
    # every margin is 0 for ever: there is nothing to certify, and nothing to look for
    X = np.repeat(reference.sample(5, 12, d, 1)[0], 2, axis=0)
    labels = np.arange(24) % 2
    found = critical_bandwidth(X, labels, 0.1, n_clusters=2)
    assert found.sigma == math.inf
    assert found.uncertified > 0
    assert found.passes < 2000


def test_a_tie_hides_no_move_of_other_points():
    # {0, 5} twice, as before, beside a group whose point at 101 will move
    X = np.array([[0.0], [0.0], [5.0], [5.0], [100.0], [101.0], [105.0]])
    labels = np.array([0, 1, 0, 1, 2, 3, 3])
    found = critical_bandwidth(X, labels, 0.2, n_clusters=4)
    assert found.moved.tolist() == [5]
    assert found.sigma == pytest.approx(critical_bandwidth(X[4:], [0, 1, 1], 0.2, n_clusters=2).sigma, rel=1e-5)


def test_equal_rows_in_different_clusters_do_not_take_for_ever():
    # the margins of the equal rows creep from 0 to the tolerance
    X, labels = np.array([[0.0], [0.0], [1.0], [1.1]]), np.array([0, 1, 1, 0])
    found = critical_bandwidth(X, labels, 5e-4, n_clusters=2)
    assert found.changed
    assert reference.moves(X, labels, 2, found.sigma)
    assert reference.quiet(X, labels, 2, found.below)
    assert found.passes < 1000


def test_far_outliers_in_a_cluster_are_no_trouble():
    X, _ = reference.sample(0, 20, 2, 1)
    X = np.vstack([X, [[1e7, 0.0]], [[3e7, 1e7]], [[-1e8, 0.0]]])
    for seed in range(6):
        labels = reference.settled(X, np.random.default_rng(seed).integers(3, size=23), 3, 0.5)
        found = critical_bandwidth(X, labels, 0.5, n_clusters=3)
        assert reference.moves(X, labels, 3, found.sigma)
        for s in np.geomspace(0.5, found.below, 300):
            assert reference.quiet(X, labels, 3, s)


@pytest.mark.parametrize("sigma", [1e-300, 1e-100, 1e-20])
def test_a_start_far_below_the_frozen_zone_s_end(sigma):
    X, labels = reference.sample(3, 20, 2, 2)
    found = critical_bandwidth(X, labels, sigma, n_clusters=2)
    usual = critical_bandwidth(X, labels, 1e-4, n_clusters=2)
    assert brackets_meet(found, usual)


@pytest.mark.parametrize("sigma", [1e11, 1e13, 1e20, 1e300])
def test_a_start_far_beyond_the_last_change(sigma):
    X, labels = reference.sample(3, 20, 2, 2)
    good = reference.settled(X, labels, 2, 100.0)
    assert critical_bandwidth(X, good, sigma, n_clusters=2).sigma == math.inf
    # any partition at all is quiet once the kernel is 1 up to the tolerance
    found = critical_bandwidth(X, labels, 1e3 * sigma, n_clusters=2) if sigma >= 1e13 else None
    assert found is None or found.sigma == math.inf
