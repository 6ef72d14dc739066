"""Kernels that are exponential in their parameter: K(t) = exp(t L), element by element, with a fixed matrix L.

Entry points: `RBF`, and `KernelOnData`, which is a kernel bound to a data set. Another kernel is another `Kernel`: it
says what L is and how its parameter and t belong together; everything else works on t alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.engine.pairs import Pairs, way_to_hold
from offgrid.errors import InputError
from offgrid.memory import for_pairs
from offgrid.validation import check_points, check_positive, in_units_of, spread_of


@dataclass(frozen=True)
class KernelOnData:
    """A kernel's fixed exponents L on a data set, and the scale between its parameter and t.

    Attributes
    ----------
    pairs : Pairs
        The exponents L, in a unit that keeps them near 1.
    unit : float
        That unit, in the data's own squared units; a power of two, so that the change of units is exact.
    """

    pairs: Pairs
    unit: float

    def t(self, sigma: float) -> float:
        """Return the t that belongs to a bandwidth, or raise InputError where it overflows."""
        t = self.unit / sigma
        if math.isinf(t):
            raise InputError(
                f"sigma is {sigma:.3g}: too far below the squared distances for double precision; give a larger one."
            )
        return t

    def sigma(self, t: float) -> float:
        """Return the bandwidth that belongs to t; ``inf`` for 0."""
        return self.unit / t if t > 0 else math.inf


class Kernel(ABC):
    """What a kernel must say of itself."""

    @abstractmethod
    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d)."""

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, *, sigma: float) -> NDArray[np.float64]:
        """Return the kernel matrix between the rows of X and those of Y (X itself if None), shape (n, m)."""


@dataclass(frozen=True)
class RBF(Kernel):
    """exp(-||x - y||**2 / sigma), the paper's RBF kernel: no factor 2, and sigma is not squared.

    In other notations the same kernel has gamma = 1 / sigma (scikit-learn), and s = sqrt(sigma / 2) in
    exp(-||x - y||**2 / (2 s**2)). The bandwidth sigma has the squared unit of the data.

    Examples
    --------
    >>> RBF()([[0.0], [1.0]], sigma=1.0).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d).

        Raises
        ------
        InputError
            Where squared distances would leave the range of double precision (differences from 1e-150 to 1e150).
        """
        points = check_points(X)
        spread = spread_of(points)
        if spread > 1e151 or 0.0 < spread < 1e-151:
            raise InputError(
                f"The columns spread over {spread:.3g}, and squared distances must stay within double precision: "
                "rescale the data so that differences lie between 1e-150 and 1e150."
            )
        exponent = math.frexp(spread)[1] if spread > 0 else 0
        held = way_to_hold(len(points), points.shape[1], for_pairs())
        return KernelOnData(Pairs.from_points(in_units_of(points, exponent), held=held), math.ldexp(1.0, 2 * exponent))

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, *, sigma: float) -> NDArray[np.float64]:
        """Return exp(-||x - y||**2 / sigma) for the rows of X and Y, shape (n, m)."""
        points = check_points(X)
        others = points if Y is None else check_points(Y)
        if points.shape[1] != others.shape[1]:
            raise InputError(
                f"X has {points.shape[1]} columns and Y has {others.shape[1]}: give both the same columns."
            )
        check_positive(sigma, "sigma")
        squares = np.zeros((len(points), len(others)))
        for column, other in zip(points.T, others.T, strict=True):
            squares += (column[:, None] - other[None, :]) ** 2
        return np.exp(-squares / sigma)
