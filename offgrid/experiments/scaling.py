"""Figure 1: seconds for each value of the bandwidth on samples of MNIST.

Entry points: `sample` (the data of one run), `measure`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offgrid.baselines import grid, mknn
from offgrid.experiments.cases import SEED, start_partition
from offgrid.experiments.progress import Tell, quiet
from offgrid.experiments.store import rounded
from offgrid.metrics import neighbour_ranks
from offgrid.search import BandwidthSearch

VALUES, CLUSTERS = 13, 10
PROTOCOL = f"""
Each run draws digits (784 columns, 0 to 1) at random and a start partition, the same for all methods; with 10
clusters.

Each method is limited to {VALUES} values: grid has as many, mknn tries j = 1 ... {VALUES}, and the searches stop
after {VALUES - 1} critical values; dyadic with depths 1 and 2.

Seconds for each value: all that the processor spends on a method, from the points on, over the number of values that
it came to; ranking neighbours for c-NNC is not counted.
"""

_Floats = NDArray[np.float64]


def sample(digits: _Floats, n: int, run: int) -> _Floats:
    """Return `n` of the digits, drawn at random; all of them in order where there are no more."""
    if n >= len(digits):
        return digits
    return digits[np.sort(np.random.default_rng((SEED, run, n)).choice(len(digits), n, replace=False))]


def measure(X: _Floats, run: int, tell: Tell = quiet) -> dict[str, Any]:
    """Time every method on one sample."""
    start = start_partition(len(X), CLUSTERS, run)
    ranks = neighbour_ranks(X)

    def search(method: str) -> int:
        found = BandwidthSearch(CLUSTERS, method=method, init=start, max_steps=VALUES - 1)
        return len(list(found.iter_path(X, ranks=ranks)))

    work: dict[str, Callable[[], int]] = {
        "mknn": lambda: len(mknn(X, CLUSTERS, init=start, ranks=ranks, count=VALUES).trials),
        "grid": lambda: len(grid(X, CLUSTERS, init=start, ranks=ranks).trials),
        "dyadic": lambda: search("dyadic"),
        "certified": lambda: search("certified"),
    }
    found = {}
    for done, (method, carry_out) in enumerate(work.items()):
        tell(done / len(work), method)
        begin = time.process_time()
        values = carry_out()
        found[method] = rounded({"seconds": time.process_time() - begin, "values": values}.items())
    return {"methods": found, "n": len(X)}
