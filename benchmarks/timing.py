"""Seconds of two ways to do the same work, taken in turns so that both meet the same state of the machine.

Entry points: `Spread`, `seconds`, `steady_seconds`, `alternate`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Work = Callable[[], object]
# Seconds that short work is repeated for.
_STEADY = 0.1


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of some values, and how many there were."""

    median: float
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of at least one value."""
        every = list(values)
        return cls(statistics.median(every), min(every), max(every), len(every))


def seconds(work: Work) -> float:
    """Do the work once, and return how long it took."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def steady_seconds(work: Work) -> float:
    """Return the median of as many goes as fit into `_STEADY`, after one that meets what the other side left in caches.

    Work that takes longer than that is done once.
    """
    first = seconds(work)
    if first > _STEADY:
        return first
    return statistics.median(seconds(work) for _ in range(max(int(_STEADY / first), 3)))


def alternate(ours: Work, theirs: Work, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of both in each round; who goes first changes from round to round."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in ((0, 1), (1, 0))[number % 2]:
            taken[which].append(steady_seconds((ours, theirs)[which]))
    return taken
