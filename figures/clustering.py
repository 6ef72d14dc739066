"""One clustering as a scatter plot, and the matched labels of several.

Entry points: `matched_clusterings`, `matched_truth`, `label_places`, `sample_rows` (plain data); `clustering_figure`,
and `packed`, the form in which figures hold many numbers.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import words
from figures.theme import Figure, Palette, Scheme, base_layout, cluster_colour, cluster_symbol, palette
from offgrid.numbering import name_clusters
from offgrid.partitions import match_labels
from offgrid.path import BandwidthPath

WEBGL_FROM = 5_000
SAMPLE_FROM = 20_000
MOST_RINGED = 2_000  # more would hide the points in them
FLAT = 6.0  # beyond this ratio of the sides, equal scales would draw a line
_CELLS, _AROUND = 32, 3
_LONGEST_NAME = 40
_RINGS_IN_FULL = 150

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Clustering:
    """A selected clustering: labels named as beside it, and the rows moved since (None for the first)."""

    index: int
    labels: Ints
    moved: Ints | None

    @property
    def n_moved(self) -> int | None:
        """Number of rows that moved, None for the first."""
        return None if self.moved is None else len(self.moved)


def matched_clusterings(path: BandwidthPath, selection: Sequence[int], n_clusters: int) -> list[Clustering]:
    """Return the selected clusterings, clusters named alike (see `offgrid.numbering`), and what moved between them."""
    result: list[Clustering] = []
    for index, labels in zip(selection, name_clusters(path, selection, n_clusters), strict=True):
        moved = np.flatnonzero(labels != result[-1].labels) if result else None
        result.append(Clustering(index, labels, moved))
    return result


def matched_truth(reference: Ints, truth: Ints, class_names: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the classes of the ground truth named after the clusters they overlap most, and their names in that order.

    So a class takes the colour of its cluster; where there are fewer classes than clusters, the names left are empty.
    """
    n_names = int(max(reference.max(initial=0), len(class_names) - 1, truth.max(initial=0))) + 1
    matched = match_labels(reference, truth, n_names)
    names = [""] * n_names
    for old, new in {(int(old), int(new)) for old, new in zip(truth, matched, strict=True)}:
        names[new] = class_names[old] if old < len(class_names) else str(old)
    return matched, tuple(names)


def sample_rows(n_rows: int) -> Ints | None:
    """Return the rows to draw of a data set too large to draw whole (the same ones each time), None for all."""
    if n_rows <= SAMPLE_FROM:
        return None
    return np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE_FROM, replace=False))


def label_places(coordinates: Floats, labels: Ints, n_clusters: int) -> Floats:
    """Return for each cluster (n_clusters x 2) where it is densest; NaN for an empty one.

    Points are counted in the cells of a 32 x 32 grid; the place is the mean of the cluster's points in the 7 x 7 cells
    around the one with most of them. Cost: a pass over the points and 1,024 cells for each cluster.
    """
    low = coordinates.min(axis=0)
    span = np.maximum(coordinates.max(axis=0) - low, 1e-300)
    cell = np.minimum((coordinates - low) / span * _CELLS, _CELLS - 1).astype(np.intp)
    wide = _CELLS + 2 * _AROUND
    flat = (labels.astype(np.intp) * wide + cell[:, 0] + _AROUND) * wide + cell[:, 1] + _AROUND
    counts = np.bincount(flat, minlength=n_clusters * wide * wide).reshape(n_clusters, wide, wide)
    width = 2 * _AROUND + 1
    rows = sum(counts[:, i : i + _CELLS] for i in range(width))
    around = sum(np.asarray(rows)[:, :, j : j + _CELLS] for j in range(width))
    best = np.asarray(around).reshape(n_clusters, -1).argmax(axis=1)
    centre = np.column_stack(np.divmod(best, _CELLS))
    near = (np.abs(cell - centre[labels]) <= _AROUND).all(axis=1)
    total = np.bincount(labels[near], minlength=n_clusters).astype(float)
    total[total == 0] = np.nan
    return np.column_stack([np.bincount(labels[near], coordinates[near, d], n_clusters) / total for d in (0, 1)])


