"""Results as files to take away, with names that say what is in them.

Entry points: `path_file`, `labels_file`, `profile_file`, `run_file` and `labels_index` (which record the labels are
taken from). Clusters have the numbers that the page shows.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.model import Dataset, Points
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from offgrid.export import clusters_csv, defused, path_csv, run_dict
from offgrid.profile import ClusterProfile, profile_csv
from services.run_settings import library_version
from services.runs import Run

NOTHING = "Nothing has been found yet, so there is nothing to save."


@dataclass(frozen=True)
class File:
    """A file for the browser to save."""

    name: str
    text: str
    mime: str


def path_file(run: Run, title: str) -> File:
    """Return the path as CSV."""
    _some(run)
    return File(f"{slug(title)}-k{run.settings.search.n_clusters}-path.csv", path_csv(run.path), "text/csv")


def labels_file(run: Run, points: Points, source: Table | Dataset, labels: NDArray[np.integer], sigma: float) -> File:
    """Return the data as they were given, with the clusters at one bandwidth, as CSV."""
    name = f"{slug(points.title)}-k{run.settings.search.n_clusters}-labels-sigma-{sigma:.6g}.csv"
    return File(name, clusters_csv(labels, points, source), "text/csv")


def run_file(run: Run, points: Points, reason: str, selection: Sequence[int]) -> File:
    """Return the whole run as JSON; `reason` is that of the recommended record, `selection` what the page shows."""
    _some(run)
    values = run_dict(
        run.path,
        points,
        run.settings.to_dict()["search"],
        state=run.state,
        lower_bound=run.lower_bound,
        lower_bound_note=run.lower_bound_note,
        reason=reason,
        selection=selection,
    )
    values["data"] |= {name: run.settings.to_dict()["data"][name] for name in ("missing", "scaling")}
    values |= {"version": library_version(), "seconds": run.seconds}
    name = f"{slug(points.title)}-k{run.settings.search.n_clusters}-run.json"
    return File(name, json.dumps(values, indent=1, ensure_ascii=False), "application/json")


def profile_file(profile: ClusterProfile, points: Points, n_clusters: int, sigma: float) -> File:
    """Return what the clusters at one bandwidth are like as CSV, every column of the data."""
    text = profile_csv(profile, [defused(name) for name in points.feature_names])
    return File(f"{slug(points.title)}-k{n_clusters}-profile-sigma-{sigma:.6g}.csv", text, "text/csv")


def labels_index(selection: Sequence[int], active: int | None, recommended: int | None) -> int | None:
    """Return the record whose labels are saved: the active one, else the only or first selected, else the best."""
    if active is not None:
        return active
    return selection[0] if selection else recommended


def slug(title: str) -> str:
    """Return a title as part of a file's name: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    stem = re.sub(r"\.(csv|tsv|txt|arff|parquet|npy|npz|xlsx)$", "", plain.lower())
    return re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40] or "data"


def _some(run: Run) -> None:
    if not len(run.path):
        raise InputError(NOTHING)
