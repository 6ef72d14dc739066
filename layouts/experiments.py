"""The Experiments page: the paper's tables and figure beside ours, why they differ, and each line done again here.

Entry points: `page`, and `RerunView`, what the page shows of a rerun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from layouts import experiments_table, ids, parts
from layouts.experiments_table import RerunView
from layouts.parts import help_mark, legend_entries, section_title, settings_section, unbroken
from offgrid.experiments.comparison import Column, Line
from offgrid.experiments.findings import Note

POLL_MS = 1000
DEFAULT_RUNS = 1
MOST_RUNS = 50

# By the name in the address: how each is called, and what it says.
TITLES = {
    "2": ("Table 2", "Best NMI and c-NNC"),
    "3": ("Table 3", "Seconds of a search"),
    "4": ("Table 4", "One critical value"),
    "figure": ("Figure 1", "Growth with the data"),
}
INTRO = (
    "Section 7 of “Off-the-grid” (ECML-PKDD 2020), measured again. Dyadic is the paper’s search, its Algorithm 2; "
    "certified is ours, which proves that it steps over no critical value."
)
PAPER = (
    "B. Ordozgoiti and L. A. Belanche Muñoz, “Off-the-grid: fast and effective hyperparameter search for kernel "
    "clustering”, ECML-PKDD 2020, section 7."
)
RERUN_HELP = (
    "Measures the line again on this server, from the same start partitions: run 1 of yours is run 1 of ours. The "
    "paper has 50 runs, and 10 in Table 4. One takes seconds on most data sets, minutes on 8,000 digits. What "
    "is shipped stays as it is."
)


@dataclass(frozen=True)
class ExperimentView:
    """One table as the page shows it. `active` is the rerun that this page follows, `reruns` what was found here."""

    table: str
    answer: str
    worth: str
    columns: Sequence[Column]
    lines: Sequence[Line]
    notes: Sequence[Note]
    provenance: str
    reruns: Mapping[str, RerunView]
    active: RerunView | None = None
    alert: str = ""


def page(view: ExperimentView, *, rerun: Mapping[str, Any], figure: Any = None) -> Component:
    """Return the page. `rerun` is what the store of that name holds; `figure` the plot of Figure 1."""
    title, subject = TITLES[view.table]
    drawing = [_drawing(figure)] if figure is not None else []
    return html.Div(
        className="explore experiments",
        children=[
            _aside(view.table),
            html.Main(
                id="main",
                className="main",
                children=[
                    html.H1([html.Span(title, className="result-title"), f" {subject}"], className="experiment-title"),
                    html.P(INTRO, className="section-note"),
                    *([html.P(view.alert, className="notice notice-warn", role="status")] if view.alert else []),
                    html.Div(
                        [
                            html.H2(unbroken(view.answer), className="summary-answer"),
                            html.P(unbroken(view.worth), className="summary-worth"),
                        ],
                        className="summary",
                    ),
                    *drawing,
                    experiments_table.section(
                        view.table, view.columns, view.lines, view.notes, view.reruns, view.active
                    ),
                    _reasons(view),
                ],
            ),
            dcc.Store(id=ids.RERUN, data=dict(rerun)),
            dcc.Store(id=ids.RERUN_CARRY_OUT, data={}),
            dcc.Store(id=ids.RERUN_TICK, data=""),
            dcc.Store(id=ids.RERUN_DONE, data=""),
            dcc.Interval(id=ids.RERUN_POLL, interval=POLL_MS, disabled=view.active is None or not view.active.at_work),
        ],
    )


def address(table: str) -> str:
    """Return the address of a table."""
    return parts.address(f"/experiments?table={table}")


def _aside(chosen: str) -> Component:
    return html.Aside(
        className="paper",
        children=[
            html.Nav(
                className="paper-list",
                children=[
                    dcc.Link(
                        [
                            html.Span(title, className="paper-title"),
                            html.Span(subject, className="paper-subject"),
                        ],
                        href=address(table),
                        className="paper-link paper-link-on" if table == chosen else "paper-link",
                    )
                    for table, (title, subject) in TITLES.items()
                ],
                **{"aria-label": "Tables and figure of the paper"},
            ),
            settings_section(
                "Rerun",
                "How many runs a line is measured again with, here.",
                [
                    html.Div(
                        className="stepper-row",
                        children=[
                            dmc.NumberInput(
                                id=ids.RERUN_RUNS,
                                value=DEFAULT_RUNS,
                                min=1,
                                max=MOST_RUNS,
                                step=1,
                                allowDecimal=False,
                                allowNegative=False,
                                className="stepper",
                                **{"aria-label": "Runs of a rerun"},
                            ),
                            html.Span("of 50", className="stepper-note"),
                            help_mark("a rerun", RERUN_HELP),
                        ],
                    )
                ],
            ),
            html.P(PAPER, className="help paper-source"),
        ],
    )


def _drawing(figure: Any) -> Component:
    keys = (
        ("certified", "certified"), ("dyadic", "dyadic"), ("mknn", "mknn"), ("grid", "grid"),
        ("paper", "hollow: the paper's Table 3, on its own data"),
    )  # fmt: skip
    return html.Section(
        className="section",
        children=[
            section_title("Seconds for each value of σ", right=html.Div(legend_entries(keys), className="legend")),
            html.Div(
                dcc.Graph(
                    id=ids.scaling_graph("figure"),
                    figure=figure,
                    className="scaling-graph",
                    responsive=True,
                    config={"displayModeBar": False},
                ),
                role="img",
                **{"aria-label": "Seconds for each value of σ against the number of digits; the table below has them."},
            ),
        ],
    )


def _reasons(view: ExperimentView) -> Component:
    items = [
        html.Li(unbroken(note.text), id=experiments_table.note_id(place)) for place, note in enumerate(view.notes, 1)
    ]
    where = (
        html.Ol(items, className="reasons") if items else html.P("Nowhere by more than chance.", className="reasons")
    )
    return html.Section(
        className="section",
        children=[
            section_title("Where ours differ, and why"),
            where,
            html.P(view.provenance, className="provenance"),
        ],
    )
