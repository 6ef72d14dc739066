"""A finished or growing path as text to take away.

Entry points: `path_csv`, `clusters_csv` (a table with the cluster of each row), `run_dict` and `recommendation_dict`
(all of it, for JSON); for points `points_dict`, for a data set `dataset_csv`, for a cell `defused`. Numbers are written
in full: they read back as the same floats. An infinite bandwidth is written "inf"; what is unknown is left empty in CSV
and null in JSON. Rows have their numbers in the file, from 1, and clusters those that a person sees, from 1 (see
`offgrid.numbering`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.delimited import free_name
from offgrid.datasets.model import Dataset, Points
from offgrid.datasets.numbers import looks_missing, looks_numeric
from offgrid.datasets.table import Table
from offgrid.numbering import name_clusters
from offgrid.partitions import names_by_size
from offgrid.path import BandwidthPath, json_value
from offgrid.selection import recommend, recommended_index

if TYPE_CHECKING:
    from offgrid.recommendation import RecommendedPartition

FORMULA = ("=", "+", "-", "@", "\t", "\r")

PATH_COLUMNS = (
    "level", "sigma", "below", "critical", "holds_to", "moved", "clusters", "cnnc", "nmi", "ari",
    "recurrence", "iterations", "converged", "passes", "uncertified", "seconds", "recommended",
)  # fmt: skip


def path_csv(path: BandwidthPath) -> str:
    """Return the path as CSV, one line a record by increasing bandwidth, in `PATH_COLUMNS`.

    `moved` counts the rows that moved, `clusters` those that are not empty; `recurrence` numbers the partitions that
    occur more than once.
    """
    best = recommended_index(path)
    rows = []
    for i in sorted(range(len(path)), key=lambda i: (path.records[i].sigma, i)):
        record = path.records[i]
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


def clusters_csv(labels: NDArray[np.integer], points: Points, source: Table | Dataset) -> str:
    """Return a table as it was given, each row's number before it and its cluster after it.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        Clusters of the points as `name_clusters` or `number_clusters` names them, from 0.
    points : Points
    source : Table or Dataset
        What the points were prepared from. Rows that are not among the points have no cluster; the text is
        separated and marked as that of its file was.
    """
    clusters: list[int | str] = [""] * source.n_rows
    for row, label in zip(points.rows.tolist(), labels.tolist(), strict=True):
        clusters[row] = label + 1
    given = source.given if isinstance(source, Table) else None
    cells = iter(source.cells())
    names = next(cells)
    header = [free_name("row", names), *map(defused, names), free_name("cluster", names)]
    rows = ([i, *map(_safe, row), clusters[i - 1]] for i, row in enumerate(cells, 1))
    if given is None:
        return _csv(header, rows)
    return ("\ufeff" if given.marked else "") + _csv(header, rows, given.separator)


def defused(text: str) -> str:
    """Return a cell that a spreadsheet takes for text on one line, as `text` itself wherever that is safe."""
    harmless = not text.startswith(FORMULA) or looks_numeric(text) or looks_missing(text)
    return (text if harmless else f"'{text}").replace("\r", " ").replace("\n", " ")


def points_dict(points: Points) -> dict[str, Any]:
    """Return what points are, without their coordinates, as JSON-ready values.

    ``row_numbers`` has each point's row in the file: labels are in this order.
    """
    return {
        "title": points.title,
        "rows": points.n,
        "row_numbers": (points.rows + 1).tolist(),
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
    selection: Sequence[int] = (),
) -> dict[str, Any]:
    """Return a whole run as JSON-ready values.

    `settings` are those of the search, as given; `reason` is that of a recommendation which stands beside the path.
    The clusterings of the `selection` are numbered as they are where they are shown beside each other.
    """
    best = recommended_index(path)
    chosen = None
    if best is not None:
        own = recommend(path.found)
        said = reason or (own.reason if own else "")
        chosen = {"index": best, "sigma": json_value(path.records[best].sigma), "reason": said}
    k = settings["n_clusters"]
    named = dict(zip(selection, name_clusters(path, selection, k), strict=True))
    records = []
    for i, record in enumerate(path.records):
        labels = named[i] if i in named else name_clusters(path, (i,), k)[0]
        seen = {"labels": (labels + 1).tolist(), "moved": (points.rows[record.moved] + 1).tolist()}
        records.append(record.to_dict() | seen | {"holds_to": json_value(path.holds_to(i))})
    return {
        "data": points_dict(points),
        "search": dict(settings),
        "state": state,
        "lower_bound": lower_bound,
        "lower_bound_note": lower_bound_note,
        "recommended": chosen,
        "records": records,
        "ends": [end.to_dict() for end in path.ends.values()],
    }


def recommendation_dict(found: RecommendedPartition, points: Points, n_clusters: int) -> dict[str, Any]:
    """Return a recommendation as JSON-ready values, clusters and rows numbered as in `run_dict`."""
    values = found.to_dict()
    numbers = names_by_size(found.labels, n_clusters) + 1
    runner_up = [] if values["runner_up"] is None else [values["runner_up"]]
    for clustering in (values, *values["candidates"], *runner_up):
        clustering["labels"] = numbers[clustering["labels"]].tolist()
    for other in runner_up:
        other["differs"] = (points.rows[other["differs"]] + 1).tolist()
    return values


def dataset_csv(dataset: Dataset) -> str:
    """Return a built-in data set as CSV, its classes in a last column ``label``."""
    names, *rows = dataset.cells()
    return _csv(names, rows)


def _safe(cell: Any) -> Any:
    return defused(cell) if isinstance(cell, str) else cell


def _csv(header: Sequence[str], rows: Iterable[Iterable[Any]], separator: str = ",") -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([str(value).lower() if isinstance(value, bool) else value for value in row] for row in rows)
    return buffer.getvalue()
