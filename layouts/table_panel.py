"""The table of the path, in the first of the tabs.

Entry points: `tab`, and what callbacks write into it: `rows`, `column_defs`, `count_text`, `frame_style`.
"""

from __future__ import annotations

import math
from typing import Any

import dash_ag_grid as dag
import numpy as np
from dash import html

from figures import words
from layouts import ids
from layouts.parts import DEFINITIONS, LETTERS, help_mark, select
from layouts.tabs import FIRST, Tab
from layouts.views import ResultView
from offgrid.path import BESIDE

FILTERS = (("long", "over 0.1 decade or selected"), ("newest", "newest 8"), ("all", "every value"))
LONG_DECADES = 0.1
NEWEST = 8
_MOST_ROWS = 14
_ROW, _HEAD = 36, 40
_BAR_PX, _BAR_DECADES = 110, 2.0
_LAST = 1.7976931348623157e308  # stands for infinity: JSON has none, and it sorts last

Row = dict[str, Any]


def tab(view: ResultView) -> Tab:
    """Return the tab with the table."""
    chosen = default_filter(view)
    shown = rows(view, chosen)
    controls = [
        help_mark("each column", _column_help(), class_name="table-help"),
        html.Span(count_text(view, shown), id=ids.TABLE_COUNT, className="table-count"),
        select(ids.TABLE_FILTER, FILTERS, chosen, "Rows shown", class_name="table-filter"),
    ]
    content = html.Div(
        id=ids.TABLE_FRAME,
        className="table-frame",
        style=frame_style(len(shown)),
        children=dag.AgGrid(
            id=ids.TABLE,
            rowData=shown,
            columnDefs=column_defs(view),
            defaultColDef={"sortable": True, "resizable": False, "suppressMovable": True, "flex": 1, "minWidth": 62},
            getRowId="params.data.id",
            rowClassRules={"row-recommended": "params.data.recommended", "row-selected": "params.data.letter != ''"},
            dashGridOptions=grid_options(),
            className="grid",
            style={"height": "100%"},
        ),
    )
    return Tab(FIRST, "Table", content, controls)


def default_filter(view: ResultView) -> str:
    """Return the filter that suits a path: all of a short one, the long intervals of a long one."""
    if len(view.path) <= _MOST_ROWS:
        return "all"
    return "newest" if view.active_state else "long"


def rows(view: ResultView, chosen: str) -> list[Row]:
    """Return the rows that the filter lets through, in the order found; selected and recommended ones always stay."""
    every = [_row(view, index) for index in range(len(view.path))]
    if chosen == "all":
        return every
    kept = {view.recommended, *view.selection}
    if chosen == "newest":
        return [row for row in every if row["index"] >= len(every) - NEWEST]
    return [row for row in every if row["decades"] > LONG_DECADES or row["index"] in kept]


def _row(view: ResultView, index: int) -> Row:
    record = view.path.records[index]
    extent = view.path.extent(index)
    decades = 0.0 if extent is None else _decades(record.sigma, extent.to)
    beside = record.level == BESIDE
    return {
        "id": str(index),
        "index": index,
        "letter": LETTERS[view.selection.index(index)] if index in view.selection else "",
        "sigma": min(record.sigma, _LAST),
        "sigma_text": words.sigma_exact(record.sigma),
        "holds": _LAST if extent is None or math.isinf(extent.to) else extent.to,
        "holds_text": "–"
        if beside
        else "…"
        if extent is None
        else words.at_most(words.sigma_exact(extent.to), exact=extent.exact),
        "decades": decades,
        "bar": f"{min(decades / _BAR_DECADES, 1.0) * _BAR_PX:.0f}px",
        "moved": None if beside else len(record.moved),
        "cnnc": record.cnnc,
        "nmi": record.nmi,
        "ari": record.ari,
        "smallest": int(np.bincount(record.labels).min()),
        "level": None if beside else record.level,
        "recommended": index == view.recommended,
    }


def _decades(low: float, high: float) -> float:
    return _BAR_DECADES if math.isinf(high) else math.log10(high / low)


def count_text(view: ResultView, shown: list[Row]) -> str:
    """Return how many of the path's values the table shows ("9 of 48"), and that the recommended one is there too."""
    if not len(view.path):
        return ""
    on_path = sum(row["index"] < view.path.n_found for row in shown)
    more = " and the recommended one" if on_path < len(shown) else ""
    return f"{words.count(on_path)} of {words.count(view.path.n_found)} values{more}"


