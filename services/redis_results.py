"""What was computed once for everybody, in Redis, for web servers and workers on any number of machines.

Entry points: `RedisComparisonStore` and `SharedCache`. Every key expires. Values are data and never code (see
`services.packing`), whoever has written them.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from services.cache import DataCache
from services.comparisons import Comparisons
from services.packing import pack, unpack
from services.redis_link import PREFIX, Link, StoreAway

LARGEST_SHARED = 1_000_000  # bytes; larger values stay on the disk of the machine that has made them
CACHED = 86_400  # seconds

logger = logging.getLogger(__name__)


class RedisComparisonStore(Comparisons):
    """Results of methods by the key of their content.

    Parameters
    ----------
    link : Link
    keep : int
        Seconds after it was made at which a result is forgotten.
    """

    def __init__(self, link: Link, keep: int) -> None:
        super().__init__()
        self._link, self._keep = link, keep

    def sweep(self, older_than: float) -> int:
        """Return 0: Redis drops them by itself."""
        del older_than
        return 0

    def _write(self, key: str, packed: bytes) -> None:
        self._link.ask(lambda client: client.set(_name(key), packed, ex=self._keep))

    def _read(self, key: str) -> bytes | None:
        found: bytes | None = self._link.ask(lambda client: client.get(_name(key)))
        return found


class SharedCache(DataCache):
    """Small values in Redis for every machine, large ones in a folder of this one.

    Parameters
    ----------
    folder : Path
    link : Link
    """

    def __init__(self, folder: Path, link: Link) -> None:
        super().__init__(folder)
        self._link = link

    def _ask(self, verb: str, *arguments: Any) -> Any:
        name = f"{PREFIX}cache:{arguments[0]}"
        try:
            if verb == "get":
                packed = self._link.ask(lambda client: client.get(name))
                return super()._ask(verb, *arguments) if packed is None else unpack(packed)
            packed = pack(arguments[1])
            if len(packed) <= LARGEST_SHARED:
                return self._link.ask(lambda client: client.set(name, packed, ex=CACHED))
        except StoreAway:
            pass  # then this machine's disk has to do
        except Exception:
            logger.warning("cache: %s %s failed", verb, arguments[0], exc_info=True)
            return None
        return super()._ask(verb, *arguments)


def _name(key: str) -> str:
    return f"{PREFIX}comparison:{key}"
