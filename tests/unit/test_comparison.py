"""Methods side by side: the same results as the library's own functions, in one form, kept by content."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from offgrid import BandwidthPath, BandwidthSearch, InputError, datasets, recommend_partition
from offgrid.baselines import BASELINES, run_baseline
from offgrid.comparison import MAX_ROWS, METHODS, OFFERED, Comparison, beside, compare, near_neighbours, of_path
from offgrid.metrics import nearest_neighbour_cost, normalized_mutual_information
from offgrid.path import BESIDE, LevelEnd
from services.comparisons import ComparisonStore
from services.run_settings import SearchSettings, comparison_key

FLAME = datasets.load("flame")


@pytest.fixture(scope="module")
def recommended() -> Comparison:
    return compare("recommended", FLAME.X, 2, FLAME.y, seed=0)


def test_every_baseline_of_the_library_is_offered() -> None:
    assert set(OFFERED) == {*BASELINES, "bisection"}
    assert set(METHODS) == {*OFFERED, "recommended"}


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_a_baseline_is_the_librarys(name: str) -> None:
    found = compare(name, FLAME.X, 2, FLAME.y, seed=3)
    own = run_baseline(name, FLAME.X, 2, FLAME.y, random_state=3)
    assert [one.sigma for one in found.tried] == [trial.sigma for trial in own.trials]
    assert found.choice.cnnc == own.cnnc == found.best_cnnc
    assert (found.best_nmi, found.passes, found.n_partitions) == (own.nmi, own.passes, own.n_partitions)
    assert found.labels.tolist() == own.recommended.labels.tolist()
    assert found.near == near_neighbours(FLAME.X, 2, 3)(found.labels)


def test_near_neighbours_are_counted_as_the_recommendation_does(recommended: Comparison) -> None:
    near = near_neighbours(FLAME.X, 2, 0)
    assert near(recommended.labels) == pytest.approx(recommended.near, abs=1e-15)
    assert recommended.near == recommend_partition(FLAME.X, 2, random_state=0, max_rows=MAX_ROWS).cost
    search = BandwidthSearch(2, random_state=0).fit(FLAME.X)
    assert of_path(search.path_, near).near == near(search.labels_)
    assert of_path(search.path_).near is None


def test_where_memory_allows_no_count_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", str(24 * 100**2))
    assert near_neighbours(FLAME.X, 2, 0)(FLAME.y) is None


def test_bisection_is_the_search_by_bisection() -> None:
    shares = []
    found = compare("bisection", FLAME.X[:60], 2, seed=1, progress=lambda what, share: shares.append(share))
    search = BandwidthSearch(2, method="bisection", random_state=1).fit(FLAME.X[:60])
    assert [one.sigma for one in found.tried] == [record.sigma for record in search.path_]
    assert found.choice.sigma == search.sigma_
    assert len(shares) == len(search.path_)


def test_the_recommendation_is_the_librarys(recommended: Comparison) -> None:
    own = recommend_partition(FLAME.X, 2, random_state=0, max_rows=MAX_ROWS)
    assert recommended.choice.sigma == own.sigma
    assert recommended.labels.tolist() == own.labels.tolist()
    assert recommended.notes == own.why
    assert recommended.choice.cnnc == pytest.approx(nearest_neighbour_cost(FLAME.X, own.labels, 2), abs=1e-12)
    assert recommended.choice.nmi == normalized_mutual_information(FLAME.y, own.labels)
    assert recommended.tried[0].sigma == math.inf, "k-means is among what was tried"


def test_labels_change_no_choice(recommended: Comparison) -> None:
    blind = compare("recommended", FLAME.X, 2, seed=0)
    assert blind.labels.tolist() == recommended.labels.tolist()
    assert blind.best_nmi is blind.ari is None


def test_a_comparison_comes_back_from_json(recommended: Comparison) -> None:
    back = Comparison.from_dict(json.loads(json.dumps(recommended.to_dict(), allow_nan=False)))
    assert back.tried == recommended.tried
    assert np.array_equal(back.labels, recommended.labels)
    for name in ("reason", "verdict", "notes", "seconds", "near"):
        assert getattr(back, name) == getattr(recommended, name)
    assert back.verdict
    older = {name: value for name, value in recommended.to_dict().items() if name not in ("near", "verdict")}
    assert (Comparison.from_dict(older).near, Comparison.from_dict(older).verdict) == (None, ())


def test_an_unknown_method_is_one_sentence() -> None:
    with pytest.raises(InputError, match="no method 'magic' to compare with: choose from recommended, grid"):
        compare("magic", FLAME.X, 2)


def test_what_stands_beside_a_path_is_no_part_of_it(recommended: Comparison) -> None:
    search = BandwidthSearch(2, random_state=0).fit(FLAME.X, FLAME.y)
    path = BandwidthPath(search.path_, search.ends_)
    both = beside(path, recommended)
    assert len(both) == len(path) + 1
    assert both.records[-1].level == BESIDE
    assert (both.n_found, both.found, both.levels) == (len(path), path.records, path.levels)
    assert both.n_partitions == path.n_partitions
    assert both.recurrences[:-1] == path.recurrences
    assert both.holds_to(len(path)) is both.extent(len(path)) is None
    assert of_path(both.found).choice.sigma == search.sigma_


def test_a_recurring_partition_beside_the_path_is_told_as_that() -> None:
    search = BandwidthSearch(2, random_state=0, max_steps=2).fit(FLAME.X)
    first = search.path_[0]
    twice = BandwidthPath([first, first], [LevelEnd(1, "budget", 9.0)])
    found = Comparison("recommended", of_path([first]).tried, 0, first.labels, 1, None, 0.0)
    assert beside(twice, found).recurrences == (0, 0, 0)
    assert beside(BandwidthPath([first]), found).recurrences == (None, None)


def test_results_are_kept_by_content(tmp_path: Path, recommended: Comparison) -> None:
    clock = [100.0]
    store = ComparisonStore(tmp_path, clock=lambda: clock[0])
    assert store.missing(["a"]) == ["a"]
    store.put("a", recommended)
    again = ComparisonStore(tmp_path, clock=lambda: clock[0])
    found = again.get("a")
    assert found is not None
    assert found.tried == recommended.tried
    assert again.missing(["a", "b"]) == ["b"]
    clock[0] = 250.0
    assert again.sweep(200.0) == 0
    assert again.sweep(100.0) == 1
    assert ComparisonStore(tmp_path).get("a") is None


def test_the_key_is_what_a_method_depends_on() -> None:
    usual = SearchSettings(2)

    def key(name: str = "grid", data: str = "d", **other: object) -> str:
        return comparison_key(name, data, SearchSettings(**{"n_clusters": 2, **other}))  # type: ignore[arg-type]

    assert key() == comparison_key("grid", "d", usual)
    for other in ({"name": "mknn"}, {"data": "e"}, {"n_clusters": 3}, {"seed": 1}, {"init": "k-means++"}):
        assert key(**other) != key(), other  # type: ignore[arg-type]
    for same in ({"method": "bisection"}, {"max_steps": 3}, {"start": 2.0}):
        assert key(**same) == key(), same
    for other in ({"method": "bisection"}, {"max_steps": 3}, {"start": 2.0}):
        assert key("search", **other) != key("search"), "the path's own result depends on all that decides the path"
    assert key("recommended", init="k-means++") == key("recommended"), "it has starts of its own"