def clustering_figure(
    coordinates: Floats,
    labels: Ints,
    *,
    n_clusters: int,
    moved: Ints | None = None,
    scheme: Scheme = "light",
    axis_names: tuple[str, str] = ("x", "y"),
    class_names: Sequence[str] | None = None,
    file_rows: Ints | None = None,
    row_names: Sequence[str] = (),
) -> Figure:
    """Return the scatter plot of a clustering.

    Parameters
    ----------
    coordinates : ndarray (n, 2)
    labels : ndarray of int (n,)
        Clusters from 0; matched, so that colours carry over.
    n_clusters : int
    moved : ndarray of int or None
        Rows to ring; more than 2,000 are not.
    axis_names : (str, str)
        What the coordinates are, for the hover text.
    class_names : sequence of str or None
        Names of the classes when the labels are the ground truth; they take the place of numbers.
    file_rows : ndarray of int or None
        The points' rows in their file, from 0, for the hover text; None where they are all of its rows.
    row_names : sequence of str
        What tells each point from the others, for the hover text; empty for nothing.

    Notes
    -----
    Above 5,000 points WebGL draws them, and names of rows, which would weigh more than they do, are left out. Above
    20,000 a fixed sample is drawn (`sample_rows`), which the caller says.
    """
    sample = sample_rows(len(labels))
    drawn = np.arange(len(labels)) if sample is None else sample
    xy, shown = coordinates[drawn], np.asarray(labels)[drawn]
    kind = "scattergl" if len(drawn) > WEBGL_FROM else "scatter"
    colours = palette(scheme)
    numbers = drawn if file_rows is None else file_rows[drawn]
    called = [row_names[i] for i in drawn.tolist()] if row_names and len(drawn) <= WEBGL_FROM else []
    size = 4.5 if len(drawn) < 2_000 else 3.5
    traces, single = [], _fits_single(xy)
    for look, rows in _looks(shown, n_clusters, scheme):
        points = _points(kind, xy[rows], look, size, single=single)
        calls = [called[i] for i in rows.tolist()] if called else []
        traces.append(points | _hover(numbers[rows], shown[rows], calls, axis_names, class_names))
    ringed = np.empty(0, dtype=int) if moved is None or len(moved) > MOST_RINGED else np.intersect1d(moved, drawn)
    if len(ringed):
        traces.append(_rings(kind, coordinates[ringed], colours))
    told = class_names or [str(cluster + 1) for cluster in range(n_clusters)]
    layout = {**base_layout(scheme), **_frame(xy, colours)}
    layout["annotations"] = [
        *layout.get("annotations", []),
        *_names(label_places(xy, shown, n_clusters), told, colours),
    ]
    layout.update(margin={"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0}, dragmode=False, hoverdistance=12)
    return {"data": traces, "layout": layout}


def _looks(labels: Ints, n_clusters: int, scheme: Scheme) -> Iterator[tuple[Figure, Ints]]:
    """Yield colour and symbol with the rows that are drawn so: one trace each, which is drawn in half the time."""
    looks = [(cluster_colour(cluster, scheme), cluster_symbol(cluster)) for cluster in range(n_clusters)]
    each = list(dict.fromkeys(looks))
    drawn = np.array([each.index(look) for look in looks], dtype=np.intp)[labels]
    order = np.argsort(drawn, kind="stable")
    ends = np.searchsorted(drawn[order], np.arange(len(each)), side="right")
    for (colour, symbol), rows in zip(each, np.split(order, ends[:-1]), strict=True):
        yield {"color": colour, "symbol": symbol}, rows


def _points(kind: str, xy: Floats, look: Figure, size: float, *, single: bool) -> Figure:
    dtype = "f4" if single else "f8"
    trace: Figure = {
        "type": kind,
        "mode": "markers",
        "x": packed(xy[:, 0], dtype),
        "y": packed(xy[:, 1], dtype),
        "marker": {"size": size, "opacity": 0.9, "line": {"width": 0}, **look},
        "cliponaxis": False,
    }
    if kind == "scattergl":
        del trace["cliponaxis"]
    return trace


def _hover(
    rows: Ints, labels: Ints, row_names: Sequence[str], axis_names: tuple[str, str], class_names: Sequence[str] | None
) -> Figure:
    """Return the part of a trace that says what a point is: its row, the row's name, its cluster, and its place."""
    across, up = (html.escape(name).replace("%", "&#37;") for name in axis_names)
    who = ["row %{customdata[0]}", *(["%{hovertext}"] if row_names else [])]
    who.append("%{text}" if class_names else "cluster %{customdata[1]}")
    part: Figure = {
        "customdata": packed(np.column_stack([rows + 1, labels + 1]), "i4"),
        "hovertemplate": f"{', '.join(who)}<br>{across} %{{x:.4~g}}<br>{up} %{{y:.4~g}}<extra></extra>",
    }
    if row_names:
        part["hovertext"] = [html.escape(words.clip(name, _LONGEST_NAME)) for name in row_names]
    if class_names:
        part["text"] = [html.escape(class_names[i]) for i in labels]
    return part


def _fits_single(xy: Floats) -> bool:
    """Whether single precision tells the points apart: their spread is not tiny against their size."""
    largest = float(np.abs(xy).max(initial=0.0))
    spread = float(np.ptp(xy, axis=0).max()) if len(xy) else 0.0
    return largest < 1e30 and spread > 1e-3 * largest and spread > 1e-30


def packed(values: NDArray[Any], dtype: str) -> Figure:
    """Return values as plotly's typed array: a fraction of the size of a list, and quicker to write and read."""
    array = np.ascontiguousarray(values, dtype=dtype)
    spec: Figure = {"dtype": dtype, "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return {**spec, "shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else spec


def _rings(kind: str, xy: Floats, colours: Palette) -> Figure:
    """Return the rings around moved points: fainter where there are many, which would else hide the points in them."""
    return {
        "type": kind,
        "mode": "markers",
        "x": xy[:, 0].tolist(),
        "y": xy[:, 1].tolist(),
        "hoverinfo": "skip",
        "marker": {
            "symbol": "circle-open",
            "size": 8.5,
            "color": colours.ink,
            "line": {"width": 0.9},
            "opacity": min(1.0, (_RINGS_IN_FULL / len(xy)) ** 0.6),
        },
    }


def _names(places: Floats, names: Sequence[str], colours: Palette) -> list[Figure]:
    """Return numbers or names as notes with the page's colour behind them: WebGL would draw over any trace of text."""
    return [
        {
            "x": float(places[i, 0]),
            "y": float(places[i, 1]),
            "text": html.escape(words.clip(names[i], 16)),
            "showarrow": False,
            "font": {"size": 11.5, "weight": 500, "color": colours.ink},
            "bgcolor": colours.page,
            "opacity": 0.9,
            "borderpad": 1,
        }
        for i in np.flatnonzero(np.isfinite(places[:, 0])).tolist()
    ]


def _frame(xy: Floats, colours: Palette) -> Figure:
    """Return axes that nobody sees, of equal scale unless one would be drawn as a mere line; that is said then."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.maximum(high - low, 1e-12 * np.maximum(np.abs(high), 1e-300))
    axis = {"visible": False, "fixedrange": True, "zeroline": False, "showgrid": False}
    ranges = [[float(low[d] - 0.07 * span[d]), float(high[d] + 0.07 * span[d])] for d in (0, 1)]
    across, up = {**axis, "range": ranges[0]}, {**axis, "range": ranges[1]}
    if span.max() <= FLAT * span.min() or (high == low).any():
        return {"xaxis": across, "yaxis": {**up, "scaleanchor": "x", "scaleratio": 1}}
    said = {
        "text": f"{'vertical' if span[1] < span[0] else 'horizontal'} axis stretched",
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 1,
        "y": 0,
        "xanchor": "right",
        "yanchor": "bottom",
        "xshift": -6,
        "yshift": 4,
        "font": {"size": 11.5, "color": colours.muted},
    }
    return {"xaxis": across, "yaxis": up, "annotations": [said]}
