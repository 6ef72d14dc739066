"""Laplacian, polynomial and summed kernels: by hand, against plain NumPy, and searched."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel

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
from offgrid.engine import certificate, descent, series
from offgrid.engine.layout import COMPUTED, SQUARE
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.metrics import neighbour_ranks
from offgrid.path import partition_key
from offgrid.proximity import evaluate

# Logarithms of polynomial kernels are rounded once more than distances.
ROUNDING = 1e-13
FAMILIES = ("laplacian", "polynomial", "sum with rbf", "sum with laplacian", "sum with polynomial")


class Case:
    """A kernel on data, and the same kernel from its definition, in units of its largest entry."""

    def __init__(self, family, X):
        self.X, self.family = X, family
        scale = math.sqrt(reference.scale_of(X))
        gram = X @ X.T
        c = 0.5 * scale**2 - min(gram.min(), 0.0)
        products = gram + c
        manhattan = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
        self.sharpens = "polynomial" in family
        self.first = 1.0 if self.sharpens else 0.3 * (scale**2 if family == "sum with rbf" else scale)

        def rbf(sigma):
            return reference.rbf(X, sigma)

        def laplacian(sigma):
            return np.exp(-manhattan / sigma)

        def polynomial(degree):
            return np.exp(degree * np.log(products))

        # the kernel is the searched one, times a weight, and what is fixed
        self.weight, self.fixed = 1.0, np.zeros_like(gram)
        self.searched = polynomial if self.sharpens else rbf if family == "sum with rbf" else laplacian
        self.peak = products.max()
        if family == "laplacian":
            self.kernel = Laplacian()
        elif family == "polynomial":
            self.kernel = Polynomial(c)
        elif family == "sum with rbf":
            self.weight, self.fixed = 1.5, 0.5 * laplacian(scale) + 0.1 * (gram + 1.0 + c) ** 2
            self.kernel = KernelSum([(1.5, RBF(), None), (0.5, Laplacian(), scale), (0.1, Polynomial(1.0 + c), 2.0)])
        elif family == "sum with laplacian":
            self.fixed = 0.5 * rbf(0.2 * scale**2)
            self.kernel = KernelSum([(0.5, RBF(), 0.2 * scale**2), (1.0, Laplacian(), None)])
        else:
            self.weight, self.fixed = 0.2, 0.7 * rbf(scale**2)
            self.kernel = KernelSum(((0.7, RBF(), scale**2), (0.2, Polynomial(c), None)))

    def raw(self, value):
        return self.weight * self.searched(value) + self.fixed

    def matrix(self, value):
        return self.raw(value) / self.largest(value)

    def largest(self, value):
        """What no entry exceeds, and the tolerance of a move is relative to."""
        if self.family == "polynomial":
            return self.peak**value
        return (self.weight + self.fixed.max()) * (max(1.0, self.peak) ** value if self.sharpens else 1.0)

    def settled(self, labels, k, value):
        return reference.kernel_kmeans(self.matrix(value), labels, k)

    def gain(self, labels, k, value):
        return reference.gains(self.matrix(value), labels, k).max()

    def quiet(self, labels, k, value):
        return self.gain(labels, k, value) <= reference.TOLERANCE + ROUNDING

    def moves(self, labels, k, value):
        return self.gain(labels, k, value) > reference.TOLERANCE - ROUNDING


families = st.sampled_from(FAMILIES)


def sample(seed, n=24, d=2):
    return reference.sample(seed, n, d, 1)[0]


# ---------------------------------------------------------------------------------------------- matrices


def test_laplacian_by_hand():
    values = Laplacian()([[0.0, 0.0], [1.0, -2.0]], [[0.0, 0.0], [3.0, 0.0]], sigma=2.0)
    assert values == pytest.approx(np.exp([[0, -1.5], [-1.5, -2.0]]), rel=1e-15)


def test_polynomial_by_hand():
    values = Polynomial(c=1.0)([[0.0, 0.0], [1.0, 2.0]], degree=2.5)
    assert values == pytest.approx(np.array([[1.0, 1.0], [1.0, 6.0]]) ** 2.5, rel=1e-14)


def test_other_notations():
    X = np.abs(sample(0, 9, 3))
    assert Laplacian()(X, sigma=0.7) == pytest.approx(laplacian_kernel(X, gamma=1 / 0.7), rel=1e-12)
    expected = polynomial_kernel(X, gamma=1, coef0=0.4, degree=3)
    assert Polynomial(c=0.4)(X, degree=3.0) == pytest.approx(expected, rel=1e-12)


def test_a_sum_is_the_sum_of_its_terms():
    X, Y = sample(1), sample(2, 5)
    kernel = KernelSum([(2.0, RBF(), 0.5), (0.25, Laplacian(), None), (3.0, Polynomial(20.0), 1.5)])
    expected = 2 * RBF()(X, Y, sigma=0.5) + 0.25 * Laplacian()(X, Y, sigma=4.0) + 3 * Polynomial(20.0)(X, Y, degree=1.5)
    assert kernel(X, Y, sigma=4.0) == pytest.approx(expected, rel=1e-13)
    assert kernel.parameter == "sigma"
    assert KernelSum([(1.0, RBF(), 1.0), (1.0, Polynomial(), None)]).parameter == "degree"


@reference.quick
@given(reference.problems(), families)
def test_a_kernel_on_data_is_the_matrix_in_units_of_its_largest_entry(problem, family):
    X, labels, k = problem
    case = Case(family, X)
    bound, partition = case.kernel.on(X), Partition(labels, k)
    for value in (case.first, 3.7 * case.first):
        t = bound.t(value)
        assert bound.sigma(t) == pytest.approx(value, rel=1e-15)
        K = case.matrix(value)
        assert K.max() <= 1 + 1e-12
        assert math.exp(bound.log_scale(t)) == pytest.approx(case.largest(value), rel=1e-10)
        found = evaluate(bound.pairs, partition, t)
        assert found.sums == pytest.approx(reference.cluster_sums(K, labels, k), rel=1e-11, abs=1e-14)
        assert found.proximities(partition) == pytest.approx(reference.proximities(K, labels, k), abs=1e-12)
        for row in range(len(X)):
            assert bound.pairs.kernel_row(row, t) == pytest.approx(K[row], rel=1e-11, abs=1e-300)
        assert bound.pairs.kernel_diagonal(t) == pytest.approx(K.diagonal(), rel=1e-11, abs=1e-300)
        some = np.arange(0, len(X), 2)
        part, _ = bound.pairs.sums_over(some, labels[some], k, t)
        assert part == pytest.approx(reference.cluster_sums(K[:, some], labels[some], k), rel=1e-11, abs=1e-14)


@reference.quick
@given(reference.problems(), families)
def test_slopes_and_series_are_those_of_the_sums(problem, family):
    X, labels, k = problem
    case = Case(family, X)
    bound, partition = case.kernel.on(X), Partition(labels, k)
    t = bound.t(case.first)
    h = 1e-5 * abs(t)
    low, here, high = (evaluate(bound.pairs, partition, s) for s in (t - h, t, t + h))
    scale = max(1.0, np.abs(here.slopes).max())
    assert here.slopes == pytest.approx((high.sums - low.sums) / (2 * h), rel=1e-5, abs=1e-6 * scale)
    centre, half = series.span(t, t - 0.2 * abs(t), t)
    order = series.order_for(centre, half)
    terms = series.coefficients(bound.pairs.self_moments(partition, centre, half, order))
    values, slopes = np.empty(k), np.empty(k)
    for at in (centre - half, centre, centre + 0.7 * half):
        series.value_at(at, centre, half, order, terms, values, slopes)
        expected = evaluate(bound.pairs, partition, at)
        assert values == pytest.approx(expected.self_sums, rel=1e-12, abs=1e-13)
        assert slopes == pytest.approx(expected.self_slopes, rel=1e-9, abs=1e-9 * max(1.0, bound.pairs.largest))


@pytest.mark.parametrize("d", [1, 3, 20])
def test_manhattan_distances_stored_or_not(d):
    X = sample(4, 30, d)
    loose, kept = (Pairs.from_points(X, held=held, manhattan=True) for held in (COMPUTED, SQUARE))
    expected = -np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
    assert kept.matrix == pytest.approx(expected, rel=1e-13)
    assert np.array_equal(loose.row(3), kept.row(3))
    assert loose.mean == pytest.approx(kept.mean, rel=1e-12)
    assert loose.mean == pytest.approx(-expected.mean(), rel=1e-12)
    assert loose.largest >= kept.largest
    assert np.array_equal(kept.squared_distances(2), loose.squared_distances(2))
    assert loose.squared_distances(2) == pytest.approx(reference.squared_distances(X)[2], rel=1e-13)
    first, second = np.array([0, 1, 5]), np.array([2, 1, 7])
    assert loose.exponents_of(first, second) == pytest.approx(kept.exponents_of(first, second), rel=1e-13)
    partition = Partition(np.arange(len(X)) % 3, 3)
    for one, other in zip(loose.all_sums(partition, 0.8), kept.all_sums(partition, 0.8), strict=True):
        assert np.array_equal(one, other)


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


# ---------------------------------------------------------------------------------------------- kernel k-means


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("init", ["random", "k-means++", "kernel-k-means++"])
def test_kernel_k_means(family, init):
    case = Case(family, sample(11))
    value = 2.0 * case.first
    model = KernelKMeans(3, sigma=value, kernel=case.kernel, init=init, random_state=3).fit(case.X)
    assert case.quiet(model.labels_, 3, value)
    assert model.objective_ == pytest.approx(reference.objective(case.raw(value), model.labels_, 3), rel=1e-9)
    delta = reference.proximities(case.raw(value), model.labels_, 3)
    assert np.array_equal(model.predict(case.X), delta.argmax(axis=1))


def test_degree_one_is_ordinary_k_means():
    X = sample(12)
    model = KernelKMeans(3, sigma=1.0, kernel=Polynomial(30.0), random_state=0).fit(X)
    assert len(set(model.labels_.tolist())) == 3
    assert reference.lloyd_gains(X, model.labels_, 3).max() <= 1e-10


# ---------------------------------------------------------------------------------------------- what is refused


def test_the_smallest_admissible_offset_is_named():
    X = [[1.0, 0.5], [-2.0, 0.25]]
    with pytest.raises(InputError, match=r"^c is 1\.0: x'y \+ c must be above 0 .* give a c above 1\.875\.$"):
        Polynomial(1.0).on(X)
    with pytest.raises(InputError, match=r"give a c above 1\.875\.$"):
        Polynomial(1.875).on(X)
    Polynomial(np.nextafter(1.875, 2.0)).on(X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Polynomial("1"), "c is '1'"),
        (lambda: Polynomial(math.nan), "c is nan"),
        (lambda: KernelSum([]), "0 of 0 terms are searched"),
        (lambda: KernelSum(7), "terms are 7: give"),
        (lambda: KernelSum([(1.0, RBF())]), "terms are "),
        (lambda: KernelSum([(1.0, RBF(), 1.0)]), "0 of 1 terms are searched"),
        (lambda: KernelSum([(1.0, RBF(), None), (1.0, Laplacian(), None)]), "2 of 2 terms are searched"),
        (lambda: KernelSum([(0.0, RBF(), None)]), r"weight is 0\.0"),
        (lambda: KernelSum([(1.0, "rbf", None)]), "kernel is 'rbf'"),
        (lambda: KernelSum([(1.0, KernelSum([(1.0, RBF(), None)]), None)]), "and no sum"),
        (lambda: KernelSum([(1.0, RBF(), None), (1.0, Polynomial(), -2.0)]), r"degree is -2\.0"),
        (lambda: KernelSum([(1.0, RBF(), None)])([[1.0]], degree=1.0), "The searched parameter is sigma"),
        (lambda: KernelSum([(1.0, RBF(), None), (1.0, Polynomial(), 1e4)]).on([[3.0], [1.0]]), "smaller degree"),
        (lambda: Polynomial()([[1.0]], degree=0.0), r"degree is 0\.0: it must be a finite number above 0"),
        (lambda: Polynomial().on([[1e200], [1.0]]), "rescale the data"),
        (lambda: Laplacian().on([[0.0], [1e302]]), "rescale the data so that differences lie between 1e-300 and 1e300"),
        (lambda: Laplacian()([[0.0, 1.0]], [[1.0]], sigma=1.0), "X has 2 columns and Y has 1"),
        (lambda: BandwidthSearch(2, kernel=Laplacian(), start="bound").fit([[1.0], [2.0]]), "RBF kernel only"),
        (lambda: BandwidthSearch(2, kernel=Polynomial()).fit([[1.0], [1.0]]), "All rows of X are equal"),
        (lambda: BandwidthSearch(2, kernel=Polynomial(), start=99.0).fit([[1.0], [2.0]]), "above the first degree"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("kernel", [Polynomial(), KernelSum([(1.0, RBF(), None), (1.0, RBF(), 1.0)])])
def test_matrices_stay_within_the_memory_limit(kernel, monkeypatch):
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "100kB")
    with pytest.raises(InputError, match=r"X has 200 rows: this kernel keeps 0\.0 GB .* OFFGRID_MEMORY_LIMIT"):
        kernel.on(np.ones((200, 1)))


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
