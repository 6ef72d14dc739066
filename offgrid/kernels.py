"""Kernels that are exponential in their parameter: K(t) = exp(t L), element by element, with a fixed matrix L.

Entry points: `RBF`, `Laplacian`, `Polynomial`, `KernelSum`, and `KernelOnData`, which is a kernel bound to a data set.
Another kernel is another `Kernel`: it says what L is and how its parameter and t belong together; everything else works
on t alone. t falls while the parameter grows, and t L is never above 0: a kernel that flattens has t = 1 / sigma and
L <= 0, one that sharpens t = -degree and L >= 0. Multiplying a kernel by a constant changes no proximity's rank, so
each is taken in the unit in which its largest entry is 1, or may be; the tolerance of a move is relative to that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.distributed import distribute
from offgrid.engine.layout import COMPUTED, TRIANGLE
from offgrid.engine.pairs import MixedPairs, Pairs, way_to_hold
from offgrid.errors import InputError
from offgrid.memory import for_pairs
from offgrid.path import EndReason
from offgrid.validation import check_points, check_positive, in_units_of, spread_of

_Floats = NDArray[np.float64]
# Where a search in the degree of a polynomial kernel begins, and where it ends unless it is told.
FIRST_DEGREE, LAST_DEGREE = 1.0, 64.0


@dataclass(frozen=True)
class KernelOnData:
    """A kernel's fixed exponents L on a data set, and the scale between its parameter and t.

    Attributes
    ----------
    pairs : Pairs
        The exponents L, in a unit that keeps them near 1.
    unit : float
        That unit, in the unit of the parameter; a power of two, so that the change of units is exact.
    parameter : str
        The parameter's name, ``"sigma"`` or ``"degree"``.
    sharpens : bool
        Whether t is the parameter with its sign turned, not `unit` over the parameter.
    limit : float
        Where a search ends unless it is told: ``inf`` where there is an end by nature, called `end`.
    end : str
    first : float or None
        Where a search begins by default; None for the 1st percentile of -L.
    log_unit, log_rate : float
        The kernel is exp(log_unit - t log_rate) times what `pairs` have.
    """

    pairs: Pairs
    unit: float
    parameter: str = "sigma"
    sharpens: bool = False
    limit: float = math.inf
    end: EndReason = "k-means"
    first: float | None = None
    log_unit: float = 0.0
    log_rate: float = 0.0

    def t(self, sigma: float) -> float:
        """Return the t that belongs to a value of the parameter, or raise InputError where it overflows."""
        if self.sharpens:
            return -sigma
        t = self.unit / sigma
        if math.isinf(t):
            raise InputError(
                f"sigma is {sigma:.3g}: too far below the distances between rows for double precision; "
                "give a larger one."
            )
        return t

    def sigma(self, t: float) -> float:
        """Return the value of the parameter that belongs to t; ``inf`` for 0."""
        if t == 0.0:
            return math.inf
        return -t if self.sharpens else self.unit / t

    def log_scale(self, t: float) -> float:
        """Return the logarithm of what the kernel at t is divided by."""
        return self.log_unit - t * self.log_rate


class Kernel(ABC):
    """What a kernel must say of itself."""

    @property
    def parameter(self) -> str:
        """The name of the parameter that is searched."""
        return "sigma"

    @abstractmethod
    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d)."""

    @abstractmethod
    def logarithms(self, points: _Floats, others: _Floats, value: float) -> _Floats:
        """Return the kernel's logarithm between rows, shape (n, m), at a value of its parameter."""


def _matrix(kernel: Kernel, X: ArrayLike, Y: ArrayLike | None, value: float) -> _Floats:
    """Return the kernel matrix between the rows of X and those of Y (X itself if None), shape (n, m)."""
    points = check_points(X)
    others = points if Y is None else check_points(Y)
    if points.shape[1] != others.shape[1]:
        raise InputError(f"X has {points.shape[1]} columns and Y has {others.shape[1]}: give both the same columns.")
    check_positive(value, kernel.parameter)
    return np.exp(kernel.logarithms(points, others, value))


def _on_distances(X: ArrayLike, *, manhattan: bool, decades: int, what: str) -> KernelOnData:
    """Bind a kernel of distances to data whose differences lie within so many powers of ten from 1."""
    points = check_points(X)
    spread = spread_of(points)
    if spread > 10.0 ** (decades + 1) or 0.0 < spread < 10.0 ** (-decades - 1):
        raise InputError(
            f"The columns spread over {spread:.3g}, and {what} must stay within double precision: "
            f"rescale the data so that differences lie between 1e-{decades} and 1e{decades}."
        )
    exponent = math.frexp(spread)[1] if spread > 0 else 0
    held = way_to_hold(len(points), points.shape[1], for_pairs())
    if manhattan and held == TRIANGLE:
        held = COMPUTED
    pairs = distribute(Pairs.from_points(in_units_of(points, exponent), held=held, manhattan=manhattan))
    return KernelOnData(pairs, math.ldexp(1.0, exponent if manhattan else 2 * exponent))


