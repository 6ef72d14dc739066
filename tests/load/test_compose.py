"""compose.yaml without a container engine: its services are confined, and its commands and health checks work here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from machines import ROOT, Process, free_port, wait_for

SECRETS = {"OFFGRID_SECRET_KEY": "a key that is long enough", "REDIS_PASSWORD": "pass-word"}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


SERVICES = compose()["services"]


def filled(text: str) -> str:
    """Fill in variables as Compose does: ``${NAME:?why}``, ``${NAME:-default}`` and ``$$``."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        return SECRETS[name] if kind == ":?" else rest

    return re.sub(r"\$\{(\w+)(:[?-])([^}]*)\}", value, text).replace("$$", "$")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert {"healthcheck", "mem_limit", "cpus", "pids_limit", "restart", "logging"} <= set(service)
    assert "privileged" not in service
    assert all(volume.partition(":")[0] in compose()["volumes"] for volume in service["volumes"]), (
        "no folder of the host"
    )


def test_only_the_web_server_is_reached_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]
    assert filled(SERVICES["web"]["ports"][0]) == "127.0.0.1:8050:8050", "on this machine only, unless told otherwise"
    assert compose()["networks"]["inside"] == {"internal": True}
    assert SERVICES["redis"]["networks"] == SERVICES["worker"]["networks"] == ["inside"]


def test_secrets_come_from_a_file_that_is_not_here() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name in SECRETS:
        assert f"{name}=\n" in example, "and the example holds none"
        assert f"${{{name}:?" in (ROOT / "compose.yaml").read_text(encoding="utf-8"), "nothing starts without it"
    assert "/.env\n" in (ROOT / ".gitignore").read_text(encoding="utf-8")


def test_one_image_serves_web_and_worker_as_the_dockerfile_makes_it() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert SERVICES["web"]["image"] == SERVICES["worker"]["image"]
    assert "-r requirements-redis.txt" in dockerfile
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", dockerfile, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for path in " ".join(copied).split():
        assert (ROOT / path).exists()
        assert f"!{path}" in ignored, "what is ignored cannot be copied"
    for service in ("web", "worker"):
        for volume in SERVICES[service]["volumes"]:
            assert volume.partition(":")[2] in dockerfile, "a volume takes the rights of a folder in the image"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[tuple[Process, int]]:
    """The service redis, by its own command; only the port and the folders are this test's."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server on this machine (Debian: apt-get install redis-server)")
    port = free_port()
    command = [filled(part).replace("/tmp/", f"{tmp_path}/") for part in SERVICES["redis"]["command"]]
    environment = {name: filled(value) for name, value in SERVICES["redis"]["environment"].items()}
    process = Process([*command, "--port", str(port), "--dir", str(tmp_path)], tmp_path / "redis", environment)
    process.start()
    yield process, port
    process.kill()


def healthy(service: str, environment: dict[str, str], port: int = 0) -> bool:
    """Carry out a service's health check."""
    kind, *command = SERVICES[service]["healthcheck"]["test"]
    command = [sys.executable if part == "python" else filled(part) for part in command]
    if kind == "CMD-SHELL":
        command = ["sh", "-c", command[0].replace("redis-cli", f"redis-cli -p {port}")]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode == 0


def test_redis_and_a_worker_start_are_healthy_and_end(redis: tuple[Process, int], tmp_path: Path) -> None:
    pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
    server, port = redis
    wait_for(lambda: healthy("redis", server.environment, port), f"Redis; its log: {server.log}")
    assert not healthy("redis", {"REDISCLI_AUTH": "wrong"}, port)
    written = {name: filled(value) for name, value in SERVICES["worker"]["environment"].items()}
    written["OFFGRID_REDIS_URL"] = written["OFFGRID_REDIS_URL"].replace("@redis:6379", f"@127.0.0.1:{port}")
    environment = {**written, "OFFGRID_DATA_DIR": str(tmp_path / "data")}
    assert not healthy("worker", environment)
    command = [sys.executable if part == "python" else part for part in SERVICES["worker"]["command"]]
    worker = Process(command, tmp_path / "worker", environment)
    worker.start()
    try:
        wait_for(lambda: healthy("worker", environment), f"the worker; its log: {worker.log}")
        assert worker.stop() == 0
    finally:
        worker.kill()
    assert not healthy("worker", environment), "it has said that it is going"
    assert SECRETS["REDIS_PASSWORD"] not in worker.log.read_text(encoding="utf-8")


def test_a_worker_without_redis_says_so_in_a_sentence() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "services.worker"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert found.stderr == "OFFGRID_REDIS_URL is not set; a worker needs the Redis server that it shares with others.\n"
