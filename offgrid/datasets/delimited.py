"""Tables in text: which separator, whether the first line has names, and the cells of every column.

Entry points: `read_delimited`, and for names of columns `unique_names` and `free_name`. Sniffing looks at the first 200
lines; the whole is read by Arrow in one pass, which keeps each column's text in one buffer. A file that Arrow finds
ragged is walked again, only to name the line.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from offgrid.datasets.limits import Limits
from offgrid.datasets.model import listed
from offgrid.datasets.numbers import looks_missing, looks_numeric
from offgrid.errors import InputError

BLANKS = " "  # stands for any run of blanks
_SEPARATORS = ("\t", ";", ",", "|", BLANKS)
_WORDS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "pipes", BLANKS: "blanks", "": ""}
_BLANK_FIELD = re.compile(r'"((?:[^"]|"")*)"|\S+')
_SAMPLE_LINES = 200
_COMMENT_LINES = 100


@dataclass(frozen=True)
class Cells:
    """A table as text.

    Attributes
    ----------
    names : tuple of str or None
        From the first line, None without a header.
    columns : list of pyarrow string arrays
    separator : str
    notes : tuple of str
    """

    names: tuple[str, ...] | None
    columns: list[Any]
    separator: str
    notes: tuple[str, ...]


def read_delimited(text: str, name: str, limits: Limits, *, prefer: str = "") -> Cells:
    """Return the cells of a delimited table.

    Parameters
    ----------
    text : str
    name : str
        The file's, for messages.
    limits : Limits
    prefer : str
        Separator to take wherever it divides the lines at all (tabs for .tsv).
    """
    text, prefer, comment = _preamble(text, prefer)
    sample = _sample(text)
    if not sample:
        raise InputError(f"{name} is empty: a table needs at least two rows.")
    separator, width = _separator(sample, name, prefer)
    limits.check_shape(0, width)
    rows = _first_rows(text, separator, width, name)
    header = has_header(rows)
    if len(rows[0]) == width - 1 and len(rows) > 1 and not any(map(looks_numeric, rows[0])):
        text, header = _lengthened(text, separator, rows), True
        rows = _first_rows(text, separator, width, name)
    _check_rows(text, separator, width, limits, header)
    columns = _read(text, separator, width, name)
    if header:
        return Cells(tuple(rows[0]), [column[1:] for column in columns], separator, (_says(separator, True),))
    names = _comment_names(comment, separator, width)
    return Cells(names, columns, separator, (_says(separator, names is not None),))


def _first_rows(text: str, separator: str, width: int, name: str) -> list[list[str]]:
    n_rows = max(2, min(_SAMPLE_LINES, 40_000 // width))
    try:
        return list(islice(_fields(io.StringIO(text), separator), n_rows))
    except csv.Error as error:
        raise InputError(_unclosed(name)) from error


def _says(separator: str, header: bool) -> str:
    first = "the first line has the names" if header else "there is no line of names"
    return f"Fields are separated by {_WORDS[separator]}, and {first}." if separator else f"One column, and {first}."


def _preamble(text: str, prefer: str) -> tuple[str, str, str]:
    """Strip Excel's "sep=" line and comment lines; return the rest, the separator told, and the last comment."""
    text = text.lstrip("\ufeff").lstrip("\n")
    told = re.match(r"sep=([\t;,| ])\n", text, re.IGNORECASE)
    if told:
        text, prefer = text[told.end() :], told[1]
    lines = list(takewhile(lambda line: line[0] in "#%", islice(io.StringIO(text), _COMMENT_LINES)))
    rest = text[sum(map(len, lines)) :]
    if len(lines) == _COMMENT_LINES or not rest.strip():
        return text, prefer, ""  # too many for comments: values that begin with such a sign
    comments = [line.lstrip("#%").strip() for line in lines]
    return re.sub(r"(?m)^ +\n", "", rest), prefer, next((line for line in reversed(comments) if line), "")


def _comment_names(comment: str, separator: str, width: int) -> tuple[str, ...] | None:
    """Names from a comment line above the data, as numpy.savetxt writes them, if it has the right number."""
    names = next(_fields(io.StringIO(comment), separator), []) if comment else []
    return tuple(names) if len(names) == width and not any(map(looks_numeric, names)) else None


