"""The engine by itself: how its passes grow with the data, how near they come to the arithmetic limit, and its start.

Entry points: `MEASUREMENTS`, `nanoseconds_per_entry`, `thread_count`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from benchmarks.cases import load_case, states
from benchmarks.measurement import Measurement, Row, Settings
from benchmarks.timing import Spread, seconds
from benchmarks.worker import environment, run_worker
from offgrid import RBF
from offgrid.engine.exponential import exponential
from offgrid.engine.partition import Partition
from offgrid.engine.threads import thread_count
from offgrid.proximity import evaluate

_SIZES = tuple(2**exponent for exponent in range(10, 17))
_CLUSTERS = 10
# Below this many points a process's own noise hides the memory of a pass.
_MEMORY_FROM = 2**13
_CACHED, _REPEATS = 1024, 20_000


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _exponentials(exponents: Any, repeats: int) -> float:
    """Evaluate the exponential of every element again and again, and nothing else."""
    total = 0.0
    for repeat in range(repeats):
        t = 1.0 + 1e-9 * repeat  # something must change, or the compiler does it once
        for j in range(exponents.shape[0]):
            total += exponential(t * exponents[j])
    return total


@cache
def nanoseconds_per_entry() -> float:
    """Return what one exponential takes on one thread, on data in the cache: the least of five runs."""
    exponents = np.linspace(-5.0, 0.0, _CACHED)
    _exponentials(exponents, 1)
    taken = min(seconds(lambda: _exponentials(exponents, _REPEATS)) for _ in range(5))
    return 1e9 * taken / (_CACHED * _REPEATS)


def limit(settings: Settings) -> Iterator[Row]:
    """Report the arithmetic limit, and what share of it a full pass over D31 reaches."""
    each, threads = nanoseconds_per_entry(), thread_count()
    yield Row("one exponential on one thread, on data in the cache", Spread.of([each]), unit="ns")
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: full passes")
    kernel = RBF().on(case.X)
    labels = states(case, 3)[1].labels
    partition = Partition(labels, case.k)
    # wide enough that no kernel value is negligible, so that none is left out
    t = kernel.t(2.0 * float(case.X.var(axis=0).sum()))
    evaluate(kernel.pairs, partition, t)
    taken = [seconds(lambda: evaluate(kernel.pairs, partition, t)) for _ in range(4 * settings.rounds)]
    pairs = case.n * (case.n - 1) // 2
    shares = [100.0 * pairs * each * 1e-9 / threads / one for one in taken]
    yield Row(f"{case}, a full pass: {pairs:,} pairs, {threads} threads", Spread.of(taken))
    yield Row(
        "share of the arithmetic limit that it reaches", Spread.of(shares), unit="%",
        note="The rest is distances, sums by cluster and their derivatives, and waiting for memory.",
    )  # fmt: skip


def growth(settings: Settings) -> Iterator[Row]:
    """Report how the time and the memory of a full pass grow with the number of points."""
    reports = []
    for n in _SIZES:
        settings.progress(f"{n:,} points, in a process of its own")
        reports.append(run_worker("growth", n=n, k=_CLUSTERS))
    times = [report["seconds"] for report in reports]
    memory = [report["memory_added"] for report in reports]
    for n, report in zip(_SIZES, reports, strict=True):
        yield Row(
            f"n = {n:,}: one full pass", Spread.of([report["seconds"]]),
            details=report,
        )  # fmt: skip
    yield Row("time grows like n to the power of", Spread.of([_exponent(_SIZES, times)]), unit="")
    label = f"memory grows like n to the power of, from n = {_MEMORY_FROM:,} on"
    if None in memory:
        yield Row(label, skipped="this system does not tell what a process held since a moment.")
        return
    large = [i for i, n in enumerate(_SIZES) if n >= _MEMORY_FROM]
    yield Row(
        label,
        Spread.of([_exponent([_SIZES[i] for i in large], [memory[i] for i in large])]),
        unit="",
        note=f"Of what the data and a pass add to the process: {memory[-1]:,.0f} MB for n = {_SIZES[-1]:,}.",
        details={"megabytes": dict(zip(map(str, _SIZES), memory, strict=True))},
    )


def _exponent(sizes: Any, values: Any) -> float:
    """Return the slope of the values over the sizes, both as logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def start(settings: Settings) -> Iterator[Row]:
    """Report what importing takes."""
    for label, statement, target in (
        ("import offgrid", "import offgrid", 0.4),
        ("from offgrid import BandwidthSearch", "from offgrid import BandwidthSearch", None),
    ):
        code = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
        taken = []
        for _ in range(settings.rounds):
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True, text=True, check=True, timeout=300, env=environment(),
            )  # fmt: skip
            taken.append(float(done.stdout))
        yield Row(
            label, Spread.of(taken), target=target, details={"seconds": taken, "median": statistics.median(taken)}
        )


MEASUREMENTS = (
    Measurement(
        "growth",
        "How a full kernel pass grows with the number of points",
        "Ours alone, from 1,024 to 65,536 points in two columns, 10 clusters, no matrix kept. Time cannot grow slower "
        "than n² when every pair is looked at; memory should grow like n.",
        growth,
    ),
    Measurement(
        "limit",
        "How near a full kernel pass comes to the arithmetic limit",
        "The limit is a compiled loop that evaluates the kernel's exponential on data in the cache and does nothing "
        "else, on each thread.",
        limit,
    ),
    Measurement("import", "What importing takes", "In a fresh process each time.", start),
)
