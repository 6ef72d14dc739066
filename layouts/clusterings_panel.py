"""The clusterings at the selected bandwidths, up to six.

Entry points: `panel` with `panes`, what callbacks write into these (`written`, `graph`, `invitation`), and the fields
of an `AxesView`. All panes are on the page from the start: a graph that stays is drawn anew, not made anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from figures.clustering import MOST_RINGED
from layouts import ids
from layouts.parts import choices, letter, section_title, select
from layouts.summary import far_end
from layouts.views import ResultView
from offgrid.path import BESIDE

TRUTH_PLACE = 6
PLACES = (TRUTH_PLACE, 0, 1, 2, 3, 4, 5)  # in the order of the page
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


def panel(view: ResultView, axes: AxesView) -> Component:
    """Return the section."""
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
                panes(view),
                id=ids.CLUSTERINGS,
                className="panes",
                tabIndex=0,
                role="group",
                **{"aria-label": "Selected clusterings"},
            ),
        ],
    )


@dataclass(frozen=True)
class Written:
    """What is written around a figure: `head` above it, `foot` beneath."""

    head: Sequence[Component]
    foot: Component


def panes(view: ResultView) -> list[Component]:
    """Return all panes for a page that draws its path first: those of the selected values have empty frames."""
    parts = written(view, [None] * len(view.selection))
    slots = [_slot(place, parts.get(place)) for place in PLACES]
    said = html.P(invitation(view), id=ids.INVITATION_WORDS, className="pane-empty-words")
    return [*slots, html.Div(said, id=ids.INVITATION, className="pane", hidden=not has_room(parts))]


def written(
    view: ResultView, moved: Sequence[int | None], *, truth: bool = False, ringed: bool = True
) -> dict[int, Written]:
    """Return the words of each pane that is shown, by its place.

    `moved` (points moved since the pane before, None for the first) follows `view.selection`; `truth` asks for the pane
    of the labels, and `ringed` says whether figures ring the points that moved.
    """
    parts = {
        place: Written(_head(view, place), html.Div(caption(place, count, ringed=ringed), className="pane-caption"))
        for place, count in enumerate(moved)
    }
    return {TRUTH_PLACE: _TRUTH, **parts} if truth else parts


def graph(place: int, figure: Any) -> Component:
    """Return the graph that goes into a pane's frame."""
    return dcc.Graph(id=ids.pane(place, "-graph"), figure=figure, config=GRAPH_CONFIG, className="pane-graph")


def has_room(parts: Mapping[int, Written]) -> bool:
    """Whether a row has room for one more pane, so that how to fill it is worth saying."""
    return len(parts) < 3


def invitation(view: ResultView) -> list[Component]:
    """Return the words that say how the next pane is filled."""
    told = ["The first clustering appears here", "as soon as it is found."]
    if len(view.path):
        told = ["Click a value on the path,", "or walk with the arrow keys,", "to see its clustering here."]
    return [html.Span(line) for line in told]


def _slot(place: int, parts: Written | None) -> Component:
    """Return a pane, hidden where it has nothing to show. It stays on the page, so that its graph need not go."""
    return html.Div(
        id=ids.pane(place),
        className="pane",
        hidden=parts is None,
        children=[
            html.Div(None if parts is None else parts.head, id=ids.pane(place, "-head"), className="pane-head"),
            dcc.Store(id=ids.pane(place, "-figure"), data={}),
            html.Div(id=ids.pane(place, "-frame"), className="pane-frame"),
            html.Div(None if parts is None else parts.foot, id=ids.pane(place, "-foot")),
        ],
    )


def _head(view: ResultView, place: int) -> list[Component]:
    index = view.selection[place]
    record = view.path.records[index]
    accent = index == view.recommended
    return [
        html.H3(
            className="pane-title",
            children=[
                letter(place, accent=accent),
                html.Span(words.bandwidth(record.sigma, view.symbol)),
                html.Span(role(view, index), className="pane-role pane-role-accent" if accent else "pane-role"),
            ],
        ),
        html.Div([html.Span(text) for text in measures(view, index)], className="pane-measures"),
    ]


_TRUTH = Written(
    [
        html.H3(html.Span("Ground truth"), className="pane-title"),
        html.Div(html.Span("the labels that came with the data"), className="pane-measures"),
    ],
    html.Div("Each class in the colour of its nearest cluster", className="pane-caption"),
)


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
    told = f"{words.plural(moved, 'point')} moved since {since}"
    if not ringed:
        return told
    return f"{told}, ringed" if moved <= MOST_RINGED else f"{told}, too many to ring"
