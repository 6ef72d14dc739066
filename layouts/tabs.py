"""The tabs beneath the clusterings: a frame that knows nothing of what is in them.

Entry points: `Tab`, `panel`, and `opened`, which reads a tab's name in an address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import select
from layouts.views import ResultView

FIRST = "table"
# A Store for each tab but the first: its content is computed when this changes.
WANTED = (ids.FLOW_WANTED, ids.KERNEL_WANTED, ids.PROFILE_WANTED, ids.CODE_WANTED, ids.COMPARE_WANTED)


@dataclass(frozen=True)
class Tab:
    """One tab: its name in the address, its title, its content, and its controls at the right of the line of tabs."""

    value: str
    title: str
    content: Any
    controls: Any = None


def panel(tabs: Sequence[Tab], value: str = FIRST) -> Component:
    """Return the tabs, one of them open. Controls are part of their tab's panel, so they come and go with it."""
    return dmc.Tabs(
        id=ids.TABS,
        value=opened(value, tabs),
        className="section tabs",
        children=[
            dmc.TabsList([dmc.TabsTab(tab.title, value=tab.value) for tab in tabs]),
            *[
                dmc.TabsPanel(
                    value=tab.value,
                    children=[html.Div(tab.controls, className="tab-controls"), html.Div(tab.content)],
                )
                for tab in tabs
            ],
        ],
    )


def opened(value: object, tabs: Sequence[Tab]) -> str:
    """Return the tab that an address names, the first one where there is no such tab."""
    return str(value) if value in {tab.value for tab in tabs} else FIRST


def nothing_yet(lines: Sequence[str]) -> Component:
    """Return what stands in a tab that has nothing to show: why, and what to do."""
    return html.P([html.Span(line) for line in lines], className="tab-empty")


def save_buttons(name: str) -> Component:
    """Return the two buttons that save the figure of a tab; the browser does it."""
    return html.Div(
        className="save-buttons",
        children=[
            html.Button(
                kind.upper(),
                id=ids.save_figure(name, kind),
                type="button",
                className="save-button",
                **{"aria-label": f"Save the {name} figure as {kind.upper()}"},
            )
            for kind in ("png", "svg")
        ],
    )


def at_select(component_id: str, label: str) -> Component:
    """Return the select of which selected clustering a tab shows; a callback fills it."""
    return select(component_id, (), "", label, class_name="tab-select")


def figure_name(kind: str, view: ResultView, *indices: int) -> str:
    """Return what a figure shows, as the name of the file that it is saved in."""
    sigmas = [view.path.records[index].sigma for index in indices]
    at = [f"{view.symbol} = {'infinity' if math.isinf(sigma) else words.sigma(sigma)}" for sigma in sigmas]
    return f"{kind} {' to '.join(at)}"
