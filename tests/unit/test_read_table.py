"""Reading good files: every format, separators, decimal marks, encodings, sources."""

from __future__ import annotations

import io
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from offgrid.datasets import read_table
from offgrid.datasets.reading import shown_name
from tests.unit.tables import npy, npz, numbers, parquet, read, said, xlsx

# ------------------------------------------------------------------------------------------------ round trips

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MATRICES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=FINITE)


@given(
    X=MATRICES,
    separator=st.sampled_from([",", ";", "\t", "|", " ", "   "]),
    decimal=st.sampled_from([".", ","]),
    header=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    final=st.booleans(),
    quote=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]),
)
@settings(max_examples=300, deadline=None)
def test_text_reads_back_equal(X, separator, decimal, header, newline, final, quote, encoding):
    X = X.copy()
    X[0, 0] = 0.5  # settles the decimal mark: 1,234 alone could be thousands
    if separator == "," and decimal == ",":
        quote = True
    cells = [[repr(float(v)).replace(".", decimal) for v in row] for row in X]
    names = [[f"n{j}" for j in range(X.shape[1])]] if header else []
    mark = '"' if quote else ""
    lines = [separator.join(f"{mark}{cell}{mark}" for cell in row) for row in names + cells]
    table = read((newline.join(lines) + newline * final).encode(encoding))
    assert np.array_equal(numbers(table), X)
    assert [column.name for column in table.columns] == (names[0] if header else _numbered(X.shape[1]))


def _numbered(width):
    return [f"column {j + 1}" for j in range(width)]


@given(X=MATRICES)
@settings(deadline=None)
@example(X=np.array([[1.0, 5e-324], [1.7976931348623157e308, -0.0]]))
def test_binary_formats_read_back_equal(X):
    columns = {f"n{j}": X[:, j] for j in range(X.shape[1])}
    assert np.array_equal(numbers(read(npy(X), "t.npy")), X)
    assert np.array_equal(numbers(read(npy(np.asfortranarray(X)), "t.npy")), X)
    assert np.array_equal(numbers(read(npz(X=X), "t.npz")), X)
    assert np.array_equal(numbers(read(parquet(columns), "t.parquet")), X)


@given(
    X=arrays(
        np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5), elements=st.floats(-1e300, 1e300)
    ),
    header=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_workbooks_read_back_equal(X, header):
    names = [[f"n{j}" for j in range(X.shape[1])]] if header else []
    table = read(xlsx(names + X.tolist()), "t.xlsx")
    assert np.allclose(numbers(table), X, rtol=1e-15, atol=0)
    assert [column.name for column in table.columns] == (names[0] if header else _numbered(X.shape[1]))


