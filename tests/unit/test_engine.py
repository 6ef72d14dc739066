"""The engine: sums over pairs, moments, neighbours, the exponential, threads."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid.engine import percentile, series, threads
from offgrid.engine.exponential import exponential
from offgrid.engine.layout import COMPUTED, SQUARE, TRIANGLE
from offgrid.engine.neighbours import closest_pair, disagreement, neighbour_ranks
from offgrid.engine.pairs import Pairs, equal_work, way_to_hold
from offgrid.engine.partition import Partition
from offgrid.engine.percentile import low_percentile

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["computed", "stored", "many columns", "triangle"]


def pairs_of(kind, n=30, k=3, seed=0):
    X, labels = reference.sample(seed, n, 19 if kind == "many columns" else 3, k)
    pairs = Pairs.from_points(X, held={"many columns": SQUARE, "triangle": TRIANGLE}.get(kind, COMPUTED))
    if kind == "stored":
        pairs = Pairs.from_exponents(pairs.exponents())
    return X, pairs, Partition(labels, k)


def exact_sums(X, labels, k, t):
    L = -reference.squared_distances(X)
    K = np.exp(t * L)
    return reference.cluster_sums(K, labels, k), reference.cluster_sums(K * L, labels, k)


# ---------------------------------------------------------------------------------------------- partitions


def test_a_partition_is_laid_out_by_cluster_then_by_row():
    partition = Partition(np.array([2, 0, 2, 0, 3]), 5)
    assert partition.order.tolist() == [1, 3, 0, 2, 4]
    assert partition.offsets.tolist() == [0, 2, 2, 4, 5, 5]
    assert partition.sizes.tolist() == [2, 0, 2, 1, 0]
    assert partition.inverse_sizes.tolist() == [0.5, 0.0, 0.5, 1.0, 0.0]
    labels = np.random.default_rng(0).integers(3, size=500)
    assert np.array_equal(Partition(labels, 3).order, np.lexsort((np.arange(500), labels)))


# ---------------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", [0.0, 1e-9, 0.03, 1.0, 40.0, 1e5])
def test_cluster_sums(kind, t):
    X, pairs, partition = pairs_of(kind)
    expected = exact_sums(X, partition.labels, 3, t)
    inside = [[exact[partition.labels == i, i].sum() for i in range(3)] for exact in expected]
    for found, exact, rel in zip(pairs.all_sums(partition, t), (*expected, *inside), (1e-13, 1e-12) * 2, strict=True):
        assert found == pytest.approx(np.array(exact), rel=rel, abs=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [[0, 1, 2], [2], [1]])
def test_sums_in_chunks_are_sums_in_one_go(kind, labels, monkeypatch):
    # chunks of a few rows, clusters that end inside and between them, and clusters that are empty
    _, pairs, _ = pairs_of(kind)
    partition = Partition(np.random.default_rng(0).choice(labels, size=30), 3)
    in_one_go = pairs.all_sums(partition, 0.7)
    for chunk in (10, 50, 200):
        monkeypatch.setattr("offgrid.engine.pairs._CHUNK", chunk)
        equal_work.cache_clear()
        assert pairs.worth_threads
        assert pairs.symmetric_sums(partition, 0.7) == pytest.approx(np.array(in_one_go[:2]), rel=1e-13, abs=1e-15)
    equal_work.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
def test_cluster_sums_of_some_rows_only(kind):
    _, pairs, partition = pairs_of(kind)
    rows = np.array([0, 5, 28])
    everything = pairs.all_sums(partition, 0.7)[:2]
    for some, full in zip(pairs.cluster_sums(partition, 0.7, rows), everything, strict=True):
        assert some == pytest.approx(full[rows], rel=1e-13)


def test_blocks_and_empty_clusters_leave_nothing_out():
    # more rows than any block holds, clusters that end inside and at blocks, empty ones first, between and last
    for n in (255, 256, 257, 511, 512, 513, 1100):
        X = np.random.default_rng(n).normal(size=(n, 2))
        labels = np.where(np.arange(n) < 256, 1, 3)
        sums, _ = Pairs.from_points(X).cluster_sums(Partition(labels, 5), 0.5, np.arange(0, n, 50))
        K = np.exp(-0.5 * reference.squared_distances(X))[::50]
        expected = np.stack([K[:, labels == i].sum(axis=1) for i in range(5)], axis=1)
        assert sums == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_limit_sums_are_limits(kind):
    X, pairs, partition = pairs_of(kind)
    totals, slopes = pairs.limit_sums(partition)
    L = -reference.squared_distances(X)
    assert totals == pytest.approx(reference.cluster_sums(-L, partition.labels, 3), rel=1e-12)
    assert slopes == pytest.approx(reference.cluster_sums(-0.5 * L**2, partition.labels, 3), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", [0.01, 1.0, 30.0])
def test_self_moments(kind, t):
    X, pairs, partition = pairs_of(kind)
    moments = pairs.self_moments(partition, t, 0.2 * t, 6)
    L = -reference.squared_distances(X)
    for p in range(7):
        for i in range(3):
            inside = np.ix_(partition.labels == i, partition.labels == i)
            expected = (np.exp(t * L) * (0.2 * t * L) ** p)[inside].sum()
            assert moments[p, i] == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_moments_of_pairs_that_are_far_apart_vanish():
    # exp(t L) beats any power of L, however large t L is
    pairs, partition = Pairs.from_points(np.array([[0.0], [1.0]])), Partition(np.zeros(2, dtype=int), 1)
    for t in (1e4, 1e12, 1e14, 1e30, 1e300):
        moments = pairs.self_moments(partition, t, 0.2 * t, 25)
        assert moments[0, 0] == 2.0
        assert np.abs(moments[1:]).max() < 1e-100


@pytest.mark.parametrize(("lowest", "highest"), [(2.0, 2.6), (2.0, 2.0 * (1 + 2**-20)), (1.0, 1.5), (0.0, 1.0)])
def test_self_sums_from_a_series_are_sums(lowest, highest):
    X, labels = reference.sample(1, 40, 2, 3)
    pairs, partition = Pairs.from_points(X), Partition(labels, 3)
    values, slopes = np.empty(3), np.empty(3)
    for t in np.linspace(lowest, highest, 7)[1:]:
        centre, half_width = series.span(t, lowest, highest)
        assert abs(t - centre) <= half_width * (1 + 1e-12)
        order = series.order_for(centre, half_width)
        assert order <= series.MAX_ORDER
        terms = series.coefficients(pairs.self_moments(partition, centre, half_width, order))
        for s in np.linspace(centre - half_width, centre + half_width, 9):
            series.value_at(s, centre, half_width, order, terms, values, slopes)
            for found, exact in zip((values, slopes), exact_sums(X, labels, 3, s), strict=True):
                expected = [exact[labels == i, i].sum() for i in range(3)]
                assert found == pytest.approx(np.array(expected), rel=1e-11)


@pytest.mark.parametrize("n", [60, 1700])
def test_stored_and_computed_exponents_give_the_same_bits(n):
    X = np.random.default_rng(2).normal(size=(n, 3))
    partition = Partition(np.random.default_rng(3).integers(4, size=n), 4)
    computed = Pairs.from_points(X)
    ways = [Pairs.from_points(X, held=SQUARE), Pairs.from_points(X, held=TRIANGLE)]
    rows = np.arange(0, n, 7)
    for name, arguments in (
        ("all_sums", (partition, 1.3)),
        ("cluster_sums", (partition, 1.3, rows)),
        ("limit_sums", (partition,)),
        ("self_moments", (partition, 1.3, 0.2, 5)),
    ):
        plain = getattr(computed, name)(*arguments)
        for pairs in ways:
            assert all(np.array_equal(a, b) for a, b in zip(plain, getattr(pairs, name)(*arguments), strict=True))


@pytest.mark.parametrize("d", [2, 9])
def test_threads_change_no_bit(d, monkeypatch):
    X = np.random.default_rng(4).normal(size=(1700, d))
    partition = Partition(np.random.default_rng(5).integers(4, size=1700), 4)
    assert Pairs.from_points(X).worth_threads
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("OFFGRID_THREADS", count)
        pairs = Pairs.from_points(X)
        results.append(
            [
                *pairs.all_sums(partition, 0.7),
                *pairs.limit_sums(partition),
                pairs.self_moments(partition, 0.7, 0.1, 4),
                pairs.exponents(),
                neighbour_ranks(pairs, np.arange(1700)),
            ]
        )
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("n", [1, 3, 4, 61, 600])
@pytest.mark.parametrize("d", [1, 3, 4, 13])
def test_the_matrix_of_exponents_has_the_bits_of_its_rows(n, d):
    pairs = Pairs.from_points(np.random.default_rng(n).normal(size=(n, d)))
    assert np.array_equal(pairs.exponents(), np.array([pairs.row(i) for i in range(n)]))


def test_exponents_are_symmetric_and_their_extremes_known():
    X, pairs, _ = pairs_of("computed")
    L = pairs.exponents()
    assert np.array_equal(L, L.T)
    assert np.abs(L) == pytest.approx(reference.squared_distances(X), rel=1e-14)
    assert pairs.largest >= np.abs(L).max()
    assert pairs.mean == pytest.approx(np.abs(L).mean(), rel=1e-12)
    for i in (0, 29):
        assert np.array_equal(pairs.row(i), L[i])
    many = pairs_of("many columns")[1]
    assert many.largest == np.abs(many.exponents()).max()
    assert many.mean == pytest.approx(np.abs(many.exponents()).mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("percent", [1.0, 5.0, 50.0])
def test_low_percentile(kind, percent):
    X, pairs, _ = pairs_of(kind)
    values = reference.squared_distances(X)[np.triu_indices(len(X), 1)]
    assert low_percentile(pairs, percent) == pytest.approx(np.percentile(values, percent), rel=1e-12)


def test_the_low_percentile_of_many_equal_rows_is_the_smallest_distance_above_0():
    X = np.array([[0.0]] * 30 + [[2.0], [5.0]])
    assert low_percentile(Pairs.from_points(X)) == 4.0
    assert low_percentile(Pairs.from_points(np.ones((5, 1)))) == 0.0


def test_the_low_percentile_is_found_where_the_sample_misleads(monkeypatch):
    # a sample that has only large values: the level has to be raised until enough pairs lie under it, or all do
    X = np.random.default_rng(0).normal(size=(300, 2))
    pairs = Pairs.from_points(X)
    values = reference.squared_distances(X)[np.triu_indices(300, 1)]
    monkeypatch.setattr(percentile, "_SAMPLE", 1000)
    for sample in (np.full(10, 1e-9), np.linspace(1e-9, values.max(), 50) ** 3):
        monkeypatch.setattr(percentile, "_sample", lambda _, sample=sample: sample)
        assert low_percentile(pairs) == pytest.approx(np.percentile(values, 1.0), rel=1e-12)


def test_the_low_percentile_of_very_many_pairs_is_read_off_the_sample(monkeypatch):
    monkeypatch.setattr(percentile, "_MOST_PAIRS", 10)
    monkeypatch.setattr(percentile, "_SAMPLE", 20_000)
    X = np.random.default_rng(0).normal(size=(300, 2))
    values = reference.squared_distances(X)[np.triu_indices(300, 1)]
    assert low_percentile(Pairs.from_points(X)) == pytest.approx(np.percentile(values, 1.0), rel=0.2)
    monkeypatch.setattr(percentile, "_SAMPLE", 400)
    assert low_percentile(Pairs.from_points(np.array([[0.0]] * 30 + [[2.0], [5.0]]))) == 4.0
    monkeypatch.setattr(percentile, "_SAMPLE", 9)
    assert low_percentile(Pairs.from_points(np.ones((5, 1)))) == 0.0


def test_how_distances_are_held():
    assert way_to_hold(1000, 50, 8_000_000) == SQUARE
    assert way_to_hold(1000, 50, 7_999_999) == TRIANGLE
    assert way_to_hold(1000, 50, 3_995_999) == COMPUTED
    assert way_to_hold(1000, 2, 8_000_000) == COMPUTED


def test_passes_are_counted():
    _, pairs, partition = pairs_of("computed")
    before = pairs.entries
    pairs.cluster_sums(partition, 1.0, np.array([1, 2, 3]))
    assert pairs.entries - before == 3 * 30
    pairs.all_sums(partition, 1.0)
    assert pairs.entries - before - 90 == 435  # each pair once
    assert pairs.passes == pairs.entries / 900


# ---------------------------------------------------------------------------------------------- neighbours


@reference.quick
@given(st.integers(0, 10**6), st.integers(2, 20), st.booleans())
def test_ranks_are_by_distance_then_by_index(seed, n, on_grid):
    X, _ = reference.sample(seed, n, 2, 1, on_grid=on_grid)
    rows = np.unique(np.random.default_rng(seed).integers(n, size=n))
    ranks = neighbour_ranks(Pairs.from_points(X), rows)
    assert ranks.shape == (len(rows), n)
    for i, row in enumerate(rows):
        assert ranks[i, row] == 0
        assert np.argsort(ranks[i]).tolist() == [row, *reference.neighbours(X, row)]


@reference.quick
@given(st.integers(0, 10**6), st.integers(2, 30), st.booleans())
def test_the_closest_pair(seed, n, on_grid):
    X, _ = reference.sample(seed, n, 2, 1, on_grid=on_grid)
    squared, first, second = closest_pair(Pairs.from_points(X))
    distances = reference.squared_distances(X)
    pairs = [(distances[i, j], i, j) for i in range(n) for j in range(i + 1, n)]
    assert (first, second) == min(pairs)[1:]
    assert squared == pytest.approx(min(pairs)[0], rel=1e-14)


def test_disagreement_is_the_weight_of_strangers():
    ranks = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.uint16)
    weights = np.array([0.0, 1.0, 10.0, 100.0])
    for labels, expected in (([0, 1, 0, 1], [101.0, 101.0]), ([0, 0, 0, 1], [100.0, 111.0]), ([0] * 4, [0.0, 0.0])):
        partition = Partition(np.array(labels), 2)
        assert disagreement(ranks, np.array([0, 3]), partition, weights).tolist() == expected


# ---------------------------------------------------------------------------------------------- exponential, threads


def test_the_exponential_is_accurate():
    x = np.concatenate([np.linspace(-708, 709, 20001), np.linspace(-1, 1, 2001), -np.geomspace(1e-300, 1, 500)])
    values = np.array([exponential(v) for v in x])
    assert (np.abs(values / np.exp(x) - 1) <= 4.5e-16).all()
    assert exponential(0.0) == 1.0


def test_the_exponential_fades_without_an_error():
    for x in (-709.0, -1e5, -1e300, -math.inf):
        assert 0.0 <= exponential(x) < 1e-307


def test_thread_count(monkeypatch):
    monkeypatch.setenv("OFFGRID_THREADS", "3")
    assert threads.thread_count() == 3
    for nonsense in ("", "0", "-2", "many"):
        monkeypatch.setenv("OFFGRID_THREADS", nonsense)
        assert 1 <= threads.thread_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("count", ["1", "2", "7"])
@pytest.mark.parametrize("n_rows", [0, 1, 13, 14, 100])
def test_every_row_is_worked_on_once(count, n_rows, monkeypatch):
    monkeypatch.setenv("OFFGRID_THREADS", count)
    seen, lock = np.zeros(n_rows, dtype=int), threading.Lock()

    def work(first, last):
        with lock:
            seen[first:last] += 1

    threads.over_rows(work, n_rows, 10**9)
    assert (seen == 1).all()


def test_an_error_in_a_block_is_not_lost(monkeypatch):
    monkeypatch.setenv("OFFGRID_THREADS", "2")

    def work(first, last):
        if last == 100:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.over_rows(work, 100, 10**9)


MOMENTS = """
import numpy as np
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
rng = np.random.default_rng(0)
pairs, partition = Pairs.from_points(rng.normal(size=(200, 4))), Partition(rng.integers(3, size=200), 3)
print(pairs.self_moments(partition, 0.3, 1.0, 6).tobytes().hex())
"""


def test_the_process_that_compiles_finds_the_same_bits_as_later_ones(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", MOMENTS], cwd=ROOT, env=environment, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbc")), "the first has kept what it compiled"
    assert first == second
