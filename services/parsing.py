"""People's files, read where they can do no harm: each in a process of its own that knows no secret and has limits.

Entry points: `read_guarded` (a file's bytes to a `Table`), `prepare` (start the process for the next file ahead of it)
and ``python -m services.parsing`` (that process: it reads one file and ends).

The process starts from nothing, so that its memory and its environment hold neither keys nor other people's data. The
kernel holds it to an amount of memory, of processor time and of output. What it found comes back as JSON and plain
columns of numbers, in a file that has no name; it is checked, and is never unpickled. One process waits for the next
file with everything imported, which saves most of a second.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.abc import MetaPathFinder
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import IO, Any, Protocol

import numpy as np

from offgrid.datasets.limits import MAX_CELLS, MB, Limits
from offgrid.datasets.reading import read_table
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services import logs
from services.tables import table_arrays, table_from, table_values

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 6  # seconds by the clock for one of processor time, on a machine with other work
AT_ONCE = 2  # files read at the same time by one server process
OPEN_FILES = 64
KEPT_VARIABLES = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "OFFGRID_LOG_FORMAT", "PATH", "TMPDIR", "TZ")
ALONE = {  # one thread and no memory reserved ahead: what counts against the limit is what the file needs
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

logger = logging.getLogger(__name__)


class Read(Protocol):
    """What reads a file: `read_guarded`, or `offgrid.datasets.read_table` in this process."""

    def __call__(self, content: bytes, /, *, name: str, max_rows: int | None, max_bytes: int) -> Table:
        """Return the table that a file holds, or raise `InputError`."""
        ...


def memory_for(max_bytes: int) -> int:
    """Return the memory in bytes that reading a file of at most `max_bytes` may take."""
    return 768 * MB + 24 * max_bytes


def seconds_for(max_bytes: int) -> int:
    """Return the processor time in seconds that reading a file of at most `max_bytes` may take: 10 s for 50 MB."""
    return 5 + max_bytes // (10 * MB)


class Reader:
    """Reads files in processes of their own, of which one waits ready for the next file.

    Parameters
    ----------
    seconds : int or None
        Processor time for one file; None for what its size suggests.
    patience : float or None
        Seconds by the clock, for a turn and then for the file; None for what the processor time suggests.
    memory : int or None
        Bytes of memory for one file; None for what its size suggests.
    at_once : int
        Files read at the same time; others wait for their turn.
    """

    def __init__(
        self,
        *,
        seconds: int | None = None,
        patience: float | None = None,
        memory: int | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._seconds, self._patience, self._memory = seconds, patience, memory
        self._turns = BoundedSemaphore(at_once)
        self._lock = Lock()
        self._waiting: _Started | None = None

    def __call__(self, content: bytes, /, *, name: str, max_rows: int | None, max_bytes: int) -> Table:
        """Return the table that a file holds.

        Raises
        ------
        InputError
            And nothing else, whatever the file holds and whatever becomes of the process.
        """
        limits = Limits(rows=max_rows, file_bytes=max_bytes)
        limits.check_file(len(content))
        seconds = self._seconds or seconds_for(max_bytes)
        patience = self._patience or PATIENCE * seconds
        request = {
            "name": name,
            "max_rows": max_rows,
            "max_bytes": max_bytes,
            "size": len(content),
            "seconds": seconds,
            "memory": self._memory or memory_for(max_bytes),
            "output": 8 * MAX_CELLS + 8 * max_bytes,
            "log_level": logging.getLevelName(logging.getLogger().level),
        }
        if not self._turns.acquire(timeout=patience):
            raise InputError("The server is reading other files and has no time for this one; upload it again.")
        try:
            return self._read(json.dumps(request).encode() + b"\n" + content, name, limits, patience)
        finally:
            self._turns.release()
            self.prepare()

    def prepare(self) -> None:
        """Start the process for the next file, unless it waits already."""
        with self._lock:
            self._waiting = _living(self._waiting) or _Started()

    def close(self) -> None:
        """End the process that waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.end()

    def _take(self) -> _Started:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        return _living(waiting) or _Started()

    def _read(self, request: bytes, name: str, limits: Limits, patience: float) -> Table:
        started = self._take()
        try:
            code = started.ask(request, patience)
            if code:
                logger.warning("reading %r ended with code %d", name, code)
                raise InputError(_too_long(name) if code in _TOO_LONG else _broken(name))
            return _table(started.answer, limits)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            logger.warning("what was read from %r makes no table", name, exc_info=True)
            raise InputError(_broken(name)) from error
        finally:
            started.end()


_CLOCK = 1_000  # what `_Started.ask` returns where the clock ran out; signals are negative, exit codes below 256
_TOO_LONG = (_CLOCK, -signal.SIGXCPU)


