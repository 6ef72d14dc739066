"""The values that other methods tried, drawn beside the path.

Entry points: `baseline_marks` and `outside` (plain data), `SYMBOLS`, `add_baselines`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from figures import words
from figures.path_context import HOVER, Context
from offgrid.comparison import METHODS, RECOMMENDED, Comparison

# Hollow, one for each method in the order of the legend.
SYMBOLS = ("square", "triangle-up", "circle", "cross", "diamond-tall", "triangle-down", "hexagon")


@dataclass(frozen=True)
class Mark:
    """One value that a method tried: place on the axis, measures, the method's place in the legend, hover text."""

    sigma: float
    cnnc: float
    nmi: float | None
    method: int
    text: str


def drawn(compared: Sequence[Comparison]) -> list[Comparison]:
    """Return the methods that have marks: those that tried values; the recommended one is a mark of its own."""
    return [one for one in compared if one.name != RECOMMENDED and not one.failure]


def baseline_marks(compared: Sequence[Comparison], low: float, high: float) -> list[Mark]:
    """Return the marks within the axis, which goes from `low` to `high` (log10)."""
    marks = []
    for place, one in enumerate(drawn(compared)):
        title = METHODS[one.name].title
        for tried in one.tried:
            if tried.sigma is not None and 10.0**low <= tried.sigma <= 10.0**high:
                agreement = f"NMI {words.measure(tried.nmi)}, " if tried.nmi is not None else ""
                label = f", {html.escape(tried.label)}" if tried.label else ""
                told = (
                    f"{title}{label}<br>{words.bandwidth(tried.sigma)}<br>{agreement}c-NNC {words.measure(tried.cnnc)}"
                )
                marks.append(Mark(tried.sigma, tried.cnnc, tried.nmi, place, told))
    return marks


def outside(one: Comparison, low: float, high: float) -> int:
    """Return how many of a method's values are not on the axis, which goes from `low` to `high` (log10)."""
    return len(one.tried) - len(baseline_marks([one], low, high))


def add_baselines(ctx: Context, name: str, marks: Sequence[Mark], value: Callable[[Mark], float | None]) -> None:
    """Add marks to the panel with the axis `name`, at the height that `value` gives."""
    muted = ctx.colours.muted
    for method in sorted({mark.method for mark in marks}):
        own = [mark for mark in marks if mark.method == method]
        ctx.traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [mark.sigma for mark in own],
                "y": [value(mark) for mark in own],
                "xaxis": "x",
                "yaxis": name,
                "hovertext": [mark.text for mark in own],
                "hovertemplate": HOVER,
                "marker": {"symbol": f"{SYMBOLS[method % len(SYMBOLS)]}-open", "size": 8, "color": muted,
                           "line": {"width": 1.5, "color": muted}},
                "selected": {"marker": {"opacity": 1}},
                "unselected": {"marker": {"opacity": 1}},
                "cliponaxis": False,
            }
        )  # fmt: skip
