"""Doing a line of the paper's tables again, in a process of its own.

Entry point: `execute`. It claims the rerun, waits for one of the slots that searches wait for too, and writes each run
to the store when it is done. A thread beats once a second; it ends a measurement when cancel was asked for, and the
process when its parent is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from services import slots
from services.heart import Heart, Stopped
from services.logs import describe
from services.reruns import LostRerun, RerunStore
from services.settings import Settings

SERVER_GONE = "The server was stopped meanwhile."

logger = logging.getLogger(__name__)


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
        with heart.beating(), slots.hold(settings, lambda: store.first(rerun_id), heart.wait):
            _measure(store, rerun_id, owner, heart)
        store.close(rerun_id, owner, "finished")
    except Stopped:
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


class _Heart(Heart):
    """The heart of a rerun, which is told how far it is, too."""

    def __init__(
        self, store: RerunStore, rerun_id: str, owner: str, on_progress: Callable[[], None],
        parent_lives: Callable[[], bool],
    ) -> None:  # fmt: skip
        super().__init__(parent_lives)
        self._store, self._rerun_id, self._owner = store, rerun_id, owner
        self._on_progress = on_progress

    def tell(self, share: float, doing: str) -> None:
        """Write how far it is; a cancel ends the measurement here."""
        if self._store.tell(self._rerun_id, self._owner, share, doing):
            self._stop.set()
        self.notify()
        self.check()

    def beat(self) -> bool:
        """Note in the store that the process lives."""
        try:
            return self._store.beat(self._rerun_id, self._owner)
        except LostRerun:
            return True
        except Exception:
            logger.warning("rerun %s could not beat", self._rerun_id, exc_info=True)
        return False

    def notify(self) -> None:
        """Call `on_progress`."""
        self._on_progress()

    def let_go(self) -> None:
        """Close the rerun as interrupted."""
        _close(self._store, self._rerun_id, self._owner, "interrupted", SERVER_GONE)
