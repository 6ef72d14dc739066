"""The Compare tab: this search beside the methods it was compared with, and why the recommended value is recommended.

Entry points: `tab`, and `content`, which a callback writes into it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import DEFINITIONS, help_mark
from layouts.tabs import Tab, nothing_yet
from layouts.views import ResultView
from offgrid.comparison import METHODS, RECOMMENDED, SEARCH, Comparison, of_path

_NUMBERS = (
    "Values tried",
    "Distinct clusterings",
    "Kernel passes",
    "Seconds",
)


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    return Tab("compare", "Compare", html.Div(id=ids.COMPARE, className="tab-body"))


def content(view: ResultView) -> list[Component]:
    """Return the table of methods, then the reasons for what is recommended."""
    if not view.path.n_found:
        return [nothing_yet(["Methods are compared here", "once the search has found a value."])]
    methods = [of_path(view.path.found), *view.compared.values()]
    told = [_table(view, methods)]
    if view.recommendation is not None:
        told.append(_reasons(view.recommendation))
    if not any(name != RECOMMENDED for name in view.compared):
        told.append(html.P("For more rows, choose methods under Compare with and run again.", className="tab-words"))
    return told


def _table(view: ResultView, methods: Sequence[Comparison]) -> Component:
    agreement = [_head("NMI of it", "NMI")] if view.has_labels else []
    best = [_head("Best NMI", "NMI")] if view.has_labels else []
    head = [html.Th("Method", scope="col"), html.Th(f"Its choice of {view.symbol}", scope="col")]
    head += [*agreement, _head("c-NNC of it", "c-NNC"), *best, _head("Best c-NNC", "c-NNC")]
    head += [_head(text, text) if text in DEFINITIONS else html.Th(text, scope="col") for text in _NUMBERS]
    body = [_row(view, one) for one in methods]
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(body)], className="methods"),
        className="methods-frame",
        tabIndex=0,
        role="region",
        **{"aria-label": "Methods compared"},
    )


def _head(text: str, term: str) -> Component:
    return html.Th(html.Span([text, help_mark(term)], className="methods-head"), scope="col")


def _row(view: ResultView, one: Comparison) -> Component:
    title, description = _names(one)
    name = html.Th([html.Span(title, className="methods-name"), html.Span(description)], scope="row")
    if one.failure:
        return html.Tr([name, html.Td(one.failure, colSpan=7 + 2 * view.has_labels, className="methods-failure")])
    choice = one.choice
    cells = ["–" if choice.sigma is None else words.sigma(choice.sigma)]
    cells += [_measure(choice.nmi)] if view.has_labels else []
    cells += [words.cost(choice.cnnc, one.cnnc_error)]
    cells += [_measure(one.best_nmi)] if view.has_labels else []
    cells += [words.measure(one.best_cnnc), words.count(len(one.tried)), words.count(one.n_partitions)]
    cells += ["–" if one.passes is None else f"{one.passes:,.1f}", f"{one.seconds:,.2f}"]
    final = one.name == (SEARCH if view.recommendation is None else RECOMMENDED)
    return html.Tr([name, *[html.Td(cell) for cell in cells]], className="methods-recommended" if final else "")


def _names(one: Comparison) -> tuple[str, str]:
    if one.name == SEARCH:
        return "Critical values", "This search; the lowest c-NNC on its path."
    return METHODS[one.name].title, METHODS[one.name].description


def _measure(value: float | None) -> str:
    return "–" if value is None else words.measure(value)


def _reasons(one: Comparison) -> Component:
    return html.Div(
        className="compare-reasons",
        children=[
            html.H3(f"Why {words.bandwidth(one.choice.sigma or 0.0)}", className="compare-reasons-title"),
            *[html.P(sentence) for sentence in one.notes],
        ],
    )
