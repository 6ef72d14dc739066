"""Whose page a run is carried out for, what becomes of it without one, and what is kept for how long."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import SETTINGS, Clock, claimed, finished, record, shown

from offgrid.errors import InputError
from services.run_model import MOST_TRIES, SEEN_EVERY, STALE_AFTER, TRIED
from services.runs import Following, RunStore

# Clocks, and processes that are gone ---------------------------------------------------------------------------------


def test_runs_of_a_server_that_is_gone_are_queued_again(store: RunStore, clock: Clock) -> None:
    (before, owner), (after, later) = claimed(store, "before"), claimed(store, "after")
    store.start(before, owner)
    store.append(before, owner, record(1.0))
    clock.now += 10
    since = store.now()
    store.start(after, later)
    assert store.take_over(since) == 1
    assert (shown(store, before).state, len(shown(store, before).path)) == ("queued", 1)
    assert shown(store, after).state == "running"
    clock.now += 10
    assert store.take_over(since) == 0, "a process that ended by itself is for its page to see"
    assert shown(store, after).state == "interrupted"


def test_a_search_that_ends_every_process_is_given_up(tmp_path: Path, clock: Clock) -> None:
    store = RunStore(tmp_path, clock)
    run_id, _ = claimed(store)
    for attempt in range(MOST_TRIES):
        owner = store.claim(run_id) or (shown(store, run_id).id and _owner(store, run_id))
        store.start(run_id, owner)
        clock.now += 2 * STALE_AFTER
        assert store.take_over(store.now()) == (attempt < MOST_TRIES - 1)
    assert (shown(store, run_id).state, shown(store, run_id).message) == ("failed", TRIED)
    assert store.resume(run_id), "a person may still try"


def _owner(store: RunStore, run_id: str) -> str:
    db = store._database.connection()
    return str(db.execute("SELECT owner FROM runs WHERE id = ?", (run_id,)).fetchone()["owner"])


def test_a_machine_that_started_anew_has_no_living_run(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.follow(run_id, "ann")
    store.start(run_id, owner)
    clock.now += 3
    store.beat(run_id, owner)
    clock.now = 50.0  # the clock counts from the machine's start
    assert shown(store, run_id).state == "interrupted"
    assert store.abandoned(10) == []
    assert store.take_over(store.now()) == 1
    assert (shown(store, run_id).state, shown(store, run_id).seconds) == ("queued", 3.0)
    assert store.abandoned(10) == [], "whoever followed it gets the whole grace again"
    clock.now += 11
    assert store.abandoned(10) == [run_id]


# Followers -----------------------------------------------------------------------------------------------------------


def test_only_the_last_to_leave_stops_a_run(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    for visitor in ("ann", "bob"):
        assert store.create(SETTINGS, "key", visitor) == run_id
    assert store.following(run_id, "ann") == Following(True, False, 1)
    assert store.following(run_id, "eve") == Following(False, False, 2)
    assert not store.leave(run_id, "eve"), "who does not follow a run has nothing to leave"
    assert not store.leave(run_id, "ann")
    assert not store.leave(run_id, "ann"), "nobody leaves twice"
    assert not shown(store, run_id).cancelling
    assert store.leave(run_id, "bob")
    assert shown(store, run_id).cancelling


def test_a_run_that_nobody_follows_cannot_be_stopped_by_a_stranger(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    assert not store.leave(run_id, "eve")
    assert not shown(store, run_id).cancelling


def test_nobody_has_more_under_way_than_allowed(store: RunStore, clock: Clock) -> None:
    first = store.create(SETTINGS, "a", "ann", 2)
    owner = store.claim(first) or ""
    store.start(first, owner)
    store.create(SETTINGS, "b", "ann", 2)
    with pytest.raises(InputError, match="You have 2 searches under way, as many as"):
        store.create(SETTINGS, "c", "ann", 2)
    assert store.create(SETTINGS, "c", "bob", 2), "nothing was made for ann, and bob has room"
    assert store.create(SETTINGS, "b", "ann", 2), "what is followed already counts once"
    clock.now += 1
    store.finish(first, owner, [])
    assert store.create(SETTINGS, "c", "ann", 2)
    assert store.create(SETTINGS, "a", "ann", 1) == first, "a finished run is always found"


def test_an_interrupted_run_is_none_under_way(store: RunStore, clock: Clock) -> None:
    run_id = store.create(SETTINGS, "a", "ann", 1)
    store.start(run_id, store.claim(run_id) or "")
    clock.now += 2 * STALE_AFTER
    other = store.create(SETTINGS, "b", "ann", 1)
    with pytest.raises(InputError, match="You have 1 search under way"):
        store.resume(run_id, "ann", 1)
    store.cancel(other)
    assert store.resume(run_id, "ann", 1)


def test_runs_without_a_page_are_abandoned_after_the_grace(store: RunStore, clock: Clock) -> None:
    seen, unseen, pinned, nobody = (store.create(SETTINGS, name) for name in ("seen", "unseen", "pinned", "nobody"))
    for run_id in (seen, unseen, pinned):
        store.follow(run_id, "ann")
    store.pin(pinned, "ann", pinned=True)
    clock.now += 100
    assert store.abandoned(100) == []
    store.seen(seen, "ann")
    store.seen(unseen, "eve")
    clock.now += 1
    assert set(store.abandoned(100)) == {unseen, nobody}
    store.pin(pinned, "ann", pinned=False)
    assert set(store.abandoned(100)) == {unseen, nobody, pinned}
    store.cancel(unseen, "No page was open.")
    assert (shown(store, unseen).state, shown(store, unseen).message) == ("cancelled", "No page was open.")
    assert unseen not in store.abandoned(100)


def test_a_page_that_looks_every_second_writes_now_and_then(tmp_path: Path, clock: Clock) -> None:
    store = RunStore(tmp_path, clock)
    run_id = store.create(SETTINGS, "key", "ann")
    before = _seen(store)
    clock.now += SEEN_EVERY - 1
    store.seen(run_id, "ann")
    assert _seen(store) == before
    clock.now += 2
    store.seen(run_id, "ann")
    assert _seen(store) == clock.now


def _seen(store: RunStore) -> float:
    return float(store._database.connection().execute("SELECT seen FROM followers").fetchone()["seen"])


def test_a_pin_ends_with_the_run_and_the_reason_of_a_cancel_stays(store: RunStore) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    store.follow(run_id, "ann", pinned=True)
    assert store.following(run_id, "ann").pinned
    store.cancel(run_id, "No page was open.")
    store.stop(run_id, owner, "cancelled")
    assert shown(store, run_id).message == "No page was open."
    assert store.following(run_id, "ann") == Following(True, False, 0)


# What is kept --------------------------------------------------------------------------------------------------------


def kept(store: RunStore, runs: dict[str, str]) -> set[str]:
    return {name for name, run_id in runs.items() if store.get(run_id) is not None}


def test_the_least_recently_used_runs_go_first_and_what_is_in_use_stays(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    runs = {name: finished(store, name) for name in ("default", "old", "shown", "new")}
    runs["active"] = store.create(SETTINGS, "active")
    db = store._database.connection()
    for age, name in enumerate(("new", "shown", "old", "active", "default")):
        db.execute("UPDATE runs SET used = used - ? WHERE id = ?", (age * 86_400, runs[name]))
    store.follow(runs["shown"], "ann")
    generous = {"older_than": 1e9, "most": 100, "most_bytes": 10**9, "keep": ["default"]}
    assert store.sweep(**generous) == 0
    assert store.sweep(**{**generous, "older_than": 1.5 * 86_400}) == 1
    assert kept(store, runs) == {"default", "shown", "new", "active"}
    assert store.sweep(**{**generous, "most": 3}) == 1
    assert kept(store, runs) == {"default", "shown", "active"}
    assert store.sweep(**{**generous, "most_bytes": 0}) == 0
    assert db.execute("SELECT count(*) FROM records WHERE run = ?", (runs["old"],)).fetchone()[0] == 0


def test_a_run_that_is_used_is_kept_and_a_set_clock_takes_nothing(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    runs = {name: finished(store, name) for name in "ab"}
    store._database.connection().execute("UPDATE runs SET used = used - 1000")
    store.use(runs["a"])
    limits = {"older_than": 500.0, "most": 100, "most_bytes": 10**9}
    assert store.sweep(**limits) == 1
    assert kept(store, runs) == {"a"}
    store._database.connection().execute("UPDATE runs SET used = used - 1000")
    store.rebase()
    assert store.sweep(**limits) == 0


def test_what_has_ended_is_counted_for_good(store: RunStore, clock: Clock) -> None:
    run_id, owner = claimed(store)
    store.start(run_id, owner)
    clock.now += 7
    store.finish(run_id, owner, [])
    finished(store, "other")
    store.create(SETTINGS, "third")
    store.sweep(older_than=1e9, most=0, most_bytes=0)
    census = store.census()
    assert census.states == {"queued": 1}
    assert census.ended == {"finished": 2, "cancelled": 0, "failed": 0}
    assert census.seconds == 7.0
