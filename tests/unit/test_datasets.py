"""Built-in data sets: sizes, classes, the same numbers every time; scaling; the tight example of Theorem 1."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from offgrid.datasets import load, names, tight_example
from offgrid.datasets.generators import SHAPES
from offgrid.datasets.model import Points, listed, pick_columns, scaled
from offgrid.errors import InputError

SIZES = {
    "aggregation": (788, 2, 7),
    "compound": (399, 2, 6),
    "d31": (3100, 2, 31),
    "flame": (240, 2, 2),
    "jain": (373, 2, 2),
    "pathbased": (300, 2, 3),
    "r15": (600, 2, 15),
    "spiral": (312, 2, 3),
    "wine": (178, 13, 3),
    "breast_cancer": (569, 30, 2),
    "digits": (1797, 64, 10),
    "iris": (150, 4, 3),
}
SHAPE_NAMES = tuple(SHAPES)
FIRSTS = {  # second row of each
    "aggregation": [24.468, 8.543],
    "compound": [20.161, 7.628],
    "d31": [25.211, 6.622],
    "flame": [13.719, 22.163],
    "jain": [15.601, 13.707],
    "pathbased": [31.829, 20.254],
    "r15": [10.122, 9.838],
    "spiral": [18.233, 18.995],
}


def test_all_data_sets_are_there():
    assert names() == tuple(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_classes(name):
    dataset = load(name)
    n, d, k = SIZES[name]
    assert dataset.X.shape == (n, d)
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert np.isfinite(dataset.X).all()
    assert dataset.y.dtype == np.int64
    assert np.unique(dataset.y).tolist() == list(range(k))
    assert dataset.k == k == len(dataset.class_names)
    assert len(set(dataset.feature_names)) == d
    assert dataset.title
    assert dataset.description.endswith(".")
    assert dataset.description.count(". ") == 0


@pytest.mark.parametrize("name", SIZES)
def test_iterating_gives_x_and_y(name):
    X, y = load(name)
    assert X is load(name).X
    assert y is load(name).y


def test_arrays_cannot_be_changed_by_one_user_for_all():
    with pytest.raises(ValueError, match="read-only"):
        load("flame").X[0, 0] = 1.0


def test_an_unknown_name_is_told_what_exists():
    with pytest.raises(InputError) as caught:
        load("moons")
    assert "'moons'" in str(caught.value)
    assert all(name in str(caught.value) for name in names())


@pytest.mark.parametrize("name", SHAPE_NAMES)
def test_shapes_are_the_same_every_time(name):
    X, y = SHAPES[name]()
    assert np.array_equal(X, load(name).X)
    assert np.array_equal(y, load(name).y)


def test_shapes_are_the_same_on_every_machine():
    # Another order of draws, or a generator that numpy changed, would show here.
    firsts = {name: load(name).X[1].tolist() for name in SHAPE_NAMES}
    assert firsts == FIRSTS


@pytest.mark.parametrize("name", SHAPE_NAMES)
def test_shapes_have_no_equal_rows(name):
    X = load(name).X
    assert len(np.unique(X, axis=0)) == len(X)


@pytest.mark.parametrize("name", SHAPE_NAMES)
def test_shapes_compare_with_the_originals_and_are_not_copies(name, shared):
    original = np.loadtxt(shared / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    X, y = load(name)
    assert sorted(np.bincount(original[:, -1].astype(int) - 1).tolist()) == sorted(np.bincount(y).tolist())
    assert np.abs(X.min(axis=0) - original[:, :2].min(axis=0)).max() < 2
    assert np.abs(X.max(axis=0) - original[:, :2].max(axis=0)).max() < 2
    ours, theirs = _distances(X), _distances(original[:, :2])
    # The search starts at the 1st percentile and ends at the scale of the median: both comparable.
    assert 0.7 < np.percentile(ours, 1) / np.percentile(theirs, 1) < 1.4
    assert 0.85 < np.median(ours) / np.median(theirs) < 1.15
    both = np.concatenate([X, original[:, :2]])
    common = len(both) - len(np.unique(both, axis=0)) - (len(original) - len(np.unique(original[:, :2], axis=0)))
    assert common <= 3  # by chance


def _distances(X):
    i, j = np.triu_indices(len(X), 1)
    return ((X[i] - X[j]) ** 2).sum(axis=1)


def test_digits_are_pictures_and_lose_that_with_columns_left_out():
    assert load("digits").prepare().image_shape == (8, 8)
    assert load("digits").prepare(columns=load("digits").feature_names[:9]).image_shape is None


def test_proposed_scaling():
    unit = [name for name in names() if load(name).scaling == "unit"]
    assert unit == ["wine", "breast_cancer"]
    assert np.allclose(load("wine").prepare().X.std(axis=0), 1)
    assert np.array_equal(load("flame").prepare().X, load("flame").X)


def test_wine_agrees_with_the_paper_s_copy(shared):
    original = np.loadtxt(shared / "data" / "wine.csv", delimiter=",", skiprows=1)
    assert np.allclose(load("wine").X, original[:, :-1])
    assert np.array_equal(load("wine").y, original[:, -1].astype(int))


def test_prepare_chooses_columns_in_the_order_given():
    wine = load("wine")
    points = wine.prepare(columns=("hue", "alcohol"), scaling="none", label=None)
    assert points.feature_names == ("hue", "alcohol")
    assert np.array_equal(points.X, wine.X[:, [wine.feature_names.index("hue"), 0]])
    assert points.y is None
    assert points.class_names == ()
    assert points.n_classes is None
    assert points.rows.tolist() == list(range(178))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ("x3",)}, "'x3': choose from x1 and x2"),
        ({"columns": ()}, "at least one column"),
        ({"columns": ("x1", "x1")}, "'x1' is chosen twice"),
        ({"scaling": "zscore"}, "'zscore' is not known: choose none, unit or robust"),
        ({"label": "x1"}, "'x1' is not in Flame"),
    ],
)
def test_prepare_refuses_what_is_not_there(options, words):
    with pytest.raises(InputError, match=words):
        load("flame").prepare(**options)


def test_one_column_may_be_given_as_a_string():
    assert load("flame").prepare(columns="x2").feature_names == ("x2",)


# ------------------------------------------------------------------------------------------------ scaling


def test_unit_divides_by_the_deviation_and_does_not_centre():
    X, notes = scaled(np.array([[1.0, 5.0], [3.0, 5.0]]), "unit", ("a", "b"))
    assert X.tolist() == [[1.0, 5.0], [3.0, 5.0]]  # the deviation of 1 and 3 is 1; the constant column is left alone
    assert notes == ("Column b is not scaled: constant.",)


def test_a_column_that_decides_nearly_alone_is_named_where_nothing_is_scaled():
    X = np.array([[0.0, 0.0], [300.0, 1.0], [600.0, 0.0]])
    [note] = scaled(X, "none", ("proline", "hue"))[1]
    assert note.startswith("Column proline holds 99.9% of the variance, and decides nearly alone: ")
    assert scaled(X, "unit", ("proline", "hue"))[1] == ()
    assert scaled(X[:, :1], "none", ("proline",))[1] == (), "there is no other column"
    assert scaled(X * [1.0, 300.0], "none", ("proline", "hue"))[1] == ()
    assert scaled(X * 1e-200, "none", ("a", "b"))[1] != (), "however small the numbers are"


def test_robust_uses_median_and_quartiles():
    X, notes = scaled(np.array([[0.0], [1.0], [2.0], [3.0], [100.0]]), "robust", ("a",))
    assert X[:, 0].tolist() == [-1.0, -0.5, 0.0, 0.5, 49.0]
    assert notes == ()


def test_robust_leaves_a_column_without_quartile_range_alone():
    column = np.array([[0.1]] * 9 + [[7.3]])
    X, notes = scaled(column, "robust", ("a",))
    assert np.array_equal(X, column)
    assert notes == ("Column a is not scaled: the interquartile range is 0.",)


@pytest.mark.parametrize("scaling", ["none", "unit", "robust"])
def test_scaling_leaves_the_original_alone(scaling):
    X = np.array([[1.0], [2.0], [4.0]])
    scaled(X, scaling, ("a",))
    assert X.tolist() == [[1.0], [2.0], [4.0]]


@given(arrays(np.float64, (6, 2), elements=st.floats(-1e3, 1e3)), st.sampled_from([1e-200, 1e-150, 1.0, 1e150, 1e200]))
def test_unit_gives_deviation_one_whatever_the_scale(X, factor):
    X = np.round(X, 3) * factor
    Z, _ = scaled(X, "unit", ("a", "b"))
    for column, original in zip(Z.T, X.T, strict=True):
        if original.min() == original.max():
            assert np.array_equal(column, original)
        else:
            assert column.std() == pytest.approx(1, rel=1e-9)


# ------------------------------------------------------------------------------------------------ points


def _points(**changes):
    values = {
        "title": "t",
        "X": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "y": np.array([0, 1]),
        "feature_names": ("a", "b"),
        "class_names": ("p", "q"),
        "rows": np.arange(2),
    }
    return Points(**(values | changes))


def test_equal_content_has_an_equal_hash_whatever_the_title():
    assert _points().hash == _points(title="other").hash == _points(X=_points().X.copy(order="F")).hash
    assert len(_points().hash) == 64


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.array([[1.0, 2.0], [3.0, 4.5]])},
        {"X": np.array([[1.0], [2.0], [3.0], [4.0]])},
        {"y": np.array([1, 0])},
        {"y": None},
        {"feature_names": ("a", "c")},
        {"feature_names": ("a'", "b")},
        {"class_names": ("p", "r")},
    ],
)
def test_other_content_has_another_hash(changes):
    assert _points(**changes).hash != _points().hash


def test_points_give_x_and_y():
    X, y = _points()
    assert X.shape == (2, 2)
    assert y.tolist() == [0, 1]


def test_words():
    assert listed(()) == "none"
    assert listed(("a",)) == "a"
    assert listed(("a", "b", "c")) == "a, b and c"
    assert listed("abcde", 3) == "a, b, c and 2 more"
    assert listed("abcd", 3) == "a, b, c and d"
    assert pick_columns(("a", "b"), ("b", "a")) == [1, 0]


# ------------------------------------------------------------------------------------------------ tight example


def test_tight_example_by_hand():
    distances, labels = tight_example(5, 2.0)
    assert labels.tolist() == [0, 0, 1, 1, 1]
    assert distances.tolist() == [
        [0, 2, 4, 4, 2],
        [2, 0, 4, 4, 2],
        [4, 4, 0, 2, 4],
        [4, 4, 2, 0, 4],
        [2, 2, 4, 4, 0],
    ]


def test_tight_example_can_be_had_by_points():
    distances, _ = tight_example(12)
    centre = np.eye(12) - 1 / 12
    assert np.linalg.eigvalsh(-0.5 * centre @ distances @ centre).min() > -1e-12


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 250.0])
def test_tight_example_moves_just_above_the_bound_and_not_at_it(n, epsilon):
    distances, labels = tight_example(n, epsilon)
    assert _movers(distances, labels, epsilon / math.log(3 * n)).tolist() == []
    assert _movers(distances, labels, epsilon / math.log(n / 3)).tolist() == [n - 1]


def _movers(distances, labels, sigma):
    K = np.exp(-distances / sigma)
    proximity = np.empty((len(K), 2))
    for c in (0, 1):
        inside = labels == c
        proximity[:, c] = 2 * K[:, inside].mean(axis=1) - K[np.ix_(inside, inside)].mean()
    return np.flatnonzero(proximity.argmax(axis=1) != labels)


@pytest.mark.parametrize(("n", "epsilon"), [(3, 1.0), (10, 0.0), (10, -1.0), (10, math.inf), (10, math.nan)])
def test_tight_example_refuses_what_makes_no_example(n, epsilon):
    with pytest.raises(InputError, match="tight example"):
        tight_example(n, epsilon)


# ------------------------------------------------------------------------------------------------ start


def test_importing_the_data_sets_imports_nothing_heavy():
    heavy = ("pandas", "pyarrow", "sklearn", "scipy")
    code = f"import sys, offgrid.datasets; print(*(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
