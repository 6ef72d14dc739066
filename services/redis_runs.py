"""The store of runs in Redis, for web servers and workers on any number of machines.

Entry point: `RedisRunStore`. It does what `services.runs.RunStore` does, and workers take the next run of the queue
with `claim_next`. How runs are kept is in `services.redis_rows`, what happens to them in `services.redis_state`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from offgrid.path import LevelEnd, PathRecord
from services import redis_keeping
from services import redis_state as state
from services.handles import Handles
from services.redis_link import Link
from services.redis_rows import RunRows
from services.redis_state import LASTING, Row, is_free, is_stale, state_of
from services.run_keeping import Census
from services.run_model import SEEN_EVERY, Following, LostRun, Progress, Run, RunState, too_many
from services.run_records import pack, pack_ends
from services.run_settings import RunSettings

T = TypeVar("T")


class RedisRunStore:
    """Runs in Redis, for any number of threads, processes and machines.

    Parameters
    ----------
    link : Link
    keep : int
        Seconds after the last use at which a run is forgotten.
    knock : callable, optional
        Called when a run was queued.
    clock : callable, optional
        Returns seconds since the epoch; by default Redis's own time.
    handles : Handles, optional
        Makes the runs' ids, and tells forged ones.
    seen_every : float
        Seconds within which a second look of a page is not written down.
    """

    def __init__(
        self,
        link: Link,
        keep: int,
        knock: Callable[[], None] = lambda: None,
        clock: Callable[[], float] | None = None,
        handles: Handles | None = None,
        seen_every: float = SEEN_EVERY,
    ) -> None:
        self._seen_every = seen_every
        self._rows = RunRows(link, keep, clock)
        self._knock = knock
        self._handles = handles or Handles("run")
        self._marks: dict[str, str] = {}  # the last record that this process knows of, by the token of its run

    # Asking ----------------------------------------------------------------------------------------------------------

    def create(self, settings: RunSettings, key: str, visitor: str | None = None, most: int | None = None) -> str:
        """Return the id of the run with this key, made if there is none, and queued again if it stopped early.

        The visitor follows it from now on.

        Raises
        ------
        InputError
            Where the visitor has `most` others under way, and this one is not finished.
        """
        new, queued = self._handles.new(), False

        def create(row: Row | None, now: float) -> Row:
            nonlocal queued
            queued = row is None or state_of(row, now) not in LASTING
            if row is None:
                row = state.new_row(new, key, now, self._rows.last_place(now))
            elif queued:
                state.reopen(row, now, self._rows.last_place(now))
            if queued:
                row["settings"] = settings.to_dict()
            if visitor is not None:
                self._follow(row, visitor, None if row["state"] == "finished" else most, now)
            return row

        run_id = str(self._rows.change_by_key(key, create)["id"])
        if queued:
            self._knock()
        return run_id

    def ask_beside(
        self, run_id: str, settings: RunSettings, visitor: str | None = None, most: int | None = None
    ) -> None:
        """Ask for more beside the path: a finished run is queued again, an active one has it added to the rest.

        Raises `InputError` as `create` does.
        """

        def ask(row: Row, now: float) -> bool:
            if row["state"] != "finished":
                asked = RunSettings.from_dict(row["settings"])
                row["settings"] = replace(asked, compare=asked.compare + settings.compare).to_dict()
                return False
            if visitor is not None:
                self._follow(row, visitor, most, now)
            state.reopen(row, now, self._rows.last_place(now))
            row["settings"] = settings.to_dict()
            return True

        if self._change(run_id, ask, alone=True):
            self._knock()

    def resume(self, run_id: str, visitor: str | None = None, most: int | None = None) -> bool:
        """Queue a run that stopped early again, for a visitor who follows it from now on.

        Returns False where it is active, finished or unknown. Raises `InputError` as `create` does.
        """

        def resume(row: Row, now: float) -> bool:
            if row["state"] == "finished":
                return False
            if visitor is not None:
                self._follow(row, visitor, most, now)
            if state_of(row, now) in LASTING:
                return False
            state.reopen(row, now, self._rows.last_place(now))
            return True

        resumed = bool(self._change(run_id, resume, alone=True))
        if resumed:
            self._knock()
        return resumed

    def cancel(self, run_id: str, message: str = "") -> None:
        """Ask for the run to stop, whoever follows it, for the reason given.

        Its worker notices within a second or so; without a worker it stops at once.
        """
        self._change(run_id, lambda row, now: state.cancel(row, now, message))

    # Following -------------------------------------------------------------------------------------------------------

    def follow(self, run_id: str, visitor: str, *, pinned: bool = False) -> None:
        """Let a visitor follow a run, without a page too where it is pinned."""

        def follow(row: Row, now: float) -> None:
            state.follow(row, visitor, now)
            row["followers"][visitor]["pinned"] = pinned

        self._change(run_id, follow)

    def leave(self, run_id: str, visitor: str) -> bool:
        """Let a visitor leave a run; True where nobody else follows it, so that it was asked to stop."""

        def leave(row: Row, now: float) -> bool:
            last = state.leave(row, visitor)
            if last:
                state.cancel(row, now, "")
            return last

        return bool(self._change(run_id, leave))

    def following(self, run_id: str, visitor: str) -> Following:
        """Return how a visitor stands to a run."""
        row, _ = self._get(run_id)
        return Following() if row is None else state.standing(row, visitor)

    def seen(self, run_id: str, visitor: str) -> None:
        """Note that a visitor's page shows the run: a heartbeat, written down now and then."""
        row, now = self._get(run_id)
        if row is not None and state.is_due(row, visitor, now, self._seen_every):
            self._change(run_id, lambda row, now: state.see(row, visitor, now))

    def pin(self, run_id: str, visitor: str, *, pinned: bool) -> None:
        """Note whether the run goes on for a visitor who has no page with it."""
        self._change(run_id, lambda row, _: state.pin(row, visitor, pinned=pinned))

    def abandoned(self, grace: float) -> list[str]:
        """Return the ids of active runs that no follower's page has shown for `grace` seconds, and nobody pinned."""
        now, rows = self._rows.now(), self._rows.active()
        for row in rows:
            if state.seen_since(row, math.nextafter(now, math.inf)):
                self._change(row["id"], state.seen_no_later)
                state.seen_no_later(row, now)
        return [row["id"] for row in rows if state.is_abandoned(row, now, grace)]

    # Reading ---------------------------------------------------------------------------------------------------------

    def get(self, run_id: str) -> Run | None:
        """Return the run as it stands, or None where the id is not known."""
        row, now = self._get(run_id)
        if row is None:
            return None
        path = self._rows.path(row)
        if len(path) < row["n_records"]:
            message = f"Value {len(path) + 1} was damaged in the store; the values before it are kept."
            self._rows.cut(row, len(path), message)
            return self.get(run_id)
        shown = state_of(row, now)
        last = now if shown == "running" else row["heartbeat"]
        return Run(
            id=row["id"],
            version=_version(row, shown),
            key=row["key"],
            settings=RunSettings.from_dict(row["settings"]),
            state=shown,
            message=row["message"],
            created=row["created"],
            seconds=row["worked"] + state.searched_until(row, last),
            pid=row["pid"],
            place=self._rows.place(run_id) if shown == "queued" else None,
            cancelling=row["cancel"],
            progress=Progress(**row["progress"]) if row["progress"] else None,
            lower_bound=row["lower_bound"],
            lower_bound_note=row["lower_bound_note"],
            path=path,
        )

    def version(self, run_id: str) -> str:
        """Return a short text that changes when anything to be drawn of the run does."""
        row, now = self._get(run_id)
        return "gone" if row is None else _version(row, state_of(row, now))

    def find_finished(self, key: str) -> str | None:
        """Return the id of the finished run with this key."""
        run_id = self._rows.id_of(key)
        row = None if run_id is None else self._rows.get(run_id)[0]
        return run_id if row is not None and row["state"] == "finished" else None

    def active_sources(self) -> set[str]:
        """Return the sources of the data (see `DataSpec.source`) that searches under way are on."""
        return {str(row["settings"]["data"]["source"]) for row in self._rows.active()}

    def now(self) -> float:
        """Return the time on the store's clock."""
        return self._rows.now()

    # The queue -------------------------------------------------------------------------------------------------------

    def place(self, run_id: str) -> int:
        """Return the place in the queue, from 1; 0 where the run is not queued."""
        return self._rows.place(run_id)

    def is_next(self, run_id: str) -> bool:
        """Whether no other waiting process is ahead: one that was killed, or not started yet, holds nobody up."""
        now = self._rows.now()
        for row in self._rows.queue():
            if row["id"] == run_id:
                return True
            if not is_free(row, now):
                return False
        return False

    def startable(self, slots: int) -> list[str]:
        """Return the ids of queued runs without a process that may have one, the first of the queue first."""
        now = self._rows.now()
        claimed = sum(row["owner"] is not None and not is_stale(row, now) for row in self._rows.active())
        return [row["id"] for row in self._rows.queue() if is_free(row, now)][: max(slots - claimed, 0)]

    def claim_next(self) -> tuple[str, str] | None:
        """Take the first run of the queue that nobody has, and return its id and token; None where there is none."""
        now = self._rows.now()
        for row in self._rows.queue():
            owner = self.claim(row["id"]) if is_free(row, now) else None
            if owner is not None:
                return row["id"], owner
        return None

    def has_next(self) -> bool:
        """Whether a run waits for a worker."""
        now = self._rows.now()
        return any(is_free(row, now) for row in self._rows.queue())

    def take_over(self, since: float = math.inf) -> int:
        """Queue the runs again whose process started before `since` and is gone, and return how many.

        One that was to be cancelled is; one that has ended several processes without a new value has failed.
        """

        def is_left(row: Row, now: float) -> bool:
            return row["state"] == "running" and is_stale(row, now) and not since <= row["started"] <= now

        now = self._rows.now()
        left = [row["id"] for row in self._rows.active() if is_left(row, now)]
        taken = sum(
            bool(self._change(run_id, lambda row, now: is_left(row, now) and state.take_over(row, now)))
            for run_id in left
        )
        for _ in range(taken):
            self._knock()
        return taken

    # Carrying out ----------------------------------------------------------------------------------------------------

    def claim(self, run_id: str) -> str | None:
        """Take a queued run for this process and return a token for the calls below; None where it is another's."""
        owner = os.urandom(8).hex()

        def claim(row: Row, now: float) -> str | None:
            if row["owner"] != owner and not is_free(row, now):
                return None
            row.update(owner=owner, pid=os.getpid(), heartbeat=now, started=None)
            self._marks = {owner: row["mark"]}
            return owner

        return self._change(run_id, claim)

    def start(self, run_id: str, owner: str) -> None:
        """Note that the run has its slot."""
        self._change_own(run_id, owner, lambda row, now: row.update(state="running", started=now, heartbeat=now))

    def beat(self, run_id: str, owner: str, progress: Progress | None = None) -> bool:
        """Note that the worker lives, and where the search is; True where cancel was asked for."""
        return self._change_own(run_id, owner, lambda row, now: state.beat(row, now, progress))

    def set_bound(self, run_id: str, owner: str, bound: float | None, note: str) -> None:
        """Keep Theorem 1's bound, or why there is none."""
        self._change_own(run_id, owner, lambda row, _: row.update(lower_bound=bound, lower_bound_note=note))

    def set_ends(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Keep how the levels ended: the path is complete, while more is carried out beside it."""
        self._change_own(run_id, owner, lambda row, _: row.update(ends=pack_ends(ends)))

    def append(
        self,
        run_id: str,
        owner: str,
        record: PathRecord,
        ends: Sequence[LevelEnd] = (),
        progress: Progress | None = None,
    ) -> bool:
        """Add a record after the last one, with how the levels before it ended; True where cancel was asked for."""
        packed, mark = pack(record), os.urandom(4).hex()

        def append(row: Row, now: float) -> bool:
            if row["mark"] not in (mark, self._marks.get(owner, row["mark"])):
                raise LostRun(run_id)  # Redis came back with less than it had: going on would leave a gap
            if row["mark"] != mark:  # else done before, and the answer was lost
                row.update(n_records=row["n_records"] + 1, size=row["size"] + len(packed), mark=mark, tries=0)
                row["ends"] = pack_ends(ends)
            return state.beat(row, now, progress)

        cancelled = self._change_own(run_id, owner, append, packed)
        self._marks = {owner: mark}
        return cancelled

    def finish(self, run_id: str, owner: str, ends: Sequence[LevelEnd]) -> None:
        """Close the run as complete."""
        self._close(run_id, owner, "finished", "", ends)

    def stop(
        self, run_id: str, owner: str, state: Literal["cancelled", "interrupted", "queued"], message: str = ""
    ) -> None:
        """Close the run before its end; its records stay. As "queued" it keeps its place, for another process."""
        self._close(run_id, owner, state, message)
        if state == "queued":
            self._knock()

    def fail(self, run_id: str, owner: str, message: str) -> None:
        """Close the run with the reason why it could not be completed; its records stay."""
        self._close(run_id, owner, "failed", message)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def census(self) -> Census:
        """Return how many runs are in each state, how many wait, and what has been counted so far."""
        return redis_keeping.census(self._rows)

    def sweep(self, *, older_than: float, most: int, most_bytes: int, keep: Sequence[str] = ()) -> int:
        """Delete runs not used for `older_than` seconds, and the least recently used over the quotas.

        Active runs, those that a page shows, and those with the keys in `keep` stay. Returns how many went.
        """
        return redis_keeping.sweep(self._rows, older_than=older_than, most=most, most_bytes=most_bytes, keep=keep)

    def use(self, run_id: str) -> None:
        """Note that somebody looks at the run, so that it is kept."""
        if self._handles.valid(run_id):
            self._rows.use(run_id)

    def rebase(self) -> None:
        """Count every run as used now: the clock was set, and ages mean nothing."""
        for run_id, _ in self._rows.used():
            self._rows.use(run_id)

    # Within ----------------------------------------------------------------------------------------------------------

    def _get(self, run_id: str) -> tuple[Row | None, float]:
        return self._rows.get(run_id) if self._handles.valid(run_id) else (None, 0.0)

    def _change(
        self, run_id: str, work: Callable[[Row, float], T], record: bytes | None = None, *, alone: bool = False
    ) -> T | None:
        return self._rows.change(run_id, work, record, alone=alone) if self._handles.valid(run_id) else None

    def _change_own(self, run_id: str, owner: str, work: Callable[[Row, float], T], record: bytes | None = None) -> T:
        """Let `work` alter a run that this process has."""

        def checked(row: Row, now: float) -> tuple[T]:
            if row["owner"] != owner:
                raise LostRun(run_id)
            return (work(row, now),)

        found = self._change(run_id, checked, record)
        if found is None:
            raise LostRun(run_id)
        return found[0]

    def _close(
        self, run_id: str, owner: str, ending: RunState, message: str, ends: Sequence[LevelEnd] | None = None
    ) -> None:
        def close(row: Row, now: float) -> bool:
            if row["closed_by"] == owner:  # done before, and the answer was lost
                return True
            if row["owner"] != owner:
                raise LostRun(run_id)
            state.end(row, now, ending, message, None if ends is None else pack_ends(ends))
            row.update(heartbeat=now, closed_by=owner)
            return True

        if not self._change(run_id, close):
            raise LostRun(run_id)

    def _follow(self, row: Row, visitor: str, most: int | None, now: float) -> None:
        """Let a visitor follow a run, unless `most` others that they follow are under way."""
        if most is not None:
            others = [other for other in self._rows.active() if other["id"] != row["id"]]
            if sum(state.is_under_way_for(other, visitor, now) for other in others) >= most:
                raise too_many(most)
        state.follow(row, visitor, now)


def _version(row: Row, shown: str) -> str:
    parts = (row["id"], shown, row["n_records"], row["epoch"], int(row["cancel"]), row["ends"])
    return ":".join(str(part) for part in parts)
