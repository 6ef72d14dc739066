"""Tables as plain values: JSON for names, roles and the report, two stacks of numbers for the columns. Never code.

The file's own words, where a table has them, are a part of their own. Entry points: `table_values` and `table_arrays`,
and back again `table_from`, which believes nothing that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.given import SEPARATORS, Given
from offgrid.datasets.model import MISSING, SCALINGS
from offgrid.datasets.table import Column, Kind, Role, Table, TableReport

_PLAIN = ("name", "kind", "categories", "declared", "n_infinite", "why", "role")
_CELLS = ("separator", "size", "marked")
_TYPES = {"name": str, "kind": str, "categories": list, "declared": bool, "n_infinite": int, "why": str, "role": str}


def table_values(table: Table) -> dict[str, Any]:
    """Return everything but the columns' values and the cells, JSON-ready."""
    given = table.given
    return {
        "name": table.name,
        "n_rows": table.n_rows,
        "scaling": table.scaling,
        "missing": table.missing,
        "image_shape": table.image_shape,
        "report": table.report.to_dict(),
        "columns": [{key: getattr(column, key) for key in _PLAIN} for column in table.columns],
        "given": None if given is None else {key: getattr(given, key) for key in _CELLS},
    }


def table_arrays(table: Table) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the columns of numbers and the codes of all others, each column a contiguous row of its array."""
    numbers = [column for column in table.columns if column.kind == "number"]
    others = [column for column in table.columns if column.kind != "number"]
    return _stacked(numbers, np.float64, table.n_rows), _stacked(others, np.int32, table.n_rows)


def table_from(values: Mapping[str, Any], numbers: NDArray[Any], codes: NDArray[Any], cells: bytes = b"") -> Table:
    """Rebuild a table; `cells` are the packed ones of the file, where it has any.

    Raises
    ------
    ValueError, LookupError, TypeError
        Where the parts do not make one.
    """
    n_rows, shape = values["n_rows"], values["image_shape"]
    if numbers.dtype != np.float64 or codes.dtype != np.int32 or (numbers.shape[1], codes.shape[1]) != (n_rows, n_rows):
        raise ValueError(f"columns of {numbers.dtype} and {codes.dtype} in {numbers.shape} and {codes.shape}")
    kinds = [column["kind"] for column in values["columns"]]
    if (kinds.count("number"), len(kinds)) != (len(numbers), len(numbers) + len(codes)):
        raise ValueError(f"{len(numbers)} and {len(codes)} columns for {len(kinds)} names")
    if values["scaling"] not in SCALINGS or values["missing"] not in MISSING:
        raise ValueError(f"the treatment {values['scaling']!r}, {values['missing']!r}")
    rows = {True: iter(numbers), False: iter(codes)}
    return Table(
        name=str(values["name"]),
        columns=tuple(_column(column, next(rows[column["kind"] == "number"])) for column in values["columns"]),
        n_rows=n_rows,
        report=TableReport.from_dict(values["report"]),
        scaling=values["scaling"],
        missing=values["missing"],
        image_shape=(int(shape[0]), int(shape[1])) if shape else None,
        given=_given(values.get("given"), cells),  # a table that was kept before there were cells has none
    )


def _given(plain: Mapping[str, Any] | None, cells: bytes) -> Given | None:
    if plain is None:
        return None
    if plain["separator"] not in SEPARATORS or type(plain["size"]) is not int or plain["size"] < 1 or not cells:
        raise ValueError(f"the cells {plain!r:.200} in {len(cells)} bytes")
    return Given(plain["separator"], plain["size"], cells, bool(plain["marked"]))


def _stacked(columns: Sequence[Column], dtype: Any, n_rows: int) -> NDArray[Any]:
    return np.stack([column.values for column in columns]) if columns else np.empty((0, n_rows), dtype=dtype)


def _column(plain: Mapping[str, Any], data: NDArray[Any]) -> Column:
    wrong = [key for key, kind in _TYPES.items() if type(plain[key]) is not kind]
    if wrong or plain["kind"] not in get_args(Kind) or plain["role"] not in get_args(Role):
        raise ValueError(f"the column {plain!r:.200}")
    categories = tuple(map(str, plain["categories"]))
    if plain["kind"] != "number" and len(data) and not -1 <= data.min() <= data.max() < len(categories):
        raise ValueError(f"codes from {data.min()} to {data.max()} for {len(categories)} categories")
    return Column(**{**{key: plain[key] for key in _PLAIN}, "categories": categories}, values=data)
