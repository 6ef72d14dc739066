"""The clusterings at the selected bandwidths."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from callbacks.state import Data, Look, asked_in, drawn_run, known_points, result_view, run_id
from figures import words
from figures.cluster_means import means_figure
from figures.clustering import SAMPLE_FROM, clustering_figure, matched_clusterings, matched_truth
from figures.theme import Scheme
from layouts import clusterings_panel, ids
from layouts.clusterings_panel import AxesView, Written
from layouts.views import ResultView
from offgrid.datasets.model import Points
from services import projection
from services.context import Services
from services.run_settings import RunSettings

DRAWING = {
    "axes": [Input(ids.X_AXIS, "value"), Input(ids.Y_AXIS, "value")],
    "truth": Input(ids.TRUTH, "value"),
    "kind": Input(ids.DRAWING, "value"),
}
REST = 2.5  # seconds between two drawings of the clusterings while the search goes on


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the clusterings."""
    _register_panes(app, services)
    _register_controls(app, services)


def _register_panes(app: Dash, services: Services) -> None:
    """Draw the panes, after the path, and of those only what has changed."""

    @app.callback(
        output={
            "hidden": [Output(ids.pane(place), "hidden") for place in clusterings_panel.PLACES],
            "heads": [Output(ids.pane(place, "-head"), "children") for place in clusterings_panel.PLACES],
            "feet": [Output(ids.pane(place, "-foot"), "children") for place in clusterings_panel.PLACES],
            "full": Output(ids.INVITATION, "hidden"),
            "invitation": Output(ids.INVITATION_WORDS, "children"),
            "figures": [Output(ids.pane(place, "-figure"), "data") for place in clusterings_panel.PLACES],
            "store": Output(ids.PANES, "data"),
        },
        inputs={
            "shown": Input(ids.SHOWN, "data"),
            "chosen": Input(ids.SELECTION, "data"),
            "scheme": Input(ids.SCHEME, "data"),
            "how": DRAWING,
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
        how: dict[str, Any],
        path_drawn: object,
        drawn: Data,
        run_data: Data,
    ) -> dict[str, Any]:
        asked, run = asked_in(run_data), drawn_run(services, run_data, shown)
        view = result_view(services, asked, run, chosen, Look.of(scheme, narrow=False))
        wanted = signature(view, run_data, how)
        if not is_due(drawn, wanted, view, chosen):
            raise PreventUpdate
        before = drawn["figures"] if drawn else {}
        panes = drawn_panes(services, view, asked, Drawing.of(how), before)
        parts = [panes.written.get(place) for place in clusterings_panel.PLACES]
        return {
            "hidden": [part is None for part in parts],
            "heads": [[] if part is None else part.head for part in parts],
            "feet": [[] if part is None else part.foot for part in parts],
            "full": not clusterings_panel.has_room(panes.written),
            "invitation": clusterings_panel.invitation(view),
            "figures": [panes.graphs.get(place, no_update) for place in clusterings_panel.PLACES],
            "store": {"signature": wanted, "at": time.time(), "figures": panes.digests},
        }

    # One for each, since Dash leaves out a change that another comes after before it was told of.
    for place in clusterings_panel.PLACES:
        app.clientside_callback(
            ClientsideFunction("offgrid", "drawPane"),
            Input(ids.pane(place, "-figure"), "data"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        ClientsideFunction("offgrid", "awaitPath"),
        Output(ids.DRAWN, "data"),
        Input(ids.PATH_GRAPH, "figure"),
        State(ids.DRAWN, "data"),
    )


def _register_controls(app: Dash, services: Services) -> None:
    """Offer the ways to draw that the data have: axes, labels, mean images."""

    @app.callback(
        output={
            "options": [Output(ids.X_AXIS, "data"), Output(ids.Y_AXIS, "data")],
            "values": [Output(ids.X_AXIS, "value"), Output(ids.Y_AXIS, "value")],
            "hidden": Output(ids.AXES_FIELD, "hidden"),
            "note": Output(ids.CLUSTERINGS_NOTE, "children"),
            "truth_hidden": Output(ids.TRUTH_FIELD, "hidden"),
            "truth": Output(ids.TRUTH, "value"),
            "drawing_hidden": Output(ids.DRAWING_FIELD, "hidden"),
            "drawing": Output(ids.DRAWING, "value"),
        },
        inputs=Input(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_axes(run_data: Data) -> dict[str, Any]:
        asked = asked_in(run_data)
        points, view = known_points(services, asked), axes_view(services, asked)
        options = [{"value": value, "label": label} for value, label in view.options]
        return {
            "options": [options, options],
            "values": [view.x, view.y],
            "hidden": not view.choosable or view.drawing == "means",
            "note": view.described(view.drawing),
            "truth_hidden": points is None or points.y is None,
            "truth": "clusters",
            "drawing_hidden": not view.has_images,
            "drawing": view.drawing,
        }

    @app.callback(
        Output(ids.AXES_FIELD, "hidden", allow_duplicate=True),
        Output(ids.CLUSTERINGS_NOTE, "children", allow_duplicate=True),
        Input(ids.DRAWING, "value"),
        State(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_drawing(kind: str, run_data: Data) -> tuple[bool, str]:
        view = axes_view(services, asked_in(run_data))
        return not view.choosable or kind == "means", view.described(kind)


@dataclass(frozen=True)
class Drawing:
    """How the clusterings are drawn: along which axes, beside the labels or not, as points or as mean images."""

    axes: projection.Axes
    truth: bool = False
    means: bool = False

    @classmethod
    def of(cls, how: Mapping[str, Any]) -> Drawing:
        """Read the fields."""
        return cls((how["axes"][0], how["axes"][1]), how["truth"] == "truth", how["kind"] == "means")


def signature(view: ResultView, run_data: Data, how: Mapping[str, Any]) -> str:
    """Return a text that changes when anything in the panes would."""
    told = [(i, clusterings_panel.role(view, i), clusterings_panel.measures(view, i)) for i in view.selection]
    return repr((run_id(run_data), told, view.scheme, how, bool(len(view.path))))


def is_due(drawn: Data, wanted: str, view: ResultView, chosen: Data) -> bool:
    """Whether to draw: something differs, and where the search itself changed it, not more often than is seen."""
    if not drawn:
        return True
    by_itself = view.active_state and (chosen is None or bool(chosen.get("auto", True)))
    rested = time.time() - float(drawn["at"]) > REST
    return bool(drawn["signature"] != wanted and (rested or not by_itself))


def axes_view(services: Services, asked: RunSettings | None) -> AxesView:
    """Return how the clusterings can be drawn, what is proposed, and what to say about it."""
    points = known_points(services, asked)
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
    pictures = unscaled(services, asked)
    return AxesView(
        options=options,
        x=x,
        y=y,
        note=", ".join(notes),
        choosable=len(options) > projection.COMPONENTS,
        has_images=pictures is not None and pictures.likely_image_shape is not None,
        drawing="means" if points.image_shape is not None else "points",
    )


def unscaled(services: Services, asked: RunSettings | None) -> Points | None:
    """Return the points as they were before scaling: what an image looks like."""
    return None if asked is None else known_points(services, replace(asked, data=replace(asked.data, scaling="none")))


@dataclass(frozen=True)
class Panes:
    """What the panes show, by place: words, a digest of each figure, and the graphs to draw or, empty, to remove."""

    written: Mapping[int, Written]
    digests: Mapping[str, str]
    graphs: Mapping[int, Component | dict[str, Any]]


def drawn_panes(
    services: Services, view: ResultView, asked: RunSettings | None, how: Drawing, before: Mapping[str, str]
) -> Panes:
    """Return one pane for each selected clustering, and one for the labels where they are wanted.

    A figure is made only where its digest is not what it was `before`.
    """
    points = known_points(services, asked)
    if points is None or asked is None:
        return Panes({}, {}, emptied(before, ()))
    k = asked.search.n_clusters
    clusterings = matched_clusterings(view.path, view.selection, k)
    shown: dict[int, dict[str, Any]] = {}
    if how.truth and points.y is not None:
        reference = clusterings[0].labels if clusterings else points.y
        truth, names = matched_truth(reference, points.y, points.class_names)
        shown[clusterings_panel.TRUTH_PLACE] = {"labels": truth, "k": len(names), "class_names": names}
    for place, one in enumerate(clusterings):
        shown[place] = {"labels": one.labels, "k": k, "moved": one.moved}
    digests = {str(place): digest(asked, how, view.scheme, what) for place, what in shown.items()}
    draw = painter(services, points, unscaled(services, asked) if how.means else None, how.axes, view.scheme)
    graphs = {
        place: clusterings_panel.graph(place, draw(**what))
        for place, what in shown.items()
        if before.get(str(place)) != digests[str(place)]
    }
    counts = [one.n_moved for one in clusterings]
    truth_shown = clusterings_panel.TRUTH_PLACE in shown
    written = clusterings_panel.written(view, counts, truth=truth_shown, ringed=not how.means)
    return Panes(written, digests, emptied(before, shown) | graphs)


def emptied(before: Mapping[str, str], shown: Collection[int]) -> dict[int, Component | dict[str, Any]]:
    """Return nothing to draw for each place that had something and has not any more."""
    return {place: {} for place in clusterings_panel.PLACES if str(place) in before and place not in shown}


def digest(asked: RunSettings, how: Drawing, scheme: Scheme, what: Mapping[str, Any]) -> str:
    """Return a text that tells apart what a figure is drawn from."""
    made = blake2b(repr((asked.data, how.axes, how.means, scheme, sorted(what))).encode(), digest_size=16)
    for value in what.values():
        made.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return made.hexdigest()


def painter(
    services: Services, points: Points, pictures: Points | None, axes: projection.Axes, scheme: Scheme
) -> Callable[..., Any]:
    """Return what draws labels: as the clusters' mean images where there are `pictures`, else as points."""
    shape = None if pictures is None else pictures.likely_image_shape
    if pictures is not None and shape is not None:

        def draw_means(labels: Any, k: int, *, moved: Any = None, class_names: Any = None) -> Any:
            return means_figure(
                pictures.X, labels, n_clusters=k, image_shape=shape, scheme=scheme, class_names=class_names
            )

        return draw_means
    titles = dict(projection.axis_options(points))
    if not titles.keys() >= {*axes}:  # the axes of other data, which the page is about to change
        axes = projection.default_axes(points)
    xy = projection.coordinates(points, axes, services.cache)
    names = (titles[axes[0]], titles[axes[1]])

    def draw_points(labels: Any, k: int, *, moved: Any = None, class_names: Any = None) -> Any:
        return clustering_figure(
            xy, labels, n_clusters=k, moved=moved, scheme=scheme, axis_names=names, class_names=class_names,
            file_rows=points.rows, row_names=points.row_names,
        )  # fmt: skip

    return draw_points
