"""Watching a search for a critical value: what it looked at, what it then knew, and what that had cost.

Entry points: `Look`, which observers get, and `Report`, what the methods call in terms of t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """One look of a search at the kernel.

    Attributes
    ----------
    sigma : float
        Where it looked; ``inf`` for ordinary k-means.
    rows : int
        How many rows it looked at.
    below : float
        Nothing moves up to here, as far as the method could then tell: certified, or only seen at single values.
    passes : float
        Kernel passes spent by then, in units of n**2 kernel entries, the sums at the start among them.
    """

    sigma: float
    rows: int
    below: float
    passes: float


Observer = Callable[[Look], None]
# t that was looked at, number of rows, t down to which nothing moves as far as is known
Report = Callable[[float, int, float], None]


def ignore(_t: float, _rows: int, _quiet_to: float) -> None:
    """Report to nobody."""
