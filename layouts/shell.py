"""What surrounds every page: provider, header with the navigation, notifications.

Entry points: `shell` and `PAGES`, what the navigation names.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import address, icon

PAGES = (  # name, address, ids of the link and of the narrow menu's
    ("Explore", "/", ids.NAV_EXPLORE, ids.MENU_EXPLORE),
    ("Learn", "/learn", ids.NAV_LEARN, ids.MENU_LEARN),
    ("Experiments", "/experiments", ids.NAV_EXPERIMENTS, ids.MENU_EXPERIMENTS),
)
THEME = {
    "fontFamily": "var(--font)",
    "fontFamilyMonospace": "var(--font-mono)",
    "primaryColor": "blue",
    "defaultRadius": 6,
    "cursorType": "pointer",
    "respectReducedMotion": True,
    "headings": {"fontFamily": "var(--font)", "fontWeight": "500"},
    "fontSizes": {"sm": "14px", "md": "14px"},
}


def shell(page: Component) -> Component:
    """Return the whole document: `page` is Dash's page container (or any page)."""
    return dmc.MantineProvider(
        id=ids.PROVIDER,
        theme=THEME,
        defaultColorScheme="auto",
        children=[
            html.A("Skip to the result", href="#main", className="skip"),
            _header(),
            page,
            dmc.NotificationContainer(id=ids.NOTIFICATIONS, position="bottom-right"),
            html.Div(id=ids.LIVE, className="visually-hidden", **{"aria-live": "polite"}),
            dcc.Store(id=ids.SCHEME, data=""),
            dcc.Store(id=ids.NARROW, data=False),
        ],
    )


def _header() -> Component:
    return html.Header(
        className="header",
        children=[
            dcc.Link(
                [html.Span(className="logo", **{"aria-hidden": "true"}), html.Span("Off-the-grid")],
                href=address("/"),
                id=ids.BRAND,
                className="brand",
            ),
            html.Nav(
                [dcc.Link(name, href=address(path), id=link, className="nav-link") for name, path, link, _ in PAGES],
                className="nav",
                **{"aria-label": "Pages"},
            ),
            dmc.ColorSchemeToggle(
                id=ids.THEME_TOGGLE,
                lightIcon=icon("moon"),
                darkIcon=icon("sun"),
                variant="default",
                size=32,
                className="theme-toggle",
                **{"aria-label": "Light or dark"},
            ),
            _pages_menu(),
        ],
    )


def _pages_menu() -> Component:
    """Return the navigation of a narrow screen."""
    return dmc.Menu(
        position="bottom-end",
        width=180,
        shadow="none",
        children=[
            dmc.MenuTarget(
                icon("menu"),
                boxWrapperProps={
                    "component": "button",
                    "type": "button",
                    "className": "menu-button pages-menu",
                    "aria-label": "Pages",
                },
            ),
            dmc.MenuDropdown([dmc.MenuItem(name, href=address(path), id=item) for name, path, _, item in PAGES]),
        ],
    )
