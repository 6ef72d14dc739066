"""One fault after the other, on one machine and on many: what a person is told, and that the path is the same after it.

Every search here is one search with another number of steps, so that one undisturbed path is the measure of all. Its
kernel is one for which nothing is carried out beside the search.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
from collections.abc import Iterator

import pytest

from offgrid import BandwidthSearch
from offgrid.datasets import load
from offgrid.kernels import kernel_named
from tests.load.houses import House, Visit, children, small_disk

MOST = 20  # steps
AWAY = "The store (Redis) does not answer; try again in a minute."
NO_ROOM = "The store (Redis) has no room left; tell whoever runs this server."
NO_DISK = "The store (Redis) can't write to its disk; tell whoever runs this server."
TABLE = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 9, i % 7) for i in range(40))


@pytest.fixture(scope="module", params=["one machine", "many machines"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if request.param == "many machines":
        pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
        if shutil.which("redis-server") is None:
            pytest.skip("no redis-server on this machine (Debian: apt-get install redis-server)")
    folder = tmp_path_factory.mktemp("house")
    with small_disk(folder / "disk"):
        made = House(folder, many=request.param == "many machines")
        try:
            made.start()
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def undisturbed() -> list[float]:
    points = load("d31").prepare()
    search = BandwidthSearch(31, kernel=kernel_named("laplacian"), method="bisection", random_state=0, max_steps=MOST)
    return [record.sigma for record in search.fit(points.X, points.y).path_]


class Search:
    """A search under way, and the page that shows it."""

    def __init__(self, house: House) -> None:
        self.house, self.steps = house, next(house.steps)
        self.visit = Visit(house, f"data=builtin:d31&k=31&kernel=laplacian&method=bisection&max_steps={self.steps}")
        self.visit.press("run-button")
        self.id = self.visit.page.run
        self.visit.until(lambda: len(self.visit.path) >= 2, "two values")
        self.kept = len(self.visit.path)
        assert self.kept <= self.steps, "it has ended before it could be disturbed"

    def can_be_looked_at(self, undisturbed: list[float]) -> None:
        """Open its address in another browser, which must show what was found so far."""
        assert Visit(self.house, self.visit.page.address).path[: self.kept] == undisturbed[: self.kept]

    def ends_as_if_nothing_had_been(self, undisturbed: list[float]) -> None:
        whole = undisturbed[: self.steps + 1]
        assert self.house.path(self.id)[: self.kept] == whole[: self.kept], "what was found is there at once"
        self.visit.until(lambda: self.house.run(self.id).state == "finished", "the search to end")
        assert self.house.path(self.id) == whole
        self.visit.until(lambda: self.visit.path == whole, "the page to show all of it")
        assert Visit(self.house, self.visit.page.address).path == whole, "as whoever opens it later"
        assert not any("Traceback" in said or "Error" in said for said in self.visit.said)
        assert all("Connection" in failure for failure in self.visit.log.failures), self.visit.log.failures


def test_a_job_is_killed(house: House, undisturbed: list[float]) -> None:
    search = Search(house)
    job = house.run(search.id).pid
    assert job is not None
    os.kill(job, signal.SIGKILL)
    if house.worker is None:
        search.visit.until(lambda: search.visit.has_said("Interrupted after"), "the sentence")
        assert search.visit.page.text("notice-text") == "Resume goes on from the last one."
        search.visit.press("resume")
    search.ends_as_if_nothing_had_been(undisturbed)
    assert search.visit.page.notices == []


def test_a_web_process_is_killed(house: House, undisturbed: list[float]) -> None:
    search = Search(house)
    job = house.run(search.id).pid
    # On one machine the one that has started the search, so that it has to be taken up by another.
    starters = [pid for pid in children(house.web.pid) if house.worker or job in descendants(pid)]
    os.kill(starters[0], signal.SIGKILL)
    search.ends_as_if_nothing_had_been(undisturbed)
    assert search.visit.page.notices == []


def test_the_whole_server_is_killed_and_started_again(house: House, undisturbed: list[float]) -> None:
    search = Search(house)
    house.web.kill()
    house.web.start()
    search.ends_as_if_nothing_had_been(undisturbed)
    assert search.visit.page.notices == []


def test_the_worker_is_killed_and_another_comes(house: House, undisturbed: list[float]) -> None:
    if house.worker is None:
        pytest.skip("one machine has no worker")
    search = Search(house)
    house.worker.kill()
    search.visit.until(lambda: search.visit.has_said("Interrupted after"), "the sentence")
    search.visit.press("resume")
    alone = "No worker is there to carry the search out; it starts when one comes"
    search.visit.until(lambda: search.visit.has_said(alone), "the sentence")
    search.visit.press("cancel")
    search.visit.until(lambda: search.visit.has_said("The search was cancelled."), "the cancel, which needs no worker")
    search.visit.press("resume")
    house.worker.start()
    search.ends_as_if_nothing_had_been(undisturbed)
    assert search.visit.page.notices == []


def test_redis_is_killed_and_started_again(house: House, undisturbed: list[float]) -> None:
    if house.redis is None:
        pytest.skip("one machine has no Redis")
    search = Search(house)
    house.redis.kill()
    search.visit.until(lambda: search.visit.has_said(AWAY), "the sentence")
    assert Visit(house).has_said(AWAY), "whoever opens a page meanwhile is told too"
    house.redis.start()
    search.ends_as_if_nothing_had_been(undisturbed)
    assert len(set(search.visit.page.notices)) == 1


def test_the_disk_is_full(house: House, undisturbed: list[float]) -> None:
    if not house.disk.is_mount():
        pytest.skip("only root can mount a small disk")
    search, other = Search(house), Visit(house, "data=builtin:iris&k=3&seed=7")
    with house.full_disk():
        search.visit.until(lambda: search.visit.has_said("Interrupted after"), "the sentence")
        refused = other.upload("table.csv", contents(TABLE))
        other.press("run-button")
        search.can_be_looked_at(undisturbed)
    if house.redis is None:
        assert "The server has no room for another file now; try a smaller one, or come back later." in refused
        assert other.has_said("The last action failed: the server's disk is full. Whoever runs the server has to make")
        search.visit.press("resume")
    else:
        assert NO_DISK in refused
        assert other.page.text("settings-error") == NO_DISK
    search.ends_as_if_nothing_had_been(undisturbed)


def test_redis_has_no_room_left(house: House, undisturbed: list[float]) -> None:
    if house.redis is None:
        pytest.skip("one machine has no Redis")
    search, other = Search(house), Visit(house, "data=builtin:iris&k=3&seed=7")
    house.client.config_set("maxmemory", 1)
    search.visit.until(lambda: search.visit.has_said("Interrupted after"), "the sentence")
    assert NO_ROOM in other.upload("table.csv", contents(TABLE))
    other.press("run-button")
    assert other.page.text("settings-error") == NO_ROOM
    search.can_be_looked_at(undisturbed)
    house.client.config_set("maxmemory", 0)
    search.ends_as_if_nothing_had_been(undisturbed)


def test_the_cache_folders_are_deleted(house: House, undisturbed: list[float]) -> None:
    search = Search(house)
    for folder in (house.data, house.folder / "worker"):
        for name in ("cache", "slots"):
            shutil.rmtree(folder / name, ignore_errors=True)
    other = Visit(house, "data=builtin:iris&k=3&seed=8")
    other.press("run-button")
    search.ends_as_if_nothing_had_been(undisturbed)
    other.until(lambda: house.run(other.page.run).state == "finished", "the next search")
    assert [*search.visit.page.notices, *other.page.notices] == []


def test_an_upload_is_cut_off(house: House) -> None:
    visit, before = Visit(house), house.uploads()
    body = b'{"output": "upload-report.children", "inputs": "' + contents(TABLE * 4_000).encode()
    with socket.create_connection(("127.0.0.1", house.web.port)) as cut:
        head = b"POST /_dash-update-component HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        cut.sendall(head + b"Content-Length: %d\r\n\r\n" % (2 * len(body)) + body)
    assert "40 rows" in visit.upload("table.csv", contents(TABLE)), "the next one is read"
    assert len(house.uploads() - before) == 1
    assert visit.log.failures == []


def contents(table: bytes) -> str:
    """Return a file as a browser sends it."""
    return f"data:text/csv;base64,{base64.b64encode(table).decode()}"


def descendants(pid: int) -> set[int]:
    return {one for child in children(pid) for one in (child, *descendants(child))}
