"""The path figure's numbers, by hand, and its dict as plotly would take it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from figures.path import path_figure
from figures.path_context import geometry
from figures.path_data import (
    axis_range,
    bars,
    bound_in_place,
    hover_texts,
    letter_places,
    linear_axis,
    log_ticks,
    recurrence_name,
    shown_bar_texts,
    steps,
)
from figures.path_marks import AFTER_MARK, MARK
from offgrid.path import BandwidthPath, LevelEnd, PathRecord

INF = math.inf


def record(
    sigma: float, labels: Sequence[int], moved: Sequence[int] = (), *, below: float | None = None, level: int = 1
) -> PathRecord:
    return PathRecord(
        sigma=sigma,
        below=sigma if below is None else below,
        critical=sigma if below is None else below,
        labels=np.array(labels, dtype=np.int32),
        moved=np.array(moved, dtype=np.int64),
        cnnc=0.5 - 0.1 * math.log10(sigma),
        nmi=0.2 + 0.1 * math.log10(sigma),
        ari=0.1,
        level=level,
    )


@pytest.fixture
def path() -> BandwidthPath:
    """Four values at 1, 10, 100 and 1,000; the last holds for ever, and the second and fourth partitions are one."""
    records = [
        record(1, [0, 0, 0, 1]),
        record(10, [0, 0, 1, 1], [2], below=9),
        record(100, [0, 1, 1, 1], [1], below=98),
        record(1000, [1, 1, 0, 0], [0, 1, 2, 3], below=990),
    ]
    return BandwidthPath(records, [LevelEnd(1, "k-means", INF)])


@pytest.fixture
def two_levels() -> BandwidthPath:
    records = [
        record(1, [0, 0, 1]),
        record(10, [0, 1, 1], [1], below=9),
        record(5, [0, 0, 1], level=2),
        record(8, [1, 0, 0], [0, 1], below=7, level=2),
    ]
    return BandwidthPath(records, [LevelEnd(1, "k-means", INF), LevelEnd(2, "limit", 9.0)])


class TestSteps:
    def test_each_value_holds_to_the_next_and_the_last_to_the_end(self, path: BandwidthPath) -> None:
        assert steps(path, 1, [0.1, 0.2, 0.3, 0.4], axis_end=5000) == (
            [1, 10, 100, 1000, 5000],
            [0.1, 0.2, 0.3, 0.4, 0.4],
        )

    def test_a_growing_path_goes_to_its_front(self, path: BandwidthPath) -> None:
        growing = BandwidthPath(path.records[:2])
        assert steps(growing, 1, [0.1, 0.2], axis_end=5000, front=30) == ([1, 10, 30], [0.1, 0.2, 0.2])

    def test_a_stopped_path_ends_at_its_last_value(self, path: BandwidthPath) -> None:
        assert steps(BandwidthPath(path.records[:2]), 1, [0.1, 0.2], axis_end=5000) == ([1, 10], [0.1, 0.2])

    def test_a_level_that_has_nothing_has_no_steps(self, path: BandwidthPath) -> None:
        assert steps(path, 2, [], axis_end=5000) == ([], [])


class TestBars:
    def test_bars_touch_and_carry_the_factor_up_to_where_nothing_is_known_to_move(self, path: BandwidthPath) -> None:
        drawn = bars(path, axis_end=5000)
        assert [(bar.low, bar.high) for bar in drawn] == [(1, 10), (10, 100), (100, 1000), (1000, 5000)]
        assert [bar.text for bar in drawn] == ["9.0×", "recurs a, 9.8×", "9.9×", "recurs a, to ∞"]
        assert [bar.recurrence for bar in drawn] == [None, 0, None, 0]

    def test_a_bar_says_where_its_factor_is_a_bound(self) -> None:
        coarse = BandwidthPath([record(1, [0, 1]), replace(record(2, [0, 0], [1], below=1), critical=2.0)])
        assert [bar.text for bar in bars(coarse, axis_end=9)] == ["≤ 2.0×"]
        assert "changes by σ = 2.00" in hover_texts(coarse)[0]

    def test_each_level_has_its_lane(self, two_levels: BandwidthPath) -> None:
        drawn = bars(two_levels, axis_end=40)
        assert [(bar.index, bar.lane, bar.low, bar.high) for bar in drawn] == [
            (0, 0, 1, 10),
            (1, 0, 10, 40),
            (2, 1, 5, 8),
            (3, 1, 8, 9),
        ]
        assert drawn[3].text == "recurs b, 1.1×"

    def test_the_last_value_of_a_stopped_path_has_no_bar(self, path: BandwidthPath) -> None:
        assert [bar.index for bar in bars(BandwidthPath(path.records[:2]), axis_end=5000)] == [0]

    def test_text_is_left_out_of_bars_under_46_px(self, path: BandwidthPath) -> None:
        drawn = bars(path, axis_end=10**3.4)
        assert shown_bar_texts(drawn, low=0, high=4, width=380) == ["9.0×", "", "9.9×", ""]
        assert shown_bar_texts(drawn, low=0, high=4, width=180) == ["", "", "", ""]

    @pytest.mark.parametrize(("number", "name"), [(0, "a"), (25, "z"), (26, "aa"), (27, "ab")])
    def test_recurrences_are_named_by_letters(self, number: int, name: str) -> None:
        assert recurrence_name(number) == name


class TestAxis:
    def test_a_finished_path_leaves_room_for_the_bar_to_infinity(self, path: BandwidthPath) -> None:
        low, high = axis_range(path)
        assert high == pytest.approx(3 + 0.22 * 3)
        assert low == pytest.approx(-0.05 * high)

    def test_the_front_and_the_share_covered_foretell_the_end(self, path: BandwidthPath) -> None:
        growing = BandwidthPath(path.records[:2])
        assert axis_range(growing, front=10, share=0.2)[1] == 5.0
        assert axis_range(growing, front=10, share=0.0)[1] == 3.0
        assert axis_range(growing, front=900, share=1.0)[1] >= math.log10(900) + 0.25

    def test_an_empty_path_is_centred_on_its_front(self) -> None:
        assert axis_range(BandwidthPath([]), front=100) == (1.75, 5.0)

    def test_a_bound_within_a_decade_is_drawn_in_its_place(self, path: BandwidthPath) -> None:
        assert bound_in_place(path, 0.2)
        assert not bound_in_place(path, 0.05)
        assert not bound_in_place(path, None)
        assert not bound_in_place(BandwidthPath([]), 0.5)
        low, high = axis_range(path, lower_bound=0.1, frozen_share=0.2)
        assert (-1 - low) / (high - low) == pytest.approx(0.2)

    def test_powers_of_ten_with_small_ticks_between(self) -> None:
        ticks = log_ticks(0, 2)
        assert ticks.ticks == (1, 10, 100)
        assert ticks.texts == ("1", "10", "100")
        assert ticks.minor[:10] == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)

    def test_short_axes_label_two_and_five_too(self) -> None:
        assert log_ticks(math.log10(3), math.log10(30)).ticks == (5, 10, 20)

    def test_long_axes_skip_powers(self) -> None:
        ticks = log_ticks(-150, 150, most=12)
        assert len(ticks.ticks) <= 12
        assert ticks.minor == ()
        assert "10⁻¹³⁰" in ticks.texts

    def test_no_label_touches_the_end(self) -> None:
        assert log_ticks(0, 2.01, clear=0.05).texts == ("1", "10", "")

    def test_round_ticks_hold_every_value(self) -> None:
        axis = linear_axis([0.34, 0.91], limits=(0, 1))
        assert axis.ticks == (0.2, 0.4, 0.6, 0.8, 1.0)
        assert axis.texts == ("0.2", "0.4", "0.6", "0.8", "1.0")
        assert axis.low < 0.2 < 1.0 < axis.high

    @pytest.mark.parametrize("values", [[], [0.5], [0.0, 0.0], [1.0], [0.123456, 0.1234561], [-3.0, 40.0]])
    def test_any_values_have_an_axis(self, values: list[float]) -> None:
        axis = linear_axis(values)
        assert len(axis.ticks) >= 2
        assert all(axis.low <= value <= axis.high for value in values)


class TestLetters:
    def test_letters_far_apart_stand_above_their_values(self) -> None:
        assert letter_places([10, 1, 1000], 0, 4, width=800) == pytest.approx([1, 0, 3])

    def test_letters_that_would_overlap_are_pushed_aside_evenly(self) -> None:
        places = letter_places([100, 100], 0, 4, width=800, apart=20)
        assert places == pytest.approx([1.95, 2.05])

    def test_pushed_letters_push_their_neighbours_and_keep_their_order(self) -> None:
        places = letter_places([100, 101, 102, 103, 104, 105], 0, 4, width=800, apart=20)
        assert np.diff(places) == pytest.approx([0.1] * 5)
        assert np.mean(places) == pytest.approx(np.mean(np.log10([100, 101, 102, 103, 104, 105])))


def test_hover_texts_name_value_measures_and_moves(path: BandwidthPath) -> None:
    first, second, _, last = hover_texts(path)
    assert "σ = 1.00" in first
    assert "holds to σ = 9.00" in first
    assert first.endswith("first value")
    assert "NMI 0.300, c-NNC 0.400" in second
    assert second.endswith("1 point moved")
    assert "holds for every larger σ" in last
    assert last.endswith("4 points moved")


def figure_of(path: BandwidthPath, **options: object) -> dict[str, object]:
    return path_figure(path, **{"lower_bound": 0.001, **options})  # type: ignore[arg-type]


class TestFigure:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("narrow", [False, True])
    @pytest.mark.parametrize("bound", [None, 0.2, 0.001])
    def test_plotly_takes_it(self, two_levels: BandwidthPath, scheme: str, narrow: bool, bound: float | None) -> None:
        figure = figure_of(
            two_levels, lower_bound=bound, scheme=scheme, narrow=narrow, selection=(0, 1, 3), recommended=1, active=3
        )
        go.Figure(figure)
        json.dumps(figure)

    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_a_growing_path_has_its_front(self, path: BandwidthPath, n: int) -> None:
        figure = figure_of(BandwidthPath(path.records[:n]), running=True, front=20.0, has_labels=True)
        go.Figure(figure)
        texts = [note["text"] for note in figure["layout"]["annotations"]]  # type: ignore[index]
        assert "searching, σ = 20.0" in texts

    def test_without_labels_there_is_no_nmi(self, path: BandwidthPath) -> None:
        with_labels, without = figure_of(path), figure_of(path, has_labels=False)
        assert "yaxis" in with_labels["layout"]  # type: ignore[operator]
        assert "yaxis" not in without["layout"]  # type: ignore[operator]
        assert with_labels["layout"]["height"] - without["layout"]["height"] == 176 + 42  # type: ignore[index]

    def test_every_mark_knows_its_record(self, path: BandwidthPath) -> None:
        figure = figure_of(path, selection=(0, 2), recommended=2)
        known = {i for trace in figure["data"] for i in trace.get("customdata", ())}  # type: ignore[attr-defined]
        assert known == {0, 1, 2, 3}

    def test_letters_follow_the_selection(self, path: BandwidthPath) -> None:
        figure = figure_of(path, selection=(0, 2, 3), recommended=2)
        lettered = [t for t in figure["data"] if t.get("text") == ["A", "B", "C"]]  # type: ignore[attr-defined]
        assert [t["customdata"] for t in lettered] == [[0, 2, 3]]

    def test_the_ring_around_the_active_letter_fits_above_the_path(self, path: BandwidthPath) -> None:
        figure = figure_of(path, selection=(0, 2), active=2)
        ring = next(t for t in figure["data"] if t.get("marker", {}).get("symbol") == "circle-open")  # type: ignore[attr-defined]
        top, bottom = geometry(has_nmi=True, lanes=1, narrow=False, frozen_column=True).letters
        assert (top + bottom) / 2 >= (ring["marker"]["size"] + ring["marker"]["line"]["width"]) / 2

    def test_a_saved_picture_has_no_gap_for_a_question_mark(self, path: BandwidthPath) -> None:
        def shifts(**options: object) -> dict[str, float]:
            notes = figure_of(path, **options)["layout"]["annotations"]  # type: ignore[index]
            return {note["text"]: note["xshift"] for note in notes}

        with_marks, without = shifts(), shifts(marks=False)
        moved = {text: gap for text, at in with_marks.items() if (gap := at - without[text])}
        assert list(moved.values()) == [MARK] * 3, moved
        notes = figure_of(path)["layout"]["annotations"]  # type: ignore[index]
        assert {note["text"] for note in notes if note.get("name") == AFTER_MARK} == moved.keys()
        script = (Path(__file__).parents[2] / "assets" / "83-figures.js").read_text()
        assert f"const MARK = {MARK};" in script
        assert f'"{AFTER_MARK}"' in script

    def test_an_index_that_is_not_there_yet_is_left_out(self, path: BandwidthPath) -> None:
        go.Figure(figure_of(path, selection=(0, 9), recommended=9, active=9))

    def test_a_recurring_partition_has_one_colour(self, path: BandwidthPath) -> None:
        def strip(**options: object) -> list[str]:
            return next(t for t in figure_of(path, **options)["data"] if t["type"] == "bar")["marker"]["color"]  # type: ignore[attr-defined, no-any-return]

        plain = strip()
        assert plain[1] == plain[3] == "#0072B2"
        best = strip(recommended=3)
        assert best[1] == best[3] == "#3A4FD0"
        assert strip(selection=(0,))[0] == "#4A515C"

    def test_words_in_the_column_keep_clear_of_the_lines(self) -> None:
        one = record(1, [0, 1])
        for value in np.linspace(0, 1, 21):
            held = PathRecord(1.0, 1.0, 1.0, one.labels, one.moved, cnnc=0.2, nmi=float(value))
            figure = figure_of(BandwidthPath([held], [LevelEnd(1, "k-means", INF)]))
            notes = figure["layout"]["annotations"]  # type: ignore[index]
            printed = [n["yshift"] for n in notes if n["text"] == f"{value:.3f}" and n["x"] == 1]
            named = next(n["yshift"] for n in notes if n["text"] == "k-means")
            assert all(abs(named - height) >= 14 for height in printed)
