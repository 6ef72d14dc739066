"""The Profile tab."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, no_update
from dash.development.base_component import Component

from callbacks.clusterings_panel import unscaled
from callbacks.tabs import SHOWN_STATE, Seen, at_options, index_at, matched_labels, seen
from layouts import ids, profile_tab
from offgrid.profile import ClusterProfile, profile_clusters
from services import export
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the tab."""

    @app.callback(
        output={
            "content": Output(ids.PROFILE, "children"),
            "options": Output(ids.PROFILE_AT, "data"),
            "at": Output(ids.PROFILE_AT, "value"),
            "columns": Output(ids.PROFILE_COLUMNS, "data"),
            "first": Output(ids.PROFILE_COLUMNS, "value"),
        },
        inputs={
            "wanted": Input(ids.PROFILE_WANTED, "data"),
            "at": Input(ids.PROFILE_AT, "value"),
            "first": Input(ids.PROFILE_COLUMNS, "value"),
            "state": SHOWN_STATE,
        },
        prevent_initial_call=True,
    )
    def update_profile(wanted: object, at: str | None, first: str | None, state: dict[str, Any]) -> dict[str, Any]:
        now = seen(services, state)
        by_hand = ctx.triggered_id in (ids.PROFILE_AT, ids.PROFILE_COLUMNS)
        index = index_at(now.view, at, by_hand=by_hand)
        columns = profile_tab.column_options(0 if now.points is None else now.points.X.shape[1])
        start = first if first in [option["value"] for option in columns] else "0"
        return {
            "content": drawn_profile(services, now, index, int(start or 0)),
            "options": at_options(now.view),
            "at": None if index is None else str(index),
            "columns": columns,
            "first": start if columns else None,
        }

    @app.callback(
        Output(ids.DOWNLOAD, "data", allow_duplicate=True),
        inputs={
            "clicks": Input(ids.PROFILE_CSV, "n_clicks"),
            "at": State(ids.PROFILE_AT, "value"),
            "state": SHOWN_STATE,
        },
        prevent_initial_call=True,
    )
    def update_profile_file(clicks: int | None, at: str | None, state: dict[str, Any]) -> Any:
        now = seen(services, state)
        index = index_at(now.view, at, by_hand=True)
        profile = profiled(services, now, index)
        if profile is None or now.points is None or index is None:
            return no_update
        sigma = now.view.path.records[index].sigma
        file = export.profile_file(profile, now.points, now.n_clusters, sigma)
        return dcc.send_string(file.text, file.name, type=file.mime)


def profiled(services: Services, now: Seen, index: int | None) -> ClusterProfile | None:
    """Return the profile of a record's clusters, None where there is nothing to profile."""
    if now.asked is None or now.points is None or index is None:
        return None
    raw = unscaled(services, now.asked)
    return profile_clusters(now.points.X, matched_labels(now, index), None if raw is None else raw.X)


def drawn_profile(services: Services, now: Seen, index: int | None, first: int) -> list[Component]:
    """Return what the tab shows of a record, from a column on."""
    names = () if now.points is None else now.points.feature_names
    scaling = "none" if now.asked is None else now.asked.data.scaling
    return profile_tab.content(now.view, profiled(services, now, index), names, first=first, scaling=scaling)
