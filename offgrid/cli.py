"""The command line: ``python -m offgrid`` or ``offgrid``.

Entry point: `main`, which returns the exit status: 0 done, 1 failure, 2 wrong usage, 3 bad input, 130 interrupted (what
was found is kept). People's words go to standard error, results to standard output, and an error is one sentence.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from offgrid import __version__, dask_cluster, datasets
from offgrid.cli_arguments import BUILTIN, USAGE, build_parser
from offgrid.datasets import fetching
from offgrid.datasets.model import Dataset, Points
from offgrid.errors import InputError
from offgrid.export import clusters_csv, dataset_csv, labels_csv, path_csv, points_dict, run_dict
from offgrid.path import BandwidthPath, PathRecord
from offgrid.selection import Recommendation, recommend

if TYPE_CHECKING:
    from offgrid import BandwidthSearch, RecommendedPartition
    from offgrid.kernels import Kernel

OK, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 3, 130


class CommandError(Exception):
    """A command that can't be carried out; the message is for people."""

    def __init__(self, message: str, status: int = FAILURE) -> None:
        super().__init__(message)
        self.status = status


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments)
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except CommandError as error:
        return _complain(str(error), error.status)
    except KeyboardInterrupt:
        return _complain("Interrupted before anything was found.", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`| head`): keep Python from complaining again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _complain(message: str, status: int) -> int:
    print(f"offgrid: {message}", file=sys.stderr)
    return status


# ---------------------------------------------------------------- search


def run_search(arguments: argparse.Namespace) -> int:
    """Search a data set, and show or write what was found."""
    from offgrid import BandwidthSearch  # the engine takes a second to load: not for the other commands

    if arguments.dask is not None:
        os.environ[dask_cluster.ENVIRONMENT] = arguments.dask
    if (address := dask_cluster.configured()) is not None:
        dask_cluster.connect(address)
    points, prepared = _points(arguments)
    settings = _settings(arguments, points)
    kernel, described = _kernel(arguments)
    renamed = {("random_state" if name == "seed" else name): value for name, value in settings.items()}
    search = BandwidthSearch(kernel=kernel, **renamed)
    records, finished = _collect(search, points)
    path = BandwidthPath(records, search.ends_)
    state = "finished" if finished else "interrupted"
    bound, note = search.lower_bound_, search.lower_bound_note_
    run = run_dict(path, points, settings | described, state=state, lower_bound=bound, lower_bound_note=note)
    run["data"] |= prepared
    run |= {"version": __version__, "seconds": sum(record.seconds for record in records)}
    best = recommend(records)
    if arguments.out is not None:
        as_csv = arguments.out.suffix.lower() == ".csv"
        _write(arguments.out, path_csv(path) if as_csv else json.dumps(run, indent=1, ensure_ascii=False))
    if arguments.labels_out is not None and best is not None:
        _write(arguments.labels_out, labels_csv(path, best.index, points))
    if arguments.json:
        print(json.dumps(run, ensure_ascii=False))
    else:
        _show_path(path, points, search, best)
    if not finished:
        found = "clustering found so far is" if len(records) == 1 else f"{len(records)} clusterings found so far are"
        return _complain(f"Interrupted: the {found} kept.", INTERRUPTED)
    return OK


def _settings(arguments: argparse.Namespace, points: Points) -> dict[str, Any]:
    """Return what decides the path besides the data, by the names that the dashboard's JSON has too."""
    return {
        "n_clusters": _n_clusters(arguments, points),
        "method": arguments.method,
        "depths": arguments.depths,
        "start": arguments.start,
        "init": arguments.init,
        "n_init": arguments.n_init,
        "seed": arguments.seed,
        "limiting": None if arguments.limiting == "none" else arguments.limiting,
        "max_steps": arguments.max_steps,
    }


