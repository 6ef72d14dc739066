"""The command line: what it prints and writes, its exit status, and its one-sentence errors."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from offgrid import BandwidthSearch, cli, cli_arguments, critical, datasets, recommend_partition, recommendation
from offgrid.export import PATH_COLUMNS
from offgrid.metrics import normalized_mutual_information
from offgrid.partitions import number_clusters
from offgrid.path import LevelEnd, PathRecord, partition_key
from offgrid.selection import recommend

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three well separated groups, with a label column, a missing value, and a column of another scale."""
    rng = np.random.default_rng(3)
    lines = ["width,height,species"]
    for name, centre in (("red", 0.0), ("green", 6.0), ("blue", 12.0)):
        lines += [f"{centre + a:.3f},{1000 * b:.1f},{name}" for a, b in rng.normal(size=(12, 2))]
    lines.insert(5, ",10.0,red")
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was complained about: one line on standard error, nothing on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("offgrid")
    assert "Traceback" not in captured.err
    return captured.err


def usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    return sentence(capsys)


class TestSearch:
    def test_table_shows_the_path_that_the_library_finds(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["search", str(table), "--k", "3"]) == 0
        out = capsys.readouterr().out
        points = datasets.read_table(table).prepare(scaling="unit")
        records = list(BandwidthSearch(3, random_state=0).iter_path(*points))
        best = recommend(records)
        assert best is not None
        for record in records:
            assert f"{record.sigma:.6g}" in out
            assert f"{record.cnnc:.4f}" in out
            assert f"{record.nmi:.4f}" in out
        [recommended] = [line for line in out.splitlines() if line.rstrip().endswith("recommended")]
        assert f"{records[best.index].sigma:.6g}" in recommended
        assert f"Recommended: σ = {records[best.index].sigma:.6g}, because {best.reason}." in out
        assert "36 rows, 2 columns, 3 clusters" in out
        assert "1 row with missing values dropped." in out

    def test_number_of_clusters_comes_from_the_labels(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["search", str(table), "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        assert run["search"]["n_clusters"] == 3
        assert run["data"]["classes"] == ["blue", "green", "red"]

    def test_json_holds_the_whole_run_and_nothing_else_is_printed(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        options = ["--k", "2", "--scaling", "none", "--missing", "median", "--columns", "width", "--no-label"]
        assert cli.main(["search", str(table), "--json", "--seed", "4", "--init", "k-means++", *options]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        run = json.loads(captured.out)
        points = datasets.read_table(table).prepare(scaling="none", missing="median", columns=["width"], label=None)
        search = BandwidthSearch(2, random_state=4, init="k-means++")
        records = list(search.iter_path(points.X))
        assert [PathRecord.from_dict(record).sigma for record in run["records"]] == [r.sigma for r in records]
        assert run["data"]["row_numbers"] == (points.rows + 1).tolist() == [1, 2, 3, 4, *range(6, 38)]
        for shown, found in zip(run["records"], records, strict=True):
            assert partition_key(np.array(shown["labels"])) == partition_key(found.labels)
            assert set(shown["labels"]) <= {1, 2}
            assert shown["moved"] == (points.rows[found.moved] + 1).tolist()
        assert [LevelEnd.from_dict(end) for end in run["ends"]] == search.ends_
        assert run["records"][-1]["holds_to"] == "inf"
        assert run["recommended"]["index"] == recommend(records).index
        assert run["state"] == "finished"
        assert run["lower_bound"] == search.lower_bound_
        assert run["data"]["columns"] == ["width"]
        assert all(record["nmi"] is None for record in run["records"])

    def test_path_is_written_as_csv(self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "path.csv"
        assert cli.main(["search", str(table), "--out", str(out), "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
        assert tuple(rows[0]) == PATH_COLUMNS
        assert [float(row["sigma"]) for row in rows] == [record["sigma"] for record in run["records"]]
        assert [int(row["moved"]) for row in rows] == [len(record["moved"]) for record in run["records"]]
        assert rows[-1]["holds_to"] == "inf"
        assert [row["recommended"] for row in rows].count("true") == 1
        assert rows[run["recommended"]["index"]]["recommended"] == "true"

    def test_run_is_written_as_json(self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "run.json"
        assert cli.main(["search", str(table), "--out", str(out)]) == 0
        assert "recommended" in capsys.readouterr().out
        assert json.loads(out.read_text(encoding="utf-8"))["state"] == "finished"

    def test_labels_are_written_with_the_rows_of_the_file(
        self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "labels.csv"
        assert cli.main(["search", str(table), "--labels-out", str(out), "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
        assert list(rows[0]) == ["row", "width", "height", "species", "cluster"]
        assert [int(row["row"]) for row in rows] == list(range(1, 38))
        assert (rows[4]["height"], rows[4]["cluster"]) == ("10.0", ""), "the row that is left out"
        best = run["records"][run["recommended"]["index"]]
        assert [int(row["cluster"]) for row in rows if row["cluster"]] == best["labels"]
        assert run["data"]["row_numbers"] == [int(row["row"]) for row in rows if row["cluster"]]
        sizes = np.bincount(best["labels"])[1:]
        assert (np.diff(sizes) <= 0).all(), "cluster 1 is the largest"

    def test_levels_of_the_dyadic_search(self, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--method", "dyadic", "--depths", "1,3", "--limiting", "close", "--max-steps", "40"]
        assert cli.main(["search", "builtin:flame", *options, "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        assert run["search"]["depths"] == [1, 3]
        assert run["search"]["limiting"] == "close"
        assert {record["level"] for record in run["records"]} == {1, 2}

    def test_start_at_a_value(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["search", "builtin:flame", "--start", "2.5", "--max-steps", "2", "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        assert run["records"][0]["sigma"] == 2.5
        assert len(run["records"]) == 3
        assert run["ends"][0]["reason"] == "budget"


class TestRecommend:
    def test_tells_the_bandwidth_why_and_the_runner_up(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["recommend", "builtin:flame", "-k", "2"]) == 0
        captured = capsys.readouterr()
        found = recommend_partition(datasets.load("flame").X, 2, random_state=0)
        assert captured.err == ""
        assert f"Recommended: σ = {found.sigma:.6g}" in captured.out
        for sentence in found.why:
            assert f"  {sentence}\n" in captured.out
        assert "Runner-up: " in captured.out
        assert f"gamma = {1 / found.sigma:.6g} in scikit-learn" in captured.out
        assert "Agreement with the labels: NMI " in captured.out

    def test_json_and_labels_of_a_file(self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "labels.csv"
        assert cli.main(["recommend", str(table), "--json", "--labels-out", str(out), "--seed", "3"]) == 0
        run = json.loads(capsys.readouterr().out)
        points = datasets.read_table(table).prepare(scaling="unit")
        found = recommend_partition(points.X, 3, random_state=3)
        labels = (number_clusters(found.labels, 3) + 1).tolist()
        assert run["recommended"]["labels"] == run["recommended"]["candidates"][found.index]["labels"] == labels
        assert run["recommended"]["why"] == list(found.why)
        assert found.runner_up is not None
        assert run["recommended"]["runner_up"]["differs"] == (points.rows[found.runner_up.differs] + 1).tolist()
        assert run["agreement"]["nmi"] == normalized_mutual_information(points.y, found.labels)
        assert run["settings"] == {"n_clusters": 3, "seed": 3}
        assert run["data"]["scaling"] == "unit"
        rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
        assert [int(row["cluster"]) for row in rows if row["cluster"]] == labels
        assert [int(row["row"]) for row in rows if not row["cluster"]] == [5]

    def test_a_sample_of_many_rows(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["recommend", "builtin:flame", "-k", "2", "--max-rows", "100", "--json"]) == 0
        recommended = json.loads(capsys.readouterr().out)["recommended"]
        assert recommended["rows_worked_on"] == 100
        sizes = np.bincount(recommended["labels"])[1:]
        assert (np.diff(sizes) <= 0).all(), "by size among all rows, not among the sample"

    def test_ordinary_kmeans(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["recommend", str(table), "--no-label", "-k", "1"]) == 0
        out = capsys.readouterr().out
        assert "Recommended: ordinary k-means (σ = ∞)" in out
        assert "gamma" not in out
        assert "Agreement" not in out

    def test_no_labels_and_no_k(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["recommend", str(table), "--no-label"]) == 2
        assert "--k" in sentence(capsys)


class TestInterruption:
    def test_keeps_what_was_found(
        self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = BandwidthSearch.iter_path

        def interrupted(self, X, y=None, **options):
            for found, record in enumerate(whole(self, X, y, **options), 1):
                yield record
                if found == 2:
                    raise KeyboardInterrupt

        monkeypatch.setattr(BandwidthSearch, "iter_path", interrupted)
        out = tmp_path / "path.csv"
        assert cli.main(["search", str(table), "--json", "--out", str(out)]) == 130
        captured = capsys.readouterr()
        run = json.loads(captured.out)
        assert run["state"] == "interrupted"
        assert len(run["records"]) == 2
        assert run["records"][-1]["holds_to"] is None
        assert len(out.read_text(encoding="utf-8").splitlines()) == 3
        assert captured.err == "offgrid: Interrupted: the 2 clusterings found so far are kept.\n"

    def test_before_anything_was_found(
        self, table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_arguments, **_options):
            raise KeyboardInterrupt

        monkeypatch.setattr(BandwidthSearch, "iter_path", interrupted)
        assert cli.main(["search", str(table)]) == 130
        assert sentence(capsys) == "offgrid: Interrupted before anything was found.\n"

    def test_ctrl_c_in_a_terminal(self) -> None:
        """A real process with a terminal: the progress bar names what is going on, and Ctrl-C keeps it."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "offgrid", "search", "builtin:d31", "--json", "--method", "bisection"]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # shells mute it in the background
        with subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment,
            preexec_fn=heard,  # noqa: PLW1509 - it takes no lock that a thread could hold
        ) as process:
            os.close(theirs)
            seen = b""
            while b"clusterings so far" not in seen:
                seen += os.read(ours, 4096)
            process.send_signal(signal.SIGINT)
            run = json.loads(process.stdout.read())
            assert process.wait() == 130
        os.close(ours)
        assert "level 1 of 1, σ = " in seen.decode()
        assert run["state"] == "interrupted"
        assert run["records"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["absent.csv", "--k", "3"], "There is no file 'absent.csv'"),
            (["builtin:atlantis", "--k", "3"], "atlantis"),
            (["builtin:flame", "--k", "9999"], "9999"),
            (["builtin:flame", "--columns", "depth"], "There is no column 'depth'"),
            (["builtin:flame", "--label", "x"], "label"),
        ],
    )
    def test_is_named_in_one_sentence(
        self, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["search", *arguments]) == 3
        assert words in sentence(capsys)

    @pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"one line of text", b"a,b\nx,y\nz,w\n", b"a,b\n1,2\n"])
    def test_file_that_is_no_table(self, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "bad.csv"
        path.write_bytes(content)
        assert cli.main(["search", str(path), "--k", "2"]) == 3
        sentence(capsys)

    def test_folder_in_place_of_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["search", str(tmp_path), "--k", "2"]) == 3
        assert "There is no file" in sentence(capsys)

    def test_no_labels_and_no_k(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["search", str(table), "--no-label"]) == 2
        assert "--k" in sentence(capsys)


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "COMMAND"),
            (["fly"], "fly"),
            (["search"], "FILE"),
            (["search", "a.csv", "--k", "0"], "'0' is not a whole number from 1 up"),
            (["search", "a.csv", "--k", "2.5"], "'2.5' is not a whole number from 1 up"),
            (["search", "a.csv", "--method", "magic"], "magic"),
            (["search", "a.csv", "--depths", "1,x"], "'x' is not a whole number from 1 up"),
            (["search", "a.csv", "--start", "-1"], "argument --start"),
            (["search", "a.csv", "--start", "nan"], "'nan' is neither percentile nor bound nor a positive number"),
            (["search", "a.csv", "--label", "a", "--no-label"], "not allowed with"),
            (["search", "a.csv", "--out", "path.xlsx"], "'path.xlsx' does not end in .csv or .json"),
            (["search", "a.csv", "--out", "nowhere/path.csv"], "its folder does not exist"),
            (["datasets"], "COMMAND"),
            (["app", "--port", "http"], "'http' is not a whole number from 1 up"),
        ],
    )
    def test_error_is_one_sentence(self, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
        message = usage_error(arguments, capsys)
        assert words in message
        assert "--help" in message

    @pytest.mark.parametrize(
        "command",
        [
            [],
            ["search"],
            ["recommend"],
            ["datasets"],
            ["datasets", "list"],
            ["datasets", "show"],
            ["datasets", "fetch"],
            ["app"],
            ["benchmark"],
            ["experiments"],
        ],
    )
    def test_every_command_has_help(self, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            cli.main([*command, "--help"])
        assert stopped.value.code == 0
        assert capsys.readouterr().out.startswith("usage: offgrid")


def test_choices_are_those_of_the_search() -> None:
    assert cli_arguments.MOST_ROWS == recommendation.MAX_ROWS
    assert cli_arguments.METHODS == critical.METHODS
    assert [None if name == "none" else name for name in cli_arguments.LIMITINGS] == list(critical.LIMITING)


class TestDatasets:
    def test_list_names_them_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "list"]) == 0
        out = capsys.readouterr().out
        assert [line.split()[0] for line in out.splitlines()[3:] if line[1:2].strip()] == list(datasets.names())

    def test_list_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "list", "--json"]) == 0
        facts = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
        assert facts["wine"]["rows"] == 178
        assert facts["wine"]["columns"] == 13
        assert facts["wine"]["classes"] == 3

    def test_show_describes_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "show", "iris"]) == 0
        out = capsys.readouterr().out
        assert "rows: 150" in out
        assert "class names: setosa, versicolor, virginica" in out

    def test_show_as_json_has_the_points(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "show", "iris", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        X, y = datasets.load("iris")
        assert np.array_equal(shown["X"], X)
        assert np.array_equal(shown["y"], y)

    def test_written_data_set_reads_back_the_same(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "wine.csv"
        assert cli.main(["datasets", "show", "wine", "--out", str(path)]) == 0
        X, y = datasets.load("wine")
        table = datasets.read_table(path)
        assert np.array_equal(table.X, X)
        assert np.array_equal(table.y, y)

    def test_unknown_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "show", "atlantis"]) == 3
        assert "atlantis" in sentence(capsys)


class TestApp:
    def test_says_when_the_dashboard_is_not_installed(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = cli.importlib.util.find_spec
        monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None if name == "dash" else found(name))
        assert cli.main(["app"]) == 1
        assert "dash not found" in sentence(capsys)

    def test_hands_host_and_port_to_the_dashboard(self, monkeypatch: pytest.MonkeyPatch) -> None:
        served = {}

        class Dashboard:
            @staticmethod
            def main() -> int:
                served.update(host=os.environ["OFFGRID_HOST"], port=os.environ["OFFGRID_PORT"])
                return 0

        monkeypatch.setenv("OFFGRID_HOST", "127.0.0.1")
        monkeypatch.setenv("OFFGRID_PORT", "8050")
        monkeypatch.setattr(cli.importlib, "import_module", lambda name: {"app": Dashboard}[name])
        assert cli.main(["app", "--host", "127.0.0.2", "--port", "8061"]) == 0
        assert served == {"host": "127.0.0.2", "port": "8061"}


def test_reader_that_goes_away() -> None:
    """`offgrid datasets list --json | head -c 1` ends without a complaint."""
    command = [sys.executable, "-m", "offgrid", "datasets", "show", "digits", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
