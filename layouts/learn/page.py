"""A lesson as a page: words, controls, stepper, two figures, table, formulas, and the way on. And the list of lessons.

Entry points: `page` and `index`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from layouts import ids
from layouts.learn.formula import formula
from layouts.learn.lesson import Choice, Control, Lesson, Value, spoken
from layouts.learn.lessons import LESSONS
from layouts.parts import address, choices, icon
from layouts.path_panel import GRAPH_CONFIG

_KEYS = "Left and right arrows step, Home and End go to the start and the end, Space plays."
_EMPTY: dict[str, Any] = {
    "data": [],
    "layout": {
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    },
}


def page(
    lesson: Lesson,
    values: Mapping[str, Value],
    *,
    visit: dict[str, Any],
    hidden: Sequence[str] = (),
    alert: str = "",
) -> Component:
    """Return the page of a lesson: what is computed for it comes by a callback.

    `visit` is what the store of this name holds, `hidden` names controls that mean nothing for these values.
    """
    return html.Div(
        className="learn",
        children=[
            _contents(lesson),
            html.Main(
                id="main",
                className="main learn-main",
                children=[
                    _head(lesson),
                    _controls(lesson, values, hidden),
                    html.Div(alert or None, id=ids.LEARN_ALERT, className="settings-error", role="alert"),
                    _stepper(lesson),
                    _stage(lesson),
                    _table(),
                    _formulas(lesson),
                    _ways_on(lesson),
                ],
            ),
            dcc.Store(id=ids.LEARN_DATA, data={}),
            dcc.Store(id=ids.LEARN_STEP, data=0),
            dcc.Store(id=ids.LEARN_VISIT, data=visit),
        ],
    )


RECOMMENDING = """\
The path shows the clusterings that kernel k-means meets on its way from one start. For the recommendation it is
started anew at 24 bandwidths, each time from the leading eigenvectors of the kernel matrix, where clusters that
are long or touch come apart more easily.

Of these clusterings and ordinary k-means, the one is recommended that keeps near neighbours together best: of each
row’s nearest rows, the smallest share lies in another cluster. Where k-means is as good within one standard error,
it is recommended itself, and no bandwidth is needed. Labels have no say in it; the Compare tab gives the numbers.

