"""Methods side by side on the same data: what each tried, what it would choose, and what that cost.

Entry points: `METHODS` (titles and descriptions by name), `compare` (carry one out), `Comparison` (its result,
JSON-ready), `of_path` (a search in the same form), `near_neighbours` (a measure that all are told by) and `beside` (a
choice shown with a path). Memory: that of the method, and n int32 labels.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offgrid.errors import InputError
from offgrid.path import BESIDE, BandwidthPath, PathRecord, json_value, partition_key
from offgrid.selection import recommend

# Of larger data a sample is worked on: beyond this many rows a person waits for minutes.
MAX_ROWS = 2000

RECOMMENDED, BISECTION, SEARCH = "recommended", "bisection", "search"


@dataclass(frozen=True)
class MethodText:
    """A method's name on the screen, and what it does in one sentence."""

    title: str
    description: str


METHODS: Mapping[str, MethodText] = {
    RECOMMENDED: MethodText(
        "Normalised cuts",
        "24 values of σ from a spectral start, and k-means; what keeps near neighbours together best is recommended.",
    ),
    "grid": MethodText("Grid", "Powers of ten from 10⁻⁶ to 10⁶."),
    "mknn": MethodText("MKNN", "The mean distance to the j-th nearest neighbour, for a range of j."),
    BISECTION: MethodText("Bisection", "The same path, each value bracketed by halving. Slow on large data."),
    "median_heuristic": MethodText("Median heuristic", "The median distance between points."),
    "ben_hur": MethodText("Descent", "From the largest squared distance downward, by half each time."),
    "local_scaling": MethodText("Local scaling", "A scale for each point: its 7th neighbour’s distance."),
    "spectral": MethodText("Spectral", "scikit-learn’s spectral clustering, with three affinities."),
}
OFFERED = tuple(name for name in METHODS if name != RECOMMENDED)


