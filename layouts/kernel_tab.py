"""The Kernel tab: the kernel matrix at a selected bandwidth, and what it says in numbers.

Entry points: `tab`, and `content`, which a callback writes into it.
"""

from __future__ import annotations

import math
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from figures.kernel import SCALES
from layouts import ids
from layouts.clusterings_panel import GRAPH_CONFIG
from layouts.parts import help_mark
from layouts.tabs import Tab, at_select, figure_name, nothing_yet, save_buttons
from layouts.views import ResultView
from offgrid.kernel_view import KernelView

_FROZEN, _TELLING = 0.5, 1.05


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    controls = [at_select(ids.KERNEL_AT, "Bandwidth of the kernel"), save_buttons("kernel")]
    return Tab("kernel", "Kernel", html.Div(id=ids.KERNEL_MATRIX, className="tab-body"), controls)


def content(view: ResultView, index: int | None, kernel: KernelView | None, figure: Any) -> list[Component]:
    """Return the heat map with its numbers, or why there is none. `index` is the record whose bandwidth it has."""
    if kernel is None or index is None:
        return [nothing_yet(why_none(view))]
    at = words.bandwidth(view.path.records[index].sigma, view.symbol)
    graph = dcc.Graph(id=ids.tab_graph("kernel"), figure=figure, config=GRAPH_CONFIG, className="kernel-graph")
    return [
        html.P(how_it_was_made(kernel), className="tab-words"),
        html.Div(
            className="kernel-parts",
            children=[
                html.Div(
                    [graph],
                    className="kernel-frame",
                    role="img",
                    **{
                        "aria-label": f"Kernel matrix at {at}, sorted by cluster",
                        "data-figure": figure_name("kernel", view, index),
                    },
                ),
                html.Div(_numbers(kernel, view.scheme), className="kernel-numbers"),
            ],
        ),
    ]


def why_none(view: ResultView) -> list[str]:
    """Return why there is no kernel to show."""
    if view.selection:
        return ["The data are not kept any more,", "so their kernel cannot be computed."]
    if len(view.path):
        return ["No clustering is selected.", "Select a value on the path to see its kernel."]
    return ["The kernel appears here", "once the first clustering is found."]


def how_it_was_made(kernel: KernelView) -> str:
    """Return what a row, a cell and the sample are."""
    side = kernel.n_used / (len(kernel.edges) - 1)
    cell = f"each cell is a mean over about {side:.0f} × {side:.0f} pairs"
    if side < 1.5:
        cell = "each cell is one pair of rows" if side == 1 else "most cells are one pair of rows"
    rows = words.plural(kernel.n_rows, "row")
    if kernel.n_used == kernel.n_rows:
        return f"How alike each two rows are: {rows} sorted by cluster, {cell}."
    used = words.count(kernel.n_used)
    return (
        f"How alike each two rows are: a sample of {used} of {rows}, of each cluster its share, sorted by it, {cell}."
    )


def _numbers(kernel: KernelView, scheme: str) -> list[Component]:
    """Return the key to the colours, the numbers with their definitions, and what they mean."""
    steps = ", ".join(SCALES["dark" if scheme == "dark" else "light"])
    scale = [
        html.Span("0"),
        html.Span(className="kernel-ramp", style={"background": f"linear-gradient(90deg, {steps})"}),
        html.Span("1, the largest entry"),
    ]
    facts = [
        ("Diagonal dominance", words.share(kernel.dominance)),
        ("Mean within clusters", _mean(kernel.within)),
        ("Mean between clusters", _mean(kernel.between)),
    ]
    return [
        html.Div(scale, className="kernel-scale"),
        html.Dl(
            className="facts",
            children=[
                html.Div([html.Dt([html.Span(name), help_mark(name)]), html.Dd(value)], className="fact")
                for name, value in facts
            ],
        ),
        html.P(verdict(kernel), className="tab-words"),
    ]


def _mean(value: float) -> str:
    return "no such pair" if math.isnan(value) else words.share(value)


def verdict(kernel: KernelView) -> str:
    """Return what the numbers mean, in a sentence."""
    if kernel.dominance > _FROZEN:
        return "Rows are alike to hardly anything but themselves: points are all but frozen in place."
    if math.isnan(kernel.within) or math.isnan(kernel.between):
        return ""
    if kernel.within < _TELLING * kernel.between:
        return "Rows of different clusters are about as alike as rows of one: the kernel is nearly flat."
    if kernel.between <= 0:
        return "Rows of different clusters have nothing in common."
    times = words.factor(kernel.within / kernel.between).removesuffix("×").strip()
    return f"Two rows of one cluster are {times} times as alike as two of different ones, on average."
