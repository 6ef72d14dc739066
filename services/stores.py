"""Where runs, uploads and what was computed once are kept: in the data folder, or in Redis for many machines.

Entry points: `Stores`, `open_stores`, `open_redis`, and the type `Runs`. Nothing of Redis is imported where it is not
used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from services.cache import DataCache
from services.comparisons import Comparisons, ComparisonStore
from services.handles import Handles, server_secret
from services.points import UPLOAD
from services.run_model import SEEN_EVERY
from services.runs import RunStore
from services.settings import Settings
from services.upload_keeping import Uploads
from services.uploads import UploadStore

if TYPE_CHECKING:
    from services.queueing import Knocker
    from services.redis_runs import RedisRunStore
    from services.workers import Workers

    Runs: TypeAlias = RunStore | RedisRunStore

DAY = 86_400  # seconds
PAGE_PATIENCE = 3.0  # seconds that a page waits for Redis


@dataclass(frozen=True)
class Stores:
    """What one process has opened."""

    runs: Runs
    comparisons: Comparisons
    uploads: Uploads
    cache: DataCache


@dataclass(frozen=True)
class RedisStores(Stores):
    """The same in Redis, with the workers that carry runs out and the way to tell them."""

    runs: RedisRunStore
    workers: Workers
    knocker: Knocker


def open_stores(settings: Settings) -> Stores:
    """Return the stores of a web server or of its jobs. Opening them touches no file and no server."""
    if settings.redis_url is not None:
        return open_redis(settings, settings.redis_url, PAGE_PATIENCE)
    runs = RunStore(settings.data_dir, handles=_handles("run", settings), seen_every=_seen_every(settings))
    uploads = UploadStore(settings.data_dir / "uploads", **_upload_limits(settings, runs))
    comparisons = ComparisonStore(settings.data_dir)
    return Stores(runs, comparisons, uploads, DataCache(settings.data_dir / "cache"))


def open_redis(settings: Settings, url: str, patience: float) -> RedisStores:
    """Return the stores in Redis, which wait for it `patience` seconds where it is away."""
    from services.queueing import Knocker
    from services.redis_link import Link
    from services.redis_results import RedisComparisonStore, SharedCache
    from services.redis_runs import RedisRunStore
    from services.redis_uploads import RedisUploadStore
    from services.workers import Workers

    link = Link(url, patience)
    knocker = Knocker(link)
    runs = RedisRunStore(
        link,
        settings.keep_runs_days * DAY,
        knocker,
        handles=_handles("run", settings),
        seen_every=_seen_every(settings),
    )
    uploads = RedisUploadStore(link, settings.keep_uploads_days * DAY, **_upload_limits(settings, runs))
    comparisons = RedisComparisonStore(link, settings.keep_runs_days * DAY)
    cache = SharedCache(settings.data_dir / "cache", link)
    return RedisStores(runs, comparisons, uploads, cache, Workers(link), knocker)


def _handles(kind: str, settings: Settings) -> Handles:
    return Handles(kind, lambda: server_secret(settings))


def _seen_every(settings: Settings) -> float:
    return min(SEEN_EVERY, settings.grace_seconds / 4)


def _upload_limits(settings: Settings, runs: Runs) -> dict[str, Any]:
    def in_use() -> set[str]:
        return {source.removeprefix(UPLOAD) for source in runs.active_sources() if source.startswith(UPLOAD)}

    return {
        "max_rows": settings.max_rows,
        "max_bytes": settings.max_upload_bytes,
        "handles": _handles("upload", settings),
        "room": settings.uploads_mb * 1e6,
        "visitor_room": settings.uploads_per_visitor_mb * 1e6,
        "in_use": in_use,
    }
