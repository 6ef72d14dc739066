from __future__ import annotations

import math
import multiprocessing
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import REDIS, SETTINGS, Clock, claimed, finished, opened, record, shown

from offgrid.errors import InputError
from offgrid.path import LevelEnd
from services.handles import Handles
from services.points import DataSpec
from services.run_model import STALE_AFTER
from services.run_settings import RunSettings, SearchSettings, content_key
from services.runs import LostRun, Progress, RunStore


def test_a_run_goes_from_queued_to_finished_with_everything_kept(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    assert shown(store, run_id).state == "queued"
    store.start(run_id, owner)
    clock.now += 2
    store.set_bound(run_id, owner, 0.25, "")
    assert store.append(run_id, owner, record(1.0)) is False
    store.beat(run_id, owner, Progress(1, 2, 1.5, 0.25))
    ends = [LevelEnd(1, "k-means", math.inf)]
    store.append(run_id, owner, record(2.0), ends)
    run = shown(store, run_id)
    assert (run.state, run.pid, run.seconds, run.lower_bound) == ("running", os.getpid(), 2.0, 0.25)
    assert run.progress == Progress(1, 2, 1.5, 0.25)
    store.finish(run_id, owner, ends)
    clock.now += 100
    run = shown(store, run_id)
    assert (run.state, run.seconds, run.settings) == ("finished", 2.0, SETTINGS)
    assert run.path.ends == {1: ends[0]}
    first = run.path.records[0]
    assert (first.sigma, first.cnnc, first.nmi, first.ari) == (1.0, 0.1 + 0.2, 1 / 3, None)
    np.testing.assert_array_equal(first.labels, record(1.0).labels)
    np.testing.assert_array_equal(first.moved, [3, 5])
    assert store.find_finished("key") == run_id


def test_the_same_search_is_one_run(store: RunStore) -> None:
    run_id, owner = claimed(store)
    assert store.create(SETTINGS, "key") == run_id
    assert store.claim(run_id) is None, "a second process must not take a run that is being carried out"
    store.finish(run_id, owner, [])
    assert store.create(SETTINGS, "key") == run_id
    assert store.create(SETTINGS, "other key") != run_id


def test_ids_cannot_be_guessed(store: RunStore) -> None:
    ids = {store.create(SETTINGS, str(i)) for i in range(50)}
    assert len(ids) == 50
    assert all(len(run_id.split(".")[0]) == 22 for run_id in ids), "128 random bits"


def test_forged_and_altered_ids_are_unknown_though_a_row_has_them(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    first, second = finished(store, "a"), store.create(SETTINGS, "b")
    swapped = f"{first.split('.')[0]}.{second.split('.')[1]}"
    foreign = Handles("run", lambda: "another secret").new()
    upload = Handles("upload").new()
    bare = first.split(".")[0]
    db = store._database.connection()
    for forged in (swapped, foreign, upload, bare, first + "A", first.upper(), "", "' OR 1=1 --"):
        db.execute("UPDATE runs SET id = ? WHERE key = 'b'", (forged,))
        assert store.get(forged) is None, forged
        assert store.version(forged) == "gone"
        assert not store.resume(forged)
        assert store.claim(forged) is None
    assert store.get(first) is not None


def test_a_silent_process_is_interrupted_and_resumed(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.append(run_id, owner, record(1.0))
    clock.now += STALE_AFTER - 0.1
    assert shown(store, run_id).state == "running"
    clock.now += 0.2
    assert shown(store, run_id).state == "interrupted"
    assert store.resume(run_id)
    assert shown(store, run_id).state == "queued"
    second = store.claim(run_id)
    assert second is not None
    with pytest.raises(LostRun):
        store.append(run_id, owner, record(2.0))
    with pytest.raises(LostRun):
        store.beat(run_id, owner)
    assert [r.sigma for r in shown(store, run_id).path.records] == [1.0]


def test_a_heartbeat_that_comes_back_ends_the_interruption(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    clock.now += 2 * STALE_AFTER
    assert shown(store, run_id).state == "interrupted"
    store.beat(run_id, owner)
    assert shown(store, run_id).state == "running"


def test_a_queued_run_waits_without_a_process_for_as_long_as_it_takes(store: RunStore, clock: Clock) -> None:
    run_id = store.create(SETTINGS, "key")
    clock.now += 100_000
    assert shown(store, run_id).state == "queued"
    assert store.startable(1) == [run_id]
    owner = store.claim(run_id)
    assert store.startable(1) == []
    clock.now += STALE_AFTER + 1
    assert shown(store, run_id).state == "queued", "a process that ends before its turn takes nothing with it"
    assert store.startable(1) == [run_id]
    assert store.claim(run_id) not in (None, owner)


def test_time_between_processes_does_not_count(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    clock.now += 3
    store.beat(run_id, owner)
    clock.now += 1_000
    store.resume(run_id)
    owner = store.claim(run_id) or ""
    clock.now += 4
    store.start(run_id, owner)
    clock.now += 2
    store.finish(run_id, owner, [])
    assert shown(store, run_id).seconds == pytest.approx(5)


def test_cancel_is_asked_for_and_noticed_by_the_process(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.cancel(run_id)
    run = shown(store, run_id)
    assert (run.state, run.cancelling) == ("running", True)
    assert store.append(run_id, owner, record(1.0)) is True
    store.stop(run_id, owner, "cancelled")
    run = shown(store, run_id)
    assert (run.state, run.cancelling, len(run.path)) == ("cancelled", False, 1)


def test_cancel_without_a_process_holds_at_once(store: RunStore, clock: Clock) -> None:
    unclaimed = store.create(SETTINGS, "unclaimed")
    store.cancel(unclaimed)
    assert shown(store, unclaimed).state == "cancelled"
    assert store.claim(unclaimed) is None
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    clock.now += 2 * STALE_AFTER
    store.cancel(run_id)
    assert shown(store, run_id).state == "cancelled"


def test_a_finished_run_is_neither_cancelled_nor_resumed(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.finish(run_id, owner, [])
    store.cancel(run_id)
    assert not store.resume(run_id)
    assert shown(store, run_id).state == "finished"


def test_asking_again_for_a_stopped_run_goes_on_with_it(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.append(run_id, owner, record(1.0))
    store.fail(run_id, owner, "No memory.")
    assert shown(store, run_id).message == "No memory."
    assert store.create(SETTINGS, "key") == run_id
    run = shown(store, run_id)
    assert (run.state, run.message, len(run.path)) == ("queued", "", 1)


def test_the_queue_is_first_come_first_served_and_the_dead_hold_nobody_up(store: RunStore, clock: Clock) -> None:
    owners = [claimed(store, name) for name in "abc"]
    assert [shown(store, run_id).place for run_id, _ in owners] == [1, 2, 3]
    assert [store.is_next(run_id) for run_id, _ in owners] == [True, False, False]
    clock.now += STALE_AFTER - 1
    store.beat(*owners[1])
    store.beat(*owners[2])
    clock.now += 2
    assert [store.is_next(run_id) for run_id, _ in owners] == [True, True, False]
    store.start(*owners[1])
    assert store.place(owners[1][0]) == 0
    assert store.place(owners[2][0]) == 2
    assert store.is_next(owners[2][0])


def test_as_many_runs_may_start_as_there_are_slots_without_a_process(store: RunStore, clock: Clock) -> None:
    waiting = [store.create(SETTINGS, name) for name in "abcd"]
    assert store.startable(2) == waiting[:2]
    owner = store.claim(waiting[0]) or ""
    assert store.startable(2) == [waiting[1]]
    store.start(waiting[0], owner)
    store.claim(waiting[1])
    assert store.startable(2) == []
    assert store.startable(3) == [waiting[2]]
    store.finish(waiting[0], owner, [])
    assert store.startable(2) == [waiting[2]]


def test_a_run_that_was_let_go_keeps_its_place(store: RunStore) -> None:
    first, second = (store.create(SETTINGS, name) for name in "ab")
    owner = store.claim(first) or ""
    store.start(first, owner)
    store.append(first, owner, record(1.0))
    store.stop(first, owner, "queued", "The server was stopped.")
    assert (shown(store, first).state, shown(store, first).place, len(shown(store, first).path)) == ("queued", 1, 1)
    assert store.startable(1) == [first]
    assert shown(store, second).place == 2


def test_a_cancel_that_meets_a_stop_of_the_server_is_not_forgotten(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.cancel(run_id)
    store.stop(run_id, owner, "queued")
    assert shown(store, run_id).state == "cancelled"


def test_unknown_runs_are_none(store: RunStore) -> None:
    assert store.get("nothing") is None
    assert store.version("nothing") == "gone"
    assert store.claim("nothing") is None
    assert not store.resume("nothing")
    store.cancel("nothing")


def test_the_version_changes_with_what_is_to_be_drawn(store: RunStore) -> None:
    run_id, owner = claimed(store)
    seen = [store.version(run_id)]
    store.start(run_id, owner)
    seen.append(store.version(run_id))
    store.append(run_id, owner, record(1.0))
    seen.append(store.version(run_id))
    store.cancel(run_id)
    seen.append(store.version(run_id))
    before = shown(store, run_id)
    store.stop(run_id, owner, "cancelled")
    seen.append(store.version(run_id))
    assert len(set(seen)) == 5
    assert before.version == seen[-2], "a run keeps the version that it was read with"
    assert shown(store, run_id).version == seen[-1]


def test_a_second_process_sees_a_path_that_grows(place: str, store: RunStore, clock: Clock) -> None:
    other = opened(place, clock)
    run_id, owner = claimed(store)
    for count in range(1, 6):
        store.append(run_id, owner, record(float(count)))
        assert [r.sigma for r in shown(other, run_id).path.records] == [float(i) for i in range(1, count + 1)]
    before = shown(other, run_id).path
    assert shown(other, run_id).path is before, "an unchanged path is not read again"


def _write(place: str, name: str, count: int) -> None:
    store = opened(place)
    run_id, owner = claimed(store, name)
    store.start(run_id, owner)
    for i in range(count):
        store.append(run_id, owner, record(1.0 + i))
    store.finish(run_id, owner, [])


def test_two_processes_write_at_once_and_lose_nothing(place: str) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(place, name, 150)) for name in ("left", "right")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    store = opened(place)
    for name in ("left", "right"):
        run_id = store.find_finished(name)
        assert run_id is not None
        assert [r.sigma for r in shown(store, run_id).path.records] == [1.0 + i for i in range(150)]


def _claim(place: str, run_id: str, barrier: Any, results: Any) -> None:
    store = opened(place)
    barrier.wait(60)
    results.put(store.claim(run_id))


def test_one_of_several_processes_gets_the_run(place: str) -> None:
    run_id = opened(place).create(SETTINGS, "key")
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.Queue()
    claimants = [context.Process(target=_claim, args=(place, run_id, barrier, results)) for _ in range(3)]
    for claimant in claimants:
        claimant.start()
    tokens = [results.get(timeout=60) for _ in claimants]
    for claimant in claimants:
        claimant.join(60)
    assert sum(token is not None for token in tokens) == 1


def damaged(place: str, run_id: str, damage: str) -> None:
    """Spoil the fourth record of a run."""
    if place.startswith(REDIS):
        damage_in_redis(place, run_id, damage)
        return
    with sqlite3.connect(Path(place) / "runs.sqlite3") as db:
        if damage == "missing":
            db.execute("DELETE FROM records WHERE place = 3")
        else:
            change = "x'00112233'" if damage == "garbage" else "substr(record, 1, length(record) / 2)"
            db.execute(f"UPDATE records SET record = {change} WHERE place = 3")


def damage_in_redis(url: str, run_id: str, damage: str) -> None:
    from services.redis_link import Link

    client, key = Link(url, 5.0).client, f"offgrid:records:{run_id}"
    if damage == "missing":
        client.ltrim(key, 0, 2)
    else:
        kept = client.lindex(key, 3)
        client.lset(key, 3, b"\x00\x11\x22\x33" if damage == "garbage" else kept[: len(kept) // 2])


@pytest.mark.parametrize("damage", ["garbage", "truncated", "missing"])
def test_a_damaged_record_cuts_the_run_there_and_it_can_be_resumed(
    place: str, store: RunStore, clock: Clock, damage: str
) -> None:
    run_id, owner = claimed(store)
    for i in range(5):
        store.append(run_id, owner, record(1.0 + i))
    store.finish(run_id, owner, [LevelEnd(1, "k-means", math.inf)])
    damaged(place, run_id, damage)
    run = shown(opened(place, clock), run_id)
    assert (run.state, len(run.path), run.path.ends) == ("interrupted", 3, {})
    assert run.message.startswith("Value 4 was damaged ")
    assert run.message.endswith("; the values before it are kept.")
    other = opened(place, clock)
    assert other.resume(run_id)
    owner = other.claim(run_id) or ""
    other.append(run_id, owner, record(44.0))
    assert [r.sigma for r in shown(other, run_id).path.records] == [1.0, 2.0, 3.0, 44.0]
    assert [r.sigma for r in shown(store, run_id).path.records] == [1.0, 2.0, 3.0, 44.0]


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite3").write_bytes(b"not a database, and long enough to be looked at" * 100)
    store = RunStore(tmp_path)
    run_id = store.create(SETTINGS, "key")
    assert shown(store, run_id).state == "queued"
    assert [path.read_bytes()[:5] for path in tmp_path.glob("runs.damaged-*")] == [b"not a"]


def test_a_removed_folder_is_made_again(tmp_path: Path) -> None:
    import shutil

    store = RunStore(tmp_path / "data")
    run_id, owner = claimed(store)
    shutil.rmtree(tmp_path / "data")
    assert store.get(run_id) is None
    with pytest.raises(LostRun):
        store.append(run_id, owner, record(1.0))
    assert store.get(store.create(SETTINGS, "key")) is not None


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        RunSettings(
            DataSpec("upload:abc", ("a, b", 'c "d"', "é"), None, "median", "robust"),
            SearchSettings(3, "dyadic", (1, 2, 4), 1.5, "k-means++", 5, 9, "movers", 40),
        ),
        RunSettings(DataSpec("upload:abc", None, "class", "drop", "unit"), SearchSettings(3, start="bound", seed=12)),
    ],
)
def test_settings_survive_the_address_and_the_store(settings: RunSettings) -> None:
    assert RunSettings.from_query(settings.to_query()) == settings
    assert RunSettings.from_dict(settings.to_dict()) == settings


def test_the_address_of_the_defaults_is_short() -> None:
    assert SETTINGS.to_query() == {"data": "builtin:aggregation", "k": "7"}


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"k": "3"}, "names no data set and k"),
        ({"data": "builtin:flame", "k": "three"}, "k=three; it must be a whole number"),
        ({"data": "builtin:flame", "k": "0"}, "k is 0; it must be a whole number from 1"),
        ({"data": "builtin:flame", "k": "2", "method": "magic"}, "'magic'; it must be one of certified, dyadic"),
        ({"data": "builtin:flame", "k": "2", "start": "-1"}, "σ = -1.0; it must be a positive number"),
        ({"data": "builtin:flame", "k": "2", "start": "nan"}, "must be a positive number"),
        ({"data": "builtin:flame", "k": "2", "depths": "1,x"}, "depths=x; it must be a whole number"),
        ({"data": "builtin:flame", "k": "2", "seed": "-4"}, "The seed is -4"),
        ({"data": "builtin:flame", "k": "2", "columns": "a,b"}, "columns that can't be read"),
        ({"data": "builtin:flame", "k": "2", "columns": "[1]"}, "columns that can't be read"),
    ],
)
def test_an_address_written_wrongly_is_one_sentence(query: dict[str, str], part: str) -> None:
    with pytest.raises(InputError) as caught:
        RunSettings.from_query(query)
    assert part in str(caught.value)


def test_the_key_depends_on_what_decides_the_path_and_on_nothing_else() -> None:
    key = content_key("hash", SearchSettings(3))
    assert key == content_key("hash", SearchSettings(3, depths=(4,))), "the certified search has one level"
    assert key == content_key("hash", SearchSettings(3, limiting="close"))
    assert key != content_key("hash", SearchSettings(3, seed=1))
    assert key != content_key("hash", SearchSettings(3, "dyadic"))
    assert content_key("hash", SearchSettings(3, "dyadic")) != content_key("hash", SearchSettings(3, "dyadic", (1,)))
    assert key != content_key("other", SearchSettings(3))
