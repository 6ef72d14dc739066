"""The layouts build for every state of a run, with each id once and a label on every control."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from dash.development.base_component import Component

from figures.path import path_figure
from layouts import clusterings_panel, explore, ids, path_panel, settings_panel, summary, table_panel, tabs
from layouts.clusterings_panel import AxesView
from layouts.export_menu import labels_item
from layouts.shell import shell
from layouts.thumbnail import thumbnail
from layouts.views import DataCard, ResultView, SettingsView, UploadView
from offgrid.path import BESIDE, BandwidthPath, LevelEnd, PathRecord

STATES = ("none", "queued", "running", "finished", "cancelled", "failed", "interrupted")
CONTROLS = {"NumberInput", "Select", "MultiSelect", "SegmentedControl", "ActionIcon", "ColorSchemeToggle", "RadioGroup"}


def record(sigma: float, labels: list[int], moved: list[int], cnnc: float, below: float) -> PathRecord:
    return PathRecord(sigma, below, below, np.array(labels, dtype=np.int32), np.array(moved), cnnc, 0.9, 0.8)


@pytest.fixture
def path() -> BandwidthPath:
    records = [
        record(10, [0, 0, 1, 1], [], 0.3, 10),
        record(90.8, [0, 1, 1, 1], [1], 0.197, 90),
        record(1000, [0, 1, 0, 0], [2, 3], 0.2, 990),
    ]
    return BandwidthPath(records, [LevelEnd(1, "k-means", math.inf)])


@pytest.fixture
def view(path: BandwidthPath) -> ResultView:
    return ResultView(
        title="Aggregation",
        note="788 points",
        state="finished",
        path=path,
        recommended=1,
        reason="its clustering has the lowest c-NNC on the path, 0.197",
        selection=(0, 1),
        active=1,
        has_labels=True,
        lower_bound=0.001,
        sigma=20.0,
        seconds=9.4,
        share=0.31,
    )


CARDS = (DataCard("builtin:iris", "Iris", np.eye(2)), DataCard("builtin:flat", "One place", np.ones((500, 2))))
UPLOAD = UploadView("x", "a<script>.csv", ["3 rows."], ["1 column ignored."], ["a", "b"], [[1.5, "x"], [2, None]])


def whole(view: ResultView, settings: SettingsView | None = None) -> Component:
    figure = path_figure(view.path, lower_bound=view.lower_bound)
    axes = AxesView([("pca:0", "Component 1"), ("pca:1", "Component 2")], "pca:0", "pca:1", "PCA", True)
    page = explore.page(
        settings or SettingsView(),
        CARDS,
        view,
        path_figure=figure,
        axes=axes,
        selection={},
        run={"id": "r"},
    )
    return shell(page)


def every(component: Any) -> Iterator[Component]:
    """Yield every component, those in other properties than children included."""
    if isinstance(component, list | tuple):
        for part in component:
            yield from every(part)
    elif isinstance(component, Component):
        yield component
        for name in component._prop_names:
            yield from every(getattr(component, name, None))


def text_of(component: Any) -> str:
    if isinstance(component, list | tuple):
        return "".join(text_of(part) for part in component)
    if isinstance(component, Component):
        return text_of(getattr(component, "children", None))
    return "" if component is None else str(component)


def declared() -> set[str]:
    """Return the ids of the Explore page."""
    names = [name for name in vars(ids) if name.isupper() and not name.startswith(("LEARN_", "RERUN"))]
    return {value for name in names if isinstance(value := getattr(ids, name), str)}


class TestPage:
    @pytest.mark.parametrize("state", STATES)
    @pytest.mark.parametrize("narrow", [False, True])
    def test_every_state_builds_with_every_id_once(self, view: ResultView, state: str, narrow: bool) -> None:
        page = whole(replace(view, state=state, narrow=narrow))  # type: ignore[arg-type]
        found = [c.id for c in every(page) if getattr(c, "id", None) is not None]
        twice = [key for key, count in Counter(map(str, found)).items() if count > 1]
        assert twice == []
        always = ("", "-head", "-figure", "-frame", "-foot")
        parts = {ids.pane(place, part) for place in clusterings_panel.PLACES for part in always}
        assert {key for key in found if isinstance(key, str)} == declared() | parts | {"main"}

    def test_nothing_found_yet_builds_too(self, view: ResultView) -> None:
        empty = replace(view, path=BandwidthPath([]), recommended=None, selection=(), active=None, state="running")
        assert "Looking for the first value" in text_of(whole(empty))

    def test_ids_are_unique(self) -> None:
        names = [name for name in vars(ids) if name.isupper()]
        assert len({getattr(ids, name) for name in names}) == len(names)

    def test_every_control_is_labelled(self, view: ResultView) -> None:
        for component in every(whole(view, SettingsView(upload=UPLOAD, columns=["a"], has_missing=True))):
            if type(component).__name__ in CONTROLS:
                assert component.to_plotly_json()["props"].get("aria-label"), component

    def test_headings_are_in_order(self, view: ResultView) -> None:
        levels = [int(type(c).__name__[1]) for c in every(whole(view)) if type(c).__name__ in ("H1", "H2", "H3")]
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_nothing_names_another_host(self, view: ResultView) -> None:
        page = str(whole(view).to_plotly_json())
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page


class TestSummary:
    def test_the_answer_comes_first_with_its_reason(self, view: ResultView) -> None:
        answer, worth = summary.summary(view)
        assert (
            text_of(answer) == "Recommended σ = 90.8, because its clustering has the lowest c-NNC on the path, 0.197."
        )
        assert text_of(worth) == (
            "It agrees with the labels at NMI 0.900 and holds to σ = 990. "
            "Ordinary k-means, the far end of the path, reaches 0.900."
        )

    def test_without_labels_the_cost_is_compared(self, view: ResultView) -> None:
        bare = BandwidthPath([replace(r, nmi=None, ari=None) for r in view.path.records], view.path.ends.values())
        told = text_of(summary.summary(replace(view, path=bare, has_labels=False)))
        assert told.endswith("It holds to σ = 990. Ordinary k-means, the far end of the path, has c-NNC 0.200.")

    def test_the_far_end_may_be_the_answer(self, view: ResultView) -> None:
        assert "It is also what ordinary k-means finds" in text_of(summary.summary(replace(view, recommended=2)))

    def test_a_growing_path_has_a_best_so_far(self, view: ResultView) -> None:
        told = text_of(summary.summary(replace(view, state="running")))
        assert told == "Best so far: σ = 90.8, with the lowest c-NNC yet, 0.197."

    def test_running_line(self, view: ResultView) -> None:
        running = replace(view, state="running", level=1, n_levels=2, sigma=1.83)
        assert summary.running_text(running) == "Level 1 of 2, σ = 1.83, 3 clusterings so far"
        assert summary.elapsed_text(running) == "9 s elapsed"
        assert summary.bar_value(running) == 31.0
        queued = replace(view, state="queued", queue_place=3)
        assert summary.running_text(queued) == "Place 3 in the queue"

    @pytest.mark.parametrize(
        ("state", "hidden", "resume"),
        [("finished", True, False), ("cancelled", False, True), ("failed", False, False), ("interrupted", False, True)],
    )
    def test_notices(self, view: ResultView, state: str, hidden: bool, resume: bool) -> None:
        told = summary.notice(replace(view, state=state, message="Memory ran out."))  # type: ignore[arg-type]
        assert (told.hidden, told.resume) == (hidden, resume)
        assert hidden or told.title


class TestPathPanel:
    def test_note(self, view: ResultView, path: BandwidthPath) -> None:
        assert path_panel.path_note(view) == "3 values, no partition recurs"
        again = BandwidthPath([*path.records, replace(path.records[0], sigma=2000.0, below=1990.0)])
        assert path_panel.path_note(replace(view, path=again)) == "4 values, 1 partition recurs"
        assert path_panel.path_note(replace(view, state="running")) == "3 values"
        unbound = replace(view, lower_bound=None, lower_bound_note="no bound: rows 1 and 2 are equal")
        assert path_panel.path_note(unbound).endswith("no bound: rows 1 and 2 are equal")

    def test_help_marks_follow_the_panels(self, view: ResultView) -> None:
        assert path_panel.frame_class(view) == "path-frame path-frame-nmi"
        assert path_panel.frame_class(replace(view, has_labels=False)) == "path-frame"
        assert path_panel.frame_class(replace(view, lower_bound=5.0)) == "path-frame path-frame-nmi path-frame-open"

    def test_legend_says_what_is_drawn(self, view: ResultView) -> None:
        assert [text_of(entry) for entry in path_panel.legend(view)] == ["value found", "recommended"]
        running = [text_of(entry) for entry in path_panel.legend(replace(view, state="running"))]
        assert running == ["value found", "best so far"]


class TestClusteringsPanel:
    def test_panes_say_role_measures_and_moves(self, view: ResultView) -> None:
        parts = clusterings_panel.written(view, [None, 43], truth=True)
        assert [*parts] == [clusterings_panel.TRUTH_PLACE, 0, 1]
        truth, first, second = ("".join(map(text_of, [*part.head, part.foot])) for part in parts.values())
        assert truth.startswith("Ground truth")
        assert first.startswith("Aσ = 10.0NMI 0.900c-NNC 0.300holds to σ = 90.0")
        assert "recommended" in second
        assert second.endswith("43 points moved since A, ringed")

    def test_every_pane_is_on_the_page_and_those_without_a_value_are_hidden(self, view: ResultView) -> None:
        *panes, invitation = clusterings_panel.panes(view)
        assert [pane.id for pane in panes] == [ids.pane(place) for place in (6, 0, 1, 2, 3, 4, 5)]
        assert [pane.hidden for pane in panes] == [True, False, False, True, True, True, True]
        assert [text_of(pane)[:1] for pane in panes] == ["", "A", "B", "", "", "", ""]
        assert "Click a value on the path" in text_of(invitation)
        assert invitation.hidden is False

    def test_three_fill_a_row(self, view: ResultView) -> None:
        assert clusterings_panel.panes(replace(view, selection=(0, 1, 2)))[-1].hidden
        assert "appears here" in text_of(clusterings_panel.panes(ResultView())[-1])

    def test_what_is_not_on_the_path_says_where_it_is_from(self, view: ResultView) -> None:
        other = replace(view.path.records[0], level=BESIDE, moved=np.array([]))
        path = BandwidthPath([*view.path.records, other, replace(other, sigma=math.inf)], view.path.ends.values())
        both = replace(view, path=path, recommended=4)
        assert clusterings_panel.holds(both, 3) == "from a spectral start"
        assert clusterings_panel.holds(both, 4) == "best of 10 k-means starts"
        assert clusterings_panel.role(both, 2) == "k-means end of the path"
        rows = table_panel.rows(both, "all")
        assert [(row["holds_text"], row["moved"]) for row in rows[3:]] == [("–", None)] * 2
        assert table_panel.count_text(both, rows[3:]) == "0 of 3 values and the recommended one"

    def test_how_far_a_partition_holds(self, view: ResultView) -> None:
        assert clusterings_panel.holds(view, 2) == "holds for every larger σ"
        growing = replace(view, path=BandwidthPath(view.path.records), state="running")
        assert clusterings_panel.holds(growing, 2) == "still holding"
        assert clusterings_panel.holds(replace(growing, state="cancelled"), 2) == "not searched further"


class TestTable:
    def test_rows(self, view: ResultView) -> None:
        rows = table_panel.rows(view, "all")
        assert [row["letter"] for row in rows] == ["A", "B", ""]
        assert [row["holds_text"] for row in rows] == ["90.00", "990.00", "∞"]
        assert rows[1]["sigma_text"] == "90.80"
        assert [row["moved"] for row in rows] == [0, 1, 2]
        assert [row["smallest"] for row in rows] == [2, 1, 1]
        assert [row["recommended"] for row in rows] == [False, True, False]
        assert rows[0]["decades"] == pytest.approx(math.log10(9))

    def test_filters(self, view: ResultView) -> None:
        records = [replace(view.path.records[0], sigma=1.01**i, below=1.01**i, critical=1.01**i) for i in range(40)]
        long = replace(view, path=BandwidthPath(records), recommended=7, selection=(3,))
        assert [row["index"] for row in table_panel.rows(long, "long")] == [3, 7]
        assert [row["index"] for row in table_panel.rows(long, "newest")] == list(range(32, 40))
        assert len(table_panel.rows(long, "all")) == 40
        assert table_panel.count_text(long, table_panel.rows(long, "long")) == "2 of 40 values"
        assert table_panel.default_filter(long) == "long"
        assert table_panel.default_filter(replace(long, state="running")) == "newest"
        assert table_panel.default_filter(view) == "all"

    def test_columns(self, view: ResultView) -> None:
        def fields(shown: ResultView) -> list[str]:
            return [column["field"] for column in table_panel.column_defs(shown)]

        assert fields(replace(view, narrow=True)) == ["letter", "sigma", "holds", "cnnc", "nmi"]
        assert "nmi" not in fields(replace(view, has_labels=False))
        assert "level" not in fields(view)
        two = BandwidthPath([*view.path.records, replace(view.path.records[0], level=2)])
        assert "level" in fields(replace(view, path=two))

    def test_the_frame_is_as_high_as_its_rows_up_to_fourteen(self) -> None:
        assert table_panel.frame_style(9) == {"--table-height": f"{40 + 9 * 36 + 2}px"}
        assert table_panel.frame_style(900) == table_panel.frame_style(14)


class TestTabs:
    TABS = (tabs.Tab("table", "Table", "rows", "filter"), tabs.Tab("flow", "Flow", "bands"))

    def test_each_tab_has_its_content_and_its_own_controls(self) -> None:
        line, *panels = tabs.panel(self.TABS, "flow").children
        assert [text_of(tab) for tab in line.children] == ["Table", "Flow"]
        assert [(one.value, text_of(one)) for one in panels] == [("table", "filterrows"), ("flow", "bands")]

    @pytest.mark.parametrize(("asked", "opened"), [("flow", "flow"), ("nonsense", "table"), ("", "table")])
    def test_an_address_opens_a_tab_that_there_is(self, asked: str, opened: str) -> None:
        assert tabs.panel(self.TABS, asked).value == opened


class TestSettings:
    def test_thumbnails_are_small_and_local(self) -> None:
        for card in CARDS:
            drawing = thumbnail(card.points)
            assert drawing.startswith('url("data:image/svg+xml,')
            assert len(drawing) < 5_000
            assert drawing.count('"') == 2

    def test_a_file_is_reported_in_words(self) -> None:
        told = text_of(settings_panel.upload_report(UPLOAD))
        assert told == "a<script>.csv3 rows.1 column ignored."
        assert text_of(settings_panel.upload_refused("It is empty.")) == "It is empty."
        assert text_of(settings_panel.upload_refused("It is empty.", "a.csv")).endswith("a.csv stays loaded.")
        assert text_of(settings_panel.preview(UPLOAD)) == "ab1.5x2None"
        assert settings_panel.preview(replace(UPLOAD, rows=())) is None

    def test_fields_show_where_they_count(self) -> None:
        hidden = settings_panel.hidden_fields("dyadic", "percentile")
        assert hidden == {ids.START_VALUE_FIELD: True, ids.DEPTHS_FIELD: False, ids.LIMITING_FIELD: False}
        assert settings_panel.hidden_fields("certified", "value")[ids.DEPTHS_FIELD]

    def test_the_line_under_run(self) -> None:
        note = settings_panel.run_note
        assert note(active=False, matches=True, has_result=True) == "Settings match the result shown"
        assert note(active=False, matches=False, has_result=True) == "Settings differ from the result shown"
        assert note(active=True, matches=True, has_result=True, n_found=20) == "Cancel keeps the 20 values found so far"
        assert note(active=False, matches=False, has_result=False) == ""
        assert (
            note(active=False, matches=False, has_result=True, unseen="a.csv") == "The result shown is not of a.csv yet"
        )

    def test_panel_opens_and_closes(self) -> None:
        assert settings_panel.panel_class(opened=True) != settings_panel.panel_class(opened=False)
        assert settings_panel.backdrop_class(opened=True) != settings_panel.backdrop_class(opened=False)
        assert settings_panel.bar_note(SettingsView(k=7)) == "k = 7, RBF, certified"


def test_the_labels_item_names_what_it_saves() -> None:
    path = BandwidthPath([record(sigma, [0, 1], [], 0.1, sigma) for sigma in (1.01, 7.1, 90.8)])
    view = ResultView(state="finished", path=path, recommended=0, selection=(0, 1))
    assert labels_item(view, 0) == "Recommended clustering, σ = 1.01, CSV"
    assert labels_item(view, 1) == "Clustering B, σ = 7.10, CSV"
    assert labels_item(view, 2) == "Clustering, σ = 90.8, CSV"
    assert labels_item(view, None) == "Clustering, CSV"
    assert labels_item(replace(view, state="running"), 0) == "Clustering A, σ = 1.01, CSV"
