"""Tables are given back in the words of their files, whatever was read from them."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from offgrid.datasets import load, read_table
from offgrid.datasets.given import Given
from offgrid.export import clusters_csv
from tests.unit.tables import read

CELLAR = (
    "bottle;region;acid;sugar\n"
    'B01;"Côte, d\'Or";12,50;NA\n'
    "B02;  Rhône ;-1,5;007\n"
    'B03;"said ""no""";1.234,0;3\n'
    "B04;;2,5;4\n"
)


def given(text: str, name: str = "cellar.csv") -> list[list[str]]:
    return [list(row) for row in read(text, name).cells()]


def test_every_cell_is_as_it_was_written() -> None:
    assert given(CELLAR) == [
        ["bottle", "region", "acid", "sugar"],
        ["B01", "Côte, d'Or", "12,50", "NA"],
        ["B02", "  Rhône ", "-1,5", "007"],
        ["B03", 'said "no"', "1.234,0", "3"],
        ["B04", "", "2,5", "4"],
    ]


@pytest.mark.parametrize(("mark", "kept"), [(",", ","), (";", ";"), ("\t", "\t"), ("|", "|"), (" ", ",")])
def test_the_separator_is_the_file_s_where_a_spreadsheet_knows_it(mark: str, kept: str) -> None:
    found = read(f"a{mark}b\n1{mark}2\n3{mark}5\n").given
    assert found is not None
    assert found.separator == kept


@pytest.mark.parametrize(
    ("codec", "marked"), [("utf-8", False), ("utf-8-sig", True), ("cp1252", True), ("utf-16", True)]
)
def test_a_mark_is_needed_where_the_file_had_one_or_was_no_utf_8(codec: str, marked: bool) -> None:
    table = read_table("c;a\nCôte;1\nRhône;2\n".encode(codec), name="a.csv")
    assert table.given is not None
    assert table.given.marked == marked
    text = clusters_csv(np.array([0, 0]), table.prepare(), table)
    assert text.removeprefix("\ufeff") == "row;c;a;cluster\n1;Côte;1;1\n2;Rhône;2;1\n"
    assert text.startswith("\ufeff") == marked


def test_names_are_the_file_s_even_where_they_are_used_twice() -> None:
    assert given("a,a,\n1,2,3\n4,5,7\n")[0] == ["a", "a", ""]
    assert given("1,2\n3,4\n5,7\n")[0] == ["column 1", "column 2"]


def test_lines_that_are_no_rows_are_none_here_either() -> None:
    rows = given('# made by hand\n\na,b\n1,2\n\n"3",x\n')
    assert rows == [["a", "b"], ["1", "2"], ["3", "x"]]


def test_arff_keeps_its_words() -> None:
    text = "@relation r\n@attribute n string\n@attribute x numeric\n@data\n'a, b',1.50\nc,?\n"
    assert given(text, "a.arff") == [["n", "x"], ["a, b", "1.50"], ["c", "?"]]


def test_what_is_too_large_or_has_the_separating_signs_is_not_kept() -> None:
    columns = [pa.array(["1", "2"]), pa.array(["3", "4"])]
    assert Given.of(("a", "b"), columns, ",", most=1_000) is not None
    assert Given.of(("a", "b"), columns, ",", most=10) is None
    assert Given.of(("a", "b"), [columns[0], pa.array(["3", "\x1f"])], ",", most=1_000) is None
    assert Given.of(("a", "b\x1e"), columns, ",", most=1_000) is None


def test_no_more_is_unpacked_than_was_said() -> None:
    made = Given.of(("a",), [pa.array(["x" * 1_000_000])], ",", most=2_000_000)
    assert made is not None
    assert [len(row[0]) for row in Given(",", 10, made.packed).cells()] == [1, 8]


def test_arrays_give_their_numbers_and_nothing_where_one_is_missing() -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([[1.0, 0.5], [2.0, np.nan], [1e300, 2.0]]))
    names, *rows = read_table(stream.getvalue(), name="a.npy").cells()
    assert names == ["column 1", "column 2"]
    assert rows == [(1.0, 0.5), (2.0, ""), (1e300, 2.0)]
    assert "".join(map(str, read_table(b"a,b\n1,2\n3,5\n", name="a.csv").column("a").cells())) == "13"


def test_a_built_in_set_has_its_classes_last() -> None:
    wine = load("wine")
    names, *rows = wine.cells()
    assert (names[0], names[-1]) == (wine.feature_names[0], "label")
    assert len(rows) == wine.n_rows == 178
    assert rows[0][-1] == wine.class_names[0]


class TestRowNames:
    def test_a_text_that_differs_in_every_row_names_it(self) -> None:
        table = read("region,bottle,a,b\n" + "".join(f"{'xy'[i % 2]},B{i:02},{i},{i * i % 7}\n" for i in range(12)))
        assert table.prepare().row_names[:2] == ("B00", "B01")

    def test_names_go_with_their_rows(self) -> None:
        table = read("bottle,a,b\nB1,1,2\nB2,,3\nB3,4,7\nB4,5,1\n")
        points = table.prepare()
        assert points.rows.tolist() == [0, 2, 3]
        assert points.row_names == ("B1", "B3", "B4")

    def test_a_text_that_comes_twice_names_nothing(self) -> None:
        assert read("bottle,a,b\nB1,1,2\nB1,2,3\nB3,4,7\nB4,5,1\n").prepare().row_names == ()
