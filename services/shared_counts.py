"""A folder in which the web processes of one server sum up what they count.

Entry points: `FOLDER` (the variable that names it), `share` and `forget`. The library for Prometheus looks for the
variable when it is imported, so that nothing here imports it before.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def share(data_dir: Path) -> None:
    """Have the processes started from here on sum up their counts; for a server, before its processes are made."""
    folder = data_dir / "metrics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    os.environ[FOLDER] = str(folder)


def forget(pid: int) -> None:
    """Tidy up after a web process that has ended; what it counted stays."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)
