"""The Flow tab."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output
from dash.development.base_component import Component

from callbacks.tabs import SHOWN_STATE, Seen, seen
from figures.clustering import matched_clusterings
from figures.flow import flow_figure, steps
from layouts import flow_tab, ids
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callback of the tab."""

    @app.callback(
        Output(ids.FLOW, "children"),
        inputs={"wanted": Input(ids.FLOW_WANTED, "data"), "state": SHOWN_STATE},
        prevent_initial_call=True,
    )
    def update_flow(wanted: object, state: dict[str, Any]) -> list[Component]:
        return drawn_flow(seen(services, state))


def drawn_flow(now: Seen) -> list[Component]:
    """Return what the tab shows."""
    view, k = now.view, now.n_clusters
    if len(view.selection) < 2:
        return flow_tab.content(view, None, [])
    clusterings = matched_clusterings(view.path, view.selection, k)
    sigmas = [view.path.records[index].sigma for index in view.selection]
    figure = flow_figure(
        clusterings,
        n_clusters=k,
        sigmas=sigmas,
        symbol=view.symbol,
        recommended=view.recommended,
        scheme=view.scheme,
    )
    return flow_tab.content(view, figure, steps(clusterings, k))
