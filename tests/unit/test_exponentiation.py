"""`fast_power` (Algorithm 1) and Theorem 2's band around it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import InputError, fast_power

bases = st.floats(1e-6, 1e6)
exponents = st.floats(0.0, 6.0)


@reference.thorough
@given(bases, exponents, st.integers(0, 30))
def test_theorem_2(base, exponent, depth):
    ends = sorted(base ** (exponent + sign * 2.0**-depth) for sign in (-1, 1))
    assert ends[0] * (1 - 1e-12) <= fast_power(base, exponent, depth) <= ends[1] * (1 + 1e-12)


@reference.thorough
@given(bases, st.integers(0, 12), st.integers(0, 4))
def test_dyadic_exponents_of_that_depth_are_exact_up_to_rounding(base, rounds, whole):
    for numerator in range(2**rounds) if rounds < 4 else (1, 2**rounds - 1):
        exponent = whole + numerator / 2**rounds
        assert fast_power(base, exponent, rounds) == pytest.approx(base**exponent, rel=1e-13)


def test_the_fraction_reached_is_the_one_algorithm_1_reaches():
    # with base 2, log2 of the result gives n / d away; the first round asks whether 1/2 was too much
    for fraction in np.linspace(0.01, 0.99, 23):
        numerator = denominator = 1
        for depth in range(9):
            expected = Fraction(numerator, denominator)
            assert math.log2(fast_power(2.0, fraction, depth)) == pytest.approx(float(expected), abs=1e-12)
            if expected != Fraction(float(fraction)):
                above = expected > Fraction(float(fraction))
                numerator, denominator = 2 * numerator + (-1 if above else 1), 2 * denominator


@pytest.mark.parametrize("base", [1e-300, 0.3, 1.0, 7.0, 1e300])
def test_exponent_zero_is_exactly_one(base):
    assert fast_power(base, 0.0) == 1.0
    assert fast_power(base, 1.0) == base


@pytest.mark.parametrize("exponent", range(12))
def test_whole_exponents_are_products(exponent):
    assert fast_power(3.0, exponent) == float(3**exponent)
    assert fast_power(0.5, float(exponent)) == 0.5**exponent


def test_arrays_keep_their_shape_and_their_base():
    base = np.array([[1.0, 4.0], [9.0, 16.0]])
    assert fast_power(base, 1.5, 1).tolist() == [[1.0, 8.0], [27.0, 64.0]]
    assert base.tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert isinstance(fast_power(4.0, 0.5), float)


def test_in_place():
    base = np.array([1.0, 4.0, 9.0])
    result = fast_power(base, 2.5, 1, out=base)
    assert result is base
    assert base.tolist() == [1.0, 32.0, 243.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0, 1.0), "base has values that are not finite numbers above 0"),
        ((-2.0, 1.0), "base has values"),
        (([1.0, math.nan], 1.0), "base has values"),
        ((math.inf, 0.5), "base has values"),
        (("two", 0.5), "base is not made of numbers"),
        (([[1.0], [1.0, 2.0]], 0.5), "base is not made of numbers"),
        ((2.0, -0.5), "exponent is -0.5: it must be a finite number from 0"),
        ((2.0, math.inf), "exponent is inf"),
        ((2.0, math.nan), "exponent is nan"),
        ((2.0, "0.5"), "exponent is '0.5'"),
        ((2.0, 0.5, -1), "depth is -1"),
        ((2.0, 0.5, 1.5), "depth is 1.5"),
    ],
)
def test_what_has_no_power_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        fast_power(*arguments)


def test_out_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"out has shape \(3,\)"):
        fast_power([1.0, 2.0], 0.5, out=np.empty(3))
