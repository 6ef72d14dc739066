"""A real server in a process of its own, and what tests say of the page in front of it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, expect

from services.context import Services
from services.runs import Run, RunStore
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60_000  # milliseconds: a slow machine with two processors, and other work on them

Open = Callable[..., Page]


@dataclass
class Server:
    """``python app.py`` or another command: a free port, a data folder and a process group of its own."""

    data_dir: Path
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("app.py",)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def runs(self) -> RunStore:
        return Services(Settings(data_dir=self.data_dir)).runs

    def start(self, *, knock: bool = True) -> None:
        """Start it and wait until it answers; the first start on a machine compiles the kernels.

        With `knock` the first page is asked for, so that it is warm.
        """
        self.port = self.port or free_port()
        variables = {"OFFGRID_PORT": str(self.port), "OFFGRID_DATA_DIR": str(self.data_dir), **self.environment}
        self.log = (self.data_dir.parent / f"{self.data_dir.name}.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, *self.command],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        wait_for(lambda: self.answers("/readyz"), f"the server to answer; its log: {self.log.name}", 300)
        if knock:
            self.answers("/")

    def answers(self, path: str) -> bool:
        assert self.process is None or self.process.poll() is None, f"the server ended; its log: {self.log.name}"
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def stop(self) -> None:
        """End it with everything it started."""
        if self.process is not None:
            kill_group(self.process.pid)
            self.process.wait(30)
            self.process = None
            self.log.close()


def kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Ask for a condition until it holds; the pause between two questions is the operating system's select."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        select.select([], [], [], 0.05)


# What a browser says of a server that ends, between or amid its answers.
SERVER_ENDS = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_CONTENT_LENGTH_MISMATCH", "Failed to fetch"]

# A machine without a graphics card says that WebGL is slow there when its canvas is read, for a picture say.
GRAPHICS = "GL Driver Message"


@dataclass
class Watch:
    """What a page said on its console, and whom it asked."""

    messages: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    allowed: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        def on_console(message: ConsoleMessage) -> None:
            self.messages.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

        def on_request(request: Request) -> None:
            parts = urlsplit(request.url)
            if parts.scheme not in ("data", "blob"):
                self.hosts.add(parts.netloc)

        page.on("console", on_console)
        page.on("pageerror", lambda error: self.messages.append(f"pageerror: {error}"))
        page.on("request", on_request)

    @property
    def unexpected(self) -> list[str]:
        allowed = [*self.allowed, GRAPHICS]
        return [text for text in self.messages if not any(part in text for part in allowed)]


# What tests say of a page --------------------------------------------------------------------------------------------


def run_id(page: Page) -> str:
    """Return the id of the run in the address."""
    page.wait_for_function("() => new URLSearchParams(location.search).has('run')")
    return parse_qs(urlsplit(page.url).query)["run"][0]


def stored(server: Server, run: str) -> Run:
    """Return the run as the server's store has it."""
    found = server.runs.get(run)
    assert found is not None
    return found


def values_shown(page: Page) -> int:
    """Return the number of values that the page says it draws."""
    text = page.locator("#path-note").inner_text()
    return int(text.split()[0].replace(",", "")) if text else 0


def await_values(page: Page, more_than: int) -> int:
    """Wait until the page draws more values than this, and return how many."""
    page.wait_for_function(
        "n => parseInt((document.querySelector('#path-note').textContent || '0').replace(',', '')) > n", arg=more_than
    )
    return values_shown(page)


def press_run(page: Page) -> str:
    """Press Run, wait until the page shows that run, and return its id."""
    before = page.evaluate("new URLSearchParams(location.search).get('run')")
    page.locator("#run-button").click()
    page.wait_for_function("b => new URLSearchParams(location.search).get('run') !== b", arg=before)
    return run_id(page)


def await_finished(page: Page) -> None:
    """Wait until the page says that the search is finished."""
    expect(page.locator("#summary")).to_contain_text("Recommended", timeout=180_000)
