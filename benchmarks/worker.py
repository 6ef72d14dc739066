"""One piece of work in a process of its own, so that its peak memory is its own: ``python -m benchmarks.worker``.

Reads a JSON object from standard input, with the task's name under ``task`` and its arguments, and prints one. Entry
points for others: `run_worker`, `environment`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_MEGABYTE = 2**20
_STATUS = Path("/proc/self/status")


def environment() -> dict[str, str]:
    """Return the environment in which a new process finds these very packages, wherever it is started."""
    root = str(Path(__file__).resolve().parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


def run_worker(task: str, timeout: float | None = None, **arguments: Any) -> dict[str, Any]:
    """Run a task in a new process and return what it reports; arrays among the arguments go by file.

    Raises
    ------
    subprocess.SubprocessError
        Where the process fails or takes longer than `timeout` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        request: dict[str, Any] = {"task": task}
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                path = Path(folder) / f"{name}.npy"
                np.save(path, value)
                request[name] = {"file": str(path)}
            else:
                request[name] = value
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.worker"],
            input=json.dumps(request), capture_output=True, text=True, check=True, timeout=timeout, env=environment(),
        )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def peak_memory() -> float:
    """Return the most memory that this process has held, in MB."""
    if _STATUS.is_file():
        # getrusage counts in what the parent held when it started this process; this does not
        return _status("VmHWM")
    import resource

    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / _MEGABYTE if sys.platform == "darwin" else held / 1024


def _status(name: str) -> float:
    """Return an entry of Linux's account of this process, in MB."""
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def forget_peak() -> float | None:
    """Let the peak begin anew at what is held now, and return that; None where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    return _status("VmRSS")


def search(X: Any, k: int, max_steps: int, init: Any) -> dict[str, Any]:
    """Run a search from the points on, and return its seconds and what it found."""
    from offgrid import BandwidthSearch
    from offgrid.engine import warmup

    warmup()
    begin = time.perf_counter()
    records = list(BandwidthSearch(k, max_steps=max_steps, init=init, random_state=0).iter_path(X))
    return {
        "seconds": time.perf_counter() - begin,
        "sigmas": [record.sigma for record in records],
        "labels": [record.labels.tolist() for record in records],
        "iterations": [record.iterations for record in records],
        "passes": [record.passes for record in records],
        "record_seconds": [record.seconds for record in records],
    }


def plain_search(X: Any, start: Any, labels: Any, k: int, **found: Any) -> dict[str, Any]:
    """Do NumPy's share of the same search; see `benchmarks.searches.replay`."""
    from benchmarks.searches import replay

    return replay(X, k, start, found["sigmas"], labels, found["iterations"], found["chosen"])


def growth(n: int, k: int) -> dict[str, Any]:
    """Return the seconds of one full kernel pass over `n` points in two columns, the least of a few."""
    from benchmarks.cases import blobs
    from offgrid import RBF
    from offgrid.engine import warmup
    from offgrid.engine.partition import Partition
    from offgrid.proximity import evaluate

    warmup()
    whole = peak_memory()  # loading the compiled code takes more for a moment than a small pass
    before = forget_peak()
    X = blobs(n, k)
    kernel = RBF().on(X)
    partition = Partition(np.random.default_rng(0).integers(k, size=n), k)
    t = kernel.t(2.0 * float(X.var(axis=0).sum()))
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < 0.5 and len(taken) < 50):
        begin = time.perf_counter()
        evaluate(kernel.pairs, partition, t)
        taken.append(time.perf_counter() - begin)
    added = None if before is None else peak_memory() - before
    return {"seconds": float(np.median(taken)), "memory_added": added, "memory_of_loading": whole}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"search": search, "plain_search": plain_search, "growth": growth}


def main() -> None:
    """Carry out what standard input asks for."""
    request = json.load(sys.stdin)
    arguments = {
        name: np.load(value["file"]) if isinstance(value, dict) and "file" in value else value
        for name, value in request.items()
        if name != "task"
    }
    report = TASKS[request["task"]](**arguments)
    print(json.dumps(report | {"peak_memory": peak_memory()}))


if __name__ == "__main__":
    main()
