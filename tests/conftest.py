"""What all tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machines import RedisServer

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("OFFGRID_SHARED") or ROOT.parent / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the paper's data and the oracle's values, which are not ours to publish."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED.name}/ beside the repository, and OFFGRID_SHARED names no other")
    return SHARED


def require_redis_server() -> None:
    """Skip the test where there is none."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server on this machine (Debian: apt-get install redis-server)")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server that can be killed and started again, and keeps what it was told."""
    require_redis_server()
    server = RedisServer.made(tmp_path_factory.mktemp("machines") / "redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Redis server of the tests' own, on a socket in a folder."""
    redis = pytest.importorskip("redis", reason="requirements-redis.txt is not installed")
    require_redis_server()
    folder = tmp_path_factory.mktemp("redis")
    socket = folder / "socket"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        url = f"unix://{socket}"
        retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 200)
        redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.ConnectionError]).ping()
        yield url
        server.terminate()
