"""Ours beside the paper's: which figures differ by more than chance, and the sentences that say why."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest

from offgrid import InputError
from offgrid.experiments import again, cases, comparison, findings, gaps, store, summaries
from offgrid.experiments.comparison import Figure
from offgrid.experiments.progress import quiet


def row(method: str, nmi: float, spread: float = 0.01, name: str = "flame", runs: int = 50) -> dict[str, object]:
    return {
        "dataset": name, "method": method, "nmi": nmi, "cnnc": 0.1, "nmi_std": spread, "cnnc_std": 0.001, "runs": runs,
    }  # fmt: skip


def line(dyadic: float, spread: float = 0.01, runs: int = 50) -> comparison.Line:
    rows = [row(method, dyadic, spread, runs=runs) for method in summaries.METHODS]
    return comparison.lines("2", rows)[0]


class TestFigure:
    def test_the_paper_s_figure_stands_beside_ours(self) -> None:
        figure = line(0.600).figures["dyadic", "nmi"]
        assert figure.printed == 0.615
        assert figure.difference == pytest.approx(-0.015)
        assert figure.close

    def test_the_certified_search_is_not_in_the_paper(self) -> None:
        figure = line(0.6).figures["certified", "nmi"]
        assert (figure.printed, figure.difference, figure.ratio, figure.apart) == (None, None, None, False)

    @pytest.mark.parametrize(
        ("value", "spread", "runs", "apart"),
        [
            (0.615, 0.01, 50, False),
            (0.595, 0.01, 50, True),
            (0.595, 0.20, 50, False),  # 0.02 is half a standard error: chance
            (0.606, 0.0, 50, False),  # not worth a word
            (0.100, 0.0, 1, False),  # one run shows nothing about chance
        ],
    )
    def test_apart_is_more_than_chance_and_worth_a_word(
        self, value: float, spread: float, runs: int, apart: bool
    ) -> None:
        assert line(value, spread, runs).figures["dyadic", "nmi"].apart is apart

    def test_close_has_the_limits_that_were_asked_for(self) -> None:
        assert Figure(0.55, 0.6, what="nmi").close
        assert not Figure(0.549, 0.6, what="nmi").close
        assert not Figure(0.25, 0.2, what="cnnc").close


class TestTables:
    @pytest.mark.parametrize("table", comparison.TABLES)
    def test_every_column_has_a_figure_in_every_line(self, table: str) -> None:
        lines = comparison.shipped(table)
        assert lines
        for each in lines:
            assert set(each.figures) == {(c.method, c.what) for c in comparison.columns(table)}

    def test_table_2_has_all_sets_of_the_paper_with_its_runs(self) -> None:
        lines = comparison.shipped("2")
        assert [each.name for each in lines] == [*cases.SETS]
        assert {each.runs for each in lines} == {50}

    def test_what_was_asked_of_table_2(self) -> None:
        lines = comparison.shipped("2")
        close = [each.name for each in lines if all(each.figures["dyadic", what].close for what in ("nmi", "cnnc"))]
        assert len(close) >= 12
        for each in lines:
            certified, dyadic = (each.figures[method, "nmi"].value for method in ("certified", "dyadic"))
            assert certified > dyadic - 0.01

    def test_what_was_asked_of_table_4(self) -> None:
        certified = [each for each in store.load_rows("table_4") if each["method"] == "certified"]
        assert len(certified) == 13
        assert all(each["largest_error"] < 2**-20 for each in certified)

    def test_seconds_for_each_value_of_the_paper(self) -> None:
        found = {(title, method): (n, seconds) for title, method, n, seconds in comparison.paper_seconds_per_value()}
        assert found["Wine", "grid"] == (178, pytest.approx(0.034 / 13))
        assert found["D31", "mknn"] == (3100, pytest.approx(22.029 / 18))
        assert len(found) == 26


class TestFindings:
    def test_the_answer_counts_the_sets(self) -> None:
        answer, worth = findings.answer("2")
        assert "on 13 of 13 data sets" in answer
        assert "The certified search" in worth
        assert "averaged over 50 runs" in worth

    def test_every_figure_apart_has_a_known_reason(self) -> None:
        about = {each for note in findings.notes("2") for each in note.about}
        apart = {
            (each.name, method)
            for each in comparison.shipped("2")
            for (method, _what), figure in each.figures.items()
            if figure.apart
        }
        assert apart == about
        assert not [note.text for note in findings.notes("2") if "no reason" in note.text]

    def test_the_reasons_quote_what_was_measured(self) -> None:
        rows = {(each["dataset"], each["method"]): each for each in store.load_rows("gaps")}
        text = " ".join(note.text for note in findings.notes("2"))
        for key in (("audit_columns", "dyadic"), ("audit_columns", "grid"), ("wdbc", "mknn_squares")):
            assert f"{rows[key]['nmi']:.3f} and {rows[key]['cnnc']:.3f}" in text
        assert "paper 0.531 and 0.123" in text

    def test_what_explains_is_nearer_to_the_paper(self) -> None:
        """The reasons hold: done the other way, each figure that was apart is as near as chance allows."""
        rows = {(each["dataset"], each["method"]): each for each in store.load_rows("gaps")}
        paper = store.load_paper()["table_2_quality"]
        keys = [("aggregation", "aggregation", "mknn_squares", "mknn"), ("wdbc", "wdbc", "mknn_squares", "mknn"),
                ("r15", "r15", "mknn_squares", "mknn"), ("audit_columns", "audit", "mknn_squares", "mknn"),
                ("audit_columns", "audit", "grid", "grid"), ("audit_columns", "audit", "dyadic", "ours")]  # fmt: skip
        for measured, name, method, printed in keys:
            for what in ("nmi", "cnnc"):
                ours = rows[measured, method]
                figure = Figure(ours[what], paper[name][what][printed], ours[f"{what}_std"], ours["runs"], what)
                assert not figure.apart, (measured, method, what)

    def test_a_difference_without_a_reason_is_owned_up_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [row(method, 0.1, 0.001) for method in summaries.METHODS]
        monkeypatch.setattr(findings, "shipped", lambda _table: comparison.lines("2", rows))
        notes = findings.notes("2")
        assert [note.about for note in notes if "no reason for it is known" in note.text] == [
            frozenset({("flame", "dyadic")}), frozenset({("flame", "grid")}),
        ]  # fmt: skip

    @pytest.mark.parametrize("table", comparison.TABLES)
    def test_where_it_was_measured(self, table: str) -> None:
        assert "Measured on 20" in findings.provenance(table)
        assert "1 thread" in findings.provenance(table)

    def test_nothing_measured_yet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(findings, "shipped", lambda _table: ())
        assert findings.answer("4") == ("These results were not measured yet.", "")
        assert findings.notes("4") == ()


class TestAgain:
    def test_where_data_come_from(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (tmp_path / "audit.csv").touch()
        assert again.source("audit", tmp_path) == "audit.csv"
        assert again.source("audit", None) is None
        assert again.source("flame", None) == "built in"
        assert again.source("mnist-1000", None) is None
        assert "run 'offgrid datasets fetch wifi'" in again.how_to_get("wifi")
        assert "offgrid datasets fetch mnist" in again.how_to_get("mnist-8000")
        assert "put audit.csv, from https://archive.ics.uci.edu" in again.how_to_get("audit")
        with pytest.raises(InputError, match="MNIST is not on this server"):
            again.open_line("scaling", "mnist-1000", None)

    @pytest.mark.parametrize(("kind", "name"), [("quality", "atlantis"), ("speed", "flame"), ("scaling", "flame")])
    def test_no_such_line(self, kind: str, name: str) -> None:
        with pytest.raises(InputError, match="There is no"):
            again.check(kind, name)

    def test_a_line_of_each_table(self) -> None:
        for kind, tables in (("quality", ("2", "3")), ("searching", ("4",))):
            told: list[tuple[float, str]] = []
            measure, source = again.open_line(kind, "flame", None)
            run = measure(0, lambda share, doing, told=told: told.append((share, doing)))
            assert source == "built in"
            assert told[0][0] == 0.0
            assert all(before < after < 1.0 for (before, _), (after, _) in pairwise(told))
            for table in tables:
                made = comparison.lines(table, again.rows(table, "flame", [run]))
                assert [(each.name, each.runs) for each in made] == [("flame", 1)]
        assert again.rows("2", "flame", []) == []


class TestGaps:
    def test_squares_by_hand(self) -> None:
        X = [[0.0], [1.0], [3.0], [7.0], [15.0], [31.0]]
        distances = [sorted((a[0] - b[0]) ** 2 for b in X) for a in X]
        most = math.floor(2 * (math.log(6) + 1)) - 1
        expected = [2 * sum(each[j] for each in distances) / 6 for j in range(1, most)]
        assert gaps.squared_means(cases.np.array(X)) == pytest.approx(expected)

    def test_audit_with_other_columns(self, tmp_path: Path) -> None:
        lines = ["sector_score,inherent_risk,control_risk,label"]
        lines += [f"{i},{1.5 * i:.2f},{i % 3 + 0.25},{i % 2}" for i in range(20)]
        (tmp_path / "audit.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        case = gaps.load_columns_case(tmp_path)
        assert case is not None
        assert case.points.feature_names == ("inherent_risk", "control_risk", "audit_risk")
        X = case.points.X
        assert X.std(axis=0) == pytest.approx([1.0, 1.0, 1.0])
        product = X[:, 0] * X[:, 1]
        assert X[:, 2] / X[:, 2].max() == pytest.approx(product / product.max())
        found = gaps.measure(case, 0)["methods"]
        assert set(found) == {"mknn_squares", *summaries.METHODS}

    def test_rows_are_kept_with_the_package(self) -> None:
        rows = store.load_rows("gaps")
        assert {each["runs"] for each in rows} == {50}
        assert json.loads(json.dumps(store.load_about("gaps")))["protocol"]


def test_telling_nobody() -> None:
    assert quiet(0.5, "grid") is None
