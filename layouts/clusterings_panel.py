"""The clusterings at the selected bandwidths, up to six.

Entry points: `panel`, and what callbacks write into it: `panes`, and the fields of an `AxesView`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import choices, letter, section_title, select
from layouts.summary import far_end
from layouts.views import ResultView
from offgrid.path import BESIDE

TRUTH_PLACE = 6
MEANS_NOTE = "the mean image of each cluster; the bar is its size beside the largest"
GRAPH_CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "showTips": False, "responsive": True}


@dataclass(frozen=True)
class AxesView:
    """How clusterings are drawn: options of the two selects, what is chosen, and what to say about it.

    `has_images` offers the clusters' means as images, and `drawing` ("points" or "means") is what is drawn at first.
    """

    options: Sequence[tuple[str, str]] = ()
    x: str = "column:0"
    y: str = "column:1"
    note: str = ""
    choosable: bool = False  # among more than two columns
    has_images: bool = False
    drawing: str = "points"

    def described(self, drawing: str) -> str:
        """Return what to say about a kind of drawing."""
        return MEANS_NOTE if drawing == "means" else self.note


def panel(view: ResultView, axes: AxesView, content: list[Component]) -> Component:
    """Return the section; `content` comes from `panes`."""
    return html.Section(
        className="section",
        children=[
            section_title(
                "Clusterings",
                axes.described(axes.drawing),
                note_id=ids.CLUSTERINGS_NOTE,
                right=html.Div(
                    className="clusterings-controls",
                    children=[
                        html.Div(
                            id=ids.AXES_FIELD,
                            hidden=not axes.choosable or axes.drawing == "means",
                            className="axes-field",
                            children=[
                                select(ids.X_AXIS, axes.options, axes.x, "Horizontal axis", class_name="axis"),
                                html.Span("by", className="axes-by"),
                                select(ids.Y_AXIS, axes.options, axes.y, "Vertical axis", class_name="axis"),
                            ],
                        ),
                        html.Div(
                            id=ids.DRAWING_FIELD,
                            hidden=not axes.has_images,
                            children=dmc.SegmentedControl(
                                id=ids.DRAWING,
                                data=choices([("points", "Points"), ("means", "Means")]),
                                value=axes.drawing,
                                **{"aria-label": "Points, or the clusters’ means as images"},
                            ),
                        ),
                        html.Div(
                            id=ids.TRUTH_FIELD,
                            hidden=not view.has_labels,
                            children=dmc.SegmentedControl(
                                id=ids.TRUTH,
                                data=choices([("clusters", "Clusters"), ("truth", "With ground truth")]),
                                value="clusters",
                                **{"aria-label": "What is drawn"},
                            ),
                        ),
                    ],
                ),
            ),
            html.Div(
                content,
                id=ids.CLUSTERINGS,
                className="panes",
                tabIndex=0,
                role="group",
                **{"aria-label": "Selected clusterings"},
            ),
        ],
    )


def panes(
    view: ResultView, figures: Sequence[Any], moved: Sequence[int | None], *, truth: Any = None, ringed: bool = True
) -> list[Component]:
    """Return one pane for each selected value, and one that says how to fill it while there is room in the row.

    `figures` and `moved` (points moved since the pane before, None for the first) follow `view.selection`; `truth` is
    the figure of the labels, drawn first where it is wanted. A figure that is None leaves its frame empty. `ringed`
    says whether figures ring the points that moved.
    """
    captions = [caption(place, count, ringed=ringed) for place, count in enumerate(moved)]
    drawn = [_pane(view, place, figure, captions[place]) for place, figure in enumerate(figures)]
    if truth is not None:
        drawn.insert(0, _truth_pane(truth))
    if len(drawn) < 3:
        drawn.append(_empty_pane(bool(len(view.path))))
    return drawn


def _pane(view: ResultView, place: int, figure: Any, told: str) -> Component:
    index = view.selection[place]
    record = view.path.records[index]
    accent = index == view.recommended
    return html.Div(
        className="pane",
        children=[
            html.H3(
                className="pane-title",
                children=[
                    letter(place, accent=accent),
                    html.Span(words.bandwidth(record.sigma, view.symbol)),
                    html.Span(role(view, index), className="pane-role pane-role-accent" if accent else "pane-role"),
                ],
            ),
            html.Div([html.Span(text) for text in measures(view, index)], className="pane-measures"),
            _graph(place, figure),
            html.Div(told, className="pane-caption"),
        ],
    )


def _truth_pane(figure: Any) -> Component:
    return html.Div(
        className="pane",
        children=[
            html.H3(html.Span("Ground truth"), className="pane-title"),
            html.Div(html.Span("the labels that came with the data"), className="pane-measures"),
            _graph(TRUTH_PLACE, figure),
            html.Div("Each class in the colour of its nearest cluster", className="pane-caption"),
        ],
    )


def _graph(place: int, figure: Any) -> Component:
    """Return the frame with its graph, or without one where there is no figure yet."""
    graph = dcc.Graph(id=ids.clustering_graph(place), figure=figure, config=GRAPH_CONFIG, className="pane-graph")
    return html.Div(None if figure is None else graph, className="pane-frame")


def _empty_pane(has_values: bool) -> Component:
    told = ["The first clustering appears here", "as soon as it is found."]
    if has_values:
        told = ["Click a value on the path,", "or walk with the arrow keys,", "to see its clustering here."]
    lines = [html.Span(line) for line in told]
    return html.Div(html.P(lines, className="pane-empty-words"), className="pane")


def role(view: ResultView, index: int) -> str:
    """Return the part a record plays, in words."""
    if index == view.recommended:
        final = view.state == "finished" or view.recommendation is not None
        return "recommended" if final else "best so far"
    end = "k-means end of the path" if view.far_end == ResultView().far_end else "far end"
    return end if index == far_end(view) else ""


def measures(view: ResultView, index: int) -> list[str]:
    """Return NMI, c-NNC and how far the partition holds."""
    record = view.path.records[index]
    agreement = [f"NMI {words.measure(record.nmi)}"] if record.nmi is not None else []
    return [*agreement, f"c-NNC {words.cost(record.cnnc, record.cnnc_error)}", holds(view, index)]


def holds(view: ResultView, index: int) -> str:
    """Return how far a partition holds, in words."""
    if view.path.records[index].level == BESIDE:
        return words.origin(view.path.records[index].sigma)
    extent = view.path.extent(index)
    if extent is None:
        return "still holding" if view.active_state else "not searched further"
    return words.lasting(extent.to, exact=extent.exact, symbol=view.symbol)


def caption(place: int, moved: int | None, *, ringed: bool = True) -> str:
    """Return the line beneath a pane."""
    if moved is None:
        return "Numbers and colours carry over"
    since = "ABCDEF"[place - 1]
    if not moved:
        return f"The same partition as {since}"
    return f"{words.plural(moved, 'point')} moved since {since}{', ringed' if ringed else ''}"
