"""Pages without a screen in front of gunicorn, a worker and Redis, while one after the other fails."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
from machines import RedisServer, wait_for, worker

from tests.load.headless import Log, Page
from tests.load.serving import Gunicorn

# Bisection takes some thirty kernel passes a value: long enough to be disturbed.
D31 = "data=builtin:d31&k=31&method=bisection&seed=5"


def test_a_page_says_what_it_waits_for_and_goes_on(redis: RedisServer, tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    log, one = Log(), worker(redis, tmp_path / "worker", slots=2)
    with Gunicorn(tmp_path / "web", redis.environment_of_others) as web:
        page = Page(web.origin, log)

        def says(text: str) -> bool:
            page.poll()
            return text in page.text("running-text") + page.text("notice-title")

        def found() -> int:
            page.poll()
            return len((page.props.get(("shown", "data")) or {}).get("sigmas", []))

        try:
            page.open(D31)
            page.press("run-button")
            wait_for(
                lambda: says("No worker is there to carry the search out; it starts when one comes"), "the sentence"
            )
            page.press("cancel")
            wait_for(lambda: says("The search was cancelled."), "the cancel")
            page.press("resume")
            wait_for(lambda: says("No worker is there"), "the search to wait again")
            one.start()
            wait_for(lambda: found() > 0, "a value")
            kept = found()
            os.kill(children(web.pid)[0], signal.SIGKILL)
            wait_for(lambda: found() > kept, "another value")
            assert all("answers" in failure or "Connection" in failure for failure in log.failures), log.failures
            redis.kill()
            sentence = "The store (Redis) does not answer; try again in a minute."
            wait_for(lambda: found() >= 0 and any(sentence in notice for notice in page.notices), "the sentence")
            kept = found()
            redis.start()
            wait_for(lambda: found() > kept, "another value")
            page.press("cancel")
            wait_for(lambda: says("The search was cancelled."), "the cancel")
        finally:
            one.kill()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
