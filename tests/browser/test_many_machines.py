"""A page in front of gunicorn, workers and Redis, while one after the other fails."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import SERVER_ENDS, Open, Server, Watch, await_finished, await_values, press_run
from playwright.sync_api import expect

pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
from machines import Process, RedisServer, worker

# Bisection takes some thirty kernel passes a value: long enough to be disturbed.
D31 = "/?data=builtin:d31&k=31&method=bisection&max_steps=14"


@pytest.fixture
def web(redis: RedisServer, tmp_path: Path) -> Iterator[Server]:
    command = ("-m", "gunicorn", "-c", "gunicorn.conf.py", "app:server")
    server = Server(tmp_path / "web", redis.environment_of_others, command)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def workers(redis: RedisServer, tmp_path: Path) -> Iterator[list[Process]]:
    two = [worker(redis, tmp_path / f"worker{number}") for number in range(2)]
    yield two
    for one in two:
        one.kill()


def test_a_page_comes_through_whatever_fails(
    open_page: Open, web: Server, workers: list[Process], redis: RedisServer, watch: Watch
) -> None:
    watch.allowed += SERVER_ENDS  # a web process is killed
    page = open_page(D31, at=web)
    press_run(page)
    text = page.locator("#running-text")
    expect(text).to_have_text("No worker is there to carry the search out; it starts when one comes")
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text("The search was cancelled.")
    page.locator("#resume").click()
    expect(text).to_contain_text("No worker is there")
    workers[0].start()
    found = await_values(page, 0)
    assert web.process is not None
    os.kill(children(web.process.pid)[0], signal.SIGKILL)
    found = await_values(page, found)
    workers[1].start()
    workers[0].kill()
    found = await_values(page, found)
    redis.kill()
    said = page.get_by_text(re.compile(r"The store \(Redis\) does not answer; try again in a minute\."))
    expect(said).to_have_count(1)
    redis.start()
    await_values(page, found)
    await_finished(page)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
