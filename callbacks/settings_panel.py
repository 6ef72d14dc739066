"""The settings column: choosing data, proposing what suits them, checking what is set, and pressing Run."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from callbacks.fields import FIELDS, Values, asked_from, data_from, settings_view
from callbacks.state import Data, asked_in, carried_out, shown_run
from layouts import ids, settings_panel
from layouts.views import SettingsView
from offgrid.errors import InputError
from services import visitors
from services.context import Services
from services.points import propose
from services.run_settings import RunSettings, SearchSettings

FEW_CLUSTERS = 3  # proposed where no labels tell

DATA_OUTPUTS = {
    "gallery": Output(ids.DATA_GALLERY, "value", allow_duplicate=True),
    "contents": Output(ids.UPLOAD, "contents"),
    "uploaded": Output(ids.UPLOADED, "data"),
    "label_text": Output(ids.UPLOAD_LABEL, "children"),
    "report": Output(ids.UPLOAD_REPORT, "children"),
    "preview": Output(ids.PREVIEW, "children"),
    "more_open": Output(ids.DATA_MORE, "open"),
    "columns": Output(ids.COLUMNS, "value"),
    "column_options": Output(ids.COLUMNS, "data"),
    "columns_hidden": Output(ids.COLUMNS_FIELD, "hidden"),
    "label": Output(ids.LABEL_COLUMN, "value"),
    "label_options": Output(ids.LABEL_COLUMN, "data"),
    "label_hidden": Output(ids.LABEL_FIELD, "hidden"),
    "missing": Output(ids.MISSING, "value"),
    "missing_hidden": Output(ids.MISSING_FIELD, "hidden"),
    "scaling": Output(ids.SCALING, "value"),
    "k": Output(ids.K, "value"),
}


_FIELD_STATES = {name: State(*place) for name, place in FIELDS.items()}


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the settings column."""
    _register_data(app, services)
    _register_notes(app, services)
    _register_run(app, services)
    app.clientside_callback(
        ClientsideFunction("offgrid", "openSettings"),
        Output(ids.SETTINGS_PANEL, "className"),
        Output(ids.SETTINGS_BACKDROP, "className"),
        Input(ids.SETTINGS_OPEN, "n_clicks"),
        Input(ids.SETTINGS_CLOSE, "n_clicks"),
        Input(ids.SETTINGS_BACKDROP, "n_clicks"),
        Input(ids.RUN, "data"),
        State(ids.SETTINGS_PANEL, "className"),
        State(ids.SETTINGS_BACKDROP, "className"),
        prevent_initial_call=True,
    )


def _register_data(app: Dash, services: Services) -> None:
    """Propose what suits the data set or the column of labels that was chosen."""

    @app.callback(
        output=DATA_OUTPUTS,
        inputs={
            "source": Input(ids.DATA_GALLERY, "value"),
            "contents": Input(ids.UPLOAD, "contents"),
            "filename": State(ids.UPLOAD, "filename"),
            "uploaded": State(ids.UPLOADED, "data"),
        },
        prevent_initial_call=True,
    )
    def update_data_fields(
        source: str | None, contents: str | None, filename: str | None, uploaded: Data
    ) -> dict[str, Any]:
        unchanged = dict.fromkeys(DATA_OUTPUTS, no_update)
        if ctx.triggered_id == ids.DATA_GALLERY:
            return unchanged if source is None else data_values(proposed_view(services, source))
        if contents is None:
            return unchanged
        try:
            upload = services.uploads.save(filename or "upload", decoded(contents), visitors.current())
            return data_values(proposed_view(services, f"upload:{upload.id}"))
        except InputError as error:
            kept = str((uploaded or {}).get("name", ""))
            return {**unchanged, "contents": None, "report": settings_panel.upload_refused(str(error), kept)}

    @app.callback(
        output={
            "columns": Output(ids.COLUMNS, "value", allow_duplicate=True),
            "k": Output(ids.K, "value", allow_duplicate=True),
        },
        inputs={"label": Input(ids.LABEL_COLUMN, "value"), "values": _FIELD_STATES},
        prevent_initial_call=True,
    )
    def update_label_choice(label: str | None, values: Values) -> dict[str, Any]:
        columns = [name for name in values["columns"] or [] if name != label]
        changed = columns if columns != values["columns"] else no_update
        try:
            spec = services.simplified(data_from({**values, "columns": columns}))
            return {"columns": changed, "k": services.points(spec).n_classes or no_update}
        except InputError:
            return {"columns": changed, "k": no_update}


