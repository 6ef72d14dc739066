"""What is computed once for each data set, kept on disk for every process.

Entry point: `DataCache`, on flask-caching's FileSystemCache under the data folder. Its files hold data and never code
(see `services.packing`), not the pickles that such a cache writes by itself. Memory: a value is read whole; values over
`LARGEST` bytes are not kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from cachelib.serializers import BaseSerializer
from flask import Flask
from flask_caching import Cache
from flask_caching.backends import FileSystemCache

from services.disk import shrink
from services.packing import pack, unpack

LARGEST = 200_000_000
KEPT = 200  # values; the oldest go first

T = TypeVar("T")


class Packed(BaseSerializer):
    """Values in the form of `services.packing`, in place of pickles."""

    def dump(self, value: Any, f: IO[bytes], protocol: int = 0) -> None:  # noqa: ARG002 - as the base has it
        """Write a value."""
        f.write(pack(value))

    def load(self, f: IO[bytes]) -> Any:
        """Read a value."""
        return unpack(f.read())


class PackedFiles(FileSystemCache):
    """flask-caching's files, packed."""

    serializer = Packed()  # type: ignore[assignment]


class DataCache:
    """Values by name and content, found again by any process that shares the folder.

    Parameters
    ----------
    folder : Path
        Made when first needed, and again when it is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = Flask(__name__)  # jobs and the command line have no server of their own
        self._cache: Cache | None = None

    def get_or_make(self, kind: str, content: str, make: Callable[[], T], size: int = 0) -> T:
        """Return the value of `kind` for data with hash `content`, made by `make` where it is not there yet.

        `size` is an estimate in bytes; larger values than `LARGEST` are made anew each time. A value that can't be
        kept or read back is no failure: it is made again.
        """
        if size > LARGEST:
            return make()
        key = f"{kind}:{content}"
        found = self._ask("get", key)
        if found is None:
            found = make()
            self._ask("set", key, found)
        value: T = found
        return value

    def sweep(self, most_bytes: int) -> int:
        """Delete the oldest values over `most_bytes`; return how many went."""
        return shrink(self._folder, most_bytes)

    def _ask(self, verb: str, *arguments: Any) -> Any:
        try:
            with self._server.app_context():
                return getattr(self._made(), verb)(*arguments)
        except Exception:
            logging.getLogger(__name__).warning("cache: %s %s failed", verb, arguments[0], exc_info=True)
            return None

    def _made(self) -> Cache:
        if self._cache is None or not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._cache = Cache(
                self._server,
                config={
                    "CACHE_TYPE": f"{__name__}.{PackedFiles.__name__}",
                    "CACHE_DIR": str(self._folder),
                    "CACHE_DEFAULT_TIMEOUT": 0,
                    "CACHE_THRESHOLD": KEPT,
                },
            )
        return self._cache
