"""The bandwidth path: the partitions found along sigma, and what follows from them.

Entry points: `PathRecord` (one partition), `LevelEnd` (how a level of the search ended) and `BandwidthPath` (all of
it, with intervals, recurrences and the recommended record). Memory: n int32 labels for each record.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

EndReason = Literal["k-means", "flat", "limit", "budget"]

# The level of a partition that stands beside the path: shown with it, but found without the search.
BESIDE = 0
# Bandwidths nearer to each other than this look the same to three figures.
_LEGIBLE = 0.005


@dataclass(frozen=True, eq=False)
class PathRecord:
    """One partition on the path: what kernel k-means converged to at `sigma`.

    Attributes
    ----------
    sigma : float
        Bandwidth, in squared units of the data, at which kernel k-means was run; for another kernel the value of its
        parameter, such as a degree.
    below : float
        The preceding partition holds up to here (certified, for the certified method). The first record of a level
        has no predecessor: its own `sigma`.
    critical : float
        The value at which a point of the preceding partition was seen to move; `below <= critical <= sigma`.
    labels : ndarray of int32, shape (n,)
        Cluster of each row, 0 to k - 1. Clusters may be empty.
    moved : ndarray of int64
        Rows whose cluster differs from the preceding record's. Empty for the first record of a level.
    cnnc : float
        Nearest-neighbour cost of the partition (paper, section 7); lower is better.
    cnnc_error : float
        Its standard error where it is estimated from a sample of rows; 0 where every row is counted.
    nmi, ari : float or None
        Agreement with the labels, None where the data have none.
    seconds : float
        Time from the preceding record to this one.
    level : int
        Level of the hierarchical search, from 1; `BESIDE` for a partition that the search did not find.
    iterations : int
        Steps that kernel k-means took at `sigma`.
    converged : bool
        False where kernel k-means reached `max_iter` first.
    passes : float
        Kernel passes spent on this record, in units of n**2 kernel entries.
    uncertified : int
        Near-ties that the certified search passed over on the way here, once for each row and interval.
    """

    sigma: float
    below: float
    critical: float
    labels: NDArray[np.int32]
    moved: NDArray[np.int64]
    cnnc: float
    nmi: float | None = None
    ari: float | None = None
    seconds: float = 0.0
    level: int = 1
    iterations: int = 0
    converged: bool = True
    passes: float = 0.0
    uncertified: int = 0
    cnnc_error: float = 0.0

    @cached_property
    def key(self) -> bytes:
        """The partition as bytes, equal for equal partitions whatever the names of the clusters."""
        return partition_key(self.labels)

    def to_dict(self, *, pack: bool = False) -> dict[str, Any]:
        """Return the record as JSON-ready values; `pack` keeps labels and moved rows as base64, not as lists.

        An infinite bandwidth is the string ``"inf"``.
        """
        plain = {name: json_value(getattr(self, name)) for name in _PLAIN_FIELDS}
        if pack:
            return {**plain, "labels": _pack(self.labels), "moved": _pack(self.moved)}
        return {**plain, "labels": self.labels.tolist(), "moved": self.moved.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PathRecord:
        """Rebuild a record from `to_dict`, packed or not."""
        # a record that was kept before there was such an error has none
        plain = {"cnnc_error": 0.0, **{name: values[name] for name in _PLAIN_FIELDS if name in values}}
        plain |= {name: float(plain[name]) for name in _BANDWIDTHS}
        return cls(labels=_unpack(values["labels"], np.int32), moved=_unpack(values["moved"], np.int64), **plain)


_PLAIN_FIELDS = (
    "sigma", "below", "critical", "cnnc", "nmi", "ari", "seconds", "level",
    "iterations", "converged", "passes", "uncertified", "cnnc_error",
)  # fmt: skip
_BANDWIDTHS = ("sigma", "below", "critical")


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it: infinity as "inf", which `float` reads back."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _pack(values: NDArray[np.integer]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _unpack(values: Any, dtype: type) -> NDArray[Any]:
    if isinstance(values, str):
        return np.frombuffer(base64.b64decode(values), dtype=dtype)
    return np.asarray(values, dtype=dtype)


@dataclass(frozen=True)
class LevelEnd:
    """How one level of the search ended.

    `reason` is ``"k-means"`` (nothing moves for any larger bandwidth: the partition is ordinary k-means' too),
    ``"flat"`` (the same for a kernel whose end is another: see `Laplacian` and `KernelSum`), ``"limit"`` (the level's
    upper limit) or ``"budget"`` (`max_steps`). `holds_to` is how far the last partition is known to hold: ``inf`` for
    ``"k-means"`` and ``"flat"``.
    """

    level: int
    reason: EndReason
    holds_to: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an infinite `holds_to` is the string ``"inf"``."""
        return {"level": self.level, "reason": self.reason, "holds_to": json_value(self.holds_to)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LevelEnd:
        """Rebuild from `to_dict`."""
        return cls(int(values["level"]), values["reason"], float(values["holds_to"]))


@dataclass(frozen=True)
class Extent:
    """How far a partition is there: up to the bandwidth `to`, ``inf`` at the k-means end.

    `exact` is False where the search did not look closely: a point moves at `to`, and may do so before.
    """

    to: float
    exact: bool


class BandwidthPath:
    """The records of a search in the order found, levels one after the other, finished or still growing.

    Records of level `BESIDE` come last: they are no part of the search's levels, recurrences or counts.

    Parameters
    ----------
    records : iterable of PathRecord
    ends : iterable of LevelEnd
        One for each finished level.
    """

    def __init__(self, records: Iterable[PathRecord], ends: Iterable[LevelEnd] = ()) -> None:
        self.records = tuple(records)
        self.ends = {end.level: end for end in ends}

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def n_found(self) -> int:
        """Number of records that the search found."""
        return sum(record.level != BESIDE for record in self.records)

    @property
    def found(self) -> tuple[PathRecord, ...]:
        """The records that the search found."""
        return self.records[: self.n_found]

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels present, in order."""
        return tuple(sorted({record.level for record in self.found}))

    def at_level(self, level: int) -> list[int]:
        """Return the indices of a level's records, by increasing bandwidth."""
        return [i for i, record in enumerate(self.records) if record.level == level]

    def holds_to(self, index: int) -> float | None:
        """Bandwidth up to which the record's partition holds: ``inf`` at the k-means end, None while unknown."""
        record = self.records[index]
        if index + 1 < len(self.records) and self.records[index + 1].level == record.level:
            return self.records[index + 1].below
        end = self.ends.get(record.level)
        return None if end is None else end.holds_to

    def extent(self, index: int) -> Extent | None:
        """How far the record's partition is there, to the width that a person can read; None while unknown."""
        holds = self.holds_to(index)
        if holds is None:
            return None
        last = index + 1 == len(self.records) or self.records[index + 1].level != self.records[index].level
        changes = holds if last else self.records[index + 1].critical
        exact = changes <= holds * (1.0 + _LEGIBLE)
        return Extent(holds if exact else changes, exact)

    @cached_property
    def recurrences(self) -> tuple[int | None, ...]:
        """For each record the number (from 0, in order of appearance) of its recurring partition, None if unique.

        Partitions are compared as partitions: names of clusters do not matter.
        """
        keys = [record.key for record in self.found]
        counts = Counter(keys)
        groups: dict[bytes, int] = {}
        for key in keys:
            if counts[key] > 1:
                groups.setdefault(key, len(groups))
        return tuple(groups.get(record.key) for record in self.records)

    @cached_property
    def n_partitions(self) -> int:
        """Number of distinct partitions."""
        return len({record.key for record in self.found})


def partition_key(labels: NDArray[np.integer]) -> bytes:
    """Return bytes that are equal for two label vectors exactly when they describe the same partition."""
    n = len(labels)
    first = np.full(int(labels.max(initial=-1)) + 1, n)
    # of several rows of a cluster the last assignment wins, which is the first row
    first[labels[::-1]] = np.arange(n - 1, -1, -1)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[labels].tobytes()
