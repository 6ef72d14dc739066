"""The clusterings at the selected bandwidths."""

from __future__ import annotations

import time
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.development.base_component import Component

from callbacks.state import Data, Look, asked_in, drawn_run, known_points, result_view, run_id
from figures import words
from figures.clustering import SAMPLE_FROM, clustering_figure, matched_clusterings
from layouts import clusterings_panel, ids
from layouts.clusterings_panel import AxesView
from layouts.views import ResultView
from offgrid.datasets.model import Points
from services import projection
from services.context import Services

REST = 2.5  # seconds between two drawings of the clusterings while the search goes on


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the clusterings."""

    @app.callback(
        output={"panes": Output(ids.CLUSTERINGS, "children"), "store": Output(ids.PANES, "data")},
        inputs={
            "shown": Input(ids.SHOWN, "data"),
            "chosen": Input(ids.SELECTION, "data"),
            "scheme": Input(ids.SCHEME, "data"),
            "truth": Input(ids.TRUTH, "value"),
            "axes": [Input(ids.X_AXIS, "value"), Input(ids.Y_AXIS, "value")],
            "path_drawn": Input(ids.DRAWN, "data"),
            "drawn": State(ids.PANES, "data"),
            "run_data": State(ids.RUN, "data"),
        },
        prevent_initial_call=True,
    )
    def update_clusterings(
        shown: Data,
        chosen: Data,
        scheme: object,
        truth: str,
        axes: list[str],
        path_drawn: object,
        drawn: Data,
        run_data: Data,
    ) -> dict[str, Any]:
        asked, run = asked_in(run_data), drawn_run(services, run_data, shown)
        view = result_view(services, asked, run, chosen, Look.of(scheme, narrow=False))
        wanted = signature(view, run_data, truth, axes)
        if not is_due(drawn, wanted, view, chosen):
            return {"panes": no_update, "store": no_update}
        points, k = known_points(services, asked), 1 if asked is None else asked.search.n_clusters
        panes = drawn_panes(services, view, points, k, axes=(axes[0], axes[1]), truth=truth)
        return {"panes": panes, "store": {"signature": wanted, "at": time.time()}}

    app.clientside_callback(
        ClientsideFunction("offgrid", "awaitPath"),
        Output(ids.DRAWN, "data"),
        Input(ids.PATH_GRAPH, "figure"),
        State(ids.DRAWN, "data"),
    )

    @app.callback(
        output={
            "options": [Output(ids.X_AXIS, "data"), Output(ids.Y_AXIS, "data")],
            "values": [Output(ids.X_AXIS, "value"), Output(ids.Y_AXIS, "value")],
            "hidden": Output(ids.AXES_FIELD, "hidden"),
            "note": Output(ids.CLUSTERINGS_NOTE, "children"),
            "truth_hidden": Output(ids.TRUTH_FIELD, "hidden"),
            "truth": Output(ids.TRUTH, "value"),
        },
        inputs=Input(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_axes(run_data: Data) -> dict[str, Any]:
        points = known_points(services, asked_in(run_data))
        view = axes_view(services, points)
        options = [{"value": value, "label": label} for value, label in view.options]
        return {
            "options": [options, options],
            "values": [view.x, view.y],
            "hidden": not view.choosable,
            "note": view.note,
            "truth_hidden": points is None or points.y is None,
            "truth": "clusters",
        }


def signature(view: ResultView, run_data: Data, truth: str, axes: list[str]) -> str:
    """Return a text that changes when anything in the panes would."""
    told = [(i, clusterings_panel.role(view, i), clusterings_panel.measures(view, i)) for i in view.selection]
    return repr((run_id(run_data), told, view.scheme, truth, axes, bool(len(view.path))))


def is_due(drawn: Data, wanted: str, view: ResultView, chosen: Data) -> bool:
    """Whether to draw: something differs, and where the search itself changed it, not more often than is seen."""
    if not drawn:
        return True
    by_itself = view.active_state and (chosen is None or bool(chosen.get("auto", True)))
    rested = time.time() - float(drawn["at"]) > REST
    return bool(drawn["signature"] != wanted and (rested or not by_itself))


def axes_view(services: Services, points: Points | None) -> AxesView:
    """Return what can be drawn along the axes, what is proposed, and what to say about it."""
    if points is None:
        return AxesView()
    x, y = projection.default_axes(points)
    notes = []
    if x.startswith("pca"):
        share = projection.explained(points, services.cache)
        notes.append(f"PCA of {words.plural(points.X.shape[1], 'column')}, {100 * share:.0f}% of the variance")
    if points.n > SAMPLE_FROM:
        notes.append(f"a sample of {words.count(SAMPLE_FROM)} of {words.count(points.n)} points is drawn")
    options = projection.axis_options(points)
    return AxesView(options=options, x=x, y=y, note=", ".join(notes), choosable=len(options) > projection.COMPONENTS)


def framed_panes(view: ResultView) -> list[Component]:
    """Return the panes with empty frames, for a page that draws its path first."""
    count = len(view.selection)
    return clusterings_panel.panes(view, [None] * count, [None] * count)


def drawn_panes(
    services: Services, view: ResultView, points: Points | None, k: int, *, axes: projection.Axes, truth: str
) -> list[Component]:
    """Return one pane for each selected clustering, the labels first where they are wanted."""
    if points is None:
        return clusterings_panel.panes(view, [], [])
    titles = dict(projection.axis_options(points))
    if not titles.keys() >= {*axes}:  # the axes of other data, which the page is about to change
        axes = projection.default_axes(points)
    xy = projection.coordinates(points, axes, services.cache)
    names = (titles[axes[0]], titles[axes[1]])
    clusterings = matched_clusterings(view.path, view.selection, k)
    figures = [
        clustering_figure(xy, drawn.labels, n_clusters=k, moved=drawn.moved, scheme=view.scheme, axis_names=names)
        for drawn in clusterings
    ]
    labels = None
    if truth == "truth" and points.y is not None:
        labels = clustering_figure(
            xy,
            points.y,
            n_clusters=len(points.class_names),
            scheme=view.scheme,
            axis_names=names,
            class_names=points.class_names,
        )
    return clusterings_panel.panes(view, figures, [drawn.n_moved for drawn in clusterings], truth=labels)
