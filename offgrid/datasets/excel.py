"""Excel workbooks (XLSX): the first sheet that holds a table, as cells of text.

Entry point: `read_excel`. The archive is opened with limits (`archives`), its parts are read with `workbook`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any
from xml.parsers.expat import ExpatError

from offgrid.datasets import workbook
from offgrid.datasets.archives import open_archive, unpack
from offgrid.datasets.delimited import Cells, has_header
from offgrid.datasets.limits import Limits
from offgrid.errors import InputError

_FIRST = 200
_BATCH = 1_000


def read_excel(content: bytes, name: str, limits: Limits) -> Cells:
    """Return the cells of the first sheet that holds a table, else of the first that holds anything."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError(f"{name} is encrypted or an old Excel workbook: save it as XLSX without a password.")
    archive = open_archive(content, name, limits)
    members = set(archive.namelist())
    if "[Content_Types].xml" not in members:
        raise InputError(f"{name} is no Excel workbook: it is an archive of something else; save it as XLSX.")

    def read(part: str) -> bytes | None:
        return unpack(archive, part, name, limits) if part in members else None

    try:
        return _read(read, name, limits)
    except (workbook.BrokenWorkbookError, ExpatError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} is damaged: it cannot be read as an Excel workbook; save it again.") from error


def _read(read: workbook.Read, name: str, limits: Limits) -> Cells:
    sheets = workbook.sheets(read)
    texts = workbook.shared_texts(read("xl/sharedStrings.xml"))
    dates = workbook.date_styles(read("xl/styles.xml"))
    found = None
    for sheet in sheets:
        rows = workbook.rows(read(sheet.part) or b"<none/>", texts, dates, limits, name)
        first = list(islice(rows, _FIRST))
        table = _is_table(first)
        if table or (first and found is None):
            found = sheet.title, first, rows
        if table:
            break
    if found is None:
        raise InputError(f"{name} is empty: none of its sheets has a value.")
    title, first, rows = found
    names, columns, notes = _cells(first, rows, name, limits)
    told = [f"The sheet {title!r} is read, one of {len(sheets)}."] if len(sheets) > 1 else []
    return Cells(names, columns, "", (*told, *notes))


def _is_table(rows: list[list[str]]) -> bool:
    """Whether rows are more than words on a cover sheet: three of them at least, with a number somewhere."""
    return len(rows) > 2 and any(cell and cell.lstrip("+-")[:1].isdigit() for row in rows for cell in row)


def _cells(
    first: list[list[str]], rest: Iterator[list[str]], name: str, limits: Limits
) -> tuple[tuple[str, ...] | None, list[Any], list[str]]:
    """Return names, columns as Arrow arrays of text, and notes; columns left of the table are left out."""
    import pyarrow as pa

    notes = []
    while len(first) > 2 and _filled(first[0]) == 1 < _filled(first[1]):
        title = next(filter(None, first.pop(0)))
        notes.append(f"The row {title[:40]!r} above the table is left out.")
    width = max(map(len, first))
    first = [_padded(row, width) for row in first]
    names = tuple(first.pop(0)) if has_header(first) else None
    notes.append("The first row has the names." if names else "There is no row of names.")
    parts: list[list[Any]] = [[] for _ in range(width)]
    n_rows = 0
    for batch in _batches(chain(first, rest)):
        wider = max(map(len, batch))
        if wider > width:  # a later row is longer: nothing stands there in the rows before
            parts.extend([pa.array([""] * n_rows, pa.string())] for _ in range(width, wider))
            width = wider
        n_rows += len(batch)
        limits.check_shape(n_rows, width)
        padded = [_padded(row, width) for row in batch]
        for j in range(width):
            parts[j].append(pa.array([row[j] for row in padded], pa.string()))
    if not n_rows:
        raise InputError(f"{name} is empty: its sheet has no rows below the names.")
    columns = [pa.concat_arrays(part) for part in parts]
    whole = tuple(_padded(list(names), width)) if names else None
    return _without_margin(whole, columns, notes)


def _without_margin(
    names: tuple[str, ...] | None, columns: list[Any], notes: list[str]
) -> tuple[tuple[str, ...] | None, list[Any], list[str]]:
    """Leave out the empty columns before the first that holds anything."""
    import pyarrow.compute as pc

    start = 0
    while not (names and names[start]) and not pc.any(pc.not_equal(columns[start], "")).as_py():
        start += 1
    return (names[start:] if names else None), columns[start:], notes


def _batches(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _padded(row: list[str], width: int) -> list[str]:
    return row + [""] * (width - len(row))


def _filled(row: list[str]) -> int:
    return sum(map(bool, row))
