"""The Compare tab."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output
from dash.development.base_component import Component

from callbacks.tabs import SHOWN_STATE, seen
from layouts import compare_tab, ids
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callback of the tab."""

    @app.callback(
        Output(ids.COMPARE, "children"),
        inputs={"wanted": Input(ids.COMPARE_WANTED, "data"), "state": SHOWN_STATE},
        prevent_initial_call=True,
    )
    def update_compare(wanted: object, state: dict[str, Any]) -> list[Component]:
        return compare_tab.content(seen(services, state).view)
