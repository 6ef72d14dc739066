"""The Learn pages: from an address to a lesson computed whole, which the browser then steps through by itself.

Entry point: `register`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import dash
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update
from dash.development.base_component import Component

from callbacks.explore import look_of_request
from callbacks.learn.drawing import Drawn, draw
from callbacks.state import Look
from layouts import ids
from layouts.learn.lesson import Lesson, Value
from layouts.learn.lessons import LESSONS, lesson
from layouts.learn.page import index, page
from offgrid.errors import InputError

_Data = dict[str, Any]


def register(app: Dash) -> None:
    """Register the pages, what draws them anew when a control changes, and what steps through them."""
    dash.register_page("learn", path="/learn", title="Learn – Off-the-grid", name="Learn", layout=_index)
    for one in LESSONS:
        title = f"{one.title} – Off-the-grid"
        dash.register_page(f"learn_{one.name}", path=one.path, title=title, name=one.title, layout=_opener(one))

    @app.callback(
        output={
            "data": Output(ids.LEARN_DATA, "data"),
            "visit": Output(ids.LEARN_VISIT, "data"),
            "alert": Output(ids.LEARN_ALERT, "children"),
            "notes": [Output(note, "children") for note in ids.LEARN_NOTES],
            "explore": Output(ids.LEARN_EXPLORE, "href"),
            "hidden": Output({"type": "learn-field", "name": ALL}, "hidden"),
        },
        inputs={
            "_values": Input({"type": "learn-control", "name": ALL}, "value"),
            "scheme": Input(ids.SCHEME, "data"),
            "narrow": Input(ids.NARROW, "data"),
            "visit": State(ids.LEARN_VISIT, "data"),
        },
        prevent_initial_call=True,
    )
    def update_lesson(_values: list[Any], scheme: object, narrow: object, visit: _Data) -> _Data:
        given = {item["id"]["name"]: item.get("value") for item in ctx.args_grouping["_values"]}
        return redrawn(visit, given, Look.of(scheme, narrow))

    app.clientside_callback(
        ClientsideFunction("offgrid", "learnStep"),
        Output(ids.LEARN_STEP, "data"),
        Input(ids.LEARN_BACK, "n_clicks"),
        Input(ids.LEARN_FORWARD, "n_clicks"),
        Input(ids.LEARN_PLAY, "n_clicks"),
        Input(ids.LEARN_SLIDER, "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("offgrid", "learnDraw"),
        Output(ids.LEARN_LEFT, "figure"),
        Output(ids.LEARN_RIGHT, "figure"),
        Output(ids.LEARN_SENTENCE, "children"),
        Output(ids.LEARN_HEAD, "children"),
        Output(ids.LEARN_ROWS, "children"),
        Output(ids.LEARN_BACK, "disabled"),
        Output(ids.LEARN_FORWARD, "disabled"),
        Input(ids.LEARN_DATA, "data"),
        Input(ids.LEARN_STEP, "data"),
    )


def _index(**_query: Any) -> Component:
    return index()


def _opener(one: Lesson) -> Any:
    """Return what makes a lesson's page from the values in an address."""

    def layout(**query: Any) -> Component:
        return opened(one, {name: value for name, value in query.items() if isinstance(value, str)})

    return layout


def opened(one: Lesson, query: Mapping[str, str]) -> Component:
    """Return a lesson's page; whatever is wrong with the address, a lesson is shown and it is said."""
    look, alert = look_of_request(), ""
    values = one.read({})
    try:
        values = one.read(query)
        drawn = draw(one, values, look)
    except InputError as error:
        alert, values = str(error), one.read({})
        drawn = draw(one, values, look)
    visit = _visit(one, uuid4().hex, values, look)
    data = _data(one, values, drawn, visit["id"])
    step = _step(query.get("step"), data)
    return page(
        one, values, {**data, "first": step}, visit=visit, step=step, notes=drawn.demonstration.notes,
        hidden=drawn.hidden, explore=drawn.explore, alert=alert,
    )  # fmt: skip


def redrawn(visit: _Data, given: Mapping[str, Any], look: Look) -> _Data:
    """Return what the page shows for the values of its controls, or the sentence that refuses one of them."""
    one = lesson(visit["lesson"])
    kept: _Data = {"data": no_update, "visit": no_update, "notes": [no_update] * 2, "explore": no_update}
    kept["hidden"] = [no_update] * len(one.controls)
    try:
        values = one.read(given)
        now = _visit(one, visit["id"], values, look)
        if now == visit:
            return {**kept, "alert": None}
        drawn = draw(one, values, look)
    except InputError as error:
        return {**kept, "alert": str(error)}
    return {
        "data": _data(one, values, drawn, visit["id"]),
        "visit": now,
        "alert": None,
        "notes": drawn.demonstration.notes,
        "explore": drawn.explore,
        "hidden": [control.name in drawn.hidden for control in one.controls],
    }


def _visit(one: Lesson, visit_id: str, values: Mapping[str, Value], look: Look) -> _Data:
    """Return what `LEARN_VISIT` holds: which page this is, and what it shows."""
    shown = {"query": one.query(values), "scheme": look.scheme, "narrow": look.narrow}
    return {"lesson": one.name, "id": visit_id, **shown}


def _data(one: Lesson, values: Mapping[str, Value], drawn: Drawn, visit_id: str) -> _Data:
    """Return what `LEARN_DATA` holds. The browser keeps its step while `key` stays, else it goes to `first`."""
    query = one.query(values)
    shown = drawn.demonstration
    return {
        "key": f"{visit_id} {sorted(query.items())}",
        "path": one.path,
        "query": query,
        "figures": shown.figures,
        "steps": shown.steps,
        "head": shown.head,
        "start": shown.start,
        "first": shown.start,
    }


def _step(given: str | None, data: _Data) -> int:
    """Return the step that an address asks for, as far as there is one."""
    if given is None or not (given.isascii() and given.isdigit()) or len(given) > 6:
        return int(data["start"])
    return min(int(given), len(data["steps"]) - 1)