def _kernel(arguments: argparse.Namespace) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel, and what JSON says of it: its name, that of its parameter, and what it is made of."""
    from offgrid.kernels import kernel_named

    names = {arguments.kernel} | {name for _, name, _ in arguments.plus}
    if arguments.offset is not None and "polynomial" not in names:
        raise CommandError("--offset is for the polynomial kernel: give --kernel polynomial, or leave it out.", USAGE)
    offset = 1.0 if arguments.offset is None else arguments.offset
    kernel = kernel_named(arguments.kernel, offset=offset, plus=arguments.plus)
    described: dict[str, Any] = {"kernel": arguments.kernel, "parameter": kernel.parameter}
    if "polynomial" in names:
        described["offset"] = offset
    if arguments.plus:
        described["plus"] = [
            {"weight": weight, "kernel": name, "value": value} for weight, name, value in arguments.plus
        ]
    return kernel, described


def _points(arguments: argparse.Namespace) -> tuple[Points, dict[str, str]]:
    """Return the points of the search, and how they were prepared: as asked, else as the data set proposes."""
    options = {"label": arguments.label, "columns": arguments.columns}
    if arguments.file.startswith(BUILTIN):
        dataset = datasets.load(arguments.file.removeprefix(BUILTIN))
        scaling = arguments.scaling or dataset.scaling
        return dataset.prepare(**options, scaling=scaling), {"missing": "drop", "scaling": scaling}
    path = Path(arguments.file)
    if not path.is_file():
        raise CommandError(
            f"There is no file {arguments.file!r}: give the path of a table, or builtin:NAME for a built-in data set.",
            BAD_INPUT,
        )
    try:
        table = datasets.read_table(path)
    except OSError as error:
        raise CommandError(f"{arguments.file!r} can't be read: {error.strerror or error}.", BAD_INPUT) from error
    prepared = {"missing": arguments.missing or table.missing, "scaling": arguments.scaling or table.scaling}
    return table.prepare(**options, **prepared), prepared


def _n_clusters(arguments: argparse.Namespace, points: Points) -> int:
    k = arguments.k or points.n_classes
    if k is None:
        raise CommandError("There is no column of labels to count classes in: give the number of clusters, --k.", USAGE)
    return int(k)


def _collect(search: BandwidthSearch, points: Points) -> tuple[list[PathRecord], bool]:
    """Run the search with a progress bar on standard error; Ctrl-C ends it, and what was found stays."""
    records: list[PathRecord] = []
    with _progress_bar() as progress:
        task = progress.add_task("the first clustering", total=1.0)
        try:
            for record in search.iter_path(points.X, points.y):
                records.append(record)
                at = search.progress_
                where = f"{_symbol(search)} = {at.sigma:.4g}"
                words = f"level {at.level} of {at.n_levels}, {where}, {len(records)} clusterings so far"
                progress.update(task, description=words, completed=at.share)
        except KeyboardInterrupt:
            if not records:
                raise
            return records, False
    return records, True


def _progress_bar() -> Progress:
    """Return a bar on standard error, which is gone when it is done; where that is no terminal, nothing."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"{str(path)!r} can't be written: {error.strerror or error}.") from error


def _show_path(path: BandwidthPath, points: Points, search: BandwidthSearch, best: Recommendation | None) -> None:
    """Print the path as a table, and what follows from it in words."""
    console = _console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    several = len(path.levels) > 1
    labelled = points.y is not None
    for name, shown in (
        ("level", several),
        (_symbol(search), True),
        ("holds to", True),
        ("moved", True),
        ("c-NNC", True),
    ):
        if shown:
            table.add_column(name, justify="right")
    for name in ("NMI", "ARI") if labelled else ():
        table.add_column(name, justify="right")
    table.add_column("")
    for i, record in enumerate(path.records):
        starts_level = i == 0 or path.records[i - 1].level != record.level
        cells = [str(record.level)] if several else []
        cells += [f"{record.sigma:.6g}", _holds_to(path, i), "start" if starts_level else f"{len(record.moved):,}"]
        cells += [f"{record.cnnc:.4f}" + (f" ± {record.cnnc_error:.4f}" if record.cnnc_error > 0.0 else "")]
        cells += [_number(record.nmi), _number(record.ari)] if labelled else []
        chosen = best is not None and best.index == i
        cells += ["recommended" if chosen else ""]
        last_of_level = i + 1 < len(path) and path.records[i + 1].level != record.level
        table.add_row(*cells, style="bold" if chosen else None, end_section=last_of_level)
    console.print(f"{points.title}: {points.n:,} rows, {points.X.shape[1]:,} columns, {search.n_clusters} clusters")
    for note in points.notes:
        console.print(note)
    console.print(table)
    console.print(_bound_in_words(search))
    if best is not None:
        sigma = path.records[best.index].sigma
        console.print(f"Recommended: {_symbol(search)} = {sigma:.6g}, because {best.reason}.")
        elsewhere = _elsewhere(search.kernel, sigma)
        if elsewhere:
            console.print(f"Elsewhere: {elsewhere}.")


