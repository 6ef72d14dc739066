"""What the figures of the Learn pages share: axes, marks, and a lesson's steps as the differences between figures.

Entry points: `Demonstration` (what the browser steps through), `demonstration`, `panel`, `linear`, `logarithmic`,
`power_of_ten`, `line`, `dots`, `rule`, `band`, `note`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figures.path_data import log_ticks
from figures.theme import Figure, Palette, Scheme, base_layout


@dataclass(frozen=True)
class Step:
    """One step of a lesson: its figures, its sentence, and what its table shows.

    Attributes
    ----------
    figures : sequence of Figure
        The left and the right one. Every step has the same traces in the same order.
    sentence : str
        Without its number ("12 points move.").
    rows : sequence of sequence of str
        All rows of the table.
    current : int or None
        The row that the step is about.
    """

    figures: Sequence[Figure]
    sentence: str
    rows: Sequence[Sequence[str]] = ()
    current: int | None = None


@dataclass(frozen=True)
class Demonstration:
    """A whole lesson in plain values: the first step's figures, and for each step what differs from them."""

    figures: list[Figure]
    steps: list[dict[str, Any]]
    notes: list[str]
    head: list[str]
    start: int


def demonstration(
    steps: Sequence[Step], *, notes: Sequence[str] = (), head: Sequence[str] = (), start: int = 0
) -> Demonstration:
    """Return a lesson from its steps; `notes` stand beside the titles of the two figures."""
    base = steps[0].figures
    plain = [
        {
            "figures": [_changes(before, after) for before, after in zip(base, step.figures, strict=True)],
            "sentence": numbered(place, len(steps) - 1, step.sentence),
            "rows": [list(row) for row in step.rows],
            "current": step.current,
        }
        for place, step in enumerate(steps)
    ]
    return Demonstration(list(base), plain, list(notes), list(head), start)


def numbered(place: int, last: int, sentence: str) -> str:
    """Return a step's sentence with its number; the start has none."""
    together = sentence.replace("σ = ", "σ\u00a0=\u00a0")
    return f"Step {place} of {last}: {together}" if place else f"Start: {together}"


def _changes(base: Figure, figure: Figure) -> dict[str, Any]:
    """Return the properties in which a figure differs from another with the same traces."""
    traces = {
        str(i): changed
        for i, (before, after) in enumerate(zip(base["data"], figure["data"], strict=True))
        if (changed := {name: value for name, value in after.items() if before.get(name) != value})
    }
    layout = {name: value for name, value in figure["layout"].items() if base["layout"].get(name) != value}
    return {"data": traces, "layout": layout}


# Layout --------------------------------------------------------------------------------------------------------------
def panel(scheme: Scheme, xaxis: Figure, yaxis: Figure, *, left: int = 48) -> Figure:
    """Return the layout of a chart."""
    return {
        **base_layout(scheme),
        "xaxis": xaxis,
        "yaxis": yaxis,
        "margin": {"l": left, "r": 16, "t": 12, "b": 44, "pad": 0},
        "dragmode": False,
    }


def linear(colours: Palette, title: str, low: float, high: float, **extra: Any) -> Figure:
    """Return a linear axis; the title stands beside it."""
    return {**_axis(colours, title), "range": [low, high], "nticks": 7, **extra}


def logarithmic(colours: Palette, title: str, low: float, high: float, *, most: int = 8, **extra: Any) -> Figure:
    """Return a logarithmic axis between two values."""
    ends = math.log10(low), math.log10(high)
    ticks = log_ticks(ends[0], ends[1], most=most)
    small = {"tickmode": "array", "tickvals": list(ticks.minor), "ticks": "outside", "ticklen": 3}
    return {
        **_axis(colours, title),
        "type": "log",
        "range": list(ends),
        "tickmode": "array",
        "tickvals": list(ticks.ticks),
        "ticktext": list(ticks.texts),
        "minor": {**small, "tickcolor": colours.border},
        **extra,
    }


def power_of_ten(value: float) -> str:
    """Return the label of a power of ten on an axis of small and large numbers."""
    exponent = round(math.log10(value))
    return f"{value:g}" if -3 <= exponent <= 3 else f"10<sup>{exponent}</sup>".replace("-", "−")


def _axis(colours: Palette, title: str) -> Figure:
    return {
        "title": {"text": title, "font": {"size": 12, "color": colours.muted}, "standoff": 8},
        "fixedrange": True,
        "zeroline": False,
        "showgrid": False,
        "showline": True,
        "linecolor": colours.border,
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": colours.border,
        "tickangle": 0,
        "tickfont": {"size": 11.5, "color": colours.muted},
    }


# Marks ---------------------------------------------------------------------------------------------------------------
def line(x: Sequence[Any], y: Sequence[Any], colour: str, width: float = 1.5, **extra: Any) -> Figure:
    """Return a line that nothing happens to."""
    shape = extra.pop("shape", "linear")
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": width, "shape": shape},
        "hoverinfo": "skip",
        **extra,
    }


def dots(x: Sequence[Any], y: Sequence[Any], texts: Sequence[str], marker: Figure, **extra: Any) -> Figure:
    """Return marks with words of their own to show on hover."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "hovertext": list(texts),
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": marker,
        "cliponaxis": False,
        **extra,
    }


def rule(value: float, colour: str, *, dash: str = "solid") -> Figure:
    """Return an upright line over the whole height, at a value of x."""
    line = {"color": colour, "width": 1, "dash": dash}
    return {"type": "line", **_over_the_height(value, value), "line": line, "layer": "below"}


def band(low: float, high: float, colour: str) -> Figure:
    """Return a shaded range of x over the whole height."""
    return {
        "type": "rect",
        **_over_the_height(low, high),
        "fillcolor": colour,
        "line": {"width": 0},
        "layer": "below",
    }


def _over_the_height(low: float, high: float) -> Figure:
    return {"xref": "x", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1}


def note(text: str, colour: str, x: float, y: float, **extra: Any) -> Figure:
    """Return words in a chart; `xref` and `yref` are the paper unless given."""
    return {
        "text": text,
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": y,
        "font": {"size": 12, "color": colour},
        **extra,
    }
