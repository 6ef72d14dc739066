"""The kernel matrix as a heat map, sorted by cluster.

Entry point: `kernel_figure`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from figures import words
from figures.clustering import packed
from figures.theme import Figure, Palette, Scheme, base_layout, cluster_colour, palette
from offgrid.kernel_view import KernelView

# From nothing, which is nearly the page, to 1: even steps of lightness in OKLCH, from cyan to deep blue.
SCALES: dict[Scheme, tuple[str, ...]] = {
    "light": (
        "#F1FDFF", "#ADE7FC", "#6FCDF8", "#3AAFEF", "#138FDE", "#156FC3", "#2251A0", "#243775", "#1D2247",
    ),
    "dark": (
        "#121523", "#1C2A52", "#1D4281", "#1060AA", "#0080CC", "#10A2E5", "#4CC3F5", "#89E1FF", "#CBFCFF",
    ),
}  # fmt: skip
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 10, 24, 24  # px; as much across as down, so that a square frame holds a square
_APART = {"x": 17.0, "y": 12.0}  # px from one cluster's number to the next
_PLOT = {False: 480.0, True: 310.0}  # px along a side, narrow or not


def kernel_figure(view: KernelView, *, scheme: Scheme = "light", narrow: bool = False) -> Figure:
    """Return the heat map of a kernel's view, with the bounds of clusters, their numbers and colours.

    Parameters
    ----------
    view : KernelView
        Its clusters are numbered as the page numbers them.
    narrow : bool
        Fewer numbers are written along the axes then.
    """
    colours = palette(scheme)
    steps = SCALES["dark" if scheme == "dark" else "light"]
    matrix: Figure = {
        "type": "heatmap",
        "x": view.edges.tolist(),
        "y": view.edges.tolist(),
        "z": packed(view.cells, "f4"),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[i / (len(steps) - 1), colour] for i, colour in enumerate(steps)],
        "showscale": False,
        "hoverinfo": "skip",
    }
    rows = view.n_used
    layout = {
        **base_layout(scheme),
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM, "pad": 0},
        "xaxis": {**_axis(view, "x", narrow), "range": [0, rows], "side": "top"},
        "yaxis": {**_axis(view, "y", narrow), "range": [rows, 0]},
        "shapes": [*_bounds(view, colours), *_strips(view, scheme)],
        "dragmode": False,
    }
    return {"data": [matrix, _pairs(view)], "layout": layout}


def _axis(view: KernelView, along: str, narrow: bool) -> Figure:
    """Return an axis with the clusters' numbers where they do not meet."""
    per_row = _PLOT[narrow] / view.n_used
    places, names, before = [], [], -np.inf
    for cluster, (low, high) in zip(view.clusters, pairwise(view.cluster_edges), strict=True):
        middle = (low + high) / 2
        if (middle - before) * per_row >= _APART[along]:
            places.append(float(middle))
            names.append(str(cluster + 1))
            before = middle
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": names,
        "ticklen": 8,
        "tickcolor": "rgba(0,0,0,0)",
        "tickfont": {"size": 11.5},
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def _bounds(view: KernelView, colours: Palette) -> list[Figure]:
    """Return hairlines where one cluster ends and the next begins."""
    line = {"width": 0.8, "color": colours.muted}
    ends = view.cluster_edges[1:-1].tolist()
    across: list[Figure] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": end, "y1": end, "line": line, "opacity": 0.6}
        for end in ends
    ]
    down: list[Figure] = [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": end, "x1": end, "line": line, "opacity": 0.6}
        for end in ends
    ]
    return across + down


def _strips(view: KernelView, scheme: Scheme) -> list[Figure]:
    """Return the colours of the clusters along both axes."""
    shapes: list[Figure] = []
    for cluster, (low, high) in zip(view.clusters.tolist(), pairwise(view.cluster_edges.tolist()), strict=True):
        fill = {"type": "rect", "fillcolor": cluster_colour(cluster, scheme), "line": {"width": 0}}
        left = {"xref": "paper", "xsizemode": "pixel", "xanchor": 0, "x0": -7, "x1": -3, "y0": low, "y1": high}
        top = {"yref": "paper", "ysizemode": "pixel", "yanchor": 1, "y0": 3, "y1": 7, "x0": low, "x1": high}
        shapes += [{**fill, **left}, {**fill, **top}]
    return shapes


def _pairs(view: KernelView) -> Figure:
    """Return cells that nobody sees, one for each two clusters, which say their mean where the pointer is."""
    names = [f"cluster {cluster + 1}" for cluster in view.clusters.tolist()]
    told = [
        [_said(names[i], names[j], float(view.cluster_means[i, j]), same=i == j) for j in range(len(names))]
        for i in range(len(names))
    ]
    return {
        "type": "heatmap",
        "x": view.cluster_edges.tolist(),
        "y": view.cluster_edges.tolist(),
        "z": np.zeros(view.cluster_means.shape).tolist(),
        "text": told,
        "hovertemplate": "%{text}<extra></extra>",
        "colorscale": [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        "showscale": False,
    }


def _said(one: str, other: str, mean: float, *, same: bool) -> str:
    if np.isnan(mean):
        return f"{one}: a single point"
    return f"within {one}: mean {words.share(mean)}" if same else f"{one} with {other}: mean {words.share(mean)}"
