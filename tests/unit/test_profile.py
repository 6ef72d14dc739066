"""What clusters are like in numbers, and how the Profile tab and its file say it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from layouts import profile_tab
from layouts.parts import plain_text
from layouts.views import ResultView
from offgrid.datasets.model import Points
from offgrid.profile import profile_clusters, profile_csv
from services.export import profile_file

# Two clusters apart in the first column alone; the third is constant.
X = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 5.0], [10.0, 1.0, 5.0], [12.0, 3.0, 5.0], [11.0, 2.0, 5.0]])
LABELS = np.array([3, 3, 1, 1, 1])
NAMES = ["=cmd", "b", "still"]


def test_numbers_of_a_known_partition() -> None:
    found = profile_clusters(X, LABELS, 10.0 * X)
    assert found.clusters.tolist() == [1, 3]
    assert found.sizes.tolist() == [3, 2]
    assert found.spreads.tolist() == pytest.approx([np.sqrt(4 / 3), np.sqrt(2)])
    assert found.distances.tolist() == pytest.approx([np.sqrt(2) * 2 / 3, np.sqrt(2)])
    assert found.overall_spread == pytest.approx(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    assert found.means.tolist() == [[110.0, 20.0, 50.0], [10.0, 20.0, 50.0]], "in the columns' own units"
    assert found.separation.tolist() == pytest.approx([120 / 124, 0.0, 0.0])
    assert found.telling[0] == 0
    assert found.standardised[:, 0] == pytest.approx((np.array([11.0, 1.0]) - 7.0) / X[:, 0].std())
    assert found.standardised[:, 2].tolist() == [0.0, 0.0]


def test_sizes_of_numbers_do_not_matter() -> None:
    plain, huge = profile_clusters(X, LABELS), profile_clusters(X, LABELS, 1e200 * X)
    assert huge.separation == pytest.approx(plain.separation)
    assert np.isfinite(huge.separation).all()


def test_the_file_has_every_column_and_reads_back() -> None:
    found = profile_clusters(X, LABELS)
    rows = list(csv.DictReader(io.StringIO(profile_csv(found, NAMES))))
    assert [row["cluster"] for row in rows] == ["2", "4", "all"]
    assert [float(row["mean of b"]) for row in rows] == [2.0, 2.0, 2.0]
    assert float(rows[0]["rms_distance"]) == found.spreads[0]
    assert sum(float(row["share"]) for row in rows[:2]) == 1.0
    points = Points("My data.csv", X, None, tuple(NAMES), (), np.arange(5))
    file = profile_file(found, points, 2, 55.83)
    assert file.name == "my-data-k2-profile-sigma-55.83.csv"
    assert "mean of '=cmd" in file.text


def test_the_most_telling_columns_come_first_and_the_rest_on_demand() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 31, 400)
    wide = rng.normal(size=(400, 64))
    wide[:, 40] += labels
    names = [f"column {i}" for i in range(64)]
    found = profile_clusters(wide, labels)
    first = plain_text(profile_tab.content(ResultView(), found, names))
    assert first.index("column 40") < first.index("% explained")
    later = plain_text(profile_tab.content(ResultView(), found, names, first=60))
    assert "column 40" not in later
    assert later.count("% explained") == 4
    options = profile_tab.column_options(64)
    assert options[0] == {"value": "0", "label": "columns 1 to 6 of 64"}
    assert options[-1] == {"value": "60", "label": "columns 61 to 64 of 64"}
    assert profile_tab.column_options(6) == []


def test_a_row_says_what_its_dot_shows() -> None:
    told = plain_text(profile_tab.content(ResultView(), profile_clusters(X, LABELS), NAMES, scaling="unit"))
    assert "divided by their standard deviation" in told
    assert "0.80 standard deviations above the mean of all rows" in told
    assert "23 60%" in told, "cluster 2 has 3 rows, 60%"
    assert plain_text(profile_tab.content(ResultView(), None, ())).startswith("Clusters are described here")
