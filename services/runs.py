"""The store of runs: the only truth about what was asked, what was found and what is happening.

Entry points: `RunStore`, and from `services.run_model` and `services.run_settings` what it takes and returns: `Run`,
`Progress`, `Following`, `LostRun`, `RunSettings`, `SearchSettings` and `content_key`.

Everything is in one SQLite file (WAL), opened by any number of processes of one machine at once. Transactions are
short. Records are appended one row each, packed and checksummed, so a killed process loses nothing that was found
before. A run belongs to the process that claimed it last; writes of any other process are refused with `LostRun`.
Whose page a run is carried out for is in `services.followers`, what is kept for how long in `services.run_keeping`.

Time is the machine's monotonic clock, the same for all processes, so that setting the clock or a laptop's sleep makes
no run look dead. It starts anew with the machine: a time later than now is from before that, and as good as never.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from offgrid.path import BandwidthPath, LevelEnd, PathRecord
from services import followers, run_keeping, run_rows
from services.database import Database
from services.handles import Handles
from services.run_keeping import Census
from services.run_model import SEEN_EVERY, Following, LostRun, Progress, Run, RunState
from services.run_records import PathCache, pack, pack_ends
from services.run_rows import is_stale, state_of
from services.run_settings import RunSettings, SearchSettings, content_key

__all__ = [
    "Census",
    "Following",
    "LostRun",
    "Progress",
    "Run",
    "RunSettings",
    "RunState",
    "RunStore",
    "SearchSettings",
    "content_key",
]


class RunStore:
    """Runs in one SQLite file, for any number of threads and processes.

    Parameters
    ----------
    folder : Path
        The file ``runs.sqlite3`` is made there when first needed, and again when the folder is gone.
    clock : callable, optional
        Returns seconds since anything, the same for all processes.
    handles : Handles, optional
        Makes the runs' ids, and tells forged ones.
    seen_every : float
        Seconds within which a second look of a page is not written down.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        handles: Handles | None = None,
        seen_every: float = SEEN_EVERY,
    ) -> None:
        self._seen_every = seen_every
        schema = run_rows.SCHEMA + followers.SCHEMA + run_keeping.SCHEMA
        self._database = Database(folder / "runs.sqlite3", schema, run_rows.VERSION)
        self._clock = clock
        self._handles = handles or Handles("run")
        self._paths = PathCache()

    # Asking ----------------------------------------------------------------------------------------------------------

    def create(self, settings: RunSettings, key: str, visitor: str | None = None, most: int | None = None) -> str:
        """Return the id of the run with this key, made if there is none, and queued again if it stopped early.

        The same search on the same data is one run, whoever asks: an active one is joined, a finished one is found,
        a cancelled, failed or interrupted one goes on after its last record. The visitor follows it from now on.

        Raises
        ------
        InputError
            Where the visitor has `most` others under way, and this one is not finished.
        """
        with self._database.transaction() as db:
            row = db.execute("SELECT * FROM runs WHERE key = ?", (key,)).fetchone()
            run_id = self._handles.new() if row is None else str(row["id"])
            if row is None:
                now, values = self._clock(), json.dumps(settings.to_dict())
                db.execute(
                    "INSERT INTO runs (id, key, settings, state, created, used, asked, queued, heartbeat) "  # noqa: S608
                    f"VALUES (?, ?, ?, 'queued', ?, ?, ?, {run_rows.LAST_PLACE}, ?)",
                    (run_id, key, values, time.time(), time.time(), now, now),
                )
            elif state_of(row, self._clock()) not in ("queued", "running", "finished"):
                run_rows.reopen(db, run_id, self._clock(), json.dumps(settings.to_dict()))
            else:
                db.execute("UPDATE runs SET used = ? WHERE id = ?", (time.time(), run_id))
            if visitor is not None:
                finished = row is not None and row["state"] == "finished"
                followers.add(db, run_id, visitor, self._clock(), None if finished else most)
            return run_id

    def ask_beside(
        self, run_id: str, settings: RunSettings, visitor: str | None = None, most: int | None = None
    ) -> None:
        """Ask for more beside the path: a finished run is queued again, an active one has it added to the rest.

        Raises `InputError` as `create` does.
        """
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None:
                return
            if row["state"] == "finished":
                if visitor is not None:
                    followers.add(db, run_id, visitor, self._clock(), most)
                run_rows.reopen(db, run_id, self._clock(), json.dumps(settings.to_dict()))
            else:
                asked = RunSettings.from_dict(json.loads(row["settings"]))
                both = replace(asked, compare=asked.compare + settings.compare)
                db.execute("UPDATE runs SET settings = ? WHERE id = ?", (json.dumps(both.to_dict()), run_id))

    def resume(self, run_id: str, visitor: str | None = None, most: int | None = None) -> bool:
        """Queue a run that stopped early again, for a visitor who follows it from now on.

        Returns False where it is active, finished or unknown. Raises `InputError` as `create` does.
        """
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None or row["state"] == "finished":
                return False
            if visitor is not None:
                followers.add(db, run_id, visitor, self._clock(), most)
            if state_of(row, self._clock()) in ("queued", "running"):
                return False
            run_rows.reopen(db, run_id, self._clock())
            return True

    def cancel(self, run_id: str, message: str = "") -> None:
        """Ask for the run to stop, whoever follows it, for the reason given.

        Its process notices within a second or so; without a process it stops at once.
        """
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is not None:
                run_rows.cancel(db, row, self._clock(), message)

    # Following -------------------------------------------------------------------------------------------------------

    def follow(self, run_id: str, visitor: str, *, pinned: bool = False) -> None:
        """Let a visitor follow a run, without a page too where it is pinned."""
        with self._database.transaction() as db:
            if self._row(db, run_id) is not None:
                followers.add(db, run_id, visitor, self._clock(), None)
                followers.pin(db, run_id, visitor, pinned=pinned)

    def leave(self, run_id: str, visitor: str) -> bool:
        """Let a visitor leave a run; True where nobody else follows it, so that it was asked to stop."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if row is None or not followers.remove(db, run_id, visitor):
                return False
            run_rows.cancel(db, row, self._clock(), "")
            return True

    def following(self, run_id: str, visitor: str) -> Following:
        """Return how a visitor stands to a run."""
        return followers.standing(self._database.connection(), run_id, visitor)

    def seen(self, run_id: str, visitor: str) -> None:
        """Note that a visitor's page shows the run: a heartbeat, written down now and then."""
        if followers.is_due(self._database.connection(), run_id, visitor, self._clock(), self._seen_every):
            with self._database.transaction() as db:
                followers.see(db, run_id, visitor, self._clock())

    def pin(self, run_id: str, visitor: str, *, pinned: bool) -> None:
        """Note whether the run goes on for a visitor who has no page with it."""
        with self._database.transaction() as db:
            followers.pin(db, run_id, visitor, pinned=pinned)

    def abandoned(self, grace: float) -> list[str]:
        """Return the ids of active runs that no follower's page has shown for `grace` seconds, and nobody pinned."""
        with self._database.transaction() as db:
            return followers.abandoned(db, self._clock(), grace)

    # Reading ---------------------------------------------------------------------------------------------------------

    def get(self, run_id: str) -> Run | None:
        """Return the run as it stands, or None where the id is not known."""
        row = self._row(self._database.connection(), run_id)
        return None if row is None else self._run(row)

    def version(self, run_id: str) -> str:
        """Return a short text that changes when anything to be drawn of the run does."""
        row = self._row(self._database.connection(), run_id)
        return "gone" if row is None else _version(row, state_of(row, self._clock()))

    def find_finished(self, key: str) -> str | None:
        """Return the id of the finished run with this key."""
        db = self._database.connection()
        row = db.execute("SELECT id FROM runs WHERE key = ? AND state = 'finished'", (key,)).fetchone()
        return None if row is None else str(row["id"])

    def active_sources(self) -> set[str]:
        """Return the sources of the data (see `DataSpec.source`) that searches under way are on."""
        rows = self._database.connection().execute("SELECT settings FROM runs WHERE state IN ('queued', 'running')")
        return {str(json.loads(row["settings"])["data"]["source"]) for row in rows}

    # The queue -------------------------------------------------------------------------------------------------------

    def place(self, run_id: str) -> int:
        """Return the place in the queue, from 1; 0 where the run is not queued."""
        row = self._row(self._database.connection(), run_id)
        return 0 if row is None or row["state"] != "queued" else run_rows.place(self._database.connection(), row)

    def is_next(self, run_id: str) -> bool:
        """Whether no other waiting process is ahead: one that was killed, or not started yet, holds nobody up."""
        return run_rows.is_next(self._database.connection(), run_id, self._clock())

    def startable(self, slots: int) -> list[str]:
        """Return the ids of queued runs without a process that may have one, the first of the queue first."""
        return run_rows.startable(self._database.connection(), slots, self._clock())

    def take_over(self, since: float) -> int:
        """Queue the runs again whose process started before `since` and is gone, and return how many.

        One that was to be cancelled is; one that has ended several processes without a new value has failed.
        """
        with self._database.transaction() as db:
            return run_rows.take_over(db, since, self._clock())

    def now(self) -> float:
        """Return the time on the store's clock."""
        return self._clock()

    # Carrying out ----------------------------------------------------------------------------------------------------

    def claim(self, run_id: str) -> str | None:
        """Take a queued run for this process and return a token for the calls below; None where it is another's."""
        with self._database.transaction() as db:
            row = self._row(db, run_id)
            if (
                row is None
                or row["state"] != "queued"
                or (row["owner"] is not None and not is_stale(row, self._clock()))
            ):
                return None
            owner = os.urandom(8).hex()
            db.execute(
                "UPDATE runs SET owner = ?, pid = ?, heartbeat = ?, started = NULL WHERE id = ?",
                (owner, os.getpid(), self._clock(), run_id),
            )
            return owner

    def start(self, run_id: str, owner: str) -> None:
        """Note that the run has its slot."""
        now = self._clock()
        self._change(run_id, owner, "state = 'running', started = ?, heartbeat = ?", (now, now))

    def beat(self, run_id: str, owner: str, progress: Progress | None = None) -> bool:
        """Note that the process lives, and where the search is; True where cancel was asked for."""
        told = _pack_progress(progress)
        with self._database.transaction() as db:
            row = self._require(db, run_id, owner)
            db.execute(
                "UPDATE runs SET heartbeat = ?, progress = coalesce(?, progress) WHERE id = ?",
                (self._clock(), told, run_id),
            )
            return bool(row["cancel"])

    def set_bound(self, run_id: str, owner: str, bound: float | None, note: str) -> None:
        """Keep Theorem 1's bound, or why there is none."""
        self._change(run_id, owner, "lower_bound = ?, lower_bound_note = ?", (bound, note))

    def set_ends(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Keep how the levels ended: the path is complete, while more is carried out beside it."""
        self._change(run_id, owner, "ends = ?", (pack_ends(ends),))

    def append(
        self,
        run_id: str,
        owner: str,
        record: PathRecord,
        ends: Sequence[LevelEnd] = (),
        progress: Progress | None = None,
    ) -> bool:
        """Add a record after the last one, with how the levels before it ended; True where cancel was asked for."""
        packed, told = pack(record), _pack_progress(progress)
        with self._database.transaction() as db:
            row = self._require(db, run_id, owner)
            db.execute("INSERT INTO records VALUES (?, ?, ?)", (run_id, row["n_records"], packed))
            db.execute(
                "UPDATE runs SET n_records = n_records + 1, size = size + ?, tries = 0, heartbeat = ?, ends = ?, "
                "progress = coalesce(?, progress) WHERE id = ?",
                (len(packed), self._clock(), pack_ends(ends), told, run_id),
            )
            return bool(row["cancel"])

    def finish(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Close the run as complete."""
        self._close(run_id, owner, "finished", "", ends)

    def stop(
        self, run_id: str, owner: str, state: Literal["cancelled", "interrupted", "queued"], message: str = ""
    ) -> None:
        """Close the run before its end; its records stay. As "queued" it keeps its place, for another process."""
        self._close(run_id, owner, state, message)

    def fail(self, run_id: str, owner: str, message: str) -> None:
        """Close the run with the reason why it could not be completed; its records stay."""
        self._close(run_id, owner, "failed", message)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def census(self) -> Census:
        """Return how many runs are in each state, how many wait, and what has been counted so far."""
        db = self._database.connection()
        return run_keeping.census(db, self._clock())

    def sweep(self, *, older_than: float, most: int, most_bytes: int, keep: Sequence[str] = ()) -> int:
        """Delete runs not used for `older_than` seconds, and the least recently used over the quotas.

        Active runs, those that a page shows, and those with the keys in `keep` stay. Returns how many went.
        """
        with self._database.transaction() as db:
            return run_keeping.sweep(
                db, older_than=older_than, most=most, most_bytes=most_bytes, keep=keep, now=self._clock()
            )

    def use(self, run_id: str) -> None:
        """Note that somebody looks at the run, so that it is kept."""
        with self._database.transaction() as db:
            if self._row(db, run_id) is not None:
                db.execute("UPDATE runs SET used = ? WHERE id = ?", (time.time(), run_id))

    def rebase(self) -> None:
        """Count every run as used now: the clock was set, and ages mean nothing."""
        with self._database.transaction() as db:
            db.execute("UPDATE runs SET used = ?", (time.time(),))

    # Within ----------------------------------------------------------------------------------------------------------

    def _close(self, run_id: str, owner: str, state: str, message: str, ends: Sequence[LevelEnd] | None = None) -> None:
        now = self._clock()
        packed = None if ends is None else pack_ends(ends)
        with self._database.transaction() as db:
            row = self._require(db, run_id, owner)
            if row["cancel"] and state == "queued":
                state = "cancelled"
            kept = row["message"] if row["cancel"] and state == "cancelled" else message
            seconds = 0.0 if row["started"] is None else now - row["started"]
            db.execute(
                "UPDATE runs SET state = ?, message = ?, ends = coalesce(?, ends), worked = worked + ?, "
                "started = NULL, heartbeat = ?, used = ?, owner = NULL, pid = NULL, cancel = 0 WHERE id = ?",
                (state, kept, packed, seconds, now, time.time(), run_id),
            )
            if state != "queued":
                followers.unpin(db, run_id)
            run_keeping.note_end(db, state, seconds)

    def _change(self, run_id: str, owner: str, assignments: str, values: tuple[Any, ...]) -> None:
        with self._database.transaction() as db:
            self._require(db, run_id, owner)
            db.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*values, run_id))  # noqa: S608 - our own text

    def _require(self, db: sqlite3.Connection, run_id: str, owner: str) -> sqlite3.Row:
        row = self._row(db, run_id)
        if row is None or row["owner"] != owner:
            raise LostRun(run_id)
        return row

    def _row(self, db: sqlite3.Connection, run_id: str) -> sqlite3.Row | None:
        if not self._handles.valid(run_id):
            return None
        row: sqlite3.Row | None = db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row

    def _run(self, row: sqlite3.Row) -> Run:
        path = self._path(row)
        if len(path) < row["n_records"]:
            with self._database.transaction() as db:
                run_rows.cut(db, row["id"], len(path))
                row = self._row(db, row["id"]) or row
            path = self._path(row)
        state = state_of(row, self._clock())
        last = self._clock() if state == "running" else row["heartbeat"]
        searching = 0.0 if row["started"] is None else last - row["started"]
        return Run(
            id=row["id"],
            version=_version(row, state),
            key=row["key"],
            settings=RunSettings.from_dict(json.loads(row["settings"])),
            state=state,
            message=row["message"],
            created=row["created"],
            seconds=row["worked"] + searching,
            pid=row["pid"],
            place=run_rows.place(self._database.connection(), row) if state == "queued" else None,
            cancelling=bool(row["cancel"]),
            progress=Progress(**json.loads(row["progress"])) if row["progress"] else None,
            lower_bound=row["lower_bound"],
            lower_bound_note=row["lower_bound_note"],
            path=path,
        )

    def _path(self, row: sqlite3.Row) -> BandwidthPath:
        """Return the records so far, reading only the rows that this process has not seen."""

        def read(first: int, last: int) -> list[bytes]:
            rows = self._database.connection().execute(
                "SELECT place, record FROM records WHERE run = ? AND place >= ? AND place < ? ORDER BY place",
                (row["id"], first, last),
            )
            found: list[bytes] = []
            for one in rows:
                if one["place"] != first + len(found):
                    break
                found.append(one["record"])
            return found

        return self._paths.path(row["id"], row["epoch"], row["n_records"], row["ends"], read)


def _version(row: sqlite3.Row, state: str) -> str:
    parts = (row["id"], state, row["n_records"], row["epoch"], row["cancel"], row["ends"])
    return ":".join(str(part) for part in parts)


def _pack_progress(progress: Progress | None) -> str | None:
    return None if progress is None else json.dumps(vars(progress))
