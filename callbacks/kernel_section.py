"""The kernel's fields: which are shown, and what is said of the kernel."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output

from layouts import ids, kernel_section


def register(app: Dash) -> None:
    """Attach the callback of the kernel's fields."""

    @app.callback(
        output={
            "note": Output(ids.KERNEL_NOTE, "children"),
            "sum": Output(ids.SUM_FIELD, "hidden"),
            "offset": Output(ids.OFFSET_FIELD, "hidden"),
        },
        inputs=[Input(ids.KERNEL, "value"), Input(ids.SUM_KERNEL, "value"), Input(ids.PLUS_KERNEL, "value")],
        prevent_initial_call=True,
    )
    def update_kernel_fields(kind: str, searched: str, added: str) -> dict[str, Any]:
        hidden = kernel_section.hidden_fields(kind, searched, added)
        return {
            "note": kernel_section.kernel_note(kind),
            "sum": hidden[ids.SUM_FIELD],
            "offset": hidden[ids.OFFSET_FIELD],
        }
