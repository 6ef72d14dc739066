from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from offgrid import BandwidthSearch
from offgrid.datasets import load
from offgrid.errors import InputError
from offgrid.path import LevelEnd, PathRecord
from services import heart, jobs
from services.context import Services
from services.jobs import build_search, execute
from services.keeper import Keeper
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.runs import Run
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
FLAME = RunSettings(DataSpec("builtin:flame"), SearchSettings(2))
LONG = RunSettings(DataSpec("builtin:d31"), SearchSettings(31, max_steps=30))
PATIENCE = 120.0
YEARS = 10 * 365 * 86_400.0

Made = Callable[[SearchSettings], Any]


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(Settings(data_dir=tmp_path / "data", slots=1))


def shown(services: Services, run_id: str) -> Run:
    run = services.runs.get(run_id)
    assert run is not None
    return run


class Scripted:
    """A search that does what a test says, to reach moments that a real one passes in no time."""

    lower_bound_ = 0.5
    lower_bound_note_ = ""

    def __init__(self, count: int, at: Callable[[int], None] = lambda _: None) -> None:
        self.count, self.at = count, at
        self.ends_: list[LevelEnd] = []

    def iter_path(self, X: Any, y: Any, *, resume: Any, ranks: Any) -> Iterator[PathRecord]:
        for i in range(len(resume), self.count):
            self.at(i)
            labels = np.full(len(X), i % 2, dtype=np.int32)
            yield PathRecord(1.0 + i, 1.0, 1.0, labels, np.array([i]), 1.0 / (i + 1))
        self.ends_ = [LevelEnd(1, "k-means", float("inf"))]


def scripted(count: int, at: Callable[[int], None] = lambda _: None) -> Made:
    return lambda _settings: Scripted(count, at)


def test_a_run_is_carried_out_and_equals_the_library(services: Services) -> None:
    run_id = services.request(FLAME)
    versions: list[str] = []
    execute(run_id, services, versions.append)
    run = shown(services, run_id)
    points = load("flame").prepare()
    search = BandwidthSearch(2, random_state=0).fit(points.X, points.y)
    assert run.state == "finished"
    assert [record.sigma for record in run.path.records] == [record.sigma for record in search.path_]
    assert [record.nmi for record in run.path.records] == [record.nmi for record in search.path_]
    assert list(run.path.ends.values()) == search.ends_
    assert (run.lower_bound, run.lower_bound_note) == (search.lower_bound_, search.lower_bound_note_)
    assert versions[-1].split(":")[1] == "finished"
    assert len(set(versions)) > 3


def test_a_finished_run_is_not_computed_again(services: Services) -> None:
    run_id = services.request(FLAME)
    execute(run_id, services)
    assert services.request(FLAME) == run_id
    execute(run_id, services, build=lambda _: pytest.fail("computed again"))


def test_cancel_between_records_keeps_them(services: Services) -> None:
    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(9, lambda i: services.runs.cancel(run_id) if i == 4 else None))
    run = shown(services, run_id)
    assert (run.state, len(run.path)) == ("cancelled", 5)
    assert services.runs.resume(run_id)
    execute(run_id, services, build=scripted(9))
    run = shown(services, run_id)
    assert (run.state, [record.sigma for record in run.path.records]) == ("finished", [1.0 + i for i in range(9)])


def test_cancel_inside_a_long_step_is_noticed(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "BEAT", 0.02)
    never = threading.Event()

    def stall(i: int) -> None:
        if i == 3:
            services.runs.cancel(run_id)
            assert not never.wait(PATIENCE), "the step was not interrupted"
            pytest.fail("the step was not interrupted")

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(9, stall))
    assert (shown(services, run_id).state, len(shown(services, run_id).path)) == ("cancelled", 3)


def test_a_refusal_is_shown_as_it_is(services: Services) -> None:
    def refuse(_: int) -> None:
        raise InputError("k is 9; there are 3 rows.")

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(3, refuse))
    assert (shown(services, run_id).state, shown(services, run_id).message) == ("failed", "k is 9; there are 3 rows.")


def test_a_failure_is_one_sentence_and_its_trace_is_logged(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(i: int) -> None:
        if i == 2:
            raise RuntimeError("secret detail")

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(3, fail))
    run = shown(services, run_id)
    assert (run.state, len(run.path)) == ("failed", 2)
    assert run.message == "The search failed (RuntimeError). The log of the server says more."
    assert "secret detail" in caplog.text


def test_a_listener_that_fails_does_not_end_the_search(services: Services) -> None:
    def broken(_: str) -> None:
        raise OSError("nobody listens")

    run_id = services.request(FLAME)
    execute(run_id, services, broken, build=scripted(3))
    assert shown(services, run_id).state == "finished"


def test_data_that_changed_meanwhile_are_not_mixed(services: Services) -> None:
    run_id = services.runs.create(FLAME, "key of other data")
    execute(run_id, services, build=scripted(3))
    assert shown(services, run_id).message.startswith("The data or the library have changed")


