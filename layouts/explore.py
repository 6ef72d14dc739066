"""The Explore page, put together.

Entry point: `page`. Every part is rendered for the state it is given, so that the first answer of the server is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from layouts import (
    clusterings_panel,
    code_tab,
    compare_tab,
    flow_tab,
    ids,
    kernel_tab,
    path_panel,
    profile_tab,
    settings_panel,
    summary,
    table_panel,
    tabs,
)
from layouts.clusterings_panel import AxesView
from layouts.parts import address
from layouts.views import DataCard, ResultView, SettingsView

_TABS = (flow_tab, kernel_tab, profile_tab, code_tab, compare_tab)  # after the table, in this order


def page(
    settings: SettingsView,
    cards: Sequence[DataCard],
    result: ResultView,
    *,
    path_figure: Any,
    axes: AxesView,
    selection: dict[str, Any],
    run: dict[str, Any] | None = None,
    shown: dict[str, Any] | None = None,
    tab: str = tabs.FIRST,
    max_upload_mb: float = 50,
) -> Component:
    """Return the page. `path_figure` comes from `figures.path`.

    `selection`, `run` and `shown` are what the stores of these names hold; `tab` is the open one.
    """
    return html.Div(
        className="explore",
        children=[
            settings_panel.narrow_bar(settings),
            html.Div(id=ids.SETTINGS_BACKDROP, className=settings_panel.backdrop_class(opened=False)),
            settings_panel.panel(settings, cards, max_upload_mb=max_upload_mb, active=result.own_and_active),
            html.Main(
                id="main",
                className="main",
                children=[
                    html.H1("Explore bandwidths", className="visually-hidden"),
                    summary.head(result),
                    path_panel.panel(result, path_figure),
                    clusterings_panel.panel(result, axes),
                    tabs.panel([table_panel.tab(result), *(module.tab() for module in _TABS)], tab),
                ],
            ),
            *_state(settings, result, selection, run, shown),
        ],
    )


def _state(
    settings: SettingsView,
    result: ResultView,
    selection: dict[str, Any],
    run: dict[str, Any] | None,
    shown: dict[str, Any] | None,
) -> list[Component]:
    upload = settings.upload
    # No store is empty: an empty one reports a change as soon as it is on the page, which would run its callbacks.
    return [
        dcc.Store(id=ids.RUN, data=run or {}),
        dcc.Store(id=ids.CARRY_OUT, data={}),
        dcc.Store(id=ids.DONE, data=""),
        dcc.Store(id=ids.TICK, data=""),
        dcc.Store(id=ids.SHOWN, data=shown or {}),
        dcc.Store(id=ids.DRAWN, data=False),
        dcc.Store(id=ids.PANES, data={}),
        dcc.Store(id=ids.ADDRESS, data=""),
        dcc.Store(id=ids.SELECTION, data=selection),
        *[dcc.Store(id=wanted, data="") for wanted in tabs.WANTED],
        dcc.Store(id=ids.UPLOADED, data={"id": upload.id, "name": upload.name} if upload else {}),
        dcc.Interval(
            id=ids.POLL,
            interval=summary.poll_ms(result),
            disabled=not (result.active_state or result.state == "interrupted"),
        ),
        dcc.Download(id=ids.DOWNLOAD),
    ]


def no_page(**_query: Any) -> Component:
    """Return what an unknown address shows."""
    return html.Main(
        id="main",
        className="main",
        children=[
            html.H1("There is no page at this address.", className="summary-answer"),
            html.P(
                ["Everything is on the ", dcc.Link("Explore", href=address("/")), " page."], className="summary-worth"
            ),
        ],
    )
