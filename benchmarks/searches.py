"""Whole searches: beside the same search in plain NumPy, and on much data.

Entry points: `MEASUREMENTS`, `replay`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import rulers
from benchmarks.cases import Floats, Labels, blobs, load_case, mnist, random_start
from benchmarks.critical_values import DEPTH
from benchmarks.engine import nanoseconds_per_entry
from benchmarks.measurement import Measurement, Row, Settings
from benchmarks.timing import Spread
from benchmarks.worker import run_worker
from offgrid import BandwidthSearch
from offgrid.engine.threads import thread_count

_SAMPLE = 10
_MNIST_VALUES = 13
_MANY = 100_000


class _Clock:
    """Seconds and number of times for each part of the work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.times: dict[str, int] = {}
        self.last = time.perf_counter()

    def start(self) -> None:
        self.last = time.perf_counter()

    def stop(self, part: str, times: int = 1) -> None:
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self.last
        self.times[part] = self.times.get(part, 0) + times
        self.last = now

    def each(self, part: str) -> float:
        """Return the mean seconds of one time."""
        return self.seconds[part] / self.times[part]


def replay(
    X: Floats, k: int, start: Labels, sigmas: Sequence[float], labels: Any, iterations: Sequence[int],
    chosen: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """Do in plain NumPy what a search did, and return the seconds that all of it takes.

    The beginning (distances, their 1st percentile, the order of neighbours, kernel k-means from the start) is done as
    it is. Each chosen step starts from the clustering that the search had there: kernel matrix, Algorithm 2, kernel
    matrix and kernel k-means at the bandwidth where the search went on, c-NNC. The mean of each part stands for the
    steps that were not chosen; kernel k-means counts by iteration.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    k : int
    start : ndarray of int64, shape (n,)
    sigmas, labels, iterations : sequences of one entry for each record of the search
    chosen : sequence of int
        Steps to do: step i goes from record i to record i + 1.
    """
    clock = _Clock()
    squares = rulers.squared_distances(X)
    np.percentile(squares[np.triu_indices(len(X), 1)], 1.0)
    clock.stop("distances")
    order = rulers.neighbour_order(squares)
    clock.stop("neighbours")
    K, root = rulers.kernel(squares, sigmas[0]), np.empty_like(squares)
    first, looked = rulers.kernel_kmeans(K, start, k)
    clock.stop("beginning")
    agree = int(np.array_equal(first, labels[0]))
    for i in chosen:
        before = np.asarray(labels[i], dtype=np.int64)
        clock.start()
        rulers.kernel(squares, sigmas[i], K)
        clock.stop("kernel")
        rulers.algorithm_2(K, before, k, DEPTH, root)
        clock.stop("critical")
        rulers.kernel(squares, sigmas[i + 1], K)
        clock.stop("kernel")
        after, moving = rulers.kernel_kmeans(K, before, k)
        clock.stop("iteration", moving + 1)
        rulers.nearest_neighbour_cost(order, after, k)
        clock.stop("cnnc")
        agree += int(np.array_equal(after, labels[i + 1]))
    steps = len(sigmas) - 1
    parts = {
        **{part: clock.seconds[part] for part in ("distances", "neighbours", "beginning")},
        "kernel matrices": clock.each("kernel") * 2 * steps,
        "critical values": clock.each("critical") * steps,
        "kernel k-means": clock.each("iteration") * (sum(iterations[1:]) + steps),
        "c-NNC": clock.each("cnnc") * (steps + 1),
    }
    return {
        "seconds": sum(parts.values()),
        "parts": parts,
        "timed": sum(clock.seconds.values()),
        "same_partitions": agree,
        "partitions": len(chosen) + 1,
        "beginning_iterations": looked,
        "critical_each": clock.each("critical"),
        "iteration_each": clock.each("iteration"),
    }


def _told(chosen: Sequence[int], steps: int) -> str:
    """Say how much of NumPy's search was timed."""
    if len(chosen) == steps:
        return "NumPy: timed whole."
    sampled = "1 step" if len(chosen) == 1 else f"{len(chosen)} evenly spaced steps"
    return f"NumPy: the beginning and {sampled} of {steps} timed, the rest worked out from these; --full times all."


def _spaced(steps: int, count: int) -> list[int]:
    return np.unique(np.linspace(0, steps - 1, min(count, steps)).round().astype(int)).tolist()


def whole(settings: Settings) -> Iterator[Row]:
    """Compare a whole search on D31 with the plain way."""
    case = load_case("d31", settings.data)
    start = random_start(case.n, case.k)
    BandwidthSearch(2, max_steps=2).fit(case.X[:100])  # compiles what is not compiled yet
    ours: list[float] = []
    rounds = settings.rounds if settings.full else min(settings.rounds, 3)
    for number in range(rounds):
        settings.progress(f"{case}: our search, round {number + 1} of {rounds}")
        begin = time.perf_counter()
        records = list(BandwidthSearch(case.k, init=start).iter_path(case.X))
        ours.append(time.perf_counter() - begin)
    steps = len(records) - 1
    chosen = list(range(steps)) if settings.full else _spaced(steps, _SAMPLE)
    settings.progress(f"{case}: {len(chosen)} of {steps} steps in NumPy")
    found = [record.sigma for record in records], [record.labels for record in records]
    plain = replay(case.X, case.k, start, *found, [record.iterations for record in records], chosen)
    yield Row(
        f"{case}, n = {case.n:,}, k = {case.k}, {len(records)} clusterings",
        Spread.of(ours),
        Spread.of([plain["seconds"]]),
        against="the same in NumPy",
        target=20.0,
        note=_told(chosen, steps),
        details={"plain": plain, "steps": steps, "chosen": chosen, "source": case.source},
    )


def digits(settings: Settings) -> Iterator[Row]:
    """Compare a search of 13 values on 8,000 MNIST digits with the plain way, and report its memory."""
    X, k = mnist(settings.data, 8000), 10
    label = f"8,000 × 784, k = {k}, {_MNIST_VALUES} critical values"
    if X is None:
        yield Row(label, skipped="there is no mnist_8k.npz here: name its folder with --data")
        return
    start = random_start(len(X), k)
    settings.progress("MNIST: our search, in a process of its own")
    ours = run_worker("search", X=X, k=k, max_steps=_MNIST_VALUES, init=start)
    steps = len(ours["sigmas"]) - 1
    chosen = list(range(steps)) if settings.full else _spaced(steps, 1)
    settings.progress(f"MNIST: {len(chosen)} of {steps} steps in NumPy, in a process of its own")
    found = {name: ours[name] for name in ("sigmas", "iterations")}
    labels = np.array(ours["labels"])
    plain = run_worker("plain_search", X=X, k=k, start=start, labels=labels, chosen=chosen, **found)
    details = {"ours": _without_labels(ours), "plain": plain, "steps": steps, "chosen": chosen}
    yield Row(
        label, Spread.of([ours["seconds"]]), Spread.of([plain["seconds"]]),
        against="the same in NumPy", note=_told(chosen, steps), details=details,
    )  # fmt: skip
    yield Row(
        "peak memory of that process", Spread.of([ours["peak_memory"]]), Spread.of([plain["peak_memory"]]), unit="MB",
        against="the same in NumPy",
    )  # fmt: skip


def many(settings: Settings) -> Iterator[Row]:
    """Report one step of a search over 100,000 points."""
    k = 10
    settings.progress(f"{_MANY:,} points: our search, in a process of its own")
    done = run_worker("search", X=blobs(_MANY, k), k=k, max_steps=1, init="k-means++")
    entries = sum(done["passes"]) * _MANY**2
    # what is left is ranking neighbours, which evaluates no kernel entry
    share = entries * nanoseconds_per_entry() * 1e-9 / thread_count() / sum(done["record_seconds"])
    yield Row(
        f"{_MANY:,} × 2, k = {k}: first clustering and one critical value",
        Spread.of([done["seconds"]]),
        note=f"{sum(done['passes']):.1f} kernel passes, {sum(done['iterations'])} iterations of kernel k-means.",
        details=_without_labels(done),
    )
    yield Row("peak memory of that process", Spread.of([done["peak_memory"]]), unit="MB", target=2147.0)
    yield Row("share of the arithmetic limit in its kernel passes", Spread.of([100.0 * share]), unit="%")


def _without_labels(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name != "labels"}


MEASUREMENTS = (
    Measurement(
        "search",
        "A whole search, beside the same search in NumPy",
        "From the points to the end of the path, with c-NNC of every clustering. NumPy does the same with ready-made "
        "parts: a kernel matrix, Algorithm 2 (depth 10), kernel k-means and c-NNC by counting along sorted neighbours, "
        "from the same start and from the same clustering at each step.",
        whole,
    ),
    Measurement(
        "mnist-8000",
        "A search on 8,000 handwritten digits, beside the same in NumPy",
        "Limited to 13 critical values. Each side in a process of its own, so that memory is told apart.",
        digits,
    ),
    Measurement(
        "points-100000",
        "One search step over 100,000 points",
        "Ours alone: a kernel matrix would take 80 GB. Kernel entries are computed when they are needed and not kept.",
        many,
    ),
)
