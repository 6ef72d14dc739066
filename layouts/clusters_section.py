"""The settings for the clusters.

Entry point: `clusters_section`.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import choices, field, help_mark, settings_section
from layouts.views import SettingsView

K_HELP = (
    "How many groups you look for. Without labels, run a few numbers and keep the one whose groups you can describe: "
    "the Profile tab tells what sets each apart, and the summary how many near neighbours are separated."
)
RESTARTS_HELP = (
    "So many starts: each point in a random cluster, or in that of the nearest of k points drawn far apart "
    "(k-means++). The path begins with the partition of the lowest kernel k-means objective."
)


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
                    help_mark("k", K_HELP),
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
                            field(
                                "Restarts",
                                _number(ids.RESTARTS, view.n_init, "Restarts", low=1, high=100),
                                help_text=RESTARTS_HELP,
                            ),
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
