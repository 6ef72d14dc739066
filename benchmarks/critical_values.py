"""One critical value: certified and dyadic, beside NumPy's Algorithm 2 and bisection.

Entry point: `MEASUREMENTS`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import rulers
from benchmarks.cases import Case, State, known_values, load_case, states
from benchmarks.measurement import Measurement, Row, Settings
from benchmarks.timing import Spread, alternate, seconds, steady_seconds
from offgrid import RBF, critical_bandwidth
from offgrid.critical import CriticalValue, find_critical
from offgrid.engine.partition import Partition
from offgrid.proximity import evaluate

DEPTH = 10
_SETS = ("d31", "aggregation", "r15", "flame", "wine", "spiral")
_PARTITIONS = 5


# At least so many times as fast as Algorithm 2.
_TARGETS = {"d31": 30.0, "aggregation": 12.0, "r15": 12.0, "flame": 4.0, "wine": 4.0, "spiral": 4.0}


def _ours(case: Case, state: State, **options: Any) -> CriticalValue:
    return critical_bandwidth(case.X, state.labels, state.sigma, n_clusters=case.k, **options)


class _Prepared:
    """Our search with the data bound to the kernel, as along a path."""

    def __init__(self, case: Case, state: State) -> None:
        self.kernel = RBF().on(case.X)
        self.t = self.kernel.t(state.sigma)
        self.partition = Partition(state.labels, case.k)
        self.start = evaluate(self.kernel.pairs, self.partition, self.t)

    def whole(self, **options: Any) -> CriticalValue:
        """Find the critical value, the sums at the start included."""
        start = evaluate(self.kernel.pairs, self.partition, self.t)
        return find_critical(self.kernel, self.partition, start, **options)

    def from_sums(self) -> CriticalValue:
        """Find it from the sums that kernel k-means ends with, as the search along a path does."""
        return find_critical(self.kernel, self.partition, self.start)


def _beside_algorithm_2(case: Case, settings: Settings, label: str, target: float, **options: Any) -> Row:
    """Time ours and NumPy's Algorithm 2 on partitions along the path, and compare what they find."""
    squares = rulers.squared_distances(case.X)
    K, root = np.empty_like(squares), np.empty_like(squares)
    ours, theirs, from_sums, from_points, apart = [], [], [], [], []
    for state in states(case, _PARTITIONS):
        prepared = _Prepared(case, state)

        def found(prepared: _Prepared = prepared) -> CriticalValue:
            return prepared.whole(**options)

        def plain(state: State = state) -> rulers.Exponent:
            return rulers.algorithm_2(rulers.kernel(squares, state.sigma, K), state.labels, case.k, DEPTH, root)

        value, exponent = found(), plain()  # not timed: compiles what is not compiled yet
        apart.append(state.sigma * exponent.denominator / exponent.numerator / value.sigma - 1)
        taken = alternate(found, plain, settings.rounds)
        ours += taken[0]
        theirs += taken[1]
        from_sums.append(steady_seconds(prepared.from_sums))
        from_points.append(steady_seconds(lambda state=state: _ours(case, state, **options)))  # type: ignore[misc]
    return Row(
        label,
        Spread.of(ours),
        Spread.of(theirs),
        against=f"NumPy Algorithm 2, depth {DEPTH}",
        target=target,
        details={
            "n": case.n,
            "k": case.k,
            "source": case.source,
            "partitions": len(apart),
            "ours_certified_from_the_sums_of_kernel_k_means": statistics.median(from_sums),
            "ours_from_the_points": statistics.median(from_points),
            "their_sigma_over_ours_minus_1": apart,
        },
    )


def certified(settings: Settings) -> Iterator[Row]:
    """Compare one certified critical value with NumPy's Algorithm 2."""
    for name in _SETS:
        case = load_case(name, settings.data)
        settings.progress(f"{case}: the partitions to start from")
        _ = states(case, _PARTITIONS)
        settings.progress(f"{case}: {_PARTITIONS} partitions, {settings.rounds} rounds")
        yield _beside_algorithm_2(case, settings, f"{case}, n = {case.n:,}, k = {case.k}", _TARGETS[name])


