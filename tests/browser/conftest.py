"""A real browser in front of a real server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from pages import PATIENCE, Open, Server, Watch
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that most tests share."""
    started = Server(tmp_path_factory.mktemp("browser") / "data")
    started.start()
    yield started
    started.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Make servers for one test: with other settings, or to be ended."""
    made: list[Server] = []

    def make(**environment: str) -> Server:
        made.append(Server(tmp_path / f"data{len(made)}", environment))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def open_page(
    browser: Browser, server: Server, own_server: Callable[..., Server], watch: Watch
) -> Iterator[Open]:  # fmt: skip
    """Open an address in a context of its own; at the end its console is empty and it asked nobody else.

    It needs `own_server` only so that pages are closed before the servers behind them: what a page asks of a server
    that ends is an error on its console.
    """
    del own_server
    contexts: list[BrowserContext] = []
    origins: set[str] = set()

    def open_(address: str = "/", *, at: Server | None = None, wait: bool = True, **options: object) -> Page:
        host = at or server
        origins.add(urlsplit(host.url).netloc)
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch.attach(page)
        page.goto(host.url + address)
        if wait:
            expect(page.locator("#path-graph .main-svg").first).to_be_visible()
            expect(page.locator("#run-note")).not_to_be_empty() if address == "/" else None
        return page

    yield open_
    for context in contexts:
        context.close()
    assert watch.unexpected == [], "the console is not empty"
    assert watch.hosts <= origins, "a request went to another host"
