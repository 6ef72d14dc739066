"""The Kernel tab."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, ctx

from callbacks.tabs import SHOWN_STATE, Seen, at_options, index_at, matched_labels, seen
from figures.kernel import kernel_figure
from layouts import ids, kernel_tab
from offgrid.kernel_view import kernel_view
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callback of the tab."""

    @app.callback(
        output={
            "content": Output(ids.KERNEL_MATRIX, "children"),
            "options": Output(ids.KERNEL_AT, "data"),
            "at": Output(ids.KERNEL_AT, "value"),
        },
        inputs={"wanted": Input(ids.KERNEL_WANTED, "data"), "at": Input(ids.KERNEL_AT, "value"), "state": SHOWN_STATE},
        prevent_initial_call=True,
    )
    def update_kernel(wanted: object, at: str | None, state: dict[str, Any]) -> dict[str, Any]:
        now = seen(services, state)
        index = index_at(now.view, at, by_hand=ctx.triggered_id == ids.KERNEL_AT)
        return {
            "content": drawn_kernel(now, index),
            "options": at_options(now.view),
            "at": None if index is None else str(index),
        }


def drawn_kernel(now: Seen, index: int | None) -> list[Any]:
    """Return what the tab shows at a record of the path."""
    if index is None or now.points is None or now.asked is None:
        return kernel_tab.content(now.view, None, None, None)
    from offgrid.kernels import (
        kernel_named,  # with the compiler's packages, which a page without this tab can do without
    )

    search, sigma = now.asked.search, now.view.path.records[index].sigma
    plus = () if search.plus is None else (search.plus,)
    kernel = kernel_named(search.kernel, offset=search.offset, plus=plus)
    matrix = kernel_view(kernel, now.points.X, matched_labels(now, index), sigma)
    figure = kernel_figure(matrix, scheme=now.view.scheme, narrow=now.view.narrow)
    return kernel_tab.content(now.view, index, matrix, figure)
