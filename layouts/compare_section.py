"""The settings for what the search is compared with.

Entry point: `compare_section`.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import settings_section
from layouts.views import SettingsView
from offgrid.comparison import METHODS, OFFERED


def compare_section(view: SettingsView) -> Component:
    """Return the methods that can be drawn beside the path."""
    return settings_section(
        "Compare with",
        "Methods to draw beside the path.",
        [
            dmc.CheckboxGroup(
                id=ids.COMPARE_WITH,
                value=list(view.compare),
                children=html.Div([_card(name) for name in OFFERED], className="compare-cards"),
                **{"aria-label": "Methods to compare with"},
            )
        ],
    )


def _card(name: str) -> Component:
    text = METHODS[name]
    # the description is a title only: a tooltip's wrapper would be a second stop for the keyboard
    words = html.Span(text.title, className="compare-title", title=text.description)
    mark = html.Span(className="compare-mark", **{"aria-hidden": "true"})
    return dmc.CheckboxCard(value=name, className="compare-card", withBorder=False, children=[mark, words])
