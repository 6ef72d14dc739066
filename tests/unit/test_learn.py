"""The Learn pages without a browser: what an address opens, and that each step shows the numbers of its trace."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from dash import no_update
from dash.development.base_component import Component

from callbacks.learn import opened, redrawn
from callbacks.learn.drawing import draw
from callbacks.state import Look
from layouts import ids
from layouts.learn.formula import formula
from layouts.learn.lesson import Lesson
from layouts.learn.lessons import CRITICAL, FROZEN, LESSONS, LLOYD, POWERS
from layouts.learn.page import index
from offgrid import traces
from offgrid.datasets import load
from services.run_settings import RunSettings

FLAME = load("flame").X
SETTINGS: list[tuple[Lesson, dict[str, Any]]] = [
    (FROZEN, {}),
    (FROZEN, {"data": "tight", "n": 16}),
    (LLOYD, {"sigma": 5.0, "seed": 1}),
    (LLOYD, {"data": "aggregation", "sigma": 1e6}),
    (POWERS, {}),
    (POWERS, {"base": 0.01, "exponent": 0.625}),
    (POWERS, {"exponent": 3}),
    (POWERS, {"base": 1, "depth": 40}),
    (CRITICAL, {}),
    (CRITICAL, {"sigma": 1e5}),
    (CRITICAL, {"axis": "whole", "depth": 1}),
]


def shown(lesson: Lesson, given: dict[str, Any], look: Look | None = None) -> Any:
    return draw(lesson, lesson.read(given), look or Look()).demonstration


def figures_of(demonstration: Any, step: int) -> list[Any]:
    """Return the figures of a step as the browser puts them together."""
    figures = copy.deepcopy(demonstration.figures)
    for figure, change in zip(figures, demonstration.steps[step]["figures"], strict=True):
        for place, values in change["data"].items():
            figure["data"][int(place)].update(values)
        figure["layout"].update(change["layout"])
    return figures


def components(component: Any) -> Iterator[Component]:
    if isinstance(component, Component):
        yield component
        children = getattr(component, "children", None)
        for child in children if isinstance(children, (list, tuple)) else [children]:
            yield from components(child)


@pytest.mark.parametrize(("lesson", "given"), SETTINGS)
@pytest.mark.parametrize("look", [Look(), Look("dark", narrow=True)])
def test_every_step_is_plain_json_with_a_sentence_and_a_table(lesson: Lesson, given: Any, look: Look) -> None:
    demonstration = shown(lesson, given, look)
    assert 0 <= demonstration.start < len(demonstration.steps)
    json.dumps([demonstration.figures, demonstration.steps], allow_nan=False)
    last = len(demonstration.steps) - 1
    for place, step in enumerate(demonstration.steps):
        assert step["sentence"].startswith(f"Step {place} of {last}: " if place else "Start: ")
        assert step["sentence"].endswith((".", "?"))
        assert "nan" not in step["sentence"]
        assert {len(row) for row in step["rows"]} == {len(demonstration.head)}
        assert step["current"] is None or step["current"] < len(step["rows"])


def test_steps_are_sent_as_differences() -> None:
    demonstration = shown(LLOYD, {"sigma": 5.0, "seed": 1})
    *clusters, rings = demonstration.figures[0]["data"]
    assert rings["selectedpoints"] == []
    for step in demonstration.steps:
        changed = step["figures"][0]["data"]
        assert changed.get(str(len(clusters)), {}).keys() <= {"selectedpoints"}
        assert all(
            trace.keys() <= {"x", "y", "customdata"} for place, trace in changed.items() if place != str(len(clusters))
        )


class TestFrozen:
    def test_rings_and_counts_are_the_trace_s(self) -> None:
        zone = traces.frozen_zone(FLAME, np.random.RandomState(0).randint(2, size=len(FLAME)), 2)
        demonstration = shown(FROZEN, {})
        assert zone.sigmas[demonstration.start] == zone.bound
        for place, moved in enumerate(zone.moved):
            left, right = figures_of(demonstration, place)
            assert left["data"][-1]["selectedpoints"] == moved.tolist()
            assert right["data"][0]["y"][place] == len(moved)
            assert demonstration.steps[place]["rows"][0][-1] == str(len(moved))
        assert "Theorem 1" in demonstration.steps[demonstration.start]["sentence"]
        first = int(np.searchsorted(zone.sigmas, zone.first))
        assert "1 point of 240 moves, the first of this clustering" in demonstration.steps[first]["sentence"]

    def test_at_the_bound_the_largest_entry_is_the_theorem_s(self) -> None:
        demonstration = shown(FROZEN, {})
        row = dict(zip(demonstration.head, demonstration.steps[demonstration.start]["rows"][0], strict=True))
        assert row["Largest κ of two points"] == row["1/(3n)"] == f"{1 / 720:.5f}"

    def test_the_tight_example_shows_its_distances_and_where_y_is(self) -> None:
        demonstration = shown(FROZEN, {"data": "tight", "n": 16})
        zone = traces.tight_example_zone(16)
        for place, moved in enumerate(zone.moved):
            left, _ = figures_of(demonstration, place)
            assert left["data"][0]["z"][15][0] == 1.0
            assert left["data"][0]["z"][15][8] == 2.0
            assert left["data"][1]["z"][15][0] == (0 if len(moved) else 1)


class TestLloyd:
    def test_every_step_shows_its_iteration(self) -> None:
        found = traces.lloyd_steps(FLAME, 2, 5.0, seed=1)
        demonstration = shown(LLOYD, {"sigma": 5, "seed": 1})
        assert len(demonstration.steps) == len(found.steps)
        for place, step in enumerate(found.steps):
            left, right = figures_of(demonstration, place)
            assert left["data"][-1]["selectedpoints"] == step.moved.tolist()
            assert right["data"][1]["y"] == [earlier.objective for earlier in found.steps[: place + 1]]
            assert demonstration.steps[place]["rows"][-1][2] == f"{step.objective:.4f}"
        assert demonstration.steps[-1]["sentence"].endswith("The next step moves no point.")


class TestPowers:
    def test_every_step_shows_its_round(self) -> None:
        demonstration = shown(POWERS, {"base": 10, "exponent": 2.3, "depth": 6})
        found = traces.power_rounds(10.0, 2.3, 6)
        for place, item in enumerate(found.rounds):
            left, right = figures_of(demonstration, place)
            assert left["data"][3]["y"][-1] == item.numerator / item.denominator
            assert right["data"][1]["y"][-1] == pytest.approx(abs(item.value / 10**2.3 - 1))
            assert right["data"][1]["y"][-1] <= right["data"][0]["y"][place]
            assert demonstration.steps[place]["rows"][-1][1] == f"{item.numerator}/{item.denominator}"
        assert demonstration.steps[2]["sentence"] == (
            "Step 2 of 6: the last n/d was above f, so divide by the root 1.77827941: n/d is 1/4, and the result "
            "177.827941, −11% off."
        )

    def test_an_exact_exponent_says_so(self) -> None:
        demonstration = shown(POWERS, {"base": 16, "exponent": 2.75})
        assert demonstration.steps[-1]["sentence"].endswith("n/d is 3/4, which is f itself. The result is 2,048.")


class TestCritical:
    def test_every_step_shows_what_each_method_knows_by_then(self) -> None:
        found = traces.hunts(FLAME, 2, 5.0)
        demonstration = shown(CRITICAL, {"axis": "whole"})
        assert len(demonstration.steps) == 1 + max(len(hunt.queries) for hunt in found.hunts)
        for place in range(1, len(demonstration.steps)):
            left, _ = figures_of(demonstration, place)
            for lane, hunt in enumerate(found.hunts):
                seen = hunt.queries[:place]
                assert left["data"][3 * lane + 1]["x"] == [5.0, seen[-1].look.below]
                assert left["data"][3 * lane + 2]["x"] == [query.look.sigma for query in seen]
                row = demonstration.steps[place]["rows"][lane]
                assert row[1:3] == [str(len(seen)), f"{seen[-1].look.passes:.2f}"]
        assert "Certified search at 9.67065 after 1.8 kernel passes" in demonstration.steps[-1]["sentence"]

    def test_no_critical_value_is_told(self) -> None:
        last = shown(CRITICAL, {"sigma": 1e5}).steps[-1]
        assert "Certified search at ∞" in last["sentence"]


class TestPage:
    def test_every_lesson_opens_with_each_id_once_and_a_name_on_every_control(self) -> None:
        for lesson in LESSONS:
            parts = list(components(opened(lesson, {})))
            counted = Counter(str(part.id) for part in parts if getattr(part, "id", None))
            assert max(counted.values()) == 1, counted.most_common(3)
            for part in parts:
                if type(part).__name__ in ("NumberInput", "Select"):
                    assert getattr(part, "aria-label")
        assert sum(type(part).__name__ == "Link" for part in components(index())) == len(LESSONS)

    def test_no_page_carries_a_lesson_s_figures(self) -> None:
        assert (
            len(json.dumps(opened(CRITICAL, {}).to_plotly_json(), default=lambda part: part.to_plotly_json())) < 20_000
        )

    @pytest.mark.parametrize(
        ("lesson", "query", "part"),
        [
            (LLOYD, {"sigma": "wide"}, "Bandwidth σ is wide: give a number from 0.01 to 1,000,000."),
            (LLOYD, {"data": "nowhere"}, "choose one of flame"),
            (LLOYD, {"seed": "1.5"}, "give a whole number"),
            (CRITICAL, {"sigma": "nan"}, "Start at σ is nan"),
            (POWERS, {"base": "1e-6", "exponent": "40"}, ""),
            (POWERS, {"base": "1e99"}, "Base b is 1e99"),
            (FROZEN, {"n": "4000"}, "Points is 4000"),
        ],
    )
    def test_an_address_that_cannot_be_opened_says_why(self, lesson: Lesson, query: dict[str, str], part: str) -> None:
        alert = next(part for part in components(opened(lesson, query)) if getattr(part, "id", "") == ids.LEARN_ALERT)
        assert part in (alert.children or "")
        assert bool(alert.children) == bool(part)

    def test_values_of_an_address_come_back_in_it(self) -> None:
        query = {"sigma": "2.5", "seed": "3", "data": "jain"}
        assert LLOYD.query(LLOYD.read(query)) == {"data": "jain", "sigma": "2.5", "seed": "3"}
        assert LLOYD.query(LLOYD.read({"sigma": "2", "seed": "0"})) == {}


VISIT: dict[str, Any] = {"lesson": "lloyd", "id": "a", "step": 3, "shown": None}


class TestRedrawn:
    def test_the_first_answer_goes_to_the_step_of_the_address(self) -> None:
        answer = redrawn(VISIT, {"data": "flame", "sigma": 2, "seed": 0}, Look())
        assert answer["data"]["first"] == 3
        beyond = redrawn({**VISIT, "step": 900}, {"seed": 0}, Look())
        assert beyond["data"]["first"] == len(beyond["data"]["steps"]) - 1

    def test_other_values_begin_at_the_start_and_another_look_keeps_the_step(self) -> None:
        first = redrawn(VISIT, {"seed": 0}, Look())
        other = redrawn(first["visit"], {"seed": 1}, Look())
        assert other["data"]["first"] == other["data"]["start"] == 0
        assert other["data"]["key"] != first["data"]["key"]
        dark = redrawn(first["visit"], {"seed": 0}, Look("dark"))
        assert dark["data"]["key"] == first["data"]["key"]
        assert dark["data"]["figures"] != first["data"]["figures"]

    def test_nothing_is_sent_where_nothing_changed(self) -> None:
        first = redrawn(VISIT, {"seed": 0}, Look())
        again = redrawn(first["visit"], {"seed": 0}, Look())
        assert again["data"] is no_update
        assert again["alert"] is None

    def test_a_value_that_cannot_be_used_leaves_the_lesson_and_is_told(self) -> None:
        answer = redrawn(VISIT, {"sigma": ""}, Look())
        assert answer["data"] is no_update
        assert answer["alert"] == "Bandwidth σ is empty: give a number from 0.01 to 1,000,000."

    def test_controls_that_mean_nothing_are_hidden(self) -> None:
        visit = {**VISIT, "lesson": "frozen"}
        names = [control.name for control in FROZEN.controls]
        points = dict(zip(names, redrawn(visit, {}, Look())["hidden"], strict=True))
        tight = dict(zip(names, redrawn(visit, {"data": "tight"}, Look())["hidden"], strict=True))
        assert points == {"data": False, "seed": False, "n": True}
        assert tight == {"data": False, "seed": True, "n": False}


@pytest.mark.parametrize(("lesson", "given"), SETTINGS)
def test_the_way_to_explore_is_a_search_on_the_same_data(lesson: Lesson, given: dict[str, Any]) -> None:
    address = urlsplit(draw(lesson, lesson.read(given), Look()).explore)
    asked = RunSettings.from_query(dict(parse_qsl(address.query)))
    values = lesson.read(given)
    if values.get("data", "tight") != "tight":
        assert asked.data.source == f"builtin:{values['data']}"
        assert asked.search.n_clusters == load(str(values["data"])).k
        assert asked.search.seed == values["seed"]
    if "sigma" in values:
        assert asked.search.start == values["sigma"]


def test_formula() -> None:
    pieces = formula("{b}^(p) ≈ {n}_(i) and more")
    assert [type(piece).__name__ for piece in pieces] == ["I", "Sup", "str", "I", "Sub", "str"]
    assert "".join(getattr(piece, "children", piece) for piece in pieces) == "bp ≈ ni and more"


def test_a_whole_exponent_is_exact() -> None:
    demonstration = shown(POWERS, {"base": 3, "exponent": 4})
    assert len(demonstration.steps) == 1
    assert "3 to the power 4 is 81" in demonstration.steps[0]["sentence"]


def test_large_numbers_fit_the_axes() -> None:
    _, right = figures_of(shown(POWERS, {"base": 1e6, "exponent": 0.3}), 0)
    low, high = right["layout"]["yaxis"]["range"]
    assert low < math.log10(1e6**0.7 - 1) < high
