"""Environments of other packages: made once in a folder, with pinned versions, and used by their own interpreters.

Entry points: `run_peer`, `PeerUnavailable`, `PINS`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

# What each needs; the numerical libraries are named where the package itself names none, or any version.
PINS = {
    "tslearn": ("tslearn==0.10.0", "numpy==2.4.6", "scikit-learn==1.9.1"),
    "python-kkmeans": ("python-kkmeans==0.1.0", "numpy==2.4.6"),
    "msscpy": ("msscpy==0.1.6", "numpy==1.26.4", "scikit-learn==1.9.1"),
}
_INSTALLING, _RUNNING = 900, 1800  # seconds


class PeerUnavailable(Exception):
    """A package that could not be installed or run; the message says why."""


def run_peer(name: str, folder: Path | None, X: Any, **arguments: Any) -> dict[str, Any]:
    """Run a package's script on data X and return what it reports; its own clock leaves out the start of the process.

    Raises
    ------
    PeerUnavailable
        Where there is no folder, or installing or running fails.
    """
    if folder is None:
        raise PeerUnavailable(f"--peers DIR names a folder in which {PINS[name][0]} is installed; none was named")
    python = _environment(name, folder)
    script = Path(__file__).with_name(f"run_{name.replace('-', '_')}.py")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "X.npy"
        np.save(path, X)
        request = json.dumps({"X": str(path)} | arguments)
        printed = _run([str(python), str(script)], _RUNNING, f"{name} did not run", request)
    try:
        report: dict[str, Any] = json.loads(printed.splitlines()[-1])
    except (IndexError, json.JSONDecodeError) as error:
        raise PeerUnavailable(f"{name} printed no result") from error
    return report | {"requirements": list(PINS[name])}


def _environment(name: str, folder: Path) -> Path:
    """Return the interpreter of a package's environment, which is made if it is not there."""
    home = folder.resolve() / name
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = home / "installed.txt"
    pins = "\n".join(PINS[name])
    if not (done.is_file() and done.read_text(encoding="utf-8") == pins):
        failed = f"{name} could not be installed"
        _run([sys.executable, "-m", "venv", "--clear", str(home)], _INSTALLING, failed)
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        _run([str(python), "-m", "pip", "install", *quiet, *PINS[name]], _INSTALLING, failed)
        done.write_text(pins, encoding="utf-8")
    return python


def _run(command: list[str], timeout: int, failed: str, request: str = "") -> str:
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, check=True, timeout=timeout)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1]
        raise PeerUnavailable(f"{failed}: {last}") from error
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailable(f"{failed} within {timeout} seconds") from error
    except OSError as error:
        raise PeerUnavailable(f"{failed}: {error.strerror or error}") from error
    return done.stdout
