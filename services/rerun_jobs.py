"""Doing a line of the paper's tables again, in a process of its own.

Entry point: `execute`. It claims the rerun, waits for one of the slots that searches wait for too, and writes each run
to the store when it is done. A thread beats once a second; it ends a measurement when cancel was asked for, and the
process when its parent is gone.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from filelock import FileLock

from services import slots
from services.logs import describe
from services.reruns import LostRerun, RerunStore
from services.settings import Settings

BEAT = 1.0  # seconds between heartbeats
SLOT_PATIENCE = 0.2  # seconds between two tries for a slot
SERVER_GONE = "The server was stopped meanwhile."

logger = logging.getLogger(__name__)


class _Stopped(BaseException):
    """Cancel was asked for, or the rerun is another process's. Not an `Exception`: no measurement eats it."""


def execute(
    rerun_id: str,
    settings: Settings,
    on_progress: Callable[[], None] = lambda: None,
    parent_lives: Callable[[], bool] = lambda: True,
) -> None:
    """Carry the rerun out until it is finished, cancelled or failed. Returns at once where another process has it.

    Parameters
    ----------
    rerun_id : str
    settings : Settings
    on_progress : callable, optional
        Called whenever the store has something new.
    parent_lives : callable, optional
        Where it returns False, the process is ended at once.
    """
    store = RerunStore(settings.data_dir)
    owner = store.claim(rerun_id)
    if owner is None:
        return
    heart = _Heart(store, rerun_id, owner, on_progress, parent_lives)
    try:
        with heart.beating(), _slot(settings, heart):
            _measure(store, rerun_id, owner, heart)
        store.close(rerun_id, owner, "finished")
    except _Stopped:
        _close(store, rerun_id, owner, "cancelled")
    except LostRerun:
        logger.info("rerun %s is another process's", rerun_id)
    except Exception as error:  # noqa: BLE001 - whatever it is, the person sees a sentence and the log keeps the trace
        _close(store, rerun_id, owner, "failed", describe(error, "The rerun"))
    except BaseException:
        _close(store, rerun_id, owner, "interrupted")
        raise
    on_progress()


def _close(store: RerunStore, rerun_id: str, owner: str, state: Any, message: str = "") -> None:
    try:
        store.close(rerun_id, owner, state, message)
    except LostRerun:
        logger.info("rerun %s is another process's", rerun_id)


def _measure(store: RerunStore, rerun_id: str, owner: str, heart: _Heart) -> None:
    # imported here: the web process does no compiled work
    from offgrid.engine import warmup
    from offgrid.experiments import again, cases
    from offgrid.experiments.progress import quiet

    asked = store.get(rerun_id)
    if asked is None:
        raise LostRerun(rerun_id)
    folder = cases.find_folder(None)
    with heart.interruptible():
        store.start(rerun_id, owner, again.source(asked.name, folder) or "")
        measure, _source = again.open_line(asked.kind, asked.name, folder)
        heart.tell(0.0, "preparing")
        warmup()
        if asked.kind != "scaling":  # so that the first run does not pay for what is loaded only once
            again.open_line(asked.kind, "flame", None)[0](0, quiet)
    for run in range(asked.runs):
        with heart.interruptible():
            found = measure(run, _from(heart, run, asked.runs))
        store.append(rerun_id, owner, {"run": run, **found})
        heart.tell((run + 1) / asked.runs, "")


def _from(heart: _Heart, run: int, runs: int) -> Callable[[float, str], None]:
    """Return what tells how far a run is as a share of all of them."""
    return lambda share, doing: heart.tell((run + share) / runs, f"run {run + 1} of {runs}, {doing}")


class _Heart:
    """The thread that keeps a rerun alive in the store, and listens for a cancel."""

    def __init__(
        self, store: RerunStore, rerun_id: str, owner: str, on_progress: Callable[[], None],
        parent_lives: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._store, self._rerun_id, self._owner = store, rerun_id, owner
        self._on_progress, self._parent_lives = on_progress, parent_lives
        self._done, self._stop = threading.Event(), threading.Event()
        self._open = False

    def tell(self, share: float, doing: str) -> None:
        """Write how far it is; a cancel ends the measurement here."""
        if self._store.tell(self._rerun_id, self._owner, share, doing):
            self._stop.set()
        self._on_progress()
        if self._stop.is_set():
            raise _Stopped

    def first(self) -> bool:
        """Whether no other rerun waits ahead of this one."""
        return self._store.first(self._rerun_id)

    def wait(self, seconds: float) -> None:
        """Wait, unless it must stop."""
        if self._stop.wait(seconds):
            raise _Stopped

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat while the block runs."""
        thread = threading.Thread(target=self._beat, name="rerun-heart", daemon=True)
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGUSR1, self._on_signal) if main else None
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()
            if main:
                signal.signal(signal.SIGUSR1, before)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a cancel end the block from inside, where this is the main thread."""
        self._open = threading.current_thread() is threading.main_thread()
        try:
            yield
        finally:
            self._open = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._open:
            self._open = False
            raise _Stopped

    def _beat(self) -> None:
        main = threading.main_thread().ident
        while not self._done.wait(BEAT):
            if not self._parent_lives():
                try:
                    _close(self._store, self._rerun_id, self._owner, "interrupted", SERVER_GONE)
                finally:
                    os._exit(1)
            if self._must_stop():
                self._stop.set()
            if self._stop.is_set() and self._open and main is not None:
                signal.pthread_kill(main, signal.SIGUSR1)
            self._on_progress()

    def _must_stop(self) -> bool:
        try:
            return self._store.beat(self._rerun_id, self._owner)
        except LostRerun:
            return True
        except Exception:
            logger.warning("rerun %s could not beat", self._rerun_id, exc_info=True)
        return False


@contextmanager
def _slot(settings: Settings, heart: _Heart) -> Iterator[None]:
    """Hold a slot while the block runs, first come first served among reruns."""
    folder = settings.data_dir / "slots"
    lock: FileLock | None = None
    while lock is None:
        lock = slots.take(folder, settings.slots) if heart.first() else None
        if lock is None:
            heart.wait(SLOT_PATIENCE)
    try:
        yield
    finally:
        lock.release()
