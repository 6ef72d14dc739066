"""The Export menu.

Entry points: `export_menu`, and `labels_item`, the words of the item that names the active bandwidth.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import icon


def labels_item(sigma: float | None, symbol: str = "σ") -> str:
    """Return the words of the item that saves each row's cluster."""
    return "Clustering, CSV" if sigma is None else f"Clustering at {words.bandwidth(sigma, symbol)}, CSV"


def export_menu() -> Component:
    """Return the button and its menu: data first, figures second."""
    return dmc.Menu(
        position="bottom-end",
        width=236,
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
                    dmc.MenuItem(labels_item(None), id=ids.EXPORT_LABELS_CSV),
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
