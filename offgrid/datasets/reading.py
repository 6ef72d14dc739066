"""Reading people's files: CSV, TSV, TXT, ARFF, Parquet, NPY, NPZ and XLSX, each to a `Table`.

Entry point: `read_table`. The format follows the file's ending; limits are checked before memory is spent; whatever a
parser raises becomes one sentence.
"""

from __future__ import annotations

import codecs
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from offgrid.datasets import arff, arrays
from offgrid.datasets.assembly import assemble
from offgrid.datasets.delimited import Cells, read_delimited, unique_names
from offgrid.datasets.excel import read_excel
from offgrid.datasets.given import Given
from offgrid.datasets.limits import MAX_BYTES, Limits, read_bytes
from offgrid.datasets.numbers import columns_from_text
from offgrid.datasets.parquet import read_parquet
from offgrid.datasets.table import Table
from offgrid.datasets.text import decode
from offgrid.errors import InputError

logger = logging.getLogger(__name__)

FORMATS = "CSV, TSV, TXT, ARFF, Parquet, NPY, NPZ and XLSX"


def read_table(
    path_or_buffer: Any, *, name: str | None = None, max_rows: int | None = None, max_bytes: int = MAX_BYTES
) -> Table:
    """Read a file of data.

    Parameters
    ----------
    path_or_buffer : path, bytes or open file
    name : str or None
        The file's name, whose ending says the format; needed for bytes.
    max_rows : int or None
        Most rows allowed; None for no limit but that of 25 million cells.
    max_bytes : int
        Largest file allowed. A compressed one may unpack to four times as much.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        And nothing else, whatever the file holds.
    """
    if name is None and isinstance(path_or_buffer, (str, os.PathLike)):
        name = os.fspath(path_or_buffer)
    name = shown_name(name or getattr(path_or_buffer, "name", None) or "")
    ending = PurePath(name).suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        raise InputError(_unknown(name, ending))
    limits = Limits(rows=max_rows, file_bytes=max_bytes)
    content = read_bytes(path_or_buffer, limits)
    if not content.strip():
        raise InputError(f"{name} is empty: a table needs at least two rows.")
    try:
        return reader(content, name, limits)
    except InputError:
        raise
    except MemoryError as error:
        logger.warning("reading %r took too much memory", name, exc_info=True)
        raise InputError(
            f"{name} takes more memory to read than there is: it is damaged, or too large; save it again, or take a "
            "sample of its rows."
        ) from error
    except Exception as error:  # parsers raise whatever they like: a sentence for people, a trace in the log
        logger.warning("reading %r failed", name, exc_info=True)
        raise InputError(f"{name} cannot be read as {ending[1:].upper()}: it is damaged; save it again.") from error


def shown_name(name: Any) -> str:
    """Return a file's name fit to be shown: no folders, no control characters, at most 100 characters."""
    if not isinstance(name, (str, os.PathLike)):
        return ""
    base = str(os.fspath(name)).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    base = " ".join("".join(char if char.isprintable() else " " for char in base).split())
    if len(base) <= 100:
        return base
    ending = PurePath(base).suffix[:10]
    return f"{base[: 99 - len(ending)]}…{ending}"


def _unknown(name: str, ending: str) -> str:
    if not name:
        return f"The format is not known without a name: give name=, ending in one of {FORMATS}."
    if ending in (".xls", ".ods"):
        return f"{name} ends in {ending}, which is not read: save it as XLSX or CSV."
    if not ending:
        return f"{name} has no ending that tells its format: {FORMATS} are read."
    return f"{name} ends in {ending}, which is not read: {FORMATS} are."


def _read_text(content: bytes, name: str, limits: Limits) -> Table:
    text, notes = decode(content, name)
    prefer = "\t" if PurePath(name).suffix.lower() in (".tsv", ".tab") else ""
    marked = bool(notes) or content.startswith(codecs.BOM_UTF8)
    return _from_cells(read_delimited(text, name, limits, prefer=prefer), name, limits, notes, marked=marked)


def _read_excel(content: bytes, name: str, limits: Limits) -> Table:
    return _from_cells(read_excel(content, name, limits), name, limits, [])


def _from_cells(cells: Cells, name: str, limits: Limits, notes: list[str], *, marked: bool = False) -> Table:
    names, renamed = unique_names(cells.names, len(cells.columns))
    columns, marks = columns_from_text(names, cells.columns, separator=cells.separator)
    table = assemble(name, columns, [*notes, *cells.notes, *marks, *renamed], limits)
    most = limits.unpacked_bytes
    return replace(table, given=Given.of(cells.names or names, cells.columns, cells.separator, most, marked=marked))


def _read_arff(content: bytes, name: str, limits: Limits) -> Table:
    text, notes = decode(content, name)
    attributes, cells = arff.read_arff(text, name, limits)
    names, renamed = unique_names([attribute.name for attribute in attributes], len(attributes))
    columns, marks = columns_from_text(names, cells, declared=arff.declared(attributes))
    table = assemble(name, columns, [*notes, *marks, *renamed], limits)
    return replace(table, given=Given.of(names, cells, ",", limits.unpacked_bytes))


def _read_parquet(content: bytes, name: str, limits: Limits) -> Table:
    columns, notes = read_parquet(content, name, limits)
    return assemble(name, columns, notes, limits)


def _read_npy(content: bytes, name: str, limits: Limits) -> Table:
    columns, notes, image_shape = arrays.read_npy(content, name, limits)
    return assemble(name, columns, notes, limits, image_shape=image_shape, numbered=False)


def _read_npz(content: bytes, name: str, limits: Limits) -> Table:
    columns, notes, label, image_shape = arrays.read_npz(content, name, limits)
    return assemble(name, columns, notes, limits, label=label, image_shape=image_shape, numbered=False)


_READERS: dict[str, Callable[[bytes, str, Limits], Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat", ".data"), _read_text),
    ".arff": _read_arff,
    **dict.fromkeys((".parquet", ".pq"), _read_parquet),
    ".npy": _read_npy,
    ".npz": _read_npz,
    **dict.fromkeys((".xlsx", ".xlsm"), _read_excel),
}
