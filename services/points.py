"""From a description of data (`DataSpec`) to the points of a search.

Entry points: `DataSpec`, `propose` (what to start from), `load_points`. Memory: one float64 matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from offgrid.datasets.model import MISSING, SCALINGS, Points
from offgrid.datasets.registry import load
from offgrid.errors import InputError

if TYPE_CHECKING:
    from services.upload_keeping import Uploads

BUILTIN = "builtin:"
UPLOAD = "upload:"


@dataclass(frozen=True)
class DataSpec:
    """Which data a search runs on, as plain values: hashable, and JSON-ready through `to_dict`.

    Attributes
    ----------
    source : str
        ``"builtin:NAME"`` or ``"upload:ID"``.
    columns : tuple of str or None
        Features to use; None for all usable ones.
    label : str or None
        Label column's name, ``"auto"`` for the one recognised (or built in), None for none.
    missing : {"drop", "median"}
        Rows with missing values are dropped, or missing values filled with the column's median.
    scaling : {"none", "unit", "robust"}

    Raises
    ------
    InputError
        If a value is not one of these.
    """

    source: str
    columns: tuple[str, ...] | None = None
    label: str | None = "auto"
    missing: str = "drop"
    scaling: str = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.startswith((BUILTIN, UPLOAD)):
            raise InputError(f"The data source {self.source!r} is not known: it is builtin:NAME or upload:ID.")
        if self.columns is not None:
            if isinstance(self.columns, str) or not all(isinstance(name, str) for name in self.columns):
                raise InputError(f"The columns {self.columns!r} are no list of names: give the columns' names.")
            object.__setattr__(self, "columns", tuple(self.columns))
        if self.label is not None and not isinstance(self.label, str):
            raise InputError(f"The label column {self.label!r} is no name: give a column's name, auto or none.")
        if self.missing not in MISSING:
            raise InputError(f"The treatment of missing values {self.missing!r} is not known: choose drop or median.")
        if self.scaling not in SCALINGS:
            raise InputError(f"The scaling {self.scaling!r} is not known: choose none, unit or robust.")

    @property
    def builtin(self) -> str | None:
        """Name of the built-in data set, None for an upload."""
        return self.source.removeprefix(BUILTIN) if self.source.startswith(BUILTIN) else None

    @property
    def upload(self) -> str | None:
        """Id of the upload, None for a built-in data set."""
        return self.source.removeprefix(UPLOAD) if self.source.startswith(UPLOAD) else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        values = asdict(self)
        return {**values, "columns": None if self.columns is None else list(self.columns)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DataSpec:
        """Rebuild from `to_dict`, or from part of it: what is missing takes its default."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown or "source" not in values:
            what = f"{unknown[0]!r} is not among" if unknown else "source is missing from"
            raise InputError(f"The description of the data cannot be used: {what} {', '.join(sorted(known))}.")
        return cls(**values)


def propose(source: str, uploads: Uploads) -> tuple[DataSpec, int | None]:
    """Return what is proposed for a source, and the number of clusters, None without labels.

    Raises
    ------
    InputError
        If there is no such data set, or the upload is no longer kept.
    """
    spec = DataSpec(source)
    if spec.builtin is not None:
        dataset = load(spec.builtin)
        return DataSpec(source, scaling=dataset.scaling), dataset.k
    table = uploads.get(spec.upload or "").table
    return DataSpec(source, missing=table.missing, scaling=table.scaling), table.k


def load_points(spec: DataSpec, uploads: Uploads) -> Points:
    """Return the points that a description stands for.

    Raises
    ------
    InputError
        If there is no such data set, the upload is no longer kept, or it has no such column.
    """
    if spec.builtin is not None:
        return load(spec.builtin).prepare(label=spec.label, columns=spec.columns, scaling=spec.scaling)
    table = uploads.get(spec.upload or "").table
    return table.prepare(label=spec.label, columns=spec.columns, missing=spec.missing, scaling=spec.scaling)