def test_a_run_taken_over_stops_the_first_process(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.run_rows.STALE_AFTER", -1.0)
    owners: list[str | None] = []

    def take(i: int) -> None:
        if i == 2:
            other = Services(services.settings).runs
            assert other.resume(run_id)
            owners.append(other.claim(run_id))

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(9, take))
    assert owners[0] is not None
    assert [record.sigma for record in shown(services, run_id).path.records] == [1.0, 2.0]


def test_searches_wait_for_a_slot_in_the_order_they_came(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "BEAT", 0.05)
    order: list[str] = []
    running, go = threading.Event(), threading.Event()

    def first(i: int) -> None:
        if i == 0:
            order.append("first")
            running.set()
            assert go.wait(PATIENCE)

    def start(seed: int, build: Made) -> tuple[str, threading.Thread]:
        run_id = services.request(RunSettings(FLAME.data, SearchSettings(2, seed=seed)))
        thread = threading.Thread(target=execute, args=(run_id, services), kwargs={"build": build})
        thread.start()
        return run_id, thread

    one = start(1, scripted(2, first))
    assert running.wait(PATIENCE)
    two = start(2, scripted(1, lambda _: order.append("second")))
    await_(lambda: shown(services, two[0]).place == 1 and shown(services, two[0]).pid is not None)
    three = start(3, scripted(1, lambda _: order.append("third")))
    await_(lambda: shown(services, three[0]).place == 2)
    assert shown(services, two[0]).state == "queued"
    go.set()
    for _, thread in (one, two, three):
        thread.join(PATIENCE)
    assert order == ["first", "second", "third"]
    assert {shown(services, run_id).state for run_id, _ in (one, two, three)} == {"finished"}


def test_a_waiting_run_can_be_cancelled(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "BEAT", 0.05)
    with FileLock(prepared(services.settings.data_dir / "slots") / "slot-0.lock"):
        run_id = services.request(FLAME)
        thread = threading.Thread(target=execute, args=(run_id, services), kwargs={"build": scripted(2)})
        thread.start()
        await_(lambda: shown(services, run_id).pid is not None)
        services.runs.cancel(run_id)
        thread.join(PATIENCE)
    assert (shown(services, run_id).state, len(shown(services, run_id).path)) == ("cancelled", 0)


