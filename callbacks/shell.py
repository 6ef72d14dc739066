"""What surrounds the page: light and dark, narrow and wide."""

from __future__ import annotations

from dash import ALL, ClientsideFunction, Dash, Input, Output, State

from layouts import ids


def register(app: Dash) -> None:
    """Attach the callbacks of the shell."""
    app.clientside_callback(
        ClientsideFunction("offgrid", "noteScheme"),
        Output(ids.SCHEME, "data"),
        Input(ids.PROVIDER, "id"),
        State(ids.SCHEME, "data"),
    )
    app.clientside_callback(
        ClientsideFunction("offgrid", "markPage"),
        Output(ids.nav_link(ALL), "className"),
        Input("_pages_location", "pathname"),
        State(ids.nav_link(ALL), "id"),
    )
    app.clientside_callback(
        ClientsideFunction("offgrid", "noteWidth"),
        Output(ids.NARROW, "data"),
        Input(ids.PROVIDER, "id"),
        State(ids.NARROW, "data"),
    )
