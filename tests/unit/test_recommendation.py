"""Which clustering is recommended without labels; the relaxation, weighted kernel k-means and local c-NNC behind it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import reference
from scipy.linalg import block_diag
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.datasets import make_blobs, make_circles, make_moons
from test_oracle import table

from offgrid import InputError, memory, recommend_partition, recommendation, spectral
from offgrid.kernels import RBF
from offgrid.local_cost import LocalCost, reach, standard_error
from offgrid.metrics import adjusted_rand_index, nearest_neighbour_cost, normalized_mutual_information
from offgrid.path import partition_key
from offgrid.recommendation import near_share
from offgrid.recommendation_words import CHANCE, CLEAR, headline, percent
from offgrid.spectral import embedding, spectral_labels
from offgrid.weighted import weighted_kernel_kmeans


def random_state(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


def recommended(X, k, **options):
    return recommend_partition(X, k, **{"random_state": 0, "n_bandwidths": 8, "n_init": 3} | options)


# ---------------------------------------------------------------------------------------------- the relaxation


class TestRelaxation:
    def test_pieces_without_links_are_the_clusters(self):
        K = block_diag(*(np.ones((size, size)) for size in (4, 3, 5)))
        np.fill_diagonal(K, 0.0)
        labels = spectral_labels(K, 3, 3, random_state())
        assert partition_key(labels) == partition_key(np.repeat([0, 1, 2], [4, 3, 5]))

    def test_vectors_span_the_leading_eigenspace(self):
        X, _ = reference.sample(1, 40, 2, 3)
        K = reference.rbf(X, 0.5) - np.eye(40)
        rows = embedding(K, 3, random_state())
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
        scale = 1.0 / np.sqrt(K.sum(axis=1))
        expected = np.linalg.eigh(K * scale[:, None] * scale)[1][:, -3:]
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        # eigenvectors are known but for their signs, which angles between rows do not see
        assert rows @ rows.T == pytest.approx(expected @ expected.T, abs=1e-8)

    @pytest.mark.parametrize("at_once", [10, 500])
    def test_no_answer_where_there_are_more_pieces_than_clusters(self, monkeypatch, at_once):
        monkeypatch.setattr(spectral, "_AT_ONCE", at_once)
        K = block_diag(*(np.ones((size, size)) for size in (14, 13, 15)))
        np.fill_diagonal(K, 0.0)
        assert embedding(K, 2, random_state()) is None
        assert embedding(K, 3, random_state()) is not None

    def test_lanczos_finds_the_same_partition(self, monkeypatch):
        X, y = make_circles(300, noise=0.03, factor=0.4, random_state=0)
        K = reference.rbf(X, 0.03) - np.eye(300)
        at_once = spectral_labels(K, 2, 3, random_state())
        monkeypatch.setattr(spectral, "_AT_ONCE", 10)
        assert partition_key(spectral_labels(K, 2, 3, random_state())) == partition_key(at_once) == partition_key(y)

    def test_lanczos_tells_clusters_that_hardly_touch_from_each_other(self, monkeypatch):
        """Rings so thin that four eigenvalues lie within 1e-3 of 1."""
        monkeypatch.setattr(spectral, "_AT_ONCE", 10)
        X, y = make_circles(400, noise=0.01, factor=0.5, random_state=0)
        K = reference.rbf(X, 0.002) - np.eye(400)
        scale = 1.0 / np.sqrt(K.sum(axis=1))
        assert np.linalg.eigvalsh(K * scale[:, None] * scale)[-4] > 0.999
        assert partition_key(spectral_labels(K, 2, 3, random_state())) == partition_key(y)

    def test_no_answer_where_lanczos_does_not_converge(self, monkeypatch):
        def give_up(*_arguments, **_options):
            raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

        monkeypatch.setattr(spectral, "_AT_ONCE", 10)
        monkeypatch.setattr(spectral, "eigsh", give_up)
        X, _ = reference.sample(0, 40, 2, 3)
        assert embedding(reference.rbf(X, 1.0) - np.eye(40), 3, random_state()) is None
        found = recommended(X, 3)
        assert len(found.candidates) == 1
        assert found.sigma == math.inf
        assert found.why[-1].startswith("At all of the 8 bandwidths tried")

    def test_a_point_joined_to_nothing_does_no_harm(self):
        K = block_diag(np.ones((4, 4)), np.ones((4, 4)), [[0.0]])
        np.fill_diagonal(K, 0.0)
        assert np.isfinite(embedding(K, 2, random_state())).all()


# ---------------------------------------------------------------------------------------------- weighted kernel k-means


class TestWeighted:
    @pytest.mark.parametrize("seed", range(4))
    def test_with_equal_weights_it_is_kernel_kmeans(self, seed):
        X, labels = reference.sample(seed, 30, 2, 4)
        K = reference.rbf(X, 0.7)
        found = weighted_kernel_kmeans(K, np.ones(30), labels, 4)
        assert found.tolist() == reference.settled(X, labels, 4, 0.7).tolist()

    @pytest.mark.parametrize("seed", range(4))
    def test_with_degrees_the_normalised_cut_never_increases(self, seed):
        X, labels = reference.sample(seed, 40, 2, 3)
        K = reference.rbf(X, 0.5)
        degrees = K.sum(axis=1)
        inside = []  # of each step: the clusters' shares of similarity that stay inside, whose sum is k less the cut
        for _ in range(10):
            clusters = [np.flatnonzero(labels == cluster) for cluster in range(3)]
            inside.append(sum(K[np.ix_(rows, rows)].sum() / degrees[rows].sum() for rows in clusters if len(rows)))
            labels = weighted_kernel_kmeans(K, degrees, labels, 3, max_iter=1)
        assert (np.diff(inside) >= -1e-12).all()
        assert inside[-1] > inside[0]

    def test_empty_cluster(self):
        K = np.eye(4) + 0.5
        found = weighted_kernel_kmeans(K, K.sum(axis=1), np.array([0, 0, 1, 1]), 4)
        assert set(found) <= {0, 1}

    def test_by_hand(self):
        """Two pairs; one point of the second starts with the first, and goes home."""
        K = np.array([[1, 0.9, 0, 0], [0.9, 1, 0.1, 0], [0, 0.1, 1, 0.9], [0, 0, 0.9, 1]])
        assert weighted_kernel_kmeans(K, K.sum(axis=1), np.array([0, 0, 0, 1]), 2).tolist() == [0, 0, 1, 1]


# ---------------------------------------------------------------------------------------------- local c-NNC


def local_cost(X, labels, k):
    return LocalCost.among(RBF().on(X).pairs.exponents()).shares(np.asarray(labels), k).sum()


class TestLocalCost:
    def test_number_of_neighbours(self):
        assert [reach(n) for n in (2, 3, 8, 240, 3100, 20_000)] == [1, 2, 6, 12, 18, 21]

    def test_by_hand(self):
        """Four rows on a line: every row has J = 3 neighbours, with weights (1 + 1/4 + 1/9, 1/4 + 1/9, 1/9) / sum."""
        weights = np.array([49, 13, 4]) / 66
        X = [[0.0], [1.0], [10.0], [11.0]]
        elsewhere = weights[1] + weights[2]
        assert local_cost(X, [0, 0, 1, 1], 2) == pytest.approx(elsewhere)
        assert local_cost(X, [0, 1, 0, 1], 2) == pytest.approx((2 * (1 - weights[1]) + 2 * (1 - weights[2])) / 4)
        # a third cluster, which is empty, costs 1
        assert local_cost(X, [0, 0, 1, 1], 3) == pytest.approx((2 * elsewhere + 1) / 3)

    def test_on_few_rows_it_is_cnnc(self):
        """Where every other row is a near neighbour, nothing is cut off; c-NNC's scale is an approximation."""
        X, labels = reference.sample(3, 6, 2, 2)
        assert local_cost(X, labels, 2) == pytest.approx(nearest_neighbour_cost(X, labels, 2), rel=2e-3)

    def test_equal_distances_go_by_index(self):
        near = LocalCost.among(RBF().on([[0.0], [1.0], [-1.0], [1.0]]).pairs.exponents()).neighbours
        assert near[0].tolist() == [1, 2, 3]
        assert near[1].tolist() == [3, 0, 2]

    def test_standard_error(self):
        shares = np.array([0.1, 0.2, 0.6])
        assert standard_error(shares) == pytest.approx(math.sqrt(3 * np.var(shares)))


