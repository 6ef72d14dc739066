"""The tabs: what is in one is computed while it is open, and again when what the page shows has changed.

The browser decides (`offgrid.wantTab`): a closed tab costs no call. Entry points: `register`, and for the tabs'
callbacks `SHOWN_STATE` with `seen`, which makes the view of it, and `index_at`, `at_options` and `matched_labels` for
those that show one of the selected clusterings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State
from numpy.typing import NDArray

from callbacks.state import Data, Look, asked_in, drawn_run, known_points, result_view
from figures import words
from figures.clustering import matched_clusterings
from layouts import ids
from layouts.parts import LETTERS
from layouts.tabs import WANTED
from layouts.views import ResultView
from offgrid.datasets.model import Points
from services.context import Services
from services.run_settings import RunSettings

SHOWN_STATE = {
    "run_data": State(ids.RUN, "data"),
    "shown": State(ids.SHOWN, "data"),
    "chosen": State(ids.SELECTION, "data"),
    "scheme": State(ids.SCHEME, "data"),
    "narrow": State(ids.NARROW, "data"),
}


@dataclass(frozen=True)
class Seen:
    """What the page shows at the moment: the settings, their result, and the points where they are still kept."""

    asked: RunSettings | None
    view: ResultView
    points: Points | None

    @property
    def n_clusters(self) -> int:
        """k, 1 where nothing is shown."""
        return 1 if self.asked is None else self.asked.search.n_clusters


def seen(services: Services, state: dict[str, Any]) -> Seen:
    """Return what the values of `SHOWN_STATE` stand for."""
    run_data: Data = state["run_data"]
    asked, run = asked_in(run_data), drawn_run(services, run_data, state["shown"])
    view = result_view(services, asked, run, state["chosen"], Look.of(state["scheme"], state["narrow"]))
    return Seen(asked, view, known_points(services, asked))


def places(view: ResultView) -> tuple[int, ...]:
    """Return the records that a tab can show: the selected ones, or else the recommended one."""
    if view.selection or view.recommended is None:
        return view.selection
    return (view.recommended,)


def index_at(view: ResultView, value: str | None, *, by_hand: bool) -> int | None:
    """Return the record that a tab shows: the one just chosen in it, else the active, recommended or first one."""
    there = places(view)
    wanted = [int(value)] if by_hand and value else []
    return next((i for i in [*wanted, view.active, view.recommended, *there] if i in there), None)


def at_options(view: ResultView) -> list[dict[str, str]]:
    """Return the records that a tab can show as the data of its select."""
    named = [(i, LETTERS[place] if view.selection else "") for place, i in enumerate(places(view))]
    sigma = {i: words.bandwidth(view.path.records[i].sigma, view.symbol) for i, _ in named}
    return [{"value": str(i), "label": f"{letter}, {sigma[i]}" if letter else sigma[i]} for i, letter in named]


def matched_labels(now: Seen, index: int) -> NDArray[np.integer[Any]]:
    """Return the labels of a record, clusters named as in the panes where it has one."""
    there = places(now.view)
    there = there if index in there else (index,)
    return matched_clusterings(now.view.path, there, now.n_clusters)[there.index(index)].labels


def register(app: Dash) -> None:
    """Have the browser tell the open tab, and only that one, when it has to be computed."""
    for wanted in WANTED:
        app.clientside_callback(
            ClientsideFunction("offgrid", "wantTab"),
            Output(wanted, "data"),
            Input(ids.TABS, "value"),
            Input(ids.RUN, "data"),
            Input(ids.SHOWN, "data"),
            Input(ids.SELECTION, "data"),
            Input(ids.SCHEME, "data"),
            Input(ids.NARROW, "data"),
            Input(ids.DRAWN, "data"),
            State(wanted, "id"),
            State(wanted, "data"),
        )
