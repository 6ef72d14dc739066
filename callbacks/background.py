"""The background callback: a search in a process of its own. What it finds goes through the store, not through Dash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from dash import ClientsideFunction, Dash, Input, Output

from layouts import ids
from services.processes import carry_out
from services.settings import Settings

Send = Callable[[tuple[Any, ...]], None]


def register(app: Dash, settings: Settings) -> None:
    """Attach the background callback. It holds the settings only: what it holds is sent to the job's process."""

    @app.callback(
        output=Output(ids.DONE, "data"),
        inputs=Input(ids.CARRY_OUT, "data"),
        progress=[Output(ids.TICK, "data")],
        background=True,
        interval=700,
        prevent_initial_call=True,
    )
    def update_run_in_background(send: Send, asked: dict[str, Any] | None) -> str:
        if asked:
            carry_out(str(asked["id"]), settings, lambda version: send((version,)))
        return uuid4().hex

    # Not an output of `DONE`'s: whatever takes it as an input would wait until the search is over.
    app.clientside_callback(ClientsideFunction("offgrid", "tick"), Input(ids.DONE, "data"), prevent_initial_call=True)
