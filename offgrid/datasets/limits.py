"""What a file may cost, checked before memory is spent on it.

Entry points: `Limits`, `read_bytes` (a capped read), `MAX_BYTES`.
"""

from __future__ import annotations

import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from offgrid.errors import InputError

MB = 1_000_000
MAX_BYTES = 50 * MB
MAX_COLUMNS = 4096
MAX_CELLS = 25_000_000
MAX_RATIO = 1_000  # deflate reaches 1,032 on zeros; tables of numbers stay below 100
SMALL = 10 * MB  # whatever it is unpacked from


@dataclass(frozen=True)
class Limits:
    """What is allowed; every check raises InputError with one sentence.

    Attributes
    ----------
    rows : int or None
        None for no limit of its own; `cells` holds all the same.
    file_bytes : int
        Size of the file.
    columns, cells : int
        Of the table. 25 million cells are 200 MB of numbers.
    """

    rows: int | None = None
    file_bytes: int = MAX_BYTES
    columns: int = MAX_COLUMNS
    cells: int = MAX_CELLS

    @property
    def unpacked_bytes(self) -> int:
        """Size that a compressed file may unpack to."""
        return 4 * self.file_bytes

    def check_file(self, n_bytes: int) -> None:
        """Refuse a file that is too large."""
        if n_bytes > self.file_bytes:
            raise InputError(
                f"The file has {megabytes(n_bytes)}, and {megabytes(self.file_bytes)} are allowed: "
                "take a sample of its rows."
            )

    def check_unpacked(self, n_bytes: int) -> None:
        """Refuse what unpacks to too much."""
        if n_bytes > self.unpacked_bytes:
            raise InputError(
                f"The file unpacks to more than {megabytes(self.unpacked_bytes)}, the most that is allowed: "
                "take a sample of its rows."
            )

    def check_ratio(self, name: str, packed: int, unpacked: int) -> None:
        """Refuse what unpacks to out of all proportion."""
        if unpacked > SMALL and unpacked > MAX_RATIO * max(packed, 1):
            raise InputError(
                f"{name} would unpack {megabytes(packed)} to {megabytes(unpacked)}, which no table does: save it again."
            )

    def check_shape(self, n_rows: int, n_columns: int) -> None:
        """Refuse a table that is too long, too wide or too large."""
        if self.rows is not None and n_rows > self.rows:
            raise InputError(
                f"The table has {n_rows:,} rows, and {self.rows:,} are allowed: take a sample of its rows."
            )
        if n_columns > self.columns:
            raise InputError(
                f"The table has {n_columns:,} columns, and {self.columns:,} are allowed: leave some columns out."
            )
        if n_rows * n_columns > self.cells:
            raise InputError(
                f"The table has {n_rows:,} rows and {n_columns:,} columns, and {self.cells:,} cells are allowed: "
                "take a sample of its rows."
            )


def megabytes(n_bytes: int) -> str:
    """Return a size in words: "50 MB", "61.3 MB", "312 bytes"."""
    if n_bytes < MB // 10:
        return f"{n_bytes:,} bytes"
    return f"{n_bytes / MB:.1f} MB".replace(".0 MB", " MB")


def read_bytes(source: Any, limits: Limits) -> bytes:
    """Return the bytes of a path, of bytes or of an open file, never more than allowed."""
    if isinstance(source, (str, os.PathLike)):
        return _read_path(Path(source), limits)
    if isinstance(source, (bytes, bytearray, memoryview)):
        limits.check_file(len(source))
        return bytes(source)
    if not hasattr(source, "read"):
        raise InputError(f"A {type(source).__name__} cannot be read: give a path, bytes or an open file.")
    return _read_stream(source, limits)


def _read_path(path: Path, limits: Limits) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path.name or path} is not a file: give the path of a file.")
        limits.check_file(status.st_size)
        with path.open("rb") as stream:
            return _read_stream(stream, limits)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {str(path)!r}: check its name and folder.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The file {str(path)!r} cannot be opened: {_reason(error)}.") from error


def _read_stream(stream: IO[Any], limits: Limits) -> bytes:
    content = stream.read(limits.file_bytes + 1)
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    limits.check_file(max(len(content), _remaining_size(stream) if len(content) > limits.file_bytes else 0))
    return content


def _remaining_size(stream: IO[Any]) -> int:
    """Whole size of a stream that can say it, for the message; 0 otherwise."""
    try:
        return stream.seek(0, io.SEEK_END)
    except (OSError, ValueError, AttributeError):
        return 0


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
