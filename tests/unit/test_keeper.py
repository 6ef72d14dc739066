"""The keeper: what is launched when, what is taken up, what is ended, what is swept, and who has the office."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
import pytest

from services import keeper as module
from services.context import DEFAULT, Services
from services.disk import shrink
from services.jobs import execute
from services.keeper import LAUNCH_AGAIN, PATROL, Keeper
from services.points import DataSpec
from services.run_model import STALE_AFTER
from services.run_settings import RunSettings, SearchSettings
from services.settings import Settings


class House:
    """A keeper whose clock and processes tests have in hand."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.services = Services(Settings(data_dir=folder, slots=1, **settings))  # type: ignore[arg-type]
        self.now = 1_000.0
        self.services.runs._clock = lambda: self.now
        self.launched: list[str] = []
        self.swept = 0
        self.keeper = Keeper(self.services, self.launched.append, [self.note])

    def note(self) -> None:
        self.swept += 1

    def ask(self, seed: int, visitor: str | None = "ann") -> str:
        return self.services.request(RunSettings(DataSpec("builtin:flame"), SearchSettings(2, seed=seed)), visitor)

    def look(self, after: float = 0.0) -> None:
        self.now += after
        self.keeper.look()

    def state(self, run_id: str) -> str:
        run = self.services.runs.get(run_id)
        assert run is not None
        return run.state


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_what_waits_is_launched_at_the_second_look_in_the_order_of_the_queue(house: House) -> None:
    first, second = house.ask(1), house.ask(2)
    house.look()
    assert house.launched == [], "a page may be about to do it"
    house.look()
    house.look()
    assert house.launched == [first], "one slot, and once"
    owner = house.services.runs.claim(first) or ""
    house.services.runs.finish(first, owner, [])
    house.look()
    house.look()
    assert house.launched == [first, second]
    house.look(after=LAUNCH_AGAIN)
    assert house.launched == [first, second, second], "a process that never came is asked for again"


def test_what_a_page_has_started_is_left_alone(house: House) -> None:
    run_id = house.ask(1)
    house.look()
    house.services.runs.claim(run_id)
    house.look()
    house.look()
    assert house.launched == []


def test_runs_of_a_server_that_is_gone_go_on(house: House) -> None:
    run_id = house.ask(1)
    house.services.runs.start(run_id, house.services.runs.claim(run_id) or "")
    house.look(after=1)
    assert house.state(run_id) == "running", "its process may live yet"
    house.look(after=STALE_AFTER)
    assert house.state(run_id) == "queued"
    house.look()
    assert house.launched == [run_id]


def test_runs_without_a_page_end_and_pinned_ones_do_not(house: House) -> None:
    grace = house.services.settings.grace_seconds
    house.look()
    watched, closed, pinned = house.ask(1), house.ask(2), house.ask(3)
    house.services.runs.pin(pinned, "ann", pinned=True)
    house.now += grace
    house.services.runs.seen(watched, "ann")
    house.look(after=PATROL)
    assert [house.state(run_id) for run_id in (watched, closed, pinned)] == ["queued", "cancelled", "queued"]
    run = house.services.runs.get(closed)
    assert run is not None
    assert run.message == "No page has shown it for 5 minutes."


def test_after_a_start_pages_have_the_whole_grace_to_come_back(house: House) -> None:
    run_id = house.ask(1)
    house.look(after=10_000)
    house.look(after=house.services.settings.grace_seconds - 1)
    assert house.state(run_id) == "queued"
    house.look(after=PATROL)
    assert house.state(run_id) == "cancelled"


def test_one_of_two_has_the_office_and_the_other_takes_it_over(tmp_path: Path) -> None:
    one, other = House(tmp_path), House(tmp_path)
    for house in (one, other):
        house.look()
    assert (one.swept, other.swept) == (1, 0)
    one.keeper._lock.release()  # as the kernel does when its process dies
    other.look()
    assert other.swept == 1


