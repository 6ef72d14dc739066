"""From a table to points: labels, columns, missing values, scaling."""

from __future__ import annotations

import numpy as np
import pytest

from offgrid.errors import InputError
from tests.unit.tables import labelled, read

# ------------------------------------------------------------------------------------------------ prepare

TEXT = "a,b,note,label\n1,10,p,u\n2,,q,v\n3,30,r,u\n4,40,s,\n9,50,t,v\n"


def test_prepare_drop():
    points = read(TEXT).prepare()
    assert points.X.tolist() == [[1, 10], [3, 30], [9, 50]]
    assert points.X.flags.c_contiguous
    assert points.y.tolist() == [0, 0, 1]
    assert points.class_names == ("u", "v")
    assert points.rows.tolist() == [0, 2, 4]
    assert points.n_left_out == 2
    assert points.notes[:2] == ("1 row with missing values dropped.", "1 row without a class dropped.")
    assert points.notes[2].startswith("Column b holds "), "a column decides nearly alone"
    assert points.title == "t.csv"


def test_prepare_median():
    points = read(TEXT).prepare(missing="median", label=None)
    assert points.X.tolist() == [[1, 10], [2, 35], [3, 30], [4, 40], [9, 50]]
    assert points.y is None
    assert points.notes[0] == "1 missing value filled with the column's median."


def test_a_row_without_any_value_cannot_be_filled():
    points = read("a,b\n1,2\n,\n3,4\n").prepare(missing="median")
    assert points.X.tolist() == [[1, 2], [3, 4]]
    assert points.notes == ("1 row without any value dropped.",)


def test_prepare_scales_the_rows_that_are_kept():
    X = read(TEXT).prepare(scaling="unit").X
    assert np.allclose(X.std(axis=0), 1)
    assert np.allclose(X[0], np.array([1, 10]) / np.array([[1, 10], [3, 30], [9, 50]]).std(axis=0))
    assert np.allclose(np.median(read(TEXT).prepare(scaling="robust").X, axis=0), 0)


def test_prepare_columns_and_labels_chosen():
    table = read(TEXT.replace("9,50", "1,50"))
    points = table.prepare(label="a", columns=("b",))
    assert points.feature_names == ("b",)
    assert points.class_names == ("1", "3", "4")  # the row without b is gone
    assert points.y.tolist() == [0, 1, 2, 0]
    assert table.prepare(label=None, columns=["b", "a"], missing="median").X[0].tolist() == [10, 1]


def test_a_column_chosen_as_feature_is_no_automatic_label():
    table = read(labelled(("a", "b", "label"), lambda i: str(i % 3)))
    assert table.prepare(columns=("a", "label")).y is None
    assert table.prepare(columns=("a", "b")).y is not None


def test_numeric_classes_are_named_and_sorted_as_numbers():
    text = "a,label\n" + "".join(f"{i / 7},{10 - i % 3}\n" for i in range(12))
    points = read(text).prepare()
    assert points.class_names == ("8", "9", "10")
    assert points.y[:3].tolist() == [2, 1, 0]


def test_labels_that_dropping_leaves_with_one_class_are_left_out():
    table = read("a,label\n1,u\n2,u\n,v\n3,u\n,v\n")
    points = table.prepare()
    assert points.y is None
    assert "The labels in column label are not used: it has one value only." in points.notes


def test_the_default_preparation():
    X, y = read(TEXT)
    assert np.array_equal(X, read(TEXT).prepare(missing=read(TEXT).missing).X)
    assert y.tolist() == [0, 1, 0, 1]  # median: a fifth of the rows would be lost twice over
    assert read(TEXT).labelling == ("label",)
    assert read(TEXT).numeric == ("a", "b")


def test_words_and_whole_numbers_that_recur_are_offered_as_labels():
    rows = (f"{i % 3},{i % 5 / 2},{i // 2},{i // 2 if i < 10 else i},{'uvw'[i % 3]},w,{i}," for i in range(12))
    table = read("class,half,pair,nearly_all,word,same,row,empty\n" + "\n".join(rows) + "\n")
    assert table.labelling == ("class", "pair", "word")
    assert table.prepare(label="half").n_classes == 5, "others can be, where they are asked for"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "nope"}, "no column 'nope': choose from a, b, note and label"),
        ({"columns": ("nope",)}, "no column 'nope'"),
        ({"columns": ("note",)}, "'note' cannot be a feature: it holds text"),
        ({"columns": ()}, "at least one column"),
        ({"columns": ("a", "a")}, "chosen twice"),
        ({"label": "a", "columns": ("a",)}, "'a' is chosen as label and as feature"),
        ({"label": "note"}, "'note' cannot be the labels: each of its 4 values is different"),
        ({"missing": "mean"}, "'mean' is not known: choose drop or median"),
        ({"scaling": "z"}, "'z' is not known"),
    ],
)
def test_prepare_refuses(options, words):
    with pytest.raises(InputError, match=words):
        read(TEXT).prepare(**options)


def test_dropping_nearly_everything_offers_the_median():
    table = read("a,b\n1,\n,2\n3,\n4,5\n")
    with pytest.raises(InputError, match="leaves 1 row of 4: fill with the median instead"):
        table.prepare()
    assert table.prepare(missing="median").X.tolist() == [[1, 3.5], [3, 2], [3, 3.5], [4, 5]]
    assert table.X.shape == (4, 2)


def test_a_constant_label_chosen_is_refused():
    with pytest.raises(InputError, match="one value only"):
        read("a,b\n1,5\n2,5\n").prepare(label="b")


def test_the_last_feature_cannot_become_the_label():
    with pytest.raises(InputError, match="No column of numbers is left"):
        read("a,n\n1,u\n1,v\n2,w\n").prepare(label="a")