def _sample(text: str) -> str:
    """The first lines that are not blank, as one text."""
    lines = (line for line in io.StringIO(text) if line.strip())
    return "".join(islice(lines, _SAMPLE_LINES))


def _fields(stream: io.StringIO, separator: str) -> Iterator[list[str]]:
    """Yield the fields of every line that is not blank."""
    if separator == BLANKS:
        for line in stream:
            fields = [match[0] if match[1] is None else match[1] for match in _BLANK_FIELD.finditer(line)]
            if fields:
                yield fields
    elif separator == "":
        yield from ([line.strip().strip('"')] for line in stream if line.strip())
    else:
        yield from (row for row in csv.reader(stream, delimiter=separator) if row and (len(row) > 1 or row[0].strip()))


def _separator(sample: str, name: str, prefer: str) -> tuple[str, int]:
    """Return the separator and the number of fields: the one under which lines agree most, and read as numbers."""
    best, best_score, best_width, best_share = "", 0.0, 1, (0.0, 0.0)
    for separator in _SEPARATORS:
        try:
            rows = list(_fields(io.StringIO(sample), separator))
        except csv.Error:
            continue
        width, share = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if width < 2:
            continue
        agree = share / len(rows)
        cells = [cell for row in rows if len(row) == width for cell in row]
        numeric = sum(looks_numeric(cell) or looks_missing(cell) for cell in cells) / len(cells)
        score = agree + numeric + 2 * (separator == prefer)
        if score > best_score + 1e-9:
            best, best_score, best_width, best_share = separator, score, width, (agree, numeric)
    agree, numeric = best_share
    if _is_single(sample, best, agree):
        return "", 1
    if agree < 0.6 and numeric < 0.5:
        raise InputError(
            f"{name} is text, not a table: its lines do not divide into the same number of fields by commas, "
            "semicolons, tabs, pipes or blanks."
        )
    return best, best_width


def _is_single(sample: str, best: str, agree: float) -> bool:
    """True for one column of numbers: no separator divides it, or only some lines, at their decimal commas."""
    first, *others = [line.strip().strip('"') for line in sample.split("\n") if line.strip()]
    numbers = [looks_numeric(line) or looks_missing(line) for line in others]
    if best and (agree == 1 or not all(numbers)):
        return False
    named = best not in first if best else True
    return sum(numbers) >= 0.5 * len(numbers) and (looks_numeric(first) or (named and bool(numbers)))


