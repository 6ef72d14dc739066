"""A worker: ``python -m services.worker`` carries out searches for the web servers that share its Redis.

Entry points: `main`, `make_worker` (Celery with its one task) and `Attendant`, which looks after the queue.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import signal
import sys
import time
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_ready, worker_shutting_down

from offgrid.errors import InputError
from services import logs
from services.context import Services
from services.heart import parent_watch
from services.jobs import execute
from services.keeper import Keeper, Office
from services.queueing import SEARCH_NEXT, make_celery
from services.redis_link import StoreAway
from services.run_model import STALE_AFTER
from services.settings import Settings, from_environment, prepare_data_dir
from services.stores import RedisStores, open_redis
from services.workers import worker_name

PATIENCE = 120.0  # seconds that a search waits for Redis to come back

logger = logging.getLogger(__name__)


def make_worker(settings: Settings, url: str) -> Celery:
    """Return the Celery application that carries out searches."""
    app = make_celery(url)
    leaving = mmap.mmap(-1, 1)  # one byte shared with the processes of the pool: without a lock, none can die with it

    stores = open_redis(settings, url, PATIENCE)
    services = Services(settings, stores)

    @app.task(name=SEARCH_NEXT)
    def search_next() -> None:
        claimed = None if leaving[0] else stores.runs.claim_next()
        if claimed is None:
            return
        parent_lives = parent_watch()

        def lives() -> bool:
            if leaving[0]:
                os.kill(os.getpid(), signal.SIGTERM)  # to the search, which lets go of its run
            return parent_lives()

        execute(claimed[0], services, owner=claimed[1], parent_lives=lives)

    @worker_shutting_down.connect(weak=False)
    def leave(**_: Any) -> None:
        leaving[0] = 1

    return app


class Attendant(Keeper):
    """Says that this worker is there, and looks after queue and stores, as every other worker's does.

    Parameters
    ----------
    services : Services
    stores : RedisStores
    name : str
    """

    def __init__(self, services: Services, stores: RedisStores, name: str) -> None:
        super().__init__(services, lambda _: stores.knocker())
        self._stores, self._name, self._slots = stores, name, services.settings.slots
        self._trusted = time.monotonic()
        self._redis_clocks: tuple[float, float] | None = None

    def start(self) -> None:
        """Begin, once: Celery says that it is ready again after each loss of its connection."""
        if not self._thread.is_alive():
            super().start()

    def look(self) -> None:
        """Do what is due. What no message tells of is found here, and so is what dead workers have left."""
        try:
            self._stores.workers.sign(self._name, self._slots)
            if self._clock_was_set():
                self._office = None  # its times mean nothing; pages get the whole grace to say that they are there
                self._wait_for_heartbeats()
            if time.monotonic() >= self._trusted:
                self._look_after()
        except StoreAway:
            self._wait_for_heartbeats()

    def leave(self) -> None:
        """Stop, and say so."""
        self.stop()
        with contextlib.suppress(StoreAway):
            self._stores.workers.leave(self._name, self._slots)

    def _wait_for_heartbeats(self) -> None:
        """Trust nobody's silence for a while: whoever lives beats within a moment, and only then are others dead."""
        self._trusted = time.monotonic() + STALE_AFTER

    def _clock_was_set(self) -> bool:
        """Whether Redis's clock has gone another way than this machine's since the last look."""
        before, now = self._redis_clocks, (self._stores.runs.now(), time.monotonic())
        self._redis_clocks = now
        return before is not None and abs((now[0] - before[0]) - (now[1] - before[1])) > STALE_AFTER / 2

    def _look_after(self) -> None:
        runs, now = self._stores.runs, self._stores.runs.now()
        self._office = self._office or Office(now)
        taken = runs.take_over()
        if taken:
            logger.info("%d searches of workers that are gone are queued again", taken)
        if runs.has_next() and not self._stores.knocker.unheard():
            self._stores.knocker()
        self._make_rounds(self._office, now)


def main() -> int:
    """Work until ended: SIGTERM lets go of the searches under way, for other workers to go on with."""
    try:
        settings = from_environment(os.environ)
        prepare_data_dir(settings)
        if settings.redis_url is None:
            raise InputError(
                "OFFGRID_REDIS_URL is not set; a worker needs the Redis server that it shares with others."
            )
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    logs.set_up(settings.log_level, settings.log_format)
    setup_logging.connect(lambda **_: None, weak=False)  # ours is enough
    stores = open_redis(settings, settings.redis_url, patience=0.0)
    attendant = Attendant(Services(settings, stores), stores, worker_name())

    @worker_ready.connect(weak=False)
    def attend(**_: Any) -> None:
        attendant.start()

    try:
        make_worker(settings, settings.redis_url).worker_main(
            ["--quiet", "worker", f"--concurrency={settings.slots}", "--without-gossip", "--without-mingle"]
        )
    finally:
        attendant.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
