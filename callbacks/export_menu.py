"""Taking results away: path, labels and run as files. Figures are saved by the browser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, dcc, no_update, set_props

from callbacks.errors import notification
from callbacks.report import report_file
from callbacks.state import Data, Look, asked_in, known_points, result_view, shown_run
from callbacks.tabs import Seen, matched_labels
from layouts import ids
from layouts.export_menu import labels_item
from offgrid.errors import InputError
from services import export
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the Export menu."""

    @app.callback(
        Output(ids.DOWNLOAD, "data"),
        inputs={
            "path": Input(ids.EXPORT_PATH_CSV, "n_clicks"),
            "labels": Input(ids.EXPORT_LABELS_CSV, "n_clicks"),
            "run": Input(ids.EXPORT_RUN_JSON, "n_clicks"),
            "report": Input(ids.EXPORT_REPORT, "n_clicks"),
            "run_data": State(ids.RUN, "data"),
            "chosen": State(ids.SELECTION, "data"),
        },
        prevent_initial_call=True,
    )
    def update_download(path: object, labels: object, run: object, report: object, run_data: Data, chosen: Data) -> Any:
        try:
            file = exported(services, str(ctx.triggered_id), run_data, chosen)
        except InputError as error:
            message = notification("Nothing was saved.", str(error))
            set_props(ids.NOTIFICATIONS, {"sendNotifications": message})
            return no_update
        return dcc.send_string(file.text, file.name, type=file.mime)

    @app.callback(
        Output(ids.EXPORT_LABELS_CSV, "children"),
        Input(ids.SELECTION, "data"),
        Input(ids.SHOWN, "data"),
        State(ids.RUN, "data"),
    )
    def update_labels_item(chosen: Data, shown: Data, run_data: Data) -> str:
        view = result_view(services, asked_in(run_data), shown_run(services, run_data), chosen, Look())
        index = export.labels_index(view.selection, view.active, view.recommended)
        return labels_item(view, index)

    app.clientside_callback(
        ClientsideFunction("offgrid", "saveFigures"),
        Input(ids.EXPORT_PNG, "n_clicks"),
        Input(ids.EXPORT_SVG, "n_clicks"),
        Input({"type": "save-figure", "tab": ALL, "kind": ALL}, "n_clicks"),
        State(ids.RUN, "data"),
        State(ids.RESULT_TITLE, "children"),
        prevent_initial_call=True,
    )


def exported(services: Services, what: str, run_data: Data, chosen: Data) -> export.File:
    """Return the file that a menu item stands for.

    Raises
    ------
    InputError
        Where there is nothing to save.
    """
    asked, run = asked_in(run_data), shown_run(services, run_data)
    if asked is None or run is None:
        raise InputError(export.NOTHING)
    run = replace(run, settings=asked)
    if what == ids.EXPORT_PATH_CSV:
        points = known_points(services, asked)
        return export.path_file(run, "" if points is None else points.title)
    points = services.points(asked.data)
    if what == ids.EXPORT_REPORT:
        return report_file(services, asked, run, points, chosen)
    view = result_view(services, asked, run, chosen, Look())
    if what == ids.EXPORT_RUN_JSON:
        return export.run_file(run, points, view.reason, view.selection)
    index = export.labels_index(view.selection, view.active, view.recommended)
    if index is None:
        raise InputError(export.NOTHING)
    labels = matched_labels(Seen(asked, view, points), index)
    return export.labels_file(run, points, services.source(asked.data), labels, run.path.records[index].sigma)
