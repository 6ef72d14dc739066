"""A Redis server and workers as they are on machines of their own: real processes, to be killed and started again."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECRET = "a secret that all servers share"


@dataclass
class Process:
    """A command in a process group of its own, with a log beside its folder."""

    command: Sequence[str]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End it and all that it started at once, as when its machine fails."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(30)
            self.process = None

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(60)
        self.kill()
        return status


@dataclass
class RedisServer(Process):
    """A Redis server that keeps all it was told in a file."""

    port: int = 0

    @classmethod
    def made(cls, folder: Path) -> RedisServer:
        port = free_port()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        return cls([*command, "--appendonly", "yes"], folder, port=port)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def environment_of_others(self) -> dict[str, str]:
        return {"OFFGRID_REDIS_URL": self.url, "OFFGRID_SECRET_KEY": SECRET}

    def start(self) -> None:
        super().start()
        wait_for(self.answers, f"Redis to answer; its log: {self.log}")

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16) == b"+PONG\r\n"
        return False


def worker(redis: RedisServer, folder: Path, slots: int = 1) -> Process:
    """Return a worker with a data folder of its own, not started yet."""
    own = {"OFFGRID_DATA_DIR": str(folder), "OFFGRID_SLOTS": str(slots)}
    return Process([sys.executable, "-m", "services.worker"], folder, {**redis.environment_of_others, **own})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Ask for a condition until it holds; the pause between two questions is the operating system's select."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        select.select([], [], [], 0.05)
