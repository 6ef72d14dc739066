"""Data that are in memory already: arrays, lists, images and data frames, each to a `Table`.

Entry point: `table_of`. Memory: one float64 copy of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.assembly import assemble
from offgrid.datasets.delimited import free_name, unique_names
from offgrid.datasets.limits import Limits
from offgrid.datasets.table import Column, Table, number_column
from offgrid.errors import InputError
from offgrid.validation import dense_array

GIVEN = "given beside the data"


def table_of(X: Any, y: Any = None, *, name: str = "data") -> Table:
    """Return the table of points, as `read_table` returns that of a file.

    Parameters
    ----------
    X : array-like (n, d), images (n, height, width), or data frame
        A frame keeps its columns' names; columns that hold no numbers are ignored, with the reason in the report.
    y : array-like (n,) or None
        Labels of any type; None and NaN are missing.
    name : str
        What to call the data.

    Raises
    ------
    InputError
        If they cannot be used.
    """
    columns, image_shape = _frame_columns(X) if _is_frame(X) else _array_columns(X)
    label = None
    if y is not None:
        taken = {column.name for column in columns}
        wanted = str(getattr(y, "name", None) or "label")
        label = free_name(wanted, taken)
        columns = [*columns, _label_column(label, y, len(columns[0].values))]
    return assemble(name, columns, [], Limits(), label=label, why_label=GIVEN, image_shape=image_shape, numbered=False)


def _is_frame(X: Any) -> bool:
    """Whether X has named columns, as the frames of pandas and polars do."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and len(getattr(X, "shape", ())) == 2


def _frame_columns(X: Any) -> tuple[list[Column], None]:
    if 0 in X.shape:
        raise InputError(f"The data frame has the shape {X.shape}: a table needs at least two rows and a column.")
    names, _ = unique_names([str(name) for name in X.columns], X.shape[1])
    series = (X.iloc[:, j] if hasattr(X, "iloc") else X[:, j] for j in range(X.shape[1]))
    return [_column(name, np.asarray(values)) for name, values in zip(names, series, strict=True)], None


def _array_columns(X: Any) -> tuple[list[Column], tuple[int, int] | None]:
    values = dense_array(X)
    image_shape = None
    if values.ndim == 3:
        image_shape = (values.shape[1], values.shape[2])
        values = values.reshape(len(values), -1)
    if values.ndim != 2:
        raise InputError(f"X has {values.ndim} dimensions where it needs 2, rows and columns: reshape it.")
    if 0 in values.shape:
        raise InputError(f"X has the shape {values.shape}: a table needs at least two rows and a column.")
    names, _ = unique_names(None, values.shape[1])
    return [_column(name, values[:, j]) for j, name in enumerate(names)], image_shape


def _label_column(name: str, y: Any, n_rows: int) -> Column:
    # One by one for a list: numpy would turn 1 and "a" both into text, and tuples into a second dimension.
    values = np.fromiter(y, dtype=object, count=len(y)) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"y has the shape {values.shape}: labels are one value for each row.")
    if len(values) != n_rows:
        raise InputError(f"y has {len(values):,} values for {n_rows:,} rows: it must have one for each row.")
    return _column(name, values.astype(object) if values.dtype == bool else values)


def _column(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind in "biuf":
        return number_column(name, values)
    if values.dtype.kind in "mM":
        return Column(name, "other", np.full(len(values), -1, np.int32), why="it holds dates or times", role="ignored")
    cells = [_plain(value) for value in values.tolist()]
    if all(value is None or (isinstance(value, Real) and not isinstance(value, bool)) for value in cells):
        return number_column(name, np.array([np.nan if value is None else float(value) for value in cells]))
    return _text_column(name, cells)


def _plain(value: Any) -> Any:
    """Return a cell's value, None where it is missing."""
    if value is None:
        return None
    try:
        return None if value != value else value  # noqa: PLR0124 - NaN is what differs from itself
    except TypeError:  # pandas.NA is neither
        return None
    except ValueError:  # an array in a cell
        return value


def _text_column(name: str, cells: Sequence[Any]) -> Column:
    texts = [None if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
             for value in cells]  # fmt: skip
    categories = sorted({text for text in texts if text is not None})
    place = {text: i for i, text in enumerate(categories)}
    codes = np.array([-1 if text is None else place[text] for text in texts], dtype=np.int32)
    return Column(name, "text", codes, tuple(categories), why="it holds text")
