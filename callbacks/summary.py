"""The head of the result: following the run, what is said about it, Cancel and Resume."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from dash import ClientsideFunction, Dash, Input, Output, State, no_update, set_props

from callbacks.errors import notification, show_failure
from callbacks.state import (
    GONE,
    Data,
    Look,
    asked_in,
    carried_out,
    result_view,
    run_id,
    shown_run,
    store_of_path,
    store_of_selection,
)
from layouts import ids, settings_panel, summary
from layouts.views import ResultView
from offgrid.errors import InputError
from services import visitors
from services.context import Services

FOLLOWING = {
    "running_hidden": Output(ids.RUNNING, "hidden"),
    "running_text": Output(ids.RUNNING_TEXT, "children"),
    "elapsed": Output(ids.RUNNING_ELAPSED, "children"),
    "bar": Output(ids.RUNNING_BAR, "value"),
    "cancel_disabled": Output(ids.CANCEL, "disabled"),
    "notice_hidden": Output(ids.NOTICE, "hidden"),
    "notice_class": Output(ids.NOTICE, "className"),
    "notice_title": Output(ids.NOTICE_TITLE, "children"),
    "notice_text": Output(ids.NOTICE_TEXT, "children"),
    "resume_style": Output(ids.RESUME, "style"),
    "resume_label": Output(ids.RESUME, "children"),
    "running_note": Output(ids.RUNNING_NOTE, "children"),
    "pin_style": Output(ids.PIN, "style"),
    "cancel_style": Output(ids.CANCEL, "style"),
    "run_disabled": Output(ids.RUN_BUTTON, "disabled"),
    "run_label": Output(ids.RUN_BUTTON, "children"),
    "poll_disabled": Output(ids.POLL, "disabled"),
    "poll_interval": Output(ids.POLL, "interval"),
}
CHANGED = {
    "shown": Output(ids.SHOWN, "data"),
    "selection": Output(ids.SELECTION, "data", allow_duplicate=True),
    "title": Output(ids.RESULT_TITLE, "children"),
    "note": Output(ids.RESULT_NOTE, "children"),
    "summary": Output(ids.SUMMARY, "children"),
    "pinned": Output(ids.PIN, "checked"),
}


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the result's head."""
    _register_following(app, services)
    _register_buttons(app, services)
    app.clientside_callback(
        ClientsideFunction("offgrid", "announce"),
        Input(ids.SHOWN, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("offgrid", "copyLink"),
        Output(ids.COPY_LINK_LABEL, "children"),
        Input(ids.COPY_LINK, "n_clicks"),
        State(ids.ADDRESS, "data"),
        prevent_initial_call=True,
    )


def _register_following(app: Dash, services: Services) -> None:
    """Follow the run that is shown: what changes each second, and the rest where its path has grown."""

    @app.callback(
        output={**FOLLOWING, **CHANGED},
        inputs={
            "tick": Input(ids.TICK, "data"),
            "polls": Input(ids.POLL, "n_intervals"),
            "run_data": Input(ids.RUN, "data"),
            "chosen": State(ids.SELECTION, "data"),
            "shown": State(ids.SHOWN, "data"),
        },
        prevent_initial_call=True,
    )
    def update_following(tick: object, polls: object, run_data: Data, chosen: Data, shown: Data) -> dict[str, Any]:
        run, asked = shown_run(services, run_data), asked_in(run_data)
        if run is not None and run.active:
            try:
                services.runs.seen(run.id, visitors.current())
            except Exception as error:  # noqa: BLE001 - a full store is told of, and keeps nobody from looking
                show_failure(error)
        alert = GONE if run is None and run_id(run_data) else ""
        view = result_view(services, asked, run, chosen, Look(), alert)
        following = following_values(view, cancelling=run is not None and run.cancelling)
        now = store_of_path(run)
        if (shown or {}).get("version") == now.get("version"):
            return {**following, **dict.fromkeys(CHANGED, no_update)}
        selection = store_of_selection(view, chosen)
        return {
            **following,
            "shown": now,
            "selection": no_update if selection == chosen else selection,
            "title": view.title,
            "note": view.note,
            "summary": summary.summary(view),
            # only where another run is shown: an answer on its way must not undo a click
            "pinned": no_update if (shown or {}).get("id") == now.get("id") else view.pinned,
        }


def _register_buttons(app: Dash, services: Services) -> None:
    """Cancel, resume and pin the run that is shown."""

    @app.callback(
        Output(ids.TICK, "data", allow_duplicate=True),
        Input(ids.CANCEL, "n_clicks"),
        State(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_cancelled(clicks: int | None, run_data: Data) -> str:
        services.runs.leave(run_id(run_data), visitors.current())
        return uuid4().hex

    @app.callback(
        Output(ids.CARRY_OUT, "data", allow_duplicate=True),
        Output(ids.TICK, "data", allow_duplicate=True),
        Input(ids.RESUME, "n_clicks"),
        State(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_resumed(clicks: int | None, run_data: Data) -> tuple[Any, str]:
        try:
            services.resume(run_id(run_data), visitors.require())
        except InputError as error:
            set_props(ids.NOTIFICATIONS, {"sendNotifications": notification("It is not resumed.", str(error))})
            return no_update, uuid4().hex
        return carried_out(services, run_id(run_data)), uuid4().hex

    @app.callback(
        Output(ids.TICK, "data", allow_duplicate=True),
        Input(ids.PIN, "checked"),
        State(ids.RUN, "data"),
        prevent_initial_call=True,
    )
    def update_pinned(checked: bool, run_data: Data) -> str:
        services.runs.pin(run_id(run_data), visitors.current(), pinned=bool(checked))
        return uuid4().hex


def following_values(view: ResultView, *, cancelling: bool) -> dict[str, Any]:
    """Return the values of `FOLLOWING`: what changes from second to second while a search runs."""
    told = summary.notice(view)
    return {
        "running_hidden": not view.active_state,
        "running_text": "Cancelling" if cancelling else summary.running_text(view),
        "elapsed": summary.elapsed_text(view),
        "bar": summary.bar_value(view),
        "cancel_disabled": cancelling,
        "notice_hidden": told.hidden,
        "notice_class": told.class_name,
        "notice_title": told.title,
        "notice_text": told.text,
        "resume_style": summary.resume_style(told),
        "resume_label": told.button,
        "running_note": summary.running_note(view),
        "pin_style": summary.own_style(view),
        "cancel_style": summary.own_style(view),
        "run_disabled": view.own_and_active,
        "run_label": settings_panel.run_label(active=view.own_and_active),
        "poll_disabled": view.state not in ("queued", "running", "interrupted"),
        "poll_interval": summary.poll_ms(view),
    }
