"""Slots: at most so many computations at once, whatever they are and whichever process they are in.

Entry point: `take`. A slot is a lock of the kernel's on a file, free again the moment its process dies.
"""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout


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
