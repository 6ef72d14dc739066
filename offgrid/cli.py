"""The command line: ``python -m offgrid`` or ``offgrid``.

Entry point: `main`, which returns the exit status: 0 done, 1 failure, 2 wrong usage, 3 bad input, 130 interrupted (what
was found is kept). People's words go to standard error, results to standard output, and an error is one sentence.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Sequence

from offgrid.cli_arguments import build_parser
from offgrid.cli_datasets import fetch_dataset, list_datasets, show_dataset
from offgrid.cli_output import BAD_INPUT, FAILURE, INTERRUPTED, OK, CommandError, complain, console
from offgrid.cli_search import run_recommend, run_search
from offgrid.errors import InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments)
    except InputError as error:
        return complain(str(error), BAD_INPUT)
    except CommandError as error:
        return complain(str(error), error.status)
    except KeyboardInterrupt:
        return complain("Interrupted before anything was found.", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`| head`): keep Python from complaining again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


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
    finished = suite.carry_out(arguments, console())
    return OK if finished else complain("Interrupted: the measurements done so far are kept.", INTERRUPTED)


def run_experiment(arguments: argparse.Namespace) -> int:
    """Do one of the paper's experiments again."""
    from offgrid.experiments import tables  # the engine takes a second to load

    finished = tables.carry_out(arguments, console())
    return OK if finished else complain("Interrupted: the runs done so far are kept.", INTERRUPTED)


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