def prepared(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def await_(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    pytest.fail("waited in vain")


def carry_out(folder: Path, run_id: str) -> subprocess.Popen[bytes]:
    """Carry a run out in a process that stands for a job's."""
    code = """
import sys
from pathlib import Path
from services.context import Services
from services.jobs import execute
from services.settings import Settings
execute(sys.argv[2], Services(Settings(data_dir=Path(sys.argv[1]))))
"""
    return subprocess.Popen([sys.executable, "-c", code, str(folder), run_id], cwd=ROOT)


def test_a_killed_process_is_interrupted_and_resumed_to_the_same_path(services: Services) -> None:
    run_id = services.request(LONG)
    job = carry_out(services.settings.data_dir, run_id)
    await_(lambda: len(shown(services, run_id).path) > 2)
    job.kill()
    job.wait()
    kept = len(shown(services, run_id).path)
    assert 2 < kept < 30
    await_(lambda: shown(services, run_id).state == "interrupted")
    assert services.request(LONG) == run_id, "pressing Run goes on with it too"
    execute(run_id, services)
    run = shown(services, run_id)
    points = load("d31").prepare()
    expected = BandwidthSearch(31, random_state=0, max_steps=30).fit(points.X, points.y).path_
    assert run.state == "finished"
    assert [record.sigma for record in run.path.records] == [record.sigma for record in expected]
    for found, record in zip(run.path.records, expected, strict=True):
        np.testing.assert_array_equal(found.labels, record.labels)
        np.testing.assert_array_equal(found.moved, record.moved)
        assert (found.below, found.cnnc, found.nmi, found.ari) == (record.below, record.cnnc, record.nmi, record.ari)


def _orphan(folder: Path, run_id: str, pids: Any) -> None:
    """A server that starts a job and waits for ever."""
    context = multiprocessing.get_context("spawn")
    job = context.Process(target=_stalled, args=(folder, run_id))
    job.start()
    pids.put(job.pid)
    job.join()


def _stalled(folder: Path, run_id: str) -> None:
    parent = os.getppid()
    heart.BEAT = 0.05
    execute(
        run_id,
        Services(Settings(data_dir=folder)),
        build=scripted(5, lambda i: threading.Event().wait() if i == 2 else None),
        parent_lives=lambda: os.getppid() == parent,
    )


def test_a_job_ends_with_its_server(services: Services) -> None:
    run_id = services.request(FLAME)
    context = multiprocessing.get_context("spawn")
    pids = context.Queue()
    server = context.Process(target=_orphan, args=(services.settings.data_dir, run_id, pids))
    server.start()
    job = pids.get(timeout=PATIENCE)
    await_(lambda: len(shown(services, run_id).path) == 2)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    server.join()
    await_(lambda: not Path(f"/proc/{job}").exists() or "Z" in Path(f"/proc/{job}/stat").read_text().split(")")[1])
    run = shown(services, run_id)
    assert (run.state, run.message, len(run.path)) == ("queued", jobs.SERVER_GONE, 2)
    assert services.runs.startable(1) == [run_id], "another process may go on with it at once"


def test_a_process_that_is_told_to_end_lets_go_of_its_run(services: Services) -> None:
    run_id = services.request(LONG)
    job = carry_out(services.settings.data_dir, run_id)
    await_(lambda: len(shown(services, run_id).path) > 2)
    job.terminate()
    assert job.wait(PATIENCE) == 0
    run = shown(services, run_id)
    assert (run.state, run.message) == ("queued", jobs.SERVER_GONE)
    assert 2 < len(run.path) < 30
    execute(run_id, services, build=scripted(30))
    assert shown(services, run_id).state == "finished"


def test_a_full_disk_stops_the_search_and_keeps_what_was_found(services: Services) -> None:
    db = services.runs._database.connection()

    def fill(i: int) -> None:
        if i == 4:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {pages}")
            filler = "INSERT INTO totals VALUES (hex(randomblob(400)), 1)"
            with contextlib.suppress(sqlite3.OperationalError):
                while True:
                    db.execute(filler)

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(400, fill))
    services.runs._clock = lambda: time.monotonic() + 60  # without room for a word the run ends by its silence
    run = shown(services, run_id)
    assert run.state == "interrupted"
    assert run.message in ("", jobs.NO_ROOM)
    assert 4 <= len(run.path) < 400
    db.execute("PRAGMA max_page_count = 1000000")
    assert services.runs.resume(run_id)
    execute(run_id, services, build=scripted(400))
    assert [record.sigma for record in shown(services, run_id).path.records] == [1.0 + i for i in range(400)]


def test_a_full_redis_leaves_the_search_to_whoever_takes_it_over(
    empty_redis: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services.stores import open_redis

    settings = Settings(data_dir=tmp_path, redis_url=empty_redis, secret_key="a secret of all servers")
    stores = open_redis(settings, empty_redis, patience=0.1)
    services, client, append = Services(settings, stores), stores.workers._link.client, stores.runs.append

    def append_without_room(*values: Any) -> bool:
        client.config_set("maxmemory", 1)
        try:
            return append(*values)
        finally:
            client.config_set("maxmemory", 0)

    def fill(i: int) -> None:
        if i == 4:
            monkeypatch.setattr(stores.runs, "append", append_without_room)

    run_id = services.request(FLAME)
    execute(run_id, services, build=scripted(8, fill))
    monkeypatch.setattr(stores.runs, "append", append)
    assert len(shown(services, run_id).path) == 4
    stores.runs._rows._clock = lambda: time.time() + 60  # it has been silent for a while
    assert shown(services, run_id).state == "interrupted"
    assert stores.runs.take_over() == 1
    execute(run_id, services, build=scripted(8))
    run = shown(services, run_id)
    assert (run.state, [record.sigma for record in run.path.records]) == ("finished", [1.0 + i for i in range(8)])


@pytest.mark.parametrize("jump", [YEARS, -YEARS])
def test_a_clock_that_is_set_while_a_search_runs_changes_nothing(
    services: Services, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    true_time, run_id = time.time, services.request(FLAME, "ann")
    keeper = Keeper(services, lambda _: None)
    keeper.sweep()

    def set_clock(i: int) -> None:
        if i == 4:
            monkeypatch.setattr(time, "time", lambda: true_time() + jump)
            keeper.sweep()

    execute(run_id, services, build=scripted(8, set_clock))
    keeper.sweep()
    run = shown(services, run_id)
    assert (run.state, [record.sigma for record in run.path.records]) == ("finished", [1.0 + i for i in range(8)])
    assert 0 <= run.seconds < PATIENCE
    assert services.request(FLAME, "bob") == run_id, "it is found again"


def test_equal_uploads_share_nothing(services: Services) -> None:
    table = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 9, i % 7) for i in range(40))
    asked = [
        RunSettings(DataSpec(f"upload:{services.uploads.save('t.csv', table, who).id}"), SearchSettings(2))
        for who in ("ann", "bob")
    ]
    assert services.points(asked[0].data).hash == services.points(asked[1].data).hash
    assert services.key(asked[0]) != services.key(asked[1])
    assert services.content(asked[0].data) != services.content(asked[1].data)
    runs = [services.request(one, who) for one, who in zip(asked, ("ann", "bob"), strict=True)]
    assert runs[0] != runs[1]
    assert services.runs.following(runs[0], "ann").others == 0
    execute(runs[0], services)
    assert shown(services, runs[0]).state == "finished"
    assert services.runs.find_finished(services.key(asked[1])) is None


def test_every_setting_reaches_the_library() -> None:
    search = build_search(SearchSettings(3, "dyadic", (2, 3), 1.5, "k-means++", 4, 9, "movers", 12))
    told = search.get_params()
    assert (told["n_clusters"], told["method"], told["depths"], told["start"]) == (3, "dyadic", (2, 3), 1.5)
    assert (told["init"], told["n_init"], told["random_state"]) == ("k-means++", 4, 9)
    assert (told["limiting"], told["max_steps"]) == ("movers", 12)
