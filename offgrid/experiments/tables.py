"""The experiments by name, and a run of one of them: what is missing is measured, then the table is written.

Entry points: `EXPERIMENTS`, `carry_out` (what the command line calls).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn

from offgrid.cli_output import progress_line
from offgrid.engine import warmup
from offgrid.engine.threads import thread_count
from offgrid.errors import InputError
from offgrid.experiments import cases, gaps, quality, scaling, searching, summaries
from offgrid.experiments.cases import SEED, Case
from offgrid.experiments.provenance import machine, versions
from offgrid.experiments.report import show
from offgrid.experiments.store import RESULTS, Runs, write_table

Rows = list[dict[str, Any]]
Lines = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class Unit:
    """One data set of an experiment: its name, what tells its data from others, a run on it, and facts about it."""

    name: str
    sha: str
    measure: Callable[[int], dict[str, Any]]
    about: dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One table, or the figure's data.

    Attributes
    ----------
    stem : str
        Name of its files: ``stem.json``, ``stem.csv``, ``stem.about.json``.
    title : str
    kept_in : str or None
        Name of the file of runs; two tables can be made from the same runs. None where nothing is measured.
    runs : int
        Runs of each data set where the command line does not say.
    protocol : str
        Paragraphs.
    rows : callable
        From the runs of each data set to the table's rows.
    """

    stem: str
    title: str
    kept_in: str | None
    runs: int
    protocol: str
    rows: Callable[[Lines], Rows]


EXPERIMENTS: dict[str, Experiment] = {
    "table1": Experiment("table_1", "Table 1: the data sets", None, 0, "", lambda _runs: []),
    "table2": Experiment(
        "table_2", "Table 2: best NMI and c-NNC", "quality", 50, quality.PROTOCOL, summaries.quality_rows
    ),
    "table3": Experiment(
        "table_3", "Table 3: processor seconds of such runs", "seconds", 10, quality.PROTOCOL, summaries.seconds_rows
    ),
    "table4": Experiment(
        "table_4", "Table 4: one critical value", "searching", 10, searching.PROTOCOL, summaries.searching_rows
    ),
    "figure1": Experiment(
        "figure_1", "Figure 1: seconds for each value on MNIST", "scaling", 50, scaling.PROTOCOL, summaries.scaling_rows
    ),
    "gaps": Experiment("gaps", "Where the text can be read another way", "gaps", 50, gaps.PROTOCOL, summaries.gap_rows),
}  # fmt: skip


def _measure_of(name: str) -> Callable[[Case, int], dict[str, Any]]:
    return {"table4": searching.measure, "gaps": gaps.measure}.get(name, quality.measure)


def default_out() -> Path:
    """Return where results are kept: in the package, or, where that is installed, in the folder one works in."""
    checkout = (RESULTS.parents[2] / "pyproject.toml").is_file()
    return RESULTS if checkout else Path("offgrid-experiments")


def carry_out(arguments: argparse.Namespace, console: Console) -> bool:
    """Do one experiment as `offgrid.cli_arguments` has read it; return whether it came to its end.

    Raises
    ------
    InputError
        Where a name, a folder or a file is not one.
    """
    name = arguments.experiment
    experiment = EXPERIMENTS[name]
    chosen = cases.check_names(arguments.sets)
    folder = cases.find_folder(arguments.data)
    out = arguments.out or default_out()
    if out.exists() and not out.is_dir():
        raise InputError(f"{str(out)!r} is a file: name a folder for the results.")
    units, missing = _units(name, chosen, folder)
    for words in missing:
        _say(words)
    if experiment.kept_in is None:
        rows, finished = _facts(units), True
        about = _made_with(experiment) | {"data": {unit.name: unit.about for unit in units}}
    else:
        kept = Runs(out / "runs" / f"{experiment.kept_in}.jsonl")
        finished = _measure(units, arguments.runs or experiment.runs, kept)
        lines = _lines(name, units, kept)
        rows, about = experiment.rows(lines), _made_with(experiment) | _made_from(experiment, lines, kept)
    if rows:
        write_table(out, experiment.stem, rows, about)
    if arguments.json:
        print(json.dumps({"about": about, "rows": rows}, ensure_ascii=False))
    else:
        show(name, experiment.title, rows, console)
        if rows:
            console.print(f"Written to {out / experiment.stem}.json, with .csv and .about.json beside it.")
    return finished


