"""The Experiments page: a table by its address; a line done again in the background, and what it found beside ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import dash
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update
from dash.development.base_component import Component

from callbacks.explore import look_of_request
from callbacks.state import Look
from figures import words
from figures.experiments import scaling_figure
from layouts import experiments, experiments_table, ids
from layouts.experiments import ExperimentView
from layouts.experiments_table import RerunView
from offgrid.errors import InputError
from offgrid.experiments import again, comparison, findings
from offgrid.experiments.cases import find_folder
from services import logs
from services.reruns import Rerun, RerunStore
from services.settings import Settings

Data = Mapping[str, Any] | None
NO_TABLE = "There is no table {table!r} on this page; Table 2 is shown."
GONE = "The rerun in this address is not kept any more; press Rerun to do it again."
DEFAULT = "2"


def register(app: Dash, settings: Settings) -> None:
    """Register the page and its callbacks."""
    store = RerunStore(settings.data_dir)

    def layout(table: str = DEFAULT, rerun: str | None = None, **_query: Any) -> Component:
        return page(store, table, rerun)

    dash.register_page(
        "experiments", path="/experiments", title="Experiments – Off-the-grid", name="Experiments", layout=layout
    )
    _register_reruns(app, store)
    _register_background(app, settings)

    @app.callback(
        Output(ids.scaling_graph(ALL), "figure"),
        Input(ids.SCHEME, "data"),
        Input(ids.NARROW, "data"),
        State(ids.scaling_graph(ALL), "id"),
        prevent_initial_call=True,
    )
    def update_scaling_figure(scheme: str, narrow: bool, drawn: list[Any]) -> Any:
        look = Look.of(scheme, narrow)
        return [drawn_scaling(look.scheme, narrow=look.narrow) for _ in drawn]


def _register_reruns(app: Dash, store: RerunStore) -> None:
    @app.callback(
        Output(ids.RERUN, "data"),
        Output(ids.RERUN_CARRY_OUT, "data"),
        Input(ids.rerun_part("button", ALL), "n_clicks"),
        State(ids.RERUN_RUNS, "value"),
        State(ids.RERUN, "data"),
        prevent_initial_call=True,
    )
    def start_rerun(_clicks: list[int | None], runs: Any, before: Data) -> Any:
        pressed = ctx.triggered_id
        if not pressed or not ctx.triggered[0]["value"]:
            return no_update, no_update
        asked = requested(store, str((before or {})["table"]), str(pressed["line"]), runs)
        return asked, {"id": asked["id"], "nonce": uuid4().hex} if "id" in asked else no_update

    @app.callback(
        Output(ids.RERUN_TICK, "data", allow_duplicate=True),
        Input(ids.rerun_part("cancel", ALL), "n_clicks"),
        State(ids.RERUN, "data"),
        prevent_initial_call=True,
    )
    def cancel_rerun(clicks: list[int | None], followed: Data) -> Any:
        if not any(clicks) or not followed or "id" not in followed:
            return no_update
        store.cancel(str(followed["id"]))
        return uuid4().hex

    @app.callback(
        output={
            "said": Output(ids.rerun_part("said", ALL), "children"),
            "found": Output(ids.rerun_part("found", ALL), "children"),
            "disabled": Output(ids.rerun_part("button", ALL), "disabled"),
            "rested": Output(ids.RERUN_POLL, "disabled"),
            "text": Output(ids.rerun_part("text", ALL), "children"),
            "elapsed": Output(ids.rerun_part("elapsed", ALL), "children"),
            "bar": Output(ids.rerun_part("bar", ALL), "value"),
            "cancel": Output(ids.rerun_part("cancel", ALL), "disabled"),
        },
        inputs={
            "followed": Input(ids.RERUN, "data"),
            "tick": Input(ids.RERUN_TICK, "data"),
            "poll": Input(ids.RERUN_POLL, "n_intervals"),
            "lines": State(ids.rerun_part("said", ALL), "id"),
            "running": State(ids.rerun_part("text", ALL), "id"),
        },
        prevent_initial_call=True,
    )
    def update_rerun(
        followed: Data, tick: Any, poll: Any, lines: list[dict[str, str]], running: list[dict[str, str]]
    ) -> dict[str, Any]:
        named = ([each["line"] for each in ids_] for ids_ in (lines, running))
        return followed_lines(store, followed or {}, *named)

    app.clientside_callback(
        ClientsideFunction("offgrid", "writeRerunAddress"),
        Input(ids.RERUN, "data"),
        prevent_initial_call=True,
    )


def _register_background(app: Dash, settings: Settings) -> None:
    """Attach the background callback. It holds the settings only: what it holds is sent to the job's process."""

    @app.callback(
        output=Output(ids.RERUN_DONE, "data"),
        inputs=Input(ids.RERUN_CARRY_OUT, "data"),
        progress=[Output(ids.RERUN_TICK, "data")],
        background=True,
        interval=700,
        prevent_initial_call=True,
    )
    def update_rerun_in_background(send: Callable[[tuple[Any, ...]], None], asked: dict[str, Any] | None) -> str:
        if asked:
            carry_out(str(asked["id"]), settings, send)
        return uuid4().hex

    # Not an output of `RERUN_DONE`'s: whatever takes it as an input would wait until the rerun is over.
    app.clientside_callback(
        ClientsideFunction("offgrid", "rerunTick"), Input(ids.RERUN_DONE, "data"), prevent_initial_call=True
    )