@dataclass(frozen=True)
class Tried:
    """One value that a method tried; `sigma` is None where there is not one for all points, ``inf`` for k-means."""

    label: str
    sigma: float | None
    cnnc: float
    nmi: float | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a method tried and what it would choose without labels.

    Attributes
    ----------
    name : str
        In `METHODS`, or ``"search"``.
    tried : tuple of Tried
    chosen : int
        The one that the method would choose, in `tried`.
    labels : ndarray of int32, shape (n,)
        Its clustering.
    cnnc_error : float
        Standard error of its c-NNC, 0 where every row is counted.
    near : float or None
        Share of near neighbours that its choice separates (see `offgrid.local_cost`), None where it is not known.
    ari : float or None
    n_partitions : int
        Distinct clusterings among those tried.
    passes : float or None
        Kernel passes, in units of n**2 kernel entries; None where the method has none.
    seconds : float
    reason : str
        Why it chooses that, as what follows "because".
    verdict : tuple of str
        How sure the choice is, in brief.
    notes : tuple of str
        More about the choice, in sentences for people.
    failure : str
        Why there is nothing, in a sentence; "" where there is. `tried` is then empty.
    """

    name: str
    tried: tuple[Tried, ...]
    chosen: int
    labels: NDArray[np.int32]
    n_partitions: int
    passes: float | None
    seconds: float
    cnnc_error: float = 0.0
    ari: float | None = None
    near: float | None = None
    reason: str = ""
    verdict: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""

    @classmethod
    def failed(cls, name: str, sentence: str) -> Comparison:
        """Return what there is to say of a method that could not be carried out."""
        return cls(name, (), 0, np.empty(0, dtype=np.int32), 0, None, 0.0, failure=sentence)

    @property
    def choice(self) -> Tried:
        """What the method would choose."""
        return self.tried[self.chosen]

    @property
    def best_nmi(self) -> float | None:
        """The highest NMI of any value tried, None without labels."""
        return max((one.nmi for one in self.tried if one.nmi is not None), default=None)

    @property
    def best_cnnc(self) -> float:
        """The lowest c-NNC of any value tried."""
        return min(one.cnnc for one in self.tried)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an infinite bandwidth is the string ``"inf"``."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        tried = [asdict(one) | {"sigma": json_value(one.sigma)} for one in self.tried]
        packed = base64.b64encode(np.ascontiguousarray(self.labels, dtype=np.int32).tobytes()).decode("ascii")
        return {**plain, **{name: list(getattr(self, name)) for name in _SENTENCES}, "tried": tried, "labels": packed}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """Rebuild from `to_dict`."""
        tried = tuple(Tried(one["label"], _read(one["sigma"]), one["cnnc"], one["nmi"]) for one in values["tried"])
        labels = np.frombuffer(base64.b64decode(values["labels"]), dtype=np.int32)
        # one that was kept before there were such fields has none of them
        plain = {name: values[name] for name in _PLAIN if name in values}
        plain |= {name: tuple(values.get(name, ())) for name in _SENTENCES}
        return cls(tried=tried, labels=labels, **plain)

    def record(self) -> PathRecord:
        """Return the choice as a record that stands beside the path, on no level of it."""
        sigma = math.inf if self.choice.sigma is None else self.choice.sigma
        return PathRecord(
            sigma=sigma,
            below=sigma,
            critical=sigma,
            labels=self.labels,
            moved=np.empty(0, dtype=np.int64),
            cnnc=self.choice.cnnc,
            cnnc_error=self.cnnc_error,
            nmi=self.choice.nmi,
            ari=self.ari,
            seconds=self.seconds,
            level=BESIDE,
        )


_PLAIN = ("name", "chosen", "n_partitions", "passes", "seconds", "cnnc_error", "ari", "near", "reason", "failure")
_SENTENCES = ("verdict", "notes")

# Tells the share of near neighbours that a clustering separates, None where that can't be told.
Near = Callable[[NDArray[np.integer]], float | None]


def _read(sigma: float | str | None) -> float | None:
    return None if sigma is None else float(sigma)


def compare(
    name: str, X: ArrayLike, n_clusters: int, y: ArrayLike | None = None, *, init: str = "random", seed: int = 0,
    ranks: Any = None, near: Near | None = None, progress: Callable[[str, float], None] | None = None,
) -> Comparison:  # fmt: skip
    """Carry out one of `METHODS`.

    Parameters
    ----------
    name : str
    X : array-like of shape (n, d)
    n_clusters : int
    y : array-like of shape (n,), optional
        Labels to compare with: no choice depends on them.
    init : {"random", "k-means++"}
        Start partition of the baselines.
    seed : int
    ranks : NeighbourRanks, optional
        Of X; found where they are not given.
    near : callable, optional
        What `near_neighbours` returns; made where it is not given.
    progress : callable, optional
        Is told what is being done, and the share done.

    Raises
    ------
    InputError
        Where there is no such method, or it refuses the data.
    """
    if name not in METHODS:
        raise InputError(f"There is no method {name!r} to compare with: choose from {', '.join(METHODS)}.")
    from offgrid.metrics import neighbour_ranks
    from offgrid.threading_limits import few_threads

    ranks = neighbour_ranks(X) if ranks is None else ranks
    tell = progress or (lambda _what, _share: None)
    if name == RECOMMENDED:
        return _recommended(X, n_clusters, y, seed, ranks, tell)
    near = near_neighbours(X, n_clusters, seed) if near is None else near
    if name == BISECTION:
        return _bisection(X, n_clusters, y, init, seed, ranks, near, tell)
    with few_threads(len(ranks.ranks[0])):
        found = _baseline(name, X, n_clusters, y, init, seed, ranks)
    return replace(found, near=near(found.labels))


def near_neighbours(X: ArrayLike, n_clusters: int, seed: int) -> Near:
    """Return what tells the share of near neighbours that a clustering separates, as the recommendation counts it."""
    from offgrid.recommendation import near_share

    try:
        return near_share(X, n_clusters, random_state=seed, max_rows=MAX_ROWS)
    except InputError:  # of more rows than memory allows: the other measures are worth having
        return lambda _labels: None


def _recommended(X: ArrayLike, k: int, y: ArrayLike | None, seed: int, ranks: Any, tell: Any) -> Comparison:
    from offgrid.metrics import adjusted_rand_index, normalized_mutual_information
    from offgrid.recommendation import recommend_partition
    from offgrid.recommendation_words import headline

    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        tell(f"{done} of {total} values", done / total)

    found = recommend_partition(X, k, random_state=seed, max_rows=MAX_ROWS, progress=progress)
    seconds = time.perf_counter() - began
    tried = []
    for candidate in found.candidates:
        nmi = None if y is None else normalized_mutual_information(y, candidate.labels)
        label = "k-means" if math.isinf(candidate.sigma) else ""
        tried.append(Tried(label, candidate.sigma, ranks.cost(candidate.labels, k).value, nmi))
    cost = ranks.cost(found.labels, k)
    return Comparison(
        name=RECOMMENDED,
        tried=tuple(tried),
        chosen=found.index,
        labels=found.labels.astype(np.int32),
        n_partitions=found.n_partitions,
        passes=None,
        seconds=seconds,
        cnnc_error=cost.standard_error,
        ari=None if y is None else adjusted_rand_index(y, found.labels),
        near=found.cost,
        reason=headline(found),
        verdict=found.verdict,
        notes=found.why,
    )


def _baseline(name: str, X: ArrayLike, k: int, y: ArrayLike | None, init: str, seed: int, ranks: Any) -> Comparison:
    from offgrid.baselines import run_baseline

    result = run_baseline(name, X, k, y, init=init, random_state=seed, ranks=ranks)
    chosen = result.recommended
    return Comparison(
        name=name,
        tried=tuple(Tried(trial.label, trial.sigma, trial.cnnc, trial.nmi) for trial in result.trials),
        chosen=result.trials.index(chosen),
        labels=chosen.labels.astype(np.int32),
        n_partitions=result.n_partitions,
        passes=result.passes,
        seconds=result.seconds,
        ari=chosen.ari,
        reason="its c-NNC is the lowest of those tried",
        notes=result.notes,
    )


def _bisection(
    X: ArrayLike, k: int, y: ArrayLike | None, init: str, seed: int, ranks: Any, near: Near, tell: Any
) -> Comparison:
    from offgrid.search import BandwidthSearch

    search = BandwidthSearch(k, method=BISECTION, init=init, random_state=seed)
    records: list[PathRecord] = []
    for record in search.iter_path(X, y, ranks=ranks):
        records.append(record)
        count = len(records)
        tell(f"{count} value{'s' if count > 1 else ''}", search.progress_.share)
    return replace(of_path(records, near), name=BISECTION)


def of_path(records: Sequence[PathRecord], near: Near | None = None) -> Comparison:
    """Return a search's records, at least one, in the form of a comparison."""
    best = recommend(records)
    assert best is not None
    chosen = records[best.index]
    return Comparison(
        name=SEARCH,
        tried=tuple(Tried("", record.sigma, record.cnnc, record.nmi) for record in records),
        chosen=best.index,
        labels=chosen.labels,
        n_partitions=len({partition_key(record.labels) for record in records}),
        passes=sum(record.passes for record in records),
        seconds=sum(record.seconds for record in records),
        cnnc_error=chosen.cnnc_error,
        ari=chosen.ari,
        near=None if near is None else near(chosen.labels),
        reason=best.reason,
    )


def beside(path: BandwidthPath, comparison: Comparison) -> BandwidthPath:
    """Return the path with a method's choice as a last record, beside it."""
    return BandwidthPath([*path.records, comparison.record()], path.ends.values())
