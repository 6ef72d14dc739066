"""What the store of runs in Redis does beyond the one in SQLite, whose tests it passes too."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from machines import RedisServer, wait_for
from stores import SETTINGS, Clock, claimed, finished, record, shown

pytest.importorskip("redis", reason="requirements-redis.txt is not installed")

from redis.client import Pipeline
from redis.exceptions import ConnectionError as NoConnection

from services import redis_state
from services.handles import Handles
from services.redis_link import Link, StoreAway
from services.redis_runs import RedisRunStore
from services.run_model import MOST_TRIES, SEEN_EVERY, STALE_AFTER, TRIED
from services.runs import LostRun
from services.workers import GONE_AFTER, Workers

KEEP = 1_000


@pytest.fixture
def link(empty_redis: str) -> Link:
    return Link(empty_redis, 5.0)


@pytest.fixture
def knocks() -> list[None]:
    return []


@pytest.fixture
def store(link: Link, clock: Clock, knocks: list[None]) -> RedisRunStore:
    return RedisRunStore(link, KEEP, lambda: knocks.append(None), clock)


def test_every_key_expires(store: RedisRunStore, link: Link) -> None:
    finished(store, "a")
    run_id, owner = claimed(store, "b")
    store.follow(run_id, "ann")
    store.start(run_id, owner)
    store.append(run_id, owner, record(1.0))
    store.create(SETTINGS, "c")
    Workers(link).sign("worker", 2)
    keys = link.client.keys("*")
    assert len(keys) > 10
    assert {key: ttl for key in keys if not 0 < (ttl := link.client.ttl(key)) <= KEEP} == {}


def test_what_redis_has_dropped_is_forgotten(store: RedisRunStore, link: Link) -> None:
    gone, left = store.create(SETTINGS, "gone"), store.create(SETTINGS, "left")
    link.client.delete(f"offgrid:run:{gone}", "offgrid:key:gone")
    assert store.get(gone) is None
    assert store.claim_next() is not None
    assert store.place(left) == 1
    assert store.census().states == {"queued": 1}
    assert store.create(SETTINGS, "gone") != gone


def test_workers_take_the_first_that_nobody_has(store: RedisRunStore, clock: Clock) -> None:
    ids = [store.create(SETTINGS, name) for name in "abc"]
    first = store.claim_next()
    assert first is not None
    assert first[0] == ids[0]
    second = store.claim_next()
    assert second is not None
    assert second[0] == ids[1]
    clock.now += STALE_AFTER + 1
    assert (store.claim_next() or ("",))[0] == ids[0], "its worker died before it began"
    store.cancel(ids[1])
    assert (store.claim_next() or ("",))[0] == ids[2]
    assert store.claim_next() is None
    assert not store.has_next()


def test_workers_are_told_of_every_run_that_is_queued(store: RedisRunStore, clock: Clock, knocks: list[None]) -> None:
    run_id, owner = claimed(store)
    assert len(knocks) == 1
    store.create(SETTINGS, "key", "bob")
    assert len(knocks) == 1, "it is under way"
    store.start(run_id, owner)
    store.stop(run_id, owner, "queued")
    assert len(knocks) == 2
    store.start(run_id, store.claim(run_id) or "")
    clock.now += 2 * STALE_AFTER
    assert store.take_over() == 1
    assert len(knocks) == 3
    store.cancel(run_id)
    assert store.resume(run_id)
    assert len(knocks) == 4


def test_a_search_that_ends_every_worker_is_given_up(store: RedisRunStore, clock: Clock) -> None:
    run_id = store.create(SETTINGS, "key")
    for attempt in range(MOST_TRIES):
        store.start(run_id, store.claim(run_id) or "")
        clock.now += 2 * STALE_AFTER
        assert store.take_over() == (attempt < MOST_TRIES - 1)
    assert (shown(store, run_id).state, shown(store, run_id).message) == ("failed", TRIED)
    assert store.resume(run_id), "a person may still try"
    owner = store.claim(run_id) or ""
    store.start(run_id, owner)
    store.append(run_id, owner, record(1.0))
    clock.now += 2 * STALE_AFTER
    assert store.take_over() == 1, "a value was found, so the count begins anew"


def test_a_run_to_be_cancelled_is_not_taken_up_again(store: RedisRunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.cancel(run_id, "No page was open.")
    clock.now += 2 * STALE_AFTER
    assert store.take_over() == 0
    assert (shown(store, run_id).state, shown(store, run_id).message) == ("cancelled", "No page was open.")


def test_a_server_that_was_set_back_leaves_no_gap(store: RedisRunStore, link: Link, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.append(run_id, owner, record(1.0))
    row = link.client.get(f"offgrid:run:{run_id}")
    store.append(run_id, owner, record(2.0))
    link.client.set(f"offgrid:run:{run_id}", row)
    link.client.ltrim(f"offgrid:records:{run_id}", 0, 0)
    with pytest.raises(LostRun):
        store.append(run_id, owner, record(3.0))
    clock.now += 2 * STALE_AFTER
    assert store.take_over() == 1
    assert [one.sigma for one in shown(store, run_id).path.records] == [1.0]


@pytest.fixture
def cut_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Return a function that cuts the connection right after the next transaction, before its answer."""
    execute, due = Pipeline.execute, []

    def cut(self: Pipeline, *args: Any, **kwargs: Any) -> Any:
        found = execute(self, *args, **kwargs)
        if due:
            due.pop()
            raise NoConnection("cut off")
        return found

    monkeypatch.setattr(Pipeline, "execute", cut)
    yield lambda: due.append(None)
    assert not due, "nothing was cut off"


