"""From columns to a `Table`: what each column is used for, and the report in plain words.

Entry point: `assemble`. Cost: one pass over the features for duplicates, hashing rows (no sort, no matrix n x n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from offgrid.datasets.labels import recognise
from offgrid.datasets.limits import Limits
from offgrid.datasets.model import called, capital, listed
from offgrid.datasets.table import Column, Table, TableReport, counted
from offgrid.errors import InputError

_ID_NAMES = frozenset(
    ("id", "ids", "index", "idx", "row", "rows", "rowid", "no", "nr", "number", "record", "unnamed: 0", "rownames")
)
_DROP_SHARE = 0.2
_NUMBERS_ROWS = "it only numbers the rows"


def assemble(
    name: str,
    columns: Sequence[Column],
    notes: Sequence[str],
    limits: Limits,
    *,
    label: str | None = None,
    why_label: str = "given by the file",
    image_shape: tuple[int, int] | None = None,
    numbered: bool = True,
) -> Table:
    """Return the table of a file.

    Parameters
    ----------
    name : str
        The file's.
    columns : sequence of Column
    notes : sequence of str
        What was noticed while reading.
    limits : Limits
    label : str or None
        The label column where the file itself says it (NPZ); else it is looked for.
    why_label : str
        How the column in `label` is known, as a part of a sentence.
    image_shape : tuple of int or None
    numbered : bool
        Whether a nameless first column that counts 1, 2, 3 … is taken for row numbers: in text, not in arrays.
    """
    n_rows = len(columns[0].values) if columns else 0
    limits.check_shape(n_rows, len(columns))
    if n_rows < 2:
        raise InputError(f"{name} has {counted(n_rows, 'row')} of data: at least two are needed.")
    columns, label, why = _with_roles(name, columns, n_rows, label, numbered)
    report = _report(columns, n_rows, label, why or why_label, notes)
    costly = report.n_incomplete > _DROP_SHARE * n_rows
    return Table(name, tuple(columns), n_rows, report, missing="median" if costly else "drop", image_shape=image_shape)


def _with_roles(
    name: str, columns: Sequence[Column], n_rows: int, label: str | None, numbered: bool
) -> tuple[list[Column], str | None, str]:
    """Give each column its role; return the label column and how it was found, empty where it was given."""
    several = sum(column.kind == "number" and not column.why for column in columns) > 1
    marked = [_ignored(column, numbered and i == 0, several, n_rows) for i, column in enumerate(columns)]
    why = ""
    if label is None:
        open_columns = [column for column in marked if column.role != "ignored" or column.kind == "text"]
        label, why = recognise(open_columns, n_rows)
    marked = [replace(column, role="label") if column.name == label else column for column in marked]
    if not any(column.role == "feature" for column in marked):
        raise InputError(_no_features(name, marked, label))
    return marked, label, why


def _ignored(column: Column, may_count: bool, several: bool, n_rows: int) -> Column:
    """Return the column, ignored with a reason where it should not be a feature, of `several` columns of numbers."""
    if column.role == "ignored" or column.why:
        return replace(column, role="ignored")
    if several and _numbers_rows(column, may_count, n_rows):
        return replace(column, role="ignored", why=_NUMBERS_ROWS)
    return column


def _numbers_rows(column: Column, may_count: bool, n_rows: int) -> bool:
    """True for whole numbers, all different, under a name like id; or counting 1, 2, 3 … in a nameless first column."""
    if n_rows < 3 or not column.integers or len(column.distinct) != n_rows:
        return False
    plain = column.name.lower().replace("_", " ").replace(".", " ").strip()
    if plain in _ID_NAMES or plain.endswith(" id") or plain.startswith("index level"):
        return True
    nameless = may_count and column.name == "column 1"
    return nameless and column.values[0] in (0, 1) and bool(np.all(np.diff(column.values) == 1))


def _no_features(name: str, columns: Sequence[Column], label: str | None) -> str:
    if label is not None and all(column.kind != "number" or column.why for column in columns if column.name != label):
        return f"{name} has no column of numbers beside the labels ({label}): a search needs at least one."
    column = next(column for column in columns if column.why)
    return (
        f"{name} has no column of numbers among its {counted(len(columns), 'column')} ({column.name}: {column.why}): "
        "a search needs at least one."
    )


def _report(
    columns: Sequence[Column], n_rows: int, label: str | None, why_label: str, notes: Sequence[str]
) -> TableReport:
    features = [column for column in columns if column.role == "feature"]
    used = [column for column in columns if column.role != "ignored"]
    incomplete = np.zeros(n_rows, dtype=bool)
    for column in used:
        incomplete |= column.missing
    numbers = {
        "n_missing": sum(column.n_missing for column in features),
        "n_infinite": sum(column.n_infinite for column in features),
        "n_incomplete": int(incomplete.sum()),
        "n_duplicates": _duplicates(features, n_rows),
    }
    constant = tuple(column.name for column in features if column.constant)
    left = [column for column in columns if column.role == "ignored"]
    sentences = [
        f"{counted(n_rows, 'row')} and {counted(len(columns), 'column')}.",
        *notes,
        _features_sentence(features),
        _label_sentence(columns, label, why_label),
        *_ignored_sentences(left),
        *_constant_sentence(constant),
        *_missing_sentences(numbers, columns, label),
        *_duplicates_sentence(numbers["n_duplicates"]),
    ]
    return TableReport(
        n_rows=n_rows,
        n_columns=len(columns),
        n_features=len(features),
        constant=constant,
        ignored=tuple((column.name, column.why) for column in left),
        label=label,
        sentences=tuple(sentences),
        **numbers,
    )


def _features_sentence(features: Sequence[Column]) -> str:
    verb = "is" if len(features) == 1 else "are"
    return f"{counted(len(features), 'column')} of numbers {verb} used: {listed([c.name for c in features])}."


def _label_sentence(columns: Sequence[Column], label: str | None, why: str) -> str:
    if label is None:
        return "No column is recognised as labels."
    n_classes = next(len(column.distinct) for column in columns if column.name == label)
    return f"The labels are in {called(label)}, with {n_classes:,} class{'es' * (n_classes != 1)}: {why}."


def _ignored_sentences(ignored: Sequence[Column]) -> list[str]:
    """One sentence a reason, in the order met."""
    by_reason: dict[tuple[str, bool], list[str]] = {}
    for column in ignored:
        by_reason.setdefault((column.why, column.kind == "text"), []).append(column.name)
    sentences = []
    for (why, text), names in by_reason.items():
        one = len(names) == 1
        what = f"{capital(called(names[0]))} is" if one else f"{listed(names)} are"
        kept = f"; files you save keep {'it' if one else 'them'}" if text else ""
        sentences.append(f"{what} ignored: {why if one else _of_several(why)}{kept}.")
    return sentences


_SEVERAL = (("it holds", "they hold"), ("it has", "they have"), ("it is", "they are"),
            ("it only numbers", "they only number"), ("its", "their"))  # fmt: skip


def _of_several(why: str) -> str:
    """Return the reason for one column as that for several."""
    for one, several in _SEVERAL:
        if why.startswith(one):
            return several + why.removeprefix(one)
    return why.replace(" its ", " their ", 1)


def _constant_sentence(constant: Sequence[str]) -> list[str]:
    if not constant:
        return []
    if len(constant) == 1:
        return [f"{capital(called(constant[0]))} is constant: it is kept, and changes no distance."]
    return [f"{len(constant):,} columns are constant, {listed(constant)}: they are kept, and change no distance."]


def _missing_sentences(numbers: dict[str, int], columns: Sequence[Column], label: str | None) -> list[str]:
    sentences = []
    if numbers["n_missing"]:
        rows = np.zeros(len(columns[0].values), dtype=bool)
        for column in columns:
            if column.role == "feature":
                rows |= column.missing
        are = "is" if numbers["n_missing"] == 1 else "are"
        within = counted(int(rows.sum()), "row")
        sentences.append(f"{counted(numbers['n_missing'], 'value')} {are} missing, in {within}.")
    else:
        sentences.append("No value is missing.")
    if numbers["n_infinite"]:
        sentences.append(f"{counted(numbers['n_infinite'], 'infinite value')} among them: counted as missing.")
    unlabelled = next((column.n_missing for column in columns if column.name == label), 0)
    if unlabelled:
        sentences.append(f"{counted(unlabelled, 'row')} {'has' if unlabelled == 1 else 'have'} no class.")
    return sentences


def _duplicates_sentence(n: int) -> list[str]:
    if not n:
        return []
    return [f"{n:,} row{'s equal an earlier row' if n > 1 else ' equals an earlier row'}."]


def _duplicates(features: Sequence[Column], n_rows: int) -> int:
    """Number of rows equal to an earlier one; missing equals missing, 0 equals -0."""
    seen: set[bytes] = set()
    step = max(1, 1_000_000 // len(features))
    for start in range(0, n_rows, step):
        block = np.column_stack([column.values[start : start + step] for column in features]) + 0.0
        block[np.isnan(block)] = np.nan
        seen.update(row.tobytes() for row in block)
    return n_rows - len(seen)
