"""The first page already shows a result: the default search is finished in the store before anybody comes.

Entry points: `default_run`, `prepare` (for whoever starts a server) and ``python -m services.startup`` (the subprocess
it runs, so that the web process never does compiled work).
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from filelock import FileLock

from offgrid.errors import InputError
from services import logs
from services.context import DEFAULT, Services
from services.jobs import execute
from services.settings import Settings, from_environment, prepare_data_dir
from services.visitors import SERVER

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300.0  # seconds: the first start on a machine compiles the kernels

logger = logging.getLogger(__name__)
_started: dict[str, subprocess.Popen[bytes]] = {}
_started_lock = threading.Lock()


def check_cluster(settings: Settings) -> None:
    """Raise InputError where a Dask cluster is set that cannot be used.

    A subprocess asks it: a server that forks must not have connections, nor threads of theirs.
    """
    if settings.dask_scheduler is None:
        return
    done = subprocess.run(
        [sys.executable, "-m", "offgrid.dask_cluster"],
        cwd=ROOT, env={**os.environ, **settings.to_environment()}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise InputError(done.stderr.strip().splitlines()[-1])


def default_run(services: Services) -> str:
    """Return the id of the default run, and have it carried out where it is neither finished nor under way."""
    finished = services.runs.find_finished(services.key(DEFAULT))
    if finished is not None and not services.comparisons.missing(services.comparison_keys(DEFAULT).values()):
        return finished
    run_id = _request(services)
    if services.workers is None:
        _start(services.settings)
    return run_id


def is_ready(services: Services) -> bool:
    """Whether the default run is finished."""
    return services.runs.find_finished(services.key(DEFAULT)) is not None


def prepare(settings: Settings) -> None:
    """Finish the default run, unless it is; return when it is done. A failure is logged: the server starts anyway.

    Where there are workers, they find it in the queue, and nobody waits for them.
    """
    services = Services(settings)
    if services.workers is not None:
        default_run(services)
        return
    if is_ready(services):
        return
    try:
        _start(settings).wait(PATIENCE)
    except subprocess.TimeoutExpired:
        logger.warning("the default search takes more than %.0f s; starting without it", PATIENCE)


def _request(services: Services) -> str:
    """Ask for the default run, which goes on without a page."""
    run_id = services.request(DEFAULT)
    services.runs.follow(run_id, SERVER, pinned=True)
    return run_id


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    """Start the subprocess for this data folder, unless this process has one at work already."""
    folder = str(settings.data_dir)
    with _started_lock:
        known = _started.get(folder)
        if known is None or known.poll() is not None:
            environment = {**os.environ, **settings.to_environment()}
            _started[folder] = subprocess.Popen(
                [sys.executable, "-m", "services.startup"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL
            )
        return _started[folder]


def main() -> int:
    """Carry out the default run; of several processes that ask at once, one does the work."""
    settings = from_environment(os.environ)
    logs.set_up(settings.log_level, settings.log_format)
    prepare_data_dir(settings)
    with FileLock(settings.data_dir / "startup.lock"):
        services = Services(settings)
        run_id = _request(services)
        execute(run_id, services)
        run = services.runs.get(run_id)
    if run is None or not (run.active or run.state == "finished"):
        logger.error("the default search is not finished: %s", "gone" if run is None else run.message or run.state)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
