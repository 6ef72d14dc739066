"""The commands on data sets: those that are built in listed, shown and written, others fetched.

Entry points: `list_datasets`, `show_dataset`, `fetch_dataset`.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.progress import DownloadColumn
from rich.table import Table

from offgrid import datasets
from offgrid.cli_output import OK, CommandError, console, progress_line, write
from offgrid.datasets import fetching
from offgrid.datasets.model import Dataset
from offgrid.export import dataset_csv


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
    console().print(table)
    return OK


def show_dataset(arguments: argparse.Namespace) -> int:
    """Describe one built-in data set, or write it."""
    dataset = datasets.load(arguments.name)
    if arguments.out is not None:
        write(arguments.out, dataset_csv(dataset))
    facts = _facts(dataset) | {
        "scaling": dataset.scaling,
        "features": list(dataset.feature_names),
        "class_names": list(dataset.class_names),
    }
    if arguments.json:
        points = {"X": dataset.X.tolist(), "y": None if dataset.y is None else dataset.y.tolist()}
        print(json.dumps(facts | points, ensure_ascii=False))
        return OK
    out = console()
    for key, value in facts.items():
        out.print(f"{key.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
    return OK


def fetch_dataset(arguments: argparse.Namespace) -> int:
    """Fetch a data set from its public home, and print where it is kept."""
    with progress_line(DownloadColumn()) as progress:
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
