"""The store of reruns: lines of the paper's tables that were done again here.

Entry points: `Rerun` (one as it stands) and `RerunStore`. Everything is in one SQLite file, as the searches are: what a
process finds is written the moment it is found, a process that stops beating is gone, and what was written stays. A
rerun belongs to the process that claimed it; anybody else's writes are refused with `LostRerun`. Its id is a secret:
who has it may cancel. What came out is for everybody.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from offgrid.errors import InputError
from services.database import Database

RerunState = Literal["queued", "running", "finished", "cancelled", "failed", "interrupted"]

MOST_RUNS = 50
MOST_WAITING = 20  # reruns that are queued or running, of everybody
KEPT = 500  # reruns that are kept; the oldest go first
STALE_AFTER = 10.0  # seconds without a heartbeat (one a second) after which a process counts as gone
UNCLAIMED_AFTER = 30.0  # seconds that a new rerun may wait for its process to start

SCHEMA = """
CREATE TABLE reruns (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    runs INTEGER NOT NULL,
    source TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    doing TEXT NOT NULL DEFAULT '',
    share REAL NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    started REAL,
    seconds REAL NOT NULL DEFAULT 0,
    heartbeat REAL NOT NULL,
    owner TEXT,
    cancel INTEGER NOT NULL DEFAULT 0,
    found TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX reruns_by_line ON reruns (kind, name, place);
"""


class LostRerun(Exception):
    """The rerun is gone or another process's; whoever gets this must stop writing to it."""


@dataclass(frozen=True)
class Rerun:
    """One line done again, as it stands.

    Attributes
    ----------
    id : str
    kind : str
        What is measured, one of `offgrid.experiments.again.KINDS`'s values.
    name : str
        The line: a data set, or "mnist-1000".
    runs : int
        Runs asked for.
    source : str
        Where the data come from: a file's name, or "built in".
    state : str
        "interrupted" is one whose process stopped beating.
    message : str
        Why it failed, in one sentence.
    doing : str
        What is being measured.
    share : float
        Share of all that is done.
    created : float
        Seconds since the epoch.
    seconds : float
        Time since it got its slot.
    waiting : int
        Reruns ahead of it while it is queued.
    cancelling : bool
    found : tuple of dict
        The runs that are done.
    """

    id: str
    kind: str
    name: str
    runs: int
    source: str
    state: RerunState
    message: str
    doing: str
    share: float
    created: float
    seconds: float
    waiting: int
    cancelling: bool
    found: tuple[Mapping[str, Any], ...]

    @property
    def active(self) -> bool:
        """Whether a process is at work on it, or about to be."""
        return self.state in ("queued", "running")


class RerunStore:
    """Reruns in one SQLite file, for any number of threads and processes.

    Parameters
    ----------
    folder : Path
        The file ``reruns.sqlite3`` is made there when first needed.
    clock : callable, optional
        Returns seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(folder / "reruns.sqlite3", SCHEMA)
        self._clock = clock

    # Asking ----------------------------------------------------------------------------------------------------------

    def create(self, kind: str, name: str, runs: int) -> str:
        """Return the id of a new rerun, queued.

        Raises
        ------
        InputError
            Where the number of runs is not allowed, or too many reruns wait already.
        """
        if not 1 <= runs <= MOST_RUNS:
            raise InputError(f"{runs:,} runs were asked for; choose from 1 to {MOST_RUNS}.")
        with self._database.transaction() as db:
            rows = db.execute("SELECT * FROM reruns WHERE state IN ('queued', 'running')").fetchall()
            if sum(self._state(row) in ("queued", "running") for row in rows) >= MOST_WAITING:
                raise InputError(
                    f"{MOST_WAITING} reruns are waiting already, the most that are taken; try again later."
                )
            rerun_id, now = secrets.token_urlsafe(12), self._clock()
            cursor = db.execute(
                "INSERT INTO reruns (id, kind, name, runs, state, created, heartbeat) "
                "VALUES (?, ?, ?, ?, 'queued', ?, ?)",
                (rerun_id, kind, name, runs, now, now),
            )
            db.execute("DELETE FROM reruns WHERE place <= ?", ((cursor.lastrowid or 0) - KEPT,))
            return rerun_id

    def cancel(self, rerun_id: str) -> None:
        """Ask for the rerun to stop; its process notices within a second or so, without one it stops at once."""
        with self._database.transaction() as db:
            row = _row(db, rerun_id)
            if row is None or self._state(row) not in ("queued", "running"):
                return
            if row["owner"] is None:
                db.execute("UPDATE reruns SET state = 'cancelled' WHERE id = ?", (rerun_id,))
            else:
                db.execute("UPDATE reruns SET cancel = 1 WHERE id = ?", (rerun_id,))

    # Reading ---------------------------------------------------------------------------------------------------------

    def get(self, rerun_id: str) -> Rerun | None:
        """Return the rerun as it stands, None where the id is not known."""
        db = self._database.connection()
        row = _row(db, rerun_id)
        return None if row is None else self._rerun(db, row)

    def latest(self, kind: str) -> dict[str, Rerun]:
        """Return for each line the last rerun that found anything and is at work no more."""
        db = self._database.connection()
        rows = db.execute("SELECT * FROM reruns WHERE kind = ? AND found != '[]' ORDER BY place", (kind,)).fetchall()
        reruns = [self._rerun(db, row) for row in rows]
        return {rerun.name: rerun for rerun in reruns if not rerun.active}

    # Carrying out ----------------------------------------------------------------------------------------------------

    def claim(self, rerun_id: str) -> str | None:
        """Take a queued rerun for this process, and return a token for the calls below; None where it is another's."""
        with self._database.transaction() as db:
            row = _row(db, rerun_id)
            if row is None or row["state"] != "queued" or row["owner"] is not None:
                return None
            owner = secrets.token_hex(8)
            db.execute("UPDATE reruns SET owner = ?, heartbeat = ? WHERE id = ?", (owner, self._clock(), rerun_id))
            return owner

    def first(self, rerun_id: str) -> bool:
        """Whether no other living rerun waits ahead of this one."""
        rerun = self.get(rerun_id)
        return rerun is not None and rerun.waiting == 0

    def start(self, rerun_id: str, owner: str, source: str) -> None:
        """Note that the rerun has its slot, and where its data come from."""
        values = (source, self._clock())
        self._change(rerun_id, owner, "state = 'running', source = ?, started = ?", values)

    def beat(self, rerun_id: str, owner: str) -> bool:
        """Note that the process lives; True where cancel was asked for."""
        return self._change(rerun_id, owner, "owner = owner", ())

    def tell(self, rerun_id: str, owner: str, share: float, doing: str) -> bool:
        """Note how far it is; True where cancel was asked for."""
        return self._change(rerun_id, owner, "share = ?, doing = ?", (share, doing))

    def append(self, rerun_id: str, owner: str, run: Mapping[str, Any]) -> None:
        """Keep a run that is done."""
        self._change(rerun_id, owner, "found = json_insert(found, '$[#]', json(?))", (json.dumps(run),))

    def close(self, rerun_id: str, owner: str, state: RerunState, message: str = "") -> None:
        """Close the rerun; the runs that are done stay."""
        self._change(rerun_id, owner, "state = ?, message = ?, owner = NULL, cancel = 0", (state, message))

    # Within ----------------------------------------------------------------------------------------------------------

    def _change(self, rerun_id: str, owner: str, assignments: str, values: tuple[Any, ...]) -> bool:
        now = self._clock()
        with self._database.transaction() as db:
            row = _row(db, rerun_id)
            if row is None or row["owner"] != owner:
                raise LostRerun(rerun_id)
            db.execute(
                f"UPDATE reruns SET {assignments}, heartbeat = ?, "  # noqa: S608 - our own text
                "seconds = coalesce(? - started, 0) WHERE id = ?",
                (*values, now, now, rerun_id),
            )
            return bool(row["cancel"])

    def _state(self, row: sqlite3.Row) -> RerunState:
        state: RerunState = row["state"]
        allowed = UNCLAIMED_AFTER if row["owner"] is None else STALE_AFTER
        stale = state in ("queued", "running") and self._clock() - row["heartbeat"] > allowed
        return "interrupted" if stale else state

    def _rerun(self, db: sqlite3.Connection, row: sqlite3.Row) -> Rerun:
        state = self._state(row)
        waiting = 0
        if state == "queued":
            ahead = db.execute("SELECT * FROM reruns WHERE state = 'queued' AND place < ?", (row["place"],))
            waiting = sum(self._state(other) == "queued" for other in ahead)
        return Rerun(
            row["id"], row["kind"], row["name"], row["runs"], row["source"], state, row["message"], row["doing"],
            row["share"], row["created"], row["seconds"], waiting, bool(row["cancel"]),
            tuple(json.loads(row["found"])),
        )  # fmt: skip


def _row(db: sqlite3.Connection, rerun_id: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute("SELECT * FROM reruns WHERE id = ?", (rerun_id,)).fetchone()
    return row
