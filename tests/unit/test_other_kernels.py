"""Laplacian, polynomial and summed kernels: by hand, against plain NumPy, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from kernel_cases import FAMILIES, Case, families, sample
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel

from offgrid import RBF, BandwidthSearch, InputError, KernelKMeans, KernelSum, Laplacian, Polynomial
from offgrid.engine import series
from offgrid.engine.layout import COMPUTED, SQUARE
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.proximity import evaluate

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