def test_nothing_is_done_twice_where_an_answer_is_lost(store: RedisRunStore, cut_off: Callable[[], None]) -> None:
    run_id = store.create(SETTINGS, "key")
    cut_off()
    owner = store.claim(run_id)
    assert owner is not None
    store.start(run_id, owner)
    for sigma in (1.0, 2.0):
        cut_off()
        store.append(run_id, owner, record(sigma))
    cut_off()
    store.finish(run_id, owner, [])
    run = shown(store, run_id)
    assert (run.state, [one.sigma for one in run.path.records]) == ("finished", [1.0, 2.0])
    assert store.census().ended["finished"] == 1


def test_a_server_that_is_away_is_one_sentence(store: RedisRunStore, tmp_path: Any) -> None:
    away = RedisRunStore(Link(f"unix://{tmp_path}/nothing", 0.1), KEEP)
    with pytest.raises(StoreAway, match=r"^The store \(Redis\) does not answer; try again in a minute\.$"):
        away.create(SETTINGS, "key")


def test_a_full_server_says_so_and_keeps_what_it_has(store: RedisRunStore, link: Link) -> None:
    run_id, owner = claimed(store)
    store.append(run_id, owner, record(1.0))
    link.client.config_set("maxmemory", 1)
    try:
        full = RedisRunStore(Link(link.url, 0.1), KEEP)
        with pytest.raises(StoreAway, match="has no room left"):
            full.create(SETTINGS, "another")
        assert len(shown(store, run_id).path) == 1
    finally:
        link.client.config_set("maxmemory", 0)


@pytest.mark.usefixtures("redis_url")
def test_a_server_that_cannot_save_says_so_and_keeps_what_it_has(clock: Clock, tmp_path: Path) -> None:
    server = RedisServer.made(tmp_path / "redis")
    server.command = [*server.command, "--appendonly", "no", "--save", "3600 1"]
    server.start()
    try:
        store = RedisRunStore(Link(server.url, 0.1), KEEP, clock=clock)
        run_id, owner = claimed(store)
        store.append(run_id, owner, record(1.0))
        shutil.rmtree(server.folder)
        client = Link(server.url, 5.0).client
        client.bgsave()
        wait_for(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "the save to fail")
        with pytest.raises(StoreAway, match="can't write to its disk"):
            store.append(run_id, owner, record(2.0))
        assert [one.sigma for one in shown(store, run_id).path.records] == [1.0]
    finally:
        server.kill()


def test_forged_and_altered_ids_are_unknown(store: RedisRunStore) -> None:
    first, second = finished(store, "a"), store.create(SETTINGS, "b")
    swapped = f"{first.split('.')[0]}.{second.split('.')[1]}"
    foreign = Handles("run", lambda: "another secret").new()
    for forged in (
        swapped,
        foreign,
        Handles("upload").new(),
        first.split(".")[0],
        first + "A",
        "",
        "*",
        "..\r\nKEYS *",
    ):
        assert store.get(forged) is None, forged
        assert store.version(forged) == "gone"
        assert not store.resume(forged)
        assert store.claim(forged) is None
        assert store.place(forged) == 0
        store.use(forged)
    assert store.get(first) is not None


def test_a_page_that_looks_every_second_writes_now_and_then(store: RedisRunStore, link: Link, clock: Clock) -> None:
    run_id = store.create(SETTINGS, "key", "ann")
    before = link.client.get(f"offgrid:run:{run_id}")
    clock.now += SEEN_EVERY - 1
    store.seen(run_id, "ann")
    assert link.client.get(f"offgrid:run:{run_id}") == before
    clock.now += 2
    store.seen(run_id, "ann")
    assert link.client.get(f"offgrid:run:{run_id}") != before


def test_a_run_that_many_share_does_not_grow_without_end(
    store: RedisRunStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_state, "MOST_FOLLOWERS", 5)
    run_id = store.create(SETTINGS, "key", "first")
    for number in range(5):
        clock.now += 1
        store.follow(run_id, str(number))
    assert not store.following(run_id, "first").follows
    assert store.following(run_id, "0").others == 4


def test_the_least_recently_used_runs_go_first_and_what_is_in_use_stays(store: RedisRunStore, clock: Clock) -> None:
    runs = {}
    for name in ("default", "active", "old", "shown", "new"):
        runs[name] = store.create(SETTINGS, name) if name == "active" else finished(store, name)
        clock.now += 86_400
    store.follow(runs["shown"], "ann")
    store.use(runs["new"])

    def kept() -> set[str]:
        return {name for name, run_id in runs.items() if store.get(run_id) is not None}

    generous = {"older_than": 1e9, "most": 100, "most_bytes": 10**9, "keep": ["default"]}
    assert store.sweep(**generous) == 0
    assert store.sweep(**{**generous, "older_than": 2.5 * 86_400}) == 1
    assert kept() == {"default", "active", "shown", "new"}
    assert store.sweep(**{**generous, "most": 3}) == 1
    assert kept() == {"default", "active", "shown"}
    assert store.sweep(**{**generous, "most_bytes": 0}) == 0
    clock.now += 86_400
    store.rebase()
    assert store.sweep(**{**generous, "older_than": 1.0, "keep": []}) == 0


def test_workers_count_while_they_give_signs_of_life(link: Link, clock: Clock) -> None:
    workers = Workers(link, clock)
    assert workers.alive() == {}
    workers.sign("a:1/7", 2)
    clock.now += GONE_AFTER - 1
    workers.sign("b/8", 1)
    assert workers.alive() == {"a:1/7": 2, "b/8": 1}
    clock.now += 2
    assert workers.alive() == {"b/8": 1}
    workers.leave("b/8", 1)
    assert workers.alive() == {}
