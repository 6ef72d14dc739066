"""The flow between selected clusterings: what is counted, what is drawn, what is said."""

from __future__ import annotations

import numpy as np
import pytest

from figures.clustering import Clustering
from figures.flow import Step, Stream, drawn_moves, flow_figure, least_width, steps
from layouts import flow_tab

BEFORE = Clustering(3, np.array([0, 0, 0, 1, 1, 2]), None)
AFTER = Clustering(5, np.array([0, 1, 2, 1, 1, 1]), np.array([1, 2, 5]))
STEP = Step(
    (Stream(0, 0, 1), Stream(1, 1, 2)),
    (Stream(0, 1, 1), Stream(0, 2, 1), Stream(2, 1, 1)),
)


def test_points_are_counted_by_where_they_come_from_and_go_to() -> None:
    assert steps([BEFORE, AFTER], 3) == [STEP]
    assert STEP.n_moved == 3
    assert steps([BEFORE], 3) == []


def test_many_moves_come_by_falling_size() -> None:
    rng = np.random.default_rng(0)
    clusterings = [Clustering(i, rng.integers(0, 31, 3100), None) for i in range(3)]
    found = steps(clusterings, 31)
    sizes = [stream.count for stream in found[0].moves]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) + sum(stream.count for stream in found[0].stays) == 3100
    figure = flow_figure(clusterings, n_clusters=31, sigmas=[1.0, 2.0, 3.0])
    ribbons = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "path"]
    stays = sum(len(step.stays) for step in found)
    assert len(ribbons) == stays + 2 * drawn_moves(found), "the largest streams alone"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_moved_point_is_seen_and_every_cluster_has_its_number_and_size(scheme: str) -> None:
    figure = flow_figure([BEFORE, AFTER], n_clusters=3, sigmas=[1.5, 20.0], recommended=5, scheme=scheme)  # type: ignore[arg-type]
    ribbons = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "path"]
    assert [ribbon["line"]["width"] > 0 for ribbon in ribbons] == [False, False, True, True, True]
    named = [trace for trace in figure["data"] if trace.get("textposition", "").startswith("middle ")]
    assert [text.split("  ")[1] for text in named[0]["text"]] == ["1", "2", "3"]
    assert [">" + size + "<" in text for size, text in zip("141", named[1]["text"], strict=True)] == [True] * 3
    heads = [trace["text"] for trace in figure["data"] if trace["text"][0] in ("A", "σ = 1.50")]
    assert heads == [["A", "B"], ["σ = 1.50", "σ = 20.0"]]
    assert "A to B: 1 point from cluster 1 to 3" in figure["data"][0]["text"]


def test_thirty_one_lanes_stay_readable() -> None:
    labels = np.repeat(np.arange(31), [1, 400, *[93] * 29])
    figure = flow_figure([Clustering(i, labels, None) for i in range(2)], n_clusters=31, sigmas=[1.0, 2.0])
    middles = figure["data"][1]["y"]
    assert min(np.diff(middles)) > 16
    assert figure["layout"]["height"] < 900
    assert least_width(6) > least_width(2)


def test_a_step_is_put_in_words() -> None:
    assert flow_tab.told(0, STEP) == "A to B: 3 points move, 1 from cluster 1 to 2, 1 from 1 to 3, 1 from 3 to 2."
    assert flow_tab.told(1, Step((), ())) == "B to C: no point moves, it is the same partition."
    many = Step((), tuple(Stream(0, i, 10) for i in range(1, 11)))
    assert flow_tab.told(0, many).endswith("10 from 1 to 7, 40 otherwise.")
    assert flow_tab.told(0, Step((), (Stream(0, 1, 1),))) == "A to B: 1 point moves, 1 from cluster 1 to 2."
