"""A finished or growing path as text to take away.

Entry points: `path_csv`, `labels_csv` (the clusters at one bandwidth), `run_dict` (all of it, for JSON); for any labels
`clusters_csv`, for points `points_dict`, for a data set `dataset_csv`. Numbers are written in full: they read back as
the same floats. An infinite bandwidth is written "inf"; what is unknown is left empty in CSV and null in JSON.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.model import Dataset, Points
from offgrid.path import BandwidthPath, json_value
from offgrid.selection import recommend

PATH_COLUMNS = (
    "level", "sigma", "below", "critical", "holds_to", "moved", "clusters", "cnnc", "nmi", "ari",
    "recurrence", "iterations", "converged", "passes", "uncertified", "seconds", "recommended",
)  # fmt: skip


def path_csv(path: BandwidthPath) -> str:
    """Return the path as CSV, one line a record, in `PATH_COLUMNS`.

    `moved` counts the rows that moved, `clusters` those that are not empty; `recurrence` numbers the partitions that
    occur more than once.
    """
    best = _recommended(path)
    rows = []
    for i, record in enumerate(path.records):
        own = {name: getattr(record, name, None) for name in PATH_COLUMNS}
        derived = {
            "holds_to": path.holds_to(i),
            "moved": len(record.moved),
            "clusters": len(set(record.labels.tolist())),
            "recurrence": path.recurrences[i],
            "recommended": i == best,
        }
        rows.append([(own | derived)[name] for name in PATH_COLUMNS])
    return _csv(PATH_COLUMNS, rows)


def labels_csv(path: BandwidthPath, index: int, points: Points) -> str:
    """Return the clusters of one record as CSV: the row's number in its file (from 1), its cluster, and its class."""
    return clusters_csv(path.records[index].labels, points)


def clusters_csv(labels: NDArray[np.integer], points: Points) -> str:
    """Return labels as CSV: the row's number in its file (from 1), its cluster, and its class where it has one."""
    clusters = labels.tolist()
    numbers = (points.rows + 1).tolist()
    if points.y is None:
        return _csv(("row", "cluster"), zip(numbers, clusters, strict=True))
    classes = [points.class_names[i] for i in points.y.tolist()]
    return _csv(("row", "cluster", "class"), zip(numbers, clusters, classes, strict=True))


def points_dict(points: Points) -> dict[str, Any]:
    """Return what points are, without the numbers, as JSON-ready values."""
    return {
        "title": points.title,
        "rows": points.n,
        "columns": list(points.feature_names),
        "classes": list(points.class_names),
        "notes": list(points.notes),
        "sha256": points.hash,
    }


def run_dict(
    path: BandwidthPath,
    points: Points,
    settings: Mapping[str, Any],
    *,
    state: str,
    lower_bound: float | None,
    lower_bound_note: str = "",
    reason: str = "",
) -> dict[str, Any]:
    """Return a whole run as JSON-ready values.

    `settings` are those of the search, as given; `reason` is that of a recommendation which stands beside the path.
    """
    best = _recommended(path)
    chosen = None
    if best is not None:
        own = recommend(path.found)
        said = reason or (own.reason if own else "")
        chosen = {"index": best, "sigma": json_value(path.records[best].sigma), "reason": said}
    return {
        "data": points_dict(points),
        "search": dict(settings),
        "state": state,
        "lower_bound": lower_bound,
        "lower_bound_note": lower_bound_note,
        "recommended": chosen,
        "records": [
            record.to_dict() | {"holds_to": json_value(path.holds_to(i))} for i, record in enumerate(path.records)
        ],
        "ends": [end.to_dict() for end in path.ends.values()],
    }


def dataset_csv(dataset: Dataset) -> str:
    """Return a built-in data set as CSV, its classes in a last column ``label``."""
    rows = dataset.X.tolist()
    if dataset.y is None:
        return _csv(dataset.feature_names, rows)
    classes = [dataset.class_names[i] for i in dataset.y.tolist()]
    return _csv((*dataset.feature_names, "label"), ([*row, name] for row, name in zip(rows, classes, strict=True)))


def _recommended(path: BandwidthPath) -> int | None:
    """Return the index of the recommended record: what stands beside the path, else its lowest c-NNC."""
    if len(path) > path.n_found:
        return len(path) - 1
    best = recommend(path.found)
    return None if best is None else best.index


def _csv(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([str(value).lower() if isinstance(value, bool) else value for value in row] for row in rows)
    return buffer.getvalue()
