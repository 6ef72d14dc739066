"""c-NNC, NMI and ARI against their definitions and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from offgrid import InputError
from offgrid.metrics import (
    adjusted_rand_index,
    nearest_neighbour_cost,
    neighbour_ranks,
    normalized_mutual_information,
)

label_pairs = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


# ---------------------------------------------------------------------------------------------- c-NNC


def test_cost_by_hand():
    # neighbours of 0: 1 (own), 10, 11; strangers among the first c: 0, 1, 2 of c; the same for every point
    scale = np.log(3) + np.euler_gamma + 1 / 6
    assert nearest_neighbour_cost([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], 2) == pytest.approx(
        (1 / 4 + 2 / 9) / scale
    )


@reference.thorough
@given(reference.problems())
def test_cost_is_the_definition_s(problem):
    X, labels, k = problem
    assert nearest_neighbour_cost(X, labels, k) == pytest.approx(
        reference.nearest_neighbour_cost(X, labels, k), abs=1e-13
    )


def test_one_cluster_costs_nothing_and_empty_ones_cost_1():
    X, _ = reference.sample(0, 10, 2, 1)
    assert nearest_neighbour_cost(X, np.zeros(10, dtype=int), 1) == 0.0
    assert nearest_neighbour_cost(X, np.zeros(10, dtype=int), 4) == 0.75


def test_singletons_cost_nearly_1():
    X, _ = reference.sample(1, 30, 2, 1)
    assert nearest_neighbour_cost(X, np.arange(30), 30) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_cost_has_no_scale(scale):
    X, labels = reference.sample(2, 25, 3, 3)
    assert nearest_neighbour_cost(X * scale, labels, 3) == pytest.approx(
        nearest_neighbour_cost(X, labels, 3), rel=1e-12
    )


def test_ranks_serve_many_partitions():
    X, labels = reference.sample(3, 40, 2, 3)
    ranks = neighbour_ranks(X)
    assert ranks.exact
    for shift in range(4):
        other = (labels + np.arange(40) // 10 * shift) % 3
        cost = ranks.cost(other, 3)
        assert cost.value == nearest_neighbour_cost(X, other, 3)
        assert cost.standard_error == 0.0


def test_a_sample_of_rows_estimates_the_cost_and_its_error():
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(90, 2)) + 1.5, rng.normal(size=(60, 2)) - [2, 0]])
    labels = np.repeat([0, 1, 2], [150, 90, 60])
    exact = neighbour_ranks(X).cost(labels, 4).value
    estimates = [neighbour_ranks(X, memory_limit=2 * 300 * 75, random_state=seed) for seed in range(200)]
    assert not any(ranks.exact for ranks in estimates)
    assert {len(ranks.rows) for ranks in estimates} == {75}
    costs = [ranks.cost(labels, 4) for ranks in estimates]
    errors = np.array([cost.value - exact for cost in costs])
    stated = np.array([cost.standard_error for cost in costs])
    assert np.abs(errors / stated).max() < 5.0
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(200)
    assert 0.8 < np.sqrt(np.mean(stated**2)) / errors.std() < 1.25


def test_more_rows_make_the_error_smaller():
    X, labels = reference.sample(5, 300, 2, 3)
    errors = [neighbour_ranks(X, memory_limit=2 * 300 * m).cost(labels, 3).standard_error for m in (20, 80, 290, 300)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0.0 < errors[-2]


def test_a_sample_that_misses_a_cluster_still_has_a_cost():
    X, _ = reference.sample(6, 100, 2, 1)
    labels = np.r_[np.zeros(98, dtype=int), 1, 2]
    cost = neighbour_ranks(X, memory_limit=2 * 100 * 5, random_state=1).cost(labels, 3)
    assert 0.0 < cost.value < 1.0
    assert cost.standard_error > 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nearest_neighbour_cost([[1.0]], [0], 1), "minimum of 2"),
        (lambda: nearest_neighbour_cost([[1.0], [2.0]], [0], 1), "one label for each of the 2 rows"),
        (lambda: nearest_neighbour_cost([[1.0], [2.0]], [0, 1], 1), "with n_clusters=1"),
        (lambda: nearest_neighbour_cost([[1.0], [2.0]], [0, 1], 3), "n_clusters is 3"),
        (lambda: nearest_neighbour_cost([[1.0], [np.nan]], [0, 1], 2), "X contains NaN"),
        (lambda: nearest_neighbour_cost([[-1.7e308], [1.7e308]], [0, 1], 2), "rescale the data"),
        (lambda: neighbour_ranks(np.eye(9), memory_limit=20), "memory_limit is 20 bytes"),
        (lambda: neighbour_ranks(np.eye(9)).cost(np.zeros(8, dtype=int), 1), "one label for each of the 9 rows"),
        (lambda: neighbour_ranks(np.eye(3)).cost(np.array([0, 1, 2]), 2), "with n_clusters=2"),
        (lambda: normalized_mutual_information([0, 1], [0]), "two labellings need one label for the same rows"),
        (lambda: adjusted_rand_index([], []), "two labellings"),
        (lambda: adjusted_rand_index([[0], [1]], [[0], [1]]), "two labellings"),
    ],
)
def test_what_has_no_cost_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


# ---------------------------------------------------------------------------------------------- NMI, ARI


@reference.thorough
@given(label_pairs)
def test_agreement_is_the_definition_s_and_scikit_learn_s(labels):
    a, b = labels
    nmi, ari = normalized_mutual_information(a, b), adjusted_rand_index(a, b)
    assert nmi == pytest.approx(reference.normalized_mutual_information(a, b), abs=1e-12)
    assert nmi == pytest.approx(normalized_mutual_info_score(a, b), abs=1e-9)
    assert ari == pytest.approx(reference.adjusted_rand_index(a, b), abs=1e-12)
    assert ari == pytest.approx(adjusted_rand_score(a, b), abs=1e-9)
    assert 0.0 <= nmi <= 1.0


@reference.quick
@given(label_pairs)
def test_agreement_is_symmetric_and_blind_to_names(labels):
    a, b = (np.array(values) for values in labels)
    for measure in (normalized_mutual_information, adjusted_rand_index):
        assert measure(a, b) == pytest.approx(measure(b, a), abs=1e-14)
        assert measure(a, 7 - b) == pytest.approx(measure(a, b), abs=1e-14)
        assert measure(a, a) == pytest.approx(1.0, abs=1e-15)


def test_agreement_by_hand():
    a, b = [0, 0, 1, 1], [0, 0, 0, 1]
    entropy_b = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    information = 0.5 * np.log(4 / 3) + 0.25 * np.log(2 / 3) + 0.25 * np.log(2)
    assert normalized_mutual_information(a, b) == pytest.approx(2 * information / (np.log(2) + entropy_b))
    # pairs together in both: 1; in a: 2; in b: 3; of 6
    assert adjusted_rand_index(a, b) == pytest.approx((1 - 1.0) / (2.5 - 1.0))
    assert normalized_mutual_information(["x", "x", "y"], [3, 3, 1]) == pytest.approx(1.0)
    assert normalized_mutual_information([0, 0, 0], [0, 1, 2]) == 0.0
    assert adjusted_rand_index([0, 0, 0], [0, 1, 2]) == 0.0