def _check_room(n: int, matrices: int) -> None:
    """Raise InputError where so many matrices do not fit into the memory that a search may take."""
    if 8 * n * n * matrices > for_pairs():
        raise InputError(
            f"X has {n} rows: this kernel keeps {matrices * 8 * n * n / 1e9:.1f} GB for them, more than the memory "
            "limit allows; give fewer rows, or raise OFFGRID_MEMORY_LIMIT."
        )


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
        return _on_distances(X, manhattan=False, decades=150, what="squared distances")

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, *, sigma: float) -> _Floats:
        """Return exp(-||x - y||**2 / sigma) for the rows of X and Y, shape (n, m)."""
        return _matrix(self, X, Y, sigma)

    def logarithms(self, points: _Floats, others: _Floats, value: float) -> _Floats:
        """Return -||x - y||**2 / sigma, shape (n, m)."""
        squares = np.zeros((len(points), len(others)))
        for column, other in zip(points.T, others.T, strict=True):
            squares += (column[:, None] - other[None, :]) ** 2
        return -squares / value


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-||x - y||_1 / sigma): of Manhattan distances, the sums of absolute differences.

    scikit-learn's `laplacian_kernel` has gamma = 1 / sigma. The bandwidth sigma has the unit of the data.

    As sigma grows kernel k-means tends to k-means for points whose squared distances are the Manhattan distances of the
    data. A search that gets there ends, for the reason ``"flat"``.

    Examples
    --------
    >>> Laplacian()([[0.0, 0.0], [1.0, 2.0]], sigma=3.0).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d).

        Raises
        ------
        InputError
            Where distances would leave the range of double precision (differences from 1e-300 to 1e300).
        """
        return replace(_on_distances(X, manhattan=True, decades=300, what="distances"), end="flat")

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, *, sigma: float) -> _Floats:
        """Return exp(-||x - y||_1 / sigma) for the rows of X and Y, shape (n, m)."""
        return _matrix(self, X, Y, sigma)

    def logarithms(self, points: _Floats, others: _Floats, value: float) -> _Floats:
        """Return -||x - y||_1 / sigma, shape (n, m)."""
        distances = np.zeros((len(points), len(others)))
        for column, other in zip(points.T, others.T, strict=True):
            distances += np.abs(column[:, None] - other[None, :])
        return -distances / value


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(x'y + c)**degree, searched in its degree, upward: any number above 0, whole or not.

    The same as scikit-learn's `polynomial_kernel` with gamma = 1 and coef0 = c. x'y + c must be above 0 for every pair
    of rows. Degree 1 is ordinary k-means: a search begins there. With the degree the rows of largest norm outweigh all
    others, without end, so a search stops at degree 64 unless its `limit` says otherwise. A proximity counts in units
    of the kernel's largest entry.

    Parameters
    ----------
    c : float

    Notes
    -----
    For a degree that is no whole number (x'y + c)**degree need not be positive semidefinite. There may then be no
    feature space, and steps of kernel k-means need not lower the objective: records say whether they converged.

    Examples
    --------
    >>> Polynomial(c=1.0)([[0.0, 1.0], [2.0, 1.0]], degree=2.0).tolist()
    [[4.0, 4.0], [4.0, 36.0]]
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.c, Real) or isinstance(self.c, bool) or not math.isfinite(self.c):
            raise InputError(f"c is {self.c!r}: it must be a finite number, such as 1.")

    @property
    def parameter(self) -> str:
        """The name of the parameter that is searched."""
        return "degree"

    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d).

        Raises
        ------
        InputError
            Where x'y + c is not above 0 for every pair of rows (the message has the c that would do), or n**2 numbers
            do not fit into the memory limit.
        """
        points = check_points(X)
        _check_room(len(points), 1)
        logs = self.logarithms(points, points, 1.0)
        peak = float(logs.max())
        pairs = Pairs.from_exponents(np.subtract(peak, logs, out=logs), points)
        return KernelOnData(
            pairs, 1.0, "degree", sharpens=True, limit=LAST_DEGREE, end="limit", first=FIRST_DEGREE, log_rate=peak
        )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, *, degree: float) -> _Floats:
        """Return (x'y + c)**degree for the rows of X and Y, shape (n, m)."""
        return _matrix(self, X, Y, degree)

    def logarithms(self, points: _Floats, others: _Floats, value: float) -> _Floats:
        """Return degree log(x'y + c), shape (n, m), or raise InputError where that is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            products = points @ others.T
        if not np.isfinite(products).all():
            raise InputError("The products x'y leave the range of double precision: rescale the data.")
        least = float(products.min())
        products += self.c
        if not products.min() > 0.0:
            raise InputError(
                f"c is {self.c!r}: x'y + c must be above 0 for every pair of rows, and the smallest x'y is {least!r}; "
                f"give a c above {-least!r}."
            )
        np.log(products, out=products)
        products *= value
        return products


@dataclass(frozen=True)
class KernelSum(Kernel):
    """A weighted sum of kernels, one of which is searched while the parameters of the others stay as they are.

    A search in sigma ends where the searched kernel has become flat and only the others tell rows apart (the reason is
    ``"flat"``), one in the degree of a polynomial kernel at its limit.

    Parameters
    ----------
    terms : sequence of (float, Kernel, float or None)
        For each term its weight, above 0, the kernel, and the value of its parameter: None for the one that is
        searched, exactly one.

    Examples
    --------
    >>> kernel = KernelSum([(1.0, RBF(), None), (0.5, Polynomial(c=0.0), 2.0)])
    >>> kernel([[1.0], [2.0]], sigma=1.0).round(3).tolist()
    [[1.5, 2.368], [2.368, 9.0]]
    """

    terms: Sequence[tuple[float, Kernel, float | None]]

    def __post_init__(self) -> None:
        how = "give (weight, kernel, value of its parameter) for each, None for the value that is searched"
        try:
            terms = tuple((weight, kernel, value) for weight, kernel, value in self.terms)
        except (TypeError, ValueError) as error:
            raise InputError(f"terms are {self.terms!r}: {how}.") from error
        for weight, kernel, value in terms:
            check_positive(weight, "weight")
            if not isinstance(kernel, Kernel) or isinstance(kernel, KernelSum):
                raise InputError(f"A term's kernel is {kernel!r}: give a kernel such as RBF(), and no sum.")
            if value is not None:
                check_positive(value, kernel.parameter)
        searched = sum(value is None for _, _, value in terms)
        if searched != 1:
            raise InputError(f"{searched} of {len(terms)} terms are searched: {how}, exactly one.")
        object.__setattr__(self, "terms", terms)

    @property
    def parameter(self) -> str:
        """The name of the parameter that is searched."""
        return self._searched[1].parameter

    @property
    def _searched(self) -> tuple[float, Kernel]:
        return next((weight, kernel) for weight, kernel, value in self.terms if value is None)

    def on(self, X: ArrayLike) -> KernelOnData:
        """Bind the kernel to data X, shape (n, d).

        Raises
        ------
        InputError
            Where a term refuses the data, a fixed term is beyond double precision, or the fixed terms' n**2 numbers
            do not fit into the memory limit.
        """
        points = check_points(X)
        weight, kernel = self._searched
        bound = kernel.on(points)
        _check_room(len(points), 1 + (bound.pairs.held != COMPUTED))
        fixed = np.zeros((len(points), len(points)))
        for a, other, value in self.terms:
            if value is not None:
                with np.errstate(over="ignore"):
                    fixed += a * np.exp(other.logarithms(points, points, value))
        total = weight + float(fixed.max())
        if not math.isfinite(total):
            raise InputError("A fixed term's entries leave the range of double precision: give it a smaller degree.")
        pairs, rate = bound.pairs, max(bound.log_rate, 0.0)
        if bound.log_rate < 0.0:
            # the searched kernel's entries are all below 1, and fade beside the others': no unit of its own
            pairs = Pairs.from_exponents(pairs.matrix - bound.log_rate, pairs.points)
        fixed /= total
        return replace(
            bound,
            pairs=MixedPairs(pairs, weight / total, fixed, rate),
            end="limit" if bound.sharpens else "flat",
            log_unit=math.log(total),
            log_rate=rate,
        )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, **parameter: float) -> _Floats:
        """Return the sum for the rows of X and Y, shape (n, m), at a value of the searched parameter, by its name."""
        if set(parameter) != {self.parameter}:
            raise InputError(f"The searched parameter is {self.parameter}: give {self.parameter}=... and no other.")
        return _matrix(self, X, Y, parameter[self.parameter])

    def logarithms(self, points: _Floats, others: _Floats, value: float) -> _Floats:
        """Return the logarithm of the sum, shape (n, m)."""
        total = np.full((len(points), len(others)), -np.inf)
        for weight, kernel, own in self.terms:
            logs = kernel.logarithms(points, others, value if own is None else own)
            np.logaddexp(total, logs + math.log(weight), out=total)
        return total


def kernel_named(name: str, *, offset: float = 1.0, plus: Sequence[tuple[float, str, float]] = ()) -> Kernel:
    """Return a kernel by its name, with fixed terms added: weight, name, and the value of its parameter.

    `offset` is that of the polynomial kernel, wherever one is named.

    Raises
    ------
    InputError
        Where there is no kernel of a name, or a number can't be used.
    """
    named: dict[str, Kernel] = {"rbf": RBF(), "laplacian": Laplacian(), "polynomial": Polynomial(offset)}
    for unknown in {name, *(other for _, other, _ in plus)} - set(named):
        raise InputError(f"There is no kernel {unknown!r}: choose from {', '.join(named)}.")
    if not plus:
        return named[name]
    return KernelSum([(1.0, named[name], None), *((weight, named[other], value) for weight, other, value in plus)])
