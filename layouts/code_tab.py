"""The Code tab: how to do the same run again, in Python and on the command line.

Entry points: `tab`, and `content`, which a callback writes into it.
"""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from layouts import ids
from layouts.tabs import Tab, nothing_yet


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    return Tab("code", "Code", html.Div(id=ids.CODE, className="tab-body"))


def content(python: str, shell: str, about: str) -> list[Component]:
    """Return both texts with a button each that copies it; `about` is what `labels` in the first one holds."""
    if not python:
        return [nothing_yet(["The data are not kept any more,", "so the run cannot be done again."])]
    return [
        html.P(
            ["This run again, to the last digit, with the library ", html.Code("offgrid"), f". {about}"],
            className="tab-words",
        ),
        _block("Python", python, "python"),
        _block("Command line", shell, "shell"),
    ]


def _block(title: str, text: str, name: str) -> Component:
    return html.Div(
        className="code-block",
        children=[
            html.Div(
                className="code-head",
                children=[
                    html.H3(title, className="code-title"),
                    html.Button(
                        "Copy",
                        type="button",
                        className="copy-code",
                        **{"data-copies": f"code-{name}", "aria-label": f"Copy the {title} text"},
                    ),
                ],
            ),
            html.Pre(html.Code(text), className=f"code-text code-{name}", tabIndex=0, **{"aria-label": title}),
        ],
    )
