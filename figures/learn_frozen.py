"""The frozen zone: what one step of kernel k-means moves at each bandwidth across Theorem 1's bound.

Entry points: `frozen_demonstration` (points) and `tight_demonstration` (the tight example, drawn by its distances).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import words
from figures.learn_lloyd import ringed_clustering
from figures.learn_parts import (
    Demonstration,
    Step,
    band,
    demonstration,
    dots,
    line,
    linear,
    logarithmic,
    note,
    panel,
    rule,
)
from figures.theme import Figure, Palette, Scheme, base_layout, cluster_colour, palette
from offgrid.traces import FrozenZone

HEAD = ("σ", "σ over the bound", "Largest κ of two points", "1/(3n)", "Points that move")


def frozen_demonstration(
    X: NDArray[np.float64], zone: FrozenZone, n_clusters: int, *, scheme: Scheme = "light"
) -> Demonstration:
    """Return the lesson on points: one step for each bandwidth, beginning at the bound."""

    def drawn(place: int) -> Figure:
        return ringed_clustering(X, zone.labels, zone.moved[place], n_clusters, scheme)

    note_left = f"{words.count(len(X))} points with random labels; those that move ringed"
    return _demonstration(zone, drawn, note_left, scheme)


def tight_demonstration(squares: NDArray[np.float64], zone: FrozenZone, *, scheme: Scheme = "light") -> Demonstration:
    """Return the lesson on the tight example, given by squared distances in units of the smallest."""

    def drawn(place: int) -> Figure:
        return _distances_figure(squares, zone, zone.moved[place], scheme)

    return _demonstration(zone, drawn, "squared distances; strong: ε, the smallest, faint: 2ε", scheme)


def _demonstration(zone: FrozenZone, drawn: Callable[[int], Figure], left_note: str, scheme: Scheme) -> Demonstration:
    colours = palette(scheme)
    steps = [
        Step(
            (drawn(place), _moved_figure(zone, place, colours, scheme)),
            _sentence(zone, place),
            [_row(zone, place)],
        )
        for place in range(len(zone.sigmas))
    ]
    start = int(np.searchsorted(zone.sigmas, zone.bound))
    return demonstration(steps, notes=(left_note, "from the same clustering at each σ"), head=HEAD, start=start)


def _sentence(zone: FrozenZone, place: int) -> str:
    sigma, moved = float(zone.sigmas[place]), len(zone.moved[place])
    bound = words.sigma(zone.bound)
    if sigma == zone.bound:
        return f"σ = {words.sigma(sigma)} is Theorem 1's bound: up to here no point can move, whatever the clustering."
    ratio = words.factor(sigma / zone.bound) if sigma >= 10 * zone.bound else f"{sigma / zone.bound:.2f} times"
    where = f"σ = {words.sigma(sigma)}, {ratio.replace('×', ' times')} the bound {bound}"
    if moved == 0:
        below = sigma < zone.bound
        kept = "the clustering is frozen" if below else "no point moves, though the theorem does not say so"
        return f"{where}: {kept}."
    said = f"{words.plural(moved, 'point')} of {words.count(len(zone.labels))} {'moves' if moved == 1 else 'move'}"
    return f"{where}: {said}{', the first of this clustering' if sigma == zone.first else ''}."


def _row(zone: FrozenZone, place: int) -> tuple[str, ...]:
    sigma = float(zone.sigmas[place])
    return (
        words.sigma(sigma),
        f"{sigma / zone.bound:,.2f}" if sigma < 100 * zone.bound else f"{sigma / zone.bound:,.0f}",
        _entry(math.exp(-zone.closest / sigma)),
        _entry(1.0 / (3 * len(zone.labels))),
        words.count(len(zone.moved[place])),
    )


def _entry(value: float) -> str:
    """Return an entry of the kernel."""
    return f"{value:.5f}" if value >= 1e-4 else words.sigma(value)


def _moved_figure(zone: FrozenZone, place: int, colours: Palette, scheme: Scheme) -> Figure:
    counts = [len(moved) for moved in zone.moved]
    sigmas = [float(sigma) for sigma in zone.sigmas]
    low, high = sigmas[0] / 1.3, sigmas[-1] * 1.3
    texts = [
        f"σ = {words.sigma(s)}<br>{words.plural(c, 'point')} would move" for s, c in zip(sigmas, counts, strict=True)
    ]
    traces = [
        line(sigmas, counts, colours.ink, 1.2, shape="hv"),
        dots(sigmas, counts, texts, {"size": 4, "color": colours.ink}),
        dots([sigmas[place]], [counts[place]], [texts[place]], {"size": 10, "color": colours.accent}),
    ]
    top = max([*counts, 1])
    xaxis = logarithmic(colours, "bandwidth σ, logarithmic", low, high)
    whole = {"dtick": 1} if top <= 6 else {}
    yaxis = linear(
        colours, "", -0.06 * top, 1.12 * top, showgrid=True, gridcolor=colours.hairline, showline=False, **whole
    )
    layout = panel(scheme, xaxis, yaxis)
    layout["shapes"] = [
        band(low, zone.bound, colours.column),
        rule(zone.bound, colours.muted, dash="dot"),
        rule(sigmas[place], colours.accent),
    ]
    at = math.log10(zone.bound)
    layout["annotations"] = [note("frozen", colours.second, at, 1, xref="x", xanchor="right", yanchor="top", xshift=-6)]
    if math.isfinite(zone.first):
        first = f"first move at {zone.first / zone.bound:.2f} times the bound"
        side = {"xanchor": "left", "xshift": 6}
        layout["shapes"].append(rule(zone.first, colours.muted, dash="dot"))
        layout["annotations"].append(
            note(first, colours.second, math.log10(zone.first), 1, xref="x", yanchor="top", **side)
        )
    return {"data": traces, "layout": layout}


def _distances_figure(squares: NDArray[np.float64], zone: FrozenZone, moved: NDArray[Any], scheme: Scheme) -> Figure:
    """Return the matrix of squared distances, each row's cluster after the step beside it."""
    colours, n = palette(scheme), len(zone.labels)
    stepped = zone.labels.copy()
    stepped[moved] = 1 - stepped[moved]
    shades = [[0.0, colours.page], [0.5, colours.muted], [1.0, colours.column]]
    both = [[0.0, cluster_colour(0, scheme)], [1.0, cluster_colour(1, scheme)]]
    still = {"type": "heatmap", "showscale": False, "xgap": 0.5, "ygap": 0.5}
    traces = [
        {
            **still,
            "z": squares.tolist(),
            "zmin": 0,
            "zmax": 2,
            "colorscale": shades,
            "x0": 1,
            "y0": 1,
            "hovertemplate": "points %{y} and %{x}<br>squared distance %{z} ε<extra></extra>",
        },
        {
            **still,
            "z": [[int(label)] * 2 for label in stepped],
            "x": [1 - 0.08 * n, 1 - 0.05 * n],
            "y0": 1,
            "zmin": 0,
            "zmax": 1,
            "colorscale": both,
            "hoverinfo": "skip",
        },
    ]
    hidden = {"visible": False, "fixedrange": True}
    layout = {
        **base_layout(scheme),
        "xaxis": {**hidden, "range": [1 - 0.4 * n, n + 1]},
        "yaxis": {**hidden, "range": [n + 1, 0], "scaleanchor": "x"},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0},
        "dragmode": False,
    }
    half = n // 2
    beside = {"xref": "x", "yref": "y", "xanchor": "right"}
    left = 1 - 0.11 * n
    y_now = f"y, in cluster {stepped[-1] + 1}"
    layout["annotations"] = [
        note("cluster 1", colours.second, left, (half + 1) / 2, **beside),
        note("cluster 2", colours.second, left, (half + n) / 2, **beside),
        note(y_now, colours.ink, left, n, **beside),
    ]
    return {"data": traces, "layout": layout}
