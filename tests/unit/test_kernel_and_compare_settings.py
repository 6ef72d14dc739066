"""Kernels and methods to compare with: in the settings, the address, the store, and on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dash.development.base_component import Component
from hypothesis import given
from hypothesis import strategies as st

from figures.path import path_figure
from figures.path_baselines import SYMBOLS, baseline_marks, outside
from layouts import compare_tab, ids, path_panel, summary
from layouts.kernel_section import hidden_fields
from layouts.views import ResultView
from offgrid import InputError, kernels
from offgrid.cli_arguments import KERNELS as CLI_KERNELS
from offgrid.comparison import OFFERED, Comparison, Tried, beside, near_neighbours, of_path
from offgrid.path import BandwidthPath, LevelEnd, PathRecord
from services.context import Services
from services.jobs import build_search, execute
from services.points import DataSpec
from services.run_settings import KERNELS, RunSettings, SearchSettings
from services.settings import Settings

FLAME = DataSpec("builtin:flame")
INF = float("inf")


# Settings and address ------------------------------------------------------------------------------------------------


def test_kernels_have_the_same_names_everywhere() -> None:
    assert KERNELS == CLI_KERNELS
    for name in KERNELS:
        assert kernels.kernel_named(name).parameter == ("degree" if name == "polynomial" else "sigma")
    with pytest.raises(InputError, match="There is no kernel 'cosine': choose from rbf, laplacian, polynomial"):
        kernels.kernel_named("cosine")


settings = st.builds(
    SearchSettings,
    n_clusters=st.just(3),
    kernel=st.sampled_from(KERNELS),
    offset=st.floats(-1e6, 1e6),
    plus=st.none() | st.tuples(st.floats(1e-9, 1e9), st.sampled_from(KERNELS), st.floats(1e-9, 1e9)),
)


@given(settings, st.lists(st.sampled_from(OFFERED)))
def test_kernel_and_methods_come_back_from_the_address_and_the_store(search: SearchSettings, names: list[str]) -> None:
    asked = RunSettings(FLAME, search, tuple(names))
    assert RunSettings.from_query(asked.to_query()) == asked
    assert RunSettings.from_dict(asked.to_dict()) == asked
    assert list(asked.compare) == [name for name in OFFERED if name in names], "one order, each once"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"kernel": "cosine"}, "The kernel is 'cosine'; it must be one of rbf, laplacian, polynomial."),
        ({"offset": INF}, "constant c is inf; it must be a number"),
        ({"plus": (0.0, "rbf", 1.0)}, "The weight of the kernel that is added is 0.0; it must be a positive number."),
        ({"plus": (1.0, "rbf", -1.0)}, "The σ of the kernel that is added is -1.0; it must be a positive number."),
        ({"plus": (1.0, "polynomial", INF)}, "The degree of the kernel that is added is inf"),
        ({"plus": (1.0, "rbf", 1.0), "method": "dyadic"}, "a sum of kernels has no such search; choose certified"),
        ({"kernel": "laplacian", "start": "bound"}, "Theorem 1's bound, which is for the RBF kernel"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        SearchSettings(2, **changed)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("text", ["1,rbf", "much,rbf,1", "1,cosine,2", "1,rbf,none"])
def test_a_term_that_cannot_be_read_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError):
        RunSettings.from_query({"data": "builtin:flame", "k": "2", "plus": text})


def test_the_recommendation_is_for_the_plain_kernel() -> None:
    assert RunSettings(FLAME, SearchSettings(2), ("grid",)).comparisons == ("recommended", "grid")
    assert RunSettings(FLAME, SearchSettings(2, kernel="laplacian"), ("grid",)).comparisons == ("grid",)


def test_the_library_gets_the_kernel_that_was_asked_for() -> None:
    search = build_search(SearchSettings(2, kernel="polynomial", offset=2.0, plus=(0.5, "rbf", 3.0)))
    X = np.array([[1.0], [2.0]])
    expected = np.array([[3.0, 4.0], [4.0, 6.0]]) ** 2.0 + 0.5 * np.exp(-np.array([[0, 1], [1, 0]]) / 3.0)
    assert np.allclose(search.kernel(X, degree=2.0), expected)


def test_fields_that_a_kernel_does_not_have_are_hidden() -> None:
    assert hidden_fields("rbf", "polynomial", "polynomial") == {ids.SUM_FIELD: True, ids.OFFSET_FIELD: True}
    assert hidden_fields("polynomial", "rbf", "rbf") == {ids.SUM_FIELD: True, ids.OFFSET_FIELD: False}
    assert hidden_fields("sum", "rbf", "polynomial") == {ids.SUM_FIELD: False, ids.OFFSET_FIELD: False}


# Jobs ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(Settings(data_dir=tmp_path))


def test_methods_are_carried_out_after_the_path_and_once(services: Services) -> None:
    asked = RunSettings(FLAME, SearchSettings(2, max_steps=2), ("grid",))
    run_id = services.request(asked)
    execute(run_id, services)
    first = services.runs.get(run_id)
    assert first is not None
    assert first.state == "finished"
    assert list(services.compared(asked)) == ["recommended", "grid"]
    points = services.points(asked.data)
    own = of_path(first.path.records, near_neighbours(points.X, 2, 0))
    assert services.near_on_path(asked) == own.near
    assert own.near is not None
    assert services.near_on_path(replace(asked, search=SearchSettings(2, max_steps=3))) is None
    more = replace(asked, compare=("grid", "median_heuristic"))
    assert services.request(asked) == run_id
    assert services.runs.get(run_id).state == "finished"  # type: ignore[union-attr]
    assert services.request(more) == run_id, "the same path: only what is missing is carried out"
    assert services.runs.get(run_id).state == "queued"  # type: ignore[union-attr]
    kept = services.compared(asked)["grid"]
    execute(run_id, services)
    again = services.runs.get(run_id)
    assert again is not None
    assert (again.state, again.path.records) == ("finished", first.path.records)
    assert services.compared(more)["grid"] is kept
    assert services.compared(more)["median_heuristic"].choice.label


def test_a_method_that_fails_leaves_the_path(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Comparison:
        raise InputError("The grid is out of order; try another method.")

    monkeypatch.setattr("services.jobs.compare", refuse)
    asked = RunSettings(FLAME, SearchSettings(2, max_steps=1), ("grid",))
    run_id = services.request(asked)
    execute(run_id, services)
    assert services.runs.get(run_id).state == "finished"  # type: ignore[union-attr]
    assert services.compared(asked)["grid"].failure == "The grid is out of order; try another method."


@pytest.mark.parametrize(
    "kernel", [{"kernel": "laplacian"}, {"kernel": "polynomial"}, {"plus": (0.5, "laplacian", 2.0)}]
)
def test_every_kernel_is_searched_in_a_job(services: Services, kernel: dict[str, Any]) -> None:
    asked = RunSettings(FLAME, SearchSettings(2, max_steps=2, **kernel))
    run_id = services.request(asked)
    execute(run_id, services)
    run = services.runs.get(run_id)
    assert run is not None
    points = services.points(FLAME)
    expected = build_search(asked.search).fit(points.X, points.y)
    assert run.state == "finished", run.message
    assert [record.sigma for record in run.path.records] == [record.sigma for record in expected.path_]
    assert run.lower_bound is None


# On the page ---------------------------------------------------------------------------------------------------------


def record(sigma: float, cnnc: float, labels: list[int]) -> PathRecord:
    return PathRecord(sigma, sigma, sigma, np.array(labels, np.int32), np.empty(0, np.int64), cnnc=cnnc, nmi=0.5)


@pytest.fixture
def view() -> ResultView:
    path = BandwidthPath([record(1.0, 0.3, [0, 0, 1]), record(5.0, 0.2, [0, 1, 1])], [LevelEnd(1, "k-means", INF)])
    labels = np.array([0, 1, 0], np.int32)
    told = Comparison(
        "recommended", (Tried("k-means", INF, 0.4, 0.6), Tried("", 2.5, 0.25, 0.9)), 1, labels, 2, None, 0.5,
        ari=0.8, near=0.029, reason="near neighbours stay together", verdict=("The difference is slight.",),
        notes=("That is the lowest share.",),
    )  # fmt: skip
    tried = tuple(Tried(f"10^{e}", 10.0**e, 0.5, 0.1) for e in range(-6, 7))
    grid = Comparison("grid", tried, 6, labels, 3, 12.5, 0.25, near=0.028)
    return ResultView(
        title="Three", state="finished", path=beside(path, told), recommended=2, reason=told.reason, selection=(0, 2),
        has_labels=True, near_on_path=0.122, compared={"recommended": told, "grid": grid},
    )  # fmt: skip


def text_of(*parts: Any) -> str:
    return " ".join(words(parts))


def words(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list | tuple):
        for one in part:
            yield from words(one)
    elif isinstance(part, Component):
        yield from words(getattr(part, "children", None))


def test_the_summary_names_the_recommendation_and_what_the_path_has(view: ResultView) -> None:
    said = text_of(summary.summary(view))
    assert "Recommended" in said
    assert "σ = 2.50" in said
    assert "because near neighbours stay together." in said
    sure, worth = summary.worth_lines(view)
    assert sure == "The difference is slight."
    assert worth == (
        "It agrees with the labels at NMI 0.900, k-means at 0.600. Found from a spectral start, with c-NNC 0.250; the "
        "path, from a random start, has c-NNC 0.300 at this σ and its lowest, 0.200, at its k-means end."
    )


def test_the_path_is_told_of_only_where_it_was_searched(view: ResultView) -> None:
    records = [replace(one, nmi=None) for one in view.path.found]
    told = view.compared["recommended"]
    blind = replace(told, tried=tuple(replace(one, nmi=None) for one in told.tried))

    def worth(sigma: float, init: str = "random") -> str:
        tried = (blind.tried[0], replace(blind.tried[1], sigma=sigma))
        moved = replace(blind, tried=tried)
        path = beside(BandwidthPath(records, view.path.ends.values()), moved)
        return summary.worth_lines(replace(view, path=path, compared={"recommended": moved}, init=init))[-1]

    assert worth(0.5) == (
        "Found from a spectral start, with c-NNC 0.250; the path, from a random start, has its lowest, 0.200, at its "
        "k-means end."
    )
    assert worth(7.0, "k-means++").endswith("from a k-means++ start, has its lowest c-NNC, 0.200, at this σ.")


def test_a_gap_of_the_path_is_nobody_s(view: ResultView) -> None:
    records = [view.path.found[0], replace(view.path.found[1], below=4.0, critical=4.5)]
    path = BandwidthPath(records, view.path.ends.values())
    assert [summary.held_at(path, sigma) for sigma in (0.9, 1.0, 4.0, 4.2, 5.0, INF)] == [None, 0, 0, None, 1, 1]


def test_k_means_is_named_where_it_is_recommended(view: ResultView) -> None:
    told = replace(view.compared["recommended"], chosen=0)
    path = BandwidthPath(view.path.found, view.path.ends.values())
    at_the_end = replace(view, path=beside(path, told), compared={"recommended": told})
    assert "k-means, σ → ∞" in text_of(summary.summary(at_the_end))
    assert summary.worth_lines(at_the_end)[-1] == (
        "It agrees with the labels at NMI 0.600. It is the best of 10 k-means starts, with c-NNC 0.400; the path, from "
        "a random start, has its lowest c-NNC, 0.200, at its k-means end."
    )
    figure = path_figure(at_the_end.path, lower_bound=None, recommended=2, selection=(2,), has_labels=True)
    diamonds = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "diamond"]
    assert len(diamonds) == 2
    assert all(trace["x"] == [10.0 ** figure["layout"]["xaxis"]["range"][1]] for trace in diamonds), "at the far end"


def test_the_compare_tab_has_a_row_for_each_method(view: ResultView) -> None:
    said = text_of(compare_tab.content(view))
    for expected in ("This path", "Normalised cuts", "Grid", "12.5", "0.25", "13", "That is the lowest share."):
        assert expected in said
    assert "Certified search;" in said
    assert "Dyadic search;" in text_of(compare_tab.content(replace(view, method="dyadic")))
    place = [text for text, _ in compare_tab.columns(view)].index("Near neighbours") - 1
    assert [compare_tab.cells(view, one)[place] for one in compare_tab.methods(view)] == ["12%", "2.9%", "2.8%"]
    assert compare_tab.reasons(view)[-1].startswith("Fewer near neighbours are separated by the choice of grid 2.8%:")
    fair = replace(view, compared={**view.compared, "grid": replace(view.compared["grid"], near=None)})
    assert compare_tab.reasons(fair) == ["That is the lowest share."]
    assert compare_tab.cells(fair, fair.compared["grid"])[place] == "–", "it was kept before there was such a share"
    assert "choose methods under Compare with" not in said
    failed = replace(view, compared={**view.compared, "mknn": Comparison.failed("mknn", "It needs 40 GB.")})
    assert "It needs 40 GB." in text_of(compare_tab.content(failed))
    alone = replace(view, compared={})
    assert "choose methods under Compare with" in text_of(compare_tab.content(alone))


def test_baselines_are_drawn_where_the_axis_reaches(view: ResultView) -> None:
    grid = view.compared["grid"]
    marks = baseline_marks(list(view.compared.values()), -0.5, 2.5)
    assert [mark.sigma for mark in marks] == [1.0, 10.0, 100.0], "the recommendation has a mark of its own"
    assert outside(grid, -0.5, 2.5) == 10
    figure = path_figure(view.path, lower_bound=None, has_labels=True, compared=list(view.compared.values()))
    hollow = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == f"{SYMBOLS[0]}-open"]
    assert [trace["yaxis"] for trace in hollow] == ["y", "y2"]
    legend = text_of(path_panel.legend(view))
    inside = len(hollow[0]["x"])
    assert f"grid, {inside} of 13 values in view" in legend


def test_a_degree_is_called_so(view: ResultView) -> None:
    path = BandwidthPath(view.path.found, [LevelEnd(1, "limit", 64.0)])
    poly = replace(view, path=path, compared={}, recommended=1, symbol="degree", reason="it is best")
    assert "degree = 5.00" in text_of(summary.summary(poly))
    end = SearchSettings(2, kernel="polynomial").far_end
    figure = path_figure(path, lower_bound=None, has_labels=True, symbol="degree", far_end=end)
    notes = [note["text"] for note in figure["layout"]["annotations"]]
    assert "degree, logarithmic" in notes
    assert any("Degree 64" in note for note in notes)
    assert not any("k-means" in note for note in notes)


def test_only_the_plain_kernel_ends_at_ordinary_k_means(view: ResultView) -> None:
    alone = replace(view, path=BandwidthPath(view.path.found, view.path.ends.values()), compared={}, recommended=0)
    assert "Ordinary k-means, the far end of the path, reaches 0.500" in summary.worth_lines(alone)[0]
    summed = replace(alone, far_end=SearchSettings(2, plus=(1.0, "laplacian", 1.0)).far_end)
    said = text_of(summary.summary(summed))
    assert "The far end of the path reaches 0.500" in said
    assert "k-means" not in said
