"""`offgrid.kernels` and the checks of points that everything goes through."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from sklearn.metrics.pairwise import rbf_kernel

from offgrid import RBF, InputError
from offgrid.validation import check_choice, check_count, check_labels, check_points, check_positive


def test_rbf_by_hand():
    values = RBF()([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]], sigma=2.0)
    assert values == pytest.approx(np.exp([[0, -0.5, -12.5], [-0.5, 0, -10], [-12.5, -10, 0]]), rel=1e-15)


def test_rbf_between_two_sets():
    assert RBF()([[0.0]], [[1.0], [2.0]], sigma=4.0) == pytest.approx(np.exp([[-0.25, -1.0]]), rel=1e-15)


def test_rbf_in_other_notations():
    X, _ = reference.sample(0, 9, 3, 1)
    sigma = 0.7
    assert RBF()(X, sigma=sigma) == pytest.approx(rbf_kernel(X, gamma=1 / sigma), rel=1e-12)
    s = math.sqrt(sigma / 2)
    assert RBF()(X, sigma=sigma) == pytest.approx(np.exp(-reference.squared_distances(X) / (2 * s**2)), rel=1e-12)


@reference.quick
@given(reference.problems())
def test_rbf_on_data_is_exponential_in_t(problem):
    X, _, _ = problem
    bound = RBF().on(X)
    sigma = 0.3 * reference.scale_of(X)
    values = np.exp(bound.t(sigma) * bound.pairs.exponents())
    assert values == pytest.approx(reference.rbf(X, sigma), rel=1e-12)
    assert bound.sigma(bound.t(sigma)) == pytest.approx(sigma, rel=1e-15)


def test_the_unit_is_a_power_of_two_and_keeps_exponents_near_one():
    for scale in (1e-149, 1e-3, 1.0, 77.0, 1e149):
        bound = RBF().on(scale * reference.sample(1, 12, 2, 1)[0])
        assert math.frexp(bound.unit)[0] == 0.5
        assert 0.2 < bound.pairs.largest <= 8.0


def test_sigma_of_t_zero_is_infinite():
    assert RBF().on([[0.0], [1.0]]).sigma(0.0) == math.inf


def test_one_row_and_equal_rows_have_exponents_zero():
    assert RBF().on([[5.0]]).pairs.exponents().tolist() == [[0.0]]
    assert not RBF().on(np.full((4, 3), 1e200)).pairs.exponents().any()


@pytest.mark.parametrize("d", [2, 9])
def test_a_constant_column_says_nothing_however_large(d):
    X = reference.sample(2, 10, d - 1, 1)[0]
    for constant in (0.0, 1e250, -1e300):
        with_constant = np.column_stack([X * 1e-140, np.full(10, constant)])
        exponents, expected = RBF().on(with_constant).pairs.exponents(), RBF().on(X * 1e-140).pairs.exponents()
        assert np.array_equal(exponents, expected)


@pytest.mark.parametrize("spread", [1e-155, 1e-200, 1e152, 1e300, 1.7e308])
def test_spreads_that_double_precision_cannot_square_are_refused(spread):
    with pytest.raises(InputError, match=r"rescale the data"):
        RBF().on([[-spread / 2], [spread / 2]])


def test_rows_further_apart_than_any_number_are_refused():
    with pytest.raises(InputError, match=r"rescale the data\.$"):
        RBF().on([[-1.7e308], [1.7e308]])


def test_a_bandwidth_too_small_for_the_data_is_refused():
    with pytest.raises(InputError, match=r"sigma is 1e-100: .* larger one\.$"):
        RBF().on([[0.0], [1e150]]).t(1e-100)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, "1", None, True, 10**400])
def test_a_bad_bandwidth_is_refused(sigma):
    with pytest.raises(InputError, match=r"^sigma is .*: it must be a finite number above 0\.$"):
        RBF()([[0.0], [1.0]], sigma=sigma)


def test_sets_with_different_columns_are_refused():
    with pytest.raises(InputError, match=r"X has 2 columns and Y has 1"):
        RBF()([[0.0, 1.0]], [[1.0]], sigma=1.0)


# ---------------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, np.nan]], "X contains NaN"),
        ([[1.0], [np.inf]], "X contains infinity"),
        ([[1.0], [-np.inf]], "X contains infinity"),
        ([1.0, 2.0], "X has 1 dimensions where it needs 2"),
        (np.zeros((2, 2, 2)), "X has 3 dimensions where it needs 2"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((3, 0)), "X has no columns"),
        ([["a", "b"], ["c", "d"]], "not all numbers"),
        ([[{}, 1.0]], "not all numbers"),
        ([[1.0, 2.0], [3.0]], "rows of different lengths"),
        (np.array([[1j]]), "complex numbers"),
    ],
)
def test_what_cannot_be_points_is_refused_in_one_line(X, words):
    with pytest.raises(InputError, match=words) as caught:
        check_points(X)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(InputError, match="sparse"):
        check_points(csr_array(np.eye(3)))


def test_points_of_other_number_types_are_taken():
    for dtype in (np.float32, np.int8, np.uint16, bool, object):
        points = check_points(np.array([[0, 1], [1, 1]], dtype=dtype))
        assert points.dtype == np.float64
        assert points.tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match=r"X has 1 sample\(s\).* minimum of 2"):
        check_points([[1.0]], minimum=2)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "needs one label for each of the 3 rows"),
        ([[0, 1, 1]], "needs one label for each"),
        ([0, 1, 2], "labels range from 0 to 2"),
        ([-1, 0, 1], "labels range from -1 to 1"),
        ([0.0, 0.5, 1.0], "whole numbers"),
        ([0.0, np.nan, 1.0], "whole numbers"),
        ([0.0, np.inf, 1.0], "whole numbers"),
        (["a", "b", "a"], "whole numbers"),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), "labels range from 0 to 18446744073709551615"),
    ],
)
def test_what_cannot_be_labels_is_refused(labels, words):
    with pytest.raises(InputError, match=words):
        check_labels(labels, 3, 2)


def test_labels_of_other_number_types_are_taken():
    for labels in ([0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], np.array([0, 1, 1], dtype=np.uint8)):
        checked = check_labels(labels, 3, 2)
        assert checked.dtype == np.int64
        assert checked.tolist() == [0, 1, 1]


def test_counts():
    assert check_count(np.int32(3), "n", maximum=3) == 3
    for value in (2.0, "2", None, True):
        with pytest.raises(InputError, match=r"^n is .*: it must be a whole number, at least 1\.$"):
            check_count(value, "n")
    with pytest.raises(InputError, match=r"^n is 4: it must be from 1 to 3, the rows\.$"):
        check_count(4, "n", maximum=3, why=", the rows")


def test_positive_numbers_and_choices():
    assert check_positive(np.float32(0.5), "x") == 0.5
    assert check_positive(3, "x") == 3.0
    assert check_choice(None, "x", (None, "a")) is None
    with pytest.raises(InputError, match=r"^x is 'b': choose one of None, 'a'\.$"):
        check_choice("b", "x", (None, "a"))
    with pytest.raises(InputError, match="choose one of"):
        check_choice(np.zeros(2), "x", (None, "a"))
