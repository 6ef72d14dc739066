"""The arguments of the command line, read and checked before anything is computed.

Entry points: `build_parser`, whose result names the command in `command`, and the exit status `USAGE`.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from offgrid import __version__
from offgrid.datasets.model import MISSING, SCALINGS

USAGE = 2

BUILTIN = "builtin:"
# The engine knows these too, but takes a second to load: --help need not wait for it. A test compares them.
METHODS = ("certified", "dyadic", "newton", "bisection")
INITS = ("random", "k-means++", "kernel-k-means++")
KERNELS = ("rbf", "laplacian", "polynomial")
MOST_ROWS = 4000  # that a recommendation works on
LIMITINGS = ("none", "close", "movers")
EXPERIMENTS = ("table1", "table2", "table3", "table4", "figure1", "gaps")
_AS_CSV = (
    "as .csv: the table as it was given, each row's number (from 1) before it, its cluster after it (from 1, in order "
    "of size; empty where the row was left out)"
)
_AS_JSON = "its labels are clusters from 1, in the order of its row_numbers"
_DATA_FOLDER = (
    "folder with the paper's data; default: OFFGRID_BENCHMARK_DATA, or ../shared/data beside the checkout; "
    "without any, the built-in data sets"
)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}. See '{self.prog} --help'.\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    parser = _Parser(prog="offgrid", description="Find the bandwidths at which kernel k-means changes its clustering.")
    parser.add_argument("--version", action="version", version=f"offgrid {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    _add_search(commands)
    _add_recommend(commands)
    _add_datasets(commands)
    _add_app(commands)
    _add_benchmark(commands)
    _add_experiments(commands)
    return parser


def _add_search(commands: Any) -> None:
    parser = commands.add_parser(
        "search",
        help="search the bandwidths of a file or a built-in data set",
        description="Search a table for its critical bandwidths: the values of sigma at which kernel k-means with the "
        "kernel exp(-|x-y|^2/sigma), or of the parameter of another kernel, changes its clustering. Ctrl-C stops the "
        "search and keeps what was found.",
    )
    _add_data_options(parser)
    _add_kernel_options(parser.add_argument_group("kernel"))
    _add_search_options(parser.add_argument_group("search"))
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help=f"print the whole run as JSON, in place of the table; {_AS_JSON}")
    add(
        "--out", type=_output(".csv", ".json"), metavar="FILE", help="write the path as .csv, or the whole run as .json"
    )
    add(
        "--labels-out",
        type=_output(".csv"),
        metavar="FILE",
        help=f"write the clusters at the recommended sigma {_AS_CSV}",
    )
    parser.set_defaults(command="search")


def _add_recommend(commands: Any) -> None:
    parser = commands.add_parser(
        "recommend",
        help="recommend a clustering of a file or a built-in data set, and say why",
        description="Recommend one clustering of a table, and the bandwidth sigma of the kernel exp(-|x-y|^2/sigma) "
        "that it belongs to, by how well it keeps near neighbours together. Labels are not used, but to count classes "
        "where --k is not given, and to tell the agreement with them.",
    )
    _add_data_options(parser)
    add = parser.add_argument_group("search").add_argument
    add("--seed", type=_whole(0), default=0, metavar="N", help="seed of all that is random; default: 0")
    add("--max-rows", type=_whole(2), default=MOST_ROWS, metavar="N", help="rows worked on: of more, a random sample; "
        f"default: {MOST_ROWS}")  # fmt: skip
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help=f"print everything as JSON, the clusterings considered too; {_AS_JSON}")
    add("--labels-out", type=_output(".csv"), metavar="FILE", help=f"write the recommended clusters {_AS_CSV}")
    parser.set_defaults(command="recommend")


def _add_data_options(parser: Any) -> None:
    """Add what to cluster, into how many clusters, and how to read it."""
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, TXT, ARFF, Parquet, NPY, NPZ or XLSX; or builtin:NAME")
    parser.add_argument(
        "-k", "--k", type=_whole(1), help="number of clusters; default: the number of classes in the labels"
    )
    group = parser.add_argument_group("data")
    add = group.add_argument
    label = group.add_mutually_exclusive_group().add_argument
    label("--label", metavar="COLUMN", default="auto", help="column of labels; default: recognised")
    label("--no-label", action="store_const", const=None, dest="label", help="no column holds labels")
    add("--columns", type=_names, metavar="A,B", help="the columns to use; default: all that hold numbers")
    add("--missing", choices=MISSING, help="drop rows with missing values, or fill in medians; default: as proposed")
    add("--scaling", choices=SCALINGS, help="of columns; default: as proposed, which is unit for files")


def _add_kernel_options(group: Any) -> None:
    add = group.add_argument
    add(
        "--kernel", choices=KERNELS, default="rbf",
        help="rbf (default) or laplacian, searched in sigma, or polynomial, searched in its degree",
    )  # fmt: skip
    add("--offset", type=_number, metavar="C", help="of the polynomial kernel (x'y + C)^degree; default: 1")
    add(
        "--plus", nargs=3, action=_Term, default=(), metavar=("WEIGHT", "KERNEL", "VALUE"),
        help="add WEIGHT times a kernel whose sigma or degree stays at VALUE; may be given several times",
    )  # fmt: skip


def _add_search_options(group: Any) -> None:
    add = group.add_argument
    add("--method", choices=METHODS, default="certified", help="how critical values are found; default: certified")
    add(
        "--depths",
        type=_depths,
        default=(1, 2),
        metavar="D,D",
        help="depth of each level (dyadic only); default: 1,2",
    )
    add(
        "--start", type=_start, default="percentile",
        help="percentile (default; degree 1 for polynomial), bound (rbf only), or a value of sigma or degree",
    )  # fmt: skip
    add("--init", choices=INITS, default="random", help="start partition; default: random")
    add("--n-init", type=_whole(1), default=1, metavar="N", help="start partitions, the best is kept; default: 1")
    add("--seed", type=_whole(0), default=0, metavar="N", help="seed of the start partition; default: 0")
    add("--max-steps", type=_whole(1), metavar="N", help="critical values to find at most; default: no limit")
    add(
        "--limiting",
        choices=LIMITINGS,
        default="none",
        help="points that queries look at (dyadic only); default: none, which is all",
    )
    add(
        "--dask",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster that shares the passes over many rows; default: OFFGRID_DASK_SCHEDULER",
    )


def _add_datasets(commands: Any) -> None:
    parser = commands.add_parser("datasets", help="the built-in data sets", description="The built-in data sets.")
    actions = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    listing = actions.add_parser("list", help="list them", description="List the built-in data sets.")
    listing.add_argument("--json", action="store_true", help="print JSON instead of a table")
    listing.set_defaults(command="datasets list")
    show = actions.add_parser(
        "show", help="describe one, or write it as CSV", description="Describe a built-in data set."
    )
    show.add_argument("name", metavar="NAME", help="as in 'offgrid datasets list'")
    show.add_argument("--json", action="store_true", help="print JSON, with the points")
    show.add_argument("--out", type=_output(".csv"), metavar="FILE.csv", help="write the points and labels as CSV")
    show.set_defaults(command="datasets show")
    fetch = actions.add_parser(
        "fetch",
        help="fetch one of the paper's from its public home",
        description="Fetch a data set of the paper that is not built in, check it against a pinned SHA-256, keep it in "
        "the user's cache, and print the name of the file. A download that was cut off goes on where it was.",
    )
    fetch.add_argument("name", metavar="NAME", help="wifi or mnist")
    fetch.add_argument("--json", action="store_true", help="print JSON")
    fetch.set_defaults(command="datasets fetch")


def _add_app(commands: Any) -> None:
    parser = commands.add_parser(
        "app",
        help="open the dashboard",
        description="Serve the dashboard. Its other settings are OFFGRID_* variables of the environment.",
    )
    parser.add_argument("--host", help="address to listen on; default: OFFGRID_HOST, or 127.0.0.1")
    parser.add_argument("--port", type=_whole(1), help="port; default: OFFGRID_PORT, or 8050")
    parser.set_defaults(command="app")


def _add_benchmark(commands: Any) -> None:
    parser = commands.add_parser(
        "benchmark",
        help="measure this package beside plain NumPy and others",
        description="Measure this package beside plain NumPy and other packages, in turns in one process, and print "
        "medians and ratios. Progress goes to standard error. Ctrl-C ends the run and keeps what is done.",
    )
    add = parser.add_argument
    add("--list", action="store_true", help="list the measurements, and run none")
    add("--only", nargs="+", metavar="NAME", help="run these measurements; default: all")
    add("--full", action="store_true", help="time all of the plain way, where a part would stand for the whole")
    add("--rounds", type=_whole(1), default=5, metavar="N", help="rounds of each comparison; default: 5")
    add("--data", type=Path, metavar="DIR", help=_DATA_FOLDER)
    add("--peers", type=Path, metavar="DIR", help="folder to install the other packages in, each into an environment "
        "of its own, or where they are; without it they are left out")  # fmt: skip
    add(
        "--json", nargs="?", const=True, type=_output(".json"), metavar="FILE",
        help="write the results as .json, or print them as JSON in place of the tables",
    )  # fmt: skip
    add("--figure", type=_output(".html"), metavar="FILE", help="write a chart of the ratios as .html")
    parser.set_defaults(command="benchmark")


def _add_experiments(commands: Any) -> None:
    parser = commands.add_parser(
        "experiments",
        help="do the paper's experiments again",
        description="Do one of the paper's experiments again: table1 the data sets, table2 best NMI and c-NNC, table3 "
        "seconds of the same runs, table4 one critical value, figure1 seconds for each value on MNIST, gaps what "
        "explains the figures that are not the paper's. Each run is kept the moment it is done; the same command goes "
        "on where it was stopped. Ctrl-C ends it and keeps what is done.",
    )
    add = parser.add_argument
    add("experiment", choices=EXPERIMENTS, metavar="NAME", help=f"one of {', '.join(EXPERIMENTS)}")
    add("--data", type=Path, metavar="DIR", help=_DATA_FOLDER)
    add("--runs", type=_whole(1), metavar="N", help="runs of each data set, those kept counted; default: the paper's "
        "50, and 10 for table4")  # fmt: skip
    add("--sets", nargs="+", metavar="SET", help="data sets (not for figure1); default: all")
    add("--out", type=Path, metavar="DIR", help="folder for results; default: offgrid/experiments/results in a "
        "checkout, else offgrid-experiments")  # fmt: skip
    add("--json", action="store_true", help="print the table as JSON instead")
    parser.set_defaults(command="experiments")


class _Term(argparse.Action):
    """Collect fixed terms of a kernel as (weight, kernel, value)."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        weight, kernel, value = values
        if kernel not in KERNELS:
            parser.error(f"argument {option_string}: {kernel!r} is no kernel; choose from {', '.join(KERNELS)}")
        try:
            term = (_positive(weight), kernel, _positive(value))
        except argparse.ArgumentTypeError as error:
            parser.error(f"argument {option_string}: {error}")
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), term))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")
        return int(text)

    return read


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


def _depths(text: str) -> tuple[int, ...]:
    return tuple(_whole(1)(part.strip()) for part in text.split(","))


def _start(text: str) -> str | float:
    if text in ("percentile", "bound"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is neither percentile nor bound nor a positive number")
    return value


def _output(*suffixes: str) -> Callable[[str], Path]:
    """Check a file to be written before anything is computed."""

    def read(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in suffixes:
            raise argparse.ArgumentTypeError(f"{text!r} does not end in {' or '.join(suffixes)}")
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} can't be written: its folder does not exist, or it is a folder")
        return path

    return read
