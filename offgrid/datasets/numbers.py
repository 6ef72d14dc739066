"""From columns of text to columns of numbers: missing values, decimal marks, thousands.

Entry points: `looks_numeric` (one cell), `columns_from_text` (all columns of a table).

A column is numeric when every cell that is present reads as a number. Which of comma and point is the decimal mark is
decided by the whole table: 1,5 or 0,125 can only be a decimal comma, 1,234.5 or 1,234,567 only thousands. Cost: a few
passes of Arrow's compiled kernels over each column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.table import Column, number_column

if TYPE_CHECKING:
    import pyarrow as pa

Mark = Literal["point", "comma"]

# Never a class name: missing in every column. In columns of numbers the second group is missing too.
MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "?")
MISSING_NUMBER = (*MISSING, "none", "-", "--", ".", "missing", "#div/0!", "#value!", "#ref!", "#num!", "#name?")

_MINUS = "\u2212"
_EXPONENT = r"(?:[eE][+-]?\d{1,5})?"
_GROUPS = "'’\u00a0\u202f "
POINT_NUMBER = rf"^[+-]?(?:[1-9]\d{{0,2}}(?:[,{_GROUPS}]\d{{3}})+(?:\.\d*)?|\d+\.?\d*|\.\d+){_EXPONENT}$"
COMMA_NUMBER = rf"^[+-]?(?:[1-9]\d{{0,2}}(?:[.{_GROUPS}]\d{{3}})+(?:,\d*)?|\d+,?\d*|,\d+){_EXPONENT}$"
INFINITE = r"^[+-]?(?i:inf|infinity)$"
_PATTERNS: tuple[tuple[Mark, str], ...] = (("point", POINT_NUMBER), ("comma", COMMA_NUMBER))
_PLAIN = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d*)?")
_DATE = r"^\d{4}-\d{2}-\d{2}(?:[T ].*)?$|^\d{1,2}[./]\d{1,2}[./]\d{4}(?: .*)?$"


def looks_numeric(cell: str) -> bool:
    """Return True for a number in any of the usual notations, infinities included, missing markers not."""
    cell = cell.strip()
    return bool(_PLAIN.fullmatch(cell)) or re.match(INFINITE, cell) is not None


def looks_missing(cell: str) -> bool:
    """Return True for the markers that count as missing in a column of numbers."""
    return cell.strip().lower() in MISSING_NUMBER


@dataclass
class _Text:
    """A column on its way: trimmed cells, the mask of those present, and how they can be read.

    `marks` are the decimal marks under which every cell is a number; `plain` are the cells present as numbers where
    they need no rewriting.
    """

    name: str
    cells: pa.StringArray
    present: pa.BooleanArray
    marks: tuple[Mark, ...]
    plain: NDArray[np.float64] | None


def columns_from_text(
    names: Sequence[str], cells: Sequence[Any], *, separator: str = "", declared: Sequence[bool] | None = None
) -> tuple[list[Column], list[str]]:
    """Return the columns of a table read as text, and notes on how numbers were read.

    Parameters
    ----------
    names : sequence of str
    cells : sequence of pyarrow string arrays, one a column
    separator : str
        The table's, which settles what no cell does: with semicolons, 1,234 is 1.234.
    declared : sequence of bool or None
        Columns that the file itself declares to be categories.
    """
    texts = [_examine(name, column) for name, column in zip(names, cells, strict=True)]
    mark, notes = _decimal_mark(texts, separator)
    flags = [False] * len(texts) if declared is None else declared
    columns = [_column(text, mark, flag) for text, flag in zip(texts, flags, strict=True)]
    if any(_booleans(text) for text in texts):
        notes.append("True and false are read as 1 and 0.")
    return columns, notes


def _examine(name: str, column: Any) -> _Text:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    cells = pc.fill_null(pc.utf8_trim_whitespace(column), "")
    present = pc.invert(pc.is_in(pc.utf8_lower(cells), pa.array(MISSING_NUMBER)))
    values = pc.filter(cells, present)
    try:
        plain = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        # Not plain numbers: decimal commas, thousands, signs, or text. The patterns tell which.
        values = pc.replace_substring(values, _MINUS, "-")
        marks = tuple(mark for mark, pattern in _PATTERNS if _all_match(values, pattern))
        cells = pc.replace_substring(cells, _MINUS, "-") if marks else cells
        return _Text(name, cells, present, marks, None)
    both = not pc.any(pc.match_substring(values, "."), min_count=0).as_py() or _all_match(values, COMMA_NUMBER)
    return _Text(name, cells, present, ("point", "comma") if both else ("point",), plain)


def _all_match(values: pa.StringArray, pattern: str) -> bool:
    """Return True if every value matches, or is infinite. The first few decide in most cases."""
    import pyarrow.compute as pc

    pattern = f"{pattern}|{INFINITE}"
    if not pc.all(pc.match_substring_regex(values[:100], pattern), min_count=0).as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


def _decimal_mark(texts: Sequence[_Text], separator: str) -> tuple[Mark, list[str]]:
    """Return the table's decimal mark and a note where it is the comma, or was a guess."""
    only = [text.marks[0] for text in texts if len(text.marks) == 1]
    commas, points = only.count("comma"), only.count("point")
    open_cases = [text for text in texts if len(text.marks) == 2 and (_has(text, ",") or _has(text, "."))]
    if commas > points:
        return "comma", ["The comma is read as the decimal mark: 1,5 is 1.5."]
    thousands = ["The comma is read as the mark of thousands: 1,234 is 1234."]
    if not any(_has(text, ",") for text in texts if text.marks):
        return "point", []
    if points or not any(_has(text, ",") for text in open_cases):
        return "point", thousands
    if separator == ";":
        return "comma", ["The comma is read as the decimal mark, as is usual between semicolons: 1,234 is 1.234."]
    return "point", thousands


