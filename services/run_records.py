"""How the records of a run are kept as bytes, and the paths that this process has unpacked.

Entry points: `pack` and `unpack` (one record), `pack_ends` and `unpack_ends`, and `PathCache`. Memory: the paths asked
for lately, n int32 for each record, grown by the new records only.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence

from offgrid.path import BandwidthPath, LevelEnd, PathRecord

KEPT_PATHS = 8  # runs whose paths are kept unpacked in memory

Read = Callable[[int, int], Sequence[bytes]]


class PathCache:
    """Paths by run, shared by the threads of a process."""

    def __init__(self) -> None:
        self._paths: OrderedDict[str, tuple[tuple[int, int, str], BandwidthPath]] = OrderedDict()
        self._lock = threading.Lock()

    def path(self, run_id: str, epoch: int, count: int, ends: str, read: Read) -> BandwidthPath:
        """Return the first `count` records; fewer where one is missing or damaged.

        Parameters
        ----------
        run_id : str
        epoch : int
            Changes where records that were kept are dropped.
        count : int
        ends : str
            As from `pack_ends`.
        read : callable
            Returns the packed records from one place up to, but not with, another, as far as there are any.
        """
        version = (epoch, count, ends)
        with self._lock:
            known = self._paths.get(run_id)
        if known is not None and known[0] == version:
            return known[1]
        seen = known[1].records[:count] if known is not None and known[0][0] == epoch else ()
        path = BandwidthPath([*seen, *_whole(read(len(seen), count))], unpack_ends(ends))
        if len(path) == count:
            with self._lock:
                self._paths[run_id] = (version, path)
                self._paths.move_to_end(run_id)
                while len(self._paths) > KEPT_PATHS:
                    self._paths.popitem(last=False)
        return path


def _whole(packed: Sequence[bytes]) -> list[PathRecord]:
    """Return the records up to the first that is damaged."""
    records = []
    for one in packed:
        record = unpack(one)
        if record is None:
            break
        records.append(record)
    return records


def pack(record: PathRecord) -> bytes:
    """Return the record as bytes, with zlib's checksum."""
    text = json.dumps(record.to_dict(pack=True), default=lambda number: number.item())
    return zlib.compress(text.encode(), 1)


def unpack(packed: bytes) -> PathRecord | None:
    """Return the record, or None where its bytes are damaged."""
    try:
        return PathRecord.from_dict(json.loads(zlib.decompress(packed)))
    except (zlib.error, ValueError, KeyError, TypeError):
        return None


def pack_ends(ends: Sequence[LevelEnd]) -> str:
    """Return how levels ended as JSON."""
    return json.dumps([end.to_dict() for end in ends])


def unpack_ends(packed: str) -> list[LevelEnd]:
    """Rebuild from `pack_ends`."""
    return [LevelEnd.from_dict(end) for end in json.loads(packed)]
