"""Data in memory, as tables."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from offgrid.datasets.frames import table_of
from offgrid.errors import InputError

X = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.5]]


def test_an_array_becomes_columns_of_numbers():
    table = table_of(np.array(X, dtype=np.float32), name="mine")
    assert table.name == "mine"
    assert table.features == ("column 1", "column 2")
    assert table.X.tolist() == X
    assert table.y is None


@pytest.mark.parametrize(
    ("y", "names"),
    [
        ([1, 0, 1], ("0", "1")),
        (["b", "a", "b"], ("a", "b")),
        (np.array([True, False, True]), ("False", "True")),
        ([("b", 2), ("a", 1), ("b", 2)], ("('a', 1)", "('b', 2)")),
        (np.array([[2.5], [1.0], [2.5]]), ("1", "2.5")),
        (["1a", 1, "1a"], ("1", "1a")),
        (np.array([b"y", b"x", b"y"]), ("x", "y")),
    ],
)
def test_labels_may_be_of_any_type(y, names):
    points = table_of(X, y).prepare()
    assert points.class_names == names
    assert points.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_rows_without_a_label_are_dropped_and_told(nothing):
    table = table_of([*X, [6.0, 7.0]], ["a", nothing, "b", "b"])
    points = table.prepare()
    assert points.rows.tolist() == [0, 2, 3]
    assert any("1 row has no class" in sentence for sentence in table.report.sentences)


def test_a_frame_keeps_names_and_says_what_it_ignores():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "width": [1, 2, 2, 4],
            "height": pandas.array([1, None, 3, 4], dtype="Int64"),
            "note": ["a", "b", "c", "d"],
            "seen": pandas.to_datetime(["2024-01-01"] * 4),
            7: [0.5, 0.25, 0.5, 1.0],
        },
        index=[9, 8, 7, 6],
    )
    table = table_of(frame, pandas.Series(["u", "v", "u", "v"], name="kind", index=frame.index))
    assert table.features == ("width", "height", "7")
    assert table.label == "kind"
    assert dict(table.report.ignored) == {"note": "it holds text", "seen": "it holds dates or times"}
    assert table.report.n_missing == 1
    assert "The labels are in column kind, with 2 classes: given beside the data." in table.report.sentences


def test_a_label_named_like_a_column_gets_a_name_of_its_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"label": [1.0, 2.0, 3.5], "other": [1.0, 0.0, 2.0]})
    assert table_of(frame, [0, 1, 1]).label == "label (2)"


def test_images_are_read_row_by_row():
    images = np.arange(24, dtype=float).reshape(2, 3, 4)
    table = table_of(images)
    assert table.image_shape == (3, 4)
    assert table.X.tolist() == images.reshape(2, 12).tolist()


@pytest.mark.parametrize(
    ("bad", "y", "sentence"),
    [
        ([1.0, 2.0], None, "X has 1 dimensions where it needs 2"),
        (np.empty((0, 2)), None, r"X has the shape \(0, 2\)"),
        ([[1.0], [1.0, 2.0]], None, "rows of different lengths"),
        (X, [1, 2], "y has 2 values for 3 rows"),
        (X, np.zeros((3, 2)), r"y has the shape \(3, 2\)"),
        ([["a"], ["b"]], None, "no column of numbers"),
        ([[datetime.date(2024, 1, 1)]] * 2, None, "no column of numbers"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(bad, y, sentence):
    with pytest.raises(InputError, match=sentence):
        table_of(bad, y)
