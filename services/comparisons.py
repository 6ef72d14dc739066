"""What other methods found on the same data: kept by content, so that each is carried out once for everybody.

Entry point: `ComparisonStore`, one SQLite file. Memory: the results asked for lately, n int32 each.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from offgrid.comparison import Comparison
from services.database import Database

KEPT = 64

SCHEMA = """
CREATE TABLE IF NOT EXISTS comparisons (
    key TEXT PRIMARY KEY,
    made REAL NOT NULL,
    used REAL NOT NULL,
    value BLOB NOT NULL
);
"""


class ComparisonStore:
    """Results of methods by the key of their content.

    Parameters
    ----------
    folder : Path
        The file ``comparisons.sqlite3`` is made there when first needed, and again when the folder is gone.
    clock : callable, optional
        Returns seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(folder / "comparisons.sqlite3", SCHEMA)
        self._clock = clock
        self._known: OrderedDict[str, Comparison] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, comparison: Comparison) -> None:
        """Keep a result."""
        text = json.dumps(comparison.to_dict(), default=lambda number: number.item())
        now = self._clock()
        with self._database.transaction() as db:
            packed = zlib.compress(text.encode(), 1)
            db.execute("INSERT OR REPLACE INTO comparisons VALUES (?, ?, ?, ?)", (key, now, now, packed))
        self._remember(key, comparison)

    def get(self, key: str) -> Comparison | None:
        """Return a result, None where there is none, or what was kept is damaged."""
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        row = self._database.connection().execute("SELECT value FROM comparisons WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            found = Comparison.from_dict(json.loads(zlib.decompress(row["value"])))
        except (zlib.error, ValueError, KeyError, TypeError):
            return None
        self._remember(key, found)
        return found

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return those of the keys that have no result."""
        return [key for key in keys if self.get(key) is None]

    def sweep(self, older_than: float) -> int:
        """Drop results made more than so many seconds ago; return how many."""
        with self._database.transaction() as db:
            return db.execute("DELETE FROM comparisons WHERE made < ?", (self._clock() - older_than,)).rowcount

    def _remember(self, key: str, comparison: Comparison) -> None:
        with self._lock:
            self._known[key] = comparison
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