# ---------------------------------------------------------------------------------------------- what is recommended


class TestShapes:
    def test_moons(self):
        X, y = make_moons(200, noise=0.05, random_state=0)
        found = recommended(X, 2)
        assert adjusted_rand_index(y, found.labels) > 0.95
        assert math.isfinite(found.sigma)
        assert found.excess_of_kmeans > 1.0
        assert found.cost == found.lowest.cost < found.kmeans.cost

    def test_rings(self):
        X, y = make_circles(200, noise=0.04, factor=0.4, random_state=1)
        assert adjusted_rand_index(y, recommended(X, 2).labels) == 1.0

    def test_separated_groups_are_those_of_kmeans(self):
        X, y = make_blobs([60, 40, 50], centers=[[0, 0], [20, 0], [0, 20]], random_state=2)
        found = recommended(X, 3)
        assert found.sigma == found.seen_to == math.inf
        assert found.candidates[found.index] is found.kmeans
        assert partition_key(found.labels) == partition_key(y)
        assert np.bincount(found.labels).tolist() == [60, 50, 40]

    def test_kmeans_is_kept_where_no_bandwidth_does_clearly_better(self):
        """One round cloud, which any cut halves as well as any other."""
        X = np.random.default_rng(0).normal(size=(150, 2))
        found = recommended(X, 2)
        assert found.sigma == math.inf
        assert found.excess_of_kmeans <= 1.0

    @pytest.mark.parametrize(("name", "least"), [("jain", 0.9), ("spiral", 0.9), ("flame", 0.8)])
    def test_the_paper_s_shapes(self, shared, name, least):
        X, y = table(shared, name)
        found = recommend_partition(X, len(np.unique(y)), random_state=0)
        assert normalized_mutual_information(y, found.labels) > least


