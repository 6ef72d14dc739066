"""The scatter plots' numbers, by hand, and their dicts as plotly would take them."""

from __future__ import annotations

import base64
import json

import numpy as np
import plotly.graph_objects as go
import pytest

from figures.clustering import clustering_figure, label_places, matched_clusterings, matched_truth, sample_rows
from layouts import clusterings_panel
from offgrid.path import BandwidthPath, PathRecord


def record(sigma: float, labels: list[int]) -> PathRecord:
    return PathRecord(sigma, sigma, sigma, np.array(labels, dtype=np.int32), np.empty(0, dtype=np.int64), 0.1)


def unpacked(spec: dict[str, str]) -> list[float]:
    return np.frombuffer(base64.b64decode(spec["bdata"]), dtype=spec["dtype"]).tolist()


class TestMatching:
    def test_names_carry_over_and_moved_rows_are_counted(self) -> None:
        path = BandwidthPath([record(1, [0, 0, 1, 1, 2]), record(2, [2, 2, 0, 0, 1]), record(3, [1, 0, 2, 2, 0])])
        first, second, third = matched_clusterings(path, (0, 1, 2), 3)
        assert (first.index, first.n_moved) == (0, None)
        assert first.labels.tolist() == second.labels.tolist() == [0, 0, 1, 1, 2]
        assert second.n_moved == 0
        assert third.moved is not None
        assert third.n_moved == 1

    def test_colours_stay_when_the_selection_changes(self) -> None:
        path = BandwidthPath([record(1, [0, 0, 1, 1]), record(2, [1, 1, 0, 0]), record(3, [1, 1, 1, 0])])
        alone = matched_clusterings(path, (2,), 2)[0]
        beside = matched_clusterings(path, (1, 2), 2)[1]
        assert alone.labels.tolist() == beside.labels.tolist()

    def test_an_empty_path_has_none(self) -> None:
        assert matched_clusterings(BandwidthPath([]), (), 3) == []

    def test_classes_take_the_colour_of_their_cluster(self) -> None:
        clusters = np.array([0, 0, 0, 1, 1, 2])
        labels, names = matched_truth(clusters, np.array([1, 1, 1, 0, 0, 0]), ["ham", "spam"])
        assert labels.tolist() == [0, 0, 0, 1, 1, 1]
        assert names == ("spam", "ham", "")

    def test_more_classes_than_clusters(self) -> None:
        labels, names = matched_truth(np.zeros(3, dtype=int), np.array([0, 1, 2]), ["a", "b", "c"])
        assert [names[i] for i in labels] == ["a", "b", "c"]


class TestPlaces:
    def test_a_number_stands_where_its_cluster_is_densest(self) -> None:
        blob = np.tile([[0.0, 0.0]], (20, 1))
        tail = np.column_stack([np.linspace(5, 10, 6), np.linspace(5, 10, 6)])
        places = label_places(np.vstack([blob, tail]), np.zeros(26, dtype=int), 2)
        assert places[0].tolist() == [0.0, 0.0]
        assert np.isnan(places[1]).all()

    def test_places_lie_among_their_own_points(self) -> None:
        rng = np.random.default_rng(0)
        xy = np.vstack([rng.normal(i * 10, 1, (50, 2)) for i in range(5)])
        places = label_places(xy, np.repeat(np.arange(5), 50), 5)
        assert np.abs(places - np.arange(5)[:, None] * 10).max() < 3

    def test_one_place_for_all_points(self) -> None:
        assert label_places(np.ones((4, 2)), np.array([0, 0, 1, 1]), 2).tolist() == [[1, 1], [1, 1]]


def test_a_sample_is_drawn_above_20_000() -> None:
    assert sample_rows(20_000) is None
    rows = sample_rows(30_000)
    assert rows is not None
    assert len(np.unique(rows)) == 20_000
    assert np.array_equal(rows, sample_rows(30_000))