The number of clusters, k, is yours to choose. Run a few, and keep the one whose clusters you can describe: the
Profile tab tells what sets each apart."""


def index() -> Component:
    """Return the list of lessons."""
    cards = [
        dcc.Link(
            href=one.path,
            className="lesson-card",
            children=[
                html.Span(str(number), className="lesson-number"),
                html.H2(one.title, className="lesson-title"),
                html.P(one.summary, className="lesson-summary"),
            ],
        )
        for number, one in enumerate(LESSONS, start=1)
    ]
    return html.Main(
        id="main",
        className="main learn-index",
        children=[
            html.H1("Learn how the bandwidths are found", className="summary-answer"),
            html.P(
                "Four short lessons with live figures. Every number in them is computed while you look, by the code "
                "that searches. Each step has an address of its own, to share or to show to a room.",
                className="summary-worth",
            ),
            html.Div(cards, className="lesson-cards"),
            html.H2("And which one is recommended?", className="section-title learn-more"),
            *[html.P(part, className="lesson-words") for part in RECOMMENDING.split("\n\n")],
        ],
    )


def _contents(lesson: Lesson) -> Component:
    links = []
    for number, one in enumerate(LESSONS, start=1):
        words = [html.Span(one.title, className="lesson-title"), html.Span(one.summary, className="lesson-summary")]
        here = {"aria-current": "page"} if one is lesson else {}
        links.append(
            dcc.Link(
                [html.Span(str(number), className="lesson-number", **here), html.Span(words)],
                href=one.path,
                className="lesson-link lesson-link-on" if one is lesson else "lesson-link",
            )
        )
    return html.Nav(html.Div(links, className="contents-list"), className="contents", **{"aria-label": "Lessons"})


def _head(lesson: Lesson) -> Component:
    place = LESSONS.index(lesson) + 1
    return html.Div(
        [
            html.P(f"Lesson {place} of {len(LESSONS)}", className="lesson-place"),
            html.H1(lesson.title, className="summary-answer"),
            html.P(formula(lesson.words), className="lesson-words"),
        ],
    )


# Controls ------------------------------------------------------------------------------------------------------------
def _controls(lesson: Lesson, values: Mapping[str, Value], hidden: Sequence[str]) -> Component:
    return html.Div(
        className="lesson-controls",
        children=[
            html.Div(
                id=ids.learn_field(control.name),
                className="lesson-field",
                hidden=control.name in hidden,
                children=[
                    html.Div(html.Span(formula(control.label)), className="field-label"),
                    _input(control, values[control.name]),
                ],
            )
            for control in lesson.controls
        ],
    )


def _input(control: Control, value: Value) -> Component:
    name = spoken(control.label)
    if isinstance(control, Choice):
        return dmc.Select(
            id=ids.learn_control(control.name),
            data=choices(control.options),
            value=str(value),
            allowDeselect=False,
            rightSection=icon("chevron"),
            **{"aria-label": name},
        )
    return dmc.NumberInput(
        id=ids.learn_control(control.name),
        value=value,
        min=control.low,
        max=control.high,
        step=control.step,
        allowDecimal=not control.whole,
        clampBehavior="none",
        debounce=400,
        hideControls=True,
        **{"aria-label": name},
    )


def _stepper(lesson: Lesson) -> Component:
    return html.Div(
        className="stepping",
        children=[
            html.Div(
                className="stepping-row",
                children=[
                    html.Button("Back", id=ids.LEARN_BACK, className="menu-button", type="button"),
                    html.Button("Next", id=ids.LEARN_FORWARD, className="menu-button", type="button"),
                    html.Button("Play", id=ids.LEARN_PLAY, className="menu-button stepping-play", type="button"),
                    dmc.Slider(
                        id=ids.LEARN_SLIDER,
                        className="stepping-slider",
                        min=0,
                        max=1,
                        step=1,
                        value=0,
                        label=None,
                        size=4,
                        thumbSize=16,
                        updatemode="drag",
                        thumbLabel=lesson.stepper,
                    ),
                ],
            ),
            html.P(id=ids.LEARN_SENTENCE, className="stepping-sentence", **{"aria-live": "polite"}),
        ],
    )


# Figures, table, formulas --------------------------------------------------------------------------------------------
def _stage(lesson: Lesson) -> Component:
    graphs = (ids.LEARN_LEFT, ids.LEARN_RIGHT)
    panels = [
        html.Section(
            className="lesson-panel",
            children=[
                html.H2([title, html.Span(id=note, className="section-note")], className="lesson-panel-title"),
                html.Div(
                    dcc.Graph(id=graph, figure=_EMPTY, config=GRAPH_CONFIG, className="pane-graph"),
                    className="lesson-frame",
                ),
            ],
        )
        for title, note, graph in zip(lesson.panels, ids.LEARN_NOTES, graphs, strict=True)
    ]
    return html.Div(
        panels,
        id=ids.LEARN_STAGE,
        className="stage stage-wide" if lesson.wide else "stage",
        tabIndex=0,
        role="application",
        **{"aria-label": f"{lesson.title}. {_KEYS}"},
    )


def _table() -> Component:
    return html.Div(
        className="lesson-table",
        tabIndex=0,
        role="region",
        **{"aria-label": "The numbers of this step"},
        children=html.Table([html.Thead(html.Tr(id=ids.LEARN_HEAD)), html.Tbody(id=ids.LEARN_ROWS)]),
    )


def _formulas(lesson: Lesson) -> Component:
    return html.Section(
        className="section formulas",
        children=[
            html.H2("In the paper", className="section-title"),
            html.Dl(
                [
                    html.Div([html.Dt(formula(text), className="formula"), html.Dd(place)], className="formula-row")
                    for text, place in lesson.formulas
                ]
            ),
        ],
    )


def _ways_on(lesson: Lesson) -> Component:
    place = LESSONS.index(lesson)
    before = LESSONS[place - 1] if place else None
    after = LESSONS[place + 1] if place + 1 < len(LESSONS) else None
    return html.Nav(
        className="ways-on",
        **{"aria-label": "Next"},
        children=[
            _way("← Previous", before.title, before.path) if before else _way("← All", "Lessons", "/learn"),
            dcc.Link("Open in Explore", id=ids.LEARN_EXPLORE, href=address("/"), className="way way-explore"),
            _way("Next →", after.title, after.path) if after else _way("Next →", "Explore", "/"),
        ],
    )


def _way(direction: str, title: str, href: str) -> Component:
    return dcc.Link([html.Span(direction, className="way-note"), html.Span(title)], href=href, className="way")
