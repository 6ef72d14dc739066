"""What is recognised in a table, a first line of names, labels, row numbers, and what is said of it."""

from __future__ import annotations

import pytest

from tests.unit.tables import labelled, read, said

# ------------------------------------------------------------------------------------------------ header

HEADERS = [
    ("a,b\n1,2\n3,4\n", True),
    ("1,2\n3,4\n", False),
    ("a,1\nb,2\nc,3\n", False),
    ("name,1990\nu,5\nv,6\n", False),
    ("x,y,kind\n1,2,u\n3,4,v\n", True),
    ("NA,2,u\n3,4,v\n", False),
    (",a,b\n0,1.5,2\n1,2.5,3\n", True),
    ("a,b\nx,2\n3,4\n5,6\n7,8\n9,10\n11,12\n", True),
]


@pytest.mark.parametrize(("text", "header"), HEADERS)
def test_a_first_line_of_names(text, header):
    table = read(text)
    assert table.n_rows == text.count("\n") - header
    assert ("first line has the names" in said(table)) == header


# ------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    "name",
    ["label", "Class", "TARGET", "y", "species", "true_label", "ClassLabel", "cluster_id", "Cluster", "ground truth"],
)
def test_labels_by_name_anywhere(name):
    text = labelled(("a", "b", name), lambda i: str(i % 3))
    assert read(text).label == name
    front = "\n".join(",".join(line.split(",")[::-1]) for line in text.split("\n"))
    assert read(front).label == name
    assert "recognised by its name" in said(read(front))


def test_the_plainest_name_wins():
    text = "label,class_of_1990,a\n" + "".join(f"{i % 3},{i % 2},{i / 7}\n" for i in range(12))
    assert read(text).label == "label"


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (("a", "b", "target"), lambda i: f"{i * 0.37:.2f}"),  # a number to predict
        (("a", "b", "target"), str),  # every value different
        (("a", "b", "c"), lambda i: str(i % 15)),  # too many for numbers that nobody named
        (("a", "b", "c"), lambda i: str(3 + 4 * (i % 3))),  # no numbering
        (("a", "b", "label"), lambda _: "7"),  # one class
    ],
)
def test_no_labels(names, cells):
    table = read(labelled(names, cells))
    assert table.label is None
    assert table.k is None
    assert "No column is recognised as labels." in table.report.sentences


def test_y_beside_x_is_a_coordinate():
    grid = "".join(f"{i // 5},{i % 5}\n" for i in range(25))
    assert read("x,y\n" + grid).features == ("x", "y")
    assert read("x1,y\n" + grid).label == "y"


def test_the_last_column_is_labels_only_if_unlike_the_others():
    assert read(labelled(("a", "b", "c"), lambda i: str(i % 3))).label == "c"
    alike = "a,b,c\n" + "".join(f"{i % 3},{i % 4},{i % 3}\n" for i in range(20))
    assert read(alike).label is None


def test_text_labels_last_first_or_alone():
    assert read(labelled(("a", "b", "c"), lambda i: "uvw"[i % 3])).label == "c"
    text = "kind of thing,a,b\n" + "".join(f"{'uv'[i % 2]},{i / 7},{i / 3}\n" for i in range(12))
    assert read(text).label == "kind of thing"
    middle = "a,m,b\n" + "".join(f"{i / 7},{'uv'[i % 2]},{i / 3}\n" for i in range(12))
    assert read(middle).label == "m"
    assert "the only column of text" in said(read(middle))


def test_free_text_is_no_label():
    text = "a,note\n" + "".join(f"{i / 7},remark {i}\n" for i in range(12))
    assert read(text).label is None


def test_plus_and_minus_one_are_labels():
    assert read(labelled(("a", "b", "c"), lambda i: "1" if i % 2 else "-1")).prepare().class_names == ("-1", "1")


# ------------------------------------------------------------------------------------------------ report


def test_ids_are_ignored():
    rows = "".join(f"{i + 1},{900 + 3 * i},{i / 7}\n" for i in range(10))
    assert read("id,Patient_ID,a\n" + rows).features == ("a",)
    assert read("day,count,a\n" + rows).features == ("day", "count", "a")
    assert read(rows).report.ignored == (("column 1", "it only numbers the rows"),)


def test_the_only_column_of_numbers_is_used_whatever_its_name():
    assert read("id,name\n1,u\n2,v\n3,w\n").features == ("id",)


def test_missing_infinite_duplicate_constant_are_counted():
    table = read(
        "a,b,c,label\n1,NA,5,x\n?,2,5,y\n3,3,5,\nnull,inf,5,x\n3,3,5,y\n3,3,5,x\nNaN,-,5,x\n-0,#N/A,5,y\n0,none,5,y\n"
    )
    report = table.report
    assert (report.n_rows, report.n_columns, report.n_features) == (9, 4, 3)
    assert report.n_missing == 8
    assert report.n_infinite == 1
    assert report.n_incomplete == 7
    assert report.n_duplicates == 4  # two more of 3,3; null,inf and NaN,- both miss all; -0 is 0
    assert report.constant == ("c",)
    assert "8 values are missing, in 6 rows." in report.sentences
    assert "1 infinite value among them: counted as missing." in report.sentences
    assert "1 row has no class." in report.sentences
    assert "4 rows equal an earlier row." in report.sentences
    assert "Column c is constant: it is kept, and changes no distance." in report.sentences
    assert table.missing == "median"


def test_dropping_is_proposed_where_it_is_cheap():
    text = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(20)) + ",3\n"
    assert read(text).missing == "drop"


def test_none_is_a_class_but_no_number():
    table = read("a,kind\n" + "".join(f"{i / 7},{'none' if i % 2 else 'some'}\n" for i in range(12)) + "none,none\n")
    assert table.column("kind").categories == ("none", "some")
    assert table.column("kind").n_missing == 0
    assert table.column("a").n_missing == 1


def test_a_clean_table_says_so():
    assert read("a,b\n1,2\n3,4.5\n").report.sentences == (
        "2 rows and 2 columns.",
        "Fields are separated by commas, and the first line has the names.",
        "2 columns of numbers are used: a and b.",
        "No column is recognised as labels.",
        "No value is missing.",
    )


def test_the_preview():
    assert read("a,b,c\n1,x,2.50\n,?,3\n1e20,y,4\n").head(3) == (("1", "x", "2.5"), ("", "", "3"), ("1e+20", "y", "4"))
    assert len(read("a\n" + "1\n2\n" * 10).head()) == 8


def test_columns_of_text_are_ignored_and_files_keep_them():
    text = "bottle,region,a,b\n" + "".join(f"B{i},{'xyz'[i % 3] * (i + 1)},{i},{i * i % 7}\n" for i in range(12))
    assert "bottle and region are ignored: they hold text; files you save keep them." in read(text).report.sentences
    alone = "bottle,a\n" + "".join(f"B{i},{i}\n" for i in range(12))
    assert "Column bottle is ignored: it holds text; files you save keep it." in read(alone).report.sentences


def test_reasons_of_several_columns_are_in_the_plural():
    text = "a,b,c,d\n" + "".join(f"{i},,,{i * i % 7}\n" for i in range(12))
    assert "b and c are ignored: they are empty." in read(text).report.sentences
