"""Which column has the labels: by its name, or by what it holds.

Entry point: `recognise`. In order: a column whose name says so; the last column, then the first, if it holds text or
small whole numbers while the others do not; the only column of text with few values, which could be no feature anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from offgrid.datasets.table import Column

_NAMES = (
    "label", "labels", "class", "classes", "target", "targets", "true label", "ground truth", "species", "cluster",
    "clusters", "category", "diagnosis", "variety", "cultivar", "group", "type", "outcome", "y",
)  # fmt: skip
_WORDS = frozenset(("label", "labels", "class", "target", "species", "cluster"))
_MOST_CLASSES = 50


def recognise(columns: Sequence[Column], n_rows: int) -> tuple[str | None, str]:
    """Return the label column's name, or None, and why, as a part of a sentence."""
    # A list per name, the last column first: labels usually come last.
    found = [(rank, -i) for i, column in enumerate(columns) if (rank := _rank(column.name)) is not None]
    for _, i in sorted(found):
        column = columns[-i]
        if _is_coordinate(column, columns) or not _makes_classes(column, n_rows, n_rows // 2):
            continue
        return column.name, "recognised by its name"
    declared = [column for column in columns if column.declared and _makes_classes(column, n_rows, n_rows // 2)]
    if declared and declared[-1] is columns[-1]:
        return columns[-1].name, "the last column, declared to hold categories"
    for column, place in ((columns[-1], "last"), (columns[0], "first")) if len(columns) > 1 else ():
        if column.kind == "text" and _makes_classes(column, n_rows, _most(n_rows)):
            return column.name, f"the {place} column, being text with few different values"
        if _is_code(column, n_rows) and _stands_out(column, columns):
            return column.name, f"the {place} column, being whole numbers with few different values, unlike the others"
    texts = [column for column in columns if column.kind == "text"]
    if len(texts) == 1 and len(columns) > 1 and _makes_classes(texts[0], n_rows, _most(n_rows)):
        return texts[0].name, "the only column of text, with few different values"
    return None, ""


def _rank(name: str) -> int | None:
    """Rank of a name, None for one that does not speak of labels."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", " ", name).strip().lower()
    if spaced in _NAMES:
        return _NAMES.index(spaced)
    return len(_NAMES) if _WORDS & set(spaced.split()) else None


def _is_coordinate(column: Column, columns: Sequence[Column]) -> bool:
    """True for a y that has an x beside it."""
    return column.name.strip().lower() == "y" and any(other.name.strip().lower() == "x" for other in columns)


def _makes_classes(column: Column, n_rows: int, most: int) -> bool:
    if column.kind == "other" or (column.kind == "number" and not column.integers):
        return False
    return 2 <= len(column.distinct) <= max(most, 2) and len(column.distinct) < n_rows


def _most(n_rows: int) -> int:
    """Most classes for a column that is judged by its values alone: five rows in each on average."""
    return min(_MOST_CLASSES, n_rows // 5)


def _is_code(column: Column, n_rows: int) -> bool:
    """True for whole numbers that number classes: 0 or 1 upward without gaps, each used more than once."""
    if column.kind != "number" or column.n_missing or not _makes_classes(column, n_rows, _most(n_rows)):
        return False
    values, counts = np.unique(column.values, return_counts=True)
    numbered = values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1
    return bool((numbered or values.tolist() == [-1, 1]) and counts.min() > 1)


def _stands_out(column: Column, columns: Sequence[Column]) -> bool:
    """True where every other column of numbers has decimals, or more than twice as many different values."""
    others = [c for c in columns if c is not column and c.kind == "number" and not c.constant and len(c.distinct)]
    return bool(others) and all(not c.integers or len(c.distinct) > 2 * len(column.distinct) for c in others)
