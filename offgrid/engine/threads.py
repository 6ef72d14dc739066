"""Row blocks over threads, safe in any process.

Entry points: `thread_count()`, `over_rows(work, n_rows, cost)` and `over_chunks(work, n_chunks)`. Compiled functions
release the GIL, so an ordinary thread pool is all the parallelism needed: no OpenMP or TBB layer that a forked child
could not use. Blocks write to rows of their own, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

SERIAL_COST = 100_000  # kernel entries: about 0.2 ms, a few times what handing over to a thread takes
_BLOCKS = 16


def thread_count() -> int:
    """Return the number of threads: `OFFGRID_THREADS`, else the processors this process may use."""
    asked = os.environ.get("OFFGRID_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=4)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return a pool of this very process: a pool inherited through fork has no threads behind it."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"offgrid-{process}")


def over_rows(work: Callable[[int, int], None], n_rows: int, cost: int) -> None:
    """Call ``work(first, last)`` on blocks of rows, in parallel where `cost` (kernel entries) pays for it."""
    if cost < SERIAL_COST:
        work(0, n_rows)
    else:
        _spread(work, [n_rows * i // _BLOCKS for i in range(_BLOCKS + 1)])


def over_chunks(work: Callable[[int, int], None], n_chunks: int) -> None:
    """Call ``work(c, c + 1)`` for every chunk c, in parallel."""
    _spread(work, list(range(n_chunks + 1)))


def _spread(work: Callable[[int, int], None], edges: list[int]) -> None:
    threads = thread_count()
    if threads == 1 or len(edges) == 2:
        for first, last in pairwise(edges):
            work(first, last)
    else:
        for _ in _pool(threads, os.getpid()).map(work, edges[:-1], edges[1:]):
            pass
