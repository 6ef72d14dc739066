"""Uploaded files, kept as parsed tables until swept.

Entry point: `UploadStore`. Each upload is a folder with ``table.json`` (names, roles, report), ``numbers.npy`` and
``codes.npy`` (columns of numbers and of text): formats that hold data and never code. The folder appears whole, by one
rename, so that no reader meets half an upload.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.limits import MAX_BYTES
from offgrid.datasets.reading import read_table, shown_name
from offgrid.datasets.table import Column, Table, TableReport
from offgrid.errors import InputError

logger = logging.getLogger(__name__)

GONE = "This upload is no longer kept. Upload the file again."
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_ID_BYTES = 16
_VERSION = 1
_NEW = ".new-"


@dataclass(frozen=True, eq=False)
class Upload:
    """An uploaded file.

    Attributes
    ----------
    id : str
        Unguessable, and safe in an address.
    filename : str
        The file's name fit to be shown: no folders, no control characters.
    table : Table
    created : float
        Seconds since 1970.
    """

    id: str
    filename: str
    table: Table
    created: float


class UploadStore:
    """Keeps uploads in a folder, which is made with the first of them.

    Parameters
    ----------
    folder : path
    max_rows : int or None
        Most rows allowed.
    max_bytes : int
        Largest file allowed.
    """

    def __init__(self, folder: str | Path, *, max_rows: int | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.folder = Path(folder)
        self.max_rows = max_rows
        self.max_bytes = max_bytes

    def save(self, filename: str, content: bytes) -> Upload:
        """Read a file and keep what it holds.

        Raises
        ------
        InputError
            If it cannot be used; nothing is kept then.
        """
        name = shown_name(filename)
        table = read_table(content, name=name, max_rows=self.max_rows, max_bytes=self.max_bytes)
        return self.keep(name, table)

    def keep(self, name: str, table: Table) -> Upload:
        """Keep a table that is read already, under a name fit to be shown."""
        upload = Upload(secrets.token_urlsafe(_ID_BYTES), name, table, time.time())
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.folder))
        try:
            _write(new, upload)
            new.rename(self.folder / upload.id)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        return upload

    def get(self, upload_id: str) -> Upload:
        """Return an upload, which counts as used now.

        Raises
        ------
        InputError
            If there is none under this id, or no longer.
        """
        if not isinstance(upload_id, str) or not _ID.fullmatch(upload_id):
            raise InputError(GONE)
        folder = self.folder / upload_id
        try:
            upload = _read(folder)
            folder.touch()
        except FileNotFoundError as error:
            raise InputError(GONE) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("upload %s cannot be read", upload_id, exc_info=True)
            raise InputError(GONE) from error
        return upload

    def sweep(self, older_than: float) -> int:
        """Delete the uploads not used for `older_than` seconds, and what an interrupted save left; return how many."""
        limit = time.time() - older_than
        swept = 0
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if not (_ID.fullmatch(folder.name) or folder.name.startswith(_NEW)):
                continue
            try:
                old = folder.stat().st_mtime < limit
            except FileNotFoundError:
                continue  # swept by another process
            if old:
                shutil.rmtree(folder, ignore_errors=True)
                swept += not folder.exists()
        return swept


def _write(folder: Path, upload: Upload) -> None:
    table = upload.table
    numbers = [column for column in table.columns if column.kind == "number"]
    texts = [column for column in table.columns if column.kind != "number"]
    np.save(folder / "numbers.npy", _stacked(numbers, np.float64, table.n_rows), allow_pickle=False)
    np.save(folder / "codes.npy", _stacked(texts, np.int32, table.n_rows), allow_pickle=False)
    values = {
        "version": _VERSION,
        "id": upload.id,
        "filename": upload.filename,
        "created": upload.created,
        "name": table.name,
        "n_rows": table.n_rows,
        "scaling": table.scaling,
        "missing": table.missing,
        "image_shape": table.image_shape,
        "report": table.report.to_dict(),
        "columns": [_column_dict(column) for column in table.columns],
    }
    (folder / "table.json").write_text(json.dumps(values), encoding="utf-8")


def _stacked(columns: Sequence[Column], dtype: Any, n_rows: int) -> NDArray[Any]:
    """Return columns as the rows of an array, each contiguous."""
    return np.stack([column.values for column in columns]) if columns else np.empty((0, n_rows), dtype=dtype)


def _column_dict(column: Column) -> dict[str, Any]:
    plain = ("name", "kind", "categories", "declared", "n_infinite", "why", "role")
    return {key: getattr(column, key) for key in plain}


def _read(folder: Path) -> Upload:
    values = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    if values["version"] != _VERSION:
        raise ValueError(f"version {values['version']} of the format is not {_VERSION}")
    numbers = iter(np.load(folder / "numbers.npy", allow_pickle=False))
    codes = iter(np.load(folder / "codes.npy", allow_pickle=False))
    columns = []
    for column in values["columns"]:
        data = next(numbers if column["kind"] == "number" else codes)
        columns.append(Column(**{**column, "categories": tuple(column["categories"])}, values=data))
    table = Table(
        name=values["name"],
        columns=tuple(columns),
        n_rows=values["n_rows"],
        report=TableReport.from_dict(values["report"]),
        scaling=values["scaling"],
        missing=values["missing"],
        image_shape=tuple(values["image_shape"]) if values["image_shape"] else None,
    )
    return Upload(values["id"], values["filename"], table, values["created"])