def test_a_process_that_is_about_to_end_begins_nothing(tmp_path: Path) -> None:
    house = House(tmp_path)
    keeper = Keeper(house.services, house.launched.append, lives=lambda: False)
    house.ask(1)
    keeper.start()
    keeper.stop()
    assert house.launched == []


def test_the_stores_are_swept_but_for_the_default_run(house: House) -> None:
    default, other = house.services.request(DEFAULT), house.ask(1)
    for run_id in (default, other):
        house.services.runs.finish(run_id, house.services.runs.claim(run_id) or "", [])
    house.now += 10_000
    db = house.services.runs._database.connection()
    db.execute("UPDATE runs SET used = 0")
    old = house.services.uploads.save("old.csv", b"a,b\n1,2\n3,5\n4,4\n")
    os.utime(house.services.uploads.folder / old.id, (0, 0))
    house.look()
    assert house.services.runs.get(default) is not None
    assert house.services.runs.get(other) is None
    assert list(house.services.uploads.folder.iterdir()) == []


def test_a_clock_that_was_set_takes_nothing_away(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.look()
    run_id = house.ask(1)
    house.services.runs.finish(run_id, house.services.runs.claim(run_id) or "", [])
    upload = house.services.uploads.save("kept.csv", b"a,b\n1,2\n3,5\n4,4\n")
    house.now += 10_000
    ten_years = time.time() + 10 * 365 * 86_400
    monkeypatch.setattr(time, "time", lambda: ten_years)
    house.keeper.sweep()
    assert house.services.runs.get(run_id) is not None
    assert house.services.uploads.get(upload.id).filename == "kept.csv"
    monkeypatch.setattr(time, "time", lambda: ten_years + 200 * 86_400)
    monkeypatch.setattr(time, "monotonic", lambda: house.keeper._clocks[1] + 200 * 86_400)
    house.keeper.sweep()
    assert house.services.runs.get(run_id) is None, "what is really old goes"


def test_a_round_that_fails_does_not_end_the_keeper(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACE", 0.001)
    failed = []

    def fail(_: int) -> list[str]:
        failed.append(1)
        raise OSError("no space left")

    monkeypatch.setattr(house.services.runs, "startable", fail)
    house.keeper.start()
    while len(failed) < 3:
        assert house.keeper._thread.is_alive()
    house.keeper.stop()


def test_the_oldest_files_go_first(tmp_path: Path) -> None:
    for age, name in enumerate("cba"):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1_000 - age, 1_000 - age))
    assert shrink(tmp_path, 250) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["b", "c"]
    assert shrink(tmp_path / "none", 0) == 0


def test_the_cache_is_kept_within_its_room_and_works_on(tmp_path: Path) -> None:
    services = Services(Settings(data_dir=tmp_path, cache_mb=1))
    for i in range(4):
        services.cache.get_or_make("kind", str(i), lambda: np.zeros(50_000))
    assert services.cache.sweep(1_000_000) >= 2
    assert services.cache.get_or_make("kind", "0", lambda: "made anew") == "made anew"


def test_a_whole_search_is_carried_out_by_whoever_is_launched(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.services.runs._clock = time.monotonic
    house.keeper = Keeper(house.services, lambda run_id: execute(run_id, house.services))
    run_id = house.ask(1)
    house.keeper.look()
    house.keeper.look()
    assert house.state(run_id) == "finished"


def test_a_round_that_fails_again_and_again_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keeper, rounds = Keeper(Services(Settings(data_dir=tmp_path)), lambda _: None), iter([1, 1, 1, 0, 1, 2, 2])

    def look() -> None:
        failing = next(rounds, None)
        if failing is None:
            keeper._stop.set()
        elif failing:
            raise OSError(28, f"reason {failing}")

    monkeypatch.setattr(keeper, "look", look)
    monkeypatch.setattr("services.keeper.PACE", 0.0)
    with caplog.at_level(logging.WARNING, "services.keeper"):
        keeper._keep()
    assert [str(record.exc_info[1])[-1] for record in caplog.records if record.exc_info] == ["1", "1", "2"]
