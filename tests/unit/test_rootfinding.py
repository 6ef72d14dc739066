"""The methods to compare with: Newton's and the paper's BinarySearch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import given

from offgrid import critical_bandwidth

FAR = np.array([[0.0], [1.0], [10.0], [11.0]])


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_newton_ends_with_a_narrow_bracket(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    found = critical_bandwidth(X, labels, sigma, n_clusters=k, method="newton", rtol=1e-8)
    certified = critical_bandwidth(X, labels, sigma, n_clusters=k)
    if found.changed:
        assert certified.below <= found.sigma
        assert sigma * reference.LAST_BIT <= found.below <= found.sigma
        assert found.sigma - found.below <= 1.0001e-8 * found.below
        assert reference.moves(X, labels, k, found.sigma)
        assert reference.quiet(X, labels, k, found.below)
        assert np.array_equal(np.flatnonzero(found.labels != labels), found.moved)
    else:
        assert found.sigma == math.inf
        assert reference.quiet(X, labels, k, 2 * sigma)


@reference.thorough
@given(reference.problems(), reference.relative_bandwidths)
def test_bisection_ends_with_a_bracket_of_a_thousandth(problem, relative):
    X, labels, k = problem
    sigma = relative * reference.scale_of(X)
    labels = reference.settled(X, labels, k, sigma)
    found = critical_bandwidth(X, labels, sigma, n_clusters=k, method="bisection")
    if found.changed:
        assert sigma * reference.LAST_BIT <= found.below < found.sigma <= found.below + 1e-3
        assert reference.moves(X, labels, k, found.sigma)
        assert reference.quiet(X, labels, k, found.below)
    else:
        assert (found.sigma, found.below) == (math.inf, 1e6)
        assert reference.quiet(X, labels, k, 1e6)


@pytest.mark.parametrize("method", ["newton", "bisection"])
def test_both_find_the_closed_form(method):
    # {0} and {1, 5}: u**16 - 4 u + 3 = 0 with u = exp(-1 / sigma)
    u = max(root.real for root in np.roots([1, *[0] * 14, -4, 3]) if abs(root.imag) < 1e-9 and root.real < 0.99)
    found = critical_bandwidth([[0.0], [1.0], [5.0]], [0, 1, 1], 0.2, n_clusters=2, method=method)
    assert found.sigma == pytest.approx(-1 / math.log(u), abs=1e-3 if method == "bisection" else 1e-5)
    assert found.moved.tolist() == [1]


@pytest.mark.parametrize("method", ["newton", "bisection"])
def test_neither_finds_anything_where_nothing_moves(method):
    found = critical_bandwidth(FAR, [0, 0, 1, 1], 1.0, n_clusters=2, method=method)
    assert found.sigma == math.inf
    assert not found.changed
    assert found.labels.tolist() == [0, 0, 1, 1]


def test_bisection_looks_no_further_than_a_million():
    found = critical_bandwidth(FAR * 1e4, [0, 1, 0, 1], 1e7, n_clusters=2, method="bisection")
    assert found.sigma >= 1e7


@pytest.mark.parametrize("scale", [2.0**-495, 2.0**495])
def test_newton_is_at_home_at_any_scale(scale):
    X, labels = reference.sample(0, 30, 2, 3)
    labels = reference.settled(X, labels, 3, 0.4)
    plain = critical_bandwidth(X, labels, 0.4, n_clusters=3, method="newton")
    scaled = critical_bandwidth(X * scale, labels, 0.4 * scale**2, n_clusters=3, method="newton")
    assert plain.changed
    assert scaled.sigma == plain.sigma * scale**2


@pytest.mark.parametrize("scale", [2.0**-495, 2.0**495])
def test_bisection_ends_at_any_scale(scale):
    X, labels = reference.sample(0, 30, 2, 3)
    labels = reference.settled(X, labels, 3, 0.4)
    found = critical_bandwidth(X * scale, labels, 0.4 * scale**2, n_clusters=3, method="bisection")
    assert found.below >= 0.4 * scale**2
    assert found.sigma >= found.below
