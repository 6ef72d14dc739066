"""The table of the path, tied to the selection."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State

from callbacks.state import Data, Look, asked_in, drawn_run, result_view
from layouts import ids, table_panel
from services.context import Services


def register(app: Dash, services: Services) -> None:
    """Attach the callbacks of the table."""

    @app.callback(
        output={
            "rows": Output(ids.TABLE, "rowData"),
            "columns": Output(ids.TABLE, "columnDefs"),
            "count": Output(ids.TABLE_COUNT, "children"),
            "frame": Output(ids.TABLE_FRAME, "style"),
        },
        inputs={
            "shown": Input(ids.SHOWN, "data"),
            "chosen": Input(ids.SELECTION, "data"),
            "filtered": Input(ids.TABLE_FILTER, "value"),
            "narrow": Input(ids.NARROW, "data"),
            "run_data": State(ids.RUN, "data"),
        },
        prevent_initial_call=True,
    )
    def update_table(shown: Data, chosen: Data, filtered: str, narrow: object, run_data: Data) -> dict[str, Any]:
        run = drawn_run(services, run_data, shown)
        view = result_view(services, asked_in(run_data), run, chosen, Look.of("light", narrow))
        rows = table_panel.rows(view, filtered)
        return {
            "rows": rows,
            "columns": table_panel.column_defs(view),
            "count": table_panel.count_text(view, rows),
            "frame": table_panel.frame_style(len(rows)),
        }

    app.clientside_callback(
        ClientsideFunction("offgrid", "suitTableFilter"),
        Output(ids.TABLE_FILTER, "value"),
        Input(ids.SHOWN, "data"),
        State(ids.TABLE_FILTER, "value"),
    )

    app.clientside_callback(
        ClientsideFunction("offgrid", "selectInTable"),
        Output(ids.SELECTION, "data", allow_duplicate=True),
        Input(ids.TABLE, "cellClicked"),
        State(ids.SELECTION, "data"),
        State(ids.SHOWN, "data"),
        prevent_initial_call=True,
    )
