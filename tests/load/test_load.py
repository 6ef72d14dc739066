"""The load test in short, and faults under it: everything over HTTP, with the protocol that a browser speaks."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from services.context import Services
from services.runs import Run
from services.settings import Settings
from tests.load import browsers
from tests.load.headless import Log, Page
from tests.load.serving import Gunicorn


class House:
    """A server with its store, and pages in front of it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.server = Gunicorn(folder / "data", {"OFFGRID_SLOTS": "1", **environment})
        self.log = Log()
        self.server.start()

    @property
    def services(self) -> Services:
        return Services(Settings(data_dir=self.folder / "data"))

    def page(self, query: str = "", log: Log | None = None) -> Page:
        page = Page(self.server.origin, self.log if log is None else log)
        page.open(query)
        return page

    def state(self, run_id: str) -> Run:
        run = self.services.runs.get(run_id)
        assert run is not None
        return run


def search(page: Page, seed: int = 0) -> str:
    """Run a search that takes a while, and return its id."""
    page.set({("data-gallery", "value"): "builtin:d31"})
    page.set({("method", "value"): "bisection", ("seed", "value"): seed})
    page.press("run-button")
    return page.run


def tick_until(page: Page, holds: Callable[[], bool], what: str, patience: float = 120.0) -> None:
    """Let the page's timer tick until something holds."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}: {page.text('running-text')}"
        select.select([], [], [], 0.2)
        with contextlib.suppress(requests.RequestException):
            page.poll()


def values(page: Page) -> int:
    return len((page.props.get(("shown", "data")) or {}).get("sigmas", []))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("load"), OFFGRID_GRACE_SECONDS="8", OFFGRID_RUNS_PER_VISITOR="2")
    yield made
    made.server.kill()


def test_a_few_browsers_meet_no_error_and_lose_no_run(tmp_path: Path) -> None:
    figures = browsers.run(4, 8.0, tmp_path, every=2.0)
    assert figures.log.failures == [], browsers.report(figures)
    assert figures.lost == 0, browsers.report(figures)
    assert figures.pressed
    assert set(figures.states) <= {"finished", "cancelled", "queued", "running"}
    assert "p95" in browsers.report(figures)


def test_a_visitor_cannot_stop_or_keep_what_is_another_s(house: House) -> None:
    ann, eve = house.page(), house.page()
    run = search(ann)
    tick_until(ann, lambda: values(ann) > 0, "the first value")
    eve.open(ann.address)
    assert eve.run == run, "who has the link may look"
    assert not eve.follows
    assert eve.text("notice-title") == "You do not follow this search."
    for button in ("cancel", "cancel"):
        eve.press(button)  # hidden on the page; a request can be made by hand
    eve.set({("pin", "checked"): True})
    eve.set({("carry-out", "data"): {"id": run, "nonce": "again"}})
    ann.poll()
    assert house.state(run).state == "running"
    assert not house.state(run).cancelling
    assert house.services.runs.following(run, "").others == 1, "eve's pin has made her no follower"
    forged = run[:22] + "." + run[23:][::-1]
    eve.set({("run", "data"): {"id": forged, "query": eve.props["run", "data"]["query"]}})
    eve.press("cancel")
    assert eve.text("notice-text").startswith("The run in this address is not kept any more.")
    eve.open(f"run={forged}")
    assert "not kept any more" in eve.text("notice-text")
    assert house.state(run).state == "running"
    ann.press("cancel")
    tick_until(ann, lambda: not ann.active, "the cancel")
    assert house.state(run).state == "cancelled"


def test_who_follows_too_keeps_a_search_going(house: House) -> None:
    ann, bob = house.page(), house.page()
    run = search(ann, 1)
    assert search(bob, 1) == run
    assert bob.text("running-note") == "Somebody else follows this search too: Cancel takes you off it, and it goes on."
    ann.press("cancel")
    assert not ann.follows
    assert ann.text("notice-title") == "You do not follow this search."
    tick_until(bob, lambda: values(bob) > 0, "the first value")
    bob.press("cancel")
    tick_until(bob, lambda: not bob.active, "the cancel")
    assert house.state(run).state == "cancelled"


def test_a_visitor_has_so_many_searches_and_others_have_theirs(house: House) -> None:
    ann, bob = house.page(), house.page()
    runs = [search(ann, seed) for seed in (2, 3)]
    assert search(ann, 4) == runs[-1], "the page stays at what it shows"
    assert ann.text("settings-error").startswith("You have 2 searches under way, as many as this server carries out")
    assert search(bob, 4) not in runs
    for page, query in ((ann, f"run={runs[0]}"), (ann, f"run={runs[1]}"), (bob, "")):
        page.open(query) if query else None
        page.press("cancel")
    tick_until(bob, lambda: not house.services.runs.active_sources(), "all to end")


def test_a_search_without_a_page_ends_and_a_pinned_one_goes_on(house: House) -> None:
    closed, pinned = house.page(), house.page()
    search(closed, 5)
    run = search(pinned, 6)
    pinned.set({("pin", "checked"): True})
    other = house.page()
    tick_until(other, lambda: house.state(closed.run).state == "cancelled", "the end of the closed page's search")
    assert house.state(closed.run).message == "No page has shown it for 8 seconds."
    tick_until(other, lambda: len(house.state(run).path) > 0, "the pinned search")
    closed.open(closed.address)
    assert closed.text("notice-title") == "The search was ended."
    assert "Resume goes on from the last one." in closed.text("notice-text")
    pinned.press("cancel")


def test_a_stopped_server_lets_go_and_the_next_goes_on(house: House) -> None:
    page = house.page()
    run = search(page, 7)
    tick_until(page, lambda: values(page) > 1, "two values")
    assert house.server.terminate() == 0
    kept = house.state(run)
    assert (kept.state, kept.message) == ("queued", "The server was stopped; the search goes on when it is back.")
    assert len(kept.path) >= 2
    house.server.start()
    tick_until(page, lambda: values(page) > len(kept.path), "the search to go on")
    found = house.state(run).path.records[: len(kept.path)]
    assert [record.sigma for record in found] == [record.sigma for record in kept.path.records]
    page.press("cancel")
    tick_until(page, lambda: not page.active, "the cancel")


def test_a_database_that_is_gone_is_said_and_made_again(house: House) -> None:
    page = house.page()
    search(page, 9)
    tick_until(page, lambda: values(page) > 0, "the first value")
    for file in (house.folder / "data").glob("runs.sqlite3*"):
        file.unlink()
    tick_until(page, lambda: not page.active, "the page to notice")
    assert page.text("notice-text") == "The run in this address is not kept any more. Press Run search to do it again."
    again = search(page, 9)
    tick_until(page, lambda: values(page) > 0, "the new search")
    assert house.state(again).path.records
    page.press("cancel")


def test_nothing_failed_on_the_way_and_no_secret_is_logged(house: House) -> None:
    assert house.log.failures == []
    logged = house.server.log.read_text()
    secret = (house.folder / "data" / "secret-key").read_text()
    assert secret not in logged
    ids = [row["id"] for row in house.services.runs._database.connection().execute("SELECT id FROM runs")]
    assert ids
    assert not any(run_id in logged for run_id in ids), "an id opens its run to whoever reads the log"
