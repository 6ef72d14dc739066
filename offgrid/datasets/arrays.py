"""NumPy's NPY and NPZ files, never unpickled.

Entry points: `read_npy`, `read_npz`. The header is read first: shape and type are refused before any memory is spent.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.archives import open_archive, unpack
from offgrid.datasets.delimited import unique_names
from offgrid.datasets.limits import Limits
from offgrid.datasets.model import listed
from offgrid.datasets.table import Column, number_column
from offgrid.errors import InputError

FEATURES = ("x", "data", "features", "points", "samples", "x_train", "train_x", "train_data", "arr_0")
LABELS = ("y", "label", "labels", "target", "targets", "class", "classes", "y_train", "train_y", "arr_1")
NAMES = ("feature_names", "columns", "names")
_MAX_HEADER = 10_000


def read_npy(content: bytes, name: str, limits: Limits) -> tuple[list[Column], list[str], tuple[int, int] | None]:
    """Return the columns of a 2-D array, notes, and the pictures' shape if rows look like pictures."""
    X = _array(content, name, f"The array in {name}", limits, "matrix")
    return _columns(X, None), [], _image_shape(X)


def read_npz(
    content: bytes, name: str, limits: Limits
) -> tuple[list[Column], list[str], str | None, tuple[int, int] | None]:
    """Return the columns of an archive's features and labels, notes, the label column's name, and pictures' shape."""
    archive = open_archive(content, name, limits)
    members = {part[:-4]: part for part in archive.namelist() if part.endswith(".npy")}
    if not members:
        raise InputError(f"{name} holds no arrays: save it with numpy.savez(file, X=X, y=y).")
    if {"indices", "indptr", "data", "shape"} <= set(members):
        raise InputError(f"{name} holds a sparse matrix: save it in full, with numpy.savez(file, X=X.toarray()).")
    shapes = {key: _header(_head(archive, part, name), _what(key, name))[0] for key, part in members.items()}

    def array(key: str, use: str) -> NDArray[Any]:
        return _array(unpack(archive, members[key], name, limits), name, _what(key, name), limits, use)

    x_name = _choose_features(shapes, name)
    X = array(x_name, "matrix")
    notes = [f"The array {x_name} is read as the features."]
    named = next((key for key in NAMES if shapes.get(key) == (X.shape[1],)), None)
    names = None if named is None else [_word(value) for value in array(named, "labels")]
    columns = _columns(X, names)
    y_name = _choose_labels(shapes, x_name)
    if y_name is None:
        return columns, notes, None, _image_shape(X)
    y = array(y_name, "labels").reshape(-1)
    if len(y) != len(X):
        raise InputError(
            f"{_what(y_name, name)} has {len(y):,} values for {len(X):,} rows: it must have one for each row."
        )
    taken = {column.name for column in columns}
    label = next(n for n in (y_name, *(f"{y_name} ({i})" for i in range(2, len(taken) + 3))) if n not in taken)
    return [*columns, _label_column(label, y)], notes, label, _image_shape(X)


def _what(key: str, name: str) -> str:
    return f"The array {key} in {name}"


def _head(archive: Any, part: str, name: str) -> bytes:
    """Return a member's first bytes, enough for its header."""
    try:
        with archive.open(part) as stream:
            return bytes(stream.read(_MAX_HEADER + 16))
    except Exception as error:
        raise InputError(f"{name} is damaged: its part {part} cannot be unpacked; save it again.") from error


def _choose_features(shapes: dict[str, tuple[int, ...]], name: str) -> str:
    lower = {key.lower(): key for key in shapes}
    for usual in FEATURES:
        if usual in lower:
            return lower[usual]
    matrices = [key for key, shape in shapes.items() if len(shape) == 2 and shape[1] > 1]
    if len(matrices) == 1 or len(shapes) == 1:
        return (matrices or list(shapes))[0]
    raise InputError(
        f"{name} holds the arrays {listed(list(shapes))}, and which one has the features is not clear: name it X."
    )


