"""Callbacks: read what the page holds, call what knows, return what is shown. One module for each layouts module."""

from __future__ import annotations

from dash import Dash

from callbacks import (
    background,
    clusterings_panel,
    explore,
    export_menu,
    gate,
    path_panel,
    settings_panel,
    shell,
    summary,
    table_panel,
)
from services.context import Services


def register_all(app: Dash, services: Services) -> None:
    """Attach every callback and page to the application."""
    gate.register(app)
    shell.register(app)
    explore.register(app, services)
    settings_panel.register(app, services)
    background.register(app, services.settings)
    summary.register(app, services)
    path_panel.register(app, services)
    clusterings_panel.register(app, services)
    table_panel.register(app, services)
    export_menu.register(app, services)
