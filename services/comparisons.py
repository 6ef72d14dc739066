"""What other methods found on the same data: kept by content, so that each is carried out once for everybody.

Entry points: `ComparisonStore`, one SQLite file, and `Comparisons`, what every such store does. Memory: the results
asked for lately, n int32 each.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from offgrid.comparison import Comparison
from services.database import Database
from services.disk import is_full

KEPT = 64

SCHEMA = """
CREATE TABLE comparisons (
    key TEXT PRIMARY KEY,
    made REAL NOT NULL,
    used REAL NOT NULL,
    value BLOB NOT NULL
);
"""


class Comparisons(ABC):
    """Results of methods by the key of their content."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Comparison] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, comparison: Comparison) -> None:
        """Keep a result."""
        text = json.dumps(comparison.to_dict(), default=lambda number: number.item())
        self._write(key, zlib.compress(text.encode(), 1))
        self._remember(key, comparison)

    def get(self, key: str) -> Comparison | None:
        """Return a result, None where there is none, or what was kept is damaged."""
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        packed = self._read(key)
        if packed is None:
            return None
        try:
            found = Comparison.from_dict(json.loads(zlib.decompress(packed)))
        except (zlib.error, ValueError, KeyError, TypeError):
            return None
        self._remember(key, found)
        return found

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return those of the keys that have no result."""
        return [key for key in keys if self.get(key) is None]

    @abstractmethod
    def sweep(self, older_than: float) -> int:
        """Drop results made more than so many seconds ago; return how many."""

    @abstractmethod
    def _write(self, key: str, packed: bytes) -> None:
        """Keep the bytes of a result."""

    @abstractmethod
    def _read(self, key: str) -> bytes | None:
        """Return the bytes of a result, None where there are none."""

    def _remember(self, key: str, comparison: Comparison) -> None:
        with self._lock:
            self._known[key] = comparison
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)


class ComparisonStore(Comparisons):
    """Results in a folder.

    Parameters
    ----------
    folder : Path
        The file ``comparisons.sqlite3`` is made there when first needed, and again when the folder is gone.
    clock : callable, optional
        Returns seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._database = Database(folder / "comparisons.sqlite3", SCHEMA)
        self._clock = clock

    def sweep(self, older_than: float) -> int:
        """Drop results made more than so many seconds ago; return how many."""
        with self._database.transaction() as db:
            return db.execute("DELETE FROM comparisons WHERE made < ?", (self._clock() - older_than,)).rowcount

    def _write(self, key: str, packed: bytes) -> None:
        now = self._clock()
        with self._database.transaction() as db:
            db.execute("INSERT OR REPLACE INTO comparisons VALUES (?, ?, ?, ?)", (key, now, now, packed))

    def _read(self, key: str) -> bytes | None:
        try:
            db = self._database.connection()
        except sqlite3.OperationalError as error:
            if is_full(error):  # it can't even be opened, but what else there is can be shown
                return None
            raise
        row = db.execute("SELECT value FROM comparisons WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row["value"])
