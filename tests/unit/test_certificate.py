"""Bounds over intervals of t: never above the truth; and what is done with them."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import RBF, certified, rootfinding
from offgrid.engine import certificate, descent
from offgrid.engine import margins as m
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
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
        certified._at_the_end(bound.pairs, partition)
        if ratio == np.inf
        else evaluate(bound.pairs, partition, near.t / ratio)
    )
    return bound, partition, far, near


def in_parts(evaluation, partition, *, limit):
    """The margins of all rows against every cluster, (n, 4, k)."""
    k = partition.n_clusters
    norms, means, parts = np.empty((2, k)), np.empty((2, k)), np.empty((len(evaluation.sums), 4, k))
    shares = partition.inverse_sizes
    m.to_means(limit, evaluation.t, m.squares(shares), evaluation.self_sums, evaluation.self_slopes, *norms)
    for i, own in enumerate(partition.labels):
        m.to_means(limit, evaluation.t, shares, evaluation.sums[i], evaluation.slopes[i], *means)
        m.row_margins(limit, *means, *norms, own, parts[i])
    return parts


def value(parts):
    return parts[:, m.PLUS] - parts[:, m.MINUS]


def slope(parts):
    return parts[:, m.PLUS_SLOPE] - parts[:, m.MINUS_SLOPE]


def bounds_between(far, near, partition):
    limit = far.t == 0.0
    ends = [in_parts(end, partition, limit=limit) for end in (far, near)]
    bounds = np.empty_like(near.sums)
    for i in range(len(bounds)):
        m.lower_bounds(ends[0][i], ends[1][i], near.t - far.t, bounds[i])
    return bounds


def open_rows(far, near, partition):
    return np.flatnonzero(certified._open_rows(partition, far, near, limit=far.t == 0.0))


def between(sigma, ratio):
    return np.geomspace(sigma, sigma * min(ratio, 1e6), 60)


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths, st.floats(1.0001, 8.0))
def test_lower_bounds_are_lower_bounds(problem, relative, ratio):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    _, partition, far, near = ends(X, labels, k, sigma, ratio)
    bounds = bounds_between(far, near, partition)
    truth = np.min([margins(X, labels, k, s) for s in between(sigma, ratio)], axis=0)
    assert (bounds <= truth + 1e-13).all()


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_lower_bounds_hold_all_the_way_to_ordinary_k_means(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    bound, partition, far, near = ends(X, labels, k, sigma, np.inf)
    bounds = bounds_between(far, near, partition)
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
    left = open_rows(far, near, partition)
    certified = np.setdiff1d(np.arange(len(X)), left)
    for s in between(sigma, ratio):
        gains = reference.gains(reference.rbf(X, s), labels, k)
        assert (gains[certified] <= reference.TOLERANCE + reference.ROUNDING).all()


def test_something_is_certified_and_something_is_not():
    # so that the tests above cannot pass by certifying nothing
    X, labels = reference.sample(0, 40, 2, 3)
    labels = reference.settled(X, labels, 3, 0.5)
    _, partition, far, near = ends(X, labels, 3, 0.5, 3.0)
    assert 0 < len(open_rows(far, near, partition)) < 40


def test_bounds_are_tight_over_short_intervals():
    X, labels = reference.sample(1, 30, 2, 3)
    _, partition, far, near = ends(X, labels, 3, 0.5, 1.001)
    truth = np.min([margins(X, labels, 3, s) for s in between(0.5, 1.001)], axis=0)
    assert np.abs(truth - bounds_between(far, near, partition)).max() < 1e-6


@reference.quick
@given(reference.problems())
def test_the_end_is_ordinary_k_means(problem):
    X, labels, k = problem
    bound, partition = RBF().on(X), Partition(labels, k)
    end = value(in_parts(certified._at_the_end(bound.pairs, partition), partition, limit=True))
    for j in range(k):
        if (labels == j).any():
            to_j = ((X - X[labels == j].mean(axis=0)) ** 2).sum(axis=1)
            to_own = np.array(
                [((x - X[labels == own].mean(axis=0)) ** 2).sum() for x, own in zip(X, labels, strict=True)]
            )
            assert end[:, j] * bound.unit == pytest.approx(2 * (to_j - to_own), rel=1e-9, abs=1e-11)


@reference.quick
@given(reference.problems(), reference.relative_bandwidths)
def test_slopes_are_derivatives(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    bound, partition = RBF().on(X), Partition(labels, k)
    t = bound.t(sigma)
    h = 1e-5 * t
    for limit in (False, True):
        low, here, high = (
            in_parts(evaluate(bound.pairs, partition, s), partition, limit=limit) for s in (t - h, t, t + h)
        )
        scale = max(1.0, 1 / t, 1 / t**2)
        assert slope(here) == pytest.approx((value(high) - value(low)) / (2 * h), rel=1e-5, abs=1e-5 * scale)


@reference.quick
@given(reference.problems(), reference.relative_bandwidths)
def test_a_partition_that_holds_to_the_end_does(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    bound, partition = RBF().on(X), Partition(labels, k)
    if certified.holds_to_the_end(bound.pairs, partition, evaluate(bound.pairs, partition, bound.t(sigma))):
        assert reference.lloyd_gains(X, labels, k).max() <= 1e-11 * reference.scale_of(X)
        assert all(reference.quiet(X, labels, k, s) for s in between(sigma, 1e6))


def test_an_empty_cluster_is_not_forgotten_on_the_way_to_the_end():
    X = reference.lonely_point()[0][:5]
    bound, partition, far, near = ends(X, np.zeros(5, dtype=int), 2, 1.0, np.inf)
    assert 4 in open_rows(far, near, partition)
    assert not certified.holds_to_the_end(bound.pairs, partition, near)


def test_two_far_groups_hold_to_the_end_and_a_bad_partition_does_not():
    bound = RBF().on([[0.0], [1.0], [10.0], [11.0]])
    good, bad = Partition(np.array([0, 0, 1, 1]), 2), Partition(np.array([0, 1, 0, 1]), 2)
    assert certified.holds_to_the_end(bound.pairs, good, evaluate(bound.pairs, good, bound.t(50.0)))
    assert not certified.holds_to_the_end(bound.pairs, bad, evaluate(bound.pairs, bad, bound.t(50.0)))


def test_the_smallest_margin():
    X, labels = reference.sample(2, 30, 2, 3)
    labels = reference.settled(X, labels, 3, 0.4)
    _, partition, _, near = ends(X, labels, 3, 0.4, 40.0)
    values = margins(X, labels, 3, 0.4)
    values[np.arange(30), labels] = np.inf
    assert rootfinding._smallest_margin(near, partition)[0] == pytest.approx(values.min(), abs=1e-13)


# ---------------------------------------------------------------------------------------------- where to look


def chain_of(far, near, partition):
    rows = open_rows(far, near, partition)
    chain = certificate.new_chain(partition.inverse_sizes, rows, far.t == 0.0)
    for end in (far, near):
        certificate.append(chain, end.t, end.sums, end.slopes, end.self_sums, end.self_slopes)
    return chain


@reference.quick
@given(reference.problems(), reference.relative_bandwidths, st.sampled_from([1.5, 4.0, np.inf]))
def test_a_look_is_inside_the_piece_at_hand(problem, relative, ratio):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    bound, partition, far, near = ends(X, labels, k, sigma, ratio)
    chain = chain_of(far, near, partition)
    if certificate.next_look(chain, partition.labels, bound.pairs.largest, 2**-20) == certificate.LOOK:
        assert far.t < chain.reals[certificate.LOOK_T] < near.t


def test_a_crossing_is_the_first_on_the_way():
    # two straight margins: one vanishes a quarter of the way from the far end, the other half way; the third never does
    far, near = np.zeros((4, 3)), np.zeros((4, 3))
    far[m.PLUS] = [-1.0, -2.0, 1.0]
    near[m.PLUS] = [3.0, 2.0, 5.0]
    far[m.PLUS_SLOPE] = near[m.PLUS_SLOPE] = (near[m.PLUS] - far[m.PLUS]) / 10.0
    shares = np.ones(3)
    assert m.crossing(far, near, shares, 10.0, -1.0) == pytest.approx(0.5)
    assert m.crossing(far[:, [0, 2]].copy(), near[:, [0, 2]].copy(), np.ones(2), 10.0, -1.0) == pytest.approx(0.25)
    assert m.crossing(far, near, np.array([1.0, 0.0, 1.0]), 10.0, -1.0) == pytest.approx(0.25)
    assert m.crossing(far, near, shares, 10.0, 0.7) == 0.7
    assert m.crossing(far[:, 2:].copy(), near[:, 2:].copy(), np.ones(1), 10.0, -1.0) == -1.0


@pytest.mark.parametrize("capacity", [3, 4, 5])
@pytest.mark.parametrize("seed", [5, 6, 7])
def test_a_chain_without_room_makes_way_for_another_and_finds_the_same(capacity, seed, monkeypatch):
    X, labels = reference.sample(seed, 60, 2, 3)
    labels = reference.settled(X, labels, 3, 0.4)
    _, partition, _, near = ends(X, labels, 3, 0.4, 2.0)
    pairs = Pairs.from_points(X)
    near = evaluate(pairs, partition, near.t)
    found = certified.find(pairs, partition, near, rtol=2**-20)
    assert found.t > 0
    roomy, full = certificate.new_chain, []

    def cramped(shares, rows, limit):
        chain = roomy(shares, rows, limit)
        names = ("slots", "t", "means", "mean_slopes", "norms", "norm_slopes", "left", "halve")
        return chain._replace(**{name: np.ascontiguousarray(getattr(chain, name)[:capacity]) for name in names})

    monkeypatch.setattr(certificate, "new_chain", cramped)
    monkeypatch.setattr(Pairs, "worth_threads", True)
    end_of = certificate.piece_at_hand
    monkeypatch.setattr(certificate, "piece_at_hand", lambda chain: full.append(1) or end_of(chain))
    again = certified.find(pairs, partition, near, rtol=2**-20)
    assert full or capacity > 3
    assert again.t <= again.quiet_to <= again.t * (1 + 2**-20)
    # both brackets hold the critical value
    assert max(again.t, found.t) <= min(again.quiet_to, found.quiet_to)
    assert np.array_equal(again.labels, found.labels)


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths, st.sampled_from([0, 100, 1 << 62]))
def test_the_compiled_descent_and_the_one_over_threads_are_one(problem, relative, budget):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    bound, partition = RBF().on(X), Partition(labels, k)
    start = evaluate(bound.pairs, partition, bound.t(sigma))
    results = []
    for threads in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pairs, "worth_threads", threads)
            patch.setattr(certified, "SERIAL_COST", budget)
            before = bound.pairs.entries
            found = certified.find(bound.pairs, partition, start, rtol=2**-20)
        results.append(
            (found.t, found.quiet_to, found.labels.tolist(), found.uncertified, bound.pairs.entries - before)
        )
    assert results[0] == results[1]


def test_how_far_ahead():
    # a little past the crossing, never further than the ratio, and to the end where the kernel is flat
    assert descent.far_end(1.0, 0.9, 10.0, 1.5, 0.0, np.inf) == pytest.approx(0.9**1.3)
    assert descent.far_end(1.0, 0.1, 10.0, 1.5, 0.0, np.inf) == pytest.approx(1 / 1.5)
    assert descent.far_end(1.0, 0.999, 10.0, 1.5, 0.0, np.inf) == pytest.approx(1 / 1.02)
    assert descent.far_end(1.0, 0.0, 10.0, 1.5, 0.0, np.inf) == pytest.approx(1 / 1.5)
    assert descent.far_end(1.0, 0.0, 10.0, 1.5, 0.8, np.inf) == 0.8
    assert descent.far_end(1.0, 0.0, 0.5, 1.5, 0.0, np.inf) == 0.0
    assert descent.far_end(1.0, 0.0, 0.5, 1.5, 0.0, 1.0) == pytest.approx(1 / 1.5)
    assert descent.widened(1.5, 0) == 2.25
    assert descent.widened(1e300, 0) < np.inf
    assert descent.widened(7.0, 3) == 1.5
