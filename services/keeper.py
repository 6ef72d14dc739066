"""The one thread, of all web processes over a data folder, that keeps house.

Entry point: `Keeper`. It has queued runs carried out when their turn comes and no page has done so, takes up what a
server that is gone has left, ends runs that no page shows any more, and keeps the stores within their quotas. The
office is a lock of the kernel: where its process dies, another's thread takes over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from filelock import FileLock, Timeout

from services.context import Services
from services.handles import short
from services.run_model import STALE_AFTER

PACE = 0.5  # seconds between two looks at the queue
LAUNCH_AGAIN = 10.0  # seconds after which a launch that led to nothing is tried again
PATROL = 10.0  # seconds between two looks for runs without a page
SWEEP = 600.0  # seconds between two sweeps of the stores
CLOCK_JUMP = 300.0  # seconds by which the clock may be set without ages losing their meaning

logger = logging.getLogger(__name__)

Launch = Callable[[str], None]


@dataclass
class Office:
    """What the holder of the office remembers; times are on the store's clock."""

    since: float
    waiting: frozenset[str] = frozenset()
    launched: dict[str, float] = field(default_factory=dict)
    patrolled: float = 0.0
    swept: float | None = None


class Keeper:
    """Keeps house while its process lives and has the office.

    Parameters
    ----------
    services : Services
    launch : callable
        Has a run carried out in a process of its own.
    chores : sequence of callable
        Called with every sweep, beside the stores' own.
    lives : callable
        Where it returns False, the process is about to end, and nothing is begun any more.
    """

    def __init__(
        self,
        services: Services,
        launch: Launch,
        chores: Sequence[Callable[[], None]] = (),
        lives: Callable[[], bool] = lambda: True,
    ) -> None:
        self._services, self._launch, self._chores, self._lives = services, launch, chores, lives
        self._lock = FileLock(services.settings.data_dir / "keeper.lock", thread_local=False)
        self._stop = threading.Event()
        self._office: Office | None = None
        self._clocks = (time.time(), time.monotonic())
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Give the office up and end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        failure = ""
        try:
            while not self._stop.wait(PACE) and self._lives():
                try:
                    self.look()
                    failure = ""
                except Exception as error:
                    if repr(error) != failure:  # told once: the log may lie on the disk that is full
                        logger.warning("the keeper's round failed", exc_info=True)
                    failure = repr(error)
        finally:
            self._lock.release()

    def look(self) -> None:
        """Do what is due, where this process has the office or can take it."""
        if self._office is None:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return
            self._office = Office(self._services.runs.now())
        office, now = self._office, self._services.runs.now()
        if now - office.since < 2 * STALE_AFTER:
            taken = self._services.runs.take_over(office.since)
            if taken:
                logger.info("%d searches that another server has left are queued again", taken)
        self._carry_on(office, now)
        self._make_rounds(office, now)

    def _make_rounds(self, office: Office, now: float) -> None:
        """Look after what is due from time to time."""
        if now - office.patrolled >= min(PATROL, self._services.settings.grace_seconds / 4):
            office.patrolled = now
            self._end_abandoned(office, now)
        if office.swept is None or now - office.swept >= SWEEP:
            office.swept = now
            self.sweep()

    def _carry_on(self, office: Office, now: float) -> None:
        """Launch what has waited for its turn since the last look: by then a page would have done it."""
        office.launched = {run_id: at for run_id, at in office.launched.items() if now - at < LAUNCH_AGAIN}
        startable = self._services.runs.startable(self._services.settings.slots)
        for run_id in startable:
            if run_id in office.waiting and run_id not in office.launched:
                office.launched[run_id] = now
                self._launch(run_id)
        office.waiting = frozenset(startable)

    def _end_abandoned(self, office: Office, now: float) -> None:
        """End runs without a page. After a start, pages get the whole grace to come back."""
        grace = self._services.settings.grace_seconds
        if now - office.since < grace:
            return
        for run_id in self._services.runs.abandoned(grace):
            logger.info("run %s is ended: no page shows it", short(run_id))
            self._services.runs.cancel(run_id, f"No page has shown it for {_duration(grace)}.")

    def sweep(self) -> None:
        """Delete what is too old or over the quotas, in every store."""
        if abs(self._clock_jump()) > CLOCK_JUMP:
            logger.warning("the clock was set: everything counts as used now")
            self._services.rebase()
        for chore in (self._services.sweep, *self._chores):
            try:
                chore()
            except Exception:
                logger.warning("a sweep failed", exc_info=True)

    def _clock_jump(self) -> float:
        """Return by how many seconds the clock was set since the last call."""
        before, self._clocks = self._clocks, (time.time(), time.monotonic())
        return (self._clocks[0] - before[0]) - (self._clocks[1] - before[1])


def _duration(seconds: int) -> str:
    """Return a time in words: "5 minutes"."""
    minutes = round(seconds / 60)
    number, unit = (minutes, "minute") if seconds >= 120 else (seconds, "second")
    return f"{number} {unit}{'' if number == 1 else 's'}"
