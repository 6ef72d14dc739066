"""What surrounds every page: provider, header with the navigation, notifications.

Entry point: `shell`.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import icon

# The pages of the header, by title and address; a page is on where the address begins with its own.
PAGES = (("Explore", "/"), ("Experiments", "/experiments"))

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
            html.A(
                [html.Span(className="logo", **{"aria-hidden": "true"}), html.Span("Off-the-grid")],
                href="/",
                className="brand",
            ),
            html.Nav(
                [
                    dcc.Link(title, href=address, id=ids.nav_link(address), className="nav-link")
                    for title, address in PAGES
                ],
                className="nav",
                **{"aria-label": "Pages"},
            ),
            _pages_menu(),
            dmc.ColorSchemeToggle(
                id=ids.THEME_TOGGLE,
                lightIcon=icon("moon"),
                darkIcon=icon("sun"),
                variant="default",
                size=32,
                className="theme-toggle",
                **{"aria-label": "Light or dark"},
            ),
        ],
    )


def _pages_menu() -> Component:
    """Return the same pages behind one button, for a narrow screen."""
    return html.Div(
        className="pages-menu",
        children=dmc.Menu(
            position="bottom-end",
            children=[
                dmc.MenuTarget(
                    html.Span(icon("menu"), className="pages-menu-words"),
                    boxWrapperProps={
                        "component": "button",
                        "type": "button",
                        "className": "menu-button pages-menu-button",
                        "aria-label": "Pages",
                    },
                ),
                dmc.MenuDropdown([dmc.MenuItem(title, href=address) for title, address in PAGES]),
            ],
        ),
    )
