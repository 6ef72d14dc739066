"""The bandwidth path: its figure, its words, and selecting on it."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State

from callbacks.state import Data, Look, asked_in, drawn_run, result_view
from figures.path import path_figure
from layouts import ids, path_panel
from layouts.views import ResultView
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the path."""

    @app.callback(
        output={
            "figure": Output(ids.PATH_GRAPH, "figure"),
            "note": Output(ids.PATH_NOTE, "children"),
            "legend": Output(ids.PATH_LEGEND, "children"),
            "frame": Output(ids.PATH_FRAME, "className"),
        },
        inputs={
            "shown": Input(ids.SHOWN, "data"),
            "chosen": Input(ids.SELECTION, "data"),
            "scheme": Input(ids.SCHEME, "data"),
            "narrow": Input(ids.NARROW, "data"),
            "run_data": State(ids.RUN, "data"),
        },
        prevent_initial_call=True,
    )
    def update_path_figure(shown: Data, chosen: Data, scheme: object, narrow: object, run_data: Data) -> dict[str, Any]:
        run = drawn_run(services, run_data, shown)
        view = result_view(services, asked_in(run_data), run, chosen, Look.of(scheme, narrow))
        return {
            "figure": drawn_path(view),
            "note": path_panel.path_note(view),
            "legend": path_panel.legend(view),
            "frame": path_panel.frame_class(view),
        }

    app.clientside_callback(
        ClientsideFunction("offgrid", "selectOnPath"),
        Output(ids.SELECTION, "data", allow_duplicate=True),
        Output(ids.PATH_GRAPH, "clickData"),
        Input(ids.PATH_GRAPH, "clickData"),
        Input(ids.PATH_GRAPH, "selectedData"),
        State(ids.SELECTION, "data"),
        State(ids.SHOWN, "data"),
        prevent_initial_call=True,
    )


def drawn_path(view: ResultView, *, marks: bool = True) -> Any:
    """Return the figure of the view's path, with room for question marks or without."""
    return path_figure(
        view.path,
        lower_bound=view.lower_bound,
        selection=view.selection,
        recommended=view.recommended,
        active=view.active,
        scheme=view.scheme,
        narrow=view.narrow,
        front=view.sigma if view.searching else None,
        share=view.share,
        running=view.searching,
        has_labels=view.has_labels,
        symbol=view.symbol,
        far_end=view.far_end,
        compared=list(view.compared.values()),
        marks=marks,
    )
