"""The store of runs: the only truth about what was asked, what was found and what is happening.

Entry points: `SearchSettings` and `RunSettings` (what was asked, and its form in the address), `content_key`, `Run`
(one run as it stands) and `RunStore`.

Everything is in one SQLite file (WAL), opened by any number of processes at once. Transactions are short. Records are
appended one row each, packed and checksummed, so a killed process loses nothing that was found before. A run belongs
to the process that claimed it last; writes of any other process are refused with `LostRun`. Memory: the paths asked
for lately are kept unpacked, n int32 for each record, and grow by the new rows only.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from offgrid.path import BandwidthPath, LevelEnd, PathRecord
from services.database import Database
from services.run_settings import RunSettings, SearchSettings, content_key

__all__ = ["LostRun", "Progress", "Run", "RunSettings", "RunState", "RunStore", "SearchSettings", "content_key"]

RunState = Literal["queued", "running", "finished", "cancelled", "failed", "interrupted"]

STALE_AFTER = 5.0  # seconds without a heartbeat (one a second) after which a process counts as gone
UNCLAIMED_AFTER = 20.0  # seconds that a new run may wait for its process to start, on a slow machine
KEPT_PATHS = 8  # runs whose paths are kept unpacked in memory

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    queued REAL NOT NULL,
    started REAL,
    heartbeat REAL NOT NULL,
    worked REAL NOT NULL DEFAULT 0,
    pid INTEGER,
    owner TEXT,
    cancel INTEGER NOT NULL DEFAULT 0,
    progress TEXT,
    lower_bound REAL,
    lower_bound_note TEXT NOT NULL DEFAULT '',
    ends TEXT NOT NULL DEFAULT '[]',
    n_records INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS records (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state, queued);
"""


class LostRun(Exception):
    """The run was claimed by another process meanwhile, or is gone; whoever gets this must stop writing to it."""


@dataclass(frozen=True)
class Progress:
    """Where a search is: level of the hierarchy, bandwidth, and the share of the log-sigma range covered (0 to 1).

    After the search, `beside` says what is carried out beside it, in words, and `share` how much of that is done.
    """

    level: int
    n_levels: int
    sigma: float
    share: float
    beside: str = ""


@dataclass(frozen=True)
class Run:
    """One run as it stands.

    Attributes
    ----------
    id : str
    key : str
        Hash of the data, the search settings and the version of the library.
    settings : RunSettings
    state : str
        "interrupted" is a run whose process stopped beating; it can be resumed from its last record.
    message : str
        Why it failed, or what was repaired, in one sentence.
    created, heartbeat : float
        Seconds since the epoch.
    started : float or None
        When its present process got a slot.
    seconds : float
        Time spent searching, over all its processes.
    pid : int or None
        Process that claimed it last.
    place : int or None
        Place in the queue, from 1, while queued.
    cancelling : bool
        Cancel was asked for and is about to be noticed.
    progress : Progress or None
    lower_bound : float or None
        Theorem 1's bound; None where there is none, with the reason in `lower_bound_note`.
    path : BandwidthPath
        The records so far.
    """

    id: str
    key: str
    settings: RunSettings
    state: RunState
    message: str
    created: float
    heartbeat: float
    started: float | None
    seconds: float
    pid: int | None
    place: int | None
    cancelling: bool
    progress: Progress | None
    lower_bound: float | None
    lower_bound_note: str
    path: BandwidthPath

    @property
    def active(self) -> bool:
        """Whether a process is at work on it, or about to be."""
        return self.state in ("queued", "running")


