"""The data that the experiments are made with, and the start partitions.

Entry points: `SETS`, `find_folder`, `find_file`, `load_case`, `load_digits`, `start_partition`. Synthetic sets are used
raw, real ones scaled to unit variance, constant columns left alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offgrid import datasets
from offgrid.datasets.fetching import fetched
from offgrid.datasets.model import Points, Scaling, listed
from offgrid.errors import InputError

SEED = 0
ENVIRONMENT = "OFFGRID_BENCHMARK_DATA"
DIGITS_FILE = "mnist_8k.npz"
SIZES = (1000, 2000, 4000, 8000)  # digits in the samples of Figure 1


class _Set(NamedTuple):
    """A data set of the paper: its title, how it is scaled, and the built-in data set that can stand in for it."""

    title: str
    scaling: Scaling
    built_in: str | None


# in the order of the paper's Table 2
SETS = {
    "aggregation": _Set("Aggregation", "none", "aggregation"),
    "compound": _Set("Compound", "none", "compound"),
    "d31": _Set("D31", "none", "d31"),
    "flame": _Set("Flame", "none", "flame"),
    "jain": _Set("Jain", "none", "jain"),
    "pathbased": _Set("Pathbased", "none", "pathbased"),
    "r15": _Set("R15", "none", "r15"),
    "spiral": _Set("Spiral", "none", "spiral"),
    "audit": _Set("Audit", "unit", None),
    "dermatology": _Set("Dermatology", "unit", None),
    "wdbc": _Set("WDBC", "unit", "breast_cancer"),
    "wifi": _Set("Wifi", "unit", None),
    "wine": _Set("Wine", "unit", "wine"),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A data set ready for an experiment.

    Attributes
    ----------
    name, title : str
    points : Points
    k : int
        Number of clusters: that of the classes.
    source : str
        The file's name, or "built in".
    scaling : str
    """

    name: str
    title: str
    points: Points
    k: int
    source: str
    scaling: str

    @property
    def sha(self) -> str:
        """What tells these very data from others of the same name."""
        return self.points.hash[:16]


def find_folder(asked: Path | None) -> Path | None:
    """Return the folder with the paper's data: the one asked for, the environment's, the one beside the checkout.

    None where there is none of these: the built-in data sets stand in.

    Raises
    ------
    InputError
        Where the folder that was asked for, here or in the environment, is none.
    """
    named = os.environ.get(ENVIRONMENT)
    folder = asked or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} with data for the experiments: name another, or none.")
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder or (beside if beside.is_dir() else None)


def check_names(names: list[str] | None) -> list[str]:
    """Return the names of the data sets asked for, in the paper's order; all of them for None."""
    for name in names or ():
        if name not in SETS:
            raise InputError(f"There is no data set {name!r} in the experiments: choose from {listed([*SETS], 13)}.")
    return [name for name in SETS if not names or name in names]


def find_file(name: str, folder: Path | None) -> Path | None:
    """Return the file of a data set in the folder, else a fetched one, else None."""
    path = None if folder is None else folder / f"{name}.csv"
    return path if path is not None and path.is_file() else fetched(name)


@cache
def load_case(name: str, folder: Path | None) -> Case | None:
    """Return a data set from the folder, else a fetched one, else the built-in one that stands in for it, else None."""
    of_paper = SETS[name]
    path = find_file(name, folder)
    if path is not None:
        points, source = datasets.read_table(path).prepare(scaling=of_paper.scaling), path.name
    elif of_paper.built_in is not None:
        points, source = datasets.load(of_paper.built_in).prepare(scaling=of_paper.scaling), "built in"
    else:
        return None
    if points.n_classes is None:
        raise InputError(f"{path and path.name} has no column of labels: the experiments need one, named label.")
    return Case(name, of_paper.title, points, points.n_classes, source, of_paper.scaling)


@cache
def load_digits(folder: Path | None) -> NDArray[np.float64]:
    """Return the MNIST digits of the folder, shape (8000, 784), values 0 to 1.

    Raises
    ------
    InputError
        Where they are not there: nothing that is built in is large enough to stand in.
    """
    path = None if folder is None else folder / DIGITS_FILE
    if path is None or not path.is_file():
        path = fetched("mnist")
    if path is None:
        raise InputError(
            f"There is no {DIGITS_FILE} here, which figure1 measures on: run 'offgrid datasets fetch mnist', or name "
            "its folder with --data."
        )
    with np.load(path) as archive:
        return np.ascontiguousarray(archive["X"], dtype=np.float64) / 255.0


def start_partition(n: int, k: int, run: int) -> NDArray[np.int64]:
    """Return the uniform random labels that every method starts from in this run."""
    return np.random.default_rng((SEED, run)).integers(k, size=n)
