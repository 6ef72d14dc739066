"""Callbacks: read what the page holds, call what knows, return what is shown. One module for each layouts module."""

from __future__ import annotations

from dash import Dash

from callbacks import (
    background,
    clusterings_panel,
    code_tab,
    compare_tab,
    experiments,
    explore,
    export_menu,
    flow_tab,
    gate,
    kernel_section,
    kernel_tab,
    learn,
    path_panel,
    profile_tab,
    settings_panel,
    shell,
    summary,
    table_panel,
    tabs,
)
from services.context import Services


def register_all(app: Dash, services: Services) -> None:
    """Attach every callback and page to the application."""
    gate.register(app)
    shell.register(app)
    explore.register(app, services)
    experiments.register(app, services.settings)
    settings_panel.register(app, services)
    kernel_section.register(app)
    if services.workers is None:
        background.register(app, services.settings)
    summary.register(app, services)
    path_panel.register(app, services)
    clusterings_panel.register(app, services)
    table_panel.register(app, services)
    tabs.register(app)
    flow_tab.register(app, services)
    kernel_tab.register(app, services)
    profile_tab.register(app, services)
    code_tab.register(app, services)
    compare_tab.register(app, services)
    export_menu.register(app, services)
    learn.register(app)