@given(X=MATRICES, sparse=st.booleans())
@settings(deadline=None)
def test_arff_reads_back_equal(X, sparse):
    head = ["% a comment", "@RELATION t", *(f"@ATTRIBUTE 'n {j}' NUMERIC" for j in range(X.shape[1])), "", "@DATA"]
    if sparse:
        rows = ["{" + ", ".join(f"{j} {float(v)!r}" for j, v in enumerate(row) if v != 0) + "}" for row in X]
    else:
        rows = [", ".join(repr(float(v)) for v in row) for row in X]
    table = read("\n".join(head + rows), "t.arff")
    assert np.array_equal(numbers(table), X)
    assert table.columns[0].name == "n 0"


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "bool", ">f8"])
def test_npy_of_any_real_type(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    assert numbers(read(npy(X), "t.npy")).tolist() == [[0, 1], [1, 0], [1, 1]]


# ------------------------------------------------------------------------------------------------ the shared files

SHARED = {
    "aggregation": (788, 2, 7),
    "audit": (775, 23, 2),
    "compound": (399, 2, 6),
    "d31": (3100, 2, 31),
    "dermatology": (358, 34, 6),
    "flame": (240, 2, 2),
    "jain": (373, 2, 2),
    "pathbased": (300, 2, 3),
    "r15": (600, 2, 15),
    "spiral": (312, 2, 3),
    "wdbc": (569, 30, 2),
    "wifi": (2000, 7, 4),
    "wine": (178, 13, 3),
}


@pytest.mark.parametrize("name", SHARED)
def test_the_paper_s_data(name, shared):
    path = shared / "data" / f"{name}.csv"
    n, d, k = SHARED[name]
    table = read_table(path)
    raw = np.loadtxt(path, delimiter=",", skiprows=1)
    assert table.X.shape == (n, d)
    assert np.array_equal(table.X, raw[:, :-1])
    assert table.label == "label"
    assert table.k == k
    assert table.scaling == "unit"
    classes = np.array([float(name) for name in table.prepare().class_names])
    assert np.array_equal(classes[table.y], raw[:, -1])


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_labels_are_found_without_any_names(name):
    from offgrid.datasets import load

    X, y = load(name)
    last = "\n".join(",".join([*map(repr, row), f"{c}"]) for row, c in zip(X.tolist(), y.tolist(), strict=True))
    first = "\n".join(",".join([f"{c}", *map(repr, row)]) for row, c in zip(X.tolist(), y.tolist(), strict=True))
    for text in (last, first):
        table = read(text)
        assert np.array_equal(table.X, X)
        assert np.array_equal(table.y, y)


def test_mnist_is_read_as_pictures(shared):
    table = read_table(shared / "data" / "mnist_8k.npz")
    assert table.X.shape == (8000, 784)
    assert table.k == 10
    assert table.label == "y"
    assert table.image_shape == (28, 28)
    assert len(table.report.constant) > 100


# ------------------------------------------------------------------------------------------------ text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2\n2,25;3\n", [[1.5, 2], [2.25, 3]]),
        ("a;b\n1.234,5;2.345\n5.678,25;3.000\n", [[1234.5, 2345], [5678.25, 3000]]),
        ('a,b\n"1,234.5",2\n"5,678",3\n', [[1234.5, 2], [5678, 3]]),
        ('a,b\n"1,234,567",2\n"5,678",3\n', [[1234567, 2], [5678, 3]]),
        ("a;b\n1,234;2\n5,678;3\n", [[1.234, 2], [5.678, 3]]),
        ("a\tb\n1,234\t2\n5,678\t3\n", [[1234, 2], [5678, 3]]),
        ("a\tb\n0,234\t2\n5,678\t3\n", [[0.234, 2], [5.678, 3]]),
        ("a;b\n1 234,5;2\n1'234;3\n", [[1234.5, 2], [1234, 3]]),
        ("a;b\n1\u00a0234,5;2\n1\u202f234;3\n", [[1234.5, 2], [1234, 3]]),
        ("a,b\n+1,1e3\n\u22122,2E-3\n", [[1, 1000], [-2, 0.002]]),
        ("a,b\n.5,5.\n-.5,1\n", [[0.5, 5], [-0.5, 1]]),
        ("a|b\n1|2\n3|4\n", [[1, 2], [3, 4]]),
        ("  1.5   2\n 10  20.25  \n", [[1.5, 2], [10, 20.25]]),
        ("1,5 2,5\n3,5 4,25\n", [[1.5, 2.5], [3.5, 4.25]]),
        ("sep=;\na;b\n1;2\n3;4\n", [[1, 2], [3, 4]]),
        ("# x y\n1.0 2.0\n3.0 4.0\n", [[1, 2], [3, 4]]),
        ("% one\n% two\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("\n\na,b\n1,2\n\n   \n3,4\n\n", [[1, 2], [3, 4]]),
        ("a,b\ntrue,1\nFALSE,2\n", [[1, 1], [0, 2]]),
        ("v\n1,5\n2\n3,25\n", [[1.5], [2], [3.25]]),
        ("1.5\n2\n3\n", [[1.5], [2], [3]]),
        ("v\n1\n\n3\n", [[1], [3]]),
        ('"a","b"\n"1","2"\n"3","4"\n', [[1, 2], [3, 4]]),
    ],
)
def test_notations(text, expected):
    assert numbers(read(text)).tolist() == expected


