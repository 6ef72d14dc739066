"""Table 4: one critical value by bisection, by Algorithm 2 at depth 10, and certified; and how far off each is.

Entry points: `METHODS`, `measure` (one path on one data set).
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from offgrid.critical import CriticalValue, Method, find_critical
from offgrid.engine.percentile import low_percentile
from offgrid.experiments.cases import Case, start_partition
from offgrid.experiments.progress import Tell, quiet
from offgrid.kernels import RBF
from offgrid.lloyd import iterate

METHODS: tuple[Method, ...] = ("bisection", "dyadic", "certified")
DEPTH, ITERATIONS, PRECISION = 10, 10, 1e-9
PROTOCOL = f"""
Each run starts as in Table 2 at the 1st percentile of squared distances; from the clustering there, and from each
of those that follow, up to {ITERATIONS} in a run, all methods look for the next critical value.

bisection is the paper's BinarySearch (absolute precision 1e-3, up to 1e6), dyadic Algorithm 2 at depth 10,
certified the search of this package with its default precision, 2^-20.

The reference is the certified value at relative precision {PRECISION:g}; kernel k-means is run again 1 % past it.
Plain NumPy checks it: no point moves at eight values up to it, and one moves a millionth past it.

Relative error is |found - reference| / reference. Where a method saw no point move, it is missed, and no error is
counted.

Seconds are those that the processor spends on one search from sums that are at hand, the median of three. The speed-up
is the mean of bisection's seconds over the mean of the method's.
"""

_MAX_ITER = 300
_TOLERANCE = 1e-12
_TIMES = 3
_LOOKS = 8


def _move(squares: NDArray[np.float64], labels: NDArray[np.int64], k: int, sigma: float) -> bool:
    """Return whether one assignment step at a bandwidth moves a point; in plain NumPy, straight from equation 4."""
    members = np.eye(k)[labels]
    sums = np.exp(squares / -sigma) @ members
    sizes = np.maximum(members.sum(axis=0), 1.0)
    proximities = 2.0 * sums / sizes - (members * sums).sum(axis=0) / sizes**2
    own = proximities[np.arange(len(labels)), labels]
    return bool((proximities.max(axis=1) > own + _TOLERANCE).any())


def _confirmed(
    squares: NDArray[np.float64], labels: NDArray[np.int64], k: int, start: float, found: CriticalValue
) -> bool:
    """Return whether NumPy too sees nothing move up to a critical value, and a point move just past it."""
    quiet = np.geomspace(start, found.below * (1.0 - 1e-6), _LOOKS) if found.below > start else ()
    return _move(squares, labels, k, found.sigma * (1.0 + 1e-6)) and not any(
        _move(squares, labels, k, sigma) for sigma in quiet
    )


def measure(case: Case, run: int, tell: Tell = quiet) -> dict[str, Any]:
    """Look for the critical values along one path, and return for each method seconds, errors and what it missed."""
    kernel, k = RBF().on(case.points.X), case.k
    pairs = kernel.pairs
    squares = cdist(case.points.X, case.points.X, "sqeuclidean")
    sigma = kernel.unit * low_percentile(pairs)
    labels = start_partition(pairs.n, k, run)
    found: dict[str, dict[str, Any]] = {method: {"seconds": [], "errors": [], "missed": 0} for method in METHODS}
    confirmed = uncertified = looked = 0
    for done in range(ITERATIONS):
        tell(done / ITERATIONS, f"critical value {done + 1} of {ITERATIONS}")
        state = iterate(pairs, labels, k, kernel.t(sigma), _MAX_ITER)
        if not state.converged:
            break
        reference = find_critical(kernel, state.partition, state.evaluation, rtol=PRECISION)
        if not reference.changed:
            break
        looked += 1
        uncertified += reference.uncertified
        confirmed += _confirmed(squares, state.partition.labels, k, sigma, reference)
        for method in METHODS:
            taken = []
            for _ in range(_TIMES):
                begin = time.process_time()
                value = find_critical(kernel, state.partition, state.evaluation, method=method, depth=DEPTH)
                taken.append(time.process_time() - begin)
            outcome = found[method]
            outcome["seconds"].append(float(f"{statistics.median(taken):.6g}"))
            if value.changed and math.isfinite(value.sigma):
                outcome["errors"].append(float(f"{abs(value.sigma / reference.sigma - 1.0):.6g}"))
            else:
                outcome["missed"] += 1
        labels, sigma = state.partition.labels, reference.sigma * 1.01
    return {"methods": found, "looked": looked, "confirmed": confirmed, "uncertified": uncertified}
