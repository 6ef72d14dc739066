"""A server for a load test: gunicorn on a free port, in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import requests

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # seconds: the first start on a machine compiles the kernels


class Gunicorn:
    """``gunicorn -c gunicorn.conf.py app:server`` for the length of a block.

    Parameters
    ----------
    data_dir : Path
    environment : mapping
        Variables on top of this process's.
    """

    def __init__(self, data_dir: Path, environment: Mapping[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.origin = f"http://127.0.0.1:{self.port}"
        self.log = data_dir.with_suffix(".log")
        self._variables = {
            **os.environ,
            "OFFGRID_PORT": str(self.port),
            "OFFGRID_DATA_DIR": str(data_dir),
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, and return when it is ready."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app:server"],
                cwd=ROOT,
                env=self._variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert self._process.poll() is None, f"the server has ended: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < end, f"the server is not ready: {self.log.read_text()[-2000:]}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)

    def is_ready(self) -> bool:
        """Whether it says that it is ready."""
        try:
            return requests.get(f"{self.origin}/readyz", timeout=10).status_code == 200
        except requests.RequestException:
            return False

    def terminate(self) -> int:
        """Ask it to end, as systemd and container engines do; return its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def kill(self) -> None:
        """End it and all that it has started, at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
