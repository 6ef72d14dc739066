"""The methods to compare with: which values they try, and what they do with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from offgrid import InputError, KernelKMeans, baselines, datasets
from offgrid.baselines import BASELINES, ben_hur, grid, local_scaling, median_heuristic, mknn, run_baseline, spectral
from offgrid.metrics import adjusted_rand_index, nearest_neighbour_cost, neighbour_ranks, normalized_mutual_information

LINE = [[0.0], [1.0], [3.0], [7.0]]


def groups(n_each: int = 20, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(c, 1.0, (n_each, columns)) for c in (0.0, 8.0, 16.0)]), np.repeat([0, 1, 2], n_each)


def sigmas(result: baselines.BaselineResult) -> list[float | None]:
    return [trial.sigma for trial in result.trials]


class TestMknn:
    def test_values_by_hand(self) -> None:
        """0, 1, 3, 7: nearest at 1, 1, 2, 4; second at 3, 2, 3, 6; third at 7, 6, 4, 7."""
        result = mknn(LINE, 2, init=[0, 0, 1, 1])
        means = [8 / 4, 14 / 4, 24 / 4]
        assert sigmas(result) == pytest.approx([2 * mean**2 for mean in means])
        assert [trial.label for trial in result.trials] == ["j = 1", "j = 2", "j = 3"]

    @pytest.mark.parametrize("n", [30, 60, 240])
    def test_number_of_values(self, n: int) -> None:
        X = np.random.default_rng(n).normal(size=(n, 2))
        assert len(mknn(X, 2, random_state=0).trials) == math.floor(2 * (math.log(n) + 1))

    @pytest.mark.parametrize("columns", [2, 20])
    def test_distances_are_the_plain_ones(self, columns: int) -> None:
        """With few columns distances are computed, with many they are stored."""
        X, _ = groups(columns=columns)
        distances = np.sort(np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)), axis=1)
        expected = 2 * distances[:, 1:].mean(axis=0) ** 2
        result = mknn(X, 3, random_state=0)
        assert sigmas(result) == pytest.approx(expected[: len(result.trials)].tolist())

    def test_equal_rows_leave_a_value_out(self) -> None:
        result = mknn([[0.0], [0.0], [5.0], [5.0]], 2, init=[0, 0, 1, 1])
        assert [trial.label for trial in result.trials] == ["j = 2", "j = 3"]
        assert result.notes == ("j = 1 is left out: that neighbour is at distance 0 from every point.",)

    def test_asked_for_another_number_of_values(self) -> None:
        X, _ = groups()
        assert len(mknn(X, 3, random_state=0, count=13).trials) == 13
        assert len(mknn(LINE, 2, random_state=0, count=13).trials) == 3
        with pytest.raises(InputError, match="count is 0"):
            mknn(X, 3, count=0)


class TestGrid:
    def test_values_are_the_papers(self) -> None:
        result = grid(LINE, 2, random_state=0)
        assert sigmas(result) == [10.0**i for i in range(-6, 7)]
        assert [result.trials[0].label, result.trials[-1].label] == ["10^-6", "10^6"]

    def test_every_value_is_kernel_kmeans_from_the_same_start(self) -> None:
        X, y = groups()
        start = np.random.default_rng(1).integers(3, size=len(X))
        result = grid(X, 3, y, init=start)
        for trial in result.trials:
            model = KernelKMeans(3, sigma=trial.sigma, init=start).fit(X)
            assert np.array_equal(trial.labels, model.labels_)
            assert trial.nmi == normalized_mutual_information(y, model.labels_)
            assert trial.ari == adjusted_rand_index(y, model.labels_)
            assert trial.cnnc == pytest.approx(nearest_neighbour_cost(X, model.labels_, 3))
        # far below all distances nothing moves: the first values give the start again and again
        assert np.array_equal(result.trials[0].labels, start)
        assert result.trials[0].iterations == 0
        assert result.n_partitions < len(result.trials)

    def test_start_is_drawn_once(self) -> None:
        result = grid(groups()[0], 3, random_state=5)
        assert result.trials[0].key == result.trials[1].key


class TestOthers:
    def test_median_by_hand(self) -> None:
        """Distances 1, 2, 3, 4, 6, 7: squares 1, 4, 9, 16, 36, 49, median 12.5."""
        assert sigmas(median_heuristic(LINE, 2, random_state=0)) == pytest.approx([25.0])

    def test_median_of_a_sample_where_memory_is_short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, _ = groups()
        whole = median_heuristic(X, 3, random_state=0).trials[0].sigma
        ranks = neighbour_ranks(X)
        monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "1000")
        assert median_heuristic(X, 3, random_state=0, ranks=ranks).trials[0].sigma == pytest.approx(whole, rel=0.05)

    def test_descent_by_hand(self) -> None:
        """The largest square is 49, the 1st percentile 1 + 0.05 * 3 = 1.15: down to 49 / 32."""
        assert sigmas(ben_hur(LINE, 2, random_state=0)) == pytest.approx([49 / 2**i for i in range(6)])

    def test_local_scaling_is_kernel_kmeans_with_that_matrix(self) -> None:
        X, y = groups()
        start = np.random.default_rng(2).integers(3, size=len(X))
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        scales = np.sort(np.sqrt(squares), axis=1)[:, 7]
        kernel = np.exp(-squares / np.outer(scales, scales))
        [trial] = local_scaling(X, 3, y, init=start).trials
        model = KernelKMeans(3, kernel="precomputed", init=start).fit((kernel + kernel.T) / 2)
        assert np.array_equal(trial.labels, model.labels_)
        assert trial.sigma is None

    def test_local_scaling_with_equal_rows(self) -> None:
        X = np.repeat([[0.0], [1.0], [5.0]], 9, axis=0)
        X[0] += 0.25
        [trial] = local_scaling(X, 3, random_state=0).trials
        assert 0.0 <= trial.cnnc <= 1.0

    def test_spectral_finds_what_is_plain(self) -> None:
        X, y = groups()
        result = spectral(X, 3, y, random_state=0)
        assert result.nmi == pytest.approx(1.0)
        assert [trial.label for trial in result.trials] == ["10 nearest neighbours", "gamma = 1", "median"]

    def test_matrix_too_large_for_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, _ = groups()
        ranks = neighbour_ranks(X)
        monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "1000")
        for method in (local_scaling, spectral):
            with pytest.raises(InputError, match="X has 60 rows, and this method keeps a matrix"):
                method(X, 3, ranks=ranks)


@pytest.mark.parametrize("name", BASELINES)
class TestEvery:
    def test_result(self, name: str) -> None:
        X, y = datasets.load("iris").prepare()
        result = run_baseline(name, X, 3, y, random_state=0)
        assert result.method == name
        assert result.recommended.cnnc == result.cnnc == min(trial.cnnc for trial in result.trials)
        assert result.nmi == max(trial.nmi for trial in result.trials)
        assert result.ari == max(trial.ari for trial in result.trials)
        assert 1 <= result.n_partitions <= len(result.trials)
        assert result.passes == pytest.approx(sum(trial.passes for trial in result.trials))
        assert result.seconds >= sum(trial.seconds for trial in result.trials) - 1e-9
        assert all(trial.labels.shape == (150,) and set(trial.labels) <= {0, 1, 2} for trial in result.trials)

    def test_same_seed_same_result(self, name: str) -> None:
        X, _ = groups()
        first, second = (run_baseline(name, X, 3, random_state=7) for _ in range(2))
        assert [trial.key for trial in first.trials] == [trial.key for trial in second.trials]
        assert first.nmi is None
        assert first.ari is None

    def test_ranks_made_before_change_nothing(self, name: str) -> None:
        X, _ = groups()
        with_ranks = run_baseline(name, X, 3, random_state=7, ranks=neighbour_ranks(X))
        assert with_ranks.cnnc == run_baseline(name, X, 3, random_state=7).cnnc

    def test_unit_of_the_data(self, name: str) -> None:
        """All but the grid and sklearn's own gamma follow the data: in another unit they find the same."""
        if name in ("grid", "spectral"):
            return
        X, _ = groups()
        first, second = (run_baseline(name, X * scale, 3, init=np.arange(60) % 3) for scale in (1.0, 1024.0))
        assert [trial.key for trial in first.trials] == [trial.key for trial in second.trials]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"n_clusters": 0}, "n_clusters is 0"),
            ({"n_clusters": 61}, "n_clusters is 61"),
            ({"X": [[1.0]]}, "a minimum of 2"),
            ({"X": [[1.0], [math.nan]], "n_clusters": 1}, "X contains NaN"),
            ({"y": [0, 1]}, "y has shape"),
            ({"ranks": neighbour_ranks(LINE)}, "ranks are of 4 rows, X has 60"),
        ],
    )
    def test_bad_input(self, name: str, arguments: dict, words: str) -> None:
        with pytest.raises(InputError, match=words):
            run_baseline(name, **({"X": groups()[0], "n_clusters": 3} | arguments))


@pytest.mark.parametrize("name", ["mknn", "median_heuristic", "ben_hur", "local_scaling"])
def test_equal_rows_have_no_bandwidth(name: str) -> None:
    with pytest.raises(InputError, match="All rows of X are equal"):
        run_baseline(name, np.ones((5, 2)), 2, random_state=0)


@pytest.mark.parametrize("init", ["kernel-k-means++", "best", [0, 1]])
def test_bad_start(init: object) -> None:
    with pytest.raises(InputError):
        mknn(LINE, 2, init=init)


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="name is 'magic': choose one of 'mknn', 'grid'"):
        run_baseline("magic", LINE, 2)