class _Started:
    """A process that waits for a file, and the nameless file that its answer goes to."""

    def __init__(self) -> None:
        kept = {key: os.environ[key] for key in os.environ if key in KEPT_VARIABLES or key.startswith("PYTHON")}
        self.answer: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "services.parsing"],
            cwd=ROOT,
            env=kept | ALONE,
            stdin=subprocess.PIPE,
            stdout=self.answer,
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, request: bytes, patience: float) -> int:
        """Send the file and wait; return how the process ended."""
        try:
            self._process.communicate(request, timeout=patience)
        except subprocess.TimeoutExpired:
            return _CLOCK
        return self._process.returncode

    def end(self) -> None:
        """End the process, whatever it does, and forget its answer."""
        self._process.kill()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self._process.wait()
        self.answer.close()


def _living(started: _Started | None) -> _Started | None:
    """Return a process that can still be asked; one that has ended is tidied away."""
    if started is None or not started.ended:
        return started
    started.end()
    return None


def _table(answer: IO[bytes], limits: Limits) -> Table:
    """Return the table in an answer, or raise what it says; every size is checked before memory is spent on it."""
    answer.seek(0)
    head = json.loads(answer.readline())
    if "refused" in head:
        raise InputError(str(head["refused"]))
    n_rows, n_numbers, n_codes, n_cells = (int(head[key]) for key in ("n_rows", "numbers", "codes", "cells"))
    if min(n_rows, n_numbers, n_codes, n_cells) < 0:
        raise ValueError(f"a table of {n_rows} rows, {n_numbers} and {n_codes} columns, and {n_cells} bytes")
    limits.check_shape(n_rows, n_numbers + n_codes)
    if n_cells:
        limits.check_unpacked(int(head["table"]["given"]["size"]))
    size = answer.tell() + n_rows * (8 * n_numbers + 4 * n_codes) + n_cells
    if os.fstat(answer.fileno()).st_size != size:
        raise ValueError(f"an answer that is not {size} bytes long")
    numbers = np.frombuffer(answer.read(8 * n_rows * n_numbers), np.float64).reshape(n_numbers, n_rows)
    codes = np.frombuffer(answer.read(4 * n_rows * n_codes), np.int32).reshape(n_codes, n_rows)
    return table_from(head["table"], numbers, codes, answer.read(n_cells))


def _too_long(name: str) -> str:
    return (
        f"{name} takes longer to read than one file may: take a sample of its rows, or save it as CSV or Parquet, "
        "which are read faster."
    )


def _broken(name: str) -> str:
    return f"{name} cannot be read: it is damaged, or too large; save it again, or take a sample of its rows."


READER = Reader()
read_guarded: Read = READER
prepare = READER.prepare
atexit.register(READER.close)


def _confine(seconds: int, memory: int, output: int) -> None:
    """Give up what reading a file does not need. The kernel ends a process that takes more processor time."""
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, output),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # the first ends it with a signal of its own
    with suppress(OSError):  # where memory runs out all the same, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _answer(out: IO[bytes], request: dict[str, Any], content: bytes) -> None:
    name = request["name"]
    parts: list[Any]
    try:
        table = read_table(content, name=name, max_rows=request["max_rows"], max_bytes=request["max_bytes"])
        numbers, codes = table_arrays(table)
        cells = b"" if table.given is None else table.given.packed
        sizes = {"n_rows": table.n_rows, "numbers": len(numbers), "codes": len(codes), "cells": len(cells)}
        parts = [
            json.dumps({"table": table_values(table), **sizes}).encode() + b"\n",
            *(array.reshape(-1).view(np.uint8).data for array in (numbers, codes)),
            cells,
        ]
    except InputError as error:
        parts = [json.dumps({"refused": str(error)}).encode() + b"\n"]
    except MemoryError:
        parts = [json.dumps({"refused": _broken(name)}).encode() + b"\n"]
    for part in parts:
        out.write(part)
    out.flush()


class _WithoutPandas(MetaPathFinder):
    """Arrow imports pandas wherever it is installed, which takes longer than to read most files, and is not needed."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        """Say that there is no pandas, and leave everything else to the others."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name=fullname)


def main() -> int:
    """Read the one file that comes, answer, and end; without a file, when whoever started this process has ended."""
    sys.meta_path.insert(0, _WithoutPandas())
    import pyarrow.parquet  # noqa: F401 - imported ahead, while nobody waits

    read_table(b"x,y\n1,2\n3,4\n", name="first.csv")  # has the libraries import the rest
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    request = json.loads(line)
    logs.set_up(request["log_level"], os.environ.get("OFFGRID_LOG_FORMAT", "text"))
    _confine(request["seconds"], request["memory"], request["output"])
    content = sys.stdin.buffer.read()
    if len(content) == request["size"]:
        _answer(sys.stdout.buffer, request, content)
    return 0


if __name__ == "__main__":
    os._exit(main())  # nothing is left to be tidied, and somebody waits
