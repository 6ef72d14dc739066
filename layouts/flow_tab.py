"""The Flow tab: which points change cluster between the selected clusterings.

Entry points: `tab`, and `content`, which a callback writes into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from figures.flow import Step, drawn_moves, least_width
from layouts import ids
from layouts.clusterings_panel import GRAPH_CONFIG
from layouts.parts import LETTERS
from layouts.tabs import Tab, figure_name, nothing_yet, save_buttons
from layouts.views import ResultView

EXPLAINED = (
    "Each bar is a cluster, as high as it has points. Pale bands stay in their cluster; outlined ones move, in the "
    "colour of the cluster they leave."
)
_TOLD = 6  # streams of a step that are put in words


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    return Tab("flow", "Flow", html.Div(id=ids.FLOW, className="tab-body"), save_buttons("flow"))


def content(view: ResultView, figure: Any, found: Sequence[Step]) -> list[Component]:
    """Return the diagram with what it shows in words, or how to get one."""
    if len(view.selection) < 2:
        return [nothing_yet(too_few(view))]
    graph = dcc.Graph(id=ids.tab_graph("flow"), figure=figure, config=GRAPH_CONFIG, className="flow-graph")
    wide = html.Div(
        graph,
        className="flow-wide",
        style={"--least": f"{least_width(len(view.selection))}px"},
        **{"data-figure": figure_name("flow", view, view.selection[0], view.selection[-1])},
    )
    drawn = drawn_moves(found)
    more = any(len(step.moves) > drawn for step in found)
    said = f" Of each step the {drawn} largest streams of moved points are drawn." if more else ""
    return [
        html.P(f"{EXPLAINED}{said}", className="tab-words"),
        html.Div(
            wide,
            className="flow-frame",
            tabIndex=0,
            role="group",
            **{"aria-label": "Flow between the selected clusterings"},
        ),
        html.Ul([html.Li(told(place, step)) for place, step in enumerate(found)], className="flow-steps"),
    ]


def too_few(view: ResultView) -> list[str]:
    """Return what to do where there are not two clusterings to compare."""
    if len(view.path) < 2:
        return ["The flow between clusterings appears here", "once the path has two of them."]
    n = len(view.selection)
    there = "No clustering is selected." if n == 0 else "One clustering is selected."
    return [there, "Select two or more values on the path, or in the table,", "to see which points move between them."]


def told(place: int, step: Step) -> str:
    """Return a step in words."""
    where = f"{LETTERS[place]} to {LETTERS[place + 1]}"
    if not step.moves:
        return f"{where}: no point moves, it is the same partition."
    first, *others = step.moves[:_TOLD]
    parts = [f"{words.count(first.count)} from cluster {first.source + 1} to {first.target + 1}"]
    parts += [f"{words.count(one.count)} from {one.source + 1} to {one.target + 1}" for one in others]
    rest = step.n_moved - sum(stream.count for stream in step.moves[:_TOLD])
    if rest:
        parts.append(f"{words.count(rest)} otherwise")
    verb = "point moves" if step.n_moved == 1 else "points move"
    return f"{where}: {words.count(step.n_moved)} {verb}, {', '.join(parts)}."
