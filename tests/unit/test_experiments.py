"""The paper's experiments: what is run, what is kept, what is written, and going on after a stop."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offgrid import BandwidthSearch, InputError, KernelKMeans, cli, cli_arguments, datasets
from offgrid.datasets.model import Points
from offgrid.experiments import cases, quality, scaling, searching, store, summaries, tables
from offgrid.metrics import neighbour_ranks

ROWS = {"dataset", "method", "nmi", "cnnc", "nmi_std", "cnnc_std", "runs"}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two small sets in place of the paper's, and digits of eight columns."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, scale in (("flame", 1.0), ("wine", 100.0)):
        lines = ["a,b,still,label"]
        for label, centre in enumerate((0.0, 7.0)):
            lines += [f"{centre + x:.3f},{scale * (centre + y):.3f},5,{label}" for x, y in rng.normal(size=(15, 2))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    digits = rng.integers(256, size=(60, 8), dtype=np.uint8)
    np.savez(folder / cases.DIGITS_FILE, X=digits, y=np.zeros(60, dtype=np.uint8))
    monkeypatch.setattr(cases, "SIZES", (30, 60))
    monkeypatch.setattr(tables, "warmup", lambda: None)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run(name: str, data: Path, out: Path, *options: str) -> int:
    return cli.main(["experiments", name, "--data", str(data), "--out", str(out), *options])


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("offgrid")
    return captured.err


class TestCases:
    def test_every_set_of_the_paper(self) -> None:
        paper = store.load_paper()
        assert set(cases.SETS) == set(paper["table_2_quality"]) == set(paper["table_4_search"])
        assert {*cases.SETS, "mnist"} == set(paper["datasets"])

    def test_synthetic_raw_real_scaled_constant_column_left_alone(self, data: Path) -> None:
        raw, scaled = cases.load_case("flame", data), cases.load_case("wine", data)
        assert raw.points.X[:, 2].tolist() == scaled.points.X[:, 2].tolist() == [5.0] * 30
        assert scaled.points.X.std(axis=0)[:2] == pytest.approx([1.0, 1.0])
        assert raw.points.X.std(axis=0)[0] > 2.0
        assert (raw.k, raw.source, raw.title) == (2, "flame.csv", "Flame")

    def test_built_in_sets_stand_in(self, data: Path) -> None:
        assert cases.load_case("jain", data).source == "built in"
        wdbc = cases.load_case("wdbc", None)
        assert np.array_equal(wdbc.points.X, datasets.load("breast_cancer").prepare().X)
        assert wdbc.k == 2
        assert cases.load_case("wifi", None) is None

    def test_folder(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(cases.ENVIRONMENT, str(data))
        assert cases.find_folder(None) == data
        assert cases.find_folder(data.parent) == data.parent
        monkeypatch.setenv(cases.ENVIRONMENT, str(data / "absent"))
        with pytest.raises(InputError, match="There is no folder"):
            cases.find_folder(None)

    def test_start_is_the_same_each_time_and_another_in_each_run(self) -> None:
        first = cases.start_partition(100, 3, 0)
        assert np.array_equal(first, cases.start_partition(100, 3, 0))
        assert not np.array_equal(first, cases.start_partition(100, 3, 1))
        assert set(first) == {0, 1, 2}

    def test_sample_of_digits(self, data: Path) -> None:
        digits = cases.load_digits(data)
        assert digits.max() <= 1.0
        some = scaling.sample(digits, 30, 0)
        assert some.shape == (30, 8)
        assert not np.array_equal(some, scaling.sample(digits, 30, 1))
        assert scaling.sample(digits, 60, 0) is digits


class TestTwoLevels:
    @pytest.fixture
    def prepared(self) -> Any:
        X, y = datasets.load("flame").prepare()
        return quality._Data(X, y, 2, neighbour_ranks(X))

    @pytest.mark.parametrize("method", ["dyadic", "certified"])
    def test_second_level_starts_from_the_start_partition(self, prepared: Any, method: str) -> None:
        start = cases.start_partition(len(prepared.X), 2, 3)
        found = quality.two_levels(prepared, start, method)
        first = list(BandwidthSearch(2, method=method, depths=(1,), init=start).iter_path(prepared.X))
        assert [record.sigma for record in found[: len(first)]] == [record.sigma for record in first]
        best = min(first, key=lambda record: record.cnnc)
        second = found[len(first) :]
        assert second[0].sigma == best.sigma
        model = KernelKMeans(2, sigma=best.sigma, init=start).fit(prepared.X)
        assert np.array_equal(second[0].labels, model.labels_)
        if method == "certified":
            high = 2 * best.sigma
        else:
            high = min((record.sigma for record in first if record.sigma > best.sigma), default=math.inf)
        assert all(best.sigma <= record.sigma <= high for record in second)

    def test_best_values_of_a_run(self) -> None:
        case = cases.load_case("flame", None)
        found = quality.measure(case, 0)["methods"]
        assert tuple(found) == summaries.METHODS
        ready = quality._prepared(case)
        records = quality.two_levels(ready, cases.start_partition(240, 2, 0), "dyadic")
        assert found["dyadic"]["nmi"] == pytest.approx(max(record.nmi for record in records), rel=1e-5)
        assert found["dyadic"]["cnnc"] == pytest.approx(min(record.cnnc for record in records), rel=1e-5)
        assert found["dyadic"]["values"] == len(records)
        assert found["grid"]["values"] == 13


class TestRows:
    def test_mean_and_deviation_by_hand(self) -> None:
        one = {"nmi": 0.2, "cnnc": 0.3, "seconds": 1.0, "values": 10, "partitions": 4, "passes": 2.0}
        other = {"nmi": 0.4, "cnnc": 0.1, "seconds": 3.0, "values": 20, "partitions": 6, "passes": 4.0}
        runs = {"flame": [{"methods": dict.fromkeys(summaries.METHODS, values)} for values in (one, other)]}
        rows = summaries.quality_rows(runs)
        assert [row["method"] for row in rows] == ["mknn", "grid", "dyadic", "certified"]
        assert all(set(row) == ROWS for row in rows)
        assert rows[0] == {
            "dataset": "flame", "method": "mknn", "nmi": 0.3, "cnnc": 0.2, "nmi_std": 0.141421, "cnnc_std": 0.141421,
            "runs": 2,
        }  # fmt: skip
        assert summaries.seconds_rows(runs)[0] == {
            "dataset": "flame", "method": "mknn", "seconds": 2.0, "seconds_std": 1.41421, "seconds_median": 2.0,
            "values": 15.0, "partitions": 5.0, "passes": 3.0, "runs": 2,
        }  # fmt: skip

    def test_critical_values_by_hand(self) -> None:
        def outcome(seconds: list[float], errors: list[float]) -> dict[str, Any]:
            return {"seconds": seconds, "errors": errors, "missed": len(seconds) - len(errors)}

        run = {
            "methods": {
                "bisection": outcome([4.0, 6.0], [0.5]),
                "dyadic": outcome([1.0, 1.0], [0.1, 0.3]),
                "certified": outcome([0.5, 0.5], [0.0, 0.0]),
            },
            "looked": 2, "confirmed": 2, "uncertified": 0,
        }  # fmt: skip
        rows = {row["method"]: row for row in summaries.searching_rows({"flame": [run]})}
        assert [rows[method]["speedup"] for method in searching.METHODS] == [1.0, 5.0, 10.0]
        assert [rows[method]["relative_error"] for method in searching.METHODS] == [0.5, 0.2, 0.0]
        assert [rows[method]["missed"] for method in searching.METHODS] == [1, 0, 0]
        assert rows["dyadic"]["largest_error"] == 0.3
        assert rows["dyadic"]["searches"] == 2

    def test_no_search_at_all(self) -> None:
        empty = {"seconds": [], "errors": [], "missed": 0}
        run = {"methods": dict.fromkeys(searching.METHODS, empty), "looked": 0, "confirmed": 0, "uncertified": 0}
        assert summaries.searching_rows({"flame": [run]}) == []


def test_critical_values_are_checked_by_numpy() -> None:
    """The certified value is within its precision, and NumPy agrees with every reference."""
    found = searching.measure(cases.load_case("flame", None), 0)
    assert found["looked"] == searching.ITERATIONS
    assert found["confirmed"] + found["uncertified"] >= found["looked"]
    assert max(found["methods"]["certified"]["errors"]) < 2**-20
    assert found["methods"]["certified"]["missed"] == 0


class TestRuns:
    def test_lines_come_back(self, out: Path) -> None:
        runs = store.Runs(out / "runs.jsonl")
        runs.begin({"date": "then"})
        runs.add("flame", "aa", 1, {"value": 0.5}, {"rows": 240})
        runs.add("flame", "aa", 0, {"value": 0.25}, {"rows": 240})
        again = store.Runs(out / "runs.jsonl")
        assert [line["value"] for line in again.of("flame")] == [0.25, 0.5]
        assert again.get("flame", "aa", 1)["session"] == 0
        assert again.get("flame", "bb", 1) is None
        assert again.sessions == [{"kind": "session", "session": 0, "date": "then"}]
        assert again.data == {("flame", "aa"): {"rows": 240}}
        again.begin({"date": "now"})
        again.add("flame", "bb", 0, {"value": 0.75}, {"rows": 24})
        third = store.Runs(out / "runs.jsonl")
        assert [line["value"] for line in third.of("flame")] == [0.75]
        assert [line["value"] for line in third.of("flame", "aa")] == [0.25, 0.5]
        assert third.get("flame", "bb", 0)["session"] == 1

    def test_line_that_was_cut_short(self, out: Path) -> None:
        runs = store.Runs(out / "runs.jsonl")
        runs.begin({})
        for number in range(2):
            runs.add("flame", "aa", number, {"value": number}, {})
        text = runs.path.read_text(encoding="utf-8")
        runs.path.write_text(text[:-9], encoding="utf-8")
        again = store.Runs(runs.path)
        assert again.get("flame", "aa", 0) is not None
        assert again.get("flame", "aa", 1) is None
        again.begin({})
        again.add("flame", "aa", 1, {"value": 1}, {})
        assert [line["value"] for line in store.Runs(runs.path).of("flame")] == [0, 1]

    def test_file_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        with pytest.raises(InputError, match="can't be read"):
            store.Runs(tmp_path / "file" / "runs.jsonl")


class TestCommand:
    def test_names_are_those_of_the_experiments(self) -> None:
        assert tuple(tables.EXPERIMENTS) == cli_arguments.EXPERIMENTS

    def test_tables_2_and_3(
        self, data: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert run("table2", data, out, "--runs", "2", "--sets", "wine", "flame") == 0
        shown = capsys.readouterr().out
        assert "Table 2" in shown
        assert "0.489" in shown, "the paper's NMI of mknn on Flame"
        rows = read(out / "table_2.json")
        assert [(row["dataset"], row["method"]) for row in rows] == [
            (name, method) for name in ("flame", "wine") for method in summaries.METHODS
        ]
        assert all(set(row) == ROWS and row["runs"] == 2 for row in rows)
        with (out / "table_2.csv").open(encoding="utf-8", newline="") as file:
            assert [{**row, "runs": int(row["runs"])} for row in csv.DictReader(file)] == [
                {name: value if name == "runs" else str(value) for name, value in row.items()} for row in rows
            ]
        about = read(out / "table_2.about.json")
        assert about["seed"] == 0
        assert about["runs"] == {"flame": 2, "wine": 2}
        assert {"python", "offgrid", "numpy"} <= set(about["sessions"][0]["versions"])
        assert about["sessions"][0]["machine"]["cores"] >= 1
        assert about["data"]["flame"]["rows"] == 30
        assert str(data) not in json.dumps(about)
        assert run("table3", data, out, "--runs", "2", "--sets", "flame", "wine", "--json") == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["rows"] == read(out / "table_3.json")

        def never(case: cases.Case, number: int) -> dict[str, Any]:
            raise AssertionError("all runs are kept already")

        monkeypatch.setattr(quality, "measure", never)
        assert run("table3", data, out, "--runs", "2", "--sets", "flame", "wine", "--json") == 0
        assert json.loads(capsys.readouterr().out)["rows"] == printed["rows"]
        assert all(row["seconds"] > 0 for row in printed["rows"])

    def test_going_on_gives_the_rows_of_one_go(
        self, data: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = quality.measure
        done: list[tuple[str, int]] = []

        def interrupted(case: cases.Case, number: int) -> dict[str, Any]:
            if len(done) == 3:
                raise KeyboardInterrupt
            done.append((case.name, number))
            return whole(case, number)

        monkeypatch.setattr(quality, "measure", interrupted)
        options = ["--runs", "2", "--sets", "flame", "wine", "--json"]
        assert run("table2", data, out, *options) == 130
        captured = capsys.readouterr()
        assert captured.err.endswith("offgrid: Interrupted: the runs done so far are kept.\n")
        assert json.loads(captured.out)["rows"] == read(out / "table_2.json")
        # the first run is done twice: once to load what is loaded only once
        assert done == [("flame", 0), ("flame", 0), ("flame", 1)]
        done.clear()

        def counted(case: cases.Case, number: int) -> dict[str, Any]:
            done.append((case.name, number))
            return whole(case, number)

        monkeypatch.setattr(quality, "measure", counted)
        assert run("table2", data, out, *options) == 0
        assert done == [("wine", 0), ("wine", 0), ("wine", 1)]
        assert run("table2", data, tmp_path / "other", *options) == 0
        assert read(out / "table_2.json") == read(tmp_path / "other" / "table_2.json")
        assert len(read(out / "table_2.about.json")["sessions"]) == 2

    def test_more_runs_and_other_sets_are_added(
        self, data: Path, out: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for options in (("2", "--sets", "flame"), ("1", "--sets", "wine"), ("1", "--sets", "flame")):
            assert run("table2", data, out, "--runs", *options) == 0
        assert {(row["dataset"], row["runs"]) for row in read(out / "table_2.json")} == {("flame", 2), ("wine", 1)}

    def test_other_data_of_the_same_name_are_told_apart(self, data: Path, out: Path) -> None:
        assert run("table2", data, out, "--runs", "2", "--sets", "flame") == 0
        text = (data / "flame.csv").read_text(encoding="utf-8")
        (data / "flame.csv").write_text(text.replace("label\n", "label\n1.5,1.5,5,0\n"), encoding="utf-8")
        cases.load_case.cache_clear()
        assert run("table2", data, out, "--runs", "1", "--sets", "flame") == 0
        assert {row["runs"] for row in read(out / "table_2.json")} == {1}
        assert read(out / "table_2.about.json")["data"]["flame"]["rows"] == 31

    def test_interrupted_before_the_first_run(
        self, data: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(case: cases.Case, number: int) -> dict[str, Any]:
            raise KeyboardInterrupt

        monkeypatch.setattr(quality, "measure", interrupted)
        assert run("table2", data, out, "--runs", "1", "--sets", "flame") == 130
        assert not (out / "table_2.json").exists()

    def test_table_1(self, data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("table1", data, out, "--sets", "flame", "wifi") == 0
        assert "Wifi is left out: there is no wifi.csv here" in capsys.readouterr().err
        assert read(out / "table_1.json") == [
            {"dataset": "flame", "rows": 30, "columns": 3, "classes": 2, "scaling": "none", "source": "flame.csv"},
            {
                "dataset": "mnist", "rows": 60, "columns": 8, "classes": 10, "scaling": "none",
                "source": "mnist_8k.npz",
            },
        ]  # fmt: skip

    def test_table_4(self, data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("table4", data, out, "--runs", "1", "--sets", "flame") == 0
        rows = {row["method"]: row for row in read(out / "table_4.json")}
        assert set(rows) == set(searching.METHODS)
        assert rows["certified"]["largest_error"] < 2**-20
        assert rows["bisection"]["speedup"] == 1.0
        assert "9.1" in capsys.readouterr().out, "the paper's speed-up on Flame"

    def test_figure_1(self, data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("figure1", data, out, "--runs", "1") == 0
        rows = read(out / "figure_1.json")
        assert [(row["n"], row["method"]) for row in rows] == [
            (n, method) for n in (30, 60) for method in summaries.METHODS
        ]
        assert all(row["values"] <= 13 and row["seconds_per_value"] > 0 for row in rows)

    def test_figure_1_without_digits(self, tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("figure1", tmp_path, out) == 3
        assert "There is no mnist_8k.npz here" in complaint(capsys)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--data", "absent"], "There is no folder 'absent'"),
            (["--sets", "atlantis"], "There is no data set 'atlantis'"),
            (["--sets", "flame", "--out", "README.md"], "'README.md' is a file"),
        ],
    )
    def test_bad_input_is_one_sentence(
        self, options: list[str], words: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        given = options if "--data" in options else ["--data", str(data), *options]
        assert cli.main(["experiments", "table2", "--runs", "1", *given]) == 3
        assert words in complaint(capsys)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [([], "NAME"), (["table9"], "table9"), (["table2", "--runs", "0"], "'0' is not a whole number from 1 up")],
    )
    def test_usage_is_one_sentence(self, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["experiments", *arguments])
        assert stopped.value.code == 2
        assert words in complaint(capsys)


def test_nothing_there_at_all(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table2", tmp_path, out, "--sets", "wifi", "audit") == 3
    assert "None of the data sets asked for is here" in capsys.readouterr().err


def test_kept_results_are_whole() -> None:
    """What the package ships can be read, and names every method of every data set it has."""
    for stem in ("table_2", "table_3"):
        rows = store.load_rows(stem)
        names = dict.fromkeys(row["dataset"] for row in rows)
        assert [(row["dataset"], row["method"]) for row in rows] == [(n, m) for n in names for m in summaries.METHODS]
        assert bool(rows) == bool(store.load_about(stem))
    assert all(set(row) == ROWS for row in store.load_rows("table_2"))
    assert store.load_rows("table_9") == []
    assert store.load_about("table_9") == {}


def test_labels_are_needed(tmp_path: Path) -> None:
    (tmp_path / "flame.csv").write_text("a,b\n1.5,2\n2.5,3\n4.25,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"flame.csv has no column of labels"):
        cases.load_case("flame", tmp_path)


def test_case_is_told_by_its_contents(data: Path) -> None:
    case = cases.load_case("flame", data)
    assert isinstance(case.points, Points)
    assert case.points.hash.startswith(case.sha)
