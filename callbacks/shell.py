"""What surrounds the page: light and dark, narrow and wide, which page the navigation marks."""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output, State

from layouts import ids
from layouts.shell import PAGES

LOCATION = "_pages_location"  # Dash's own, in its page container


def register(app: Dash) -> None:
    """Attach the callbacks of the shell."""
    app.clientside_callback(
        ClientsideFunction("offgrid", "noteScheme"),
        Output(ids.SCHEME, "data"),
        Input(ids.PROVIDER, "id"),
        State(ids.SCHEME, "data"),
    )
    app.clientside_callback(
        ClientsideFunction("offgrid", "noteWidth"),
        Output(ids.NARROW, "data"),
        Input(ids.PROVIDER, "id"),
        State(ids.NARROW, "data"),
    )
    links = [link for _, _, link, _ in PAGES]
    app.clientside_callback(
        ClientsideFunction("offgrid", "markPage"),
        [Output(link, "className") for link in links],
        Input(LOCATION, "pathname"),
        [State(link, "href") for link in links],
    )
