"""Values as bytes and back, without pickle: arrays, plain values, and this application's own dataclasses made of them.

Entry points: `pack` and `unpack`. A packed value is a line of JSON, then the arrays in NumPy's own format. What is read
back can only be data: a class is looked up among the dataclasses of this application, and nothing is ever executed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OWN = ("offgrid.", "services.")


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises
    ------
    TypeError
        Where it holds anything but arrays of numbers or text, plain values, and dataclasses, lists, tuples and
        dictionaries of them.
    """
    arrays: list[NDArray[Any]] = []
    stream = io.BytesIO()
    stream.write(json.dumps(_plain(value, arrays)).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def unpack(data: bytes) -> Any:
    """Return the value that `pack` made these bytes of.

    Raises
    ------
    ValueError, LookupError, TypeError, AttributeError, ImportError, EOFError
        Where they are something else.
    """
    stream = io.BytesIO(data)
    plain = json.loads(stream.readline())
    return _whole(plain, _arrays(stream))


def _arrays(stream: io.BytesIO) -> Iterator[NDArray[Any]]:
    while True:
        yield np.lib.format.read_array(stream, allow_pickle=False)


def _plain(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as JSON; its arrays are put into the list, in the order in which `_whole` meets them."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays.append(value)
        return ["array"]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [_plain(one, arrays) for one in value]]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ["dict", {key: _plain(one, arrays) for key, one in value.items()}]
    kind = type(value)
    if is_dataclass(kind) and kind.__module__.startswith(_OWN):
        parts = {field.name: _plain(getattr(value, field.name), arrays) for field in fields(kind)}
        return ["object", f"{kind.__module__}:{kind.__qualname__}", parts]
    raise TypeError(f"a {kind.__name__} cannot be packed")


def _whole(plain: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    if not isinstance(plain, list):
        return plain
    if plain[0] == "array":
        return next(arrays)
    if plain[0] in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[plain[0]](_whole(one, arrays) for one in plain[1])
    if plain[0] == "dict":
        return {key: _whole(one, arrays) for key, one in plain[1].items()}
    module, name = plain[1].split(":")
    kind = getattr(import_module(module), name) if module.startswith(_OWN) else None
    if plain[0] != "object" or not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"no value of ours: {plain[:2]!r:.100}")
    return kind(**{key: _whole(one, arrays) for key, one in plain[2].items()})
