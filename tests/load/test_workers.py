"""Two workers and a Redis server, as on machines of their own, and what becomes of searches when one of these fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
from machines import SECRET, Process, RedisServer, wait_for, worker

from offgrid import BandwidthSearch
from offgrid.datasets import load
from services.context import Services
from services.points import DataSpec
from services.redis_link import Link
from services.run_settings import RunSettings, SearchSettings
from services.runs import Run
from services.settings import Settings
from services.workers import KEY

# Bisection takes some thirty kernel passes a value: long enough to be disturbed.
STEPS = 8
D31 = RunSettings(DataSpec("builtin:d31"), SearchSettings(31, "bisection", max_steps=STEPS))
FLAME = RunSettings(DataSpec("builtin:flame"), SearchSettings(2))


@pytest.fixture(scope="module")
def services(redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Services:
    """What a web server knows."""
    return Services(Settings(data_dir=tmp_path_factory.mktemp("web"), redis_url=redis.url, secret_key=SECRET))


@pytest.fixture
def hire(redis: RedisServer, services: Services, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    """Return a function that starts a worker and waits until it is there."""
    hired: list[Process] = []

    def one() -> Process:
        before = set(there(services))
        hired.append(worker(redis, tmp_path / f"worker{len(hired)}"))
        hired[-1].start()
        wait_for(lambda: bool(set(there(services)) - before), f"the worker; its log: {hired[-1].log}")
        return hired[-1]

    yield one
    for each in hired:
        each.kill()
    link(services).client.delete(KEY)  # the signs of life of the dead


@pytest.fixture(scope="module")
def undisturbed() -> list[Any]:
    points = load("d31").prepare()
    return BandwidthSearch(31, method="bisection", random_state=0, max_steps=STEPS).fit(points.X, points.y).path_


def link(services: Services) -> Link:
    assert services.workers is not None
    return services.workers._link


def there(services: Services) -> dict[str, int]:
    assert services.workers is not None
    return services.workers.alive()


def shown(services: Services, run_id: str) -> Run:
    run = services.runs.get(run_id)
    assert run is not None
    return run


def begun(services: Services, asked: RunSettings = D31) -> str:
    """Ask for a search, and return its id when it has found two values."""
    run_id = services.request(asked)
    wait_for(lambda: len(shown(services, run_id).path) >= 2, "two values")
    return run_id


def seeded(seed: int) -> RunSettings:
    return RunSettings(D31.data, SearchSettings(31, "bisection", seed=seed))


def assert_same(run: Run, expected: list[Any]) -> None:
    assert [record.sigma for record in run.path.records] == [record.sigma for record in expected]
    for found, record in zip(run.path.records, expected, strict=True):
        np.testing.assert_array_equal(found.labels, record.labels)
        np.testing.assert_array_equal(found.moved, record.moved)
        assert (found.below, found.cnnc, found.nmi, found.ari) == (record.below, record.cnnc, record.nmi, record.ari)


def test_a_search_outlives_its_worker_and_redis_with_the_same_path(
    services: Services, redis: RedisServer, hire: Callable[[], Process], undisturbed: list[Any]
) -> None:
    first = hire()
    run_id = begun(services)
    pid = shown(services, run_id).pid
    first.kill()
    kept = len(shown(services, run_id).path)
    assert 2 <= kept < STEPS
    hire()
    wait_for(lambda: shown(services, run_id).pid not in (None, pid), "the other worker to take it up")
    assert len(shown(services, run_id).path) >= kept
    wait_for(lambda: len(shown(services, run_id).path) > kept, "another value")
    redis.kill()
    redis.start()
    assert kept < len(shown(services, run_id).path) <= STEPS + 1, "what was found before is there"
    wait_for(lambda: shown(services, run_id).state == "finished", "the search to end")
    assert_same(shown(services, run_id), undisturbed)
    wait_for(lambda: all_expire(services), "every key to have a lifetime")


def all_expire(services: Services) -> bool:
    """Whether every key of ours expires, and Celery keeps nothing but the name of its queue and what is under way."""
    client = link(services).client
    ours = [key for key in client.keys("offgrid:*") if client.ttl(key) < 0]
    others = {key.decode() for key in client.keys("*") if not key.startswith(b"offgrid")}
    bindings = {"_kombu.binding.offgrid", "_kombu.binding_permanent.offgrid"}
    assert others <= {*bindings, "unacked", "unacked_index", "unacked_mutex"}
    return not ours and client.llen("offgrid") <= 2


def test_a_worker_that_is_asked_to_end_lets_go_of_its_search_and_a_dead_one_keeps_nobody_from_cancelling(
    services: Services, hire: Callable[[], Process]
) -> None:
    first = hire()
    run_id = begun(services, seeded(1))
    pid = shown(services, run_id).pid
    assert first.stop() == 0
    run = shown(services, run_id)
    assert (run.state, run.place, len(run.path) >= 2) == ("queued", 1, True)
    assert there(services) == {}
    second = hire()
    wait_for(lambda: shown(services, run_id).state == "running", "the next worker to take it up")
    assert shown(services, run_id).pid != pid
    second.kill()
    services.runs.cancel(run_id)
    wait_for(lambda: shown(services, run_id).state == "cancelled", "the search to end")
    assert len(shown(services, run_id).path) >= len(run.path)


def test_searches_wait_in_order_for_a_worker_and_need_no_message(
    services: Services, hire: Callable[[], Process]
) -> None:
    ids = [services.request(RunSettings(FLAME.data, SearchSettings(2, seed=seed))) for seed in range(3)]
    assert [shown(services, run_id).place for run_id in ids] == [1, 2, 3]
    services.runs.cancel(ids[1])
    assert shown(services, ids[1]).state == "cancelled"
    assert shown(services, ids[2]).place == 2
    link(services).client.delete("offgrid")
    hire()
    for run_id in (ids[0], ids[2]):
        wait_for(lambda run_id=run_id: shown(services, run_id).state == "finished", "the search to end")
    assert len(shown(services, ids[1]).path) == 0