class TestFigure:
    @pytest.mark.parametrize("k", [1, 2, 8, 31, 70])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_plotly_takes_it(self, k: int, scheme: str) -> None:
        rng = np.random.default_rng(0)
        figure = clustering_figure(
            rng.normal(size=(200, 2)),
            rng.integers(0, k, 200),
            n_clusters=k,
            moved=np.array([3, 5]),
            scheme=scheme,  # type: ignore[arg-type]
        )
        go.Figure(figure)
        json.dumps(figure)

    def test_points_and_rings_are_the_data(self) -> None:
        xy = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        figure = clustering_figure(xy, np.array([0, 1, 1]), n_clusters=2, moved=np.array([1]))
        first, second, rings = figure["data"]
        assert (unpacked(first["x"]), unpacked(second["x"])) == ([0], [2, 4])
        assert [one["marker"]["color"] for one in (first, second)] == ["#0072B2", "#E69F00"]
        assert unpacked(first["customdata"]) + unpacked(second["customdata"]) == [1, 1, 2, 2, 3, 2]
        assert (rings["x"], rings["y"]) == ([2], [3])
        assert [note["text"] for note in figure["layout"]["annotations"]] == ["1", "2"]

    def test_the_hover_text_has_the_row_of_the_file_and_its_name(self) -> None:
        figure = clustering_figure(
            np.eye(3)[:, :2], np.array([0, 1, 1]), n_clusters=2, file_rows=np.array([0, 29, 76]),
            row_names=("B0001", "<b>%{x}", "long " * 20),
        )  # fmt: skip
        first, second = figure["data"][:2]
        assert (unpacked(first["customdata"])[::2], unpacked(second["customdata"])[::2]) == ([1], [30, 77])
        assert first["hovertemplate"].startswith("row %{customdata[0]}, %{hovertext}, cluster %{customdata[1]}<br>")
        assert (first["hovertext"], second["hovertext"][0]) == (["B0001"], "&lt;b&gt;%{x}")
        assert len(second["hovertext"][1]) == 40
        go.Figure(figure)

    def test_names_of_very_many_rows_are_left_out(self) -> None:
        xy = np.random.default_rng(0).normal(size=(5_001, 2))
        names = tuple(map(str, range(5_001)))
        points = clustering_figure(xy, np.zeros(5_001, dtype=int), n_clusters=1, row_names=names)["data"][0]
        assert "hovertext" not in points
        assert "hovertext" not in points["hovertemplate"]

    def test_scales_are_equal_and_axes_unseen(self) -> None:
        layout = clustering_figure(np.eye(2), np.array([0, 1]), n_clusters=2)["layout"]
        assert layout["yaxis"]["scaleanchor"] == "x"
        assert not layout["xaxis"]["visible"]

    def test_a_flat_cloud_is_stretched_and_says_so(self) -> None:
        layout = clustering_figure(np.array([[0.0, 0.0], [100.0, 1.0]]), np.array([0, 1]), n_clusters=2)["layout"]
        assert "scaleanchor" not in layout["yaxis"]
        assert [note["text"] for note in layout["annotations"]] == ["vertical axis stretched", "1", "2"]

    def test_points_on_a_line_need_no_stretching(self) -> None:
        layout = clustering_figure(np.array([[0.0, 5.0], [9.0, 5.0]]), np.array([0, 1]), n_clusters=2)["layout"]
        assert layout["yaxis"]["scaleanchor"] == "x"

    def test_other_shapes_past_eight_clusters(self) -> None:
        xy = np.random.default_rng(0).normal(size=(20, 2))
        traces = clustering_figure(xy, np.arange(20), n_clusters=20)["data"]
        assert [one["marker"]["symbol"] for one in traces] == ["circle"] * 8 + ["square"] * 8 + ["triangle-up"] * 4

    def test_clusters_that_look_alike_share_a_trace(self) -> None:
        xy = np.random.default_rng(0).normal(size=(300, 2))
        traces = clustering_figure(xy, np.arange(300), n_clusters=300)["data"]
        assert len(traces) == len({(one["marker"]["color"], one["marker"]["symbol"]) for one in traces}) == 64
        assert unpacked(traces[0]["customdata"])[1::2] == [1, 65, 129, 193, 257]

    @pytest.mark.parametrize(("n", "kind"), [(5_000, "scatter"), (5_001, "scattergl")])
    def test_webgl_above_5_000(self, n: int, kind: str) -> None:
        xy = np.random.default_rng(0).normal(size=(n, 2))
        assert clustering_figure(xy, np.zeros(n, dtype=int), n_clusters=1)["data"][0]["type"] == kind

    def test_a_sample_keeps_row_numbers_and_rings_only_what_is_drawn(self) -> None:
        n = 25_000
        xy = np.random.default_rng(0).normal(size=(n, 2))
        figure = clustering_figure(xy, np.zeros(n, dtype=int), n_clusters=1, moved=np.arange(2_000))
        rows = sample_rows(n)
        assert rows is not None
        assert unpacked(figure["data"][0]["customdata"])[::2] == (rows + 1).tolist()
        assert len(figure["data"][1]["x"]) == np.count_nonzero(rows < 2_000)

    def test_rings_that_would_hide_the_points_are_left_out(self) -> None:
        xy = np.random.default_rng(0).normal(size=(2_500, 2))
        few, many = (
            clustering_figure(xy, np.zeros(2_500, dtype=int), n_clusters=1, moved=np.arange(count))["data"]
            for count in (2_000, 2_001)
        )
        assert (len(few), len(many)) == (2, 1)
        assert clusterings_panel.caption(1, 2_000) == "2,000 points moved since A, ringed"
        assert clusterings_panel.caption(1, 2_001) == "2,001 points moved since A, too many to ring"
        assert clusterings_panel.caption(1, 2_001, ringed=False) == "2,001 points moved since A"

    def test_many_rings_are_fainter_than_few(self) -> None:
        xy = np.random.default_rng(0).normal(size=(1_000, 2))
        labels = np.zeros(1_000, dtype=int)
        few, many = (
            clustering_figure(xy, labels, n_clusters=1, moved=np.arange(count))["data"][1]["marker"]["opacity"]
            for count in (40, 1_000)
        )
        assert few == 1.0
        assert 0.3 < many < 0.5

    def test_names_of_classes_are_words_not_markup(self) -> None:
        names = ["<script>", "b"]
        figure = clustering_figure(
            np.eye(2), np.array([0, 1]), n_clusters=2, class_names=names, axis_names=("<b>", "%{x}")
        )
        assert "<script>" not in json.dumps(figure)
        assert "<b>" not in json.dumps(figure)
        assert [note["text"] for note in figure["layout"]["annotations"]] == ["&lt;script&gt;", "b"]

    @pytest.mark.parametrize("scale", [1e-150, 1e150])
    def test_far_scales_keep_double_precision(self, scale: float) -> None:
        xy = np.array([[0.0, 1.0], [2.0, 3.0]]) * scale
        traces = clustering_figure(xy, np.array([0, 1]), n_clusters=2)["data"][:2]
        assert [unpacked(one["x"])[0] for one in traces] == xy[:, 0].tolist()
