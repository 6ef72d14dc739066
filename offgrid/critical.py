"""The critical value: the next bandwidth at which a partition changes (paper, section 5, and ours).

Entry points: `critical_bandwidth` for one's own data, `find_critical` for a kernel already bound to data. One module a
method: `certified`, `dyadic` (the paper's Algorithm 2), `rootfinding` (``"newton"``, the paper's first approach, and
``"bisection"``, its BinarySearch).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid import certified, dyadic, rootfinding
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.errors import InputError
from offgrid.kernels import RBF, Kernel, KernelOnData
from offgrid.looks import Look, Observer, Report, ignore
from offgrid.proximity import Evaluation, evaluate
from offgrid.validation import check_choice, check_count, check_labels, check_n_clusters, check_positive

Method = Literal["certified", "dyadic", "newton", "bisection"]
METHODS: tuple[Method, ...] = get_args(Method)
LIMITING = (None, "close", "movers")
# Below, the tolerance of a move blurs the critical value; above, an interval is no longer small.
_FINEST, _COARSEST = 1e-12, 0.1


@dataclass(frozen=True, eq=False)
class CriticalValue:
    """A critical value and how it was found.

    Attributes
    ----------
    sigma : float
        The smallest bandwidth found at which a point moves; ``inf`` if none does. For ``"dyadic"`` without a change
        seen (`changed` is False): sigma * 2**depth, as far as it looked.
    below : float
        Nothing moves up to here: certified for ``"certified"``, for the others the largest value seen quiet under
        `sigma`.
    labels : ndarray of int64, shape (n,)
        The labels after one assignment step at `sigma`.
    moved : ndarray of int64
        Rows that this step moves.
    changed : bool
        Whether a point was seen to move.
    passes : float
        Kernel passes spent, in units of n**2 kernel entries.
    uncertified : int
        ``"certified"``: near-ties that could not be certified and were passed over, counted once for each row and
        interval.
    numerator, denominator : int or None
        ``"dyadic"``: the kernel at `sigma` is the given one to the power numerator / denominator.
    checked : float
        ``"dyadic"``: share of the points that the queries looked at.
    """

    sigma: float
    below: float
    labels: NDArray[np.int64]
    changed: bool
    passes: float
    uncertified: int = 0
    numerator: int | None = None
    denominator: int | None = None
    checked: float = 1.0
    moved: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def critical_bandwidth(
    X: ArrayLike, labels: ArrayLike, sigma: float, *, n_clusters: int, kernel: Kernel = RBF(),  # noqa: B008
    method: Method = "certified", depth: int = 10, rtol: float = 2**-20, limiting: str | None = None,
    limit: float | None = None, observe: Observer | None = None,
) -> CriticalValue:  # fmt: skip
    """Find the smallest bandwidth above `sigma` at which one assignment step from a partition moves a point.

    One step suffices: a step that moves a point lowers the objective, so kernel k-means cannot return to the partition
    it came from. If `labels` are no fixed point at `sigma` itself, `sigma` is the answer.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of int, shape (n,)
        Partition to which kernel k-means has converged at `sigma`, clusters from 0 to n_clusters - 1.
    sigma : float
        Bandwidth, in squared units of X; for another kernel the value of its parameter, such as a degree.
    n_clusters : int
    kernel : Kernel
        Of a `KernelSum` the critical value of the parameter that it leaves open.
    method : {"certified", "dyadic", "newton", "bisection"}
        ``"certified"`` cannot step over a critical value; about one kernel pass. ``"dyadic"`` is the paper's
        Algorithm 2, ``"newton"`` its first approach, ``"bisection"`` its BinarySearch (absolute precision 1e-3, up
        to 1e6).
    depth : int
        Rounds of ``"dyadic"``.
    rtol : float
        Relative precision of ``"certified"`` and ``"newton"``, from 1e-12 to 0.1.
    limiting : {None, "close", "movers"}
        ``"dyadic"``: look only at points whose two best proximities are close, or at those that moved the first time.
    limit : float or None
        Value beyond which nothing is wanted: `sigma` is ``inf`` if nothing is found up to there. None for the kernel's
        own, which is a degree of 64 for a polynomial kernel; the others have none.
    observe : callable, optional
        Called with a `Look` after each look at the kernel.

    Returns
    -------
    CriticalValue

    Raises
    ------
    InputError
        Where an argument is not what it must be.

    Examples
    --------
    >>> found = critical_bandwidth([[0.0], [1.0], [5.0]], [0, 1, 1], 0.2, n_clusters=2)
    >>> found.moved.tolist(), round(found.sigma, 4)
    ([1], 3.5192)
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"kernel is {kernel!r}: give a kernel such as RBF().")
    bound = kernel.on(X)
    check_n_clusters(n_clusters, bound.pairs.n)
    partition = Partition(check_labels(labels, bound.pairs.n, n_clusters), n_clusters)
    start = evaluate(bound.pairs, partition, bound.t(check_positive(sigma, bound.parameter)))
    limit = bound.limit if limit is None else check_positive(limit, "limit")
    if limit <= sigma:
        raise InputError(f"limit is {limit:.6g}: it must be above {bound.parameter}, {sigma:.6g}.")
    check_method(bound, method)
    return find_critical(
        bound, partition, start, method=method, depth=depth, rtol=rtol, limiting=limiting, limit=limit, observe=observe
    )


