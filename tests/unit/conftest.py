"""Stores of runs, the same tests for both; and servers without a search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import Clock, opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where runs are kept: a folder, or a Redis that holds nothing yet."""
    return str(tmp_path) if request.param == "sqlite" else str(request.getfixturevalue("empty_redis"))


@pytest.fixture
def empty_redis(redis_url: str) -> str:
    from services.redis_link import Link

    Link(redis_url, 5.0).ask(lambda client: client.flushall())
    return redis_url


@pytest.fixture
def store(place: str, clock: Clock) -> Any:
    return opened(place, clock)


@pytest.fixture(scope="module")
def no_default_search() -> Iterator[None]:
    """Servers leave the default search undone."""
    from services import startup

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(startup, "_start", lambda _: None)
        yield
