"""The background callback: a search in a process of its own. What it finds goes through the store, not through Dash."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from dash import ClientsideFunction, Dash, Input, Output

from layouts import ids
from services import logs
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
            carry_out(str(asked["id"]), settings, send)
        return uuid4().hex

    # Not an output of `DONE`'s: whatever takes it as an input would wait until the search is over.
    app.clientside_callback(ClientsideFunction("offgrid", "tick"), Input(ids.DONE, "data"), prevent_initial_call=True)


def carry_out(run_id: str, settings: Settings, send: Send) -> None:
    """Carry the run out in this process, which is a job's. Failures end in the store and in the log."""
    from services.context import Services
    from services.jobs import execute, parent_watch

    logs.set_up(settings.log_level)
    if settings.threads is not None:
        os.environ["OFFGRID_THREADS"] = str(settings.threads)
    execute(run_id, Services(settings), lambda version: send((version,)), parent_lives=parent_watch())
