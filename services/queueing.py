"""Celery as this application uses it, over Redis.

Entry points: `make_celery`, `Knocker` and the names `QUEUE` and `SEARCH_NEXT`. A message says only that there is work:
which, the worker asks the store of runs. So it may arrive twice, late or not at all, and nothing is done twice or lost:
workers look for themselves from time to time.
"""

from __future__ import annotations

import logging
from functools import cached_property

from celery import Celery

from services.redis_link import Link

QUEUE = "offgrid"  # a list in Redis, gone when it is empty
SEARCH_NEXT = "offgrid.search_next"

logger = logging.getLogger(__name__)


def make_celery(url: str) -> Celery:
    """Return Celery with late acknowledgement, one message at a time for each slot, and JSON only.

    Nothing else than messages is kept in Redis: no results, no events, no remote control.
    """
    app = Celery("offgrid", broker=url.replace("unix://", "redis+socket://", 1), set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_max_tasks_per_child=50,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a Redis that takes no more for a while must not end the worker
        broker_transport_options={"socket_connect_timeout": 5, "socket_timeout": 30},
    )
    return app


class Knocker:
    """Tells the workers that there is work.

    Parameters
    ----------
    link : Link
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def __call__(self) -> None:
        """Send a message. Where that fails, a worker finds the work when it looks for itself."""
        try:
            self._celery.send_task(SEARCH_NEXT, retry=False)
        except Exception:
            logger.warning("the workers could not be told of new work", exc_info=True)

    def unheard(self) -> int:
        """Return the number of messages that no worker has taken."""
        return int(self._link.ask(lambda client: client.llen(QUEUE)))

    @cached_property
    def _celery(self) -> Celery:
        return make_celery(self._link.url)