def test_a_guess_about_a_comma_is_told():
    assert (
        "The comma is read as the mark of thousands: 1,234 is 1234."
        in read("a\tb\n1,234\t2\n5,678\t3\n").report.sentences
    )
    assert "usual between semicolons" in said(read("a;b\n1,234;2\n5,678;3\n"))
    assert "comma is" not in said(read("a;b\n1.5;2\n5;3\n"))


def test_names_from_numpy_s_comment_line():
    assert [c.name for c in read("# x y\n1.0 2.0\n3.0 4.0\n").columns] == ["x", "y"]
    assert [c.name for c in read("# made today, at noon\n1.0 2.0\n3.0 4.0\n").columns] == ["column 1", "column 2"]


def test_values_that_begin_like_comments_are_no_comments():
    table = read("#1,2\n#2,3\n#3,5\n")
    assert table.n_rows == 3
    assert table.features == ("column 2",)


def test_tabs_win_in_a_tsv():
    table = read("a b\tc d\n1 2\t3\n4 5\t6\n", "t.tsv")
    assert [c.name for c in table.columns] == ["a b", "c d"]


def test_quotes_hold_separators_quotes_and_lines():
    table = read('a,b,note\n1,2,"x, ""y"""\n3,4,"two\nlines"\n5,7,z\n')
    assert table.columns[2].categories == ("two\nlines", 'x, "y"', "z")
    assert table.X.tolist() == [[1, 2], [3, 4], [5, 7]]


def test_r_leaves_out_the_name_of_the_row_names():
    table = read('"a" "b" "species"\n"1" 1.5 2 "set osa"\n"2" 2.5 3 "virginica"\n"3" 3 3 "virginica"\n', "t.txt")
    assert table.features == ("a", "b")
    assert table.label == "species"
    assert table.report.ignored == (("column 1", "it only numbers the rows"),)


def test_a_separator_at_the_end_of_every_row_but_the_first():
    table = read("a,b\n1,2,\n3,4,\n")
    assert table.features == ("a", "b")
    assert table.report.ignored == (("column 3", "it is empty"),)


def test_a_separator_at_the_end_of_every_row():
    assert read("1.5,2,\n3,4,\n").X.tolist() == [[1.5, 2], [3, 4]]


def test_latin_text_is_read_with_a_note():
    table = read("größe,b\n1,2\n3,4\n".encode("cp1252"))
    assert table.columns[0].name == "größe"
    assert "not UTF-8: it is read as Windows Latin (cp1252), where its first sign is 'ö'" in said(table)


def test_utf8_is_no_note():
    assert "UTF" not in said(read("größe,b\n1,2\n3,4\n"))


def test_utf16_is_told():
    assert "read as UTF-16" in said(read("a,b\n1,2\n3,4\n".encode("utf-16")))


def test_names_are_kept_as_plain_text_made_unique_and_cut():
    text = f"a,a,,<script>alert(1)</script>,a (2),{'n' * 500}\n1,2,3,4,5,6\n5,6,7,8.5,1,2\n"
    names = [column.name for column in read(text).columns]
    assert names[:5] == ["a", "a (3)", "column 3", "<script>alert(1)</script>", "a (2)"]
    assert len(names[5]) == 120
    assert len(set(names)) == 6
    assert "Column names used more than once are numbered: a." in read(text).report.sentences


def test_a_column_that_is_nearly_numbers_names_the_culprit():
    text = "a,b\n" + "".join(f"{i},{i / 2}\n" for i in range(20)) + "7,oops\n"
    assert read(text).report.ignored == (("b", "1 of its 21 values is not a number, such as 'oops' in row 21"),)


