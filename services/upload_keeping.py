"""What every store of uploads does, wherever it keeps them.

Entry points: `Upload`, `Uploads` (whose subclasses say where uploads are), `GONE` and `NO_ROOM`. What is kept of an
upload is a few files or values: ``table.json`` (names, roles, report), ``numbers.npy`` and ``codes.npy`` (columns of
numbers and of text), ``cells.z`` (the file's own words, where it has any), in formats that hold data and never code.
"""

from __future__ import annotations

import io
import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.limits import MAX_BYTES
from offgrid.datasets.reading import shown_name
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services.handles import Handles, short
from services.parsing import Read, read_guarded
from services.tables import table_arrays, table_from, table_values

GONE = "This upload is no longer kept. Upload the file again."
NO_ROOM = "The server has no room for another file now; try a smaller one, or come back later."
SPARED = 600.0  # seconds after its last use in which an upload is not deleted for another visitor's
PARTS = ("table.json", "numbers.npy", "codes.npy", "cells.z")  # the last one not of every upload
_VERSION = 1

logger = logging.getLogger(__name__)


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
class Kept:
    """An upload as the store counts it: whose it is, what it takes, and when it was used last."""

    id: str
    visitor: str
    size: int
    used: float


class Uploads(ABC):
    """Keeps uploads within limits.

    Parameters
    ----------
    max_rows : int or None
        Most rows allowed.
    max_bytes : int
        Largest file allowed.
    handles : Handles, optional
        Makes the uploads' ids, and tells forged ones.
    room, visitor_room : float
        Bytes that all uploads may take as kept, and those of one visitor.
    in_use : callable, optional
        Returns the ids of uploads that searches under way need: these stay.
    read : callable
        Reads a file; by default in a process with limits.
    """

    def __init__(
        self,
        *,
        max_rows: int | None = None,
        max_bytes: int = MAX_BYTES,
        handles: Handles | None = None,
        room: float = float("inf"),
        visitor_room: float = float("inf"),
        in_use: Callable[[], AbstractSet[str]] = frozenset,
        read: Read = read_guarded,
    ) -> None:
        self.max_rows = max_rows
        self.max_bytes = max_bytes
        self._handles = handles or Handles("upload")
        self._room, self._visitor_room, self._in_use = room, visitor_room, in_use
        self._read_file = read

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
        self._put(upload, packed(upload), visitor)
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
            return unpacked(self._parts(upload_id))
        except FileNotFoundError as error:
            raise InputError(GONE) from error
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            logger.warning("upload %s cannot be read", short(upload_id), exc_info=True)
            raise InputError(GONE) from error

    def touch(self, upload_id: str) -> None:
        """Note that an upload is used; raise `InputError` where it is not kept (any more)."""
        if not self._handles.valid(upload_id) or not self._use(upload_id):
            raise InputError(GONE)

    def sweep(self, older_than: float) -> int:
        """Delete what was not used for `older_than` seconds, or is over the room for all; return how many went."""
        with self._alone():
            limit = self._now() - older_than
            swept = sum(self._delete(kept.id) for kept in self._kept() if kept.used < limit)
            return swept + self._make_room(0)

    def size(self) -> int:
        """Return the bytes that all uploads take."""
        return sum(kept.size for kept in self._kept())

    @abstractmethod
    def rebase(self) -> None:
        """Count every upload as used now: the clock was set, and ages mean nothing."""

    # Where they are --------------------------------------------------------------------------------------------------

    @abstractmethod
    def _put(self, upload: Upload, parts: Mapping[str, bytes], visitor: str) -> None:
        """Keep an upload whole, once there is room."""

    @abstractmethod
    def _parts(self, upload_id: str) -> Mapping[str, bytes]:
        """Return what is kept of an upload; raise `FileNotFoundError` where nothing is."""

    @abstractmethod
    def _use(self, upload_id: str) -> bool:
        """Note that an upload is used now; False where it is not kept."""

    @abstractmethod
    def _delete(self, upload_id: str) -> bool:
        """Delete an upload; False where that cannot be."""

    @abstractmethod
    def _kept(self) -> Iterable[Kept]:
        """Return what is kept, the least recently used first."""

    @abstractmethod
    def _alone(self) -> AbstractContextManager[Any]:
        """Return a lock: room is counted and taken by one process at a time."""

    def _now(self) -> float:
        """Return the time that `_kept` counts in."""
        return time.time()

    # Room ------------------------------------------------------------------------------------------------------------

    def _make_room_for(self, size: int, visitor: str) -> None:
        """Have room for a visitor's upload, or raise `InputError`."""
        if size > self._visitor_room:
            takes, most = f"{size / 1e6:,.1f} MB", f"{self._visitor_room / 1e6:,.1f} MB"
            raise InputError(f"The table takes {takes}, and this server keeps {most} for one visitor; use fewer rows.")
        busy, own = self._in_use(), [kept for kept in self._kept() if kept.visitor == visitor]
        used = sum(kept.size for kept in own)
        for kept in own:
            if used + size > self._visitor_room and kept.id not in busy and self._delete(kept.id):
                used -= kept.size
        if used + size > self._visitor_room:
            raise InputError("Your searches under way need all the room this server has for your files; cancel one.")
        self._make_room(size)
        if self.size() + size > self._room:
            raise InputError(NO_ROOM)

    def _make_room(self, size: int) -> int:
        """Delete the least recently used uploads until `size` bytes have room; return how many went."""
        every, busy, swept = list(self._kept()), self._in_use(), 0
        used, recent = sum(kept.size for kept in every), self._now() - SPARED
        for kept in every:
            if used + size <= self._room:
                break
            if kept.used < recent and kept.id not in busy and self._delete(kept.id):
                used, swept = used - kept.size, swept + 1
        return swept


def packed(upload: Upload) -> dict[str, bytes]:
    """Return what is kept of an upload, by name."""
    numbers, codes = table_arrays(upload.table)
    values = {
        "version": _VERSION,
        "id": upload.id,
        "filename": upload.filename,
        "created": upload.created,
        **table_values(upload.table),
    }
    parts = {
        "table.json": json.dumps(values).encode(),
        "numbers.npy": _array_bytes(numbers),
        "codes.npy": _array_bytes(codes),
    }
    given = upload.table.given
    return parts if given is None else {**parts, "cells.z": given.packed}


def unpacked(parts: Mapping[str, bytes]) -> Upload:
    """Rebuild from `packed`.

    Raises
    ------
    ValueError, LookupError, TypeError, OSError
        Where the parts do not make an upload.
    """
    values = json.loads(parts["table.json"])
    if values["version"] != _VERSION:
        raise ValueError(f"version {values['version']} of the format is not {_VERSION}")
    numbers = np.load(io.BytesIO(parts["numbers.npy"]), allow_pickle=False)
    codes = np.load(io.BytesIO(parts["codes.npy"]), allow_pickle=False)
    table = table_from(values, numbers, codes, parts.get("cells.z", b""))
    return Upload(values["id"], values["filename"], table, values["created"])


def _array_bytes(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
