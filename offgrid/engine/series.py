"""Self-sums of the clusters at any t of an interval, from one pass of Taylor moments.

Entry point: `SelfSums`. Where few rows are left to look at, the clusters' own sums would cost most of a search; their
Taylor series about the middle c of an interval of half-width h costs one pass over the pairs inside clusters, and every
further t nothing. For L <= 0 the remainder after order p is at most (h / (c - h))**(p + 1) / sqrt(2 pi (p + 1)) times
the number of pairs, since exp(-x) x**p <= (p / e)**p: the order is chosen so that this is under the rounding of a sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition

_Floats = NDArray[np.float64]
_REMAINDER = 1e-16
_WIDEST = 1.5  # largest ratio of an expansion's ends: order 25


@dataclass(frozen=True, eq=False)
class _Expansion:
    centre: float
    half_width: float
    coefficients: _Floats  # (order + 1, k): of ((t - centre) / half_width)**p

    def covers(self, t: float) -> bool:
        return abs(t - self.centre) <= self.half_width * (1.0 + 1e-12)

    def at(self, t: float) -> tuple[_Floats, _Floats]:
        powers = ((t - self.centre) / self.half_width) ** np.arange(len(self.coefficients))
        order = np.arange(1, len(self.coefficients))
        slopes = (powers[:-1] * order) @ self.coefficients[1:] / self.half_width
        return powers @ self.coefficients, slopes


class SelfSums:
    """Sums over the pairs inside each cluster as a function of t, expanded where they are asked for."""

    def __init__(self, pairs: Pairs, partition: Partition) -> None:
        self._pairs = pairs
        self._partition = partition
        self._expansions: list[_Expansion] = []

    def at(self, t: float, lowest: float, highest: float) -> tuple[_Floats, _Floats]:
        """Return the self-sums at t and their t-derivatives, (k,) each; t lies between `lowest` and `highest`."""
        for expansion in self._expansions:
            if expansion.covers(t):
                return expansion.at(t)
        if highest > lowest * _WIDEST:
            half_width = t * (_WIDEST - 1.0) / (_WIDEST + 1.0)
            lowest, highest = t - half_width, t + half_width
        self._expansions.append(self._expand(lowest, highest))
        return self._expansions[-1].at(t)

    def _expand(self, lowest: float, highest: float) -> _Expansion:
        centre, half_width = (lowest + highest) / 2.0, (highest - lowest) / 2.0
        order = math.ceil(math.log(_REMAINDER) / math.log(half_width / lowest)) if half_width > 0.0 else 1
        moments = self._pairs.self_moments(self._partition, centre, half_width, order)
        factorials = np.cumprod(np.concatenate(([1.0], np.arange(1.0, order + 1))))
        return _Expansion(centre, half_width, moments / factorials[:, None])
