"""The server for a group: gunicorn with two workers."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pages import Open, Server, await_values, press_run, stored
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def gunicorn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(
        tmp_path_factory.mktemp("gunicorn") / "data", command=("-m", "gunicorn", "-c", "gunicorn.conf.py", "app:server")
    )
    started.start(knock=False)
    yield started
    started.stop()


def get(address: str) -> int:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return int(answer.status)


def test_every_worker_is_warm_from_its_first_request_on(gunicorn: Server) -> None:
    # Before any page: the files of component libraries, many at a time, so that each worker gets some.
    import dash_mantine_components

    folder = Path(dash_mantine_components.__file__).parent
    scripts = [path.name for path in folder.glob("dash_mantine_components.js")]
    assert scripts
    address = f"{gunicorn.url}/_dash-component-suites/dash_mantine_components/{scripts[0]}"
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(get, [address] * 40)) == {200}


def test_runs_and_cancel_work_across_workers(open_page: Open, gunicorn: Server) -> None:
    page = open_page("/?data=builtin:d31&k=31&method=bisection", at=gunicorn)
    run = press_run(page)
    before = await_values(page, 0)
    await_values(page, before)
    page.reload()
    expect(page.locator("#running")).to_be_visible()
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text(re.compile("cancelled"))
    assert stored(gunicorn, run).state == "cancelled"
