"""The clusters' means as images."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from figures.cluster_means import cluster_means, means_figure, montage
from offgrid.datasets import load
from offgrid.datasets.frames import table_of

X = np.array([[0.0, 2, 4, 6, 8, 10], [2, 4, 6, 8, 10, 12], [9, 9, 9, 9, 9, 0]])


def test_the_mean_of_each_cluster_in_the_image_s_shape():
    means = cluster_means(X, np.array([2, 2, 0]), 3, (2, 3))
    assert means.clusters.tolist() == [0, 2], "cluster 1 is empty"
    assert means.sizes.tolist() == [1, 2]
    assert means.images.tolist() == [[[9, 9, 9], [9, 9, 0]], [[1, 3, 5], [7, 9, 11]]]


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (4, 2), (10, 4), (31, 7)])
def test_images_stand_in_rows_and_do_not_overlap(count, columns):
    found, corners = montage(count, (8, 8))
    assert found == columns
    assert corners[0] == (0.0, 0.0)
    for i, (x, y) in enumerate(corners):
        assert all(abs(x - a) >= 8 or abs(y - b) >= 8 for a, b in corners[:i])


def test_the_figure_draws_what_the_means_are():
    figure = means_figure(X, np.array([2, 2, 0]), n_clusters=3, image_shape=(2, 3))
    first = figure["data"][0]
    assert first["z"]["shape"] == "2, 3"
    assert np.frombuffer(base64.b64decode(first["z"]["bdata"]), "f4").tolist() == [9, 9, 9, 9, 9, 0]
    assert {(trace["zmin"], trace["zmax"]) for trace in figure["data"]} == {(0.0, 12.0)}, "one scale of grey"
    assert [note["text"].split()[0] for note in figure["layout"]["annotations"]] == ["1", "3"]
    bars = [shape for shape in figure["layout"]["shapes"] if shape["line"]["width"] == 0]
    assert [bar["x1"] - bar["x0"] for bar in bars] == [1.5, 3.0], "a bar is as long as the share of the largest"


def test_names_of_classes_are_no_markup():
    figure = means_figure(X, np.array([0, 1, 0]), n_clusters=2, image_shape=(2, 3), class_names=["<i>a%", "b"])
    assert "&lt;i&gt;a%" in figure["layout"]["annotations"][0]["text"]
    assert figure["data"][0]["hovertemplate"].startswith("&lt;i&gt;a&#37;")


def test_digits_are_images_and_measurements_are_not():
    assert load("digits").prepare().likely_image_shape == (8, 8)
    assert load("wine").prepare().likely_image_shape is None


def test_columns_that_look_like_pixels_are_offered_as_images():
    digits, _ = load("digits")
    bytes_ = np.clip(np.round(digits * 15.9), 0, 255)
    assert table_of(bytes_).prepare().image_shape is None, "nobody said so"
    assert table_of(bytes_).prepare().likely_image_shape == (8, 8)
    assert table_of(digits / 16).prepare().likely_image_shape == (8, 8)
    assert table_of(digits[:, :63]).prepare().likely_image_shape is None
    assert table_of(digits - 8).prepare().likely_image_shape is None
    noise = np.random.default_rng(0).normal(size=(50, 16))
    assert table_of(noise).prepare().likely_image_shape is None
