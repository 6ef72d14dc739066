"""The connection to Redis of one process: asks again while the server is away, and changes without locks.

Entry points: `Link` and `StoreAway`. Connections are pooled, and opened anew in a forked child.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import OutOfMemoryError, WatchError
from redis.exceptions import TimeoutError as NoAnswer
from redis.retry import Retry

from services.run_model import StoreAway

__all__ = ["PREFIX", "Link", "StoreAway", "seconds"]

PREFIX = "offgrid:"
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between two tries
SILENCE = 30.0  # seconds within which an answer must begin
IN_TRANSACTION = "caused error: "  # stands between the command and what Redis says of it

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Link:
    """Questions to one Redis server.

    Parameters
    ----------
    url : str
        ``redis://``, ``rediss://`` (TLS) or ``unix://``.
    patience : float
        Seconds to go on asking while the server is away: few for a page, many for a search.
    """

    def __init__(self, url: str, patience: float) -> None:
        self.client = redis.Redis.from_url(
            url,
            retry=Retry(NoBackoff(), 0),  # `_patiently` does it, for whole transactions too
            socket_timeout=SILENCE,
            socket_connect_timeout=5.0,
            health_check_interval=30,
        )
        self.url, self.patience = url, patience

    def ask(self, question: Callable[[Any], T]) -> T:
        """Return what `question` returns when called with the client.

        Raises
        ------
        StoreAway
            Where the server stays away, or has no room.
        """
        return self._patiently(lambda: question(self.client))

    def change(self, attempt: Callable[[Pipeline], T]) -> T:
        """Call `attempt` with a pipeline, again as long as others change what it watches.

        It has to watch what it reads, and to end with ``execute``. It may have been carried out before, where the
        connection broke just after that: it has to look before it writes.
        """

        def once() -> T:
            while True:
                with self.client.pipeline() as pipeline:
                    try:
                        return attempt(pipeline)
                    except WatchError:
                        continue

        return self._patiently(once)

    def _patiently(self, work: Callable[[], T]) -> T:
        end = time.monotonic() + self.patience
        pause = FIRST_PAUSE
        while True:
            try:
                return work()
            except redis.RedisError as error:
                sentence = _trouble(error)
                if sentence is None:
                    raise
                if time.monotonic() + pause > end:
                    logger.warning("Redis: %s", error)
                    raise StoreAway(sentence) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def seconds(time: tuple[int, int]) -> float:
    """Return what Redis answers to TIME as seconds since the epoch."""
    return time[0] + time[1] / 1e6


def _trouble(error: redis.RedisError) -> str | None:
    """Return what ails the server, where that may pass; None where the question was wrong."""
    if isinstance(error, (NoConnection, NoAnswer)):
        return "The store (Redis) does not answer; try again in a minute."
    if isinstance(error, OutOfMemoryError):
        return "The store (Redis) has no room left; tell whoever runs this server."
    if str(error).rpartition(IN_TRANSACTION)[2].startswith("MISCONF"):
        return "The store (Redis) can't write to its disk; tell whoever runs this server."
    return None
