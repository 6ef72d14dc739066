"""The Compare tab: this search beside the methods it was compared with, and why the recommended value is recommended.

Entry points: `tab`, and `content`, which a callback writes into it; its parts as text for the report: `methods` with
`named`, `columns`, `cells` and `is_final`, `why` and `reasons`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import help_mark, unbroken
from layouts.settings_panel import METHODS as SEARCHES
from layouts.tabs import Tab, nothing_yet
from layouts.views import ResultView
from offgrid.comparison import METHODS, RECOMMENDED, SEARCH, Comparison, MethodText, of_path
from offgrid.recommendation_words import percent


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    return Tab("compare", "Compare", html.Div(id=ids.COMPARE, className="tab-body"))


def content(view: ResultView) -> list[Component]:
    """Return the table of methods, then the reasons for what is recommended."""
    if not view.path.n_found:
        return [nothing_yet(["Methods are compared here", "once the search has found a value."])]
    told = [_table(view)]
    if view.recommendation is not None:
        told.append(_reasons(view))
    if not any(name != RECOMMENDED for name in view.compared):
        told.append(html.P("For more rows, choose methods under Compare with and run again.", className="tab-words"))
    return told


def methods(view: ResultView) -> list[Comparison]:
    """Return the path in the form of a method, then the methods that it is compared with."""
    return [replace(of_path(view.path.found), near=view.near_on_path), *view.compared.values()]


def columns(view: ResultView) -> list[tuple[str, str | None]]:
    """Return the head of each column, and the measure whose definition it needs."""
    agreement, best = ([("NMI of it", "NMI")], [("Best NMI", "NMI")]) if view.has_labels else ([], [])
    return [
        ("Method", None), (f"Its choice of {view.symbol}", None), *agreement, ("Near neighbours", "Near neighbours"),
        ("c-NNC of it", "c-NNC"), *best, ("Best c-NNC", "c-NNC"), ("Values tried", None),
        ("Distinct clusterings", "Distinct clusterings"), ("Kernel passes", "Kernel passes"), ("Seconds", None),
    ]  # fmt: skip


def cells(view: ResultView, one: Comparison) -> list[str]:
    """Return what stands in each column but the first for a method that found something."""
    choice = one.choice
    agreement, best = ([_measure(choice.nmi)], [_measure(one.best_nmi)]) if view.has_labels else ([], [])
    return [
        "–" if choice.sigma is None else "k-means" if math.isinf(choice.sigma) else words.sigma(choice.sigma),
        *agreement,
        "–" if one.near is None else percent(one.near),
        words.cost(choice.cnnc, one.cnnc_error),
        *best,
        words.measure(one.best_cnnc),
        words.count(len(one.tried)),
        words.count(one.n_partitions),
        "–" if one.passes is None else f"{one.passes:,.1f}",
        f"{one.seconds:,.2f}",
    ]


def is_final(view: ResultView, one: Comparison) -> bool:
    """Whether what a method chooses is what is recommended."""
    return one.name == (SEARCH if view.recommendation is None else RECOMMENDED)


def named(view: ResultView, one: Comparison) -> MethodText:
    """Return a method's name, and what it does."""
    if one.name == SEARCH:
        return MethodText("This path", f"{dict(SEARCHES)[view.method]} search; the lowest c-NNC on it is its choice.")
    return METHODS[one.name]


def reasons(view: ResultView) -> list[str]:
    """Return the reasons for what is recommended, and which method's choice separates fewer near neighbours still."""
    own = view.recommendation
    if own is None:
        return []
    less = [
        f"{_said(named(view, one).title)} {percent(one.near)}"
        for one in methods(view)
        if one.near is not None and own.near is not None and round(one.near, 9) < round(own.near, 9)
    ]
    if not less:
        return list(own.notes)
    beaten = (
        f"Fewer near neighbours are separated by the choice of {', '.join(less)}: other starts find clusterings that "
        "are not among those compared for the recommendation."
    )
    return [*own.notes, beaten]


def why(view: ResultView) -> str:
    """Return the title of the reasons."""
    sigma = view.recommendation.choice.sigma if view.recommendation is not None else None
    return "Why k-means" if sigma is None or math.isinf(sigma) else f"Why {words.bandwidth(sigma)}"


def _table(view: ResultView) -> Component:
    head = [html.Th(_head(text, term), scope="col") for text, term in columns(view)]
    return html.Div(
        html.Table(
            [html.Thead(html.Tr(head)), html.Tbody([_row(view, one) for one in methods(view)])], className="methods"
        ),
        className="methods-frame",
        tabIndex=0,
        role="region",
        **{"aria-label": "Methods compared"},
    )


def _head(text: str, term: str | None) -> Any:
    if term is None:
        return text
    return html.Span([html.Span(unbroken(text)), help_mark(term)], className="methods-head")


def _row(view: ResultView, one: Comparison) -> Component:
    text = named(view, one)
    name = html.Th([html.Span(text.title, className="methods-name"), html.Span(text.description)], scope="row")
    if one.failure:
        return html.Tr([name, html.Td(one.failure, colSpan=len(columns(view)) - 1, className="methods-failure")])
    final = "methods-recommended" if is_final(view, one) else ""
    return html.Tr([name, *[html.Td(cell) for cell in cells(view, one)]], className=final)


def _measure(value: float | None) -> str:
    return "–" if value is None else words.measure(value)


def _said(title: str) -> str:
    """Return a method's name within a sentence."""
    return title if title.isupper() else title[0].lower() + title[1:]


def _reasons(view: ResultView) -> Component:
    return html.Div(
        className="compare-reasons",
        children=[
            html.H3(why(view), className="compare-reasons-title", tabIndex=-1),
            *[html.P(unbroken(sentence)) for sentence in reasons(view)],
        ],
    )