class TestInvariance:
    X, _ = make_moons(150, noise=0.06, random_state=3)

    def test_same_seed_same_result(self):
        first, second = recommended(self.X, 3, random_state=5), recommended(self.X, 3, random_state=5)
        assert first.to_dict() == second.to_dict()

    def test_same_seed_same_result_with_lanczos(self, monkeypatch):
        monkeypatch.setattr(spectral, "_AT_ONCE", 10)
        assert recommended(self.X, 3).to_dict() == recommended(self.X, 3).to_dict()

    @pytest.mark.parametrize("power", [-30, 7])
    def test_powers_of_two_change_nothing_but_the_unit(self, power):
        plain, scaled = recommended(self.X, 2), recommended(np.ldexp(self.X, power), 2)
        assert scaled.sigma == math.ldexp(plain.sigma, 2 * power)
        assert scaled.labels.tolist() == plain.labels.tolist()
        assert scaled.cost == plain.cost

    def test_order_of_rows_does_not_matter(self):
        order = np.random.default_rng(0).permutation(len(self.X))
        plain, permuted = recommended(self.X, 2), recommended(self.X[order], 2)
        assert partition_key(permuted.labels) == partition_key(plain.labels[order])
        assert permuted.sigma == pytest.approx(plain.sigma)

    def test_far_from_the_origin(self):
        near, far = recommended(self.X, 2), recommended(np.round(self.X, 6) + 1e6, 2)
        assert partition_key(far.labels) == partition_key(near.labels)


class TestEdges:
    def test_one_cluster(self):
        found = recommended([[0.0], [1.0], [5.0]], 1)
        assert found.labels.tolist() == [0, 0, 0]
        assert (found.cost, found.sigma, found.runner_up) == (0.0, math.inf, None)
        assert found.why == ("With one cluster there is nothing to choose: every bandwidth gives the same.",)

    def test_a_cluster_for_every_row(self):
        found = recommended([[0.0], [1.0], [5.0], [6.5]], 4)
        assert sorted(found.labels) == [0, 1, 2, 3]
        assert found.cost == pytest.approx(1.0)

    def test_two_rows(self):
        assert recommended([[0.0], [1.0]], 2).labels.tolist() == [0, 1]

    def test_equal_rows(self):
        found = recommended(np.ones((6, 2)), 2)
        assert len(found.candidates) == 1
        assert found.why[0].startswith("Where all rows are equal there is nothing to choose")

    def test_duplicates(self):
        X = np.repeat([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], 20, axis=0)
        found = recommended(X, 2)
        assert found.labels.tolist() == [0] * 40 + [1] * 20
        # fewer distinct rows than clusters
        assert len(np.unique(recommended(X, 5).labels)) >= 3

    def test_many_duplicates_with_lanczos(self, monkeypatch):
        monkeypatch.setattr(spectral, "_AT_ONCE", 10)
        X = np.repeat([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], 20, axis=0)
        assert recommended(X, 2).to_dict() == recommended(X, 2).to_dict()

    @pytest.mark.parametrize(
        ("X", "k", "options", "words"),
        [
            ([[1.0]], 1, {}, "minimum of 2"),
            ([[1.0], [math.nan]], 1, {}, "NaN"),
            ([[1.0], [2.0]], 3, {}, "n_clusters is 3"),
            ([[1.0], [2.0]], 0, {}, "n_clusters is 0"),
            ([[1.0], [2.0]], 1.5, {}, "n_clusters is 1.5"),
            ([[1.0], [2.0]], 1, {"n_bandwidths": 1}, "n_bandwidths is 1: it must be at least 2"),
            ([[1.0], [2.0]], 1, {"n_init": 0}, "n_init is 0"),
            ([[1.0], [2.0], [3.0]], 3, {"max_rows": 2}, "max_rows is 2: it must be at least n_clusters=3"),
            ([[1e200], [-1e200]], 2, {}, "rescale the data"),
        ],
    )
    def test_bad_input_is_told_in_one_sentence(self, X, k, options, words):
        with pytest.raises(InputError, match=words) as raised:
            recommended(X, k, **options)
        assert "\n" not in str(raised.value)


