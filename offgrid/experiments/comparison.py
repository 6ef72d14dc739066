"""Ours beside the paper's: the figures of each table in lines, and which of them differ by more than chance.

Entry points: `TABLES`, `columns`, `lines` (of rows shipped or measured just now), `Figure`, `Line`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from offgrid.experiments.cases import SETS
from offgrid.experiments.store import load_about, load_paper, load_rows
from offgrid.experiments.summaries import METHODS, SEARCHES

Rows = Sequence[Mapping[str, Any]]
Against = Literal["difference", "ratio", "none"]

# The tables by the name that they have in an address, and the file each is kept in.
TABLES = {"2": "table_2", "3": "table_3", "4": "table_4", "figure": "figure_1"}
# What a difference must exceed to be worth a word, beside what random starts explain.
WORTH_A_WORD = {"nmi": 0.01, "cnnc": 0.005}
# What was asked for: the dyadic search within these of the paper.
CLOSE = {"nmi": 0.05, "cnnc": 0.01}
STANDARD_ERRORS = 2.5
PAPER_RUNS = 50
_ROUNDING = 0.0005  # the paper prints three decimals
_PAPER_QUALITY = {"mknn": "mknn", "grid": "grid", "dyadic": "ours"}
_PAPER_SEARCH = {"bisection": "binary", "dyadic": "ours"}


class Column(NamedTuple):
    """One column of a table: whose figure, of what, and how it is compared with the paper's."""

    method: str
    what: str
    against: Against


@dataclass(frozen=True)
class Figure:
    """One of our figures beside the paper's.

    Attributes
    ----------
    value : float or None
    printed : float or None
        The paper's; None where it has none.
    spread : float
        Standard deviation over the runs; 0 where it does not matter.
    runs : int
    what : str
        Of what: "nmi", "seconds" and so on.
    """

    value: float | None
    printed: float | None = None
    spread: float = 0.0
    runs: int = 0
    what: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.value is None or self.printed is None else self.value - self.printed

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return None if self.value is None or not self.printed else self.value / self.printed

    @property
    def close(self) -> bool:
        """Whether it is as close to the paper's as was asked for."""
        return self.difference is not None and abs(self.difference) <= CLOSE[self.what]

    @property
    def apart(self) -> bool:
        """Whether it differs by more than is worth a word, and by more than the random starts of both explain."""
        if self.what not in WORTH_A_WORD or self.difference is None or self.runs < 2:
            return False
        error = self.spread * math.sqrt(1.0 / self.runs + 1.0 / PAPER_RUNS)
        beyond = abs(self.difference) - _ROUNDING
        return beyond > WORTH_A_WORD[self.what] and beyond > STANDARD_ERRORS * error


@dataclass(frozen=True)
class Line:
    """One data set (or one size, in the figure) of a table.

    Attributes
    ----------
    name : str
        Name in `offgrid.experiments.cases.SETS`, or "mnist-1000".
    title : str
    figures : dict
        By (method, what).
    runs : int
    """

    name: str
    title: str
    figures: Mapping[tuple[str, str], Figure]
    runs: int


def columns(table: str) -> tuple[Column, ...]:
    """Return the columns of a table, in order."""
    if table == "2":
        return tuple(Column(method, what, "difference") for what in ("nmi", "cnnc") for method in METHODS)
    if table == "3":
        return (
            *(Column(method, "seconds_median", "ratio") for method in METHODS),
            *(Column(method, "passes", "none") for method in METHODS),
        )
    if table == "4":
        return (
            *(Column(method, "seconds", "ratio") for method in SEARCHES),
            *(Column(method, "speedup", "ratio") for method in SEARCHES[1:]),
            *(Column(method, "relative_error", "ratio") for method in SEARCHES),
        )
    return tuple(Column(method, "seconds_per_value", "none") for method in METHODS)


def lines(table: str, rows: Rows) -> tuple[Line, ...]:
    """Return the lines of a table made of rows such as are kept in its file."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(line_name(row), []).append(row)
    return tuple(_line(table, name, group) for name, group in grouped.items())


def line_name(row: Mapping[str, Any]) -> str:
    """Return the name of the line that a row belongs to."""
    return str(row["dataset"]) if "dataset" in row else f"mnist-{row['n']}"


def title_of(name: str) -> str:
    """Return a line's name for people."""
    return SETS[name].title if name in SETS else f"n = {int(name.partition('-')[2]):,}"


@cache
def shipped(table: str) -> tuple[Line, ...]:
    """Return the lines of a table that came with the package."""
    return lines(table, load_rows(TABLES[table]))


@cache
def about(table: str) -> Mapping[str, Any]:
    """Return what the shipped table was made with."""
    return load_about(TABLES[table])


def _line(table: str, name: str, group: Rows) -> Line:
    figures = {}
    by_method = {row["method"]: row for row in group}
    for column in columns(table):
        row = by_method[column.method]
        spread = row.get(f"{column.what}_std") or 0.0
        printed = _printed(name, column)
        figures[column.method, column.what] = Figure(row[column.what], printed, spread, row["runs"], column.what)
    return Line(name, title_of(name), figures, group[0]["runs"])


def _printed(name: str, column: Column) -> float | None:
    """Return the paper's figure; None where it prints none."""
    paper, method, what = load_paper_once(), column.method, column.what
    value = None
    if what in CLOSE:
        value = paper["table_2_quality"][name][what].get(_PAPER_QUALITY.get(method))
    elif what == "seconds_median":
        value = paper["table_3_seconds"][name].get(_PAPER_QUALITY.get(method))
    elif what in ("seconds", "relative_error"):
        value = paper["table_4_search"][name].get(f"{_PAPER_SEARCH.get(method)}_{what}")
    elif what == "speedup" and method == "dyadic":
        value = paper["table_4_search"][name]["speedup"]
    return None if value is None else float(value)


@cache
def load_paper_once() -> Mapping[str, Any]:
    """Return the paper's figures."""
    return load_paper()


def paper_seconds_per_value() -> list[tuple[str, str, int, float]]:
    """Return (data set, method, rows, seconds for each value) from the paper's Table 3, where the count is known.

    MKNN tries floor(2 (log n + 1)) values and the grid 13; how many the paper's own search tried, it does not say.
    """
    paper, found = load_paper_once(), []
    for name, seconds in paper["table_3_seconds"].items():
        n = paper["datasets"][name]["rows"]
        for method, values in (("mknn", math.floor(2.0 * (math.log(n) + 1.0))), ("grid", 13)):
            found.append((SETS[name].title, method, n, seconds[method] / values))
    return found
