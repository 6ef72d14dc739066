"""The rows of the store of runs: their schema, and what follows from a row and the time.

Entry points: `SCHEMA`, `state_of` and the functions below. Those that are given a connection and change something are
called within a transaction.
"""

from __future__ import annotations

import sqlite3

from services import run_keeping
from services.run_model import MOST_TRIES, STALE_AFTER, TRIED, RunState

VERSION = 2
SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    used REAL NOT NULL,
    asked REAL NOT NULL,
    queued INTEGER NOT NULL,
    started REAL,
    heartbeat REAL NOT NULL,
    worked REAL NOT NULL DEFAULT 0,
    pid INTEGER,
    owner TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    progress TEXT,
    lower_bound REAL,
    lower_bound_note TEXT NOT NULL DEFAULT '',
    ends TEXT NOT NULL DEFAULT '[]',
    n_records INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE records (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE INDEX runs_by_state ON runs (state, queued);
"""
LAST_PLACE = "(SELECT coalesce(max(queued), 0) + 1 FROM runs)"  # the place behind all others


def is_stale(row: sqlite3.Row, now: float) -> bool:
    """Whether the process that claimed the run is gone. A heartbeat from the future was before the machine's start."""
    return not -1 <= now - row["heartbeat"] <= STALE_AFTER


def state_of(row: sqlite3.Row, now: float) -> RunState:
    """Return the state: one that runs without a heartbeat is interrupted. A queued run needs no process."""
    if row["state"] == "running" and is_stale(row, now):
        return "interrupted"
    state: RunState = row["state"]
    return state


def place(db: sqlite3.Connection, row: sqlite3.Row) -> int:
    """Return the place of a queued run in the queue, from 1."""
    ahead = db.execute(
        "SELECT count(*) FROM runs WHERE state = 'queued' AND (queued, id) < (?, ?)", (row["queued"], row["id"])
    )
    return int(ahead.fetchone()[0]) + 1


def is_next(db: sqlite3.Connection, run_id: str, now: float) -> bool:
    """Whether no other waiting process is ahead of this run."""
    for row in _queue(db):
        if row["id"] == run_id:
            return True
        if row["owner"] is not None and not is_stale(row, now):
            return False
    return False


def startable(db: sqlite3.Connection, slots: int, now: float) -> list[str]:
    """Return the ids of queued runs without a process, as many as there are slots without one."""
    claimed = db.execute("SELECT * FROM runs WHERE state IN ('queued', 'running') AND owner IS NOT NULL")
    free = slots - sum(not is_stale(row, now) for row in claimed)
    waiting = [str(row["id"]) for row in _queue(db) if row["owner"] is None or is_stale(row, now)]
    return waiting[: max(free, 0)]


def cancel(db: sqlite3.Connection, row: sqlite3.Row, now: float, message: str) -> None:
    """Ask the run's process to stop; without one it is cancelled at once."""
    if row["state"] not in ("queued", "running", "interrupted"):
        return
    if row["owner"] is not None and not is_stale(row, now):
        db.execute("UPDATE runs SET cancel = 1, message = ? WHERE id = ?", (message, row["id"]))
        return
    db.execute(
        "UPDATE runs SET state = 'cancelled', cancel = 0, owner = NULL, started = NULL, message = ?, "
        "worked = worked + coalesce(heartbeat - started, 0) WHERE id = ?",
        (message, row["id"]),
    )
    run_keeping.note_end(db, "cancelled", 0.0)


def reopen(db: sqlite3.Connection, run_id: str, now: float, settings: str | None = None) -> None:
    """Queue again; time between the last slot and the last heartbeat was spent searching, so it counts."""
    db.execute(
        "UPDATE runs SET state = 'queued', message = '', asked = ?, cancel = 0, owner = NULL, pid = NULL, "  # noqa: S608
        f"worked = worked + coalesce(heartbeat - started, 0), started = NULL, queued = {LAST_PLACE}, tries = 0, "
        "heartbeat = ?, settings = coalesce(?, settings) WHERE id = ?",
        (now, now, settings, run_id),
    )


def take_over(db: sqlite3.Connection, since: float, now: float) -> int:
    """Queue the running runs again whose process started before `since` and is gone, and return how many."""
    rows = db.execute("SELECT * FROM runs WHERE state = 'running'").fetchall()
    left = [row for row in rows if is_stale(row, now) and not since <= row["started"] <= now]
    return sum(_taken_over(db, row, now) for row in left)


def cut(db: sqlite3.Connection, run_id: str, kept: int) -> None:
    """Drop what follows a damaged record, so that the run can be resumed from the last good one."""
    db.execute("DELETE FROM records WHERE run = ? AND place >= ?", (run_id, kept))
    db.execute(
        "UPDATE runs SET n_records = ?, epoch = epoch + 1, ends = '[]', owner = NULL, started = NULL, "
        "state = 'interrupted', message = ? WHERE id = ?",
        (kept, f"Value {kept + 1} was damaged on the disk; the values before it are kept.", run_id),
    )


def _queue(db: sqlite3.Connection) -> list[sqlite3.Row]:
    return db.execute("SELECT * FROM runs WHERE state = 'queued' ORDER BY queued, id").fetchall()


def _taken_over(db: sqlite3.Connection, row: sqlite3.Row, now: float) -> bool:
    tries, before, seconds = row["tries"] + 1, row["queued"], row["heartbeat"] - row["started"]
    if row["cancel"] or tries == MOST_TRIES:
        state, message = ("cancelled", row["message"]) if row["cancel"] else ("failed", TRIED)
        db.execute(
            "UPDATE runs SET state = ?, message = ?, cancel = 0, owner = NULL, started = NULL, tries = 0, "
            "worked = worked + ? WHERE id = ?",
            (state, message, seconds, row["id"]),
        )
        run_keeping.note_end(db, state, seconds)
        return False
    reopen(db, row["id"], now)
    db.execute("UPDATE runs SET queued = ?, tries = ? WHERE id = ?", (before, tries, row["id"]))
    return True
