"""The data that is measured on, and partitions to which kernel k-means has converged.

Entry points: `load_case`, `load_labelled`, `path_of`, `states`, `mnist`, `blobs`, `known_values`. Nothing is drawn
without a fixed seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measurement import SEED
from offgrid import BandwidthSearch, PathRecord, datasets

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

PAPER, OWN = "the paper's data", "this package's own data"
# Columns of different units, which the paper scales to unit variance.
_SCALED = ("wine",)


@dataclass(frozen=True, eq=False)
class Case:
    """A data set with its number of clusters, and where it is from."""

    name: str
    X: Floats
    k: int
    source: str

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    def __str__(self) -> str:
        return f"{self.name.upper() if any(map(str.isdigit, self.name)) else self.name.capitalize()}"


@dataclass(frozen=True, eq=False)
class State:
    """A partition to which kernel k-means has converged at a bandwidth."""

    sigma: float
    labels: Labels


def default_folder() -> Path | None:
    """Return the folder with the paper's data: the one that the environment names, or the one beside the checkout."""
    named = os.environ.get("OFFGRID_BENCHMARK_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@cache
def load_case(name: str, folder: Path | None) -> Case:
    """Return a data set by name from the folder, or this package's own of that name where the folder has none."""
    path = None if folder is None else folder / f"{name}.csv"
    if path is not None and path.is_file():
        values = np.loadtxt(path, delimiter=",", skiprows=1)
        X, k, source = np.ascontiguousarray(values[:, :-1]), len(np.unique(values[:, -1])), PAPER
    else:
        dataset = datasets.load(name)
        X, k, source = dataset.X, len(dataset.class_names), OWN
    return Case(name, X / X.std(axis=0) if name in _SCALED else X, k, source)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A data set with its labels, prepared as in the paper: columns of different units have unit variance."""

    name: str
    X: Floats
    y: Labels
    source: str

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))


# The paper's other sets of columns of different units, and the package's own data under another name.
_REAL = ("audit", "dermatology", "wdbc", "wifi", *_SCALED)
_OWN_NAMES = {"wdbc": "breast_cancer"}


def load_labelled(name: str, folder: Path | None) -> Labelled | None:
    """Return a data set with labels from the folder, else this package's own; None where there is neither."""
    path = None if folder is None else folder / f"{name}.csv"
    if path is not None and path.is_file():
        values = np.loadtxt(path, delimiter=",", skiprows=1)
        X, y, source = np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64), PAPER
    else:
        own = _OWN_NAMES.get(name, name)
        if own not in datasets.names():
            return None
        dataset = datasets.load(own)
        assert dataset.y is not None
        X, y, source = dataset.X, dataset.y, OWN
    if name in _REAL:
        spread = X.std(axis=0)
        X = X / np.where(spread > 0, spread, 1.0)
    return Labelled(name, X, y, source)


def random_start(n: int, k: int) -> Labels:
    """Return uniform random labels, the paper's start partition."""
    # the old generator: another package draws its start with it, and then starts where we do
    return np.random.RandomState(SEED).randint(k, size=n).astype(np.int64)


@cache
def path_of(case: Case) -> Sequence[PathRecord]:
    """Return the whole path of a data set from `random_start`."""
    return list(BandwidthSearch(case.k, init=random_start(case.n, case.k)).iter_path(case.X))


def states(case: Case, count: int) -> list[State]:
    """Return partitions evenly spaced along the path, without the last one, which nothing ends."""
    records = [record for record in path_of(case)[:-1] if record.converged]
    chosen = np.unique(np.linspace(0, len(records) - 1, count).round().astype(int))
    return [State(records[i].sigma, records[i].labels.astype(np.int64)) for i in chosen]


def mnist(folder: Path | None, n: int) -> Floats | None:
    """Return the first `n` MNIST digits, shape (n, 784), values 0 to 1; None where they are not there."""
    path = None if folder is None else folder / "mnist_8k.npz"
    if path is None or not path.is_file():
        return None
    with np.load(path) as archive:
        return np.ascontiguousarray(archive["X"][:n], dtype=np.float64) / 255.0


def blobs(n: int, k: int) -> Floats:
    """Return `n` points in two columns: `k` round groups of one size in a square of side 100."""
    rng = np.random.default_rng(SEED)
    centres = rng.uniform(0.0, 100.0, size=(k, 2))
    return centres[rng.integers(k, size=n)] + rng.normal(scale=3.0, size=(n, 2))


@dataclass(frozen=True, eq=False)
class Known:
    """A partition whose critical value was found by brute force: between `low` and `high`."""

    case: Case
    state: State
    low: float | None
    high: float | None


def known_values(folder: Path | None) -> list[Known]:
    """Return partitions with known critical values; without the file of those, some of our own with unknown ones."""
    path = None if folder is None else folder.parent / "oracle" / "critical_values.json"
    if path is not None and path.is_file():
        return [_known(entry, folder) for entry in json.loads(path.read_text(encoding="utf-8"))]
    cases = [load_case(name, None) for name in ("flame", "jain", "pathbased", "spiral", "wine")]
    return [Known(case, state, None, None) for case in cases for state in states(case, 8)]


def _known(entry: dict[str, Any], folder: Path | None) -> Known:
    case = load_case(entry["dataset"], folder)
    if bool(entry["scaled"]) != (case.name in _SCALED):
        case = Case(case.name, case.X / case.X.std(axis=0), case.k, case.source)
    labels = np.array([int(digit, 36) for digit in entry["labels"]], dtype=np.int64)
    case = Case(case.name, case.X, entry["k"], case.source)
    return Known(case, State(entry["sigma"], labels), entry["critical_below"], entry["critical_above"])