def test_text_and_dates_are_ignored_with_the_reason():
    table = read("d,t,x\n2020-01-01,u,1\n2020-01-02,v,2\n2020-01-03,w,4\n")
    assert table.report.ignored == (("d", "it holds dates"), ("t", "it holds text"))
    assert table.features == ("x",)


# ------------------------------------------------------------------------------------------------ other formats


def test_arff_by_hand():
    table = read(
        "@relation r\n@attribute 'sepal length' real\n@attribute b {0,1}\n@attribute s string\n"
        "@attribute when date yyyy\n@attribute kind {'Iris a',\"Iris b\"}\n@data\n"
        "5.1, 0, 'it\\'s, ok', 2001, 'Iris a'\n% between\n?,1,b,2002,\"Iris b\"\n4,1,c,2003,'Iris a'\n",
        "t.arff",
    )
    assert table.label == "kind"
    assert "declared to hold categories" in said(table)
    assert table.column("kind").categories == ("Iris a", "Iris b")
    assert table.column("s").categories == ("b", "c", "it's, ok")
    assert table.column("sepal length").values[[0, 2]].tolist() == [5.1, 4]
    assert math.isnan(table.column("sepal length").values[1])


def test_a_sparse_row_s_nominal_default_is_the_first_category():
    table = read("@relation s\n@attribute a real\n@attribute class {p,q}\n@data\n{0 3.5, 1 q}\n{}\n{0 2}\n", "t.arff")
    assert table.X[:, 0].tolist() == [3.5, 0, 2]
    assert table.prepare().class_names == ("p", "q")
    assert table.y.tolist() == [1, 0, 0]


def test_parquet_types():
    import datetime

    table = read(
        parquet(
            {
                "i": pa.array([1, None, 3], pa.int32()),
                "f": pa.array([0.5, 1.5, math.inf], pa.float32()),
                "flag": [True, False, None],
                "dec": pa.array([1, 2, 3]).cast(pa.decimal128(20, 0)),
                "when": [datetime.date(2020, 1, 1)] * 3,
                "list": [[1], [2], [3]],
                "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
            }
        ),
        "t.parquet",
    )
    assert table.features == ("i", "f", "flag", "dec")
    assert [c.n_missing for c in table.columns[:4]] == [1, 1, 1, 0]
    assert table.report.n_infinite == 1
    assert dict(table.report.ignored) == {"when": "it holds dates or times", "list": "it holds lists or records"}
    assert table.label == "kind"
    assert table.column("kind").values.tolist() == [0, 1, 0]
    assert table.column("when").cell(0) == ""


def test_the_row_names_that_pandas_stores_are_ignored():
    pandas = pytest.importorskip("pandas")
    stream = io.BytesIO()
    pandas.DataFrame({"a": [1.5, 2, 3]}, index=[3, 1, 2]).to_parquet(stream)
    table = read(stream.getvalue(), "t.parquet")
    assert table.features == ("a",)


def test_a_workbook_s_first_sheet_with_values_its_title_and_blank_rows():
    rows = [
        ["Results of 2020"],
        [None, None, None],
        ["a", "b", "kind"],
        [1.5, 2, "u"],
        [],
        [2.5, None, "v"],
        [3, 4, "u"],
    ]
    table = read(xlsx([], rows), "t.xlsx")
    assert table.features == ("a", "b")
    assert table.label == "kind"
    assert table.n_rows == 3
    assert "'sheet 2' is read, one of 2" in said(table)
    assert "'Results of 2020' above the table is left out" in said(table)


@pytest.mark.parametrize("cover", [[["Made in May"]], [["Made by", "Ann"], ["in", "May"], ["for", "Bob"]]])
def test_a_cover_sheet_is_passed_over(cover):
    table = read(xlsx(cover, [["a", "b"], [1.5, 2], [2.5, 3]]), "t.xlsx")
    assert table.features == ("a", "b")
    assert "'sheet 2' is read, one of 2" in said(table)


