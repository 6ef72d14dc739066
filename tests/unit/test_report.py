"""The report as a file: complete, self-contained, and safe whatever the data are called."""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np

from callbacks.report import settings_in_words
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


def test_settings_name_all_that_decides(tmp_path: object) -> None:
    asked = RunSettings(DataSpec("builtin:iris"), SearchSettings(3, "dyadic", (1, 3), 2.5, max_steps=9, seed=4))
    points = load_points(asked.data, UploadStore(str(tmp_path)))
    told = dict(settings_in_words(asked, points, "finished", 3.0))
    assert told["Start partition"] == "random, 1 start, seed 4"
    assert told["Start of the search"] == "σ = 2.5"
    assert told["Depths"] == "1, 3; limiting check: none"
    assert told["Step budget"] == "9"
    assert told["Rows"] == "150"
