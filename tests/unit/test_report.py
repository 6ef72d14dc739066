"""The report as a file: complete, self-contained, and safe whatever the data are called."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np

from callbacks.report import settings_in_words, values
from layouts.views import ResultView
from offgrid.comparison import Comparison, Tried
from offgrid.path import BESIDE, BandwidthPath, PathRecord
from services.points import DataSpec, load_points
from services.report import Drawing, Report, Table, differences, plain, report_html
from services.run_settings import RunSettings, SearchSettings
from services.uploads import UploadStore

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \"quoted\""
LIGHT = {"data": [{"x": np.array([1.0, np.nan]), "text": [EVIL]}], "layout": {"height": 321, "font": {"color": "#000"}}}
DARK = {"data": [{"x": np.array([1.0, np.nan]), "text": [EVIL]}], "layout": {"height": 321, "font": {"color": "#fff"}}}
REPORT = Report(
    title=EVIL,
    about=EVIL,
    answer=EVIL,
    worth=[EVIL],
    path=Drawing(EVIL, LIGHT, DARK, EVIL, EVIL),
    panes=[Drawing(EVIL, LIGHT, DARK, EVIL, EVIL)] * 2,
    flow=Drawing(EVIL, LIGHT, DARK, EVIL, "one\ntwo"),
    why=EVIL,
    reasons=[EVIL],
    methods=Table([EVIL], [[EVIL]]),
    profile=Table([EVIL], [[EVIL]]),
    profile_note=EVIL,
    values=Table(["a", EVIL], [["1", EVIL], ["2", "b"]], marked=1),
    settings=[(EVIL, EVIL)],
    python=EVIL,
    shell=EVIL,
    definitions=[(EVIL, EVIL)],
    made="today",
)


def test_no_text_becomes_markup() -> None:
    page = report_html(REPORT, "/* plotly */")
    assert page.count("<script") == page.count("</script>") == 3
    assert "<img" not in page
    assert unescape(re.search(r"<h1>(.*?)</h1>", page)[1]) == EVIL  # type: ignore[index]
    data = json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert [one["figure"]["data"][0]["text"] for one in data] == [[EVIL]] * 4
    assert data[0]["figure"]["data"][0]["x"] == [1.0, None], "JSON has no NaN"
    assert data[0]["dark"] == [[["layout", "font", "color"], "#fff"]]


def test_nothing_is_fetched() -> None:
    page = report_html(REPORT, "/* plotly */")
    assert "default-src 'none'" in page
    assert not re.findall(r'(?:src|href)="', page.replace("src=x", ""))
    assert page.count("@font-face") == 2
    assert 'style="height:321px"' in page
    assert page.count('class="figure"') == 4


def test_differences_lead_from_one_tree_to_the_other() -> None:
    one = plain({"a": [1, {"b": 2}], "c": (1, 2), "d": {"x": 1}})
    other = plain({"a": [1, {"b": 3}], "c": [1, 2, 3], "d": {"y": 1}})
    found = list(differences(one, other))
    assert found == [(["a", 1, "b"], 3), (["c"], [1, 2, 3]), (["d"], {"y": 1})]
    for path, value in found:
        part = one
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
    assert one == other


def test_what_is_not_there_has_no_title() -> None:
    bare = report_html(replace(REPORT, title="t", why="Why k-means", reasons=[], methods=None, profile=None), "")
    for title in ("Why k-means", "Methods compared", "Profile"):
        assert title not in bare


def test_values_are_in_order_with_the_recommended_one_in_its_place() -> None:
    labels = np.array([0, 1, 1], dtype=np.int32)
    found = [PathRecord(s, s, s, labels, np.empty(0, np.int64), 0.1) for s in (1.0, 3.0)]
    beside = replace(found[0], sigma=2.0, level=BESIDE)
    view = ResultView(state="finished", path=BandwidthPath([*found, beside]), recommended=2, selection=(2,), active=2)
    table = values(view)
    assert [row[1] for row in table.rows] == ["1.00", "2.00", "3.00"]
    assert [row[0] for row in table.rows] == ["", "A", ""]
    assert table.marked == 1


def test_settings_name_all_that_decides(tmp_path: object) -> None:
    asked = RunSettings(DataSpec("builtin:iris"), SearchSettings(3, "dyadic", (1, 3), 2.5, max_steps=9, seed=4))
    points = load_points(asked.data, UploadStore(str(tmp_path)))
    found = [PathRecord(s, s, s, np.zeros(150, np.int32), np.empty(0, np.int64), 0.1, seconds=1.5) for s in (1.0, 2.0)]
    view = ResultView(state="finished", path=BandwidthPath(found), recommended=0)
    told = dict(settings_in_words(asked, points, view))
    assert told["Start partition"] == "random, 1 start, seed 4"
    assert told["Start of the search"] == "σ = 2.5"
    assert told["Depths"] == "1, 3; limiting check: none"
    assert told["Step budget"] == "9"
    assert (told["Rows"], told["Scaling"]) == ("150", "not scaled")
    assert told["Time of the search"] == "3.00 s"
    assert told["Recommended clustering"] == "of the values on the path the one of lowest c-NNC"
    own = Comparison("recommended", (Tried("k-means", np.inf, 0.2, None),), 0, found[0].labels, 1, None, 61.0)
    told = dict(settings_in_words(asked, replace(points, n_given=178), replace(view, compared={"recommended": own})))
    assert told["Rows"] == "150 of 178, 28 left out: missing values"
    assert told["Time of the recommendation"] == "1 min 1 s"
    assert told["Recommended clustering"].endswith("the best of 10 k-means starts; seed 4")
