"""gunicorn's settings: ``gunicorn -c gunicorn.conf.py app:server``. What can be changed is in the environment."""

from __future__ import annotations

import os
import sys
from typing import Any

from offgrid.errors import InputError
from services import logs, shared_counts, startup
from services.settings import from_environment, prepare_data_dir

try:
    _settings = from_environment(os.environ)
    startup.check_cluster(_settings)
    prepare_data_dir(_settings)
except InputError as error:
    sys.stderr.write(f"{error}\n")
    sys.exit(2)

logs.set_up(_settings.log_level, _settings.log_format)
shared_counts.share(_settings.data_dir)

bind = f"{_settings.host}:{_settings.port}"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"
threads = 4
timeout = 300  # a worker imports everything before it answers, which takes long on a busy machine
graceful_timeout = 10
keepalive = 75  # longer than a page rests between two questions, so that it need not connect anew
accesslog = None
control_socket_disable = True  # nobody needs it, and the home folder may be read only
loglevel = _settings.log_level.lower()


def on_starting(_server: Any) -> None:
    """Finish the default search before the first visitor, in a process of its own."""
    startup.prepare(_settings)


def post_worker_init(worker: Any) -> None:
    """Load the first page in every worker, and let one of them keep house."""
    from app import keep_house

    keep_house(worker.app.wsgi(), _settings, lives=lambda: worker.alive)


def worker_exit(_server: Any, _worker: Any) -> None:
    """Let go of this worker's searches: they keep what they found, and go on with the next one."""
    from services.processes import stop_all

    stop_all()


def child_exit(_server: Any, worker: Any) -> None:
    """Tidy up the counts of a worker that is gone."""
    shared_counts.forget(worker.pid)