class TestSample:
    X, y = make_moons(900, noise=0.05, random_state=4)

    def test_more_rows_than_are_worked_on(self):
        found = recommended(self.X, 2, max_rows=300)
        assert len(found.rows) == 300
        assert len(found.labels) == 900
        assert adjusted_rand_index(self.y, found.labels) > 0.95
        assert found.why[0].startswith("This was worked out on a random sample of 300 of the 900 rows")
        assert {len(candidate.labels) for candidate in found.candidates} == {900}

    def test_what_memory_allows(self, monkeypatch):
        monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", str(24 * 250**2))
        assert len(recommended(self.X, 2).rows) == 250

    def test_memory_for_too_few_rows(self, monkeypatch):
        monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", str(24 * 150**2))
        with pytest.raises(InputError, match="OFFGRID_MEMORY_LIMIT allows a kernel matrix of 150 rows, too few of 900"):
            recommended(self.X, 2)
        assert memory.memory_limit() == 24 * 150**2


@pytest.fixture(scope="module")
def found():
    return recommended(make_moons(150, noise=0.06, random_state=3)[0], 2)


class TestResult:
    def test_candidates_are_kmeans_then_bandwidths_downward(self, found):
        sigmas = [candidate.sigma for candidate in found.candidates]
        assert sigmas[0] == math.inf
        assert sigmas == sorted(sigmas, reverse=True)
        assert len(sigmas) == 9
        assert found.candidates[found.index].labels is found.labels
        assert found.n_partitions == len({partition_key(candidate.labels) for candidate in found.candidates})

    def test_grid_goes_from_the_mean_to_the_nearest_distance(self):
        X = make_moons(150, noise=0.06, random_state=3)[0]
        squares = reference.squared_distances(X)
        mean = squares.sum() / (150 * 149)
        nearest = np.where(squares > 0, squares, np.inf).min(axis=1)
        sigmas = [candidate.sigma for candidate in recommended(X, 2).candidates[1:]]
        assert sigmas[0] == pytest.approx(mean)
        assert sigmas[-1] == pytest.approx(np.median(nearest))

    def test_costs_are_local_cnnc(self, found):
        X = make_moons(150, noise=0.06, random_state=3)[0]
        for candidate in found.candidates:
            assert candidate.cost == pytest.approx(local_cost(X, candidate.labels, 2), abs=1e-15)
        assert found.cost == min(candidate.cost for candidate in found.candidates)

    def test_range_is_one_of_like_clusterings(self, found):
        inside = [c for c in found.candidates if found.seen_from <= c.sigma <= found.seen_to]
        assert found.n_seen == len(inside) >= 1
        assert found.seen_from <= found.sigma <= found.seen_to
        assert all((candidate.labels != found.labels).mean() <= 0.1 for candidate in inside)

    def test_runner_up_is_another_clustering(self, found):
        second = found.runner_up
        assert second.differs.tolist() == np.flatnonzero(second.candidate.labels != found.labels).tolist()
        assert len(second.differs) > 15
        assert second.excess > 0
        others = [c.cost for c in found.candidates if (c.labels != found.labels).mean() > 0.1]
        assert second.candidate.cost == min(others)

    def test_why(self, found):
        text = " ".join(found.why)
        assert all(sentence.endswith(".") for sentence in found.why)
        for words in (
            f"The clustering at σ = {found.sigma:#.3g} separates",
            f"of the {found.n_neighbours} rows most like a row",
            f"The difference is {found.excess_of_kmeans:.1f} times its standard error; up to 1 we would call it chance",
            f"{found.n_seen} of the 9 values tried",
            f"places {len(found.runner_up.differs)} rows",
        ):
            assert words in text

    @pytest.mark.parametrize(("excess", "told"), [(1.4, "slight: 1.4 times"), (2.0, "clear: 2.0 times")])
    def test_how_clear_it_is(self, found, excess, told):
        both = f"{percent(found.cost)} of them, k-means {percent(found.kmeans.cost)}"
        assert headline(found) == f"it separates the fewest near neighbours: {both}"
        said = " ".join(replace(found, excess_of_kmeans=excess).verdict)
        assert f"The difference is {told} its standard error; at 1 or less, k-means would be kept." in said

    @pytest.mark.parametrize(("excess", "tied"), [(0.0, True), (1.0, True), (1.1, False)])
    def test_a_runner_up_within_one_standard_error_is_a_tie(self, found, excess, tied):
        second = replace(found.runner_up, candidate=found.candidates[-1], excess=excess)
        other = replace(found, runner_up=second)
        places = f"places {len(second.differs) / 1.5:.0f}% of the rows elsewhere."
        tie = f"It is tied with σ = {found.candidates[-1].sigma:#.3g}, which {places}"
        assert (tie in " ".join(other.verdict)) is tied
        assert ("That is a tie." in " ".join(other.why)) is tied

    def test_where_kmeans_is_kept_the_rule_is_told(self, found):
        rival = found.candidates[found.index]
        second = replace(found.runner_up, candidate=rival, excess=-0.7)
        kept = replace(
            found, sigma=math.inf, index=0, cost=found.kmeans.cost, excess_of_kmeans=0.7, lowest=rival,
            runner_up=second, seen_to=math.inf,
        )  # fmt: skip
        assert headline(kept) == f"no bandwidth separates clearly fewer near neighbours than its {percent(kept.cost)}"
        clear, tie, *_ = kept.verdict
        assert clear == (
            f"σ = {rival.sigma:#.3g} separates {percent(rival.cost)}, a difference of 0.7 times its standard error: up "
            "to 1 counts as chance, and k-means is kept."
        )
        assert tie.startswith("That clustering places"), "it is named once"

    def test_where_it_stays_the_same(self, found):
        def last(**changes):
            return replace(found, **changes).verdict[-1]

        assert last(n_seen=1) == "The next values of σ give other clusterings."
        assert last(n_seen=9) == "Every value of σ tried gives much the same clustering."
        assert (
            last(n_seen=3, seen_from=0.5, seen_to=2379.4) == "From σ = 0.500 to 2,379 the clustering is much the same."
        )
        assert last(n_seen=3, seen_from=12.0, seen_to=math.inf) == "From σ = 12.0 on the clustering is much the same."

    def test_nothing_to_choose_is_not_explained(self):
        same = recommended(np.zeros((6, 2)), 2)
        assert (headline(same), same.verdict) == ("there is nothing to choose", ())

    def test_another_clustering_is_counted_on_the_same_rows(self):
        X = make_moons(400, noise=0.06, random_state=3)[0]
        found = recommend_partition(X, 2, random_state=5, max_rows=250, n_bandwidths=4)
        near = near_share(X, 2, random_state=5, max_rows=250)
        for candidate in found.candidates:
            assert near(candidate.labels) == pytest.approx(candidate.cost, abs=1e-15)

    def test_json(self, found):
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain["candidates"][0]["sigma"] == "inf"
        assert plain["labels"] == found.labels.tolist()
        assert plain["why"] == list(found.why)
        assert plain["runner_up"]["differs"] == found.runner_up.differs.tolist()

    def test_progress(self):
        told = []
        recommended(make_moons(40, random_state=0)[0], 2, progress=lambda done, total: told.append((done, total)))
        assert told == [(done, 9) for done in range(1, 10)]

    def test_constants_are_what_is_documented(self):
        assert (recommendation.N_BANDWIDTHS, recommendation.N_INIT, recommendation.MAX_ROWS) == (24, 10, 4000)
        assert (CHANCE, CLEAR) == (1.0, 2.0)


def test_shares_have_two_figures_so_that_close_ones_can_be_compared() -> None:
    assert [percent(share) for share in (0.0, 0.0104, 0.0131, 0.002, 0.0996, 0.12)] == [
        "0%", "1.0%", "1.3%", "0.20%", "10%", "12%",
    ]  # fmt: skip
