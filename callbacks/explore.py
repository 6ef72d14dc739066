"""The Explore page: from an address to a page drawn whole, and from what is shown back to the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import dash
from dash import ClientsideFunction, Dash, Input, Output
from dash.development.base_component import Component
from flask import has_request_context, request

from callbacks.clusterings_panel import axes_view
from callbacks.fields import data_cards, settings_view
from callbacks.path_panel import drawn_path
from callbacks.state import (
    GONE,
    Look,
    known_points,
    parse_selection,
    result_view,
    store_of_path,
    store_of_selection,
    with_recommended,
)
from layouts import explore, ids
from offgrid.errors import InputError
from services import startup
from services.context import DEFAULT, Services
from services.run_settings import RunSettings
from services.runs import Run


@dataclass(frozen=True)
class Opened:
    """What an address opens: settings, their run if there is one, and what could not be honoured, in words."""

    asked: RunSettings
    run: Run | None
    alert: str = ""


def register(app: Dash, services: Services) -> None:
    """Register the page, and keep the address in step with it."""

    def layout(**query: Any) -> Component:
        return page(services, {name: value for name, value in query.items() if isinstance(value, str)})

    dash.register_page("explore", path="/", title="Off-the-grid", name="Explore", layout=layout)
    dash.register_page("not_found_404", title="No such page", layout=explore.no_page)
    app.clientside_callback(
        ClientsideFunction("offgrid", "writeAddress"),
        Output(ids.ADDRESS, "data"),
        Input(ids.RUN, "data"),
        Input(ids.SELECTION, "data"),
        Input(ids.SHOWN, "data"),
        Input(ids.TABS, "value"),
    )


def page(services: Services, query: Mapping[str, str]) -> Component:
    """Return the page for the values in an address."""
    opened = open_address(services, query)
    asked, look = opened.asked, look_of_request()
    run = with_recommended(services, opened.run, asked)
    points = known_points(services, asked)
    chosen = parse_selection(query.get("select"))
    view = result_view(services, asked, run, chosen, look, opened.alert)
    axes = axes_view(services, asked)
    run_data: dict[str, Any] = {"query": asked.to_query()}
    if run is not None:
        run_data["id"] = run.id
    fields = settings_view(services, asked if points is not None else DEFAULT)
    return explore.page(
        fields,
        data_cards(),
        view,
        path_figure=drawn_path(view),
        axes=axes,
        tab=query.get("tab", ""),
        selection=store_of_selection(view, chosen),
        max_upload_mb=services.settings.max_upload_mb,
        run=run_data,
        shown=store_of_path(run),
    )


def open_address(services: Services, query: Mapping[str, str]) -> Opened:
    """Return what an address opens; whatever is wrong with it, something is shown and said."""
    try:
        asked = RunSettings.from_query(query) if "data" in query or "k" in query else None
        if asked is not None:
            services.check(asked)
    except InputError as error:
        return replace(_default(services), alert=str(error))
    if "run" not in query:
        return _default(services) if asked is None else Opened(asked, _finished(services, asked))
    run = services.runs.get(query["run"])
    if run is None:
        found = _default(services) if asked is None else Opened(asked, _finished(services, asked))
        return found if found.run is not None and asked is not None else replace(found, alert=GONE)
    services.use(run.id)
    if asked is None or services.key(asked) != run.key:
        asked = run.settings
    return Opened(asked, run)


def _default(services: Services) -> Opened:
    return Opened(DEFAULT, services.runs.get(startup.default_run(services)))


def _finished(services: Services, asked: RunSettings) -> Run | None:
    """Return the finished run of these settings: an address made by hand shows it too."""
    run_id = services.runs.find_finished(services.key(asked))
    return None if run_id is None else services.runs.get(run_id)


def look_of_request() -> Look:
    """Return how the browser shows the page, from the cookies that it sets before it asks for the page."""
    if not has_request_context():
        return Look()
    return Look.of(request.cookies.get("offgrid-scheme"), request.cookies.get("offgrid-narrow") == "1")