def check_method(kernel: KernelOnData, method: str) -> None:
    """Raise InputError where a method cannot work with a kernel."""
    if method == "dyadic" and kernel.pairs.mixed:
        raise InputError(
            "method is 'dyadic': powers of a sum of kernels are no sum of such kernels; give method='certified'."
        )


def find_critical(
    kernel: KernelOnData, partition: Partition, start: Evaluation, *, method: Method = "certified",
    depth: int = 10, rtol: float = 2**-20, limiting: str | None = None, limit: float = math.inf,
    observe: Observer | None = None,
) -> CriticalValue:  # fmt: skip
    """Find the critical value of a partition from its sums at some t; see `critical_bandwidth`.

    `limit` is a bandwidth beyond which nothing is wanted: `sigma` is ``inf`` if nothing is found up to there. A kernel
    that sharpens with its parameter needs one.
    """
    check_choice(method, "method", METHODS)
    check_choice(limiting, "limiting", LIMITING)
    check_count(depth, "depth", maximum=40)
    if not _FINEST <= check_positive(rtol, "rtol") <= _COARSEST:
        raise InputError(f"rtol is {rtol!r}: it must lie between {_FINEST} and {_COARSEST}.")
    spent = _passes_from(kernel.pairs)
    report = None if observe is None else _report_to(observe, kernel, spent)
    stepped = start.stepped(partition)
    if not np.array_equal(stepped, partition.labels):
        sigma = kernel.sigma(start.t)
        found = CriticalValue(sigma, sigma, stepped, True, 0.0)
    elif method == "certified":
        found = _certified(kernel, partition, start, rtol, limit, report)
    elif method == "dyadic":
        found = _dyadic(kernel, partition, start, depth, limiting, report or ignore)
    else:
        seen = (
            rootfinding.newton(kernel, partition, start, rtol=rtol, limit=limit, report=report or ignore)
            if method == "newton"
            else rootfinding.bisect(kernel, partition, start, limit=limit, report=report or ignore)
        )
        found = CriticalValue(seen.sigma, seen.below, seen.labels, math.isfinite(seen.sigma), 0.0)
    moved = np.flatnonzero(found.labels != partition.labels)
    return replace(found, moved=moved, passes=spent())


def _passes_from(pairs: Pairs) -> Callable[[], float]:
    """Return what counts the kernel passes from now on; the sums at the start cost a look at all pairs, too."""
    n, before = pairs.n, pairs.entries
    return lambda: (pairs.entries - before + n * (n - 1) // 2) / n**2


def _report_to(observe: Observer, kernel: KernelOnData, spent: Callable[[], float]) -> Report:
    """Return what tells an observer in terms of the kernel's parameter."""

    def report(t: float, rows: int, quiet_to: float) -> None:
        observe(Look(kernel.sigma(t), rows, kernel.sigma(quiet_to), spent()))

    return report


def _certified(
    kernel: KernelOnData, partition: Partition, start: Evaluation, rtol: float, limit: float, report: Report | None
) -> CriticalValue:
    stop_t = kernel.t(limit) if math.isfinite(limit) else 0.0
    found = certified.find(kernel.pairs, partition, start, rtol=rtol, stop_t=stop_t, report=report)
    sigma = kernel.sigma(found.t)
    return CriticalValue(sigma, kernel.sigma(found.quiet_to), found.labels, found.t != 0.0, 0.0, found.uncertified)


def _dyadic(
    kernel: KernelOnData, partition: Partition, start: Evaluation, depth: int, limiting: str | None, report: Report
) -> CriticalValue:
    found = dyadic.find(
        kernel.pairs, partition, start, depth=depth, limiting=limiting, sharper=kernel.sharpens, report=report
    )
    sigma = kernel.sigma(start.t)
    exponents = (found.numerator, found.denominator), (found.quiet_numerator, found.quiet_denominator)
    values = [sigma * p / q if kernel.sharpens else sigma * q / p for p, q in exponents]
    return CriticalValue(
        sigma=values[0],
        below=values[1],
        labels=found.labels,
        changed=found.changed,
        passes=0.0,
        numerator=found.numerator,
        denominator=found.denominator,
        checked=found.checked,
    )
