"""Which points go from which cluster to which, from one selected clustering to the next: a Sankey diagram.

Entry points: `steps` (plain data: how many points go where), `flow_figure`. Every cluster keeps a lane of its own, so
that points that stay flow straight on and points that move are seen to cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import words
from figures.clustering import Clustering
from figures.path_marks import LETTERS
from figures.theme import Figure, Palette, Scheme, base_layout, cluster_colour, palette, text_on

HEAD, FOOT, SIDE = 56, 8, 72  # px
COLUMN = 116  # px from one clustering to the next, at least
_LANE, _TALL, _GAP = 17.0, 23.0, 4.0  # px: a lane's least height, its usual one, and between lanes
_LEAST_HEIGHT = 300.0
_THINNEST = 2.4  # px: a stream of one point among thousands is seen, too
_BAR = 8  # px, the width of a cluster's bar
_MOST_STREAMS = 400
_ALONG = (0.12, 0.31, 0.5, 0.69, 0.88)  # where a stream answers to the pointer

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Points that go from one cluster to another (or stay in it) between two clusterings."""

    source: int
    target: int
    count: int

    @property
    def moved(self) -> bool:
        """Whether the points change cluster."""
        return self.source != self.target


@dataclass(frozen=True)
class Step:
    """From one selected clustering to the next: all streams, those of points that move by falling size."""

    stays: tuple[Stream, ...]
    moves: tuple[Stream, ...]

    @property
    def n_moved(self) -> int:
        """Number of points that move."""
        return sum(stream.count for stream in self.moves)


@dataclass(frozen=True)
class _Lanes:
    """Where clusters are: the middle of each one's lane in px from the top, and px for each point."""

    middles: dict[int, float]
    per_point: float
    height: float


def steps(clusterings: Sequence[Clustering], n_clusters: int) -> list[Step]:
    """Return what happens between each two of the clusterings."""
    result = []
    for before, after in pairwise(clusterings):
        counts = np.zeros((n_clusters, n_clusters), dtype=np.int64)
        np.add.at(counts, (before.labels, after.labels), 1)
        every = [Stream(int(i), int(j), int(counts[i, j])) for i, j in np.argwhere(counts)]
        moves = sorted((stream for stream in every if stream.moved), key=lambda stream: -stream.count)
        result.append(Step(tuple(stream for stream in every if not stream.moved), tuple(moves)))
    return result


def drawn_moves(found: Sequence[Step]) -> int:
    """Return how many streams of moved points are drawn at each step: the largest, where there are very many."""
    return _MOST_STREAMS // max(len(found), 1)


def least_width(n_clusterings: int) -> int:
    """Return the px that the figure needs for its words not to meet."""
    return 2 * SIDE + COLUMN * (n_clusterings - 1)


def flow_figure(
    clusterings: Sequence[Clustering],
    *,
    n_clusters: int,
    sigmas: Sequence[float],
    symbol: str = "σ",
    recommended: int | None = None,
    scheme: Scheme = "light",
) -> Figure:
    """Return the diagram of two or more clusterings; its height is in the layout.

    Parameters
    ----------
    clusterings : sequence of Clustering
        Matched, by increasing bandwidth.
    n_clusters : int
    sigmas : sequence of float
        Bandwidth of each clustering.
    symbol : str
        What the searched parameter is called.
    recommended : int or None
        Record that is marked as recommended.
    """
    colours = palette(scheme)
    sizes = np.array([np.bincount(one.labels, minlength=n_clusters) for one in clusterings])
    lanes = _lanes(sizes)
    found = steps(clusterings, n_clusters)
    shapes: list[Figure] = []
    spots: list[tuple[float, float, str]] = []
    for place, step in enumerate(found):
        _add_streams(shapes, spots, place, step, lanes, sizes, scheme, drawn_moves(found))
    shapes += [_bar(place, cluster, lanes, sizes, scheme) for place in range(len(sizes)) for cluster in lanes.middles]
    height = lanes.height + FOOT
    layout = {
        **base_layout(scheme),
        "height": round(height + HEAD),
        "margin": {"l": SIDE, "r": SIDE, "t": 0, "b": 0, "pad": 0},
        "xaxis": {"visible": False, "fixedrange": True, "range": [0, len(sizes) - 1]},
        "yaxis": {"visible": False, "fixedrange": True, "range": [height, -HEAD]},
        "shapes": shapes,
        "dragmode": False,
        "hoverdistance": 14,
    }
    accents = [one.index == recommended for one in clusterings]
    traces = [
        _targets(spots),
        *_names(lanes, sizes, colours),
        *_heads([words.bandwidth(sigma, symbol) for sigma in sigmas], accents, colours),
        _told(found, colours),
    ]
    return {"data": traces, "layout": layout}