def dyadic(settings: Settings) -> Iterator[Row]:
    """Compare our Algorithm 2 with NumPy's."""
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: {_PARTITIONS} partitions, {settings.rounds} rounds")
    yield _beside_algorithm_2(
        case, settings, f"{case}, both Algorithm 2 to depth {DEPTH}", 4.0, method="dyadic", depth=DEPTH
    )


def bisection(settings: Settings) -> Iterator[Row]:
    """Compare one certified critical value with NumPy's bisection."""
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: one partition")
    along = states(case, _PARTITIONS)
    state = along[len(along) // 2]
    squares = rulers.squared_distances(case.X)
    prepared = _Prepared(case, state)
    value = prepared.from_sums()
    found: list[float] = []

    def plain() -> None:
        found.append(rulers.bisection(squares, state.labels, case.k, state.sigma))

    theirs = [seconds(plain) for _ in range(settings.rounds if settings.full else 1)]
    for label, ours, target in (
        ("from the sums that kernel k-means ends with", prepared.from_sums, 500.0),
        ("the sums at the start included", prepared.whole, None),
    ):
        yield Row(
            f"{case}, n = {case.n:,}, k = {case.k}, {label}",
            Spread.of(steady_seconds(ours) for _ in range(settings.rounds)),
            Spread.of(theirs),
            against="NumPy bisection to 0.001, up to 1e6",
            target=target,
            details={"start": state.sigma, "our_sigma": value.sigma, "our_below": value.below, "their_sigma": found[0]},
        )


def passes(settings: Settings) -> Iterator[Row]:
    """Count kernel passes of certified critical values, and compare the values with known ones."""
    known = known_values(settings.data)
    settings.progress(f"{len(known)} partitions")
    spent, bracketed, per_set = [], 0, dict[str, list[float]]()
    for entry in known:
        value = _ours(entry.case, entry.state)
        spent.append(value.passes)
        per_set.setdefault(entry.case.name, []).append(value.passes)
        if entry.low is not None and entry.high is not None:
            bracketed += value.below <= entry.high and value.sigma >= entry.low
    is_known = known[0].low is not None
    note = (
        f"{bracketed} of {len(known)} values found by brute force lie between our `below` and `sigma`."
        if is_known
        else "No values found by brute force to compare with here."
    )
    details: dict[str, Any] = {"per_set": {name: statistics.mean(each) for name, each in per_set.items()}}
    details |= {"bracketed": bracketed if is_known else None, "partitions": len(known)}
    label = f"mean over {len(known)} partitions"
    yield _counted(label, statistics.mean, spent, target=4.0, note=note, details=details)
    yield _counted("largest of these", max, spent)


def _counted(label: str, of: Callable[[list[float]], float], values: list[float], **rest: Any) -> Row:
    value = of(values)
    return Row(label, Spread(value, min(values), max(values), len(values)), unit="passes", **rest)


MEASUREMENTS = (
    Measurement(
        "critical",
        "One certified critical value, beside the paper's Algorithm 2 in NumPy",
        "The next bandwidth at which a clustering changes. Ours works out the sums at the start, proves that nothing "
        "moves below, and is good to one part in a million; NumPy's starts from ready distances, makes the kernel "
        "matrix, and takes ten rounds of square roots and products, good to one part in a thousand. Five clusterings "
        "along each path.",
        certified,
    ),
    Measurement(
        "bisection",
        "One certified critical value, beside bisection in NumPy",
        "The same, against halving the interval from the start to 1e6 until it is shorter than 0.001, with the kernel "
        "matrix computed anew each time: the paper's BinarySearch. One clustering.",
        bisection,
    ),
    Measurement(
        "dyadic",
        "The paper's Algorithm 2, ours beside NumPy's",
        'The same algorithm on both sides, method="dyadic" here, ten rounds each. Five clusterings along the path.',
        dyadic,
    ),
    Measurement(
        "passes",
        "Kernel passes that a certified critical value takes",
        "A pass is n² kernel entries. NumPy's Algorithm 2 takes ten of them, and one for its kernel matrix, for an "
        "answer a thousand times as coarse. Ours meets each pair once, so a look at all points is half a pass.",
        passes,
    ),
)
