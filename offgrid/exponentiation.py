"""Powers from products and square roots (paper, Algorithm 1, with its printed errors mended).

Entry points: `fast_power` and, for what it does round by round, `dyadic_rounds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.errors import InputError
from offgrid.validation import check_count


def fast_power(
    base: ArrayLike, exponent: float, depth: int = 20, *, out: NDArray[np.float64] | None = None
) -> float | NDArray[np.float64]:
    """Return base**exponent, approximated with products and square roots only (paper, Algorithm 1).

    The exponent is split into an integral part, done by binary powering, and a fraction, approximated by a dyadic
    n / d: each of `depth` rounds doubles both, takes the square root of the running root, and divides or multiplies
    by it as n / d lies above or below the fraction. The result lies between ``base**(exponent - 2**-depth)`` and
    ``base**(exponent + 2**-depth)`` (Theorem 2), up to rounding, and is exact for a dyadic of that depth.

    Parameters
    ----------
    base : float or array-like, positive
    exponent : float, at least 0
    depth : int
        Rounds for the fraction, from 0.
    out : ndarray of float64, optional
        Where to put the result, of the shape of `base`; it may be `base` itself, which is then overwritten.

    Returns
    -------
    float or ndarray
        Of the shape of `base`; `out` where that is given.

    Raises
    ------
    InputError
        Where the base is not positive and finite, or the exponent negative or not finite, or `out` of another shape.

    Examples
    --------
    >>> fast_power(16.0, 2.75, depth=2)
    2048.0
    """
    try:
        values = np.asarray(base, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"base is not made of numbers ({error}): give a positive number or an array of them."
        ) from error
    if not ((values > 0) & (values < math.inf)).all():
        raise InputError("base has values that are not finite numbers above 0: only those have every root; give those.")
    if not (isinstance(exponent, Real) and math.isfinite(exponent) and exponent >= 0):
        raise InputError(f"exponent is {exponent!r}: it must be a finite number from 0.")
    check_count(depth, "depth", minimum=0)
    if out is not None and out.shape != values.shape:
        raise InputError(f"out has shape {out.shape}: it must have the shape of base, {values.shape}.")
    whole = math.floor(exponent)
    power = _dyadic_power(values, exponent - whole, depth)
    power *= _whole_power(values, whole)
    if out is not None:
        out[...] = power
        return out
    return float(power) if values.ndim == 0 else power


def _whole_power(base: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Return base**exponent from the binary digits of a whole exponent, most significant first."""
    if exponent == 0:
        return np.ones_like(base)
    power = base.copy()
    for digit in format(exponent, "b")[1:]:
        power = power * power
        if digit == "1":
            power = power * base
    return power


def _dyadic_power(base: NDArray[np.float64], fraction: float, depth: int) -> NDArray[np.float64]:
    """Return base**(n / d) with n / d within 2**-depth of a fraction from 0 to 1; exactly 1 for the fraction 0."""
    if fraction == 0.0:
        return np.ones_like(base)
    power, root = base.copy(), base.copy()
    for _, _, multiplied in dyadic_rounds(fraction, depth):
        np.sqrt(root, out=root)
        if multiplied:
            power *= root
        else:
            power /= root
    return power


def dyadic_rounds(fraction: float, depth: int) -> Iterator[tuple[int, int, bool]]:
    """Yield n and d of each round of Algorithm 1, and whether the round multiplies by the root or divides.

    From 1 / 1 on, each round doubles both and brings n one step nearer to the fraction, from 0 to 1; they end where
    n / d is the fraction, or after `depth` rounds.
    """
    numerator = denominator = 1
    for _ in range(depth):
        numerator, denominator = 2 * numerator, 2 * denominator
        multiplied = numerator <= fraction * denominator
        numerator += 1 if multiplied else -1
        yield numerator, denominator, multiplied
        if numerator == fraction * denominator:
            return
