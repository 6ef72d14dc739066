"""One SQLite file for any number of threads and processes.

Entry point: `Database`. Connections are kept for each thread, opened anew in a forked child and when the file was
removed or replaced. A file that is no database any more, or one of another version, is set aside.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

BUSY_TIMEOUT = 20.0  # seconds to wait for another process's transaction

logger = logging.getLogger(__name__)


class _OtherVersion(Exception):
    """The file was made by a program with another schema."""


class Database:
    """A file in WAL mode with a schema.

    Parameters
    ----------
    file : Path
        Made when first needed, with its folder, and again when it is gone.
    schema : str
        Statements that are carried out once, when the file is made.
    version : int
        Changes with the schema.
    """

    def __init__(self, file: Path, schema: str, version: int = 1) -> None:
        self._file = file
        self._schema = schema
        self._version = version
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock while the block runs; all of it is kept, or nothing."""
        db = self.connection()
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            if db.in_transaction:  # on a full disk SQLite has rolled back by itself
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        kept = getattr(self._local, "kept", None)
        try:
            found = (os.getpid(), self._file.stat().st_ino)
        except FileNotFoundError:
            found = None
        if kept is not None and kept[0] == found:
            connection: sqlite3.Connection = kept[1]
            return connection
        connection = self._open()
        self._local.kept = ((os.getpid(), self._file.stat().st_ino), connection)
        return connection

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._file.with_suffix(".lock")):
            try:
                return self._connect()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # Not a database any more. Keep it for whoever wants to look, and start afresh.
                self._set_aside("damaged")
            except _OtherVersion:
                self._set_aside("older")
            return self._connect()

    def _set_aside(self, why: str) -> None:
        aside = self._file.with_suffix(f".{why}-{int(time.time())}")
        self._file.rename(aside)
        logger.warning("%s is set aside as %s", self._file.name, aside.name)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=BUSY_TIMEOUT, isolation_level=None)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != self._version and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise _OtherVersion
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if version != self._version:  # else nothing is written, so that a full disk can still be read
            connection.executescript(f"BEGIN; {self._schema}; PRAGMA user_version = {self._version}; COMMIT")
