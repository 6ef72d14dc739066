"""Room on the disk.

Entry points: `is_full`, `FULL`, `size_of`, `is_writable` and `shrink` (a folder of files down to a size).
"""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from pathlib import Path

FULL = "the server's disk is full. Whoever runs the server has to make room; what was found before is kept."
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_ROOM_IN_SQLITE = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")  # of a file, of its index in shared memory


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room left."""
    if isinstance(error, sqlite3.OperationalError):
        return getattr(error, "sqlite_errorname", None) in NO_ROOM_IN_SQLITE
    return isinstance(error, OSError) and error.errno in NO_ROOM


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder and below; what goes meanwhile counts nothing."""
    return sum(_size(file) for file in folder.rglob("*")) if folder.is_dir() else 0


def is_writable(folder: Path) -> bool:
    """Whether a file can be made in the folder, and has room for a few bytes."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4_096))
            file.flush()
    except OSError:
        return False
    return True


def shrink(folder: Path, most_bytes: int) -> int:
    """Delete the oldest files of a folder until the rest has `most_bytes` or fewer; return how many went."""
    files = []
    for file in folder.iterdir() if folder.is_dir() else ():
        try:
            status = file.stat()
        except FileNotFoundError:
            continue
        files.append((status.st_mtime, status.st_size, file))
    total, gone = sum(size for _, size, _ in files), 0
    for _, size, file in sorted(files):
        if total <= most_bytes:
            break
        file.unlink(missing_ok=True)
        total, gone = total - size, gone + 1
    return gone


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except FileNotFoundError:
        return 0
