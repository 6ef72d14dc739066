"""How many threads linear algebra and scikit-learn may take.

Entry point: `few_threads`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

# Matrices of fewer rows gain little from threads, and lose much where other work keeps the processors busy: the threads
# wait for each other by spinning, and what takes 2 s alone was seen to take 50.
_WORTH_THREADS = 2_001


@contextmanager
def few_threads(n: int) -> Iterator[None]:
    """Let matrices of n rows be worked on by one thread while the block runs, unless there are many rows."""
    if n >= _WORTH_THREADS:
        yield
        return
    with threadpool_limits(limits=1):
        yield
