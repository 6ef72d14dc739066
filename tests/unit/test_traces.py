"""Traces of the methods: each number against the library, or by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from offgrid import KernelKMeans, bandwidth_lower_bound, critical_bandwidth, fast_power
from offgrid.datasets import load, tight_example
from offgrid.errors import InputError
from offgrid.traces import frozen_zone, hunts, lloyd_steps, power_rounds, tight_example_zone

FLAME = load("flame").X


def moved_by_definition(squares, labels, sigma):
    """Return the rows of larger proximity to the other of two clusters, straight from the definition."""
    kernel = np.exp(-squares / sigma)
    proximity = np.empty((len(kernel), 2))
    for cluster in (0, 1):
        inside = labels == cluster
        proximity[:, cluster] = 2 * kernel[:, inside].mean(axis=1) - kernel[np.ix_(inside, inside)].mean()
    rows = np.arange(len(kernel))
    return np.flatnonzero(proximity[rows, 1 - labels] > proximity[rows, labels] + 1e-12).tolist()


class TestFrozenZone:
    def test_the_zone_of_flame_is_the_library_s(self):
        labels = np.random.RandomState(0).randint(2, size=len(FLAME))
        zone = frozen_zone(FLAME, labels, 2)
        assert zone.bound == bandwidth_lower_bound(FLAME)
        assert zone.first == critical_bandwidth(FLAME, labels, zone.bound, n_clusters=2).sigma
        assert math.exp(-zone.closest / zone.bound) == pytest.approx(1 / (3 * len(FLAME)), rel=1e-12)
        assert {zone.bound, zone.first} <= set(zone.sigmas)
        assert (np.diff(zone.sigmas) > 0).all()
        squares = ((FLAME[:, None] - FLAME[None]) ** 2).sum(axis=2)
        assert zone.closest == pytest.approx(squares[squares > 0].min(), rel=1e-12)
        assert zone.sigmas[-1] >= squares.max()
        for sigma, moved in zip(zone.sigmas, zone.moved, strict=True):
            assert moved.tolist() == moved_by_definition(squares, labels, sigma)

    def test_nothing_moves_before_the_first_value(self):
        zone = frozen_zone(FLAME, np.random.RandomState(3).randint(2, size=len(FLAME)), 2)
        counts = [len(moved) for moved in zone.moved]
        at = int(np.searchsorted(zone.sigmas, zone.first))
        assert counts[:at] == [0] * at
        assert counts[at] > 0
        assert zone.bound < zone.first

    @pytest.mark.parametrize("n", [8, 24, 100])
    def test_the_tight_example_moves_one_point_a_constant_factor_above_the_bound(self, n):
        squares, labels = tight_example(n)
        zone = tight_example_zone(n)
        assert zone.bound == 1 / math.log(3 * n)
        for sigma, moved in zip(zone.sigmas, zone.moved, strict=True):
            assert moved.tolist() == moved_by_definition(squares, labels, sigma)
            assert moved.tolist() == ([] if sigma < zone.first else [n - 1])
        assert 1 < zone.first / zone.bound < 4

    def test_scaling_the_tight_example_scales_its_zone(self):
        one, many = tight_example_zone(16), tight_example_zone(16, 250.0)
        assert many.first / many.bound == pytest.approx(one.first / one.bound, rel=1e-5)
        assert many.bound == pytest.approx(250 * one.bound)

    def test_equal_rows_have_no_zone(self):
        with pytest.raises(InputError, match="no bound"):
            frozen_zone([[0.0], [1.0], [0.0]], [0, 1, 0], 2)


class TestLloydSteps:
    @pytest.mark.parametrize(("sigma", "seed"), [(0.5, 0), (2.0, 2), (5.0, 1), (1e4, 3)])
    def test_they_are_what_the_estimator_does(self, sigma, seed):
        found = lloyd_steps(FLAME, 2, sigma, seed=seed)
        model = KernelKMeans(2, sigma=sigma, random_state=seed).fit(FLAME)
        assert found.converged
        assert np.array_equal(found.steps[-1].labels, model.labels_)
        assert [step.objective for step in found.steps] == pytest.approx(list(model.objectives_), rel=1e-10)
        assert len(found.steps) == model.n_iter_ + 1

    def test_the_objective_never_rises_and_moved_rows_are_those_whose_labels_change(self):
        found = lloyd_steps(FLAME, 2, 5.0, seed=1)
        objectives = [step.objective for step in found.steps]
        assert objectives == sorted(objectives, reverse=True)
        for before, after in zip(found.steps, found.steps[1:], strict=False):
            assert np.flatnonzero(before.labels != after.labels).tolist() == after.moved.tolist()
            assert len(after.moved) > 0

    def test_a_budget_of_iterations_is_told(self):
        found = lloyd_steps(FLAME, 2, 5.0, seed=1, max_iter=3)
        assert not found.converged
        assert len(found.steps) == 4


class TestPowerRounds:
    def test_by_hand(self):
        found = power_rounds(10.0, 2.3, 4)
        assert (found.whole, round(found.fraction, 12), found.target) == (2, 0.3, 10.0**2.3)
        # 0.3 lies below 1/1, 1/2, above 1/4, below 3/8, 5/16
        assert [(r.numerator, r.denominator) for r in found.rounds] == [(1, 1), (1, 2), (1, 4), (3, 8), (5, 16)]
        assert [r.multiplied for r in found.rounds] == [None, False, False, True, False]
        assert [r.value for r in found.rounds] == pytest.approx([10 ** (2 + e) for e in (1, 0.5, 0.25, 0.375, 0.3125)])
        assert [r.root for r in found.rounds] == pytest.approx([10 ** (1 / d) for d in (1, 2, 4, 8, 16)])
        assert not found.exact

    @pytest.mark.parametrize(("base", "exponent"), [(10.0, 2.3), (0.02, 0.7), (3.0, 5.999), (1e6, 1e-3)])
    def test_every_round_lies_in_its_band_and_is_the_library_s(self, base, exponent):
        for item in power_rounds(base, exponent, 20).rounds:
            assert item.value == fast_power(base, exponent, item.number)
            slack = 1e-12 * item.value
            assert item.low - slack <= item.value <= item.high + slack
            assert abs(item.numerator / item.denominator - exponent % 1) <= 1 / item.denominator

    def test_a_dyadic_exponent_ends_early(self):
        found = power_rounds(16.0, 2.75, 20)
        assert found.exact
        assert len(found.rounds) == 3
        assert found.rounds[-1].value == 2048.0

    def test_a_whole_exponent_has_no_rounds(self):
        found = power_rounds(3.0, 4.0, 5)
        assert found.exact
        assert [item.value for item in found.rounds] == [81.0]

    @pytest.mark.parametrize(("base", "exponent", "depth"), [(-1.0, 2.0, 3), (1e6, 200.0, 3), (2.0, -1.0, 3)])
    def test_what_cannot_be_done_is_refused(self, base, exponent, depth):
        with pytest.raises(InputError):
            power_rounds(base, exponent, depth)


class TestHunts:
    @pytest.mark.parametrize(("sigma", "seed"), [(5.0, 0), (10.0, 0), (0.5, 2)])
    def test_all_end_at_the_same_value_within_their_brackets(self, sigma, seed):
        found = hunts(FLAME, 2, sigma, seed=seed)
        exact = found.of("certified")
        for hunt in found.hunts:
            last = hunt.queries[-1]
            assert (last.look.below, last.above) == pytest.approx((hunt.below, hunt.sigma), rel=1e-14)
            assert last.look.passes == hunt.passes
            assert hunt.below <= exact.sigma
            assert hunt.sigma >= exact.below
        assert exact.sigma / exact.below - 1 <= 2**-20
        # the dyadic exponent is off by 2**-10 at most, bisection by 1e-3
        assert found.of("dyadic").sigma == pytest.approx(exact.sigma, rel=2e-2)
        assert found.of("bisection").sigma == pytest.approx(exact.sigma, abs=1.1e-3)
        passes = {hunt.method: hunt.passes for hunt in found.hunts}
        assert passes["certified"] < passes["dyadic"] < passes["bisection"]

    @pytest.mark.parametrize("method", ["certified", "dyadic", "newton", "bisection"])
    def test_being_watched_changes_nothing(self, method):
        labels = hunts(FLAME, 2, 5.0).labels
        looks = []
        watched = critical_bandwidth(FLAME, labels, 5.0, n_clusters=2, method=method, observe=looks.append)
        alone = critical_bandwidth(FLAME, labels, 5.0, n_clusters=2, method=method)
        assert (watched.sigma, watched.below, watched.passes) == (alone.sigma, alone.below, alone.passes)
        assert looks[-1].passes == alone.passes
        assert [look.passes for look in looks] == sorted(look.passes for look in looks)
        assert {look.rows for look in looks} <= set(range(1, len(FLAME) + 1))

    def test_certified_quiet_is_quiet(self):
        found = hunts(FLAME, 2, 10.0)
        squares = ((FLAME[:, None] - FLAME[None]) ** 2).sum(axis=2)
        quiet = [query.look.below for query in found.of("certified").queries]
        assert quiet == sorted(quiet)
        for sigma in np.linspace(found.start, quiet[-1], 40):
            assert moved_by_definition(squares, found.labels, sigma) == []
        for hunt in found.hunts:
            for query in hunt.queries:
                assert query.moves == bool(moved_by_definition(squares, found.labels, query.look.sigma))

    def test_dyadic_exponents_are_halved(self):
        found = hunts(FLAME, 2, 5.0, depth=6).of("dyadic")
        exponents = [5.0 / query.look.sigma * 2**i for i, query in enumerate(found.queries, start=1)]
        assert exponents == pytest.approx([round(value) for value in exponents])
        assert len(found.queries) == 6
        assert exponents[0] == pytest.approx(1)

    def test_a_clustering_that_never_changes_has_no_value(self):
        found = hunts([[0.0], [1.0], [50.0], [51.0]], 2, 30.0, seed=1)
        exact = found.of("certified")
        assert math.isinf(exact.sigma)
        assert math.isinf(exact.queries[-1].look.sigma)
        assert not any(query.moves for hunt in found.hunts for query in hunt.queries)
        assert all(math.isinf(query.width) for query in exact.queries)