def test_a_workbook_s_table_may_begin_anywhere():
    table = read(xlsx([[], [], [None, None, "a", "b"], [None, None, 1, 2.5], [None, None, 3, 4]]), "t.xlsx")
    assert table.features == ("a", "b")
    assert table.X.tolist() == [[1, 2.5], [3, 4]]


def test_a_workbook_s_numbers_kept_as_text_booleans_and_dates():
    import datetime

    day = datetime.datetime(2020, 5, 1)  # noqa: DTZ001 - workbooks know no zones
    table = read(xlsx([["a", "b", "c"], ["1,5", True, day], ["2,5", False, day], [3, True, day]]), "t.xlsx")
    assert table.features == ("a", "b")
    assert table.X.tolist() == [[1.5, 1], [2.5, 0], [3, 1]]
    assert table.report.ignored == (("c", "it holds dates"),)


def test_npz_names_labels_and_feature_names():
    X = np.arange(8.0).reshape(4, 2) ** 2
    table = read(
        npz(other=np.ones(3), X=X, y=np.array(["u", "v", "u", ""]), feature_names=np.array(["p", "q"])), "t.npz"
    )
    assert table.features == ("p", "q")
    assert table.label == "y"
    assert table.column("y").categories == ("u", "v")
    assert table.column("y").n_missing == 1
    points = table.prepare()
    assert points.rows.tolist() == [0, 1, 2]
    assert points.y.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("members", "label"),
    [
        ({"a": np.ones((4, 2)) * np.arange(4)[:, None]}, None),
        ({"arr_0": np.ones((4, 2)), "arr_1": np.arange(4) % 2}, "arr_1"),
        ({"data": np.ones((4, 2)), "target": np.arange(4)[:, None] % 2}, "target"),
        ({"x": np.ones((4, 2)), "Labels": np.array([b"u", b"v", b"u", b"v"])}, "Labels"),
        ({"arr_0": np.ones((4, 2)), "arr_1": np.ones((3, 3))}, None),
    ],
)
def test_npz_usual_names(members, label):
    table = read(npz(**members), "t.npz")
    assert table.label == label
    assert len(table.features) == 2


# ------------------------------------------------------------------------------------------------ sources


def test_paths_bytes_and_open_files(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with path.open("rb") as binary, path.open() as text:
        tables = [read_table(path), read_table(str(path)), read_table(binary), read_table(text)]
    tables += [
        read_table(io.StringIO("a,b\n1,2\n3,4\n"), name="d.csv"),
        read_table(bytearray(b"a,b\n1,2\n3,4"), name="d.csv"),
    ]
    for table in tables:
        assert table.name == "d.csv"
        assert table.X.tolist() == [[1, 2], [3, 4]]


def test_exactly_the_rows_allowed():
    rows = "".join(f"{i},{i / 2}\n" for i in range(10))
    assert read("a,b\n" + rows, max_rows=10).n_rows == 10
    assert read(rows, max_rows=10).n_rows == 10
    blank = rows.replace("\n", "\n\n")
    assert read("a,b\n" + blank, max_rows=10).n_rows == 10
    assert read("a,b,c\n" + "".join(f'{i},{i / 2},"x\ny"\n' for i in range(10)), max_rows=10).n_rows == 10


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a.csv", "a.csv"),
        ("/etc/x/../a.csv", "a.csv"),
        ("C:\\data\\a.csv", "a.csv"),
        ("a\n\x00b.csv", "a b.csv"),
        ("<b>.csv", "<b>.csv"),
        (None, ""),
        ("", ""),
        ("n" * 300 + ".parquet", "n" * 91 + "….parquet"),
    ],
)
def test_names_fit_to_be_shown(given, shown):
    assert shown_name(given) == shown
    assert len(shown_name(given)) <= 100
