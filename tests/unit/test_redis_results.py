"""What is computed once for everybody, in Redis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("redis", reason="requirements-redis.txt is not installed")

from offgrid.comparison import Comparison
from services.redis_link import Link
from services.redis_results import CACHED, LARGEST_SHARED, RedisComparisonStore, SharedCache


@pytest.fixture
def link(empty_redis: str) -> Link:
    return Link(empty_redis, 5.0)


def test_a_small_value_is_made_once_for_every_machine(tmp_path: Path, link: Link) -> None:
    made = SharedCache(tmp_path / "one", link).get_or_make("kind", "hash", lambda: np.arange(5))
    found = SharedCache(tmp_path / "two", link).get_or_make("kind", "hash", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(found, made)
    assert [0 < link.client.ttl(key) <= CACHED for key in link.client.keys("*")] == [True]


def test_a_large_value_stays_on_its_machine(tmp_path: Path, link: Link) -> None:
    large = np.zeros(LARGEST_SHARED)
    SharedCache(tmp_path / "one", link).get_or_make("kind", "hash", lambda: large)
    assert link.client.keys("*") == []
    found = SharedCache(tmp_path / "one", link).get_or_make("kind", "hash", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(found, large)


@pytest.mark.parametrize("damage", [b"", b"garbage", b'["object", "os:system", {}]\n', b"cos\nsystem\n(S'true'\ntR."])
def test_a_damaged_value_is_made_again_and_is_never_code(tmp_path: Path, link: Link, damage: bytes) -> None:
    cache = SharedCache(tmp_path, link)
    cache.get_or_make("kind", "hash", lambda: 7)
    link.client.set(link.client.keys("*")[0], damage)
    assert cache.get_or_make("kind", "hash", lambda: 8) == 8
    assert cache.get_or_make("kind", "hash", lambda: 9) == 8


def test_without_redis_a_value_is_kept_on_the_machine(tmp_path: Path) -> None:
    away = Link(f"unix://{tmp_path}/nothing", 0.0)
    assert SharedCache(tmp_path / "cache", away).get_or_make("kind", "hash", lambda: 7) == 7
    assert SharedCache(tmp_path / "cache", away).get_or_make("kind", "hash", lambda: pytest.fail("made again")) == 7


def test_comparisons_are_found_by_every_machine_and_expire(link: Link) -> None:
    store = RedisComparisonStore(link, 1_000)
    assert store.missing(["a", "b"]) == ["a", "b"]
    store.put("a", Comparison.failed("grid", "No memory."))
    other = RedisComparisonStore(link, 1_000)
    found = other.get("a")
    assert found is not None
    assert (found.name, found.failure) == ("grid", "No memory.")
    assert other.missing(["a", "b"]) == ["b"]
    assert 0 < link.client.ttl("offgrid:comparison:a") <= 1_000
    link.client.set("offgrid:comparison:b", b"garbage")
    assert other.get("b") is None
