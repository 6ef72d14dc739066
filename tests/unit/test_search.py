"""The search along the path: every method, resumed anywhere, at any scale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from offgrid import RBF, BandwidthPath, BandwidthSearch, InputError, bandwidth_lower_bound
from offgrid.critical import METHODS
from offgrid.engine.layout import SQUARE, TRIANGLE
from offgrid.engine.partition import Partition
from offgrid.metrics import neighbour_ranks

TIMED = {"seconds", "passes"}
SETTINGS = {
    "certified": {},
    "certified, no step": {"min_step": 0.0},
    "certified, six steps": {"max_steps": 6},
    "certified, from the bound": {"start": "bound", "init": "k-means++"},
    "dyadic": {"method": "dyadic"},
    "dyadic, three levels": {"method": "dyadic", "depths": (1, 2, 4)},
    "dyadic, three starts": {"method": "dyadic", "n_init": 3},
    "dyadic, four steps": {"method": "dyadic", "max_steps": 4},
    "dyadic, movers": {"method": "dyadic", "limiting": "movers", "depths": [3]},
    "newton": {"method": "newton"},
    "bisection": {"method": "bisection"},
}


def points(seed=0, n=40, d=2):
    return reference.sample(seed, n, d, 1)[0]


def search(**options):
    return BandwidthSearch(**{"n_clusters": 3, "random_state": 1, **options})


def facts(records, factor=1.0):
    """Everything about records but the time they took; bandwidths in units of `factor`."""
    scaled = {"sigma", "below", "critical"}
    return [
        {
            name: value.tolist() if isinstance(value, np.ndarray) else value / factor if name in scaled else value
            for name, value in vars(record).items()
            if name not in TIMED
        }
        for record in records
    ]


# ---------------------------------------------------------------------------------------------- what a path is


@pytest.mark.parametrize("name", SETTINGS)
def test_records_are_what_they_say(name):
    X = points()
    y = (X[:, 0] > 0).astype(int)
    run = search(**SETTINGS[name]).fit(X, y)
    assert len(run.path_) > 3
    for before, record in itertools.pairwise(run.path_):
        if record.level == before.level:
            assert before.sigma * reference.LAST_BIT <= record.below <= record.critical <= record.sigma
            assert before.sigma < record.sigma
            assert reference.moves(X, before.labels.astype(int), 3, record.critical)
            assert reference.quiet(X, before.labels.astype(int), 3, record.below)
            expected = reference.settled(X, before.labels.astype(int), 3, record.sigma)
            assert np.array_equal(record.labels, expected)
            assert record.moved.tolist() == np.flatnonzero(record.labels != before.labels).tolist()
            assert len(record.moved)
            assert record.iterations > 0
        else:
            assert record.level == before.level + 1
    for record in run.path_:
        labels = record.labels.astype(int)
        assert reference.quiet(X, labels, 3, record.sigma)
        assert record.converged
        assert record.cnnc == pytest.approx(reference.nearest_neighbour_cost(X, labels, 3), abs=1e-12)
        assert record.nmi == pytest.approx(reference.normalized_mutual_information(y, labels), abs=1e-12)
        assert record.ari == pytest.approx(reference.adjusted_rand_index(y, labels), abs=1e-12)
        assert record.passes > 0
        assert record.seconds >= 0
    best = min(run.path_, key=lambda record: record.cnnc)
    assert run.sigma_ == best.sigma
    assert np.array_equal(run.labels_, best.labels)


@reference.quick
@given(reference.problems(largest=16), st.integers(0, 100), st.sampled_from(METHODS))
def test_any_data_has_a_path_or_one_clear_error(problem, seed, method):
    X, _, k = problem
    run = BandwidthSearch(k, method=method, random_state=seed, max_steps=30)
    if not np.ptp(X, axis=0).any():
        with pytest.raises(InputError, match="All rows of X are equal"):
            run.fit(X)
        return
    run.fit(X)
    assert [end.level for end in run.ends_] == list(range(1, len(run.ends_) + 1))
    assert len({record.level for record in run.path_}) == len(run.ends_)
    for record in run.path_:
        assert reference.quiet(X, record.labels.astype(int), k, record.sigma)
    last = [record for record in run.path_ if record.level == 1][-1]
    end = run.ends_[0]
    if end.reason == "k-means":
        assert end.holds_to == math.inf
        assert reference.lloyd_gains(X, last.labels, k).max() <= 1e-9 * reference.scale_of(X)
    assert (run.lower_bound_ is None) == (len(np.unique(X, axis=0)) < len(X))


@pytest.mark.parametrize("name", ["certified", "dyadic", "newton"])
@pytest.mark.parametrize("seed", range(4))
def test_the_k_means_end_is_k_means(name, seed):
    X = points(seed)
    run = search(**SETTINGS[name], random_state=seed).fit(X)
    last = [record for record in run.path_ if record.level == 1][-1]
    assert run.ends_[0].reason == "k-means"
    assert run.ends_[0].holds_to == math.inf
    assert reference.lloyd_gains(X, last.labels, 3).max() <= 1e-12
    for sigma in np.geomspace(last.sigma, 1e8 * last.sigma, 200):
        assert reference.quiet(X, last.labels.astype(int), 3, sigma)


def test_the_certified_path_is_quiet_between_records():
    X = points(3)
    run = search(min_step=0.0).fit(X)
    path = BandwidthPath(run.path_, run.ends_)
    for i, record in enumerate(path.records):
        for sigma in np.geomspace(record.sigma, min(path.holds_to(i), 1e5), 60):
            assert reference.quiet(X, record.labels.astype(int), 3, sigma)


def test_levels_are_confined_to_the_best_and_its_successor():
    X = points()
    run = search(method="dyadic", depths=(1, 2, 3)).fit(X)
    assert [end.level for end in run.ends_] == [1, 2, 3]
    for level in (2, 3):
        above = [record for record in run.path_ if record.level == level - 1]
        here = [record for record in run.path_ if record.level == level]
        best = min(range(len(above)), key=lambda i: above[i].cnnc)
        high = above[best + 1].sigma if best + 1 < len(above) else math.inf
        assert here[0].sigma == above[best].sigma
        assert np.array_equal(here[0].labels, above[best].labels)
        assert all(record.sigma <= high for record in here)
        assert run.ends_[level - 1].holds_to <= high


@pytest.mark.parametrize("method", ["certified", "newton", "bisection"])
def test_only_the_dyadic_method_has_levels(method):
    run = search(method=method, depths=(1, 2, 3)).fit(points())
    assert {record.level for record in run.path_} == {1}
    assert len(run.ends_) == 1


# ---------------------------------------------------------------------------------------------- start and end


def test_starts():
    X = points()
    squares = reference.squared_distances(X)[np.triu_indices(40, 1)]
    first = {start: next(search(start=start).iter_path(X)).sigma for start in ("percentile", "bound", 0.125)}
    assert first["percentile"] == pytest.approx(np.percentile(squares, 1), rel=1e-12)
    assert first["bound"] == bandwidth_lower_bound(X)
    assert first[0.125] == 0.125


def test_the_first_record_is_kernel_k_means_from_the_given_labels():
    X, labels = reference.sample(5, 40, 2, 3)
    first = next(search(init=labels, start=0.4).iter_path(X))
    assert np.array_equal(first.labels, reference.settled(X, labels, 3, 0.4))
    assert first.below == first.critical == first.sigma == 0.4
    assert len(first.moved) == 0
    assert first.nmi is None
    assert first.ari is None


def test_the_bound_is_known_before_the_first_record():
    run = search()
    records = run.iter_path(points())
    assert run.lower_bound_ == bandwidth_lower_bound(points())
    assert run.lower_bound_note_ == ""
    next(records)
    twice = np.vstack([points(), points()[:1]])
    run.iter_path(twice)
    assert run.lower_bound_ is None
    assert run.lower_bound_note_ == "no bound: rows 0 and 40 are equal."


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_of_steps(method):
    run = search(method=method, depths=(2,), max_steps=2).fit(points())
    assert len(run.path_) == 3
    assert run.ends_[-1].reason == "budget"
    assert run.ends_[-1].holds_to == run.path_[-1].sigma


@pytest.mark.parametrize("method", METHODS)
def test_an_upper_limit(method):
    free = search(method=method, depths=(3,)).fit(points())
    limit = 1.0001 * free.path_[2].sigma
    run = search(method=method, depths=(3,), limit=limit).fit(points())
    assert all(record.sigma <= limit for record in run.path_)
    assert run.ends_[0].reason == "limit"
    assert run.path_[-1].sigma <= run.ends_[0].holds_to <= limit
    for one, other in zip(run.path_, free.path_[:3], strict=True):
        assert one.sigma == pytest.approx(other.sigma, rel=3e-2 if method == "bisection" else 1e-5)
        assert np.array_equal(one.labels, other.labels)


def test_progress_grows_to_the_end():
    for name in ("certified", "dyadic", "certified, six steps"):
        run = search(**SETTINGS[name])
        seen = []
        for record in run.iter_path(points()):
            progress = run.progress_
            assert progress.level == record.level
            assert progress.sigma == record.sigma
            seen.append((progress.level, progress.share))
        assert seen == sorted(seen)
        assert all(0.0 <= share < 1.0 for _, share in seen)
        assert run.progress_.share == 1.0
        assert run.progress_.n_levels == (2 if name == "dyadic" else 1)


def test_records_come_as_they_are_found(monkeypatch):
    from offgrid import search as module

    calls = []
    find = module.find_critical
    monkeypatch.setattr(module, "find_critical", lambda *a, **o: calls.append(1) or find(*a, **o))
    records = search().iter_path(points())
    next(records)
    assert not calls
    next(records)
    assert len(calls) == 1
    records.close()


# ---------------------------------------------------------------------------------------------- the same path again


@pytest.mark.parametrize("name", SETTINGS)
def test_a_search_resumed_anywhere_finds_the_same_path(name):
    X = points()
    y = np.arange(40) % 2
    run = search(**SETTINGS[name])
    whole = list(run.iter_path(X, y))
    ends = run.ends_
    for cut in range(len(whole) + 1):
        again = search(**SETTINGS[name])
        rest = list(again.iter_path(X, y, resume=whole[:cut]))
        assert facts(rest) == facts(whole[cut:])
        assert again.ends_ == ends


def test_a_search_resumed_from_json_finds_the_same_path():
    from offgrid import PathRecord

    whole = list(search(method="dyadic").iter_path(points()))
    kept = [PathRecord.from_dict(record.to_dict(pack=True)) for record in whole[:4]]
    assert facts(search(method="dyadic").iter_path(points(), resume=kept)) == facts(whole[4:])


@pytest.mark.parametrize("name", ["certified", "dyadic", "newton"])
@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("scale", [2.0**-495, 2.0**495])
def test_scaling_by_a_power_of_two_scales_the_path_exactly(name, d, scale):
    X = points(2, d=d)
    plain, scaled = search(**SETTINGS[name]).fit(X), search(**SETTINGS[name]).fit(X * scale)
    assert facts(scaled.path_, scale**2) == facts(plain.path_)


@pytest.mark.parametrize("scale", [1e-149, 1e-3, 7.0, 1e149])
def test_scaling_by_c_scales_the_path_by_c_squared(scale):
    X = points(4)
    plain, scaled = search().fit(X), search().fit(X * scale)
    assert len(scaled.path_) == len(plain.path_)
    for one, other in zip(plain.path_, scaled.path_, strict=True):
        assert other.sigma / scale / scale == pytest.approx(one.sigma, rel=1e-5)
        assert np.array_equal(other.labels, one.labels)


@pytest.mark.parametrize("name", ["certified", "dyadic"])
@pytest.mark.parametrize("seed", range(3))
def test_permuting_rows_changes_nothing_but_their_order(name, seed):
    X, labels = reference.sample(seed, 40, 2, 3)
    order = np.random.default_rng(seed).permutation(40)
    plain = search(**SETTINGS[name], init=labels).fit(X)
    other = search(**SETTINGS[name], init=labels[order]).fit(X[order])
    assert len(other.path_) == len(plain.path_)
    for one, two in zip(plain.path_, other.path_, strict=True):
        assert two.sigma == pytest.approx(one.sigma, rel=1e-5)
        assert np.array_equal(two.labels, one.labels[order])
        assert two.cnnc == pytest.approx(one.cnnc, abs=1e-12)


@pytest.mark.parametrize("name", ["certified", "dyadic"])
def test_threads_change_nothing(name, monkeypatch):
    X = points(6, n=1200)
    paths = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OFFGRID_THREADS", threads)
        paths.append(facts(search(**SETTINGS[name], max_steps=6).fit(X).path_))
    assert len(paths[0]) > 5
    assert paths[0] == paths[1]


def test_how_exponents_are_held_changes_nothing(monkeypatch):
    from offgrid import kernels

    X = points(7)
    plain = facts(search().fit(X).path_)
    for held in (SQUARE, TRIANGLE):
        monkeypatch.setattr(kernels, "way_to_hold", lambda *_, held=held: held)
        assert RBF().on(X).pairs.layout(Partition(np.zeros(len(X), dtype=int), 1)).held == held
        assert facts(search().fit(X).path_) == plain


def test_neighbours_ranked_before_change_nothing():
    X = points(8)
    assert facts(search().iter_path(X, ranks=neighbour_ranks(X))) == facts(search().iter_path(X))
    with pytest.raises(InputError, match="ranks are of 39 rows, X has 40"):
        search().iter_path(X, ranks=neighbour_ranks(X[:39]))


def test_labels_do_not_influence_the_search():
    X = points(8)
    with_labels = search().fit(X, np.arange(40) % 5).path_
    assert [r.sigma for r in with_labels] == [r.sigma for r in search().fit(X).path_]


# ---------------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("method", METHODS)
class TestCorners:
    def test_one_cluster(self, method):
        run = BandwidthSearch(1, method=method, depths=(1,)).fit(points())
        assert len(run.path_) == 1
        assert run.ends_[0].reason == "k-means"

    def test_as_many_clusters_as_rows(self, method):
        X = points()[:6]
        run = BandwidthSearch(6, method=method, depths=(1,), init=np.arange(6)).fit(X)
        assert run.labels_.tolist() == list(range(6))
        assert len(run.path_) == 1
        assert run.ends_[0].reason == "k-means"

    def test_two_rows(self, method):
        run = BandwidthSearch(2, method=method, depths=(1,), init=[0, 1]).fit([[0.0], [1.0]])
        assert run.labels_.tolist() == [0, 1]

    def test_one_feature_with_a_constant_beside_it(self, method):
        X = points(d=1)
        plain = search(method=method).fit(X)
        wider = search(method=method).fit(np.column_stack([X, np.full(40, -3.0)]))
        assert facts(wider.path_) == facts(plain.path_)

    def test_equal_rows(self, method):
        with pytest.raises(InputError, match=r"^All rows of X are equal: .*\.$"):
            BandwidthSearch(2, method=method).fit(np.ones((5, 2)))

    def test_duplicates(self, method):
        X = np.repeat(points()[:15], 2, axis=0)
        run = search(method=method, max_steps=10).fit(X)
        for record in run.path_:
            assert reference.quiet(X, record.labels.astype(int), 3, record.sigma)
        assert run.lower_bound_ is None

    def test_empty_clusters(self, method):
        run = search(method=method, n_clusters=5, init=np.arange(40) % 2, depths=(2,), max_steps=10).fit(points())
        for record in run.path_:
            assert reference.quiet(points(), record.labels.astype(int), 5, record.sigma)
            assert record.cnnc >= (5 - len(np.unique(record.labels))) / 5

    def test_groups_at_scales_far_apart(self, method):
        X = np.array([[0.0], [1e-150], [1e150], [1.1e150]])
        run = BandwidthSearch(2, method=method, init=[0, 1, 1, 0], depths=(3,), max_steps=10).fit(X)
        assert run.lower_bound_note_ == "no bound: rows 0 and 1 are too close for double precision."
        assert len(run.path_) >= 1
        assert all(np.isfinite(record.sigma) for record in run.path_)


@pytest.mark.parametrize("scale", [1e-150, 1e-75, 1e75, 1e150])
@pytest.mark.parametrize("method", METHODS)
def test_any_scale_has_a_path(scale, method):
    run = search(method=method).fit(points() * scale)
    assert len(run.path_) >= 1
    assert all(0.0 < record.sigma < math.inf for record in run.path_)


def test_a_far_outlier_leaves_the_rest_alone():
    X = np.vstack([points(), [[1e9, -1e9]]])
    run = search(init=np.r_[np.arange(40) % 2, 2], start=0.05).fit(X)
    for record in run.path_:
        assert reference.quiet(X, record.labels.astype(int), 3, record.sigma)
    for before, record in itertools.pairwise(run.path_):
        assert reference.moves(X, before.labels.astype(int), 3, record.critical)


@pytest.mark.parametrize(
    ("options", "X", "words"),
    [
        ({}, [[1.0]], "minimum of 2"),
        ({}, [1.0, 2.0], "X has 1 dimensions"),
        ({}, np.empty((0, 2)), "0 sample"),
        ({}, [[np.nan], [1.0], [2.0]], "X contains NaN"),
        ({}, [[np.inf], [1.0], [2.0]], "X contains infinity"),
        ({}, [["a"], ["b"], ["c"]], "not all numbers"),
        ({}, [[0.0], [1e200], [2.0]], "rescale the data"),
        ({"n_clusters": 41}, None, r"n_clusters is 41: it must be from 1 to 40, the number of rows \(n_samples=40\)"),
        ({"n_clusters": 0}, None, "n_clusters is 0"),
        ({"n_clusters": "3"}, None, "n_clusters is '3'"),
        ({"kernel": "rbf"}, None, "kernel is 'rbf'"),
        ({"method": "magic"}, None, "method is 'magic'"),
        ({"depths": ()}, None, r"depths is \(\)"),
        ({"depths": 2}, None, "depths is 2"),
        ({"depths": (1, 0)}, None, "depths is 0"),
        ({"depths": (1, 41)}, None, "depths is 41"),
        ({"start": "zero"}, None, "start is 'zero'"),
        ({"start": 0.0}, None, "start is 0.0"),
        ({"start": None}, None, "start is None"),
        ({"start": "bound"}, [[1.0], [1.0], [2.0]], "start is 'bound', but there is no bound: rows 0 and 1 are equal"),
        ({"n_init": 0}, None, "n_init is 0"),
        ({"max_steps": 0}, None, "max_steps is 0"),
        ({"max_steps": 1.5}, None, "max_steps is 1.5"),
        ({"limiting": "most"}, None, "limiting is 'most'"),
        ({"min_step": -0.1}, None, "min_step is -0.1"),
        ({"min_step": 2.0}, None, "min_step is 2.0"),
        ({"min_step": float("nan")}, None, "min_step is nan"),
        ({"min_step": "1%"}, None, "min_step is '1%'"),
        ({"limit": 0.0}, None, "limit is 0.0"),
        ({"limit": 1e-9}, None, "limit is 1e-09: it must be above the first bandwidth"),
        ({"init": "worst"}, None, "init is 'worst'"),
        ({"init": [0, 1]}, None, "one label for each of the 40 rows"),
        ({"init": np.full(40, 3)}, None, "with n_clusters=3"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options, X, words):
    with pytest.raises(InputError, match=words) as caught:
        search(**options).fit(points() if X is None else X)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", ")."))


def test_labels_of_another_length_are_refused():
    with pytest.raises(InputError, match=r"y has shape \(39,\): it needs one label for each of the 40 rows"):
        search().fit(points(), np.zeros(39))


def test_errors_come_before_the_first_record_is_asked_for():
    with pytest.raises(InputError, match="n_clusters"):
        search(n_clusters=99).iter_path(points())
