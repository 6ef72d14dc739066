"""What a pass over pairs sends to a Dask cluster, and what it costs beside one machine.

Entry points: ``python -m benchmarks.cluster`` (a cluster of processes on this machine; nothing else should run on it),
and `Relay`, which counts bytes. Times are processor seconds of all processes together, so that one processor is enough
to tell what spreading a pass costs; on machines of their own the workers' seconds run side by side.
"""

from __future__ import annotations

import argparse
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import psutil

from offgrid import dask_cluster, distributed
from offgrid.distributed import DistributedPairs
from offgrid.engine.neighbours import closest_pair
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition


class Relay:
    """Passes on what goes to a scheduler and what comes back, and counts the bytes.

    Attributes
    ----------
    address : str
        Where to connect in place of the scheduler.
    out, back : int
    """

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("tcp://").split(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.out = self.back = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            threading.Thread(target=self._pass_on, args=(near, far, "out"), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(far, near, "back"), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, way: str) -> None:
        with closing(target):
            while True:
                try:
                    some = source.recv(1 << 16)
                    target.sendall(some)
                except OSError:
                    return
                if not some:
                    return
                setattr(self, way, getattr(self, way) + len(some))

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        """Give the bytes that went out and came back while the block ran, once it has run."""
        before = self.out, self.back
        counts: list[int] = []
        yield counts
        counts += [self.out - before[0], self.back - before[1]]


def _processor_seconds() -> float:
    """Return the seconds of this process and those it started."""
    here = psutil.Process()
    total = 0.0
    for process in (here, *here.children(recursive=True)):
        times = process.cpu_times()
        total += times.user + times.system
    return total


def _passes(n: int, k: int) -> dict[str, Callable[[Pairs], Any]]:
    rng = np.random.default_rng(0)
    partition = Partition(rng.integers(k, size=n), k)
    rows, moved = rng.permutation(n)[: n // 4], rng.permutation(n)[: n // 10]
    clusters = rng.integers(4, size=len(moved))
    return {
        "all pairs": lambda pairs: pairs.all_sums(partition, 30.0),
        "all pairs again": lambda pairs: pairs.all_sums(partition, 20.0),
        "a quarter of the rows": lambda pairs: pairs.cluster_sums(partition, 30.0, rows),
        "a tenth moved": lambda pairs: pairs.sums_over(moved, clusters, 4, 30.0),
        "limit t = 0": lambda pairs: pairs.limit_sums(partition),
        "moments, order 9": lambda pairs: pairs.self_moments(partition, 30.0, 1.0, 9),
        "closest pair": closest_pair,
    }


def _measure(address: str, n: int, d: int, k: int) -> Iterator[str]:
    from distributed import Client

    points = np.random.default_rng(1).normal(size=(n, d)) / 8.0
    here = Pairs.from_points(points)
    with closing(Relay(address)) as relay, Client(address, set_as_default=False) as client:
        there = DistributedPairs(here, relay.address)

        def exchanged() -> int:
            return sum(client.run(_sent).values())

        for name, work in _passes(n, k).items():
            start = _processor_seconds()
            work(here)
            alone, start, before = _processor_seconds() - start, _processor_seconds(), exchanged()
            with relay.counting() as moved:
                work(there)
            spread = _processor_seconds() - start
            # results go to the scheduler, the rest to other workers
            between = max(exchanged() - before - moved[1], 0)
            yield (
                f"| {n:,} | {d} | {k} | {name} | {moved[0] / 1e6:.2f} | {moved[1] / 1e6:.2f} | {between / 1e6:.2f} "
                f"| {alone:.2f} | {spread:.2f} | {spread / max(alone, 0.01):.2f} |"
            )


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def main() -> None:
    """Print a table of passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[2])
    parser.add_argument("--clusters", type=int, nargs="+", default=[5])
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    from distributed import LocalCluster

    os.environ["OFFGRID_THREADS"] = "1"
    distributed.WORTH = 0
    with LocalCluster(n_workers=arguments.workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        print(
            "| rows | columns | clusters | pass | MB out | MB back | MB between workers | s alone | s spread | ratio |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for n in arguments.rows:
            for d in arguments.columns:
                for k in arguments.clusters:
                    for line in _measure(cluster.scheduler_address, n, d, k):
                        print(line, flush=True)
        dask_cluster.disconnect()


if __name__ == "__main__":
    main()
