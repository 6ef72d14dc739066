"""What is taken away as text: the numbers of rows and clusters, the cells, and what a spreadsheet makes of them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from offgrid.datasets import load
from offgrid.export import clusters_csv, defused, path_csv, run_dict
from offgrid.path import BESIDE, BandwidthPath, LevelEnd, PathRecord
from tests.unit.tables import read

CELLAR = 'bottle;region;acid;sugar\nB01;"Loire; west";12,50;1,5\nB02;=1+1;-1,5;2,5\nB03;Jura;;3,5\nB04;Jura;2,5;4,5\n'


def record(sigma: float, labels: list[int], moved: tuple[int, ...] = (), level: int = 1) -> PathRecord:
    return PathRecord(sigma, sigma, sigma, np.array(labels, np.int32), np.array(moved, np.int64), sigma, level=level)


class TestClusters:
    def test_the_table_as_it_was_with_a_line_for_every_row(self) -> None:
        table = read(CELLAR, "cellar.csv")
        points = table.prepare()
        assert clusters_csv(np.array([1, 0, 1]), points, table).splitlines() == [
            "row;bottle;region;acid;sugar;cluster",
            '1;B01;"Loire; west";12,50;1,5;2',
            "2;B02;'=1+1;-1,5;2,5;1",
            "3;B03;Jura;;3,5;",
            "4;B04;Jura;2,5;4,5;2",
        ]

    def test_without_the_file_s_words_there_are_still_its_columns(self) -> None:
        table = replace(read(CELLAR, "cellar.csv"), given=None)
        lines = clusters_csv(np.array([1, 0, 1]), table.prepare(), table).splitlines()
        assert lines[:3] == [
            "row,bottle,region,acid,sugar,cluster", "1,B01,Loire; west,12.5,1.5,2", "2,B02,'=1+1,-1.5,2.5,1",
        ]  # fmt: skip

    def test_a_built_in_set(self) -> None:
        wine = load("wine")
        points = wine.prepare(columns=wine.feature_names[:2], scaling="unit", label=None)
        rows = list(csv.DictReader(io.StringIO(clusters_csv(np.arange(178) % 3, points, wine))))
        assert list(rows[0]) == ["row", *wine.feature_names, "label", "cluster"]
        assert float(rows[177][wine.feature_names[1]]) == wine.X[177, 1]
        assert [row["cluster"] for row in rows[:4]] == ["1", "2", "3", "1"]

    def test_columns_of_the_same_names_stay_apart(self) -> None:
        table = read("row,cluster,a\nu,5,1\nv,6,2\nw,5,4\n")
        text = clusters_csv(np.array([0, 0, 1]), table.prepare(label=None), table)
        assert text.splitlines()[:2] == ["row (2),row,cluster,a,cluster (2)", "1,u,5,1,1"]


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-1,5,A1", "+a"])
def test_formulas_are_defused(cell: str) -> None:
    assert defused(cell) == f"'{cell}".replace("\r", " ")


@pytest.mark.parametrize("cell", ["-1.5", "-1,5", "+3", "1e-5", "-1.234,5", "-inf", "-", "--", "plain", "", "a=b"])
def test_numbers_and_words_are_left_alone(cell: str) -> None:
    assert defused(cell) == cell


def test_the_path_is_sorted_with_what_is_recommended_in_its_place() -> None:
    ends = [LevelEnd(1, "k-means", float("inf"))]
    path = BandwidthPath([record(1, [0, 1]), record(4, [0, 0]), record(2, [0, 1], level=BESIDE)], ends)
    rows = list(csv.DictReader(io.StringIO(path_csv(path))))
    assert [(row["sigma"], row["level"], row["recommended"]) for row in rows] == [
        ("1", "1", "false"), ("2", "0", "true"), ("4", "1", "false"),
    ]  # fmt: skip


class TestRun:
    POINTS = read(CELLAR, "cellar.csv").prepare()
    PATH = BandwidthPath([record(1, [1, 1, 0]), record(2, [1, 0, 0], moved=(1,)), record(3, [0, 1, 1], moved=(0, 2))])

    def values(self, *selection: int) -> dict:
        options = {"state": "finished", "lower_bound": None, "selection": selection}
        return run_dict(self.PATH, self.POINTS, {"n_clusters": 2}, **options)

    def test_labels_can_be_joined_to_the_rows_of_the_file(self) -> None:
        values = self.values()
        assert values["data"]["row_numbers"] == [1, 2, 4]
        assert [one["labels"] for one in values["records"]] == [[1, 1, 2], [1, 2, 2], [1, 2, 2]]
        assert [one["moved"] for one in values["records"]] == [[], [2], [1, 4]]

    def test_what_is_shown_has_the_numbers_it_is_shown_with(self) -> None:
        path = BandwidthPath([record(1, [0, 0, 0, 1, 1]), record(2, [0, 1, 1, 1, 0]), record(3, [1, 0, 1, 0, 0])])
        points = load("flame").prepare()
        five = replace(points, X=points.X[:5], rows=points.rows[:5], y=None)

        def labels(selection: tuple[int, ...]) -> list[int]:
            options = {"state": "finished", "lower_bound": None, "selection": selection}
            return run_dict(path, five, {"n_clusters": 2}, **options)["records"][2]["labels"]

        assert labels(()) == [1, 2, 1, 2, 2]
        assert labels((0, 1, 2)) == [2, 1, 2, 1, 1]