def frame_style(n_rows: int) -> dict[str, str]:
    """Return the style of `TABLE_FRAME`: as high as its rows, up to fourteen."""
    return {"--table-height": f"{_HEAD + _ROW * min(max(n_rows, 1), _MOST_ROWS) + 2}px"}


def grid_options() -> dict[str, Any]:
    """Return the grid's options; its colours are the stylesheet's variables, so that it follows the scheme."""
    return {
        "theme": {"function": f"themeQuartz.withParams({_THEME})"},
        "rowHeight": _ROW,
        "headerHeight": _HEAD,
        "suppressCellFocus": False,
        "suppressMovableColumns": True,
        "suppressColumnVirtualisation": True,
        "animateRows": False,
        "localeText": {"noRowsToShow": "No values yet"},
        "alwaysShowVerticalScroll": False,
    }


_THEME = (
    "{backgroundColor: 'var(--page)', foregroundColor: 'var(--ink)', borderColor: 'var(--hairline)', "
    "headerBackgroundColor: 'var(--page)', headerTextColor: 'var(--muted)', headerFontWeight: 400, "
    "accentColor: 'var(--accent)', rowHoverColor: 'var(--hover)', selectedRowBackgroundColor: 'var(--accent-tint)', "
    "fontFamily: 'inherit', fontSize: 13.5, headerFontSize: 13, wrapperBorder: false, wrapperBorderRadius: 0, "
    "headerColumnBorder: false, headerColumnResizeHandleDisplay: 'none', cellHorizontalPadding: 8, "
    "menuBackgroundColor: 'var(--page)', menuShadow: 'none', popupShadow: 'none', iconSize: 12}"
)


def column_defs(view: ResultView) -> list[dict[str, Any]]:
    """Return the columns: five on a narrow screen, NMI and ARI only where labels exist, levels only where several."""
    letters: dict[str, Any] = {
        "field": "letter",
        "headerName": "Letter",
        "headerClass": "head-letter",
        "width": 40,
        "minWidth": 40,
        "flex": 0,
        "sortable": False,
        "cellClass": "cell-letter",
        "cellClassRules": {"cell-letter-on": "params.value != ''", "cell-letter-accent": "params.data.recommended"},
    }
    sigma = _number("sigma", view.symbol, text="sigma_text", sort="asc")
    holds = _number("holds", "Holds to", text="holds_text", extra={"minWidth": 76, **_told("Holds to")})
    best = {"cellClassRules": {"cell-best": "params.data.recommended"}, **_told("c-NNC")}
    cost = _number("cnnc", "c-NNC", decimals=4, extra=best)
    agree = [_number("nmi", "NMI", decimals=3, extra=_told("NMI"))] if view.has_labels else []
    if view.narrow:
        return [letters, sigma, holds, cost, *agree]
    bar: dict[str, Any] = {
        "field": "decades",
        "headerName": "Interval",
        "minWidth": 46,
        "flex": 1.4,
        "cellClassRules": {"cell-bar": "params.data.level != null"},
        "cellStyle": {"function": "({'--bar': params.data.bar})"},
        "valueFormatter": {"function": "''"},
        **_told("Interval"),
    }
    levels = [_number("level", "Level", decimals=0)] if len(view.path.levels) > 1 else []
    rand = [_number("ari", "ARI", decimals=3, extra=_told("ARI"))] if view.has_labels else []
    moved = _number("moved", "Points moved here", decimals=0, extra={"minWidth": 134, **_told("Points moved here")})
    smallest = _number("smallest", "Smallest cluster", decimals=0, extra={"minWidth": 124, **_told("Smallest cluster")})
    return [letters, *levels, sigma, holds, bar, moved, cost, *agree, *rand, smallest]


def _told(term: str) -> dict[str, str]:
    return {"headerTooltip": DEFINITIONS[term]}


def _column_help() -> str:
    """Return what the columns mean, for those who cannot point at a head."""
    return " ".join(f"{term}: {DEFINITIONS[term]}" for term in ("Holds to", "Points moved here", "c-NNC", "NMI", "ARI"))


def _number(
    name: str,
    title: str,
    *,
    decimals: int = 2,
    text: str | None = None,
    sort: str | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    shown = f"params.data.{text}" if text else f"params.value == null ? '' : d3.format(',.{decimals}f')(params.value)"
    column: dict[str, Any] = {
        "field": name,
        "headerName": title,
        "type": "rightAligned",
        "filter": "agNumberColumnFilter",
        "valueFormatter": {"function": shown},
        **(extra or {}),
    }
    return {**column, "initialSort": sort} if sort else column