def _symbol(search: BandwidthSearch) -> str:
    return "σ" if search.kernel.parameter == "sigma" else search.kernel.parameter


def _elsewhere(kernel: Kernel, value: float) -> str:
    """Return what the same kernel is called in other notations; nothing for a sum."""
    from offgrid import RBF, Laplacian, Polynomial

    if isinstance(kernel, RBF):
        return f"gamma = {1 / value:.6g} in scikit-learn, s = {math.sqrt(value / 2):.6g} in exp(-d²/2s²)"
    if isinstance(kernel, Laplacian):
        return f"gamma = {1 / value:.6g} in scikit-learn's laplacian_kernel"
    if isinstance(kernel, Polynomial):
        return f"gamma = 1, coef0 = {kernel.c:.6g}, degree = {value:.6g} in scikit-learn's polynomial_kernel"
    return ""


def _bound_in_words(search: BandwidthSearch) -> str:
    if search.lower_bound_ is None:
        return f"Theorem 1: {search.lower_bound_note_.rstrip('.')}."
    return f"Theorem 1: no point can move at or below σ = {search.lower_bound_:.6g}."


def _holds_to(path: BandwidthPath, index: int) -> str:
    extent = path.extent(index)
    if extent is None:
        return "unknown"
    if math.isinf(extent.to):
        end = path.ends[path.records[index].level]
        return "∞ (k-means)" if end.reason == "k-means" else "∞"
    return f"{'' if extent.exact else '≤ '}{extent.to:.6g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _console() -> Console:
    """Return standard output; where it is no terminal, wide enough for every column, without colours."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False, soft_wrap=False)


# ---------------------------------------------------------------- recommendation


def run_recommend(arguments: argparse.Namespace) -> int:
    """Recommend a clustering of a data set, and show or write it."""
    from offgrid import recommend_partition
    from offgrid.metrics import adjusted_rand_index, normalized_mutual_information

    points, prepared = _points(arguments)
    k = _n_clusters(arguments, points)
    with _progress_bar() as bar:
        task = bar.add_task("clusterings to choose from", total=None)
        found = recommend_partition(
            points.X,
            k,
            random_state=arguments.seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    agreement = None
    if points.y is not None:
        measures = {"nmi": normalized_mutual_information, "ari": adjusted_rand_index}
        agreement = {name: measure(points.y, found.labels) for name, measure in measures.items()}
    if arguments.labels_out is not None:
        _write(arguments.labels_out, clusters_csv(found.labels, points))
    if arguments.json:
        settings = {"n_clusters": k, "seed": arguments.seed}
        data = {"data": points_dict(points) | prepared, "settings": settings, "version": __version__}
        print(json.dumps(data | {"recommended": found.to_dict(), "agreement": agreement}, ensure_ascii=False))
    else:
        _show_recommendation(found, points, k, agreement)
    return OK


def _show_recommendation(
    found: RecommendedPartition, points: Points, k: int, agreement: dict[str, float] | None
) -> None:
    from offgrid import RBF

    console = _console()
    console.print(f"{points.title}: {points.n:,} rows, {points.X.shape[1]:,} columns, {k} clusters")
    for note in points.notes:
        console.print(note)
    plain = math.isinf(found.sigma)
    console.print()
    console.print(f"Recommended: {'ordinary k-means (σ = ∞)' if plain else f'σ = {found.sigma:.6g}'}", style="bold")
    for sentence in found.why:
        console.print(f"  {sentence}", soft_wrap=True)
    console.print()
    if not plain:
        console.print(f"Elsewhere: {_elsewhere(RBF(), found.sigma)}.")
    if agreement is not None:
        console.print(f"Agreement with the labels: NMI {agreement['nmi']:.4f}, ARI {agreement['ari']:.4f}.")


# ---------------------------------------------------------------- data sets


def list_datasets(arguments: argparse.Namespace) -> int:
    """List the built-in data sets."""
    every = [datasets.load(name) for name in datasets.names()]
    if arguments.json:
        print(json.dumps([_facts(dataset) for dataset in every], ensure_ascii=False))
        return OK
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "rows", "columns", "classes", "what it is"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns", "classes") else "left")
    for dataset in every:
        facts = _facts(dataset)
        table.add_row(*(str(facts[key]) for key in ("name", "rows", "columns", "classes", "description")))
    _console().print(table)
    return OK


def show_dataset(arguments: argparse.Namespace) -> int:
    """Describe one built-in data set, or write it."""
    dataset = datasets.load(arguments.name)
    if arguments.out is not None:
        _write(arguments.out, dataset_csv(dataset))
    facts = _facts(dataset) | {
        "scaling": dataset.scaling,
        "features": list(dataset.feature_names),
        "class_names": list(dataset.class_names),
    }
    if arguments.json:
        points = {"X": dataset.X.tolist(), "y": None if dataset.y is None else dataset.y.tolist()}
        print(json.dumps(facts | points, ensure_ascii=False))
        return OK
    console = _console()
    for key, value in facts.items():
        console.print(f"{key.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
    return OK


def fetch_dataset(arguments: argparse.Namespace) -> int:
    """Fetch a data set from its public home, and print where it is kept."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"fetching {arguments.name}", total=None)
        try:
            path = fetching.fetch(arguments.name, report=lambda count: progress.advance(task, count))
        except fetching.FetchError as error:
            raise CommandError(str(error)) from error
    print(json.dumps({"name": arguments.name, "file": str(path)}, ensure_ascii=False) if arguments.json else path)
    return OK