def _register_notes(app: Dash, services: Services) -> None:
    """Say what the fields mean as they are set, and which of them cannot be searched with."""

    @app.callback(
        output={
            "start_value": Output(ids.START_VALUE_FIELD, "hidden"),
            "depths": Output(ids.DEPTHS_FIELD, "hidden"),
            "limiting": Output(ids.LIMITING_FIELD, "hidden"),
            "note": Output(ids.METHOD_NOTE, "children"),
        },
        inputs={"method": Input(ids.METHOD, "value"), "start": Input(ids.START, "value")},
        prevent_initial_call=True,
    )
    def update_search_fields(method: str, start: str) -> dict[str, Any]:
        hidden = settings_panel.hidden_fields(method, start)
        return {
            "start_value": hidden[ids.START_VALUE_FIELD],
            "depths": hidden[ids.DEPTHS_FIELD],
            "limiting": hidden[ids.LIMITING_FIELD],
            "note": settings_panel.method_note(method),
        }

    @app.callback(
        output={
            "error": Output(ids.SETTINGS_ERROR, "children"),
            "k_note": Output(ids.K_NOTE, "children"),
            "prepared": Output(ids.PREPARED, "children"),
            "run_note": Output(ids.RUN_NOTE, "children"),
            "bar_title": Output(ids.SETTINGS_BAR_TITLE, "children"),
            "bar_note": Output(ids.SETTINGS_BAR_NOTE, "children"),
        },
        inputs={
            "values": {name: Input(*place) for name, place in FIELDS.items()},
            "run_data": Input(ids.RUN, "data"),
            "shown": Input(ids.SHOWN, "data"),
        },
    )
    def update_settings_notes(values: Values, run_data: Data, shown: Data) -> dict[str, Any]:
        try:
            asked = checked(services, values)
        except InputError as error:
            bar = {"bar_title": no_update, "bar_note": no_update}
            return {"error": str(error), "k_note": "k", "prepared": None, "run_note": "", **bar}
        view = settings_view(services, asked)
        return {
            "error": None,
            "k_note": view.k_note,
            "prepared": settings_panel.prepared(view),
            "run_note": run_note(services, asked, run_data, view.data_title),
            "bar_title": view.data_title,
            "bar_note": settings_panel.bar_note(view),
        }


def _register_run(app: Dash, services: Services) -> None:
    """Ask for a run with what the fields hold."""

    @app.callback(
        output={
            "run": Output(ids.RUN, "data"),
            "carry_out": Output(ids.CARRY_OUT, "data"),
            "selection": Output(ids.SELECTION, "data"),
            "error": Output(ids.SETTINGS_ERROR, "children", allow_duplicate=True),
        },
        inputs={"clicks": Input(ids.RUN_BUTTON, "n_clicks"), "values": _FIELD_STATES},
        prevent_initial_call=True,
    )
    def update_run(clicks: int | None, values: Values) -> dict[str, Any]:
        try:
            asked = checked(services, values)
            run_id = services.request(asked, visitors.require())
        except InputError as error:
            return {"run": no_update, "carry_out": no_update, "selection": no_update, "error": str(error)}
        return {
            "run": {"id": run_id, "query": asked.to_query()},
            "carry_out": carried_out(services, run_id),
            "selection": {"indices": [], "active": None, "auto": True},
            "error": None,
        }


def decoded(contents: str) -> bytes:
    """Return the bytes of an upload, which arrives as ``data:TYPE;base64,DATA``."""
    try:
        return base64.b64decode(contents.partition(",")[2], validate=True)
    except binascii.Error:
        raise InputError("The file did not arrive whole; upload it again.") from None


def proposed_view(services: Services, source: str) -> SettingsView:
    """Return the settings proposed for a data set: its own scaling and treatment of gaps, k from its labels."""
    spec, k = propose(source, services.uploads)
    return settings_view(services, RunSettings(spec, SearchSettings(k or min(FEW_CLUSTERS, services.points(spec).n))))


def data_values(view: SettingsView) -> dict[str, Any]:
    """Return the values of `DATA_OUTPUTS` for a view; an upload's own fields are empty for a built-in set."""
    upload = view.upload
    return {
        "gallery": None if upload else view.data,
        "contents": None,
        "uploaded": {"id": upload.id, "name": upload.name} if upload else {},
        "label_text": settings_panel.upload_label(upload),
        "report": settings_panel.upload_report(upload) if upload else None,
        "preview": settings_panel.preview(upload) if upload else None,
        "more_open": upload is not None,
        "columns": list(view.chosen_columns),
        "column_options": list(view.columns),
        "columns_hidden": not view.columns,
        "label": view.label or "",
        "label_options": settings_panel.label_data(view.label_options),
        "label_hidden": not view.label_options,
        "missing": view.missing,
        "missing_hidden": not view.has_missing,
        "scaling": view.scaling,
        "k": view.k,
    }


def checked(services: Services, values: Values) -> RunSettings:
    """Return the settings that the fields hold, checked against the data.

    Raises
    ------
    InputError
        Where they can't be searched with.
    """
    asked = asked_from(values)
    asked = replace(asked, data=services.simplified(asked.data))
    services.check(asked)
    return asked


def run_note(services: Services, asked: RunSettings, run_data: Data, title: str) -> str:
    """Return the line under the Run button."""
    run, shown = shown_run(services, run_data), asked_in(run_data)
    return settings_panel.run_note(
        active=run is not None and run.active and services.runs.following(run.id, visitors.current()).follows,
        matches=shown == asked,
        unseen="" if shown is None or shown.data.source == asked.data.source else title,
        has_result=run is not None,
        n_found=0 if run is None else run.path.n_found,
    )
