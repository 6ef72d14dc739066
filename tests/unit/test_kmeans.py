"""`KernelKMeans`, the assignment step and Lloyd's loop."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from offgrid import RBF, InputError, KernelKMeans
from offgrid.engine.assignment import step
from offgrid.engine.layout import COMPUTED, SQUARE
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.lloyd import initial_labels, iterate
from offgrid.proximity import evaluate

SCALES = [2.0**-495, 2.0**-20, 2.0**495]


def fit(X, labels, k, sigma, **options):
    return KernelKMeans(k, sigma=sigma, init=labels, **options).fit(X)


# ---------------------------------------------------------------------------------------------- proximities and steps


def test_proximities_by_hand():
    # two points at distance 1 in one cluster, one far away alone; K = exp(-1) between the two
    bound = RBF().on([[0.0], [1.0], [1e6]])
    partition = Partition(np.array([0, 0, 1]), 3)
    e = np.exp(-1.0)
    inside = (1 + e) - (2 + 2 * e) / 4
    expected = [[inside, -1, 0], [inside, -1, 0], [-(2 + 2 * e) / 4, 1, 0]]
    assert evaluate(bound.pairs, partition, bound.t(1.0)).proximities(partition) == pytest.approx(np.array(expected))


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_proximities_and_steps_are_the_reference_s(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    bound, partition, K = RBF().on(X), Partition(labels, k), reference.rbf(X, sigma)
    evaluation = evaluate(bound.pairs, partition, bound.t(sigma))
    assert evaluation.sums == pytest.approx(reference.cluster_sums(K, labels, k), rel=1e-12, abs=1e-13)
    assert evaluation.proximities(partition) == pytest.approx(reference.proximities(K, labels, k), rel=1e-12, abs=1e-13)
    assert np.array_equal(evaluation.stepped(partition), reference.step(K, labels, k))


def test_ties_keep_the_cluster_and_the_lowest_better_index_wins():
    proximities = np.array(
        [
            [0.5, 0.5, 0.5],
            [0.1, 0.7, 0.7],
            [0.3, 0.3 - 2e-12, 0.3 + 0.9e-12],
            [0.3, 0.3 + 2e-12, 0.0],
            [0.1, 0.7, 0.7 + 1e-15],
        ]
    )
    assert step(proximities / 2, np.zeros(3), np.ones(3), np.array([2, 0, 0, 0, 0])).tolist() == [2, 1, 0, 1, 1]


# ---------------------------------------------------------------------------------------------- the loop


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_the_loop_ends_where_the_reference_s_does_and_never_goes_uphill(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    K = reference.rbf(X, sigma)
    model = fit(X, labels, k, sigma)
    assert np.array_equal(model.labels_, reference.kernel_kmeans(K, labels, k))
    assert model.converged_
    assert np.array_equal(reference.step(K, model.labels_, k), model.labels_)
    assert (np.diff(model.objectives_) <= 1e-13 * len(X)).all()
    assert model.objectives_[0] == pytest.approx(reference.objective(K, labels, k), rel=1e-9, abs=1e-12)
    assert model.objective_ == pytest.approx(reference.objective(K, model.labels_, k), rel=1e-9, abs=1e-12)


@reference.quick
@given(reference.problems(grids=False), reference.relative_bandwidths, st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing_but_their_order(problem, relative, random):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    order = np.array(random.sample(range(len(X)), len(X)))
    model, permuted = fit(X, labels, k, sigma), fit(X[order], labels[order], k, sigma)
    assert np.array_equal(permuted.labels_, model.labels_[order])
    assert permuted.objective_ == pytest.approx(model.objective_, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("d", [1, 3, 9])
def test_scaling_by_a_power_of_two_changes_no_bit(scale, d):
    X, labels = reference.sample(4, 40, d, 3)
    model, scaled = fit(X, labels, 3, 0.8), fit(X * scale, labels, 3, 0.8 * scale * scale)
    assert np.array_equal(scaled.labels_, model.labels_)
    assert np.array_equal(scaled.objectives_, model.objectives_)


def test_max_iter_is_kept_and_reported():
    X, labels = reference.sample(5, 60, 2, 3)
    whole = fit(X, labels, 3, 1.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        cut = fit(X, labels, 3, 1.0, max_iter=1)
    assert whole.n_iter_ > 1
    assert not cut.converged_
    assert cut.n_iter_ == 1
    assert np.array_equal(cut.labels_, reference.step(reference.rbf(X, 1.0), labels, 3))


def test_a_step_that_happens_to_end_at_max_iter_has_converged():
    X, labels = reference.sample(5, 60, 2, 3)
    steps = fit(X, labels, 3, 1.0).n_iter_
    assert fit(X, labels, 3, 1.0, max_iter=steps).converged_


def test_iterate_with_no_steps_says_whether_the_start_is_settled():
    X, labels = reference.sample(5, 60, 2, 3)
    bound = RBF().on(X)
    assert not iterate(bound.pairs, labels, 3, bound.t(1.0), 0).converged
    end = fit(X, labels, 3, 1.0).labels_
    state = iterate(bound.pairs, end, 3, bound.t(1.0), 0)
    assert state.converged
    assert state.iterations == 0


# ---------------------------------------------------------------------------------------------- corners


def test_one_cluster_keeps_everything():
    X, _ = reference.sample(6, 12, 2, 1)
    model = KernelKMeans(1, sigma=0.5).fit(X)
    assert model.labels_.tolist() == [0] * 12
    assert model.objective_ == pytest.approx(12 - reference.rbf(X, 0.5).sum() / 12)


def test_as_many_clusters_as_rows():
    X, _ = reference.sample(6, 6, 2, 1)
    model = fit(X, np.arange(6), 6, 0.5)
    assert model.labels_.tolist() == list(range(6))
    assert model.objective_ == pytest.approx(0.0, abs=1e-12)


def test_one_row():
    assert KernelKMeans(1).fit([[3.0]]).labels_.tolist() == [0]


def test_equal_rows_stay_wherever_they_are():
    labels = np.array([0, 1, 0, 1, 2])
    assert fit(np.ones((5, 2)), labels, 3, 1.0).labels_.tolist() == labels.tolist()


def test_a_point_with_only_negative_proximities_moves_to_the_empty_cluster():
    # own proximity of the last point: 2 / 10 - (81 + 1) / 100 < 0
    X = np.array([[0.0]] * 9 + [[100.0]])
    model = fit(X, np.zeros(10, dtype=int), 2, 1.0)
    assert model.labels_.tolist() == [0] * 9 + [1]


def test_a_cluster_that_nobody_wants_stays_empty():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    assert fit(X, [0, 0, 2, 2], 3, 1.0).labels_.tolist() == [0, 0, 2, 2]


def test_duplicates_and_constant_columns_change_no_decision():
    X, labels = reference.sample(7, 15, 2, 2)
    twice, twice_labels = np.repeat(X, 2, axis=0), np.repeat(labels, 2)
    wider = np.column_stack([X, np.full(15, 7.0)])
    model = fit(X, labels, 2, 0.5)
    assert np.array_equal(fit(twice, twice_labels, 2, 0.5).labels_, np.repeat(model.labels_, 2))
    assert np.array_equal(fit(wider, labels, 2, 0.5).labels_, model.labels_)


def test_a_huge_bandwidth_is_no_error_and_moves_nothing():
    X, labels = reference.sample(8, 15, 2, 2)
    assert np.array_equal(fit(X, labels, 2, 1e300).labels_, labels)


def test_a_tiny_bandwidth_is_no_error_and_moves_nothing():
    X, labels = reference.sample(8, 15, 2, 2)
    assert np.array_equal(fit(X, labels, 2, 1e-300).labels_, labels)


# ---------------------------------------------------------------------------------------------- starts


def test_random_labels_are_the_random_state_s():
    X, _ = reference.sample(9, 50, 2, 1)
    first = KernelKMeans(3, sigma=1e-6, random_state=3).fit(X).labels_
    assert np.array_equal(first, np.random.RandomState(3).randint(3, size=50))
    assert np.array_equal(first, KernelKMeans(3, sigma=1e-6, random_state=3).fit(X).labels_)
    assert not np.array_equal(first, KernelKMeans(3, sigma=1e-6, random_state=4).fit(X).labels_)


@pytest.mark.parametrize("init", ["k-means++", "kernel-k-means++"])
def test_seeds_find_far_apart_groups(init):
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [100, 0], [0, 100], [100, 100]])
    X = np.repeat(centres, 10, axis=0) + rng.normal(size=(40, 2))
    for seed in range(10):
        model = KernelKMeans(4, sigma=2000.0, init=init, random_state=seed).fit(X)
        assert reference.groups(model.labels_) == reference.groups(np.repeat(np.arange(4), 10))


@pytest.mark.parametrize("init", ["k-means++", "kernel-k-means++"])
@pytest.mark.parametrize("d", [2, 8])
def test_seeds_give_each_point_to_its_nearest_seed(init, d):
    X, _ = reference.sample(10, 30, d, 1)
    bound = RBF().on(X)
    labels = initial_labels(init, bound.pairs, 4, bound.t(2.0), np.random.RandomState(1))
    # exp is monotone, so both kinds draw cells of seeds in the data's own space: some choice of seeds explains them
    distances = reference.squared_distances(X)
    for i in range(4):
        inside = np.flatnonzero(labels == i)
        others = [np.flatnonzero(labels == j) for j in range(4) if j != i]
        assert len(inside)
        seeds = [
            s for s in inside if all((distances[s, inside] <= distances[o][:, inside].max(0)).all() for o in others)
        ]
        assert seeds


def test_seeds_are_drawn_by_distance_in_the_data_s_space_or_in_feature_space():
    # with a bandwidth this small all points are equally far from each other in feature space
    X = np.array([[0.0], [1.0], [1000.0]])
    bound = RBF().on(X)
    groups = {}
    for init in ("k-means++", "kernel-k-means++"):
        drawn = [initial_labels(init, bound.pairs, 2, bound.t(1e-3), np.random.RandomState(seed)) for seed in range(60)]
        groups[init] = {frozenset(reference.groups(labels)) for labels in drawn}
    assert groups["k-means++"] == {frozenset({frozenset({0, 1}), frozenset({2})})}
    assert len(groups["kernel-k-means++"]) == 3


@pytest.mark.parametrize("init", ["random", "k-means++", "kernel-k-means++"])
def test_equal_rows_can_be_seeded(init):
    labels = KernelKMeans(3, init=init, random_state=0).fit(np.ones((6, 2))).labels_
    assert labels.shape == (6,)
    assert labels.min() >= 0
    assert labels.max() < 3


def test_restarts_keep_the_lowest_objective():
    X, _ = reference.sample(11, 60, 2, 1)
    rng = np.random.RandomState(5)
    singles = [fit(X, rng.randint(4, size=60), 4, 1.0) for _ in range(6)]
    best = min(singles, key=lambda model: model.objective_)
    assert len({round(model.objective_, 9) for model in singles}) > 1
    model = KernelKMeans(4, sigma=1.0, n_init=6, random_state=5).fit(X)
    assert model.objective_ == best.objective_
    assert np.array_equal(model.labels_, best.labels_)


# ---------------------------------------------------------------------------------------------- predict, precomputed


def test_predict_finds_the_clusters_of_the_fitted_rows():
    X, labels = reference.sample(12, 50, 2, 3)
    model = fit(X, labels, 3, 0.9)
    assert np.array_equal(model.predict(X), model.labels_)


def test_predict_by_hand():
    model = fit([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], 2, 4.0)
    assert model.predict([[-3.0], [4.0], [7.0], [30.0]]).tolist() == [0, 0, 1, 0]


def test_predict_sends_strangers_to_the_empty_cluster():
    model = fit([[0.0], [1.0], [10.0], [11.0]], [0, 0, 2, 2], 3, 4.0)
    assert model.predict([[0.5], [300.0], [10.5]]).tolist() == [0, 1, 2]


def test_a_precomputed_kernel_gives_the_same_clusters():
    X, labels = reference.sample(13, 40, 3, 3)
    K = reference.rbf(X, 1.5)
    model, other = fit(X, labels, 3, 1.5), fit(K, labels, 3, 1.0, kernel="precomputed")
    assert np.array_equal(other.labels_, model.labels_)
    assert other.objectives_ == pytest.approx(model.objectives_, rel=1e-10)
    assert np.array_equal(other.predict(K[:7]), model.labels_[:7])


def test_a_precomputed_kernel_may_have_faded_to_zero():
    X = np.array([[0.0], [0.1], [50.0], [50.1]])
    K = reference.rbf(X, 0.5)
    assert K.min() == 0.0
    assert (
        fit(K, [0, 1, 1, 1], 2, 1.0, kernel="precomputed").labels_.tolist()
        == fit(X, [0, 1, 1, 1], 2, 0.5).labels_.tolist()
    )


def test_a_precomputed_kernel_of_any_size_of_entries():
    # K + K has twice the proximities: the same decisions
    X, labels = reference.sample(13, 40, 3, 3)
    K = reference.rbf(X, 1.5)
    doubled = fit(2 * K, labels, 3, 1.0, kernel="precomputed")
    assert np.array_equal(doubled.labels_, fit(X, labels, 3, 1.5).labels_)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((3, 2)), "square and symmetric"),
        ([[1.0, 0.2], [0.5, 1.0]], "square and symmetric"),
        ([[1.0, -0.2], [-0.2, 1.0]], "no entry may be negative"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(K, words):
    with pytest.raises(InputError, match=words):
        KernelKMeans(1, kernel="precomputed").fit(K)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 0}, "n_clusters is 0: it must be from 1 to 4"),
        ({"n_clusters": 5}, r"n_clusters is 5: it must be from 1 to 4, the number of rows \(n_samples=4\)"),
        ({"n_clusters": 2.0}, "whole number"),
        ({"sigma": 0.0}, "sigma is 0.0"),
        ({"sigma": float("nan")}, "sigma is nan"),
        ({"sigma": "wide"}, "sigma is 'wide'"),
        ({"kernel": "rbf"}, "kernel is 'rbf'"),
        ({"init": "best"}, "init is 'best': choose one of"),
        ({"init": [0, 1, 0]}, "one label for each of the 4 rows"),
        ({"init": [0, 1, 2, 0]}, "with n_clusters=2"),
        ({"n_init": 0}, "n_init is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(options, words):
    with pytest.raises(InputError, match=words) as caught:
        KernelKMeans(**{"n_clusters": 2, **options}).fit([[0.0], [1.0], [5.0], [6.0]])
    assert str(caught.value).endswith(".")


def test_pairs_may_be_stored_or_computed():
    X, labels = reference.sample(14, 50, 3, 3)
    computed = Pairs.from_points(X)
    stored = Pairs.from_exponents(computed.exponents())
    assert (stored.held, computed.held) == (SQUARE, COMPUTED)
    one, other = iterate(computed, labels, 3, 1.0, 100), iterate(stored, labels, 3, 1.0, 100)
    assert np.array_equal(one.partition.labels, other.partition.labels)
    assert one.objectives == other.objectives
