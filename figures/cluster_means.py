"""The means of a clustering's clusters as images, for data whose rows are images.

Entry points: `cluster_means` and `montage` (plain data), `means_figure`. Cost: one product of a matrix (k, n) with the
data (n, d). Memory: k means of d numbers, and the matrix.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import words
from figures.clustering import packed
from figures.theme import Figure, Palette, Scheme, base_layout, cluster_colour, palette

_GAP, _CAPTION = 0.12, 0.30  # of an image's side: between two images, and beneath each for its caption
_BAR = 0.045
_ASPECT = 1.3  # of the card: width to height, between that of a narrow screen and of a wide one

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Means:
    """Mean image (height, width) of each cluster that has points, its number from 0, and its size."""

    images: Floats
    clusters: Ints
    sizes: Ints


def cluster_means(X: Floats, labels: Ints, n_clusters: int, image_shape: tuple[int, int]) -> Means:
    """Return the mean of each cluster's rows as an image; empty clusters are left out."""
    sizes = np.bincount(labels, minlength=n_clusters)
    filled = np.flatnonzero(sizes)
    member = np.zeros((len(sizes), len(X)))
    member[labels, np.arange(len(X))] = 1.0
    means = (member[filled] @ X) / sizes[filled, None]
    return Means(means.reshape(len(filled), *image_shape), filled, sizes[filled])


def montage(count: int, image_shape: tuple[int, int]) -> tuple[int, list[tuple[float, float]]]:
    """Return the number of columns that fills a card best, and the left top corner of each image.

    Measured in pixels of the images, x to the right and y downward.
    """
    height, width = image_shape
    step_x, step_y = width * (1 + _GAP), height * (1 + _CAPTION)
    columns = min(range(1, count + 1), key=lambda c: (max(c * step_x / _ASPECT, math.ceil(count / c) * step_y), c))
    return columns, [(i % columns * step_x, i // columns * step_y) for i in range(count)]


def means_figure(
    X: Floats,
    labels: Ints,
    *,
    n_clusters: int,
    image_shape: tuple[int, int],
    scheme: Scheme = "light",
    class_names: Sequence[str] | None = None,
) -> Figure:
    """Return the mean image of each cluster, with its number (or its class's name) and its size beneath.

    All share one scale of grey, from the least to the largest value in the data, the page's colour being the least.
    A bar beneath each image, in the cluster's colour, is as long as its share of the largest cluster.
    """
    means = cluster_means(X, labels, n_clusters, image_shape)
    colours = palette(scheme)
    columns, corners = montage(len(means.clusters), image_shape)
    limits = float(X.min()), float(X.max())
    names = [str(i + 1) if class_names is None else class_names[i] for i in means.clusters]
    traces, shapes, notes = [], [], []
    for image, corner, name, cluster, size in zip(
        means.images, corners, names, means.clusters.tolist(), means.sizes.tolist(), strict=True
    ):
        traces.append(_image(image, corner, limits, name, class_names is None, colours))
        share = size / means.sizes.max()
        shapes += _marks(corner, image_shape, share, cluster_colour(cluster, scheme), colours)
        notes.append(_caption(corner, image_shape, name, size, colours))
    layout = {**base_layout(scheme), **_frame(columns, len(corners), image_shape)}
    layout |= {"shapes": shapes, "annotations": notes, "dragmode": False}
    return {"data": traces, "layout": layout}


def _image(
    image: Floats,
    corner: tuple[float, float],
    limits: tuple[float, float],
    name: str,
    numbered: bool,
    colours: Palette,
) -> Figure:
    told = f"cluster {name}" if numbered else html.escape(name).replace("%", "&#37;")
    return {
        "type": "heatmap",
        "z": packed(image, "f4"),
        "x0": corner[0] + 0.5,
        "dx": 1,
        "y0": corner[1] + 0.5,
        "dy": 1,
        "zmin": limits[0],
        "zmax": limits[1],
        "zsmooth": False,
        "showscale": False,
        "colorscale": [[0, colours.page], [1, colours.ink]],
        "hovertemplate": f"{told}, mean %{{z:.3~g}}<extra></extra>",
    }


def _marks(
    corner: tuple[float, float], image_shape: tuple[int, int], share: float, colour: str, colours: Palette
) -> list[Figure]:
    """Return the image's outline, and the bar that tells the cluster's size."""
    (x, y), (height, width) = corner, image_shape
    outline: Figure = {
        "type": "rect",
        "x0": x,
        "x1": x + width,
        "y0": y,
        "y1": y + height,
        "fillcolor": "rgba(0,0,0,0)",
    }
    top = y + height * (1 + _BAR)
    bar = {"type": "rect", "x0": x, "x1": x + width * share, "y0": top, "y1": top + height * _BAR, "fillcolor": colour}
    return [{**outline, "line": {"color": colours.hairline, "width": 1}}, {**bar, "line": {"width": 0}}]


def _caption(
    corner: tuple[float, float], image_shape: tuple[int, int], name: str, size: int, colours: Palette
) -> Figure:
    short = html.escape(words.clip(name, 10))
    return {
        "x": corner[0],
        "y": corner[1] + image_shape[0] * (1 + 2 * _BAR),
        "xanchor": "left",
        "yanchor": "top",
        "text": f"{short} <span style='color:{colours.muted};font-weight:400'>{words.count(size)}</span>",
        "font": {"size": 11.5, "weight": 500, "color": colours.ink},
        "showarrow": False,
        "borderpad": 0,
    }


def _frame(columns: int, count: int, image_shape: tuple[int, int]) -> Figure:
    """Return axes that nobody sees, of equal scale, with the first image at the left top."""
    height, width = image_shape
    across = columns * width * (1 + _GAP) - width * _GAP
    down = math.ceil(count / columns) * height * (1 + _CAPTION)
    margin = 0.05 * max(across, down)
    # Left to widen the ranges, plotly keeps those of the first width it draws in, and the images stay at one side.
    axis = {"visible": False, "fixedrange": True, "zeroline": False, "showgrid": False, "constrain": "domain"}
    return {
        "xaxis": {**axis, "range": [-margin, across + margin]},
        "yaxis": {**axis, "range": [down + margin, -margin], "scaleanchor": "x", "scaleratio": 1},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
    }
