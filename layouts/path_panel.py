"""The bandwidth path: title, note, legend, the graph in its focusable frame, and the help marks laid over it.

Entry points: `panel`, and what callbacks write into it: `path_note`, `legend`, `frame_class`.
"""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from figures.path import shown_range
from figures.path_baselines import SYMBOLS, drawn, outside
from figures.path_data import bound_in_place
from layouts import ids
from layouts.parts import DEFINITIONS, help_mark, legend_entries, section_title
from layouts.views import ResultView
from offgrid.comparison import METHODS

GRAPH_CONFIG: dict[str, Any] = {
    "displayModeBar": False,
    "displaylogo": False,
    "showTips": False,
    "doubleClick": False,
    "responsive": True,
}
_KEYS = (
    "Bandwidth path. Left and right arrows walk from value to value, Home and End go to the first and last, "
    "Enter keeps the value or lets it go, Escape clears the selection."
)


def panel(view: ResultView, figure: Any) -> Component:
    """Return the section with the path's figure."""
    return html.Section(
        className="section path-section",
        children=[
            section_title(
                "Bandwidth path",
                [
                    html.Span(path_note(view), id=ids.PATH_NOTE),
                    help_mark("a value, and a partition", DEFINITIONS["Values"]),
                ],
                right=html.Div(legend(view), id=ids.PATH_LEGEND, className="legend"),
            ),
            html.Div(
                id=ids.PATH_FRAME,
                className=frame_class(view),
                tabIndex=0,
                role="application",
                **{"aria-label": _KEYS},
                children=[
                    dcc.Graph(id=ids.PATH_GRAPH, figure=figure, config=GRAPH_CONFIG, className="path-graph"),
                    help_mark("NMI", class_name="path-help path-help-nmi"),
                    help_mark("c-NNC", class_name="path-help path-help-cnnc"),
                    help_mark("Stability", class_name="path-help path-help-strip"),
                ],
            ),
        ],
    )


def frame_class(view: ResultView) -> str:
    """Return the class of `PATH_FRAME`: where the help marks lie depends on the panels and the left column."""
    frozen_column = view.lower_bound is not None and not bound_in_place(view.path, view.lower_bound)
    nmi = " path-frame-nmi" if view.has_labels else ""
    return f"path-frame{nmi}{'' if frozen_column else ' path-frame-open'}"


def path_note(view: ResultView) -> str:
    """Return the note beside the title ("48 values, no partition recurs")."""
    if not len(view.path):
        return ""
    values = words.plural(view.path.n_found, "value")
    if view.searching:
        return values
    unbound = f", {view.lower_bound_note.rstrip('.')}" if view.lower_bound is None and view.lower_bound_note else ""
    if view.path.n_found == 1:
        return f"{values}{unbound}"
    recurring = len({number for number in view.path.recurrences if number is not None})
    if not recurring:
        return f"{values}, no partition recurs{unbound}"
    recur = f"{words.plural(recurring, 'partition')} {'recurs' if recurring == 1 else 'recur'}"
    return f"{values}, {recur}{unbound}"


def legend(view: ResultView) -> list[Component]:
    """Return the key to the marks of the graph."""
    entries = [("found", "value found")]
    if len(view.path.levels) > 1:
        entries.append(("level", "on a later level"))
    if view.recommended is not None:
        final = view.state == "finished" or view.recommendation is not None
        entries.append(("best", "recommended" if final else "best so far"))
    if not view.active_state and any(number is not None for number in view.path.recurrences):
        entries.append(("recurs", "recurs, one colour each"))
    entries += _baselines(view)
    return legend_entries(entries)


def _baselines(view: ResultView) -> list[tuple[str, str]]:
    """Return the entries of the methods drawn beside the path, each with how many of its values are in view."""
    low, high = shown_range(view.path, view.lower_bound, narrow=view.narrow)
    entries = []
    for place, one in enumerate(drawn(list(view.compared.values()))):
        total, missing = len(one.tried), outside(one, low, high)
        count = f", {total - missing} of {words.plural(total, 'value')} in view" if missing else ""
        title = METHODS[one.name].title
        entries.append((SYMBOLS[place % len(SYMBOLS)], f"{title if title.isupper() else title.lower()}{count}"))
    return entries
