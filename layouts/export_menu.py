"""The Export menu.

Entry points: `export_menu`, and `labels_item`, the words of the item that names the clustering it saves.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import LETTERS, icon
from layouts.views import ResultView


def labels_item(view: ResultView, index: int | None) -> str:
    """Return the words of the item that saves each row's cluster in the clustering of a record."""
    if index is None:
        return "Clustering, CSV"
    name = "Clustering"
    if index == view.recommended and (view.state == "finished" or view.recommendation is not None):
        name = "Recommended clustering"
    elif index in view.selection:
        name = f"Clustering {LETTERS[view.selection.index(index)]}"
    return f"{name}, {words.bandwidth(view.path.records[index].sigma, view.symbol)}, CSV"


def export_menu() -> Component:
    """Return the button and its menu: data first, figures second."""
    return dmc.Menu(
        position="bottom-end",
        width=300,
        shadow="none",
        children=[
            # The wrapper that Mantine puts around a target is the button itself: it says that a menu opens.
            dmc.MenuTarget(
                html.Span([icon("download"), "Export"], className="menu-words"),
                boxWrapperProps={"component": "button", "type": "button", "className": "menu-button"},
            ),
            dmc.MenuDropdown(
                [
                    dmc.MenuLabel("Data"),
                    dmc.MenuItem("Path, CSV", id=ids.EXPORT_PATH_CSV),
                    dmc.MenuItem("Clustering, CSV", id=ids.EXPORT_LABELS_CSV),
                    dmc.MenuItem("Whole run, JSON", id=ids.EXPORT_RUN_JSON),
                    dmc.MenuDivider(),
                    dmc.MenuLabel("Figures"),
                    dmc.MenuItem("Figures on the page, PNG", id=ids.EXPORT_PNG),
                    dmc.MenuItem("Figures on the page, SVG", id=ids.EXPORT_SVG),
                    dmc.MenuDivider(),
                    dmc.MenuLabel("All of it"),
                    dmc.MenuItem("Report, HTML", id=ids.EXPORT_REPORT),
                ]
            ),
        ],
    )
