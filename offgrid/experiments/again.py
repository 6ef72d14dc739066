"""One line of a table done again, here: where its data are, how to get them, and its runs one by one.

Entry points: `KINDS`, `source`, `how_to_get`, `open_line`, `rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from offgrid.datasets.fetching import HOMES, SOURCES
from offgrid.datasets.model import listed
from offgrid.errors import InputError
from offgrid.experiments import cases, summaries
from offgrid.experiments.progress import Tell

Measure = Callable[[int, Tell], dict[str, Any]]

# What is measured for each table: Tables 2 and 3 are made from the same runs.
KINDS = {"2": "quality", "3": "quality", "4": "searching", "figure": "scaling"}
_ROWS = {
    "2": summaries.quality_rows, "3": summaries.seconds_rows, "4": summaries.searching_rows,
    "figure": summaries.scaling_rows,
}  # fmt: skip
_DIGITS = tuple(f"mnist-{n}" for n in cases.SIZES)


def names(kind: str) -> tuple[str, ...]:
    """Return the lines that can be done again."""
    return _DIGITS if kind == "scaling" else tuple(cases.SETS)


def check(kind: str, name: str) -> None:
    """Raise `InputError` where there is no such line."""
    if kind not in KINDS.values():
        raise InputError(f"There is no experiment {kind!r}: choose from {listed([*dict.fromkeys(KINDS.values())])}.")
    if name not in names(kind):
        raise InputError(f"There is no line {name!r} in this table: choose from {listed([*names(kind)], 13)}.")


def source(name: str, folder: Path | None) -> str | None:
    """Return where a line's data would come from: a file's name, "built in", or None where they are not here."""
    if name.startswith("mnist-"):
        there = folder is not None and (folder / cases.DIGITS_FILE).is_file()
        return cases.DIGITS_FILE if there or cases.find_file("mnist", None) is not None else None
    path = cases.find_file(name, folder)
    if path is not None:
        return path.name
    return None if cases.SETS[name].built_in is None else "built in"


def how_to_get(name: str) -> str:
    """Return the sentence that says what to do where a line's data are not here."""
    known = name.partition("-")[0]
    title = "MNIST" if known == "mnist" else cases.SETS[name].title
    file = cases.DIGITS_FILE if known == "mnist" else f"{name}.csv"
    if known in SOURCES:
        return f"{title} is not on this server: run 'offgrid datasets fetch {known}' there."
    return (
        f"{title} is not on this server: put {file}, from {HOMES[known]} and with a column label, into the folder that "
        f"{cases.ENVIRONMENT} names."
    )


def open_line(kind: str, name: str, folder: Path | None) -> tuple[Measure, str]:
    """Return what carries out a run of a line by its number, and where the data come from.

    Raises
    ------
    InputError
        Where there is no such line, or its data are not here.
    """
    from offgrid.experiments import quality, scaling, searching  # the engine takes a second to load

    check(kind, name)
    if source(name, folder) is None:
        raise InputError(how_to_get(name))
    if kind == "scaling":
        n = int(name.partition("-")[2])
        digits = cases.load_digits(folder)
        return lambda run, tell: scaling.measure(scaling.sample(digits, n, run), run, tell), cases.DIGITS_FILE
    case = cases.load_case(name, folder)
    if case is None:
        raise InputError(how_to_get(name))
    measure = quality.measure if kind == "quality" else searching.measure
    return lambda run, tell: measure(case, run, tell), case.source


def rows(table: str, name: str, runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table that runs of one line make."""
    return _ROWS[table]({name: runs}) if runs else []
