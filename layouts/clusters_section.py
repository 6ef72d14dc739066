"""The settings for the clusters.

Entry point: `clusters_section`.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import choices, field, settings_section
from layouts.views import SettingsView


def clusters_section(view: SettingsView) -> Component:
    """Return k, start partition, seed and restarts."""
    return settings_section(
        "Clusters",
        "How many groups, and where to start.",
        [
            html.Div(
                className="stepper-row",
                children=[
                    dmc.NumberInput(
                        id=ids.K,
                        value=view.k,
                        min=1,
                        step=1,
                        allowDecimal=False,
                        allowNegative=False,
                        className="stepper",
                        **{"aria-label": "k, number of clusters"},
                    ),
                    html.Span(view.k_note, id=ids.K_NOTE, className="stepper-note"),
                ],
            ),
            dmc.SegmentedControl(
                id=ids.INIT,
                data=choices([("random", "Random start"), ("k-means++", "k-means++")]),
                value=view.init,
                fullWidth=True,
                **{"aria-label": "Start partition"},
            ),
            html.Details(
                id=ids.CLUSTERS_MORE,
                className="more",
                open=view.n_init != 1,
                children=[
                    html.Summary("Seed and restarts"),
                    html.Div(
                        className="field-pair",
                        children=[
                            field("Seed", _number(ids.SEED, view.seed, "Seed", low=0)),
                            field("Restarts", _number(ids.RESTARTS, view.n_init, "Restarts", low=1, high=100)),
                        ],
                    ),
                ],
            ),
        ],
    )


def _number(component_id: str, value: int, label: str, *, low: int, high: int | None = None) -> Component:
    return dmc.NumberInput(
        id=component_id,
        value=value,
        min=low,
        max=high,
        allowDecimal=False,
        allowNegative=False,
        hideControls=True,
        **{"aria-label": label},
    )
