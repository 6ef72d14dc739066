"""gunicorn's settings: ``gunicorn -c gunicorn.conf.py app:server``. What can be changed is in the environment."""

from __future__ import annotations

import os
import sys
from typing import Any

from offgrid.errors import InputError
from services import startup
from services.server import warm
from services.settings import from_environment, prepare_data_dir

try:
    _settings = from_environment(os.environ)
except InputError as error:
    sys.exit(str(error))

bind = f"{_settings.host}:{_settings.port}"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"
threads = 4
timeout = 120
graceful_timeout = 10
keepalive = 5
accesslog = None
loglevel = _settings.log_level.lower()


def on_starting(_server: Any) -> None:
    """Finish the default search before the first visitor, in a process of its own."""
    prepare_data_dir(_settings)
    startup.prepare(_settings)


def post_worker_init(worker: Any) -> None:
    """Load the first page in every worker."""
    warm(worker.app.wsgi())
