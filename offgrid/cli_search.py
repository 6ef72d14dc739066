"""The commands `search` and `recommend`: a data set read, and what was found shown or written.

Entry points: `run_search` and `run_recommend`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn
from rich.table import Table

from offgrid import __version__, dask_cluster, datasets
from offgrid.cli_arguments import BUILTIN, USAGE
from offgrid.cli_output import BAD_INPUT, INTERRUPTED, OK, CommandError, complain, console, progress_line, write
from offgrid.datasets.model import Dataset, Points
from offgrid.export import clusters_csv, path_csv, points_dict, recommendation_dict, run_dict
from offgrid.numbering import name_clusters
from offgrid.partitions import number_clusters
from offgrid.path import BandwidthPath, PathRecord
from offgrid.selection import Recommendation, recommend

if TYPE_CHECKING:
    from offgrid import BandwidthSearch, RecommendedPartition
    from offgrid.kernels import Kernel


def run_search(arguments: argparse.Namespace) -> int:
    """Search a data set, and show or write what was found."""
    from offgrid import BandwidthSearch  # the engine takes a second to load: not for the other commands

    if arguments.dask is not None:
        os.environ[dask_cluster.ENVIRONMENT] = arguments.dask
    if (address := dask_cluster.configured()) is not None:
        dask_cluster.connect(address)
    source, points, prepared = _points(arguments)
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
        write(arguments.out, path_csv(path) if as_csv else json.dumps(run, indent=1, ensure_ascii=False))
    if arguments.labels_out is not None and best is not None:
        [labels] = name_clusters(path, (best.index,), settings["n_clusters"])
        write(arguments.labels_out, clusters_csv(labels, points, source))
    if arguments.json:
        print(json.dumps(run, ensure_ascii=False))
    else:
        _show_path(path, points, search, best)
    if not finished:
        found = "clustering found so far is" if len(records) == 1 else f"{len(records)} clusterings found so far are"
        return complain(f"Interrupted: the {found} kept.", INTERRUPTED)
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


def _points(arguments: argparse.Namespace) -> tuple[datasets.Table | Dataset, Points, dict[str, str]]:
    """Return the data, the points of the search, and how these were prepared: as asked, else as the data propose."""
    options = {"label": arguments.label, "columns": arguments.columns}
    if arguments.file.startswith(BUILTIN):
        dataset = datasets.load(arguments.file.removeprefix(BUILTIN))
        scaling = arguments.scaling or dataset.scaling
        return dataset, dataset.prepare(**options, scaling=scaling), {"missing": "drop", "scaling": scaling}
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
    return table, table.prepare(**options, **prepared), prepared


def _n_clusters(arguments: argparse.Namespace, points: Points) -> int:
    k = arguments.k or points.n_classes
    if k is None:
        raise CommandError("There is no column of labels to count classes in: give the number of clusters, --k.", USAGE)
    return int(k)


def _collect(search: BandwidthSearch, points: Points) -> tuple[list[PathRecord], bool]:
    """Run the search with a progress bar on standard error; Ctrl-C ends it, and what was found stays."""
    records: list[PathRecord] = []
    with progress_line(BarColumn()) as progress:
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


def _show_path(path: BandwidthPath, points: Points, search: BandwidthSearch, best: Recommendation | None) -> None:
    """Print the path as a table, and what follows from it in words."""
    out = console()
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
    out.print(f"{points.title}: {points.n:,} rows, {points.X.shape[1]:,} columns, {search.n_clusters} clusters")
    for note in points.notes:
        out.print(note)
    out.print(table)
    out.print(_bound_in_words(search))
    if best is not None:
        sigma = path.records[best.index].sigma
        out.print(f"Recommended: {_symbol(search)} = {sigma:.6g}, because {best.reason}.")
        elsewhere = _elsewhere(search.kernel, sigma)
        if elsewhere:
            out.print(f"Elsewhere: {elsewhere}.")


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


# ---------------------------------------------------------------- recommendation


def run_recommend(arguments: argparse.Namespace) -> int:
    """Recommend a clustering of a data set, and show or write it."""
    from offgrid import recommend_partition
    from offgrid.metrics import adjusted_rand_index, normalized_mutual_information

    source, points, prepared = _points(arguments)
    k = _n_clusters(arguments, points)
    with progress_line(BarColumn()) as bar:
        task = bar.add_task("clusterings to choose from", total=None)
        found = recommend_partition(
            points.X,
            k,
            random_state=arguments.seed,
            max_rows=arguments.max_rows,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    agreement = None
    if points.y is not None:
        measures = {"nmi": normalized_mutual_information, "ari": adjusted_rand_index}
        agreement = {name: measure(points.y, found.labels) for name, measure in measures.items()}
    if arguments.labels_out is not None:
        write(arguments.labels_out, clusters_csv(number_clusters(found.labels, k), points, source))
    if arguments.json:
        settings = {"n_clusters": k, "seed": arguments.seed}
        data = {"data": points_dict(points) | prepared, "settings": settings, "version": __version__}
        print(
            json.dumps(
                data | {"recommended": recommendation_dict(found, points, k), "agreement": agreement},
                ensure_ascii=False,
            )
        )
    else:
        _show_recommendation(found, points, k, agreement)
    return OK


def _show_recommendation(
    found: RecommendedPartition, points: Points, k: int, agreement: dict[str, float] | None
) -> None:
    from offgrid import RBF

    out = console()
    out.print(f"{points.title}: {points.n:,} rows, {points.X.shape[1]:,} columns, {k} clusters")
    for note in points.notes:
        out.print(note)
    plain = math.isinf(found.sigma)
    out.print()
    out.print(f"Recommended: {'ordinary k-means (σ = ∞)' if plain else f'σ = {found.sigma:.6g}'}", style="bold")
    for sentence in found.why:
        out.print(f"  {sentence}", soft_wrap=True)
    out.print()
    if not plain:
        out.print(f"Elsewhere: {_elsewhere(RBF(), found.sigma)}.")
    if agreement is not None:
        out.print(f"Agreement with the labels: NMI {agreement['nmi']:.4f}, ARI {agreement['ari']:.4f}.")
