"""Which workers there are.

Entry points: `Workers`, a sorted set in Redis of names and slots by the time of the last sign of life; `worker_name`;
and ``python -m services.workers``, which lists them, for whoever looks after a server.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from offgrid.errors import InputError
from services.redis_link import PREFIX, Link, seconds
from services.settings import from_environment

KEY = f"{PREFIX}workers"
GONE_AFTER = 10.0  # seconds without a sign after which a worker does not count
PATIENCE = 3.0  # seconds to wait for Redis


class Workers:
    """The workers that share a Redis server.

    Parameters
    ----------
    link : Link
    clock : callable, optional
        Returns seconds since the epoch; by default Redis's own time.
    """

    def __init__(self, link: Link, clock: Callable[[], float] | None = None) -> None:
        self._link, self._clock = link, clock

    def sign(self, name: str, slots: int) -> None:
        """Say that a worker is there and how many searches it carries out at once."""
        now = self._now()

        def write(client: Any) -> None:
            with client.pipeline() as pipe:
                pipe.zadd(KEY, {_member(name, slots): now}).zremrangebyscore(KEY, "-inf", now - GONE_AFTER)
                pipe.expire(KEY, int(GONE_AFTER)).execute()

        self._link.ask(write)

    def leave(self, name: str, slots: int) -> None:
        """Say that a worker is going."""
        self._link.ask(lambda client: client.zrem(KEY, _member(name, slots)))

    def alive(self) -> dict[str, int]:
        """Return the slots of each worker that is there, by name."""
        now = self._now()  # a sign from the future was given before the clock was set back
        found = self._link.ask(lambda client: client.zrangebyscore(KEY, now - GONE_AFTER, now + GONE_AFTER))
        members = [member.decode().rpartition(":") for member in found]
        return {name: int(slots) for name, _, slots in members}

    def _now(self) -> float:
        return self._clock() if self._clock is not None else seconds(self._link.ask(lambda client: client.time()))


def _member(name: str, slots: int) -> str:
    return f"{name}:{slots}"


def worker_name() -> str:
    """Return the name of a worker in this process: unique where machines, or containers, have names of their own."""
    return f"{socket.gethostname()}/{os.getpid()}"


def main() -> int:
    """List the workers; the exit status is 0 where one of this machine is among them."""
    try:
        settings = from_environment(os.environ)
        if settings.redis_url is None:
            raise InputError("OFFGRID_REDIS_URL is not set; without it there are no workers.")
        alive = Workers(Link(settings.redis_url, PATIENCE)).alive()
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for name, slots in sorted(alive.items()):
        sys.stdout.write(f"{name}: {slots} at once\n")
    here = f"{socket.gethostname()}/"
    return 0 if any(name.startswith(here) for name in alive) else 1


if __name__ == "__main__":
    sys.exit(main())
