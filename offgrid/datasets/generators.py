"""Our own versions of the eight shapes that the paper uses: same sizes, classes, scale and look, other points.

Entry points: `SHAPES` (name to generator), each returning X and y, and `tight_example` (Theorem 1's). Everything is
drawn from formulas with a fixed seed and rounded to three decimals, so that every machine gets the same numbers. Cost:
70 ms for the slowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from offgrid.errors import InputError

Array = NDArray[np.float64]
Region = Callable[[Array], NDArray[np.bool_]]
Box = tuple[float, float, float, float]  # left, right, bottom, top


def aggregation() -> tuple[Array, NDArray[np.int64]]:
    """Seven round groups of 34 to 273 points; two pairs touch."""
    rng = np.random.default_rng(788)
    cut = _minus(_ellipse(11.8, 22.8, 8.4, 6.5), _ellipse(19.2, 22.8, 6.3, 7.6))
    bridge = np.column_stack([np.linspace(32.6, 33.2, 6), np.linspace(16.9, 14.3, 6)])
    return _labelled(
        [
            _even(rng, _ellipse(17.4, 7.2, 7.4, 5.5), (10, 25, 1.7, 12.8), 273),
            _even(rng, cut, (3.3, 15.7, 16.2, 29.3), 170),
            np.vstack([_even(rng, _ellipse(32.7, 22.5, 3.6, 5.9), (29, 36.5, 16.5, 28.5), 124), bridge]),
            _even(rng, _ellipse(33.1, 8.7, 3.5, 5.3), (29.5, 36.7, 3.3, 14.1), 102),
            _even(rng, _ellipse(21.5, 23.0, 3.3, 2.3), (18.2, 24.8, 20.7, 25.3), 45),
            _even(rng, _ellipse(6.5, 3.5, 1.9, 1.6), (4.6, 8.4, 1.9, 5.1), 34),
            _even(rng, _ellipse(7.4, 11.8, 2.3, 1.9), (5.1, 9.7, 9.9, 13.7), 34),
        ]
    )


def compound() -> tuple[Array, NDArray[np.int64]]:
    """Six groups: a ring around a core, a dense bend in a sparse field, two clouds."""
    rng = np.random.default_rng(399)
    ring = _minus(_ellipse(15.8, 9.5, 6.2, 3.7), _ellipse(16.3, 9.5, 3.7, 1.9))
    bend = _union(
        _capsule((33.2, 19.0), (34.2, 17.2), 0.75),
        _capsule((34.2, 17.0), (38.0, 17.2), 0.95),
        _capsule((34.0, 16.6), (32.4, 15.1), 1.3),
    )
    margin = _union(
        _capsule((33.2, 19.0), (34.2, 17.2), 1.5),
        _capsule((34.2, 17.0), (38.0, 17.2), 1.7),
        _capsule((34.0, 16.6), (32.4, 15.1), 2.0),
    )
    return _labelled(
        [
            _even(rng, ring, (9.5, 22, 5.7, 13.3), 158),
            _even(rng, bend, (30.5, 39.3, 13.5, 20), 92),
            _even(rng, _minus(_everywhere, margin), (26.7, 42.9, 7.8, 22.6), 50),
            _cored(rng, (18.7, 19.1), 3.9, 45),
            _cored(rng, (10.8, 19.3), 3.9, 38),
            _even(rng, _ellipse(16.25, 9.55, 1.2, 0.6), (15, 17.5, 8.9, 10.2), 16),
        ]
    )


def d31() -> tuple[Array, NDArray[np.int64]]:
    """Thirty-one Gaussian groups of 100 points; neighbours overlap a little."""
    rng = np.random.default_rng(31)
    centres = _apart(rng, (5.0, 27.4, 5.2, 28.0), 31, 2.45)
    return _labelled([rng.normal(centre, rng.uniform(0.68, 0.86, 2), (100, 2)) for centre in centres])


def flame() -> tuple[Array, NDArray[np.int64]]:
    """A round group in a bowl, nearly touching it, with two points far off."""
    rng = np.random.default_rng(240)
    rim = [(0.4, 22.5), (1.3, 23.2), (3.0, 21.7), (4.6, 20.5), (6.0, 19.9), (7.2, 19.8), (9.0, 20.1), (10.8, 21.0)]
    rim += [(12.3, 22.9), (13.4, 24.1), (14.3, 23.4), (13.3, 21.0), (11.8, 18.0), (10.0, 15.9), (8.5, 14.6)]
    rim += [(7.0, 14.3), (5.4, 14.9), (4.0, 16.2), (2.7, 17.9), (1.4, 20.1), (0.4, 21.5)]
    far = rng.uniform((1.2, 26.6), (2.0, 27.9), (2, 2))
    ball = _union(_ellipse(7.2, 24.2, 3.4, 3.4), _ellipse(7.3, 22.2, 2.0, 1.8))
    return _labelled(
        [
            _even(rng, _polygon(rim), (0.4, 14.3, 14.3, 24.1), 153),
            np.vstack([_even(rng, ball, (3.7, 10.7, 20.4, 27.7), 85), far]),
        ]
    )


def jain() -> tuple[Array, NDArray[np.int64]]:
    """Two crescents, one dense and one sparse, each reaching into the other."""
    rng = np.random.default_rng(373)
    dense = _arc(rng, (28.0, 17.0), (11.7, 12.4), (math.pi, 2 * math.pi), 1.6, 276, candidates=2)
    sparse = _arc(rng, (14.2, 15.0), (10.4, 10.3), (-0.04, math.pi + 0.04), 2.9, 97, candidates=1)
    return _labelled([dense, sparse])


def pathbased() -> tuple[Array, NDArray[np.int64]]:
    """An open ring around two Gaussian groups."""
    rng = np.random.default_rng(300)
    ring = _arc(rng, (19.0, 17.3), (13.6, 13.8), (math.radians(-62), math.radians(235)), 0.75, 110, candidates=2)
    left = _gaussian(rng, (12.6, 16.0), (2.2, 2.5), 97)
    right = _gaussian(rng, (24.9, 16.2), (2.3, 2.7), 93)
    return _labelled([ring, left, right])


def r15() -> tuple[Array, NDArray[np.int64]]:
    """Fifteen equal Gaussian groups: one in the middle, seven around it, seven far out."""
    rng = np.random.default_rng(15)
    turns = np.arange(7) * 2 * math.pi / 7
    star = np.column_stack([np.cos(turns), np.sin(turns)])
    centres = 10.0 + np.vstack([np.zeros((1, 2)), 2.05 * star, 6.4 * star])
    return _labelled([_gaussian(rng, tuple(centre), (0.31, 0.31), 40) for centre in centres])


def spiral() -> tuple[Array, NDArray[np.int64]]:
    """Three spiral arms, one within the other."""
    rng = np.random.default_rng(312)
    arms = []
    for arm, n in enumerate((101, 105, 106)):
        along = np.linspace(0.0, 1.0, n)
        turn = 2 * math.pi * (0.25 + arm / 3 + along)
        radius = 2.6 + 12.9 * along
        arms.append(np.column_stack([18.4 + radius * np.cos(turn), 16.3 + radius * np.sin(turn)]))
    X, y = _labelled(arms)
    X += rng.uniform(-0.03, 0.03, X.shape)
    np.round(X, 3, out=X)
    return X, y


SHAPES: dict[str, Callable[[], tuple[Array, NDArray[np.int64]]]] = {
    "aggregation": aggregation,
    "compound": compound,
    "d31": d31,
    "flame": flame,
    "jain": jain,
    "pathbased": pathbased,
    "r15": r15,
    "spiral": spiral,
}


def tight_example(n: int, epsilon: float = 1.0) -> tuple[Array, NDArray[np.int64]]:
    """Return the paper's tight example of Theorem 1 as squared distances, and its two clusters.

    Cluster 0 has n // 2 points, cluster 1 the others, the last of which (row n - 1) is the paper's y: as near to
    every point of cluster 0 as points of a cluster are to each other (epsilon), and twice as far from its own cluster.
    With n large enough it leaves its cluster at sigma = epsilon / log(n / 3), a constant factor above the bound
    epsilon / log(3 n). The paper leaves the distances between cluster 0 and the rest of cluster 1 open: they are
    2 epsilon here, which points in Euclidean space can have.

    Parameters
    ----------
    n : int
        Number of points, 4 at least.
    epsilon : float
        Smallest squared distance.

    Returns
    -------
    squared_distances : ndarray of float64, shape (n, n)
    labels : ndarray of int64, shape (n,)

    Raises
    ------
    InputError
        If n or epsilon is out of range.
    """
    if n < 4:
        raise InputError(f"The tight example has n = {n} points: it needs at least 4.")
    if not (epsilon > 0 and math.isfinite(2 * epsilon)):
        raise InputError(f"The tight example has epsilon = {epsilon}: it must be positive and finite.")
    labels = np.repeat(np.array([0, 1], dtype=np.int64), [n // 2, n - n // 2])
    near = labels.copy()
    near[-1] = 0  # y is placed among the points of cluster 0
    distances = np.where(near[:, None] == near[None, :], epsilon, 2 * epsilon).astype(np.float64)
    np.fill_diagonal(distances, 0.0)
    return distances, labels


# ------------------------------------------------------------------------------------------------ drawing points


def _labelled(groups: Sequence[Array]) -> tuple[Array, NDArray[np.int64]]:
    """Stack groups, one class each."""
    y = np.repeat(np.arange(len(groups), dtype=np.int64), [len(group) for group in groups])
    X: Array = np.vstack(groups)
    return X.round(3), y


def _even(rng: np.random.Generator, region: Region, box: Box, n: int, candidates: int = 12) -> Array:
    """Draw points that fill a region evenly: each is the candidate farthest from the points before it."""
    low, high = (box[0], box[2]), (box[1], box[3])
    offered = np.empty((0, 2))
    while len(offered) < n * candidates:
        draws = rng.uniform(low, high, (2 * n * candidates, 2))
        offered = np.vstack([offered, draws[region(draws)]])
    return _farthest(offered[: n * candidates].reshape(n, candidates, 2))


def _farthest(offered: Array) -> Array:
    """Return one point a round: of its candidates (n, candidates, 2) the one farthest from the points before it."""
    n, candidates, _ = offered.shape
    points = np.empty((n, 2))
    points[0] = offered[0, 0]
    nearest = np.full((n, candidates), np.inf)
    for i in range(1, n):
        # What every later candidate needs to know is its distance to the nearest point so far.
        gaps = ((offered[i:] - points[i - 1]) ** 2).sum(axis=2)
        np.minimum(nearest[i:], gaps, out=nearest[i:])
        points[i] = offered[i, nearest[i].argmax()]
    return points


def _apart(rng: np.random.Generator, box: Box, n: int, gap: float) -> Array:
    """Draw points at random that keep a distance from each other."""
    points: list[Array] = []
    while len(points) < n:
        offered = rng.uniform((box[0], box[2]), (box[1], box[3]))
        if all(math.dist(offered, point) >= gap for point in points):
            points.append(offered)
        elif rng.uniform() < 1e-4:
            points.clear()  # filled up before n were placed
    return np.array(points)


def _gaussian(rng: np.random.Generator, centre: tuple[float, ...], spread: tuple[float, float], n: int) -> Array:
    """Draw from a Gaussian without its far tails (2.6 standard deviations)."""
    draws = rng.normal(size=(4 * n, 2))
    draws = draws[np.hypot(draws[:, 0], draws[:, 1]) < 2.6][:n]
    return np.array(centre) + draws * np.array(spread)


def _cored(rng: np.random.Generator, centre: tuple[float, float], radius: float, n: int) -> Array:
    """Draw a cloud with a dense middle: distances from the centre are uniform."""
    r = radius * (np.arange(n) + rng.uniform(0.2, 0.8, n)) / n
    turn = np.arange(n) * math.pi * (3 - math.sqrt(5)) + rng.uniform(-0.3, 0.3, n)
    return np.column_stack([centre[0] + r * np.cos(turn), centre[1] + 0.93 * r * np.sin(turn)])


def _arc(
    rng: np.random.Generator,
    centre: tuple[float, float],
    radii: tuple[float, float],
    turns: tuple[float, float],
    half_width: float,
    n: int,
    *,
    candidates: int,
) -> Array:
    """Draw points in a band around an arc of an ellipse; more candidates, more evenly."""
    turn = rng.uniform(*turns, (n, candidates))
    off = rng.uniform(-half_width, half_width, (n, candidates))
    across, up = centre[0] + (radii[0] + off) * np.cos(turn), centre[1] + (radii[1] + off) * np.sin(turn)
    return _farthest(np.stack([across, up], axis=2))


# ------------------------------------------------------------------------------------------------ regions


def _everywhere(p: Array) -> NDArray[np.bool_]:
    return np.ones(len(p), dtype=bool)


def _ellipse(x: float, y: float, rx: float, ry: float) -> Region:
    return lambda p: ((p[:, 0] - x) / rx) ** 2 + ((p[:, 1] - y) / ry) ** 2 <= 1


def _capsule(a: tuple[float, float], b: tuple[float, float], radius: float) -> Region:
    """All points within a radius of a line segment."""
    start, way = np.array(a), np.subtract(b, a)

    def inside(p: Array) -> NDArray[np.bool_]:
        share = np.clip((p - start) @ way / (way @ way), 0, 1)
        gap: Array = p - (start + share[:, None] * way)
        return np.hypot(gap[:, 0], gap[:, 1]) <= radius

    return inside


def _polygon(corners: Sequence[tuple[float, float]]) -> Region:
    """Inside of a polygon: a ray to the right crosses its edges an odd number of times."""
    ends = np.array(corners)
    starts = np.roll(ends, 1, axis=0)

    def inside(p: Array) -> NDArray[np.bool_]:
        x, y = p[:, 0, None], p[:, 1, None]
        across = (starts[:, 1] > y) != (ends[:, 1] > y)
        rise = np.where(ends[:, 1] == starts[:, 1], 1.0, ends[:, 1] - starts[:, 1])
        crossing = starts[:, 0] + (y - starts[:, 1]) / rise * (ends[:, 0] - starts[:, 0])
        return (across & (x < crossing)).sum(axis=1) % 2 == 1

    return inside


def _union(*regions: Region) -> Region:
    return lambda p: np.any([region(p) for region in regions], axis=0)


def _minus(region: Region, hole: Region) -> Region:
    return lambda p: region(p) & ~hole(p)
