"""What is computed once for each data set, kept on disk for every process.

Entry point: `DataCache`, one file for each value under the data folder, in a form that holds data and never code (see
`services.packing`). Memory: a value is read whole; values over `LARGEST` bytes are not kept.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from services.disk import shrink
from services.packing import pack, unpack

LARGEST = 200_000_000
KEPT = 200  # values; the oldest go first
_NAME = re.compile(r"[0-9a-f]{64}")

T = TypeVar("T")


class DataCache:
    """Values by name and content, found again by any process that shares the folder.

    Parameters
    ----------
    folder : Path
        Made when first needed, and again when it is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_or_make(self, kind: str, content: str, make: Callable[[], T], size: int = 0) -> T:
        """Return the value of `kind` for data with hash `content`, made by `make` where it is not there yet.

        `size` is an estimate in bytes; larger values than `LARGEST` are made anew each time. A value that can't be
        kept or read back is no failure: it is made again.
        """
        if size > LARGEST:
            return make()
        file = self._folder / hashlib.sha256(f"{kind}:{content}".encode()).hexdigest()
        found = self._read(file, kind)
        if found is None:
            found = make()
            self._keep(file, kind, found)
        value: T = found
        return value

    def sweep(self, most_bytes: int) -> int:
        """Delete the oldest values over `most_bytes`; return how many went."""
        return shrink(self._folder, most_bytes)

    def _read(self, file: Path, kind: str) -> Any:
        try:
            return unpack(file.read_bytes())
        except FileNotFoundError:
            return None
        except Exception:
            logging.getLogger(__name__).warning("cache: %s cannot be read", kind, exc_info=True)
            return None

    def _keep(self, file: Path, kind: str, value: Any) -> None:
        """Write the value beside its place and move it there, so that no reader meets half of it."""
        try:
            data = pack(value)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as new:
                new.write(data)
            Path(new.name).replace(file)
            self._drop_oldest()
        except Exception:
            logging.getLogger(__name__).warning("cache: %s cannot be kept", kind, exc_info=True)

    def _drop_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            kept = [entry for entry in entries if _NAME.fullmatch(entry.name)]
        if len(kept) <= KEPT:
            return
        with suppress(FileNotFoundError):  # gone already, by another process
            for entry in sorted(kept, key=lambda entry: entry.stat().st_mtime)[: len(kept) - KEPT]:
                Path(entry.path).unlink(missing_ok=True)
