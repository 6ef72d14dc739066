from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offgrid.datasets import load
from offgrid.datasets.model import Points
from services import projection
from services.cache import KEPT, LARGEST, DataCache
from services.context import Services
from services.points import DataSpec
from services.settings import Settings


class Counter:
    def __init__(self, value: object = "made") -> None:
        self.calls, self.value = 0, value

    def __call__(self) -> object:
        self.calls += 1
        return self.value


def test_a_value_is_made_once_for_every_process(tmp_path: Path) -> None:
    make = Counter(np.arange(5))
    DataCache(tmp_path / "cache").get_or_make("kind", "hash", make)
    found = DataCache(tmp_path / "cache").get_or_make("kind", "hash", make)
    np.testing.assert_array_equal(found, np.arange(5))
    assert make.calls == 1


def test_kind_and_content_tell_values_apart(tmp_path: Path) -> None:
    cache, make = DataCache(tmp_path / "cache"), Counter()
    for kind, content in (("a", "1"), ("a", "2"), ("b", "1")):
        cache.get_or_make(kind, content, make)
    assert make.calls == 3


def test_large_values_are_not_kept(tmp_path: Path) -> None:
    cache, make = DataCache(tmp_path / "cache"), Counter()
    for _ in range(2):
        cache.get_or_make("kind", "hash", make, LARGEST + 1)
    assert make.calls == 2
    assert not (tmp_path / "cache").exists()


def test_a_removed_folder_or_a_damaged_file_is_no_failure(tmp_path: Path) -> None:
    cache, make = DataCache(tmp_path / "cache"), Counter()
    cache.get_or_make("kind", "hash", make)
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(b"garbage")
    assert cache.get_or_make("kind", "hash", make) == "made"
    shutil.rmtree(tmp_path / "cache")
    assert cache.get_or_make("kind", "hash", make) == "made"
    assert cache.get_or_make("kind", "hash", make) == "made"
    assert make.calls == 3


def test_a_value_that_cannot_be_kept_is_made_each_time(tmp_path: Path) -> None:
    cache, make = DataCache(tmp_path / "cache"), Counter({1, 2})
    for _ in range(2):
        assert cache.get_or_make("kind", "hash", make) == {1, 2}
    assert make.calls == 2


def test_no_more_values_are_kept_than_are_allowed(tmp_path: Path) -> None:
    cache, make = DataCache(tmp_path / "cache"), Counter()
    for i in range(KEPT + 20):
        cache.get_or_make("kind", str(i), make)
    assert len(list((tmp_path / "cache").iterdir())) <= KEPT + 2, "the values, their count, and one over"
    cache.get_or_make("kind", str(KEPT + 19), make)
    assert make.calls == KEPT + 20, "the newest is still there"


def test_a_pickle_in_a_value_s_place_is_not_loaded(tmp_path: Path) -> None:
    class Boom:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("unpickled",))

    cache, make = DataCache(tmp_path / "cache"), Counter()
    cache.get_or_make("kind", "hash", make)
    next((tmp_path / "cache").iterdir()).write_bytes(pickle.dumps(Boom()))
    assert cache.get_or_make("kind", "hash", make) == "made"


def test_only_the_owner_can_enter_the_cache(tmp_path: Path) -> None:
    DataCache(tmp_path / "cache").get_or_make("kind", "hash", Counter())
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_neighbours_are_ranked_once_for_each_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Services(Settings(data_dir=tmp_path)).ranks(DataSpec("builtin:flame"))
    monkeypatch.setattr("offgrid.metrics.neighbour_ranks", lambda _: pytest.fail("ranked again"))
    again = Services(Settings(data_dir=tmp_path)).ranks(DataSpec("builtin:flame"))
    np.testing.assert_array_equal(first.ranks, again.ranks)


def table(X: np.ndarray) -> Points:
    names = tuple(f"c{i}" for i in range(X.shape[1]))
    return Points("table", X, None, names, (), np.arange(len(X)))


def test_two_columns_are_drawn_as_they_are(tmp_path: Path) -> None:
    points = load("flame").prepare()
    assert projection.default_axes(points) == ("column:0", "column:1")
    np.testing.assert_array_equal(
        projection.coordinates(points, ("column:0", "column:1"), DataCache(tmp_path)), points.X
    )


def test_one_column_can_be_drawn(tmp_path: Path) -> None:
    points = table(np.arange(6.0)[:, None])
    axes = projection.default_axes(points)
    assert projection.coordinates(points, axes, DataCache(tmp_path)).shape == (6, 2)


def test_principal_components_agree_with_the_singular_values(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(40, 5)) * [5, 3, 1, 1, 0.1]
    found = projection.principal(table(X), DataCache(tmp_path))
    _, singular, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(found.shares, (singular**2 / (singular**2).sum())[:2])
    np.testing.assert_allclose(np.abs(found.scores), np.abs((X - X.mean(axis=0)) @ right[:2].T), atol=1e-9)
    assert projection.explained(table(X), DataCache(tmp_path)) == pytest.approx(sum(found.shares))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_principal_components_of_far_apart_scales_are_finite(tmp_path: Path, scale: float) -> None:
    X = np.random.default_rng(4).normal(size=(30, 4)) * scale
    found = projection.principal(table(X), DataCache(tmp_path))
    assert np.isfinite(found.scores).all()
    assert 0.5 < sum(found.shares) <= 1.0 + 1e-12


def test_constant_columns_have_components_too(tmp_path: Path) -> None:
    found = projection.principal(table(np.ones((5, 3))), DataCache(tmp_path))
    np.testing.assert_array_equal(found.scores, 0.0)
    assert found.shares == (0.0, 0.0)