def carry_out(rerun_id: str, settings: Settings, send: Callable[[tuple[Any, ...]], None]) -> None:
    """Carry the rerun out in this process, which is a job's. Failures end in the store and in the log."""
    from services.heart import parent_watch
    from services.processes import NICENESS
    from services.rerun_jobs import execute

    logs.set_up(settings.log_level, settings.log_format)
    os.nice(NICENESS)
    if settings.threads is not None:
        os.environ["OFFGRID_THREADS"] = str(settings.threads)
    execute(rerun_id, settings, lambda: send((uuid4().hex,)), parent_watch())


def page(store: RerunStore, table: str, rerun_id: str | None) -> Component:
    """Return the page of a table, with what was found here, and the rerun that the address names."""
    alert = "" if table in comparison.TABLES else NO_TABLE.format(table=words.clip(table, 30))
    table = table if table in comparison.TABLES else DEFAULT
    rerun = store.get(rerun_id) if rerun_id else None
    if rerun_id and rerun is None:
        alert = alert or GONE
    if rerun is not None and rerun.kind != again.KINDS[table]:
        rerun = None
    answer, worth = findings.answer(table)
    look = look_of_request()
    view = ExperimentView(
        table,
        answer,
        worth,
        comparison.columns(table),
        comparison.shipped(table),
        findings.notes(table),
        findings.provenance(table),
        {name: rerun_view(table, one) for name, one in store.latest(again.KINDS[table]).items()},
        None if rerun is None else rerun_view(table, rerun),
        alert,
    )
    followed = {"table": table} if rerun is None else {"table": table, "id": rerun.id, "line": rerun.name}
    figure = drawn_scaling(look.scheme, narrow=look.narrow) if table == "figure" else None
    return experiments.page(view, rerun=followed, figure=figure)


def requested(store: RerunStore, table: str, line: str, runs: Any) -> dict[str, Any]:
    """Return what the store of the rerun holds once it is asked for: its id, or why there is none."""
    asked: dict[str, Any] = {"table": table, "line": line}
    try:
        kind = again.KINDS[table]
        again.check(kind, line)
        if again.source(line, find_folder(None)) is None:
            raise InputError(again.how_to_get(line))
        if not isinstance(runs, int):
            raise InputError("The number of runs is missing; give one from 1 to 50.")
        return {**asked, "id": store.create(kind, line, runs)}
    except InputError as error:
        return {**asked, "error": str(error)}


def followed_lines(
    store: RerunStore, followed: Mapping[str, Any], lines: list[str], running: list[str]
) -> dict[str, Any]:
    """Return what becomes of each line of the table: only the one that is followed changes.

    `running` are the lines that say already that a rerun is at work: of these only words change, and the bar, so that
    the Cancel button stays the same one, with the focus that it may have.
    """
    table, line = str(followed["table"]), followed.get("line")
    rerun = store.get(str(followed["id"])) if "id" in followed else None
    columns = comparison.columns(table)
    if rerun is not None:
        view = rerun_view(table, rerun)
    elif "error" in followed:
        view = RerunView(str(line), 0, 0, "failed", message=str(followed["error"]))
    else:
        view = RerunView(str(line), 0, 0, "failed", message=GONE)
    found = no_update if view.line is None else experiments_table.found_rows(view, columns)
    stays = view.at_work and line in running
    said = no_update if stays else experiments_table.said_rows(view, columns)

    def words_for(value: Any) -> list[Any]:
        return [value if stays and name == line else no_update for name in running]

    return {
        "said": [said if name == line else no_update for name in lines],
        "found": [found if name == line else no_update for name in lines],
        "disabled": [view.at_work] * len(lines),
        "rested": not view.at_work,
        "text": words_for(experiments_table.running_text(view)),
        "elapsed": words_for(experiments_table.elapsed_text(view)),
        "bar": words_for(experiments_table.bar_value(view)),
        "cancel": words_for(view.cancelling),
    }


def rerun_view(table: str, rerun: Rerun) -> RerunView:
    """Return a rerun as the page shows it in a table."""
    made = comparison.lines(table, again.rows(table, rerun.name, rerun.found))
    waiting = f"{words.plural(rerun.waiting, 'rerun')} ahead of it" if rerun.waiting else ""
    return RerunView(
        rerun.name,
        rerun.runs,
        len(rerun.found),
        rerun.state,
        waiting if rerun.state == "queued" else rerun.doing,
        words.duration(rerun.seconds) if rerun.state == "running" else "",
        rerun.share,
        rerun.message,
        rerun.source,
        str(comparison.about(table).get("data", {}).get(rerun.name, {}).get("source", "")),
        made[0] if made else None,
        rerun.cancelling,
    )


def drawn_scaling(scheme: Any, *, narrow: bool) -> Any:
    """Return the plot of Figure 1."""
    points = [
        (int(line.name.partition("-")[2]), method, figure.value or 0.0, figure.spread)
        for line in comparison.shipped("figure")
        for (method, _what), figure in line.figures.items()
    ]
    return scaling_figure(points, comparison.paper_seconds_per_value(), scheme, narrow=narrow)
