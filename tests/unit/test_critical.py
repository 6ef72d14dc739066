"""`critical_bandwidth`: what is common to the four methods, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference

from offgrid import RBF, InputError, critical_bandwidth
from offgrid.critical import METHODS, find_critical
from offgrid.engine.partition import Partition
from offgrid.proximity import evaluate

X4 = np.array([[0.0], [1.0], [10.0], [11.0]])


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_a_partition_that_moves_at_once_is_its_own_critical_value(self, method):
        found = critical_bandwidth(X4, [0, 0, 0, 1], 2.0, n_clusters=2, method=method)
        assert found.sigma == found.below == pytest.approx(2.0, rel=1e-15)
        assert found.changed
        assert found.labels.tolist() == reference.step(reference.rbf(X4, 2.0), np.array([0, 0, 0, 1]), 2).tolist()

    def test_one_cluster_never_changes(self, method):
        found = critical_bandwidth(X4, [0, 0, 0, 0], 0.1, n_clusters=1, method=method)
        assert not found.changed
        assert found.labels.tolist() == [0, 0, 0, 0]

    def test_as_many_clusters_as_rows_never_change(self, method):
        assert not critical_bandwidth(X4, [0, 1, 2, 3], 0.1, n_clusters=4, method=method).changed

    def test_equal_rows_never_change(self, method):
        assert not critical_bandwidth(np.ones((4, 2)), [0, 1, 0, 1], 0.1, n_clusters=2, method=method).changed

    def test_one_row_never_changes(self, method):
        assert not critical_bandwidth([[2.0]], [0], 1.0, n_clusters=1, method=method).changed

    def test_an_empty_cluster_waits_for_points_with_negative_proximity(self, method):
        X, labels = np.array([[0.0], [0.5], [1.0], [8.0]]), np.array([0, 0, 0, 2])
        found = critical_bandwidth(X, labels, 1e-2, n_clusters=3, method=method)
        # nobody has one here, so the middle cluster stays empty
        assert 1 not in found.labels
        assert reference.quiet(X, labels, 3, 1e-2)

    def test_rows_in_any_number_type(self, method):
        found = critical_bandwidth(
            X4.astype(np.int8), np.array([0, 1, 1, 1], dtype=np.uint8), 0.1, n_clusters=2, method=method
        )
        plain = critical_bandwidth(X4, [0, 1, 1, 1], 0.1, n_clusters=2, method=method)
        assert (found.sigma, found.below) == (plain.sigma, plain.below)

    def test_it_spends_what_it_says(self, method):
        X, labels = reference.sample(0, 60, 2, 3)
        labels = reference.settled(X, labels, 3, 0.5)
        found = critical_bandwidth(X, labels, 0.5, n_clusters=3, method=method, depth=4)
        assert found.changed
        assert 0.5 < found.passes < 70.0
        bound, partition = RBF().on(X), Partition(labels, 3)
        start = evaluate(bound.pairs, partition, bound.t(0.5))
        before = bound.pairs.passes
        again = find_critical(bound, partition, start, method=method, depth=4)
        spent = bound.pairs.passes - before
        assert again.passes == found.passes
        # the look at the start comes on top
        assert spent < found.passes <= spent + 1.0

    def test_threads_change_no_bit(self, method, monkeypatch):
        X, labels = reference.sample(1, 420, 2, 4)
        labels = reference.settled(X, labels, 4, 0.1)
        results = []
        for threads in ("1", "2", "3"):
            monkeypatch.setenv("OFFGRID_THREADS", threads)
            results.append(critical_bandwidth(X, labels, 0.1, n_clusters=4, method=method))
        assert results[0].changed
        for other in results[1:]:
            assert (other.sigma, other.below, other.passes) == (results[0].sigma, results[0].below, results[0].passes)
            assert np.array_equal(other.labels, results[0].labels)

    def test_the_same_question_has_the_same_answer(self, method):
        X, labels = reference.sample(2, 40, 8, 3)
        labels = reference.settled(X, labels, 3, 3.0)
        one, other = (critical_bandwidth(X, labels, 3.0, n_clusters=3, method=method) for _ in range(2))
        assert (one.sigma, one.below, one.passes) == (other.sigma, other.below, other.passes)


@pytest.mark.parametrize("method", ["certified", "newton", "bisection"])
def test_nothing_is_wanted_beyond_the_limit(method):
    X, labels = reference.sample(3, 40, 2, 3)
    labels = reference.settled(X, labels, 3, 0.3)
    bound, partition = RBF().on(X), Partition(labels, 3)
    start = evaluate(bound.pairs, partition, bound.t(0.3))
    free = find_critical(bound, partition, start, method=method)
    assert free.changed
    limit = (0.3 + free.below) / 2
    short = find_critical(bound, partition, start, method=method, limit=limit)
    assert short.sigma == math.inf
    assert short.below == pytest.approx(limit, rel=1e-12)
    assert not short.changed
    assert find_critical(bound, partition, start, method=method, limit=2 * free.sigma).sigma <= 2 * free.sigma


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": [[np.nan], [1.0], [2.0], [3.0]]}, "X contains NaN"),
        ({"X": [0.0, 1.0, 2.0, 3.0]}, "X has 1 dimensions"),
        ({"labels": [0, 0, 1]}, "one label for each of the 4 rows"),
        ({"labels": [0, 0, 1, 2]}, "with n_clusters=2 they must lie between 0 and 1"),
        ({"sigma": 0.0}, "sigma is 0.0"),
        ({"sigma": -1.0}, "sigma is -1.0"),
        ({"sigma": math.inf}, "sigma is inf"),
        ({"n_clusters": 5}, "n_clusters is 5"),
        ({"n_clusters": 0}, "n_clusters is 0"),
        ({"method": "guess"}, "method is 'guess': choose one of 'certified', 'dyadic', 'newton', 'bisection'"),
        ({"limiting": "some"}, "limiting is 'some': choose one of None, 'close', 'movers'"),
        ({"depth": 0}, "depth is 0"),
        ({"depth": 41}, "depth is 41: it must be from 1 to 40"),
        ({"rtol": 0.0}, "rtol is 0.0"),
        ({"rtol": 1e-13}, "rtol is 1e-13: it must lie between 1e-12 and 0.1"),
        ({"rtol": 0.5}, "rtol is 0.5: it must lie between"),
        ({"kernel": "rbf"}, "kernel is 'rbf': give a kernel"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(change, words):
    arguments = {"X": X4, "labels": [0, 0, 1, 1], "sigma": 1.0, "n_clusters": 2, **change}
    with pytest.raises(InputError, match=words) as caught:
        critical_bandwidth(arguments.pop("X"), arguments.pop("labels"), arguments.pop("sigma"), **arguments)
    assert str(caught.value).endswith((".", ")."))
    assert "\n" not in str(caught.value)
