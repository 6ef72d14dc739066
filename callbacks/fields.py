"""The settings column as values: from its fields to `RunSettings`, and from settings to what the fields show.

Entry points: `FIELDS`, `asked_from`, `data_from`, `settings_view` and `data_cards`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from layouts import ids
from layouts.kernel_section import SUM
from layouts.views import DataCard, SettingsView, UploadView
from offgrid.datasets import load, names
from offgrid.datasets.model import Points
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services.context import BY_ITSELF, Services
from services.points import DataSpec
from services.projection import principal_components
from services.run_settings import RunSettings, SearchSettings
from services.uploads import Upload

# Every field that decides a run, by the name that `asked_from` knows it by.
FIELDS: dict[str, tuple[str, str]] = {
    "data": (ids.DATA_GALLERY, "value"),
    "uploaded": (ids.UPLOADED, "data"),
    "columns": (ids.COLUMNS, "value"),
    "column_options": (ids.COLUMNS, "data"),
    "label": (ids.LABEL_COLUMN, "value"),
    "missing": (ids.MISSING, "value"),
    "scaling": (ids.SCALING, "value"),
    "k": (ids.K, "value"),
    "init": (ids.INIT, "value"),
    "seed": (ids.SEED, "value"),
    "n_init": (ids.RESTARTS, "value"),
    "method": (ids.METHOD, "value"),
    "depths": (ids.DEPTHS, "value"),
    "start": (ids.START, "value"),
    "start_value": (ids.START_VALUE, "value"),
    "limiting": (ids.LIMITING, "value"),
    "max_steps": (ids.MAX_STEPS, "value"),
    "kernel": (ids.KERNEL, "value"),
    "offset": (ids.OFFSET, "value"),
    "sum_kernel": (ids.SUM_KERNEL, "value"),
    "plus_weight": (ids.PLUS_WEIGHT, "value"),
    "plus_kernel": (ids.PLUS_KERNEL, "value"),
    "plus_value": (ids.PLUS_VALUE, "value"),
    "compare": (ids.COMPARE_WITH, "value"),
}

Values = Mapping[str, Any]
PREVIEW_ROWS = 5
SHOWN_ALWAYS = 2  # columns that are all drawn, with nothing to choose


def asked_from(values: Values) -> RunSettings:
    """Return the settings that the fields hold.

    Raises
    ------
    InputError
        Where a field is empty or its value can't be used.
    """
    return RunSettings(data_from(values), _search_from(values), tuple(values["compare"] or ()))


def data_from(values: Values) -> DataSpec:
    """Return the data that the fields describe."""
    uploaded = values["uploaded"]
    source = values["data"] or (f"upload:{uploaded['id']}" if uploaded else "")
    if not source:
        raise InputError("No data are chosen; pick a built-in set or upload a file.")
    chosen = list(values["columns"] or [])
    every = list(values["column_options"] or [])
    if every and not chosen:
        raise InputError("No column is chosen; a search needs at least one column of numbers.")
    columns = tuple(name for name in every if name in chosen) if every else None
    return DataSpec(source, columns, values["label"] or None, values["missing"], values["scaling"])


def _search_from(values: Values) -> SearchSettings:
    start = values["start"]
    if start == "value":
        start = _positive("The first value", values["start_value"])
    depths = tuple(sorted(int(depth) for depth in values["depths"] or ()))
    limiting = values["limiting"]
    return SearchSettings(
        n_clusters=_whole("k", values["k"]),
        method=values["method"],
        depths=depths,
        start=start,
        init=values["init"],
        n_init=_whole("The number of restarts", values["n_init"]),
        seed=_whole("The seed", values["seed"]),
        limiting=None if limiting in (None, "none") else limiting,
        max_steps=None if values["max_steps"] in (None, "") else _whole("The step budget", values["max_steps"]),
        **_kernel_from(values),
    )


def _kernel_from(values: Values) -> dict[str, Any]:
    """Return the settings of the kernel. Fields that are hidden keep what they hold, and do not count."""
    summed = values["kernel"] == SUM
    searched = values["sum_kernel"] if summed else values["kernel"]
    plus = None
    if summed:
        weight = _positive("The weight of the fixed kernel", values["plus_weight"])
        value = _positive("The σ or degree of the fixed kernel", values["plus_value"])
        plus = (weight, values["plus_kernel"], value)
    named = (searched, plus and plus[1])
    offset = _number("The constant c", values["offset"]) if "polynomial" in named else 1.0
    return {"kernel": searched, "offset": offset, "plus": plus}


def _whole(what: str, value: Any) -> int:
    number = _number(what, value)
    if number != int(number):
        raise InputError(f"{what} is {value}; it must be a whole number.")
    return int(number)


def _positive(what: str, value: Any) -> float:
    number = _number(what, value)
    if number <= 0:
        raise InputError(f"{what} is {value}; it must be a positive number.")
    return number


def _number(what: str, value: Any) -> float:
    if value in (None, ""):
        raise InputError(f"{what} is empty; give a number.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} is {value!r}; it must be a number.")
    return number


def settings_view(services: Services, asked: RunSettings) -> SettingsView:
    """Return what the settings column shows for these settings.

    Raises
    ------
    InputError
        Where the data are gone.
    """
    search = asked.search
    upload = None if asked.data.upload is None else services.upload(asked.data.upload)
    points = services.points(asked.data)
    return SettingsView(
        **(_builtin_fields(asked.data) if upload is None else _upload_fields(upload, asked.data)),
        data_title=points.title,
        missing=asked.data.missing,
        scaling=asked.data.scaling,
        k=search.n_clusters,
        k_note=k_note(points, search.n_clusters),
        prepared=points.notes,
        init=search.init,
        seed=search.seed,
        n_init=search.n_init,
        method=search.method,
        depths=search.depths,
        start=search.start,
        limiting=search.limiting,
        max_steps=search.max_steps,
        kernel=search.kernel,
        kernel_title=search.kernel_title,
        offset=search.offset,
        plus=search.plus,
        compare=asked.compare,
    )


def k_note(points: Points, n_clusters: int) -> str:
    """Return what stands beside k: where it comes from, or that nothing tells it."""
    if points.n_classes is None:
        return "k, yours to choose"
    return "k, from the labels" if points.n_classes == n_clusters else "k"


def _builtin_fields(spec: DataSpec) -> dict[str, Any]:
    every = load(spec.builtin or "").feature_names
    shown = every if len(every) > SHOWN_ALWAYS else ()
    return {"data": spec.source, "columns": shown, "chosen_columns": spec.columns or shown, "label": spec.label}


def _upload_fields(upload: Upload, spec: DataSpec) -> dict[str, Any]:
    table = upload.table
    label = table.label if spec.label == BY_ITSELF else spec.label
    return {
        "data": spec.source,
        "columns": table.numeric,
        "chosen_columns": spec.columns or tuple(name for name in table.features if name != label),
        "label_options": table.labelling if label in (None, *table.labelling) else (*table.labelling, label),
        "label": label,
        "has_missing": table.report.n_missing > 0 or table.report.n_incomplete > 0,
        "upload": upload_view(upload.id, upload.filename, table),
    }


def upload_view(upload_id: str, filename: str, table: Table) -> UploadView:
    """Return an upload's report and its first rows."""
    return UploadView(
        id=upload_id,
        name=filename,
        lines=table.report.sentences,
        columns=[column.name for column in table.columns],
        rows=table.head(PREVIEW_ROWS),
    )


@lru_cache(maxsize=1)
def data_cards() -> tuple[DataCard, ...]:
    """Return the gallery: every built-in set with points for its thumbnail. Drawn once for each process."""
    return tuple(_card(name) for name in names())


def _card(name: str) -> DataCard:
    points = load(name).prepare()
    flat = points.X.shape[1] <= SHOWN_ALWAYS
    return DataCard(f"builtin:{name}", points.title, points.X if flat else principal_components(points.X).scores)
