"""Values without pickle: what is packed comes back equal, what cannot be packed says so, what is read is never code."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from offgrid.metrics import NeighbourRanks
from services.packing import pack, unpack
from services.projection import Principal


def same(one, other):
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, (list, tuple)):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            same(mine, yours)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    else:
        assert type(one) is type(other)
        assert one == other


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        0.1,
        float("inf"),
        "größe",
        [],
        (),
        {},
        [1, (2.5, None), {"a": [True, "x"]}],
        np.arange(6).reshape(2, 3),
        np.zeros((0, 4), dtype=np.uint16),
        np.array(["a", "bc"]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        {"a": np.arange(3), "b": (np.ones(2), [np.array(5)])},
    ],
)
def test_a_value_comes_back_equal(value):
    same(value, unpack(pack(value)))


def test_numpy_s_scalars_come_back_as_plain_ones():
    same([1.5, 3, True], unpack(pack([np.float64(1.5), np.int32(3), np.bool_(True)])))


def test_the_application_s_own_dataclasses_come_back():
    found = unpack(pack(Principal(np.arange(4.0).reshape(2, 2), (0.7, 0.3))))
    assert isinstance(found, Principal)
    same((found.scores, found.shares), (np.arange(4.0).reshape(2, 2), (0.7, 0.3)))
    ranks = NeighbourRanks(np.arange(3), np.zeros((3, 3), np.uint16), np.ones(3))
    assert isinstance(unpack(pack(ranks)), NeighbourRanks)


@dataclass
class Foreign:
    value: int


@pytest.mark.parametrize("value", [{1: 2}, {1, 2}, object(), b"x", Foreign(1), Path("x"), np.array([{}], dtype=object)])
def test_anything_else_is_refused(value):
    with pytest.raises(TypeError, match="cannot be packed"):
        pack(value)


@pytest.mark.parametrize(
    "plain",
    [
        ["object", "os:system", {"command": "true"}],
        ["object", "builtins:eval", {}],
        ["object", "services.packing:import_module", {"name": "antigravity"}],
        ["object", "services.packing:json.loads", {}],
        ["object", "offgrid.metrics:np", {}],
        ["object", "services.jobs:Heart", {}],
        ["object", "services.nowhere:Thing", {}],
        ["object", "services.projection:Principal", {"scores": 1, "other": 2}],
        ["call", "services.projection:Principal", {}],
        ["array"],
        ["other", []],
        [],
    ],
)
def test_what_is_read_can_only_be_data(plain):
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError, ImportError, EOFError)):
        unpack(json.dumps(plain).encode() + b"\n")


def test_a_pickle_is_not_loaded():
    class Boom:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
        unpack(pickle.dumps(Boom()))
    array = np.empty(1, dtype=object)
    array[0] = 1
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    with pytest.raises(ValueError, match="Object arrays"):
        unpack(b'["array"]\n' + stream.getvalue())
