"""The Code tab."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output
from dash.development.base_component import Component

from callbacks.tabs import SHOWN_STATE, Seen, index_at, seen
from figures import words
from layouts import code_tab, ids
from layouts.views import ResultView
from offgrid.errors import InputError
from services.context import Services
from services.reproduction import python_code, shell_command


def register(app: Dash, services: Services) -> None:
    """Attach the callback of the tab."""

    @app.callback(
        Output(ids.CODE, "children"),
        inputs={"wanted": Input(ids.CODE_WANTED, "data"), "state": SHOWN_STATE},
        prevent_initial_call=True,
    )
    def update_code(wanted: object, state: dict[str, Any]) -> list[Component]:
        return code_tab.content(*reproduction(services, seen(services, state)))


def reproduction(services: Services, now: Seen) -> tuple[str, str, str]:
    """Return the Python, the command, and what the labels in the first are; "" where the data are gone."""
    if now.asked is None or now.points is None:
        return "", "", ""
    try:
        upload = now.asked.data.upload
        file = None if upload is None else services.upload(upload).filename
    except InputError:
        return "", "", ""
    index, n = index_at(now.view, None, by_hand=False), now.points.n
    code = python_code(now.asked, file, record=place_in_search(now.view, index), n=n)
    shell = shell_command(now.asked, file, beside=now.view.recommendation is not None, n=n)
    return code, shell, about(now.view, index, file)


def place_in_search(view: ResultView, index: int | None) -> int | None:
    """Return a record's place in the library's path: -1 for the one that stands beside it."""
    return -1 if index is not None and index >= view.path.n_found else index


def about(view: ResultView, index: int | None, file: str | None) -> str:
    """Return what has to be said of the code."""
    told = []
    if file is not None and "." in file:
        told.append(f"It reads {file} in the folder where it is run.")
    elif file is not None:
        told.append(f"The data were handed over from memory, as {file}: save them as a file, and name that one.")
    if index is not None:
        role = "recommended" if index == view.recommended else "active" if index == view.active else "first selected"
        at = words.bandwidth(view.path.records[index].sigma, view.symbol)
        told.append(f"labels has the {role} clustering, {at}, in the library's own numbers, from 0.")
    if view.recommended is not None:
        told.append("The command line writes the recommended clustering to labels.csv, as Export does.")
    if view.state not in ("finished", "none"):
        told.append("It searches to the end, while this search did not get there.")
    return " ".join(told)
