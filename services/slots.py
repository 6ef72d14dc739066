"""Slots: at most so many computations at once, whatever they are and whichever process they are in.

Entry points: `take`, and `hold`, which waits for one. A slot is a lock of the kernel's on a file, free again the
moment its process dies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from services.settings import Settings

PATIENCE = 0.2  # seconds between two tries


def take(folder: Path, count: int) -> FileLock | None:
    """Return the lock of a free slot of `count`, held; None where all are taken."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(count):
        lock = FileLock(folder / f"slot-{number}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        return lock
    return None


@contextmanager
def hold(settings: Settings, is_first: Callable[[], bool], wait: Callable[[float], None]) -> Iterator[None]:
    """Hold a slot while the block runs, first come first served.

    Parameters
    ----------
    settings : Settings
    is_first : callable
        Whether nobody of the same kind waits ahead.
    wait : callable
        Waits so many seconds, or raises where waiting is to end.
    """
    folder, count = settings.data_dir / "slots", settings.slots
    while (lock := take(folder, count) if is_first() else None) is None:
        wait(PATIENCE)
    try:
        yield
    finally:
        lock.release()