class RunStore:
    """Runs in one SQLite file, for any number of threads and processes.

    Parameters
    ----------
    folder : Path
        The file ``runs.sqlite3`` is made there when first needed, and again when the folder is gone.
    clock : callable, optional
        Returns seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(folder / "runs.sqlite3", SCHEMA)
        self._clock = clock
        self._paths: OrderedDict[str, tuple[tuple[Any, ...], BandwidthPath]] = OrderedDict()
        self._paths_lock = threading.Lock()

    # Asking ----------------------------------------------------------------------------------------------------------

    def create(self, settings: RunSettings, key: str) -> str:
        """Return the id of the run with this key, made if there is none, and queued again if it stopped early.

        The same search on the same data is one run, whoever asks: an active one is joined, a finished one is found,
        a cancelled, failed or interrupted one goes on after its last record.
        """
        with self._database.transaction() as db:
            row = db.execute("SELECT * FROM runs WHERE key = ?", (key,)).fetchone()
            if row is not None:
                if self._state(row) not in ("queued", "running", "finished"):
                    self._reopen(db, row["id"], settings)
                return str(row["id"])
            run_id, now = secrets.token_urlsafe(9), self._clock()
            db.execute(
                "INSERT INTO runs (id, key, settings, state, created, queued, heartbeat) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (run_id, key, json.dumps(settings.to_dict()), "queued", now, now, now),
            )
            return run_id

    def ask_beside(self, run_id: str, settings: RunSettings) -> None:
        """Ask for more beside the path: a finished run is queued again, an active one has it added to the rest."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None:
                return
            if self._state(row) == "finished":
                self._reopen(db, run_id, settings)
            else:
                asked = RunSettings.from_dict(json.loads(row["settings"]))
                both = replace(asked, compare=asked.compare + settings.compare)
                db.execute("UPDATE runs SET settings = ? WHERE id = ?", (json.dumps(both.to_dict()), run_id))

    def resume(self, run_id: str) -> bool:
        """Queue a run that stopped early again; False where it is active, finished or unknown."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None or self._state(row) in ("queued", "running", "finished"):
                return False
            self._reopen(db, run_id, None)
            return True

    def cancel(self, run_id: str) -> None:
        """Ask for the run to stop. Its process notices within a second or so; without a process it stops at once."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None or row["state"] not in ("queued", "running", "interrupted"):
                return
            if self._state(row) == "interrupted" or row["owner"] is None:
                db.execute("UPDATE runs SET state = 'cancelled', cancel = 0, owner = NULL WHERE id = ?", (run_id,))
            else:
                db.execute("UPDATE runs SET cancel = 1 WHERE id = ?", (run_id,))

    # Reading ---------------------------------------------------------------------------------------------------------

    def get(self, run_id: str) -> Run | None:
        """Return the run as it stands, or None where the id is not known."""
        row = self._row(self._database.connection(), run_id)
        return None if row is None else self._run(row)

    def version(self, run_id: str) -> str:
        """Return a short text that changes when anything to be drawn of the run does."""
        row = self._row(self._database.connection(), run_id)
        if row is None:
            return "gone"
        parts = (row["id"], self._state(row), row["n_records"], row["epoch"], row["cancel"], row["ends"])
        return ":".join(str(part) for part in parts)

    def find_finished(self, key: str) -> str | None:
        """Return the id of the finished run with this key."""
        db = self._database.connection()
        row = db.execute("SELECT id FROM runs WHERE key = ? AND state = 'finished'", (key,)).fetchone()
        return None if row is None else str(row["id"])

    # Carrying out ----------------------------------------------------------------------------------------------------

    def claim(self, run_id: str) -> str | None:
        """Take a queued run for this process and return a token for the calls below; None where it is another's."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None or row["state"] != "queued" or (row["owner"] is not None and not self._stale(row)):
                return None
            owner = secrets.token_hex(8)
            db.execute(
                "UPDATE runs SET owner = ?, pid = ?, heartbeat = ?, started = NULL WHERE id = ?",
                (owner, os.getpid(), self._clock(), run_id),
            )
            return owner

    def place(self, run_id: str) -> int:
        """Return the place in the queue, from 1; 0 where the run is not queued.

        Only runs whose process is alive and waiting count, so that a dead one holds nobody up.
        """
        row = self._row(self._database.connection(), run_id)
        return 0 if row is None or row["state"] != "queued" else self._place(row)

    def start(self, run_id: str, owner: str) -> None:
        """Note that the run has its slot."""
        now = self._clock()
        self._change(run_id, owner, "state = 'running', started = ?, heartbeat = ?", (now, now))

    def beat(self, run_id: str, owner: str, progress: Progress | None = None) -> bool:
        """Note that the process lives, and where the search is; True where cancel was asked for."""
        told = _pack_progress(progress)
        with self._database.transaction() as db:
            self._require(db, run_id, owner)
            db.execute(
                "UPDATE runs SET heartbeat = ?, progress = coalesce(?, progress) WHERE id = ?",
                (self._clock(), told, run_id),
            )
            return bool(db.execute("SELECT cancel FROM runs WHERE id = ?", (run_id,)).fetchone()["cancel"])

    def set_bound(self, run_id: str, owner: str, bound: float | None, note: str) -> None:
        """Keep Theorem 1's bound, or why there is none."""
        self._change(run_id, owner, "lower_bound = ?, lower_bound_note = ?", (bound, note))

    def set_ends(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Keep how the levels ended: the path is complete, while more is carried out beside it."""
        self._change(run_id, owner, "ends = ?", (_pack_ends(ends),))

    def append(
        self,
        run_id: str,
        owner: str,
        record: PathRecord,
        ends: Sequence[LevelEnd] = (),
        progress: Progress | None = None,
    ) -> bool:
        """Add a record after the last one, with how the levels before it ended; True where cancel was asked for."""
        packed, told = _pack(record), _pack_progress(progress)
        with self._database.transaction() as db:
            row = self._require(db, run_id, owner)
            db.execute("INSERT INTO records VALUES (?, ?, ?)", (run_id, row["n_records"], packed))
            db.execute(
                "UPDATE runs SET n_records = n_records + 1, heartbeat = ?, ends = ?, progress = coalesce(?, progress) "
                "WHERE id = ?",
                (self._clock(), _pack_ends(ends), told, run_id),
            )
            return bool(row["cancel"])

    def finish(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Close the run as complete."""
        self._close(run_id, owner, "finished", "", ends)

    def stop(self, run_id: str, owner: str, state: Literal["cancelled", "interrupted"], message: str = "") -> None:
        """Close the run before its end; its records stay."""
        self._close(run_id, owner, state, message)

    def fail(self, run_id: str, owner: str, message: str) -> None:
        """Close the run with the reason why it could not be completed; its records stay."""
        self._close(run_id, owner, "failed", message)

    # Within ----------------------------------------------------------------------------------------------------------

    def _close(self, run_id: str, owner: str, state: str, message: str, ends: Sequence[LevelEnd] | None = None) -> None:
        change = (
            "state = ?, message = ?, ends = coalesce(?, ends), worked = worked + coalesce(? - started, 0), "
            "started = NULL, heartbeat = ?, owner = NULL, cancel = 0"
        )
        now = self._clock()
        packed = None if ends is None else _pack_ends(ends)
        self._change(run_id, owner, change, (state, message, packed, now, now))

    def _reopen(self, db: sqlite3.Connection, run_id: str, settings: RunSettings | None) -> None:
        """Queue again; time between the last slot and the last heartbeat was spent searching, so it counts."""
        now = self._clock()
        db.execute(
            "UPDATE runs SET state = 'queued', message = '', queued = ?, cancel = 0, owner = NULL, pid = NULL, "
            "worked = worked + coalesce(heartbeat - started, 0), started = NULL, heartbeat = ?, "
            "settings = coalesce(?, settings) WHERE id = ?",
            (now, now, None if settings is None else json.dumps(settings.to_dict()), run_id),
        )

    def _change(self, run_id: str, owner: str, assignments: str, values: tuple[Any, ...]) -> None:
        with self._database.transaction() as db:
            self._require(db, run_id, owner)
            db.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*values, run_id))  # noqa: S608 - our own text

    def _require(self, db: sqlite3.Connection, run_id: str, owner: str) -> sqlite3.Row:
        row = self._row(db, run_id)
        if row is None or row["owner"] != owner:
            raise LostRun(run_id)
        return row

    @staticmethod
    def _row(db: sqlite3.Connection, run_id: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row

    def _stale(self, row: sqlite3.Row) -> bool:
        allowed = UNCLAIMED_AFTER if row["owner"] is None else STALE_AFTER
        return bool(self._clock() - row["heartbeat"] > allowed)

    def _state(self, row: sqlite3.Row) -> RunState:
        if row["state"] in ("queued", "running") and self._stale(row):
            return "interrupted"
        state: RunState = row["state"]
        return state

    def _place(self, row: sqlite3.Row) -> int:
        waiting = self._database.connection().execute("SELECT * FROM runs WHERE state = 'queued' ORDER BY queued, id")
        ahead = 0
        for other in waiting:
            if other["id"] == row["id"]:
                break
            ahead += other["owner"] is not None and not self._stale(other)
        return ahead + 1

    def _run(self, row: sqlite3.Row) -> Run:
        path = self._path(row)
        if len(path) < row["n_records"]:
            row = self._cut(row["id"], len(path)) or row
            path = self._path(row)
        state = self._state(row)
        last = self._clock() if state == "running" else row["heartbeat"]
        searching = 0.0 if row["started"] is None else last - row["started"]
        return Run(
            id=row["id"],
            key=row["key"],
            settings=RunSettings.from_dict(json.loads(row["settings"])),
            state=state,
            message=row["message"],
            created=row["created"],
            heartbeat=row["heartbeat"],
            started=row["started"],
            seconds=row["worked"] + searching,
            pid=row["pid"],
            place=self._place(row) if state == "queued" else None,
            cancelling=bool(row["cancel"]),
            progress=Progress(**json.loads(row["progress"])) if row["progress"] else None,
            lower_bound=row["lower_bound"],
            lower_bound_note=row["lower_bound_note"],
            path=path,
        )

    def _path(self, row: sqlite3.Row) -> BandwidthPath:
        """Return the records so far, reading only the rows that this process has not seen."""
        version = (row["epoch"], row["n_records"], row["ends"])
        with self._paths_lock:
            known = self._paths.get(row["id"])
        if known is not None and known[0] == version:
            return known[1]
        seen = known[1].records if known is not None and known[0][0] == row["epoch"] else ()
        records = [*seen[: row["n_records"]], *self._read(row["id"], len(seen), row["n_records"])]
        ends = [LevelEnd.from_dict(end) for end in json.loads(row["ends"])]
        path = BandwidthPath(records, ends)
        if len(path) == row["n_records"]:
            with self._paths_lock:
                self._paths[row["id"]] = (version, path)
                self._paths.move_to_end(row["id"])
                while len(self._paths) > KEPT_PATHS:
                    self._paths.popitem(last=False)
        return path

    def _read(self, run_id: str, first: int, last: int) -> list[PathRecord]:
        """Return the records of rows `first` to `last` - 1, up to the first that is missing or damaged."""
        rows = self._database.connection().execute(
            "SELECT place, record FROM records WHERE run = ? AND place >= ? AND place < ? ORDER BY place",
            (run_id, first, last),
        )
        records: list[PathRecord] = []
        for row in rows:
            record = _unpack(row["record"]) if row["place"] == first + len(records) else None
            if record is None:
                break
            records.append(record)
        return records

    def _cut(self, run_id: str, kept: int) -> sqlite3.Row | None:
        """Drop what follows a damaged record, so that the run can be resumed from the last good one."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM records WHERE run = ? AND place >= ?", (run_id, kept))
            db.execute(
                "UPDATE runs SET n_records = ?, epoch = epoch + 1, ends = '[]', owner = NULL, started = NULL, "
                "state = 'interrupted', message = ? WHERE id = ?",
                (kept, f"Value {kept + 1} was damaged on the disk; the values before it are kept.", run_id),
            )
            return self._row(db, run_id)


def _pack_progress(progress: Progress | None) -> str | None:
    return None if progress is None else json.dumps(vars(progress))


def _pack_ends(ends: Sequence[LevelEnd]) -> str:
    return json.dumps([end.to_dict() for end in ends])


def _pack(record: PathRecord) -> bytes:
    text = json.dumps(record.to_dict(pack=True), default=lambda number: number.item())
    return zlib.compress(text.encode(), 1)


def _unpack(packed: bytes) -> PathRecord | None:
    """Return the record, or None where its bytes are damaged (zlib carries a checksum)."""
    try:
        return PathRecord.from_dict(json.loads(zlib.decompress(packed)))
    except (zlib.error, ValueError, KeyError, TypeError):
        return None
