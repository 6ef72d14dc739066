"""What tests of the store of runs share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from offgrid.path import PathRecord
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.runs import RunStore

REDIS = "unix://"
SETTINGS = RunSettings(DataSpec("builtin:aggregation"), SearchSettings(7))


class Clock:
    """A clock that tests move by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def opened(place: str, clock: Clock | None = None) -> Any:
    """Return the store of runs in a folder or in a Redis, as one of several processes opens it."""
    if not place.startswith(REDIS):
        return RunStore(Path(place), clock or time.monotonic)
    from services.redis_link import Link
    from services.redis_runs import RedisRunStore

    return RedisRunStore(Link(place, 5.0), keep=1_000, clock=clock)


def record(sigma: float, n: int = 50) -> PathRecord:
    labels = (np.arange(n) % 3).astype(np.int32)
    return PathRecord(sigma, sigma * 0.9, sigma * 0.95, labels, np.array([3, 5]), 0.1 + 0.2, nmi=1 / 3, ari=None)


def claimed(store: RunStore, key: str = "key") -> tuple[str, str]:
    run_id = store.create(SETTINGS, key)
    owner = store.claim(run_id)
    assert owner is not None
    return run_id, owner


def shown(store: RunStore, run_id: str) -> Any:
    run = store.get(run_id)
    assert run is not None
    return run


def finished(store: RunStore, key: str) -> str:
    run_id, owner = claimed(store, key)
    store.append(run_id, owner, record(1.0))
    store.finish(run_id, owner, [])
    return run_id
