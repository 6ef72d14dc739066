"""Runs as Redis keeps them: one JSON value and a list of packed records each, and lists of what goes on.

Entry point: `RunRows`. A change is one transaction, which starts over where somebody else changed the run meanwhile.
The lists follow from the runs and are written with them. Time is Redis's, so that the clocks of the machines do not
matter. Every key expires.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from redis.client import Pipeline

from offgrid.path import BandwidthPath
from services.redis_link import PREFIX, Link, seconds
from services.redis_state import ACTIVE, Row, counted
from services.run_records import PathCache

QUEUE = f"{PREFIX}queue"  # sorted set: ids of queued runs in their order
ACTIVES = f"{PREFIX}active"  # set: ids of queued and running runs
USED = f"{PREFIX}used"  # sorted set: ids of all runs by the time they were last used
STATES = f"{PREFIX}states"  # hash: state and size of all runs
TOTALS = f"{PREFIX}totals"  # hash: what has been counted since the beginning
NEXT = 1e-6  # seconds between runs that are queued at once

T = TypeVar("T")


class RunRows:
    """The rows of the store of runs.

    Parameters
    ----------
    link : Link
    keep : int
        Seconds after the last use at which a run is forgotten.
    clock : callable or None
        Returns seconds since the epoch; None for Redis's own time.
    """

    def __init__(self, link: Link, keep: int, clock: Callable[[], float] | None) -> None:
        self._link, self._keep, self._clock = link, keep, clock
        self._paths = PathCache()

    # Reading ---------------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Return the time."""
        return self._clock() if self._clock is not None else seconds(self._link.ask(lambda client: client.time()))

    def get(self, run_id: str) -> tuple[Row | None, float]:
        """Return the run, or None, and the time."""

        def ask(client: Any) -> Any:
            with client.pipeline(transaction=False) as pipe:
                return pipe.get(_run(run_id)).time().execute()

        packed, time = self._link.ask(ask)
        now = self._clock() if self._clock is not None else seconds(time)
        return (None if packed is None else json.loads(packed)), now

    def id_of(self, key: str) -> str | None:
        """Return the id of the run with this key."""
        found = self._link.ask(lambda client: client.get(_key(key)))
        return None if found is None else str(found.decode())

    def queue(self) -> list[Row]:
        """Return the queued runs in the order of the queue."""
        return self._all(self._link.ask(lambda client: client.zrange(QUEUE, 0, -1)))

    def active(self) -> list[Row]:
        """Return the queued and running runs."""
        return self._all(self._link.ask(lambda client: client.smembers(ACTIVES)))

    def last_place(self, now: float) -> float:
        """Return the place behind all others in the queue: the time, or a little more where somebody has just come."""
        last = self._link.ask(lambda client: client.zrange(QUEUE, -1, -1, withscores=True))
        return max(now, last[0][1] + NEXT) if last else now

    def place(self, run_id: str) -> int:
        """Return the place in the queue, from 1; 0 where it is not there."""
        rank = self._link.ask(lambda client: client.zrank(QUEUE, run_id))
        return 0 if rank is None else int(rank) + 1

    def path(self, row: Row) -> BandwidthPath:
        """Return the records so far, up to the first that is missing or damaged."""

        def read(first: int, last: int) -> Sequence[bytes]:
            found: Sequence[bytes] = self._link.ask(lambda client: client.lrange(_records(row["id"]), first, last - 1))
            return found

        return self._paths.path(row["id"], row["epoch"], row["n_records"], row["ends"], read)

    def states(self) -> dict[str, tuple[str, int]]:
        """Return state and size of every run by its id."""
        found = self._link.ask(lambda client: client.hgetall(STATES))
        pairs = {run_id.decode(): value.decode().split() for run_id, value in found.items()}
        return {run_id: (state, int(size)) for run_id, (state, size) in pairs.items()}

    def used(self) -> list[tuple[str, float]]:
        """Return every run's id with the time of its last use, the least recently used first."""
        found = self._link.ask(lambda client: client.zrange(USED, 0, -1, withscores=True))
        return [(run_id.decode(), time) for run_id, time in found]

    def totals(self) -> dict[str, float]:
        """Return what has been counted."""
        found = self._link.ask(lambda client: client.hgetall(TOTALS))
        return {name.decode(): float(value) for name, value in found.items()}

    # Changing --------------------------------------------------------------------------------------------------------

    def change(
        self,
        run_id: str,
        work: Callable[[Row, float], T],
        record: bytes | None = None,
        *,
        alone: bool = False,
    ) -> T | None:
        """Let `work` alter the run, given the time, and return what it returns; None where there is no such run.

        `work` is called again where somebody else was quicker, or where the connection broke before the answer came:
        then it meets what it has done itself.

        Parameters
        ----------
        run_id : str
        work : callable
        record : bytes, optional
            Added where `work` counts one record more.
        alone : bool
            Start over where the queue has changed, too.
        """

        def attempt(pipe: Pipeline) -> T | None:
            pipe.watch(_run(run_id), *([QUEUE] if alone else []))
            packed: Any = pipe.get(_run(run_id))
            if packed is None:
                self.forget(run_id)
                return None
            row, before = json.loads(packed), json.loads(packed)
            result = work(row, self.now())
            if row != before:
                pipe.multi()
                if record is not None and row["n_records"] > before["n_records"]:
                    pipe.rpush(_records(run_id), record)
                for name, amount in counted(before, row).items():
                    pipe.hincrbyfloat(TOTALS, name, amount)
                self._write(pipe, row)
            return result

        return self._link.change(attempt)

    def change_by_key(self, key: str, work: Callable[[Row | None, float], Row]) -> Row:
        """Let `work` alter the run with this key, or make it, and return it."""

        def attempt(pipe: Pipeline) -> Row:
            pipe.watch(_key(key), QUEUE)
            known: Any = pipe.get(_key(key))
            packed: Any = None
            if known is not None:
                pipe.watch(_run(known.decode()))
                packed = pipe.get(_run(known.decode()))
            row = work(None if packed is None else json.loads(packed), self.now())
            pipe.multi()
            self._write(pipe, row)
            return row

        return self._link.change(attempt)

    def use(self, run_id: str) -> None:
        """Have the run kept from now on."""
        row, now = self.get(run_id)
        if row is not None:
            self._link.ask(lambda client: self._keep_on(client.pipeline(), row, now).execute())

    def cut(self, row: Row, kept: int, message: str) -> None:
        """Drop all records but the first `kept`, unless the run has changed since it was read."""

        def attempt(pipe: Pipeline) -> None:
            pipe.watch(_run(row["id"]))
            packed: Any = pipe.get(_run(row["id"]))
            if packed is None or json.loads(packed) != row:
                return
            changed = {"n_records": kept, "epoch": row["epoch"] + 1, "ends": "[]", "owner": None, "started": None}
            pipe.multi()
            pipe.ltrim(_records(row["id"]), 0, kept - 1) if kept else pipe.delete(_records(row["id"]))
            self._write(pipe, {**row, **changed, "state": "interrupted", "message": message})

        self._link.change(attempt)

    def delete(self, row: Row) -> bool:
        """Delete a run, unless it has changed since it was read."""

        def attempt(pipe: Pipeline) -> bool:
            pipe.watch(_run(row["id"]))
            packed: Any = pipe.get(_run(row["id"]))
            if packed is None or json.loads(packed) != row:
                return False
            pipe.multi()
            pipe.delete(_run(row["id"]), _records(row["id"]), _key(row["key"]))
            self._unlist(pipe, row["id"]).execute()
            return True

        return self._link.change(attempt)

    def forget(self, run_id: str) -> None:
        """Take a run that has expired from the lists."""
        self._link.ask(lambda client: self._unlist(client.pipeline(), run_id).execute())

    # Within ----------------------------------------------------------------------------------------------------------

    def _all(self, found: Sequence[bytes]) -> list[Row]:
        """Return the runs with these ids, and forget those that have expired."""
        ids = [run_id.decode() for run_id in found]
        packed = self._link.ask(lambda client: client.mget([_run(run_id) for run_id in ids])) if ids else []
        for run_id, one in zip(ids, packed, strict=True):
            if one is None:
                self.forget(run_id)
        return [json.loads(one) for one in packed if one is not None]

    def _write(self, pipe: Pipeline, row: Row) -> None:
        """Write the run and its place in the lists, and carry the transaction out."""
        run_id, state = row["id"], row["state"]
        pipe.set(_run(run_id), json.dumps(row))
        pipe.set(_key(row["key"]), run_id)
        pipe.hset(STATES, run_id, f"{state} {row['size']}")
        pipe.zadd(QUEUE, {run_id: row["queued"]}) if state == "queued" else pipe.zrem(QUEUE, run_id)
        pipe.sadd(ACTIVES, run_id) if state in ACTIVE else pipe.srem(ACTIVES, run_id)
        self._keep_on(pipe, row, self.now()).execute()

    def _keep_on(self, pipe: Pipeline, row: Row, now: float) -> Pipeline:
        pipe.zadd(USED, {row["id"]: now})
        for name in (_run(row["id"]), _key(row["key"]), _records(row["id"]), QUEUE, ACTIVES, USED, STATES, TOTALS):
            pipe.expire(name, self._keep)
        return pipe

    @staticmethod
    def _unlist(pipe: Pipeline, run_id: str) -> Pipeline:
        pipe.zrem(QUEUE, run_id)
        pipe.srem(ACTIVES, run_id)
        pipe.zrem(USED, run_id)
        pipe.hdel(STATES, run_id)
        return pipe


def _run(run_id: str) -> str:
    return f"{PREFIX}run:{run_id}"


def _records(run_id: str) -> str:
    return f"{PREFIX}records:{run_id}"


def _key(key: str) -> str:
    return f"{PREFIX}key:{key}"