def _choose_labels(shapes: dict[str, tuple[int, ...]], x_name: str) -> str | None:
    """The array of a usual name; arr_1 only beside arr_0 and only with one value a row."""
    lower = {key.lower(): key for key in shapes}
    for usual in LABELS:
        key = lower.get(usual)
        if key is None or key == x_name:
            continue
        if usual == "arr_1" and (x_name != "arr_0" or math.prod(shapes[key]) != shapes[x_name][0]):
            continue
        return key
    return None


def _header(content: bytes, what: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and the header's length."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream, max_header_size=_MAX_HEADER)
    except Exception as error:  # the header is a Python literal: its parser raises whatever it likes
        raise InputError(f"{what} is damaged: its header cannot be read; save it again with numpy.save.") from error
    if any(length < 0 for length in shape):
        raise InputError(f"{what} is damaged: its header has a negative length; save it again with numpy.save.")
    return tuple(int(length) for length in shape), dtype, stream.tell()


def _array(content: bytes, name: str, what: str, limits: Limits, use: str) -> NDArray[Any]:
    """Return an array after its header was found acceptable for a "matrix" or for "labels"."""
    if not content:
        raise InputError(f"{name} is empty: a table needs at least two rows.")
    shape, dtype, _ = _header(content, what)
    _check_type(dtype, what, use)
    _check_dimensions(shape, what, use)
    limits.check_shape(shape[0], shape[1] if use == "matrix" else 1)
    limits.check_unpacked(math.prod(shape) * dtype.itemsize)
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False, max_header_size=_MAX_HEADER)
    except (ValueError, OSError, EOFError, TypeError) as error:
        raise InputError(f"{what} is damaged: it is shorter than its header says; save it again.") from error
    return array


def _check_type(dtype: np.dtype[Any], what: str, use: str) -> None:
    if dtype.hasobject:
        remedy = "y.astype(str) or numbers" if use == "labels" else "plain numbers"
        raise InputError(f"{what} holds Python objects (pickle), which are never loaded: save it as {remedy}.")
    if dtype.names is not None:
        raise InputError(f"{what} holds records, not numbers: save a plain array of rows and columns.")
    if dtype.kind == "c":
        raise InputError(f"{what} holds complex numbers: save real ones, such as its real and imaginary parts.")
    if dtype.kind not in ("biufUS" if use == "labels" else "biuf"):
        raise InputError(f"{what} holds values of type {dtype}, not numbers: save an array of numbers.")


def _check_dimensions(shape: tuple[int, ...], what: str, use: str) -> None:
    if use == "labels":
        if not (len(shape) == 1 or (len(shape) == 2 and 1 in shape)):
            raise InputError(f"{what} has the shape {_shape(shape)}: labels are one value for each row.")
    elif len(shape) == 3:
        flat = f"({shape[0]}, {shape[1] * shape[2]})"
        raise InputError(f"{what} has 3 dimensions, {_shape(shape)}: 2 are needed; reshape it to {flat}.")
    elif len(shape) != 2:
        n = f"{len(shape)} dimension{'s' * (len(shape) != 1)}"
        raise InputError(f"{what} has {n}, {_shape(shape)}: 2 are needed, rows and columns.")
    elif 0 in shape:
        raise InputError(f"{what} is empty, its shape being {_shape(shape)}: a table needs at least two rows.")


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{length:,}" for length in shape) if shape else "a single value"


def _columns(X: NDArray[Any], names: Sequence[str] | None) -> list[Column]:
    unique, _ = unique_names(names, X.shape[1])
    return [number_column(name, X[:, j]) for j, name in enumerate(unique)]


def _label_column(name: str, y: NDArray[Any]) -> Column:
    if y.dtype.kind not in "US":
        return number_column(name, y)
    words = np.array([_word(value) for value in y])
    categories, codes = np.unique(words, return_inverse=True)
    codes = codes.astype(np.int32)
    if len(categories) and categories[0] == "":
        categories, codes = categories[1:], codes - 1
    return Column(name, "text", codes, tuple(map(str, categories)), why="it holds text")


def _word(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _image_shape(X: NDArray[Any]) -> tuple[int, int] | None:
    """Bytes in rows of a square length, 8 x 8 at least, are taken for pictures."""
    side = math.isqrt(X.shape[1])
    return (side, side) if X.dtype == np.uint8 and side >= 8 and side * side == X.shape[1] else None
