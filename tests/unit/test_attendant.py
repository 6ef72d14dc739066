"""What workers make of a Redis server whose clock is set, while a search is under way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from stores import SETTINGS, Clock, record, shown

pytest.importorskip("celery", reason="requirements-redis.txt is not installed")

from services import worker
from services.context import Services
from services.redis_runs import RedisRunStore
from services.run_model import STALE_AFTER
from services.settings import Settings
from services.stores import open_redis
from services.worker import Attendant
from services.workers import GONE_AFTER, Workers

HOUR = 3_600.0


class Machine:
    """A worker's attendant, whose clock and whose Redis's clock tests have in hand."""

    def __init__(self, url: str, folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = Settings(data_dir=folder, redis_url=url, secret_key="a secret of all servers")
        opened = open_redis(settings, url, 5.0)
        self.runs = RedisRunStore(opened.workers._link, 1_000, clock=clock)
        self.workers = Workers(opened.workers._link, clock)
        self.clock, self.monotonic = clock, 0.0
        monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: self.monotonic))
        stores = replace(opened, runs=self.runs, workers=self.workers)
        self.attendant = Attendant(Services(settings, stores), stores, "one")

    def look(self, after: float) -> None:
        self.clock.now += after
        self.monotonic += after
        self.attendant.look()


@pytest.fixture
def machine(empty_redis: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(empty_redis, tmp_path, clock, monkeypatch)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_is_set_neither_ends_nor_takes_a_search(machine: Machine, jump: float) -> None:
    runs = machine.runs
    run_id = runs.create(SETTINGS, "key", "ann")
    owner = runs.claim(run_id) or ""
    runs.start(run_id, owner)
    runs.append(run_id, owner, record(1.0))
    machine.look(after=0.5)
    machine.clock.now += jump
    machine.look(after=0.5)
    assert machine.workers.alive() == {"one": 2}
    runs.beat(run_id, owner)
    runs.seen(run_id, "ann")
    machine.look(after=1.0)
    runs.append(run_id, owner, record(2.0))
    run = shown(runs, run_id)
    assert (run.state, run.cancelling, run.pid is not None) == ("running", False, True)
    assert 0 <= run.seconds <= HOUR + 10
    runs.finish(run_id, owner, [])
    assert [one.sigma for one in shown(runs, run_id).path.records] == [1.0, 2.0]
    assert runs.census().seconds >= 0


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_worker_that_dies_as_the_clock_is_set_is_noticed_all_the_same(machine: Machine, jump: float) -> None:
    runs = machine.runs
    run_id = runs.create(SETTINGS, "key", "ann")
    runs.start(run_id, runs.claim(run_id) or "")
    machine.workers.sign("other", 1)
    machine.look(after=0.5)
    machine.clock.now += jump
    machine.look(after=0.5)
    assert runs.startable(1) == []
    machine.look(after=STALE_AFTER)
    assert runs.startable(1) == [run_id]
    machine.look(after=GONE_AFTER)
    assert machine.workers.alive() == {"one": 2}