def _facts(dataset: Dataset) -> dict[str, Any]:
    rows, columns = dataset.X.shape
    classes = len(dataset.class_names)
    words = {"name": dataset.name, "title": dataset.title, "description": dataset.description}
    return words | {"rows": rows, "columns": columns, "classes": classes}


# ---------------------------------------------------------------- dashboard


def run_app(arguments: argparse.Namespace) -> int:
    """Serve the dashboard in place of this process, as ``python app.py`` does."""
    missing = [name for name in ("app", "dash", "dash_mantine_components") if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"The dashboard is not installed here ({', '.join(missing)} not found): "
            "run 'pip install \"offgrid[dashboard]\"', or 'make run' in a copy of the repository."
        )
    for name in ("host", "port"):
        value = getattr(arguments, name)
        if value is not None:
            os.environ[f"OFFGRID_{name.upper()}"] = str(value)
    return int(importlib.import_module("app").main() or 0)


# ---------------------------------------------------------------- benchmarks


def run_benchmark(arguments: argparse.Namespace) -> int:
    """Measure this package beside plain NumPy and others."""
    try:
        suite = importlib.import_module("benchmarks.suite")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("benchmarks"):
            raise
        raise CommandError(
            "The benchmarks are not installed here (benchmarks not found): run this in a copy of the repository."
        ) from error
    if arguments.figure is not None and importlib.util.find_spec("plotly") is None:
        raise CommandError(
            "Plotly, which draws the figure, is not installed here: run 'pip install \"offgrid[dashboard]\"'."
        )
    finished = suite.carry_out(arguments, _console())
    return OK if finished else _complain("Interrupted: the measurements done so far are kept.", INTERRUPTED)


# ---------------------------------------------------------------- experiments


def run_experiment(arguments: argparse.Namespace) -> int:
    """Do one of the paper's experiments again."""
    from offgrid.experiments import tables  # the engine takes a second to load

    finished = tables.carry_out(arguments, _console())
    return OK if finished else _complain("Interrupted: the runs done so far are kept.", INTERRUPTED)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "search": run_search,
    "recommend": run_recommend,
    "datasets list": list_datasets,
    "datasets show": show_dataset,
    "datasets fetch": fetch_dataset,
    "app": run_app,
    "benchmark": run_benchmark,
    "experiments": run_experiment,
}