def _lanes(sizes: NDArray[np.int64]) -> _Lanes:
    """Give each cluster the height of its largest size, small ones enough for their number."""
    largest = sizes.max(axis=0)
    clusters = np.flatnonzero(largest)
    need = largest[clusters].astype(float)
    room = max(_LEAST_HEIGHT, _TALL * len(clusters)) - _GAP * (len(clusters) - 1)
    small = np.zeros(len(clusters), dtype=bool)
    per_point = room / need.sum()
    while True:
        now = need * per_point < _LANE
        if (now == small).all():
            break
        small = now
        per_point = max(room - _LANE * small.sum(), 0.25 * room) / max(need[~small].sum(), 1.0)
    heights = np.maximum(need * per_point, _LANE)
    tops = np.concatenate(([0.0], np.cumsum(heights + _GAP)))
    middles = {int(c): float(top + h / 2) for c, top, h in zip(clusters, tops, heights, strict=False)}
    return _Lanes(middles, float(per_point), float(tops[-1] - _GAP))


def _add_streams(
    shapes: list[Figure],
    spots: list[tuple[float, float, str]],
    place: int,
    step: Step,
    lanes: _Lanes,
    sizes: NDArray[np.int64],
    scheme: Scheme,
    most: int,
) -> None:
    """Draw what flows from clustering `place` to the next: those that stay below, those that move on top."""
    taken = {  # points of a cluster that have their place in its bar already, at its right and at its left side
        side: {c: lanes.middles[c] - sizes[place + side][c] * lanes.per_point / 2 for c in lanes.middles}
        for side in (0, 1)
    }
    every = sorted([*step.stays, *step.moves], key=lambda stream: (stream.source, stream.target))
    left = {}
    for stream in every:
        left[stream] = taken[0][stream.source]
        taken[0][stream.source] += stream.count * lanes.per_point
    right = {}
    for stream in sorted(every, key=lambda stream: (stream.target, stream.source)):
        right[stream] = taken[1][stream.target]
        taken[1][stream.target] += stream.count * lanes.per_point
    for stream in [*step.stays, *step.moves[:most]]:
        thick = stream.count * lanes.per_point
        drawn = max(thick, _THINNEST) if stream.moved else thick
        start, end = left[stream] + thick / 2, right[stream] + thick / 2
        shapes.append(_ribbon(place, start, end, drawn, stream, scheme))
        where = f"{LETTERS[place]} to {LETTERS[place + 1]}"
        number = words.plural(stream.count, "point")
        told = f"{number} from cluster {stream.source + 1} to {stream.target + 1}"
        if not stream.moved:
            told = f"{number} {'stays' if stream.count == 1 else 'stay'} in cluster {stream.source + 1}"
        spots += [(place + u, start + (end - start) * u * u * (3 - 2 * u), f"{where}: {told}") for u in _ALONG]


