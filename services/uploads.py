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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from offgrid.datasets.limits import MAX_BYTES
from offgrid.datasets.reading import shown_name
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services.parsing import Read, read_guarded
from services.tables import table_arrays, table_from, table_values

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
    read : callable
        Reads a file; by default in a process with limits.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        max_rows: int | None = None,
        max_bytes: int = MAX_BYTES,
        read: Read = read_guarded,
    ) -> None:
        self._read_file = read
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
        table = self._read_file(content, name=name, max_rows=self.max_rows, max_bytes=self.max_bytes)
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
        except (OSError, ValueError, LookupError, TypeError) as error:
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
    numbers, codes = table_arrays(upload.table)
    np.save(folder / "numbers.npy", numbers, allow_pickle=False)
    np.save(folder / "codes.npy", codes, allow_pickle=False)
    values = {
        "version": _VERSION,
        "id": upload.id,
        "filename": upload.filename,
        "created": upload.created,
        **table_values(upload.table),
    }
    (folder / "table.json").write_text(json.dumps(values), encoding="utf-8")


def _read(folder: Path) -> Upload:
    values = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    if values["version"] != _VERSION:
        raise ValueError(f"version {values['version']} of the format is not {_VERSION}")
    numbers = np.load(folder / "numbers.npy", allow_pickle=False)
    codes = np.load(folder / "codes.npy", allow_pickle=False)
    table = table_from(values, numbers, codes)
    return Upload(values["id"], values["filename"], table, values["created"])
