"""From what the page and the store hold to the views that the layouts and figures draw.

Entry points: `asked_in`, `shown_run` and `drawn_run` (what the page shows), `result_view`, `selection_of`, and what the
stores of the page hold: `store_of_path`, `store_of_selection`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import uuid4

from dash import no_update

from figures import words
from layouts.views import ResultView
from offgrid.comparison import RECOMMENDED, Comparison, beside
from offgrid.datasets.model import Points
from offgrid.errors import InputError
from offgrid.path import BandwidthPath
from offgrid.selection import recommend
from services import visitors
from services.context import Services
from services.run_settings import RunSettings, SearchSettings
from services.runs import Following, Run

MOST_SELECTED = 6
GONE = "The run in this address is not kept any more. Press Run search to do it again."
ANNOUNCED = {  # read out by screen readers
    "running": "Searching.",
    "finished": "The search is finished.",
    "cancelled": "The search was cancelled.",
    "failed": "The search stopped.",
    "interrupted": "The search was interrupted.",
}
Data = Mapping[str, Any] | None


@dataclass(frozen=True)
class Look:
    """How the browser shows the page."""

    scheme: Literal["light", "dark"] = "light"
    narrow: bool = False

    @classmethod
    def of(cls, scheme: object, narrow: object) -> Look:
        """Read the stores of the shell, which are empty until the browser has told."""
        return cls("dark" if scheme == "dark" else "light", bool(narrow))


def asked_in(run_data: Data) -> RunSettings | None:
    """Return the settings that the page shows, with or without a run."""
    return None if not run_data else RunSettings.from_query(run_data["query"])


def run_id(run_data: Data) -> str:
    """Return the id of the run that the page shows, "" where there is none."""
    return str((run_data or {}).get("id", ""))


def shown_run(services: Services, run_data: Data) -> Run | None:
    """Return the run that the page shows, as the store has it now."""
    return with_recommended(services, services.runs.get(run_id(run_data)), asked_in(run_data))


def with_recommended(services: Services, run: Run | None, asked: RunSettings | None) -> Run | None:
    """Return the run with what is recommended as a last record beside its path, where the page asks for that."""
    if run is None or asked is None or RECOMMENDED not in asked.comparisons or not run.path.ends:
        return run
    try:
        found = services.compared(asked).get(RECOMMENDED)
    except InputError:  # the data are not kept any more
        return run
    return run if found is None or found.failure else replace(run, path=beside(run.path, found))


def drawn_run(services: Services, run_data: Data, shown: Data) -> Run | None:
    """Return the run as far as `SHOWN` has it, so that all panels of a growing path show the same values."""
    run = shown_run(services, run_data)
    if run is None or not shown or shown.get("id") != run.id or len(shown["sigmas"]) >= len(run.path):
        return run
    records = run.path.found[: len(shown["sigmas"])]
    ends = [end for level, end in run.path.ends.items() if records and level < records[-1].level]
    return replace(run, path=BandwidthPath(records, ends), state="running")


def carried_out(services: Services, run_id: str) -> Any:
    """Return what `CARRY_OUT` takes for a run that may have a process now, `no_update` for any other.

    What has to wait is carried out by the keeper when its turn comes, with a page or without. Where there are workers,
    all runs are theirs.
    """
    if services.workers is not None or run_id not in services.runs.startable(services.settings.slots):
        return no_update
    return {"id": run_id, "nonce": uuid4().hex}


def known_points(services: Services, asked: RunSettings | None) -> Points | None:
    """Return the points of a run, None where the data are not kept any more: its path can still be shown."""
    if asked is None:
        return None
    try:
        return services.points(asked.data)
    except InputError:
        return None


def result_view(
    services: Services,
    asked: RunSettings | None,
    run: Run | None,
    chosen: Data,
    look: Look,
    alert: str = "",
) -> ResultView:
    """Return everything at the right of the page."""
    points = known_points(services, asked)
    search = None if asked is None else asked.search
    heading: dict[str, Any] = {
        "title": "The data are not kept any more" if points is None else points.title,
        "note": "" if points is None or asked is None else describe(points, asked.data.scaling, asked.search),
        "has_labels": points is not None and points.y is not None,
        "scheme": look.scheme,
        "narrow": look.narrow,
        "alert": alert,
    }
    if run is None:
        return ResultView(**heading)
    own = services.runs.following(run.id, visitors.current()) if run.active else Following(follows=True)
    compared = {} if points is None or asked is None else services.compared(asked)
    index, reason = recommended_of(run.path, compared.get(RECOMMENDED))
    selection, active = selection_of(chosen, run.path, index, growing=run.active)
    now = run.progress
    slots = services.slots if run.state == "queued" else 0
    return ResultView(
        **heading,
        state=run.state,
        path=run.path,
        recommended=index,
        reason=reason,
        selection=selection,
        active=active,
        message=run.message,
        queue_place=_place_shown(services, run, slots),
        workers_missing=run.state == "queued" and not slots,
        follows=own.follows,
        pinned=own.pinned,
        others=own.others,
        level=1 if now is None else now.level,
        n_levels=1 if now is None else now.n_levels,
        sigma=None if now is None else now.sigma,
        share=0.0 if now is None else now.share,
        seconds=run.seconds,
        lower_bound=run.lower_bound,
        lower_bound_note=run.lower_bound_note,
        symbol="σ" if search is None else search.symbol,
        far_end=("k-means", "the far end") if search is None else search.far_end,
        method="certified" if search is None else search.method,
        init="random" if search is None else search.init,
        near_on_path=None if run.active or points is None or asked is None else services.near_on_path(asked),
        beside="" if now is None or not run.active else now.beside,
        compared=compared,
    )


def recommended_of(path: BandwidthPath, recommendation: Comparison | None) -> tuple[int | None, str]:
    """Return the index of the recommended record and the reason: what stands beside the path, else its lowest c-NNC."""
    if recommendation is not None and len(path) > path.n_found:
        return len(path) - 1, recommendation.reason
    best = recommend(path.found)
    return (None, "") if best is None else (best.index, best.reason)


def _place_shown(services: Services, run: Run, slots: int) -> int | None:
    """Return the place in the queue, None for what is about to start."""
    about_to_start = run.state == "queued" and run.id in services.runs.startable(slots)
    return None if about_to_start else run.place


def describe(points: Points, scaling: str, search: SearchSettings) -> str:
    """Return the data in one line: "173 of 178 rows, 7 columns, unit variance, k = 3, RBF kernel"."""
    of_all = f"{words.count(points.n)} of " if points.n_left_out else ""
    rows = words.plural(points.n + points.n_left_out, "row")
    parts = [f"{of_all}{rows}", words.plural(len(points.feature_names), "column")]
    if points.n_classes is not None:
        parts.append(words.plural(points.n_classes, "class", "classes"))
    if scaling != "none":
        parts.append(words.SCALINGS[scaling])
    return ", ".join([*parts, f"k = {search.n_clusters}", f"{search.kernel_title} kernel"])


def selection_of(
    chosen: Data, path: BandwidthPath, recommended: int | None, *, growing: bool
) -> tuple[tuple[int, ...], int | None]:
    """Return the selected indices by increasing bandwidth, and the active one.

    Where nobody has chosen, the selection follows the path as it grows.
    """
    if chosen is None or chosen.get("auto", True):
        proposed = best_so_far(path) if growing else default_selection(path, recommended)
        return proposed, recommended
    indices = [i for i in chosen.get("indices", []) if isinstance(i, int) and 0 <= i < len(path)]
    active = chosen.get("active")
    kept = active if isinstance(active, int) and 0 <= active < len(path) else None
    return by_bandwidth(path, indices[:MOST_SELECTED]), kept


def best_so_far(path: BandwidthPath) -> tuple[int, ...]:
    """Return the record of lowest c-NNC, and the one that was it before."""
    bests: list[int] = []
    for i, record in enumerate(path.found):
        if not bests or record.cnnc < path.records[bests[-1]].cnnc:
            bests.append(i)
    return by_bandwidth(path, bests[-2:])


def default_selection(path: BandwidthPath, recommended: int | None) -> tuple[int, ...]:
    """Return the recommended record, the best for the labels (or the longest-lived), and the k-means end."""
    if recommended is None:
        return ()
    best = max(range(path.n_found), key=lambda i: (_worth(path, i), -i))
    return by_bandwidth(path, [recommended, best, path.at_level(path.levels[0])[-1]])


def _worth(path: BandwidthPath, index: int) -> float:
    """Return NMI, or without labels the length of the interval in log sigma; the far end stands for itself."""
    record = path.records[index]
    if record.nmi is not None:
        return record.nmi
    extent = path.extent(index)
    return 0.0 if extent is None or math.isinf(extent.to) else math.log(extent.to / record.sigma)


def by_bandwidth(path: BandwidthPath, indices: Sequence[int]) -> tuple[int, ...]:
    """Return distinct indices by increasing bandwidth."""
    return tuple(sorted(set(indices), key=lambda i: (path.records[i].sigma, i)))


def store_of_selection(view: ResultView, chosen: Data) -> dict[str, Any]:
    """Return what `SELECTION` holds for the selection that is drawn."""
    before = dict(chosen or {"auto": True})
    return {**before, "indices": list(view.selection), "active": view.active}


def store_of_path(run: Run | None) -> dict[str, Any]:
    """Return what `SHOWN` holds: enough for the browser to walk along the path."""
    if run is None:
        return {}
    return {
        "id": run.id,
        # what is recommended may come while others still compare
        "version": f"{run.version}:{len(run.path)}",
        "active": run.active,
        "sigmas": drawn_sigmas(run.path),
        "told": ANNOUNCED.get(run.state, ""),
    }


def drawn_sigmas(path: BandwidthPath) -> list[float]:
    """Return the bandwidths as JSON can hold them: the largest number there is stands for infinity."""
    return [min(record.sigma, sys.float_info.max) for record in path.records]


def parse_selection(text: object) -> dict[str, Any]:
    """Return the selection written in an address ("12,20,47"); what is no number in it is left out."""
    parts = text.split(",") if isinstance(text, str) else []
    indices = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 9]
    return {"indices": indices, "active": indices[0] if indices else None, "auto": not indices}
