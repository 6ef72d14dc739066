"""Everything that serves one page, on one machine or on many, to be broken in tests.

Entry points: `House` and `Visit`, one page in front of it with all the sentences that it has shown. Whatever a house
keeps is on a small disk of its own, where this process may mount one (`small_disk`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import requests
from machines import RedisServer, wait_for, worker

from services.context import Services
from services.runs import Run, RunStore
from services.settings import from_environment
from tests.load.headless import Log, Page
from tests.load.serving import Gunicorn

DISK_MB = 100
FEWEST = 12  # steps of a search: enough to be disturbed, since bisection takes some thirty kernel passes a value
SLOWLY = {"OFFGRID_SLOTS": "1", "OFFGRID_THREADS": "1"}


class House:
    """A web server, and for many machines a Redis server and a worker, each to be killed and started again.

    Parameters
    ----------
    folder : Path
        What is kept is in ``disk`` below it.
    many : bool
        Whether searches are carried out by a worker, and kept in Redis.
    """

    def __init__(self, folder: Path, *, many: bool) -> None:
        self.folder, self.disk, self.steps = folder, folder / "disk", count(FEWEST)
        self.redis = RedisServer.made(self.disk) if many else None
        self.worker = worker(self.redis, folder / "worker") if self.redis else None
        self.data = folder / "web" if many else self.disk
        environment = {**SLOWLY, **(self.redis.environment_of_others if self.redis else {})}
        self.web = Gunicorn(self.data, environment)
        self.services = Services(from_environment({**environment, "OFFGRID_DATA_DIR": str(self.data)}))

    def start(self) -> None:
        """Start everything, and return when it is ready."""
        if self.redis and self.worker:
            self.redis.start()
            self.worker.environment |= SLOWLY
            self.worker.start()
        self.web.start()

    def close(self) -> None:
        for one in (self.web, self.worker, self.redis):
            if one is not None:
                one.kill()

    def run(self, run_id: str) -> Run:
        run = self.services.runs.get(run_id)
        assert run is not None
        return run

    def path(self, run_id: str) -> list[float]:
        return [record.sigma for record in self.run(run_id).path.records]

    @property
    def client(self) -> Any:
        """A connection to Redis."""
        assert self.services.workers is not None
        return self.services.workers._link.client

    def uploads(self) -> set[str]:
        """Return the ids of all that is kept of uploads, whole or in part."""
        if self.redis is None:
            folder = self.data / "uploads"
            return {one.name for one in folder.iterdir()} if folder.is_dir() else set()
        return {name.decode() for name in self.client.keys("offgrid:upload:*")}

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leave no room on the disk while the block runs."""
        filler = self.disk / "filler"
        if isinstance(self.services.runs, RunStore):  # what its log has room for would still be kept
            self.services.runs._database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try:
            with filler.open("wb", buffering=0) as file:
                for size in (1_000_000, 4_096):
                    with contextlib.suppress(OSError):
                        while True:
                            file.write(bytes(size))
            yield
        finally:
            filler.unlink()


class Visit:
    """A page of a browser of its own, and every sentence that it has shown.

    Parameters
    ----------
    house : House
    query : str
        Of the address that is opened.
    """

    def __init__(self, house: House, query: str = "") -> None:
        self.log, self.said = Log(), set[str]()
        self.page = Page(house.web.origin, self.log)
        self.page.open(query)
        self._listen()

    @property
    def path(self) -> list[float]:
        """The bandwidths that the page shows."""
        found: list[float] = (self.page.props.get(("shown", "data")) or {}).get("sigmas", [])
        return found

    def press(self, button: str) -> None:
        with contextlib.suppress(requests.RequestException):  # a browser shows the page that it has
            self.page.press(button)
        self._listen()

    def upload(self, name: str, contents: str) -> str:
        """Drop a file on the page, and return what is said of it."""
        self.page.props["upload", "filename"] = name
        self.page.set({("upload", "contents"): contents})
        self._listen()
        return self.page.text("upload-report")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Let the page's timer tick until something holds."""

        def ticked() -> bool:
            with contextlib.suppress(requests.RequestException):
                self.page.poll()
            self._listen()
            return holds()

        wait_for(ticked, f"{what}; said so far: {sorted(self.said)}")

    def has_said(self, sentence: str) -> bool:
        return any(sentence in said for said in self.said)

    def _listen(self) -> None:
        places = ("running-text", "notice-title", "notice-text", "settings-error", "upload-report", "run-note")
        self.said |= {self.page.text(place) for place in places} | set(self.page.notices)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small disk at a folder while the block runs; False where this process may not."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and _succeeds(command)
    try:
        yield mounted
    finally:
        if mounted:
            _succeeds(["umount", "--lazy", str(folder)])


def _succeeds(command: Any) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
