"""The suite: which measurements there are, and a run of some or all of them.

Entry points: `MEASUREMENTS`, `carry_out` (what the command line calls).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import cases, clusterings, critical_values, engine, recommendation, report, searches
from benchmarks.figure import write_figure
from benchmarks.measurement import Measurement, Row, Settings
from offgrid.errors import InputError

MEASUREMENTS: dict[str, Measurement] = {
    measurement.name: measurement
    for group in (critical_values, clusterings, searches, engine, recommendation)
    for measurement in group.MEASUREMENTS
}


def carry_out(arguments: argparse.Namespace, console: Console) -> bool:
    """List the measurements or run them, as `offgrid.cli_arguments` has read it; return whether all were run.

    Raises
    ------
    InputError
        Where a name or a folder is not one.
    """
    if arguments.list:
        _list(console)
        return True
    chosen = _chosen(arguments.only)
    settings = Settings(
        rounds=arguments.rounds, full=arguments.full, data=_data(arguments.data), peers=arguments.peers, progress=_say
    )
    to_console = arguments.json is True
    found, finished = run(chosen, settings, None if to_console else console)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    if to_console:
        print(text)
    elif arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.figure is not None:
        write_figure(found["results"], arguments.figure)
    return finished


def run(
    measurements: Sequence[Measurement], settings: Settings, console: Console | None
) -> tuple[dict[str, Any], bool]:
    """Run measurements one after the other, show each as it is done, and return the document.

    Ctrl-C ends the run and keeps what is done; the second value says whether it came to the end.
    """
    document = report.document(settings)
    for number, measurement in enumerate(measurements, 1):
        settings.progress(f"[{number}/{len(measurements)}] {measurement.name}: {measurement.title}")
        begin = time.perf_counter()
        rows: list[Row] = []
        finished = False
        try:
            rows.extend(measurement.run(settings))
            finished = True
        except KeyboardInterrupt:
            pass
        except (MemoryError, subprocess.SubprocessError) as error:
            rows.append(Row(measurement.title, skipped=f"it failed: {_reason(error)}"))
            finished = True
        if rows or finished:
            document["results"].append(
                {
                    "name": measurement.name,
                    "title": measurement.title,
                    "explanation": measurement.explanation,
                    "seconds": time.perf_counter() - begin,
                    "rows": [row.as_dict() for row in rows],
                }
            )
            if console is not None:
                report.show(measurement, rows, console)
        if not finished:
            return document, False
    return document, True


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    return str(said).strip().splitlines()[-1] if said else str(error) or type(error).__name__


def _list(console: Console) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "what is measured"):
        table.add_column(heading)
    for measurement in MEASUREMENTS.values():
        table.add_row(measurement.name, measurement.title)
    console.print(table)


def _chosen(names: Sequence[str] | None) -> list[Measurement]:
    for name in names or ():
        if name not in MEASUREMENTS:
            raise InputError(f"There is no measurement {name!r}: choose from {', '.join(MEASUREMENTS)}.")
    return [measurement for name, measurement in MEASUREMENTS.items() if not names or name in names]


def _data(folder: Path | None) -> Path | None:
    named = os.environ.get("OFFGRID_BENCHMARK_DATA")
    asked = folder or (Path(named) if named else None)
    if asked is not None and not asked.is_dir():
        raise InputError(f"There is no folder {str(asked)!r} with data to measure on: name another, or none.")
    return asked or cases.default_folder()


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
