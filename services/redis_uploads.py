"""Uploaded files as parsed tables in Redis, for web servers and workers on any number of machines.

Entry point: `RedisUploadStore`. An upload is a hash of what `services.upload_keeping` packs; two lists say when each
was used last, and what it takes. Every key expires.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from redis.client import Pipeline
from redis.exceptions import RedisError

from offgrid.errors import InputError
from services.handles import short
from services.redis_link import PREFIX, Link, StoreAway, seconds
from services.upload_keeping import NO_ROOM, Kept, Upload, Uploads

USED = f"{PREFIX}uploads-used"  # sorted set: ids by the time of the last use
TAKEN = f"{PREFIX}uploads-taken"  # hash: bytes and visitor by id
LOCK = f"{PREFIX}uploads-lock"
LOCKED = 60  # seconds after which the lock of a dead process is free

logger = logging.getLogger(__name__)


class RedisUploadStore(Uploads):
    """Keeps uploads in Redis.

    Parameters
    ----------
    link : Link
    keep : int
        Seconds after the last use at which an upload is forgotten.
    clock : callable or None
        Returns seconds since the epoch; None for Redis's own time.
    **limits
        As for `Uploads`.
    """

    def __init__(self, link: Link, keep: int, clock: Callable[[], float] | None = None, **limits: Any) -> None:
        super().__init__(**limits)
        self._link, self._keep_for, self._clock = link, keep, clock

    def sweep(self, older_than: float) -> int:
        """Delete what was not used for so many seconds, or is over the room for all; forget what has expired."""
        for kept in self._kept():
            if not self._is_kept(kept.id):
                self._delete(kept.id)
        return super().sweep(older_than)

    def rebase(self) -> None:
        """Count every upload as used now: the clock was set, and ages mean nothing."""
        for kept in self._kept():
            self._use(kept.id)

    def _put(self, upload: Upload, parts: Mapping[str, bytes], visitor: str) -> None:
        size, now = sum(map(len, parts.values())), self._now()

        def write(client: Any) -> None:
            with client.pipeline() as pipe:
                pipe.hset(_upload(upload.id), mapping=dict(parts))
                pipe.hset(TAKEN, upload.id, f"{size} {visitor}")
                self._note_use(pipe, upload.id, now).execute()

        with self._alone():
            self._make_room_for(size, visitor)
            self._link.ask(write)

    def _parts(self, upload_id: str) -> Mapping[str, bytes]:
        found = self._link.ask(lambda client: client.hgetall(_upload(upload_id)))
        if not found:
            raise FileNotFoundError(upload_id)
        return {name.decode(): part for name, part in found.items()}

    def _use(self, upload_id: str) -> bool:
        if not self._is_kept(upload_id):
            return False
        now = self._now()

        def write(client: Any) -> None:
            with client.pipeline() as pipe:
                self._note_use(pipe, upload_id, now).execute()

        try:
            self._link.ask(write)
        except StoreAway:  # a full store keeps nobody from looking
            logger.warning("the use of upload %s could not be noted", short(upload_id), exc_info=True)
        return True

    def _delete(self, upload_id: str) -> bool:
        def delete(client: Any) -> None:
            with client.pipeline() as pipe:
                pipe.delete(_upload(upload_id)).zrem(USED, upload_id).hdel(TAKEN, upload_id).execute()

        self._link.ask(delete)
        return True

    def _kept(self) -> Iterator[Kept]:
        def ask(client: Any) -> Any:
            with client.pipeline() as pipe:
                return pipe.zrange(USED, 0, -1, withscores=True).hgetall(TAKEN).execute()

        used, taken = self._link.ask(ask)
        for upload_id, time in used:
            size, _, visitor = taken.get(upload_id, b"0 ").decode().partition(" ")
            yield Kept(upload_id.decode(), visitor, int(size), time)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = self._link.client.lock(LOCK, timeout=LOCKED, blocking_timeout=LOCKED)
        if not self._link.ask(lambda _: lock.acquire()):
            raise InputError(NO_ROOM)
        try:
            yield
        finally:
            with suppress(RedisError):  # it ends by itself
                lock.release()

    def _now(self) -> float:
        return self._clock() if self._clock is not None else seconds(self._link.ask(lambda client: client.time()))

    def _is_kept(self, upload_id: str) -> bool:
        return bool(self._link.ask(lambda client: client.exists(_upload(upload_id))))

    def _note_use(self, pipe: Pipeline, upload_id: str, now: float) -> Pipeline:
        pipe.zadd(USED, {upload_id: now})
        for name in (_upload(upload_id), USED, TAKEN):
            pipe.expire(name, self._keep_for)
        return pipe


def _upload(upload_id: str) -> str:
    return f"{PREFIX}upload:{upload_id}"
