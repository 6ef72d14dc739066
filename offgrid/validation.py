"""Checks at the boundary: each option once, with the value given, what is allowed and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.errors import InputError, InputTypeError


def dense_array(X: Any) -> NDArray[Any]:
    """Return X as an array of any type and shape, or raise InputError where it is sparse or ragged."""
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix: give a dense array, X.toarray().")
    try:
        return np.asarray(X)
    except ValueError as error:
        raise InputError("X has rows of different lengths: give every row the same number of values.") from error


def check_points(X: ArrayLike, *, minimum: int = 1) -> NDArray[np.float64]:
    """Return X as a finite float64 array (n, d) with at least `minimum` rows, or raise InputError."""
    values = dense_array(X)
    if values.dtype.kind == "c":
        raise InputError("Complex data not supported: X has complex numbers; give real ones.")
    try:
        points = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"X has dtype {values.dtype}, and its values are not all numbers ({error}).") from error
    if points.ndim != 2:
        raise InputError(
            f"X has {points.ndim} dimensions where it needs 2, rows and columns. Reshape your data: "
            "X.reshape(-1, 1) if it has one column, X.reshape(1, -1) if it has one row."
        )
    n, d = points.shape
    if d == 0:
        raise InputError(f"0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required: X has no columns.")
    if n < minimum:
        raise InputError(f"X has {n} sample(s), n_samples = {n}, while a minimum of {minimum} is required.")
    if not np.isfinite(points).all():
        what = "NaN" if np.isnan(points).any() else "infinity"
        raise InputError(f"X contains {what}: drop or fill those rows first (Input X contains NaN or infinity).")
    return points


def spread_of(points: NDArray[np.float64]) -> float:
    """Return the largest difference from the first row in any column, or raise InputError where it overflows."""
    with np.errstate(over="ignore"):
        spread = float(np.abs(points - points[0]).max())
    if not np.isfinite(spread):
        raise InputError("The columns of X spread over more than double precision holds: rescale the data.")
    return spread


def in_units_of(points: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Return points over 2**exponent, exactly, for an exponent that fits their spread.

    Only in a constant column can a value be too large for that; the column says nothing, and becomes 0.
    """
    constant = (points == points[0]).all(axis=0)
    return np.ldexp(np.where(constant, 0.0, points), -exponent)


def check_labels(labels: ArrayLike, n: int, n_clusters: int) -> NDArray[np.int64]:
    """Return labels as int64 (n,), each from 0 to n_clusters - 1, or raise InputError."""
    values = np.asarray(labels)
    if values.shape != (n,):
        raise InputError(f"labels has shape {values.shape}: it needs one label for each of the {n} rows.")
    if values.dtype.kind not in "iub":
        whole = values.dtype.kind == "f" and np.isfinite(values).all() and np.array_equal(values, np.round(values))
        if not whole:
            raise InputError(f"labels has dtype {values.dtype}: it needs whole numbers from 0 to {n_clusters - 1}.")
    if values.min() < 0 or values.max() >= n_clusters:
        raise InputError(
            f"labels range from {values.min()} to {values.max()}: with n_clusters={n_clusters} they must lie "
            f"between 0 and {n_clusters - 1}."
        )
    return values.astype(np.int64)


def check_truth(y: ArrayLike | None, n: int) -> NDArray[Any] | None:
    """Return the labels to compare with as an array (n,), None where there are none, or raise InputError."""
    if y is not None and np.shape(y) != (n,):
        raise InputError(f"y has shape {np.shape(y)}: it needs one label for each of the {n} rows.")
    return None if y is None else np.asarray(y)


def check_count(value: Any, name: str, *, minimum: int = 1, maximum: int | None = None, why: str = "") -> int:
    """Return a whole number within its limits, or raise InputError."""
    limits = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} is {value!r}: it must be a whole number, {limits}.")
    if value < minimum or (maximum is not None and value > maximum):
        raise InputError(f"{name} is {value}: it must be {limits}{why}.")
    return int(value)


def check_positive(value: Any, name: str) -> float:
    """Return a finite number above zero as a float, or raise InputError."""
    number = -1.0
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    if not 0.0 < number < math.inf:
        raise InputError(f"{name} is {value!r}: it must be a finite number above 0.")
    return number


def check_choice(value: Any, name: str, allowed: Sequence[Any]) -> Any:
    """Return the value if it is one of those allowed, or raise InputError."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in allowed):
        raise InputError(f"{name} is {value!r}: choose one of {', '.join(repr(option) for option in allowed)}.")
    return value


def check_n_clusters(n_clusters: Any, n: int) -> int:
    """Return the number of clusters, from 1 to the number of rows, or raise InputError."""
    return check_count(n_clusters, "n_clusters", maximum=n, why=f", the number of rows (n_samples={n})")
