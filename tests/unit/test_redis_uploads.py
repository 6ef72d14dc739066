"""Uploads in Redis: what is kept comes back equal, within limits, and expires."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from stores import Clock

pytest.importorskip("redis", reason="requirements-redis.txt is not installed")

from offgrid.datasets import read_table
from offgrid.errors import InputError
from services.handles import Handles
from services.parsing import read_guarded
from services.redis_link import Link, StoreAway
from services.redis_uploads import RedisUploadStore
from services.upload_keeping import NO_ROOM, SPARED

CSV = b"id,a,b,label\n" + b"".join(b"%d,%f,%d,%s\n" % (i, i / 7, i * i, b"pq"[i % 2 : i % 2 + 1]) for i in range(20))
KEEP = 1_000


@pytest.fixture
def link(empty_redis: str) -> Link:
    return Link(empty_redis, 5.0)


@pytest.fixture
def opened(link: Link, clock: Clock) -> Callable[..., RedisUploadStore]:
    """Open the store as one of several processes does; it reads in this one, which is quicker and the same."""
    return lambda **limits: RedisUploadStore(link, KEEP, clock, **{"read": read_table, **limits})


@pytest.fixture
def store(opened: Callable[..., RedisUploadStore]) -> RedisUploadStore:
    return opened(max_rows=100, max_bytes=1_000_000)


def kept(store: RedisUploadStore, *ids: str) -> list[bool]:
    return [store._is_kept(upload_id) for upload_id in ids]


def test_what_is_saved_comes_back_equal(
    store: RedisUploadStore, opened: Callable[..., RedisUploadStore], link: Link
) -> None:
    saved = store.save("größe <b>.csv", CSV)
    found = opened().get(saved.id)
    assert (found.id, found.filename, found.created) == (saved.id, "größe <b>.csv", saved.created)
    assert found.table.report == saved.table.report
    assert found.table.prepare(scaling="unit").hash == saved.table.prepare(scaling="unit").hash
    assert list(found.table.cells()) == list(saved.table.cells())
    assert {key: ttl for key in link.client.keys("*") if not 0 < (ttl := link.client.ttl(key)) <= KEEP} == {}


def test_files_are_read_in_a_process_with_limits_unless_told_otherwise(link: Link) -> None:
    assert RedisUploadStore(link, KEEP)._read_file is read_guarded


def test_a_refused_file_leaves_nothing_behind(store: RedisUploadStore, link: Link) -> None:
    with pytest.raises(InputError, match="has 200 rows, and 100 are allowed"):
        store.save("bad.csv", b"1,2\n" * 200)
    assert link.client.keys("*") == []


@pytest.mark.parametrize("wrong", ["", "*", "x" * 22, None, 7, Handles("run").new(), Handles("upload").new()])
def test_ids_that_are_none(store: RedisUploadStore, wrong: Any) -> None:
    store.save("a.csv", CSV)
    with pytest.raises(InputError, match="no longer kept"):
        store.get(wrong)


def _objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{}, None], dtype=object), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("part", "value"),
    [("table.json", b"{"), ("table.json", b'{"version": 1}'), ("numbers.npy", b""), ("codes.npy", _objects())],
)
def test_a_damaged_upload_is_gone_and_never_code(store: RedisUploadStore, link: Link, part: str, value: bytes) -> None:
    upload = store.save("a.csv", CSV)
    link.client.hset(f"offgrid:upload:{upload.id}", part, value)
    with pytest.raises(InputError, match="no longer kept"):
        store.get(upload.id)


def test_a_visitors_oldest_uploads_make_place_but_not_what_is_searched(
    opened: Callable[..., RedisUploadStore], clock: Clock
) -> None:
    size = opened().save("size.csv", CSV, "eve") and opened().size()
    busy: set[str] = set()
    store = opened(visitor_room=2.5 * size, in_use=lambda: busy)
    ids = []
    for _ in range(3):
        clock.now += 1
        ids.append(store.save("a.csv", CSV, "ann").id)
    assert kept(store, *ids) == [False, True, True]
    other = store.save("b.csv", CSV, "bob").id
    assert kept(store, *ids, other) == [False, True, True, True]
    busy |= {ids[1], ids[2]}
    with pytest.raises(InputError, match="searches under way need all the room"):
        store.save("c.csv", CSV, "ann")
    with pytest.raises(InputError, match=r"keeps 0\.0 MB for one visitor; use fewer rows"):
        opened(visitor_room=10).save("c.csv", CSV, "ann")
    assert kept(store, *ids, other) == [False, True, True, True]


def test_the_room_for_all_is_taken_from_what_nobody_has_used_for_a_while(
    opened: Callable[..., RedisUploadStore], clock: Clock
) -> None:
    size = opened().save("first.csv", CSV, "ann") and opened().size()
    store = opened(room=2.5 * size)
    second = store.save("second.csv", CSV, "bob").id
    with pytest.raises(InputError) as caught:
        store.save("third.csv", CSV, "eve")
    assert str(caught.value) == NO_ROOM
    clock.now += SPARED + 1
    store.touch(second)
    third = store.save("third.csv", CSV, "eve").id
    assert kept(store, second, third) == [True, True]
    assert store.size() <= 2.5 * size


def test_sweep_takes_the_unused_and_forgets_what_has_expired(store: RedisUploadStore, link: Link, clock: Clock) -> None:
    old, used, expired = (store.save("a.csv", CSV).id for _ in range(3))
    link.client.delete(f"offgrid:upload:{expired}")
    clock.now += 600
    store.touch(used)
    assert store.sweep(1_200) == 0
    assert [one.id for one in store._kept()] in ([old, used], [used, old])
    assert store.sweep(300) == 1
    assert kept(store, old, used) == [False, True]
    with pytest.raises(InputError, match="no longer kept"):
        store.touch(old)
    clock.now += 600
    store.rebase()
    assert store.sweep(300) == 0


def test_a_full_server_says_so_and_keeps_what_it_has(opened: Callable[..., RedisUploadStore], link: Link) -> None:
    kept_before = opened().save("a.csv", CSV)
    full = RedisUploadStore(Link(link.url, 0.1), KEEP, read=read_table)
    link.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreAway, match="has no room left"):
            full.save("b.csv", CSV)
        assert full.get(kept_before.id).table.n_rows == 20
    finally:
        link.client.config_set("maxmemory", 0)
