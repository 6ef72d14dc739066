"""From a description of data to points: JSON, proposals, built-in sets and uploads."""

from __future__ import annotations

import json

import numpy as np
import pytest

from offgrid.datasets import load, read_table
from offgrid.errors import InputError
from services.points import DataSpec, load_points, propose
from services.uploads import UploadStore

CSV = b"a,b,label\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, i % 3) for i in range(12)) + b"5,,1\n"


@pytest.fixture
def store(tmp_path):
    return UploadStore(tmp_path, read=read_table)


@pytest.mark.parametrize(
    "spec",
    [
        DataSpec("builtin:flame"),
        DataSpec("upload:abc", ("a, b", 'c "d"', "<é>"), None, "median", "robust"),
        DataSpec("builtin:wine", columns=("hue",), label="auto", scaling="unit"),
    ],
)
def test_json_there_and_back(spec):
    again = DataSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.columns is None or isinstance(again.columns, tuple)


def test_missing_fields_take_their_defaults():
    assert DataSpec.from_dict({"source": "builtin:flame"}) == DataSpec("builtin:flame")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"source": "file:///etc/passwd"}, "it is builtin:NAME or upload:ID"),
        ({"source": 3}, "it is builtin:NAME or upload:ID"),
        ({}, "source is missing"),
        ({"source": "builtin:flame", "colour": 1}, "'colour' is not among"),
        ({"source": "builtin:flame", "scaling": "z"}, "'z' is not known: choose none, unit or robust"),
        ({"source": "builtin:flame", "missing": "mean"}, "'mean' is not known: choose drop or median"),
        ({"source": "builtin:flame", "columns": "x1"}, "no list of names"),
        ({"source": "builtin:flame", "columns": [1]}, "no list of names"),
        ({"source": "builtin:flame", "label": 1}, "is no name"),
    ],
)
def test_a_description_that_anybody_may_have_written(values, words):
    with pytest.raises(InputError, match=words):
        DataSpec.from_dict(values)


def test_built_in_points(store):
    points = load_points(DataSpec("builtin:flame"), store)
    assert points.title == "Flame"
    assert np.array_equal(points.X, load("flame").X)
    assert points.n_classes == 2
    scaled = load_points(DataSpec("builtin:wine", ("hue", "ash"), None, scaling="unit"), store)
    assert scaled.feature_names == ("hue", "ash")
    assert np.allclose(scaled.X.std(axis=0), 1)
    assert scaled.y is None


def test_uploaded_points(store):
    upload = store.save("t.csv", CSV)
    spec = DataSpec(f"upload:{upload.id}", missing="median", scaling="none")
    points = load_points(spec, store)
    assert points.title == "t.csv"
    assert points.X.shape == (13, 2)
    assert points.X[12].tolist() == [5, 30.5]
    assert points.class_names == ("0", "1", "2")
    assert load_points(DataSpec(spec.source), store).X.shape == (12, 2)
    assert load_points(DataSpec(spec.source, ("b",), None), store).feature_names == ("b",)


def test_equal_descriptions_have_equal_hashes_and_others_do_not(store):
    one, two = store.save("one.csv", CSV), store.save("two.csv", CSV)
    specs = [
        DataSpec(f"upload:{one.id}"),
        DataSpec(f"upload:{one.id}", scaling="unit"),
        DataSpec(f"upload:{one.id}", missing="median"),
        DataSpec(f"upload:{one.id}", label=None),
        DataSpec(f"upload:{one.id}", columns=("b", "a")),
        DataSpec("builtin:flame"),
    ]
    hashes = [load_points(spec, store).hash for spec in specs]
    assert len(set(hashes)) == len(specs)
    assert load_points(DataSpec(f"upload:{two.id}"), store).hash == hashes[0]


def test_proposals(store):
    upload = store.save("t.csv", CSV)
    assert propose("builtin:wine", store) == (DataSpec("builtin:wine", scaling="unit"), 3)
    assert propose("builtin:r15", store) == (DataSpec("builtin:r15", scaling="none"), 15)
    assert propose(f"upload:{upload.id}", store) == (DataSpec(f"upload:{upload.id}", scaling="unit"), 3)
    unlabelled = store.save("u.csv", b"a,b\n1,2\n3,4.5\n,5\n")
    assert propose(f"upload:{unlabelled.id}", store) == (
        DataSpec(f"upload:{unlabelled.id}", missing="median", scaling="unit"),
        None,
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (DataSpec("builtin:moons"), "no data set 'moons'"),
        (DataSpec("builtin:"), "no data set ''"),
        (DataSpec("upload:"), "no longer kept"),
        (DataSpec("upload:../../x"), "no longer kept"),
        (DataSpec("upload:" + "x" * 22), "no longer kept"),
        (DataSpec("builtin:flame", ("x9",)), "no column 'x9'"),
        (DataSpec("builtin:flame", label="x1"), "its labels are built in"),
    ],
)
def test_what_is_not_there(spec, words, store):
    with pytest.raises(InputError, match=words):
        load_points(spec, store)
    if spec.columns is None and spec.label == "auto":
        with pytest.raises(InputError, match=words):
            propose(spec.source, store)
