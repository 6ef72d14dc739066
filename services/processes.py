"""The processes that searches run in.

Entry points: `carry_out` (what such a process does), `launch` (start one) and `stop_all` (let go of all of this
process's, so that another server goes on with their runs), and `warm`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import multiprocess

from services import logs
from services.settings import Settings

NICENESS = 5  # pages come before searches
PATIENCE = 4.0  # seconds for a search to let go between two bytecodes; a kernel pass may take longer

logger = logging.getLogger(__name__)


def carry_out(run_id: str, settings: Settings, on_progress: Callable[[str], None] | None = None) -> None:
    """Carry the run out in this process, which is made for it. Failures end in the store and in the log."""
    from services.context import Services
    from services.heart import parent_watch
    from services.jobs import execute

    logs.set_up(settings.log_level, settings.log_format)
    os.nice(NICENESS)
    if settings.threads is not None:
        os.environ["OFFGRID_THREADS"] = str(settings.threads)
    if settings.dask_scheduler is not None:
        os.environ["OFFGRID_DASK_SCHEDULER"] = settings.dask_scheduler
    execute(run_id, Services(settings), on_progress, parent_lives=parent_watch())


def warm() -> None:
    """Return when processes can be started at once: the first one waits for imports, and a request must not."""
    first = multiprocess.Process(target=os.getpid)
    first.start()
    first.join()


def launch(run_id: str, settings: Settings) -> None:
    """Have the run carried out in a process of its own."""
    multiprocess.Process(target=carry_out, args=(run_id, settings)).start()


def stop_all() -> None:
    """End the searches that this process has started: each keeps what it found and is queued for the next server."""
    jobs = multiprocess.active_children()
    for job in jobs:
        job.terminate()
    for job in jobs:
        job.join(PATIENCE)
        if job.is_alive():
            job.kill()  # nothing is lost: it goes on after its last record
            job.join()