def _ribbon(place: int, start: float, end: float, thick: float, stream: Stream, scheme: Scheme) -> Figure:
    middle, right = place + 0.5, place + 1
    (a, b), (c, d) = [(f"{at - thick / 2:.2f}", f"{at + thick / 2:.2f}") for at in (start, end)]
    path = (
        f"M {place},{a} C {middle},{a} {middle},{c} {right},{c} L {right},{d} C {middle},{d} {middle},{b} {place},{b} Z"
    )
    return {
        "type": "path",
        "path": path,
        "fillcolor": cluster_colour(stream.source, scheme),
        "opacity": 0.92 if stream.moved else 0.2,
        "line": {"width": 0.6 if stream.moved else 0, "color": palette(scheme).ink},
        "layer": "below",
    }


def _bar(place: int, cluster: int, lanes: _Lanes, sizes: NDArray[np.int64], scheme: Scheme) -> Figure:
    half = sizes[place][cluster] * lanes.per_point / 2
    left = 0.0 if place == 0 else -_BAR if place == len(sizes) - 1 else -_BAR / 2  # what is outside would be cut off
    return {
        "type": "rect",
        "xsizemode": "pixel",
        "xanchor": place,
        "x0": left,
        "x1": left + _BAR,
        "y0": lanes.middles[cluster] - half,
        "y1": lanes.middles[cluster] + half,
        "fillcolor": cluster_colour(cluster, scheme),
        "line": {"width": 0},
    }


def _targets(spots: Sequence[tuple[float, float, str]]) -> Figure:
    """Return marks that nobody sees, which say what a stream is where the pointer is on it."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(x, 3) for x, _, _ in spots],
        "y": [round(y, 1) for _, y, _ in spots],
        "text": [told for _, _, told in spots],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 14, "opacity": 0},
        "cliponaxis": False,
    }


def _names(lanes: _Lanes, sizes: NDArray[np.int64], colours: Palette) -> list[Figure]:
    """Return the number and size of every cluster beside its bar: at the left of the first, at the right of others."""
    traces = []
    for place, row in enumerate(sizes):
        muted = f'<span style="font-weight:400;color:{colours.second}">'
        text = []
        for cluster in lanes.middles:
            size = f"{muted}{words.count(int(row[cluster]))}</span>"
            text.append(f"{size}  {cluster + 1}" if place == 0 else f"{cluster + 1}  {size}")
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [place] * len(lanes.middles),
                "y": list(lanes.middles.values()),
                "text": text,
                "textposition": "middle left" if place == 0 else "middle right",
                "textfont": {"size": 12, "weight": 500, "color": colours.ink},
                "marker": {"size": _BAR + 4, "opacity": 0},
                "hoverinfo": "skip",
                "cliponaxis": False,
            }
        )
    return traces


def _heads(names: Sequence[str], accents: Sequence[bool], colours: Palette) -> list[Figure]:
    """Return letter and bandwidth above each clustering."""
    places = list(range(len(names)))
    circles = [colours.filled if accent else colours.ink for accent in accents]
    common: dict[str, Any] = {"type": "scatter", "x": places, "hoverinfo": "skip", "cliponaxis": False}
    return [
        {
            **common,
            "mode": "markers+text",
            "y": [12 - HEAD] * len(places),
            "text": list(LETTERS[: len(places)]),
            "textfont": {"size": 12, "weight": 500, "color": [text_on(circle) for circle in circles]},
            "marker": {"size": 20, "color": circles, "line": {"width": 0}},
        },
        {
            **common,
            "mode": "text",
            "y": [34 - HEAD] * len(places),
            "text": list(names),
            "textfont": {"size": 12.5, "weight": 500, "color": colours.ink},
        },
    ]


def _told(found: Sequence[Step], colours: Palette) -> Figure:
    return {
        "type": "scatter",
        "mode": "text",
        "x": [place + 0.5 for place in range(len(found))],
        "y": [13 - HEAD] * len(found),
        "text": [f"{words.count(step.n_moved)} moved" if step.moves else "none moved" for step in found],
        "textfont": {"size": 12.5, "color": colours.muted},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
