"""Uploaded files, kept as parsed tables until swept.

Entry point: `UploadStore`. Each upload is a folder with ``table.json`` (names, roles, report), ``numbers.npy`` and
``codes.npy`` (columns of numbers and of text): formats that hold data and never code. The folder appears whole, by one
rename, so that no reader meets half an upload.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from offgrid.datasets.limits import MAX_BYTES
from offgrid.datasets.reading import shown_name
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services.disk import is_full, size_of
from services.handles import Handles, short
from services.parsing import Read, read_guarded
from services.tables import table_arrays, table_from, table_values

logger = logging.getLogger(__name__)

GONE = "This upload is no longer kept. Upload the file again."
NO_ROOM = "The server has no room for another file now; try a smaller one, or come back later."
SPARED = 600.0  # seconds after its last use in which an upload is not deleted for another visitor's
_VERSION = 1
_NEW = ".new-"
_VISITOR = "visitor"  # the file that says whose upload it is


@dataclass(frozen=True, eq=False)
class Upload:
    """An uploaded file.

    Attributes
    ----------
    id : str
        Unguessable, signed, and safe in an address: whoever has it may look at the upload.
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


@dataclass(frozen=True)
class _Kept:
    """A folder of the store: whose it is, what it takes, and when it was used last."""

    folder: Path
    visitor: str
    size: int
    used: float


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
    handles : Handles, optional
        Makes the uploads' ids, and tells forged ones.
    room, visitor_room : float
        Bytes that all uploads may take as kept, and those of one visitor.
    in_use : callable, optional
        Returns the ids of uploads that searches under way need: these stay.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        max_rows: int | None = None,
        max_bytes: int = MAX_BYTES,
        handles: Handles | None = None,
        room: float = float("inf"),
        visitor_room: float = float("inf"),
        in_use: Callable[[], AbstractSet[str]] = frozenset,
        read: Read = read_guarded,
    ) -> None:
        self._read_file = read
        self.folder = Path(folder)
        self.max_rows = max_rows
        self.max_bytes = max_bytes
        self._handles = handles or Handles("upload")
        self._room, self._visitor_room, self._in_use = room, visitor_room, in_use

    def save(self, filename: str, content: bytes, visitor: str = "") -> Upload:
        """Read a file and keep what it holds, as this visitor's.

        Where the visitor's room is used up, their least recently used uploads make place; where the server's is,
        those of anybody who has not used theirs for a while.

        Raises
        ------
        InputError
            If it cannot be used, or there is no room; nothing is kept then.
        """
        name = shown_name(filename)
        table = self._read_file(content, name=name, max_rows=self.max_rows, max_bytes=self.max_bytes)
        return self.keep(name, table, visitor)

    def keep(self, name: str, table: Table, visitor: str = "") -> Upload:
        """Keep a table that is read already, under a name fit to be shown; raise `InputError` as `save` does."""
        upload = Upload(self._handles.new(), name, table, time.time())
        try:
            self._put(upload, visitor)
        except OSError as error:
            if not is_full(error):
                raise
            logger.exception("no room for an upload")
            raise InputError(NO_ROOM) from error
        return upload

    def get(self, upload_id: str) -> Upload:
        """Return an upload, which counts as used now.

        Raises
        ------
        InputError
            If there is none under this id, or no longer.
        """
        self.touch(upload_id)
        try:
            return _read(self.folder / upload_id)
        except FileNotFoundError as error:
            raise InputError(GONE) from error
        except (OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("upload %s cannot be read", short(upload_id), exc_info=True)
            raise InputError(GONE) from error

    def touch(self, upload_id: str) -> None:
        """Note that an upload is used; raise `InputError` where it is not kept (any more)."""
        if not self._handles.valid(upload_id):
            raise InputError(GONE)
        try:
            os.utime(self.folder / upload_id)
        except FileNotFoundError as error:
            raise InputError(GONE) from error
        except OSError:
            logger.warning("the use of upload %s could not be noted", short(upload_id), exc_info=True)

    def sweep(self, older_than: float) -> int:
        """Delete what was not used for `older_than` seconds, or is over the room for all; return how many went.

        What an interrupted save has left is swept too.
        """
        if not self.folder.is_dir():
            return 0
        limit = time.time() - older_than
        with self._alone():
            swept = sum(_deleted(kept.folder) for kept in self._kept(new=True) if kept.used < limit)
            return swept + self._make_room(0)

    def rebase(self) -> None:
        """Count every upload as used now: the clock was set, and ages mean nothing."""
        now = time.time()
        for kept in self._kept(new=True):
            os.utime(kept.folder, (now, now))

    def size(self) -> int:
        """Return the bytes that all uploads take."""
        return sum(kept.size for kept in self._kept())

    # Within ----------------------------------------------------------------------------------------------------------

    def _put(self, upload: Upload, visitor: str) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.folder))
        try:
            _write(new, upload)
            (new / _VISITOR).write_text(visitor, encoding="utf-8")
            with self._alone():
                self._make_room_for(size_of(new), visitor)
                new.rename(self.folder / upload.id)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise

    def _make_room_for(self, size: int, visitor: str) -> None:
        if size > self._visitor_room:
            takes, most = f"{size / 1e6:,.1f} MB", f"{self._visitor_room / 1e6:,.1f} MB"
            raise InputError(f"The table takes {takes}, and this server keeps {most} for one visitor; use fewer rows.")
        busy, own = self._in_use(), [kept for kept in self._kept() if kept.visitor == visitor]
        used = sum(kept.size for kept in own)
        for kept in own:
            if used + size > self._visitor_room and kept.folder.name not in busy and _deleted(kept.folder):
                used -= kept.size
        if used + size > self._visitor_room:
            raise InputError("Your searches under way need all the room this server has for your files; cancel one.")
        self._make_room(size)
        if self.size() + size > self._room:
            raise InputError(NO_ROOM)

    def _make_room(self, size: int) -> int:
        """Delete the least recently used uploads until `size` bytes have room; return how many went."""
        every, busy, swept = list(self._kept()), self._in_use(), 0
        used, recent = sum(kept.size for kept in every), time.time() - SPARED
        for kept in every:
            if used + size <= self._room:
                break
            if kept.used < recent and kept.folder.name not in busy and _deleted(kept.folder):
                used, swept = used - kept.size, swept + 1
        return swept

    def _kept(self, *, new: bool = False) -> Iterator[_Kept]:
        """Return what is kept, the least recently used first; with `new` what is being saved too."""
        found = []
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if not (self._handles.valid(folder.name) or (new and folder.name.startswith(_NEW))):
                continue
            try:
                owner = (folder / _VISITOR).read_text(encoding="utf-8")
            except OSError:
                owner = ""
            try:
                found.append(_Kept(folder, owner, size_of(folder), folder.stat().st_mtime))
            except FileNotFoundError:
                continue  # swept by another process
        return iter(sorted(found, key=lambda kept: kept.used))

    def _alone(self) -> FileLock:
        """Return a lock: room is counted and taken by one process at a time."""
        return FileLock(self.folder.with_suffix(".lock"))


def _deleted(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


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
