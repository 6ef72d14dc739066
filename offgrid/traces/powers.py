"""Algorithm 1 round by round (paper, section 6.1).

Entry point: `power_rounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from offgrid.errors import InputError
from offgrid.exponentiation import dyadic_rounds, fast_power

# Logarithm of the largest power, and of one over the smallest, that double precision has with all its digits.
_LARGEST = 700.0


@dataclass(frozen=True)
class PowerRound:
    """One round: the fraction's n / d, what was done with the root, and the result so far beside Theorem 2's band.

    Attributes
    ----------
    number : int
        0 for the start, at n / d = 1 / 1.
    numerator, denominator : int
    multiplied : bool or None
        Whether the round multiplied by the root or divided; None for the start.
    root : float
        base**(1 / denominator), by square roots.
    value : float
        The result after this round.
    low, high : float
        Theorem 2: the result lies between the powers with exponents 2**-number below and above the wanted one.
    """

    number: int
    numerator: int
    denominator: int
    multiplied: bool | None
    root: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PowerRounds:
    """All rounds of a power.

    Attributes
    ----------
    base, exponent : float
    whole : int
    fraction : float
        The exponent's two parts.
    target : float
        The power itself, from the mathematical library.
    exact : bool
        Whether the last n / d is the fraction.
    rounds : tuple of PowerRound
        The start and each round; the start alone where there is no fraction.
    """

    base: float
    exponent: float
    whole: int
    fraction: float
    target: float
    exact: bool
    rounds: tuple[PowerRound, ...]


def power_rounds(base: float, exponent: float, depth: int) -> PowerRounds:
    """Return what `fast_power` does, round by round.

    Raises
    ------
    InputError
        Where `fast_power` refuses the arguments, or the power leaves the range of double precision.

    Examples
    --------
    >>> [(r.numerator, r.denominator, r.value) for r in power_rounds(16.0, 2.75, depth=2).rounds]
    [(1, 1, 4096.0), (1, 2, 1024.0), (3, 4, 2048.0)]
    """
    if base > 0 and abs(math.log(base)) * (exponent + 1.0) > _LARGEST:
        raise InputError(f"{base:g} to the power {exponent:g} leaves the range of double precision: give smaller ones.")
    fast_power(base, exponent, depth)
    whole = math.floor(exponent)
    fraction = exponent - whole
    steps = list(dyadic_rounds(fraction, depth)) if fraction else []
    root, rounds = float(base), [_round(0, 1, 1, None, base, base, exponent)]
    for number, (numerator, denominator, multiplied) in enumerate(steps, start=1):
        root = math.sqrt(root)
        rounds.append(_round(number, numerator, denominator, multiplied, root, base, exponent))
    last = rounds[-1]
    exact = fraction == 0.0 or last.numerator == fraction * last.denominator
    return PowerRounds(base, exponent, whole, fraction, base**exponent, exact, tuple(rounds))


def _round(
    number: int, numerator: int, denominator: int, multiplied: bool | None, root: float, base: float, exponent: float
) -> PowerRound:
    low, high = sorted(base ** (exponent + sign * 2.0**-number) for sign in (-1, 1))
    value = float(fast_power(base, exponent, depth=number))
    return PowerRound(number, numerator, denominator, multiplied, root, value, low, high)
