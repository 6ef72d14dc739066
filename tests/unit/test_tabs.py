"""What the tabs' callbacks make of what the page shows, without a browser."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pytest

from callbacks import code_tab, export_menu, flow_tab, kernel_tab, profile_tab, tabs
from callbacks.state import store_of_path
from layouts import ids
from layouts.parts import DEFINITIONS, plain_text
from layouts.profile_tab import as_text
from layouts.views import ResultView
from offgrid.errors import InputError
from offgrid.path import BandwidthPath, PathRecord
from offgrid.profile import profile_clusters
from services.context import Services
from services.jobs import execute
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.settings import Settings

FLAME = RunSettings(DataSpec("builtin:flame"), SearchSettings(2, max_steps=4))


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    made = Services(Settings(data_dir=tmp_path_factory.mktemp("data")))
    execute(made.request(FLAME), made)
    return made


def shown(
    services: Services, indices: list[int], active: int | None = None, asked: RunSettings = FLAME
) -> dict[str, Any]:
    run_id = services.request(asked)
    return {
        "run_data": {"id": run_id, "query": asked.to_query()},
        "shown": store_of_path(services.runs.get(run_id)),
        "chosen": {"indices": indices, "active": active, "auto": False},
        "scheme": "light",
        "narrow": False,
    }


def record(sigma: float) -> PathRecord:
    return PathRecord(sigma, sigma, sigma, np.array([0, 1], dtype=np.int32), np.array([], dtype=np.int64), 0.1)


def test_a_tab_shows_what_was_just_chosen_in_it_else_the_active_one() -> None:
    path = BandwidthPath([record(sigma) for sigma in (1.0, 2.0, 3.0)])
    view = ResultView(path=path, selection=(0, 2), active=2, recommended=0)
    assert tabs.index_at(view, "0", by_hand=True) == 0
    assert tabs.index_at(view, "0", by_hand=False) == 2
    assert tabs.index_at(view, "1", by_hand=True) == 2, "it is not selected any more"
    assert tabs.index_at(replace(view, active=None), None, by_hand=False) == 0
    assert tabs.index_at(replace(view, selection=(), active=None), None, by_hand=False) == 0, "the recommended one"
    assert tabs.index_at(ResultView(), None, by_hand=False) is None
    assert [one["label"] for one in tabs.at_options(view)] == ["A, σ = 1.00", "B, σ = 3.00"]
    assert [one["label"] for one in tabs.at_options(replace(view, selection=()))] == ["σ = 1.00"]


def test_every_tab_says_why_it_is_empty(services: Services) -> None:
    nothing = tabs.seen(services, {**shown(services, []), "run_data": {}, "shown": {}})
    for content in (
        flow_tab.drawn_flow(nothing),
        kernel_tab.drawn_kernel(nothing, None),
        profile_tab.drawn_profile(services, nothing, None, 0),
    ):
        assert content[0].className == "tab-empty"
    one = tabs.seen(services, shown(services, [1], 1))
    assert "One clustering is selected." in plain_text(flow_tab.drawn_flow(one))


def test_tabs_agree_on_what_moved_and_what_there_is(services: Services) -> None:
    now = tabs.seen(services, shown(services, [0, 2], 2))
    flow = plain_text(flow_tab.drawn_flow(now)[-1])
    labels = tabs.matched_labels(now, 2)
    moved = int((labels != tabs.matched_labels(now, 0)).sum())
    assert re.match(rf"A to B: {moved} points? move", flow)
    profile = plain_text(profile_tab.drawn_profile(services, now, 2, 0))
    for size in np.bincount(labels):
        assert f"{size} " in profile
    assert "240 rows sorted by cluster" in plain_text(kernel_tab.drawn_kernel(now, 2))


def test_the_code_says_what_it_leaves(services: Services) -> None:
    python, shell, about = code_tab.reproduction(services, tabs.seen(services, shown(services, [0, 2], 2)))
    assert python.endswith("labels = search.path_[2].labels")
    search, recommend = shell.splitlines()
    assert search.endswith("--max-steps 4 --seed 0 --out path.csv")
    assert recommend.endswith("--seed 0 --labels-out labels.csv")
    assert "recommended clustering to labels.csv, as Export does" in about
    assert about.startswith("labels has the")
    path = services.runs.get(services.request(FLAME))
    assert path is not None
    assert f"{path.path.records[2].sigma:.3g}"[:3] in about


def test_the_report_has_the_run_s_numbers(services: Services) -> None:
    state = shown(services, [0, 2], 2)
    file = export_menu.exported(services, ids.EXPORT_REPORT, state["run_data"], state["chosen"])
    run = services.runs.get(state["run_data"]["id"])
    assert run is not None
    assert file.name == "flame-k2-report.html"
    text = re.sub(r"<script.*?</script>", "", file.text, flags=re.DOTALL)
    rows = re.findall(r"<tr[^>]*>(<td>.*?)</tr>", text)
    assert len(rows) >= len(run.path)
    for one in run.path.records:
        assert f"<td>{one.cnnc:.4f}</td>" in text
    assert text.count('class="figure"') == 1 + 2 + 1 + 1, "path, two clusterings, the labels, flow"
    assert "search.path_[2].labels" in text
    own = services.compared(FLAME)["recommended"]
    for sentence in (*own.notes, " ".join(own.verdict)):
        assert escape(sentence) in text.replace('<span class="unbroken">k-means</span>', "k-means")
    assert "<h2>Methods compared</h2>" in text
    assert "<td>This path</td>" in text
    points = services.points(FLAME.data)
    profile = profile_clusters(points.X, own.labels)
    for _, *row in as_text(profile, points.feature_names)[1]:
        assert "".join(f"<td>{cell}</td>" for cell in row) in text
    for term in ("c-NNC", "NMI", "ARI", "Stability"):
        assert f"<dt>{term}</dt>" in text
        assert DEFINITIONS[term][:30] in text


def test_nothing_found_is_nothing_to_report(services: Services) -> None:
    waiting = RunSettings(FLAME.data, SearchSettings(3))
    with pytest.raises(InputError, match="Nothing has been found yet"):
        export_menu.exported(services, ids.EXPORT_REPORT, shown(services, [], asked=waiting)["run_data"], None)


def test_the_profile_is_saved_in_the_columns_own_units(services: Services) -> None:
    scaled = RunSettings(DataSpec("builtin:flame", scaling="unit"), SearchSettings(2, max_steps=1))
    execute(services.request(scaled), services)
    now = tabs.seen(services, shown(services, [0], 0, scaled))
    profile = profile_tab.profiled(services, now, 0)
    assert profile is not None
    raw = services.points(FLAME.data).X
    assert profile.overall == pytest.approx(raw.mean(axis=0))
    assert profile.overall_spread == pytest.approx(np.sqrt(2.0)), "distances are those of the search"


def test_csv_of_a_profile_is_whole(services: Services) -> None:
    from offgrid.profile import profile_csv

    now = tabs.seen(services, shown(services, [0], 0))
    profile = profile_tab.profiled(services, now, 0)
    assert profile is not None
    rows = list(csv.reader(io.StringIO(profile_csv(profile, ["x", "y"]))))
    assert [len(row) for row in rows] == [9] * 4
