"""Bounds over intervals of t: never above the truth."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import RBF, intervals
from offgrid.engine.partition import Partition
from offgrid.intervals import Interval
from offgrid.kernels import KernelOnData
from offgrid.proximity import Evaluation, evaluate


def margins(X, labels, k, sigma):
    """Own proximity minus every cluster's, from the definition."""
    delta = reference.proximities(reference.rbf(X, sigma), labels, k)
    return delta[np.arange(len(X)), labels][:, None] - delta


def ends(X, labels, k, sigma, ratio) -> tuple[KernelOnData, Partition, Evaluation, Evaluation]:
    bound, partition = RBF().on(X), Partition(labels, k)
    near = evaluate(bound.pairs, partition, bound.t(sigma))
    far = (
        intervals.at_the_end(bound.pairs, partition)
        if ratio == np.inf
        else evaluate(bound.pairs, partition, near.t / ratio)
    )
    return bound, partition, far, near


def between(sigma, ratio):
    return np.geomspace(sigma, sigma * min(ratio, 1e6), 60)


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths, st.floats(1.0001, 8.0))
def test_lower_bounds_are_lower_bounds(problem, relative, ratio):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    _, partition, far, near = ends(X, labels, k, sigma, ratio)
    form = [intervals._plain(end, partition) for end in (far, near)]
    bounds = intervals._lower_bounds(*form, near.t - far.t)
    truth = np.min([margins(X, labels, k, s) for s in between(sigma, ratio)], axis=0)
    assert (bounds <= truth + 1e-13).all()


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_lower_bounds_hold_all_the_way_to_ordinary_k_means(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    bound, partition, far, near = ends(X, labels, k, sigma, np.inf)
    form = [intervals._over_t(end, partition) for end in (far, near)]
    bounds = intervals._lower_bounds(*form, near.t)
    inhabited = partition.sizes > 0
    for s in between(sigma, 1e4):
        t = bound.t(s)
        assert (bounds <= margins(X, labels, k, s) / t + 1e-13 / t + 1e-11)[:, inhabited].all()


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths, st.sampled_from([1.01, 1.5, 4.0, np.inf]))
def test_certified_rows_are_quiet(problem, relative, ratio):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    _, partition, far, near = ends(X, labels, k, sigma, ratio)
    left = Interval(far, near).uncertified_rows(partition)
    certified = np.setdiff1d(np.arange(len(X)), left)
    for s in between(sigma, ratio):
        gains = reference.gains(reference.rbf(X, s), labels, k)
        assert (gains[certified] <= reference.TOLERANCE + reference.ROUNDING).all()


def test_something_is_certified_and_something_is_not():
    # so that the tests above cannot pass by certifying nothing
    X, labels = reference.sample(0, 40, 2, 3)
    labels = reference.settled(X, labels, 3, 0.5)
    _, partition, far, near = ends(X, labels, 3, 0.5, 3.0)
    assert 0 < len(Interval(far, near).uncertified_rows(partition)) < 40


def test_bounds_are_tight_over_short_intervals():
    X, labels = reference.sample(1, 30, 2, 3)
    _, partition, far, near = ends(X, labels, 3, 0.5, 1.001)
    form = [intervals._plain(end, partition) for end in (far, near)]
    truth = np.min([margins(X, labels, 3, s) for s in between(0.5, 1.001)], axis=0)
    assert np.abs(truth - intervals._lower_bounds(*form, near.t - far.t)).max() < 1e-6


@reference.quick
@given(reference.problems())
def test_the_end_is_ordinary_k_means(problem):
    X, labels, k = problem
    bound, partition = RBF().on(X), Partition(labels, k)
    form = intervals._over_t(intervals.at_the_end(bound.pairs, partition), partition)
    for j in range(k):
        if (labels == j).any():
            to_j = ((X - X[labels == j].mean(axis=0)) ** 2).sum(axis=1)
            to_own = np.array(
                [((x - X[labels == own].mean(axis=0)) ** 2).sum() for x, own in zip(X, labels, strict=True)]
            )
            assert form.value[:, j] * bound.unit == pytest.approx(2 * (to_j - to_own), rel=1e-9, abs=1e-11)


@reference.quick
@given(reference.problems(), reference.relative_bandwidths)
def test_slopes_are_derivatives(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    bound, partition = RBF().on(X), Partition(labels, k)
    t = bound.t(sigma)
    h = 1e-5 * t
    for form in (intervals._plain, intervals._over_t):
        low, here, high = (form(evaluate(bound.pairs, partition, s), partition) for s in (t - h, t, t + h))
        scale = max(1.0, 1 / t, 1 / t**2)
        assert here.slope == pytest.approx((high.value - low.value) / (2 * h), rel=1e-5, abs=1e-5 * scale)


@reference.quick
@given(reference.problems(), reference.relative_bandwidths)
def test_a_partition_that_holds_to_the_end_does(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    bound, partition = RBF().on(X), Partition(labels, k)
    if intervals.holds_to_the_end(bound.pairs, partition, evaluate(bound.pairs, partition, bound.t(sigma))):
        assert reference.lloyd_gains(X, labels, k).max() <= 1e-11 * reference.scale_of(X)
        assert all(reference.quiet(X, labels, k, s) for s in between(sigma, 1e6))


def test_an_empty_cluster_is_not_forgotten_on_the_way_to_the_end():
    X = reference.lonely_point()[0][:5]
    bound, partition, far, near = ends(X, np.zeros(5, dtype=int), 2, 1.0, np.inf)
    assert 4 in Interval(far, near).uncertified_rows(partition)
    assert not intervals.holds_to_the_end(bound.pairs, partition, near)


def test_two_far_groups_hold_to_the_end_and_a_bad_partition_does_not():
    bound = RBF().on([[0.0], [1.0], [10.0], [11.0]])
    good, bad = Partition(np.array([0, 0, 1, 1]), 2), Partition(np.array([0, 1, 0, 1]), 2)
    assert intervals.holds_to_the_end(bound.pairs, good, evaluate(bound.pairs, good, bound.t(50.0)))
    assert not intervals.holds_to_the_end(bound.pairs, bad, evaluate(bound.pairs, bad, bound.t(50.0)))


def test_the_smallest_margin_and_where_to_cut():
    X, labels = reference.sample(2, 30, 2, 3)
    sigma = 0.4
    labels = reference.settled(X, labels, 3, sigma)
    _, partition, far, near = ends(X, labels, 3, sigma, 40.0)
    values = margins(X, labels, 3, sigma)
    values[np.arange(30), labels] = np.inf
    assert intervals.smallest_margin(near, partition)[0] == pytest.approx(values.min(), abs=1e-13)
    interval = Interval(far, near)
    assert far.t < interval.middle() < near.t
    assert interval.middle() == pytest.approx(np.sqrt(far.t * near.t))
    assert far.t < interval.cut(partition, 2**-20) < near.t
    assert Interval(intervals.at_the_end(RBF().on(X).pairs, partition), near).middle() == near.t / 4