def _check_rows(text: str, separator: str, width: int, limits: Limits, header: bool) -> None:
    """Refuse a long table before it is read."""
    n_rows = text.count("\n") + (not text.endswith("\n")) - header
    long = n_rows * width > limits.cells or (limits.rows is not None and n_rows > limits.rows)
    if long and ('"' in text or "\n\n" in text):  # lines within quotes and blank ones are no rows
        with suppress(csv.Error):  # told by the reading that follows
            n_rows = sum(1 for _ in _fields(io.StringIO(text), separator)) - header
    limits.check_shape(n_rows, width)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first of the rows has names: words above columns of numbers.

    With no numbers anywhere, the first row has names where none of them comes back in its column.
    """
    if len(rows) < 2:
        return bool(rows) and not any(looks_numeric(cell) for cell in rows[0])
    votes = []
    for j, cell in enumerate(rows[0]):
        below = [row[j] for row in rows[1:] if j < len(row) and not looks_missing(row[j])]
        if below and sum(map(looks_numeric, below)) >= 0.8 * len(below) and not looks_missing(cell):
            votes.append(not looks_numeric(cell))
    if votes:
        return sum(votes) > len(votes) / 2
    return all(cell not in [row[j] for row in rows[1:] if j < len(row)] for j, cell in enumerate(rows[0]))


def _lengthened(text: str, separator: str, rows: Sequence[Sequence[str]]) -> str:
    """Add a field to a first line that is one short.

    R leaves out the name of the column of row names, which comes first; a spreadsheet may close every row but the
    first with a separator, which makes an empty last column.
    """
    at_end = all(not row[-1].strip() for row in rows[1:])
    mark = separator if separator != BLANKS else " "
    first, newline, rest = text.partition("\n")
    return f"{first}{mark}{newline}{rest}" if at_end else f'""{mark}{first}{newline}{rest}'


def _read(text: str, separator: str, width: int, name: str) -> list[Any]:
    """Return each column as an Arrow array of text."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    if separator == "":
        return [pa.array([fields[0] for fields in _fields(io.StringIO(text), separator)], pa.string())]
    quote: str | bool = '"'
    if separator == BLANKS:
        rows = ("\t".join(f.replace("\t", " ") for f in fields) for fields in _fields(io.StringIO(text), separator))
        content, mark, quote = "\n".join(rows).encode("utf-8", "replace"), "\t", False
    else:
        content, mark = text.encode("utf-8", "replace"), separator
    content += b"\n"  # without it Arrow finds a single line empty
    types = {f"f{i}": pa.string() for i in range(width)}
    try:
        table = pacsv.read_csv(
            pa.BufferReader(content),
            pacsv.ReadOptions(use_threads=False, block_size=len(content) + 2, autogenerate_column_names=True),
            pacsv.ParseOptions(delimiter=mark, quote_char=quote, newlines_in_values=bool(quote)),
            pacsv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(_ragged(text, separator, width, name)) from error
    if table.num_columns != width:
        raise InputError(_ragged(text, separator, width, name))
    if quote and text.count('"') % 2 and any("\n" in column[-1].as_py() for column in table.columns):
        raise InputError(_unclosed(name))
    return [column.combine_chunks() for column in table.columns]


def _ragged(text: str, separator: str, width: int, name: str) -> str:
    """Say which line has another number of fields than the others."""
    by = _WORDS[separator]
    reader: Any = csv.reader(io.StringIO(text), delimiter=separator) if separator not in (BLANKS, "") else None
    try:
        for number, fields in enumerate(_fields(io.StringIO(text), separator) if reader is None else reader, 1):
            line = number if reader is None else reader.line_num
            if fields and len(fields) != width and (len(fields) > 1 or fields[0].strip()):
                has = f"{len(fields):,} field{'s' * (len(fields) != 1)}"
                return (
                    f"Line {line:,} of {name} has {has} where the others have {width:,}, separated by {by}: "
                    "give every line the same number of fields."
                )
    except csv.Error:
        pass  # what csv cannot read either is told below
    return _unclosed(name)


def _unclosed(name: str) -> str:
    return f"{name} has a quotation mark that is never closed: close it, or take it out."


def unique_names(names: Sequence[str] | None, width: int) -> tuple[tuple[str, ...], list[str]]:
    """Return clean, unique column names, "column 3" where one is blank, and a note on those renamed."""
    cleaned = [_clean(name) for name in names] if names is not None else [""] * width
    taken = {name for name in cleaned if name}
    result: list[str] = []
    twice: list[str] = []
    seen: set[str] = set()
    numbers: dict[str, int] = {}  # the next to try, so that one name in every column costs no more than many names
    for i, name in enumerate(cleaned):
        base = new = name or f"column {i + 1}"
        while new in seen or (new != name and new in taken):
            numbers[base] = numbers.get(base, 1) + 1
            new = f"{base} ({numbers[base]})"
        if name and new != name:
            twice.append(name)
        seen.add(new)
        result.append(new)
    repeated = list(dict.fromkeys(twice))
    note = [f"Column names used more than once are numbered: {listed(repeated)}."] if repeated else []
    return tuple(result), note


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the wanted one, or that with the next number, as "label (2)"."""
    names = (wanted, *(f"{wanted} ({i})" for i in range(2, 3 + len(taken))))
    return next(name for name in names if name not in taken)


def _clean(name: str) -> str:
    """One line of printable text, at most 120 characters."""
    name = "".join(char if char.isprintable() else " " for char in str(name))
    name = " ".join(name.split())
    return name if len(name) <= 120 else name[:119] + "…"


def split_columns(rows: Sequence[Sequence[str]], width: int, name: str) -> list[Any]:
    """Return rows as Arrow arrays of text, one a column; every row must have `width` fields."""
    import pyarrow as pa

    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise InputError(
                f"Row {number:,} of {name} has {len(row):,} field{'s' * (len(row) != 1)}, and {width:,} columns are "
                "declared: give every row the same number of fields."
            )
    return [pa.array([row[j] for row in rows], pa.string()) for j in range(width)]