def _units(name: str, chosen: Sequence[str], folder: Path | None) -> tuple[list[Unit], list[str]]:
    """Return the data sets of an experiment, and sentences about those that are not there."""
    if name == "figure1":
        digits = cases.load_digits(folder)
        return [_digits_unit(digits, n) for n in cases.SIZES if n <= len(digits)], []
    units, missing = [], []
    for chosen_name in chosen:
        case = cases.load_case(chosen_name, folder)
        if case is None:
            missing.append(
                f"{cases.SETS[chosen_name].title} is left out: there is no {chosen_name}.csv here, and no built-in set "
                "stands in for it; name its folder with --data."
            )
            continue
        units.append(_unit(case, _measure_of(name)))
        other = gaps.load_columns_case(folder) if name == "gaps" and chosen_name == "audit" else None
        if other is not None:
            units.append(_unit(other, gaps.measure))
    if name == "table1" and folder is not None and (folder / cases.DIGITS_FILE).is_file():
        digits = cases.load_digits(folder)
        about = {"title": "MNIST", "rows": len(digits), "columns": digits.shape[1], "classes": scaling.CLUSTERS}
        units.append(Unit("mnist", "", lambda _run: {}, {**about, "scaling": "none", "source": cases.DIGITS_FILE}))
    if not units:
        raise InputError("None of the data sets asked for is here: name their folder with --data.")
    return units, missing


def _unit(case: Case, measure: Callable[[Case, int], dict[str, Any]]) -> Unit:
    n, columns = case.points.X.shape
    about = {
        "title": case.title, "rows": n, "columns": columns, "classes": case.k, "scaling": case.scaling,
        "source": case.source, "sha256": case.points.hash,
    }  # fmt: skip
    return Unit(case.name, case.sha, lambda run: measure(case, run), about)


def _digits_unit(digits: Any, n: int) -> Unit:
    def measure(run: int) -> dict[str, Any]:
        return scaling.measure(scaling.sample(digits, n, run), run)

    about = {"title": "MNIST", "rows": n, "columns": digits.shape[1], "classes": scaling.CLUSTERS}
    return Unit(f"mnist-{n}", f"{len(digits)}", measure, {**about, "scaling": "none", "source": cases.DIGITS_FILE})


def _measure(units: Sequence[Unit], runs: int, kept: Runs) -> bool:
    """Do the runs that are not kept yet; Ctrl-C ends it, and what is done stays. Return whether all are done."""
    waiting = [(unit, run) for unit in units for run in range(runs) if kept.get(unit.name, unit.sha, run) is None]
    begun = False
    with _progress(len(units) * runs, len(units) * runs - len(waiting)) as report:
        try:
            for unit, run in waiting:
                report(f"{unit.about['title']}, n = {unit.about['rows']:,}: run {run + 1} of {runs}", 0)
                if not begun:
                    # so that the first run does not pay for what is compiled or loaded only once
                    warmup()
                    unit.measure(run)
                    kept.begin(_session())
                    begun = True
                kept.add(unit.name, unit.sha, run, unit.measure(run), unit.about)
                report(None, 1)
                if run + 1 == runs:
                    _say_plainly(f"{unit.about['title']}, n = {unit.about['rows']:,}: {runs} runs are done.")
        except KeyboardInterrupt:
            return False
    return True


def _session() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
        "threads": thread_count(),
    }


def _lines(name: str, units: Sequence[Unit], kept: Runs) -> dict[str, list[dict[str, Any]]]:
    """Return all runs that are kept, by data set; of those not asked for this time, the ones written last."""
    known = {unit.name: unit.sha for unit in units}
    order = [f"mnist-{n}" for n in cases.SIZES] if name == "figure1" else [*cases.SETS, summaries.COLUMNS_CASE]
    found = {each: kept.of(each, known.get(each)) for each in order}
    return {each: lines for each, lines in found.items() if lines}


def _facts(units: Sequence[Unit]) -> Rows:
    columns = ("rows", "columns", "classes", "scaling", "source")
    return [{"dataset": unit.name} | {name: unit.about[name] for name in columns} for unit in units]


def _made_with(experiment: Experiment) -> dict[str, Any]:
    """Return what the table itself was made with."""
    return {
        "title": experiment.title,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
    }


def _made_from(experiment: Experiment, lines: Lines, kept: Runs) -> dict[str, Any]:
    """Return all that is needed to judge the runs of a table, and to do them again."""
    used = sorted({line["session"] for each in lines.values() for line in each})
    return {
        "seed": SEED,
        "starts": "run r, from 0: numpy.random.default_rng((seed, r)).integers(k, size=n)",
        "runs": {name: len(each) for name, each in lines.items()},
        "protocol": [" ".join(words.split()) for words in experiment.protocol.split("\n\n")],
        "sessions": [line for line in kept.sessions if line["session"] in used],
        "data": {name: kept.data.get((name, each[0]["sha"]), {}) for name, each in lines.items()},
    }


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[str | None, int], None]]:
    """Show a progress bar on standard error, where that is a terminal."""
    with progress_line(BarColumn(), MofNCompleteColumn()) as progress:
        task = progress.add_task("reading what is kept", total=total, completed=done)

        def report(words: str | None, advance: int) -> None:
            progress.update(task, advance=advance, description=words)

        yield report


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _say_plainly(words: str) -> None:
    """Say how far it is where there is no progress bar."""
    if not sys.stderr.isatty():
        _say(words)
