"""The benchmarks: the plain NumPy that others are measured by, the runner, and the command. No test looks at times."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from rich.console import Console
from test_oracle import digits, oracle, problem

from benchmarks import cases, clusterings, figure, recommendation, report, rulers, searches, suite, timing, worker
from benchmarks.measurement import Measurement, Row, Settings
from benchmarks.peers import installation
from benchmarks.timing import Spread, alternate
from offgrid import BandwidthSearch, KernelKMeans, cli, critical_bandwidth, metrics


class TestRulers:
    @pytest.mark.parametrize("columns", [2, 30])
    def test_distances_by_column_and_by_product(self, columns: int) -> None:
        X, _ = reference.sample(0, 20, columns, 2)
        assert rulers.squared_distances(X) == pytest.approx(reference.squared_distances(X), abs=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_step_is_the_library_s(self, seed: int) -> None:
        X, labels = reference.sample(seed, 30, 2, 4)
        labels[labels == 3] = 0  # one cluster is empty
        K = reference.rbf(X, 0.7)
        assert rulers.step(K, labels, rulers.one_hot(labels, 4)).tolist() == reference.step(K, labels, 4).tolist()

    @pytest.mark.parametrize("seed", range(5))
    def test_kernel_kmeans_ends_where_the_library_does(self, seed: int) -> None:
        X, start = reference.sample(seed, 80, 3, 5)
        labels, iterations = rulers.kernel_kmeans(rulers.kernel(rulers.squared_distances(X), 2.0), start, 5)
        model = KernelKMeans(5, sigma=2.0, init=start).fit(X)
        assert labels.tolist() == model.labels_.tolist()
        assert max(iterations, 1) == model.n_iter_

    @pytest.mark.parametrize("depth", [1, 4, 10])
    def test_algorithm_2_is_the_library_s(self, depth: int) -> None:
        X, start = reference.sample(1, 60, 2, 3)
        labels = reference.settled(X, start, 3, 0.5)
        exponent = rulers.algorithm_2(reference.rbf(X, 0.5), labels, 3, depth)
        found = critical_bandwidth(X, labels, 0.5, n_clusters=3, method="dyadic", depth=depth)
        assert (exponent.numerator, exponent.denominator, exponent.changed) == (
            found.numerator, found.denominator, found.changed
        )  # fmt: skip

    def test_algorithm_2_finds_the_known_exponents(self, shared: Path) -> None:
        known = {(case["dataset"], case["seed"], case["step"]): case for case in oracle(shared, "critical_values")}
        chosen = oracle(shared, "dyadic")[::7]
        assert len(chosen) == 29
        for row in chosen:
            case = known[row["dataset"], row["seed"], row["step"]]
            X, labels = problem(shared, case)
            K = rulers.kernel(rulers.squared_distances(X), case["sigma"])
            found = rulers.algorithm_2(K, labels, case["k"], row["depth"])
            assert (found.numerator, found.denominator, found.changed) == (
                row["numerator"], row["denominator"], row["changed"]
            )  # fmt: skip

    def test_kernel_values_that_underflow_stay_0(self) -> None:
        X = np.array([[0.0], [1.0], [100.0], [101.0]])
        K = rulers.kernel(rulers.squared_distances(X), 1.0)
        assert K[0, 2] == 0.0
        assert rulers.algorithm_2(K, np.array([0, 0, 1, 1]), 2, 3) == rulers.Exponent(1, 8, changed=False)
        assert np.isfinite(K).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_bisection_is_the_library_s(self, seed: int) -> None:
        X, start = reference.sample(seed, 40, 2, 3)
        labels = reference.settled(X, start, 3, 0.3)
        found = critical_bandwidth(X, labels, 0.3, n_clusters=3, method="bisection")
        assert rulers.bisection(rulers.squared_distances(X), labels, 3, 0.3) == pytest.approx(found.sigma, rel=1e-9)

    def test_bisection_says_when_nothing_moves(self) -> None:
        squares = rulers.squared_distances(np.array([[0.0], [0.1], [5.0], [5.1]]))
        assert rulers.bisection(squares, np.array([0, 0, 1, 1]), 2, 1.0) == np.inf

    @pytest.mark.parametrize("on_grid", [False, True])
    def test_nearest_neighbour_cost_is_the_library_s(self, on_grid: bool) -> None:
        X, labels = reference.sample(2, 50, 2, 4, on_grid=on_grid)
        labels[labels == 2] = 1  # one cluster is empty
        order = rulers.neighbour_order(rulers.squared_distances(X))
        expected = metrics.nearest_neighbour_cost(X, labels, 4)
        assert rulers.nearest_neighbour_cost(order, labels, 4) == pytest.approx(expected, abs=1e-13)

    def test_local_scales_and_their_vectors(self) -> None:
        X = np.array([[0.0], [1.0], [3.0]])
        A = rulers.locally_scaled(rulers.squared_distances(X))
        # with few rows the farthest stands in for the 7th neighbour: scales 3, 2 and 3
        assert pytest.approx(np.exp([[-np.inf, -1 / 6, -1], [-1 / 6, -np.inf, -4 / 6], [-1, -4 / 6, -np.inf]])) == A
        rows = rulers.leading_vectors(A, 1)
        assert np.abs(rows) == pytest.approx(np.ones((3, 1)))

    def test_equal_rows_have_the_smallest_scale_there_is(self) -> None:
        X = np.array([[0.0]] * 9 + [[4.0]])
        assert np.isfinite(rulers.locally_scaled(rulers.squared_distances(X))).all()


class TestRecommendation:
    def test_scores_every_method_on_every_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fast = {name: recommendation.METHODS[name] for name in (recommendation.OURS, "k-means", "self-tuning spectral")}
        monkeypatch.setattr(recommendation, "METHODS", fast)
        monkeypatch.setattr(recommendation, "SETS", ("wine", "audit", "jain"))
        first, second, *beside = recommendation.recommendation(Settings(rounds=1))
        # the package has no audit of its own
        assert first.label == "wine, n = 178, k = 3"
        assert second.label.startswith("jain")
        assert [len(runs) for runs in first.details["nmi"].values()] == [1, 1, 1]
        assert first.unit == "NMI"
        assert 0.8 < first.ours.median <= 1.0
        assert [row.against for row in beside] == ["k-means", "self-tuning spectral"]
        means = [np.mean(row.details["nmi"][recommendation.OURS]) for row in (first, second)]
        assert beside[0].details["nmi"] == pytest.approx(np.mean(means))

    @pytest.mark.filterwarnings("ignore:Graph is not fully connected")
    @pytest.mark.parametrize("name", recommendation.METHODS)
    def test_every_method_finds_separate_groups(self, name: str) -> None:
        X = np.concatenate([reference.sample(0, 30, 2, 1)[0], 30.0 + reference.sample(1, 30, 2, 1)[0]])
        labels = recommendation.METHODS[name](X, 2, 0)
        assert len(labels) == 60
        if name in (recommendation.OURS, "k-means", "self-tuning spectral"):
            assert len(set(labels[:30])) == len(set(labels[30:])) == 1


class TestReplay:
    def test_goes_through_the_clusterings_of_the_search(self) -> None:
        X, start = reference.sample(3, 60, 2, 3)
        records = list(BandwidthSearch(3, init=start).iter_path(X))
        steps = list(range(len(records) - 1))
        found = [r.sigma for r in records], [r.labels for r in records], [r.iterations for r in records]
        done = searches.replay(X, 3, start, *found, steps)
        assert done["same_partitions"] == done["partitions"] == len(records)
        # when every step is done, nothing is worked out from others but c-NNC of the first clustering
        assert done["seconds"] == pytest.approx(done["timed"] + done["parts"]["c-NNC"] / len(records), rel=1e-9)

    def test_chosen_steps_are_spread_over_all(self) -> None:
        assert searches._spaced(112, 10) == [0, 12, 25, 37, 49, 62, 74, 86, 99, 111]
        assert searches._spaced(3, 10) == [0, 1, 2]


class TestTiming:
    def test_who_goes_first_changes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(timing, "_STEADY", -1.0)
        order: list[str] = []
        ours, theirs = alternate(lambda: order.append("ours"), lambda: order.append("theirs"), 3)
        assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
        assert len(ours) == len(theirs) == 3

    def test_short_work_is_repeated_and_long_work_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[int] = []
        monkeypatch.setattr(timing, "_STEADY", -1.0)
        timing.steady_seconds(lambda: done.append(1))
        assert len(done) == 1
        monkeypatch.setattr(timing, "_STEADY", 1e-3)
        timing.steady_seconds(lambda: done.append(1))
        assert len(done) >= 1 + 1 + 3

    def test_ratio_is_of_medians(self) -> None:
        row = Row("", Spread.of([1.0, 2.0, 9.0]), Spread.of([4.0, 6.0, 7.0]))
        assert row.ratio == 3.0
        assert row.as_dict()["ours"] == {"median": 2.0, "least": 1.0, "most": 9.0, "count": 3}
        assert Row("", Spread.of([1.0])).ratio is None


class TestCases:
    def test_the_package_s_own_data_stand_in(self) -> None:
        case = cases.load_case("wine", None)
        assert (case.n, case.k, case.source) == (178, 3, cases.OWN)
        assert case.X.std(axis=0) == pytest.approx(1.0)
        assert cases.mnist(None, 10) is None

    def test_the_paper_s_data(self, shared: Path) -> None:
        case = cases.load_case("d31", shared / "data")
        assert (case.n, case.k, case.source) == (3100, 31, cases.PAPER)
        known = cases.known_values(shared / "data")
        assert len(known) == 40
        assert [entry.state.labels.tolist() for entry in known] == [
            digits(entry["labels"]).tolist() for entry in oracle(shared, "critical_values")
        ]

    def test_labelled_sets_are_prepared_as_in_the_paper(self, shared: Path) -> None:
        audit = cases.load_labelled("audit", shared / "data")
        assert (audit.n, audit.k, audit.source) == (775, 2, cases.PAPER)
        spread = audit.X.std(axis=0)
        assert np.isclose(spread, 1.0).sum() + (spread == 0.0).sum() == audit.X.shape[1]
        assert cases.load_labelled("audit", None) is None
        own = cases.load_labelled("wdbc", None)
        assert (own.n, own.k, own.source) == (569, 2, cases.OWN)
        assert own.X.std(axis=0) == pytest.approx(1.0)

    def test_partitions_have_converged_and_end(self) -> None:
        case = cases.load_case("flame", None)
        states = cases.states(case, 4)
        assert len(states) == 4
        for state in states:
            found = critical_bandwidth(case.X, state.labels, state.sigma, n_clusters=case.k)
            assert state.sigma < found.sigma < np.inf


class TestPeers:
    @pytest.fixture
    def ready(self, tmp_path: Path) -> Path:
        """An environment that claims to be installed; what its interpreter does is up to the test."""
        home = tmp_path / "tslearn"
        (home / "bin").mkdir(parents=True)
        (home / "installed.txt").write_text("\n".join(installation.PINS["tslearn"]))
        return home / "bin" / "python"

    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            ("echo 'No module named tslearn' >&2; exit 1", "tslearn did not run: No module named tslearn"),
            ("exit 3", "tslearn did not run: exit status 3"),
            ("true", "tslearn printed no result"),
        ],
    )
    def test_says_why_one_did_not_run(self, ready: Path, script: str, reason: str) -> None:
        ready.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
        ready.chmod(0o755)
        with pytest.raises(installation.PeerUnavailable, match=reason):
            installation.run_peer("tslearn", ready.parents[2], np.zeros((2, 2)))

    def test_returns_what_it_prints(self, ready: Path) -> None:
        ready.write_text("#!/bin/sh\ncat >/dev/null\necho a warning\necho '{\"seconds\": [0.5]}'\n")
        ready.chmod(0o755)
        done = installation.run_peer("tslearn", ready.parents[2], np.zeros((2, 2)))
        assert done == {"seconds": [0.5], "requirements": list(installation.PINS["tslearn"])}

    def test_says_why_one_could_not_be_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(command: list[str], **options: Any) -> None:
            raise subprocess.CalledProcessError(1, command, stderr="...\nERROR: no matching distribution\n")

        monkeypatch.setattr(subprocess, "run", refuse)
        with pytest.raises(installation.PeerUnavailable, match="could not be installed: ERROR: no matching"):
            installation.run_peer("msscpy", tmp_path, np.zeros((2, 2)))

    def test_every_peer_has_its_script(self) -> None:
        folder = Path(installation.__file__).parent
        names = {path.stem.removeprefix("run_") for path in folder.glob("run_*.py")}
        assert names == {name.replace("-", "_") for name in installation.PINS}

    def test_without_a_folder_the_rows_say_so(self) -> None:
        [row] = clusterings.scales(Settings())
        assert "--peers DIR" in row.skipped
        [row] = clusterings.kernel_kmeans(Settings())
        assert "mnist_8k.npz" in row.skipped


class TestWorker:
    def test_reports_a_search_and_its_memory(self) -> None:
        X, start = reference.sample(3, 40, 2, 3)
        done = worker.run_worker("search", X=X, k=3, max_steps=2, init=start, timeout=300)
        records = list(BandwidthSearch(3, init=start, max_steps=2).iter_path(X))
        assert done["sigmas"] == [record.sigma for record in records]
        assert done["labels"] == [record.labels.tolist() for record in records]
        assert done["peak_memory"] > 10

    def test_memory_of_a_pass_is_told_apart(self) -> None:
        done = worker.run_worker("growth", n=20_000, k=3, timeout=300)
        if done["memory_added"] is not None:
            # n columns, k clusters, values and slopes, in 8-byte numbers: a few MB, where a matrix would take 3,200
            assert 1 < done["memory_added"] < 100

    def test_failure_is_raised(self) -> None:
        with pytest.raises(subprocess.CalledProcessError):
            worker.run_worker("fly", timeout=300)


def measured(rows: list[Row | BaseException]) -> Measurement:
    """Return a measurement that yields rows, and raises what is none."""

    def run(settings: Settings) -> Iterator[Row]:
        for row in rows:
            if isinstance(row, BaseException):
                raise row
            yield row

    return Measurement("toy", "A toy, beside another", "In words.", run)


class TestRun:
    rows = (
        Row("both", Spread.of([2e-3]), Spread.of([0.5]), against="another", target=100.0, note="Mind this."),
        Row("memory", Spread.of([12345.0]), unit="MB"),
        Row("absent", skipped="it is not here."),
    )

    def test_table_has_the_words_and_the_numbers(self, capsys: pytest.CaptureFixture[str]) -> None:
        document, finished = suite.run([measured([*self.rows])], Settings(), Console(width=120))
        out = capsys.readouterr().out
        assert finished
        for words in ("A toy, beside another", "In words.", "2 ms", "500 ms", "250", "another", "≥ 100", "12,345 MB"):
            assert words in out
        assert "both: Mind this." in out
        assert "absent: Left out: it is not here." in out
        assert [row["ratio"] for row in document["results"][0]["rows"]] == [250.0, None, None]
        assert figure.bars(document["results"]) == [("toy: both", 250.0, "another")]

    @pytest.mark.parametrize(
        "error", [MemoryError(), subprocess.CalledProcessError(1, "x", stderr="Traceback\nKilled\n")]
    )
    def test_what_fails_is_written_down_and_the_next_goes_on(self, error: Exception) -> None:
        document, finished = suite.run([measured([self.rows[0], error]), measured([self.rows[1]])], Settings(), None)
        assert finished
        assert [len(result["rows"]) for result in document["results"]] == [2, 1]
        assert document["results"][0]["rows"][1]["skipped"].startswith("it failed: ")

    def test_ctrl_c_keeps_what_is_done(self) -> None:
        interrupted = measured([self.rows[0], KeyboardInterrupt()])
        document, finished = suite.run([measured([self.rows[1]]), interrupted, interrupted], Settings(), None)
        assert not finished
        assert [len(result["rows"]) for result in document["results"]] == [1, 1]

    def test_document_says_what_it_was_measured_with(self) -> None:
        document = json.loads(json.dumps(report.document(Settings())))
        assert {"python", "offgrid", "numpy", "numba"} <= set(document["versions"])
        assert document["machine"]["cpu"]
        assert document["machine"]["cores"] >= 1
        assert document["threads"]["offgrid"] >= 1
        assert document["date"]


class TestCommand:
    def test_list_names_every_measurement(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["benchmark", "--list"]) == 0
        out = capsys.readouterr().out
        assert [line.split()[0] for line in out.splitlines()[3:] if line[1:2].strip()] == list(suite.MEASUREMENTS)

    def test_json_on_standard_output(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["benchmark", "--only", "import", "--rounds", "1", "--json"]) == 0
        captured = capsys.readouterr()
        document = json.loads(captured.out)
        [result] = document["results"]
        assert result["name"] == "import"
        assert result["rows"][0]["label"] == "import offgrid"
        assert result["rows"][0]["ours"]["count"] == 1
        assert "[1/1] import" in captured.err

    def test_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(suite, "MEASUREMENTS", {"toy": measured([*TestRun.rows])})
        results, chart = tmp_path / "results.json", tmp_path / "chart.html"
        assert cli.main(["benchmark", "--json", str(results), "--figure", str(chart)]) == 0
        assert "A toy, beside another" in capsys.readouterr().out
        assert json.loads(results.read_text(encoding="utf-8"))["results"][0]["rows"][0]["ratio"] == 250.0
        page = chart.read_text(encoding="utf-8")
        assert "toy: both" in page
        # the page needs nothing from elsewhere
        assert "<script src=" not in page
        assert '<script charset="utf-8" src=' not in page

    def test_interrupted(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        toy = measured([TestRun.rows[0], KeyboardInterrupt()])
        monkeypatch.setattr(suite, "MEASUREMENTS", {"toy": toy})
        assert cli.main(["benchmark", "--json"]) == 130
        captured = capsys.readouterr()
        assert len(json.loads(captured.out)["results"][0]["rows"]) == 1
        assert "Interrupted" in captured.err

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--only", "speed"], "There is no measurement 'speed': choose from critical, "),
            (["--data", "nowhere"], "There is no folder 'nowhere'"),
        ],
    )
    def test_bad_names_are_told_in_one_sentence(
        self, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["benchmark", *arguments]) == 3
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert words in captured.err

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--rounds", "0"], "'0' is not a whole number from 1 up"),
            (["--json", "results.csv"], "does not end in .json"),
            (["--figure", "nowhere/chart.html"], "its folder does not exist"),
        ],
    )
    def test_wrong_usage_is_told_in_one_sentence(
        self, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["benchmark", *arguments])
        assert stopped.value.code == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert words in captured.err

    def test_says_when_they_are_not_installed(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "benchmarks.suite", None)
        assert cli.main(["benchmark", "--list"]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "The benchmarks are not installed here" in captured.err
