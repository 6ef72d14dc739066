"""Tables for the terminal: ours, and beside them what the paper prints.

Entry point: `show`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from offgrid.experiments.store import load_paper

Row = Mapping[str, Any]
# What the paper calls its own method, and how Table 4 calls the two methods there.
_PAPER_NAMES = {"mknn": "mknn", "grid": "grid", "dyadic": "ours"}
_PAPER_SEARCHES = {"bisection": "binary", "dyadic": "ours"}


def show(name: str, title: str, rows: Sequence[Row], console: Console) -> None:
    """Print a table, with the paper's figures in columns of their own."""
    columns = _COLUMNS[name](load_paper())
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading, _ in columns:
        table.add_column(heading, justify="left" if heading in ("data set", "method", "source") else "right")
    for i, row in enumerate(rows):
        group = row.get("dataset", row.get("n"))
        last = i + 1 < len(rows) and rows[i + 1].get("dataset", rows[i + 1].get("n")) != group
        table.add_row(*(_cell(of(row)) for _, of in columns), end_section=last and name != "table1")
    console.print(title, style="bold")
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_Columns = list[tuple[str, Callable[[Row], Any]]]


def _field(name: str, form: str | None = None) -> Callable[[Row], Any]:
    def of(row: Row) -> Any:
        value = row[name]
        return value if form is None or value is None else format(value, form)

    return of


def _of_paper(table: Any, *, names: Mapping[str, str], what: str | None = None) -> Callable[[Row], Any]:
    """Return the paper's figure for a row: ``table[dataset][what][method]``, None where it has none."""

    def of(row: Row) -> Any:
        values = table.get(row["dataset"], {})
        return (values if what is None else values.get(what, {})).get(names.get(row["method"], ""))

    return of


def _data(paper: Any) -> _Columns:
    columns: _Columns = [("data set", _field("dataset"))]
    for what in ("rows", "columns", "classes"):
        columns.append((what, _field(what)))
        columns.append(("paper", lambda row, what=what: paper["datasets"].get(row["dataset"], {}).get(what)))  # type: ignore[misc]
    return [*columns, ("scaling", _field("scaling")), ("source", _field("source"))]


def _quality(paper: Any) -> _Columns:
    columns: _Columns = [("data set", _field("dataset")), ("method", _field("method"))]
    for what, heading in (("nmi", "NMI"), ("cnnc", "c-NNC")):
        columns.append((heading, _field(what, ".3f")))
        columns.append(("±", _field(f"{what}_std", ".3f")))
        columns.append(("paper", _of_paper(paper["table_2_quality"], names=_PAPER_NAMES, what=what)))
    return [*columns, ("runs", _field("runs"))]


def _seconds(paper: Any) -> _Columns:
    return [
        ("data set", _field("dataset")),
        ("method", _field("method")),
        ("seconds", _field("seconds")),
        ("±", _field("seconds_std")),
        ("median", _field("seconds_median")),
        ("paper", _of_paper(paper["table_3_seconds"], names=_PAPER_NAMES)),
        ("values", _field("values")),
        ("distinct", _field("partitions")),
        ("passes", _field("passes")),
        ("runs", _field("runs")),
    ]


def _searching(paper: Any) -> _Columns:
    printed = paper["table_4_search"]
    seconds = {method: f"{name}_seconds" for method, name in _PAPER_SEARCHES.items()}
    errors = {method: f"{name}_relative_error" for method, name in _PAPER_SEARCHES.items()}
    return [
        ("data set", _field("dataset")),
        ("method", _field("method")),
        ("seconds", _field("seconds")),
        ("paper", _of_paper(printed, names=seconds)),
        ("speed-up", _field("speedup", ".1f")),
        ("paper", _of_paper(printed, names={"dyadic": "speedup"})),
        ("error", _field("relative_error", ".2g")),
        ("paper", _of_paper(printed, names=errors)),
        ("largest", _field("largest_error", ".2g")),
        ("missed", _field("missed")),
        ("searches", _field("searches")),
    ]


def _scaling(_paper: Any) -> _Columns:
    return [
        ("n", _field("n")),
        ("method", _field("method")),
        ("seconds a value", _field("seconds_per_value")),
        ("±", _field("seconds_per_value_std")),
        ("values", _field("values")),
        ("runs", _field("runs")),
    ]


def _explained(paper: Any) -> _Columns:
    """Beside each figure the paper's, of the set and the method that it explains."""

    def printed(what: str) -> Callable[[Row], Any]:
        def of(row: Row) -> Any:
            table = paper["table_2_quality"][row["dataset"].partition("_")[0]][what]
            return table.get(_PAPER_NAMES.get(row["method"].partition("_")[0], ""))

        return of

    columns: _Columns = [("data set", _field("dataset")), ("method", _field("method"))]
    for what, heading in (("nmi", "NMI"), ("cnnc", "c-NNC")):
        columns += [(heading, _field(what, ".3f")), ("±", _field(f"{what}_std", ".3f")), ("paper", printed(what))]
    return [*columns, ("runs", _field("runs"))]


_COLUMNS: dict[str, Callable[[Any], _Columns]] = {
    "table1": _data, "table2": _quality, "table3": _seconds, "table4": _searching, "figure1": _scaling,
    "gaps": _explained,
}  # fmt: skip
