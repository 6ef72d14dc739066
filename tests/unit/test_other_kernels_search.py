"""Laplacian, polynomial and summed kernels searched: critical values, paths, and the command line."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import FAMILIES, ROUNDING, Case, families, sample
from sklearn.base import clone

from offgrid import (
    RBF,
    BandwidthPath,
    BandwidthSearch,
    InputError,
    KernelKMeans,
    KernelSum,
    Laplacian,
    Polynomial,
    cli,
    critical_bandwidth,
)
from offgrid.engine import certificate, descent
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.metrics import neighbour_ranks
from offgrid.path import partition_key
from offgrid.proximity import evaluate

# ---------------------------------------------------------------------------------------------- critical values


def check(case, labels, k, value, found, limit):
    last = min(found.below, limit, 1e4 * case.first)
    for v in np.geomspace(value, last, 150):
        assert case.quiet(labels, k, v)
    assert np.array_equal(np.flatnonzero(found.labels != labels), found.moved)
    if found.changed:
        assert value * reference.LAST_BIT <= found.below <= found.sigma <= limit
        assert found.sigma <= found.below * (1 + 2.0**-20 * (1 + 1e-9))
        assert case.moves(labels, k, found.sigma)
        assert len(found.moved)
    else:
        assert found.sigma == math.inf
        assert found.below == limit


@reference.thorough
@given(reference.problems(), families, st.floats(-0.5, 1.2), st.booleans())
def test_quiet_below_and_moving_at_the_value(problem, family, relative, threads):
    X, labels, k = problem
    case = Case(family, X)
    value = case.first * 10.0**relative
    labels = case.settled(labels, k, value)
    if not case.quiet(labels, k, value):
        return  # a degree that is no whole number, and no feature space
    with pytest.MonkeyPatch.context() as patch:
        if threads:
            patch.setattr(Pairs, "worth_threads", True)
        found = critical_bandwidth(X, labels, value, n_clusters=k, kernel=case.kernel)
    check(case, labels, k, value, found, 64.0 if case.sharpens else math.inf)
    if not found.changed and not case.sharpens and found.uncertified == 0:
        assert case.quiet(labels, k, 1e9 * case.first)


@reference.quick
@given(reference.problems(), st.sampled_from(FAMILIES), st.sampled_from(["newton", "bisection", "dyadic"]))
def test_the_other_methods_see_moves_no_earlier_than_the_certified_one(problem, family, method):
    X, labels, k = problem
    case = Case(family, X)
    labels = case.settled(labels, k, case.first)
    if not case.quiet(labels, k, case.first) or (method == "dyadic" and family.startswith("sum")):
        return
    exact = critical_bandwidth(X, labels, case.first, n_clusters=k, kernel=case.kernel)
    found = critical_bandwidth(X, labels, case.first, n_clusters=k, kernel=case.kernel, method=method)
    assert case.quiet(labels, k, found.below)
    if found.changed:
        assert case.moves(labels, k, found.sigma)
        assert found.below <= found.sigma
        if exact.uncertified == 0:
            assert found.sigma >= exact.below * (1 - 1e-9)
    if method == "dyadic" and case.sharpens and found.changed and found.sigma > case.first:
        assert found.sigma == case.first * found.numerator / found.denominator


def test_a_polynomial_value_by_hand():
    # 0, 1 and 2 with c = 1 have [1 1 1; 1 2 3; 1 3 5] to the degree; 1, beside 2, is half way at degree 1
    X, labels = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])

    def margin(d):
        K = (X @ X.T + 1.0) ** d
        delta = reference.proximities(K, labels, 2)
        return delta[1, 1] - delta[1, 0]

    low, high = 1.0, 3.0
    assert margin(low) >= 0 > margin(high)
    found = critical_bandwidth(X, labels, 1.0, n_clusters=2, kernel=Polynomial(1.0))
    assert found.moved.tolist() == [1]
    assert margin(found.sigma) < 0 <= margin(found.below) + 1e-12 * 5.0**found.below


@reference.thorough
@given(reference.problems(), families, st.sampled_from([1.02, 1.3, 3.0]))
def test_rows_that_the_near_end_certifies_are_quiet(problem, family, ratio):
    X, labels, k = problem
    case = Case(family, X)
    labels = case.settled(labels, k, case.first)
    bound, partition = case.kernel.on(X), Partition(labels, k)
    near, far_t = evaluate(bound.pairs, partition, bound.t(case.first)), bound.t(ratio * case.first)
    left = certificate.rows_open_before(
        labels, partition.inverse_sizes, far_t, near.t, near.sums, near.slopes, near.self_sums, near.self_slopes
    )
    for value in np.linspace(case.first, ratio * case.first, 40):
        gains = reference.gains(case.matrix(value), labels, k)
        assert (gains[~left] <= reference.TOLERANCE + ROUNDING).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_near_end_certifies_some_rows(family):
    case = Case(family, sample(3))
    labels = case.settled(np.arange(24) % 3, 3, case.first)
    bound, partition = case.kernel.on(case.X), Partition(labels, 3)
    near, far_t = evaluate(bound.pairs, partition, bound.t(case.first)), bound.t(1.02 * case.first)
    left = certificate.rows_open_before(
        labels, partition.inverse_sizes, far_t, near.t, near.sums, near.slopes, near.self_sums, near.self_slopes
    )
    assert not left.all()


def test_how_far_ahead_below_zero():
    assert descent.far_end(-1.0, -1.1, 10.0, 1.5, -64.0, np.inf) == pytest.approx(-(1.1**1.3))
    assert descent.far_end(-1.0, -9.0, 10.0, 1.5, -64.0, np.inf) == -1.5
    assert descent.far_end(-1.0, -np.inf, 10.0, 1.5, -64.0, np.inf) == -1.5
    assert descent.far_end(-1.0, -1.001, 10.0, 1.5, -64.0, np.inf) == -1.02
    assert descent.far_end(-60.0, -np.inf, 10.0, 1.5, -64.0, np.inf) == -64.0


def test_scaling_points_and_offset_changes_no_degree():
    X, labels = sample(3), reference.sample(3, 24, 2, 3)[1]
    labels = Case("polynomial", X).settled(labels, 3, 1.0)
    c = 20.0
    plain = critical_bandwidth(X, labels, 1.0, n_clusters=3, kernel=Polynomial(c))
    scaled = critical_bandwidth(4.0 * X, labels, 1.0, n_clusters=3, kernel=Polynomial(16.0 * c))
    assert scaled.sigma == pytest.approx(plain.sigma, rel=1e-5)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
def test_scaling_points_scales_a_laplacian_path_exactly(scale):
    plain, scaled = (BandwidthSearch(3, kernel=Laplacian(), random_state=0).fit(sample(1) * c) for c in (1.0, scale))
    assert [r.sigma * scale for r in plain.path_] == [r.sigma for r in scaled.path_]


@pytest.mark.parametrize("family", FAMILIES[2:])
def test_weights_count_only_in_proportion(family):
    case = Case(family, sample(5))
    labels = case.settled(np.arange(24) % 3, 3, case.first)
    heavier = KernelSum([(8.0 * weight, kernel, value) for weight, kernel, value in case.kernel.terms])
    one, two = (
        critical_bandwidth(case.X, labels, case.first, n_clusters=3, kernel=kernel) for kernel in (case.kernel, heavier)
    )
    assert one.changed == two.changed
    if one.changed:
        assert one.sigma == pytest.approx(two.sigma, rel=1e-5)


def test_limits():
    X = sample(2)
    labels = np.arange(24) % 2
    kernel = Polynomial(10.0)
    settled = KernelKMeans(2, sigma=2.0, kernel=kernel, init=labels).fit(X).labels_
    found = critical_bandwidth(X, settled, 2.0, n_clusters=2, kernel=kernel, limit=2.0001)
    assert (found.sigma, found.below, found.changed) == (math.inf, 2.0001, False)
    with pytest.raises(InputError, match=r"^limit is 64: it must be above degree, 70\.$"):
        critical_bandwidth(X, settled, 70.0, n_clusters=2, kernel=kernel)


# ---------------------------------------------------------------------------------------------- the path


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(2))
def test_the_path_is_quiet_between_records(family, seed):
    case = Case(family, sample(seed))
    start = {} if case.sharpens else {"start": case.first}
    run = BandwidthSearch(3, kernel=case.kernel, random_state=seed, **start).fit(case.X, np.arange(24) % 2)
    path = BandwidthPath(run.path_, run.ends_)
    assert path.records[0].sigma == case.first
    assert run.lower_bound_ is None
    assert run.lower_bound_note_ == "no bound: it is for the RBF kernel only."
    assert run.ends_[0].reason == ("limit" if case.sharpens else "flat")
    assert run.ends_[0].holds_to == (64.0 if case.sharpens else math.inf)
    for i, record in enumerate(path.records):
        labels = record.labels.astype(int)
        assert record.cnnc == pytest.approx(reference.nearest_neighbour_cost(case.X, labels, 3), abs=1e-12)
        if record.converged:
            for value in np.geomspace(record.sigma, min(path.holds_to(i), 1e4), 40):
                assert case.quiet(labels, 3, value)
    for before, record in itertools.pairwise(path.records):
        assert before.sigma * reference.LAST_BIT <= record.below <= record.critical <= record.sigma
        assert case.moves(before.labels.astype(int), 3, record.critical)


@pytest.mark.parametrize("method", ["dyadic", "newton", "bisection"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_method_finds_a_path(family, method):
    case = Case(family, sample(7))
    run = BandwidthSearch(3, kernel=case.kernel, method=method, random_state=0, max_steps=30)
    if method == "dyadic" and family.startswith("sum"):
        with pytest.raises(InputError, match=r"method is 'dyadic': .*give method='certified'\.$"):
            run.fit(case.X)
        return
    run.fit(case.X)
    for record in run.path_:
        assert not record.converged or case.quiet(record.labels.astype(int), 3, record.sigma)


def test_neighbours_are_euclidean_whatever_the_kernel():
    X = sample(9)
    for family in FAMILIES:
        case = Case(family, X)
        known = BandwidthSearch(3, kernel=case.kernel, random_state=0).iter_path(X, ranks=neighbour_ranks(X))
        own = BandwidthSearch(3, kernel=case.kernel, random_state=0).iter_path(X)
        assert [record.cnnc for record in known] == [record.cnnc for record in own]


@pytest.mark.parametrize("family", ["laplacian", "sum with rbf", "sum with polynomial", "polynomial"])
def test_a_search_resumed_anywhere_finds_the_same_path(family):
    case = Case(family, sample(4))

    def searched(resume=()):
        run = BandwidthSearch(3, kernel=clone(case.kernel, safe=False), random_state=2)
        return [(r.sigma, r.labels.tolist()) for r in run.iter_path(case.X, resume=resume)]

    whole = list(BandwidthSearch(3, kernel=case.kernel, random_state=2).iter_path(case.X))
    expected = [(r.sigma, r.labels.tolist()) for r in whole]
    for cut in range(len(whole) + 1):
        assert searched(whole[:cut]) == expected[cut:]


@pytest.mark.parametrize("family", ["laplacian", "sum with laplacian", "polynomial", "sum with polynomial"])
def test_threads_and_storage_change_nothing(family, monkeypatch):
    case = Case(family, sample(6, 900))
    paths = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OFFGRID_THREADS", threads)
        run = BandwidthSearch(3, kernel=case.kernel, random_state=0, max_steps=3).fit(case.X)
        paths.append([(r.sigma, r.below, r.labels.tolist()) for r in run.path_])
    assert len(paths[0]) > 2
    assert paths[0] == paths[1]


# Points on a line, evenly spaced: RBF has no reason to single out the few at one end.
LINE = np.linspace(0.0, 1.0, 40)[:, None]


def partitions_on(kernel, seeds, **options):
    return {
        record.key
        for seed in seeds
        for record in BandwidthSearch(2, kernel=kernel, random_state=seed, **options).fit(LINE).path_
    }


@pytest.mark.parametrize(
    "kernel", [Polynomial(0.1), KernelSum([(1.0, RBF(), None), (1.0, Polynomial(0.1), 40.0)])], ids=["degree", "sum"]
)
def test_a_partition_that_no_rbf_path_has(kernel):
    # the last two, whose entries (x'y + c)**degree outweigh the others', against the rest
    wanted = partition_key(np.repeat([0, 1], [38, 2]))
    assert wanted in partitions_on(kernel, range(3))
    on_rbf = partitions_on(RBF(), range(25)) | partitions_on(RBF(), range(10), init="k-means++")
    assert len(on_rbf) > 100
    assert wanted not in on_rbf


# ---------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("options", "kernel", "described"),
    [
        (["--kernel", "laplacian"], Laplacian(), {"kernel": "laplacian", "parameter": "sigma"}),
        (
            ["--kernel", "polynomial", "--offset", "50"],
            Polynomial(50.0),
            {"kernel": "polynomial", "parameter": "degree", "offset": 50.0},
        ),
        (
            ["--plus", "0.5", "laplacian", "3", "--plus", "2", "polynomial", "1.5", "--offset", "50"],
            KernelSum([(1.0, RBF(), None), (0.5, Laplacian(), 3.0), (2.0, Polynomial(50.0), 1.5)]),
            {"kernel": "rbf", "parameter": "sigma", "offset": 50.0},
        ),
    ],
)
def test_the_command_line_searches_every_kernel(options, kernel, described, capsys):
    from offgrid.datasets import load

    arguments = ["search", "builtin:iris", "--no-label", "--k", "3", "--max-steps", "3"]
    assert cli.main([*arguments, "--json", *options]) == 0
    run = json.loads(capsys.readouterr().out)
    assert {name: run["search"][name] for name in described} == described
    dataset = load("iris")
    points = dataset.prepare(label=None, columns=None, scaling=dataset.scaling)
    expected = BandwidthSearch(3, kernel=kernel, random_state=0, max_steps=3).fit(points.X)
    assert [record["sigma"] for record in run["records"]] == [record.sigma for record in expected.path_]
    assert run["lower_bound_note"] == "no bound: it is for the RBF kernel only."
    assert cli.main([*arguments, *options]) == 0
    table = capsys.readouterr().out
    symbol = "degree" if described["parameter"] == "degree" else "σ"
    assert f"Recommended: {symbol} = " in table
    assert ("Elsewhere" in table) != ("--plus" in options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--offset", "1"], "--offset is for the polynomial kernel"),
        (["--plus", "1", "linear", "1"], "'linear' is no kernel"),
        (["--plus", "0", "rbf", "1"], "'0' is not a number above 0"),
        (["--plus", "1", "rbf", "x"], "'x' is not a finite number"),
        (["--kernel", "linear"], "invalid choice"),
    ],
)
def test_the_command_line_refuses_other_kernels(options, words, capsys):
    arguments = ["search", "builtin:iris", "--k", "3", *options]
    try:
        status = cli.main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert words in capsys.readouterr().err
