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

from callbacks.learn.drawing import check, draw, hidden_controls
from callbacks.state import Look
from figures.learn_parts import Demonstration
from layouts import ids
from layouts.learn.lesson import Lesson
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
    )
    def update_lesson(_values: list[Any], scheme: object, narrow: object, visit: _Data) -> _Data:
        given = {item["id"]["name"]: item.get("value") for item in ctx.args_grouping["_values"]}
        return redrawn(visit, given, Look.of(scheme, narrow))

    app.clientside_callback(
        ClientsideFunction("offgrid", "learnStep"),
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
    alert = ""
    try:
        values = one.read(query)
        check(one, values)
    except InputError as error:
        alert, values = str(error), one.read({})
    given = query.get("step", "")
    step = int(given) if given.isascii() and given.isdigit() and len(given) < 6 else None
    visit = {"lesson": one.name, "id": uuid4().hex, "step": step, "shown": None}
    return page(one, values, visit=visit, hidden=hidden_controls(one, values), alert=alert)


def redrawn(visit: _Data, given: Mapping[str, Any], look: Look) -> _Data:
    """Return what the page shows for the values of its controls, or the sentence that refuses one of them."""
    one = lesson(visit["lesson"])
    kept: _Data = {"data": no_update, "visit": no_update, "notes": [no_update] * 2, "explore": no_update}
    kept["hidden"] = [no_update] * len(one.controls)
    try:
        values = one.read(given)
        query = one.query(values)
        shown = {"query": query, "scheme": look.scheme, "narrow": look.narrow}
        if shown == visit["shown"]:
            return {**kept, "alert": None}
        drawn = draw(one, values, look)
    except InputError as error:
        return {**kept, "alert": str(error)}
    first = visit["step"] if visit["shown"] is None else None
    hidden = hidden_controls(one, values)
    return {
        "data": _data(one, query, drawn.demonstration, visit["id"], first),
        "visit": {**visit, "shown": shown},
        # what is wrong with the address is said until something else is shown
        "alert": no_update if visit["shown"] is None else None,
        "notes": drawn.demonstration.notes,
        "explore": drawn.explore,
        "hidden": [control.name in hidden for control in one.controls],
    }


def _data(one: Lesson, query: dict[str, str], shown: Demonstration, visit_id: str, first: int | None) -> _Data:
    """Return what `LEARN_DATA` holds. The browser keeps its step while `key` stays, else it goes to `first`."""
    last = len(shown.steps) - 1
    return {
        "key": f"{visit_id} {sorted(query.items())}",
        "path": one.path,
        "query": query,
        "figures": shown.figures,
        "steps": shown.steps,
        "head": shown.head,
        "start": shown.start,
        "first": shown.start if first is None else min(first, last),
    }
