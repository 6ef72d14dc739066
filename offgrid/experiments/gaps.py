"""Why some figures are not the paper's: the same runs with what the text leaves open read the other way.

Entry points: `load_columns_case`, `squared_means`, `measure`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from offgrid import datasets
from offgrid.experiments import quality
from offgrid.experiments.cases import Case, find_file, load_case, start_partition
from offgrid.experiments.store import rounded
from offgrid.experiments.summaries import COLUMNS_CASE, SQUARES
from offgrid.kmeans import KernelKMeans
from offgrid.metrics import neighbour_ranks, normalized_mutual_information

PROTOCOL = """
As Table 2, from the same start partitions, with one thing read another way.

mknn_squares takes the mean of the squared distances to the j-th nearest neighbour, sigma = 2 mean(d^2), and counts a
point as its own first neighbour, as the program does that the authors published; and it tries one value of j fewer.
mknn has sigma = 2 mean(d)^2, j = 1 ... floor(2 (log n + 1)), as the text says, and leaves the point itself out.

audit_columns is Audit without the sector score and with the audit risk, half the product of inherent and control risk,
in its place: 23 columns, too, scaled to unit variance.
"""


@cache
def load_columns_case(folder: Path | None) -> Case | None:
    """Return Audit with the other choice of 23 columns; None where Audit is not there."""
    case, path = load_case("audit", folder), find_file("audit", folder)
    if case is None or path is None:
        return None
    raw = datasets.read_table(path).prepare(scaling="none")
    places = {name: place for place, name in enumerate(raw.feature_names)}
    if not {"sector_score", "inherent_risk", "control_risk"} <= set(places):
        return None
    risk = 0.5 * raw.X[:, places["inherent_risk"]] * raw.X[:, places["control_risk"]]
    X = np.column_stack([np.delete(raw.X, places["sector_score"], axis=1), risk])
    deviations = X.std(axis=0)
    X = np.ascontiguousarray(X / np.where(deviations > 0.0, deviations, 1.0))
    names = (*(name for name in raw.feature_names if name != "sector_score"), "audit_risk")
    points = replace(raw, X=X, feature_names=names)
    return Case(COLUMNS_CASE, "Audit, other columns", points, case.k, case.source, case.scaling)


def squared_means(X: NDArray[np.float64]) -> list[float]:
    """Return 2 mean(d^2) for the j-th neighbour, the point itself the first, j below floor(2 (log n + 1)); no zeros."""
    nearest = np.sort(squareform(pdist(X, "sqeuclidean")), axis=1)
    most = min(math.floor(2.0 * (math.log(len(X)) + 1.0)) - 1, len(X))
    return [2.0 * float(mean) for mean in nearest[:, :most].mean(axis=0) if mean > 0.0]


def measure(case: Case, run: int) -> dict[str, Any]:
    """Carry out one run: mknn by squares, and for the other columns of Audit every method of Table 2 beside it."""
    X, y = case.points.X, case.points.y
    assert y is not None
    start, ranks = start_partition(len(X), case.k, run), neighbour_ranks(X)
    found = [KernelKMeans(case.k, sigma=sigma, init=start).fit(X).labels_ for sigma in squared_means(X)]
    squares = {
        "nmi": max(normalized_mutual_information(y, labels) for labels in found),
        "cnnc": min(ranks.cost(labels, case.k).value for labels in found),
    }
    methods = {SQUARES: rounded(squares.items())}
    if case.name == COLUMNS_CASE:
        methods |= quality.measure(case, run)["methods"]
    return {"methods": methods}
