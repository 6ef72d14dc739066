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
from benchmarks.timing import Spread, alternate, seconds
from offgrid import CriticalValue, critical_bandwidth

DEPTH = 10
_SETS = ("d31", "aggregation", "r15", "flame", "wine", "spiral")
_PARTITIONS = 5


def _ours(case: Case, state: State, **options: Any) -> CriticalValue:
    return critical_bandwidth(case.X, state.labels, state.sigma, n_clusters=case.k, **options)


def _beside_algorithm_2(case: Case, settings: Settings, label: str, **options: Any) -> Row:
    """Time ours and NumPy's Algorithm 2 on partitions along the path, and compare what they find."""
    squares = rulers.squared_distances(case.X)
    K, root = np.empty_like(squares), np.empty_like(squares)
    ours, theirs, kernel_only, apart = [], [], [], []
    for state in states(case, _PARTITIONS):

        def certified(state: State = state) -> CriticalValue:
            return _ours(case, state, **options)

        def plain(state: State = state) -> rulers.Exponent:
            return rulers.algorithm_2(rulers.kernel(squares, state.sigma, K), state.labels, case.k, DEPTH, root)

        found, exponent = certified(), plain()  # not timed: compiles what is not compiled yet
        apart.append(state.sigma * exponent.denominator / exponent.numerator / found.sigma - 1)
        taken = alternate(certified, plain, settings.rounds)
        ours += taken[0]
        theirs += taken[1]
        kernel_only.append(seconds(lambda state=state: rulers.kernel(squares, state.sigma, K)))  # type: ignore[misc]
    return Row(
        label,
        Spread.of(ours),
        Spread.of(theirs),
        against=f"NumPy Algorithm 2, depth {DEPTH}",
        details={
            "n": case.n,
            "k": case.k,
            "source": case.source,
            "partitions": len(apart),
            "their_kernel_matrix_alone": statistics.median(kernel_only),
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
        yield _beside_algorithm_2(case, settings, f"{case}, n = {case.n:,}, k = {case.k}")


def dyadic(settings: Settings) -> Iterator[Row]:
    """Compare our Algorithm 2 with NumPy's."""
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: {_PARTITIONS} partitions, {settings.rounds} rounds")
    yield _beside_algorithm_2(
        case, settings, f"{case}, both Algorithm 2 to depth {DEPTH}", method="dyadic", depth=DEPTH
    )


def bisection(settings: Settings) -> Iterator[Row]:
    """Compare one certified critical value with NumPy's bisection."""
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: one partition")
    along = states(case, _PARTITIONS)
    state = along[len(along) // 2]
    squares = rulers.squared_distances(case.X)
    found: list[float] = []
    value = _ours(case, state)

    def plain() -> None:
        found.append(rulers.bisection(squares, state.labels, case.k, state.sigma))

    ours, theirs = alternate(lambda: _ours(case, state), plain, settings.rounds if settings.full else 1)
    if len(ours) == 1:  # ours takes a small part of a second: one round would say little of it
        ours += [seconds(lambda: _ours(case, state)) for _ in range(settings.rounds - 1)]
    yield Row(
        f"{case}, n = {case.n:,}, k = {case.k}, one partition",
        Spread.of(ours),
        Spread.of(theirs),
        against="NumPy bisection to 0.001, up to 1e6",
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
    yield _counted(f"mean over {len(known)} partitions", statistics.mean, spent, note=note, details=details)
    yield _counted("largest of these", max, spent)


def _counted(label: str, of: Callable[[list[float]], float], values: list[float], **rest: Any) -> Row:
    value = of(values)
    return Row(label, Spread(value, min(values), max(values), len(values)), unit="passes", **rest)


MEASUREMENTS = (
    Measurement(
        "critical",
        "One certified critical value, beside the paper's Algorithm 2 in NumPy",
        "The next bandwidth at which a clustering changes. Ours starts from the points, proves that nothing moves "
        "below, and is good to one part in a million; NumPy's starts from ready distances, makes the kernel matrix, "
        "and takes ten rounds of square roots and products, good to one part in a thousand. Five clusterings along "
        "each path.",
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