def _has(text: _Text, mark: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(text.cells, mark), min_count=0).as_py())


def _column(text: _Text, mark: Mark, declared: bool) -> Column:
    import pyarrow.compute as pc

    n_present = pc.sum(text.present, min_count=0).as_py()
    if text.marks and (n_present or _all_missing(text)):
        return number_column(text.name, _values(text, mark if mark in text.marks else text.marks[0]), declared=declared)
    if n_present and _booleans(text):
        return number_column(text.name, _truth(text), declared=declared)
    return _text_column(text, declared)


def _all_missing(text: _Text) -> bool:
    """True where no cell can be a class name either: "none" everywhere is text, "" everywhere is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.all(pc.is_in(pc.utf8_lower(text.cells), pa.array(MISSING)), min_count=0).as_py())


def _values(text: _Text, mark: Mark) -> NDArray[np.float64]:
    """Return the cells as float64, NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = np.full(len(text.cells), np.nan)
    numbers = text.plain
    if numbers is None or mark == "comma":
        thousands = _GROUPS + ("," if mark == "point" else ".")
        cells = pc.replace_substring_regex(pc.filter(text.cells, text.present), f"^[+]|[{thousands}]", "")
        cells = pc.replace_substring(cells, ",", ".") if mark == "comma" else cells
        numbers = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    values[text.present.to_numpy(zero_copy_only=False)] = numbers
    return values


def _booleans(text: _Text) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.filter(pc.utf8_lower(text.cells), text.present)
    return len(values) > 0 and bool(pc.all(pc.is_in(values, pa.array(["true", "false"]))).as_py())


def _truth(text: _Text) -> NDArray[np.float64]:
    import pyarrow.compute as pc

    values = np.array(pc.equal(pc.utf8_lower(text.cells), "true").to_numpy(zero_copy_only=False), dtype=np.float64)
    values[~text.present.to_numpy(zero_copy_only=False)] = np.nan
    return values


def _text_column(text: _Text, declared: bool) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    gone = pc.is_in(pc.utf8_lower(text.cells), pa.array(MISSING))
    coded = pc.if_else(gone, pa.scalar(None, pa.string()), text.cells).dictionary_encode()
    return coded_column(text.name, coded, declared=declared, why=_why_text(text, coded))


def coded_column(name: str, coded: Any, *, why: str, declared: bool = False) -> Column:
    """Return a text column from a dictionary-encoded Arrow array, its categories sorted and in use."""
    import pyarrow.compute as pc

    codes = np.array(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int32)
    words = ["" if word is None else str(word) for word in coded.dictionary.to_pylist()]
    used = sorted({words[code] for code in np.unique(codes[codes >= 0])})
    rank = {word: i for i, word in enumerate(used)}
    recode = np.array([rank.get(word, -1) for word in words] + [-1], dtype=np.int32)
    return Column(name, "text", recode[codes], tuple(used), declared=declared, why=why)


def _why_text(text: _Text, coded: Any) -> str:
    """Say why a column is no column of numbers, naming the culprit where it is nearly one."""
    import pyarrow.compute as pc

    words = coded.dictionary
    if len(words) and pc.all(pc.match_substring_regex(words, _DATE)).as_py():
        return "it holds dates"
    number = np.array([looks_numeric(word) for word in words.to_pylist()] + [True])
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    bad = ~number[codes]
    if not len(bad) or bad.mean() > 0.2 or not bad.any():
        return "it holds text"
    row = int(np.flatnonzero(bad)[0])
    example = text.cells[row].as_py()
    example = example if len(example) <= 40 else example[:39] + "…"
    are = "is not a number" if bad.sum() == 1 else "are not numbers"
    return f"{bad.sum():,} of its {len(codes):,} values {are}, such as {example!r} in row {row + 1:,}"
