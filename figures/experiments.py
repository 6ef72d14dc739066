"""Figure 1: seconds for each value of the bandwidth against the number of points.

Entry point: `scaling_figure`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from figures.theme import Figure, Scheme, base_layout, palette

METHODS = ("mknn", "grid", "dyadic", "certified")
# A shape and a dash for each, so that colour is not the only sign; the accent marks ours.
SYMBOLS = {"mknn": "triangle-up", "grid": "square", "dyadic": "circle", "certified": "diamond"}
DASHES = {"mknn": "dot", "grid": "dash", "dyadic": "solid", "certified": "solid"}


def scaling_figure(
    points: Sequence[tuple[int, str, float, float]],
    printed: Sequence[tuple[str, str, int, float]],
    scheme: Scheme = "light",
    *,
    narrow: bool = False,
) -> Figure:
    """Return the figure.

    Parameters
    ----------
    points : sequence of (n, method, seconds, standard deviation)
        Ours.
    printed : sequence of (data set, method, n, seconds)
        The paper's, drawn hollow.
    scheme : str
    narrow : bool
    """
    colours = palette(scheme)
    traces: list[dict[str, Any]] = []
    for method in METHODS:
        theirs = [(n, seconds, title) for title, each, n, seconds in printed if each == method]
        if theirs:
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "x": [n for n, _, _ in theirs],
                    "y": [s for _, s, _ in theirs], "text": [title for _, _, title in theirs],
                    "name": f"{method}, paper",
                    "marker": {"symbol": f"{SYMBOLS[method]}-open", "size": 8, "color": colours.muted,
                               "line": {"width": 1.2}},
                    "hovertemplate": f"paper, {method}, %{{text}}<br>n = %{{x:,}}: %{{y:.3g}} s<extra></extra>",
                }
            )  # fmt: skip
    for method in METHODS:
        ours = [(n, seconds, spread) for n, each, seconds, spread in points if each == method]
        ink = colours.accent if method == "certified" else colours.ink
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "x": [n for n, _, _ in ours], "y": [s for _, s, _ in ours],
                "error_y": {"array": [d for _, _, d in ours], "thickness": 1, "width": 3, "color": ink},
                "name": method, "line": {"color": ink, "width": 1.5, "dash": DASHES[method]},
                "marker": {"symbol": SYMBOLS[method], "size": 8, "color": ink},
                "hovertemplate": f"{method}<br>n = %{{x:,}}: %{{y:.3g}} s<extra></extra>",
            }
        )  # fmt: skip
    last = max((n for n, _, _, _ in points), default=1)
    return {"data": traces, "layout": _layout(points, last, scheme, narrow=narrow)}


def _layout(points: Sequence[tuple[int, str, float, float]], last: int, scheme: Scheme, *, narrow: bool) -> Figure:
    colours = palette(scheme)
    sizes = sorted({n for n, _, _, _ in points})
    ends = sorted(((seconds, method) for n, method, seconds, _ in points if n == last), reverse=True)
    axis = {"type": "log", "showgrid": False, "zeroline": False, "ticks": "outside", "ticklen": 4,
            "tickcolor": colours.border, "showline": False}  # fmt: skip
    return {
        **base_layout(scheme),
        "height": 360 if narrow else 420,
        "margin": {"l": 52, "r": 72, "t": 12, "b": 44},
        "annotations": _labels(ends, last, scheme),
        "xaxis": {
            **axis, "tickvals": [200, sizes[0], sizes[-1]] if narrow else [200, 500, *sizes], "tickformat": ",",
            "tickangle": 0, "showline": True, "linecolor": colours.border,
            "title": {"text": "points n, logarithmic", "font": {"size": 12, "color": colours.muted}},
        },
        "yaxis": {
            **axis, "showgrid": True, "gridcolor": colours.hairline, "ticks": "",
            "tickvals": [10.0**power for power in range(-4, 3)],
            "ticktext": ["0.1 ms", "1 ms", "10 ms", "0.1 s", "1 s", "10 s", "100 s"],
        },
    }  # fmt: skip


def _labels(ends: Sequence[tuple[float, str]], last: int, scheme: Scheme) -> list[dict[str, Any]]:
    """Return the methods' names at the ends of their lines, pushed apart where they would touch."""
    colours, labels, above = palette(scheme), [], math.inf
    for seconds, method in ends:
        place = min(math.log10(seconds), above - 0.17)
        above = place
        labels.append(
            {
                "x": math.log10(last), "y": place, "xanchor": "left", "xshift": 10, "text": method, "showarrow": False,
                "font": {"size": 12, "color": colours.accent if method == "certified" else colours.second},
            }
        )  # fmt: skip
    return labels
