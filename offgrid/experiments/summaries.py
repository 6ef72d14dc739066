"""From runs to the rows of a table: means and deviations. Needs nothing that measures.

Entry points: `quality_rows` (Table 2), `seconds_rows` (Table 3), `searching_rows` (Table 4), `scaling_rows` (Figure 1),
`gap_rows`, `spread`, and the names of what is compared: `METHODS`, `SEARCHES`, `SQUARES`, `COLUMNS_CASE`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from offgrid.experiments.store import rounded

METHODS = ("mknn", "grid", "dyadic", "certified")
SEARCHES = ("bisection", "dyadic", "certified")
SQUARES = "mknn_squares"
COLUMNS_CASE = "audit_columns"


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation over runs minus 1; 0 for one run."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _of(runs: Sequence[Mapping[str, Any]], method: str, what: str) -> list[float]:
    return [run["methods"][method][what] for run in runs]


def quality_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return Table 2: one row for each data set and method."""
    rows = []
    for name, every in runs.items():
        for method in METHODS:
            nmi, cnnc = _of(every, method, "nmi"), _of(every, method, "cnnc")
            row = {
                "dataset": name, "method": method, "nmi": statistics.fmean(nmi), "cnnc": statistics.fmean(cnnc),
                "nmi_std": spread(nmi), "cnnc_std": spread(cnnc), "runs": len(every),
            }  # fmt: skip
            rows.append(rounded(row.items()))
    return rows


def seconds_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return Table 3: one row for each data set and method, with what the seconds were spent on."""
    rows = []
    for name, every in runs.items():
        for method in METHODS:
            seconds = _of(every, method, "seconds")
            means = {what: statistics.fmean(_of(every, method, what)) for what in ("values", "partitions", "passes")}
            row = {
                "dataset": name, "method": method, "seconds": statistics.fmean(seconds),
                "seconds_std": spread(seconds), "seconds_median": statistics.median(seconds), **means,
                "runs": len(every),
            }  # fmt: skip
            rows.append(rounded(row.items()))
    return rows


def searching_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return Table 4: one row for each data set and method."""
    table = []
    for name, every in runs.items():
        looked, confirmed = sum(run["looked"] for run in every), sum(run["confirmed"] for run in every)
        if looked == 0:
            continue
        together = {
            method: [value for run in every for value in run["methods"][method]["seconds"]] for method in SEARCHES
        }
        slowest = statistics.fmean(together["bisection"])
        for method in SEARCHES:
            errors = [value for run in every for value in run["methods"][method]["errors"]]
            seconds = statistics.fmean(together[method])
            row = {
                "dataset": name,
                "method": method,
                "seconds": seconds,
                "speedup": slowest / seconds,
                "relative_error": statistics.fmean(errors) if errors else None,
                "median_error": statistics.median(errors) if errors else None,
                "largest_error": max(errors, default=None),
                "missed": sum(run["methods"][method]["missed"] for run in every),
                "searches": looked,
                "references_confirmed": confirmed,
                "runs": len(every),
            }
            table.append(rounded(row.items()))
    return table


def scaling_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the points of the figure: one row for each size and method."""
    table = []
    for every in runs.values():
        for method in METHODS:
            each = [run["methods"][method]["seconds"] / run["methods"][method]["values"] for run in every]
            values = [run["methods"][method]["values"] for run in every]
            row = {
                "n": every[0]["n"], "method": method, "seconds_per_value": statistics.fmean(each),
                "seconds_per_value_std": spread(each), "values": statistics.fmean(values), "runs": len(every),
            }  # fmt: skip
            table.append(rounded(row.items()))
    return table


def gap_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return one row for each data set and method."""
    table = []
    for name, every in runs.items():
        for method in every[0]["methods"]:
            nmi, cnnc = ([run["methods"][method][what] for run in every] for what in ("nmi", "cnnc"))
            row = {
                "dataset": name, "method": method, "nmi": statistics.fmean(nmi), "cnnc": statistics.fmean(cnnc),
                "nmi_std": spread(nmi), "cnnc_std": spread(cnnc), "runs": len(every),
            }  # fmt: skip
            table.append(rounded(row.items()))
    return table
