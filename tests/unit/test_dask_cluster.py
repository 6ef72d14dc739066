"""Searches on a Dask cluster of processes of their own: the same path, little traffic, and workers that come and go."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.cluster import Relay
from offgrid import BandwidthSearch, dask_cluster, distributed
from offgrid.dask_cluster import Cluster, ClusterError, check
from offgrid.distributed import DistributedPairs
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.path import PathRecord

dask = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

N, D, K, STEPS = 1_500, 17, 4, 2


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """A cluster of two workers, each a process of one thread."""
    with dask.LocalCluster(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    ) as started:
        yield started


@pytest.fixture
def nobody() -> Iterator[Any]:
    """A scheduler that no worker has come to."""
    with dask.LocalCluster(n_workers=0, processes=True, dashboard_address=":0", silence_logs="CRITICAL") as started:
        yield started


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spread even small passes, and end what was connected."""
    monkeypatch.setattr(distributed, "WORTH", 200_000)
    monkeypatch.setattr(distributed, "_BLOCK", 200_000)
    monkeypatch.setattr(distributed, "_RANGE", 700)
    monkeypatch.setattr(dask_cluster, "_BEAT", 0.2)
    # distances of so many columns would be stored, were there room for them
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "9MB")
    monkeypatch.delenv(dask_cluster.ENVIRONMENT, raising=False)
    yield
    dask_cluster.disconnect()


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(N, D)) + 2.0 * rng.integers(3, size=(N, 1))


def search() -> BandwidthSearch:
    return BandwidthSearch(K, max_steps=STEPS, random_state=1)


def same(found: list[PathRecord], expected: list[PathRecord]) -> bool:
    """Whether two paths are equal in all but the time they took, and the passes, of which a resumed one has more."""

    def plain(record: PathRecord) -> tuple[Any, bytes]:
        return replace(record, labels=np.zeros(0), seconds=0.0, passes=0.0), record.labels.tobytes()

    return len(found) == len(expected) and all(
        repr(plain(a)) == repr(plain(b)) for a, b in zip(found, expected, strict=True)
    )


@pytest.fixture(scope="module")
def expected(points: np.ndarray) -> list[PathRecord]:
    """The path that one machine finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFGRID_MEMORY_LIMIT", "9MB")
        return list(search().iter_path(points))


def test_a_search_finds_the_same_path_and_sends_the_points_once(
    workers: Any, points: np.ndarray, expected: list[PathRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, workers.scheduler_address)
    monkeypatch.setattr(Cluster, "send", lambda self, value, send=Cluster.send: sent.append(value) or send(self, value))
    assert same(list(search().iter_path(points)), expected)
    assert [type(value).__name__ for value in sent].count("BlockPairs") == 1
    assert len(sent) > STEPS


def test_labels_go_out_and_sums_come_back(workers: Any) -> None:
    """Past a few kilobytes a task a pass takes a byte a row out and 16 k bytes a row back."""
    n, k = 40_000, 4
    rng = np.random.default_rng(6)
    partition = Partition(rng.integers(k, size=n), k)
    rows = np.arange(0, n, 400)
    with closing(Relay(workers.scheduler_address)) as relay:
        pairs = DistributedPairs(Pairs.from_points(rng.normal(size=(n, 2))), relay.address)
        with relay.counting() as first:
            pairs.cluster_sums(partition, 1.0, rows)
        with relay.counting() as second:
            pairs.cluster_sums(partition, 2.0, rows)
        few = Partition((partition.labels + 1) % k, k)
        with relay.counting() as third:
            pairs.sums_over(rows[:10], few.labels[rows[:10]], k, 1.0)
    per_task, n_tasks = 4_000, 8
    assert n * 2 * 8 + n < first[0] < n * 2 * 8 + n + per_task * n_tasks + 20_000
    assert second[0] < 4 * len(rows) + per_task * n_tasks
    assert len(rows) * k * 16 < second[1] < len(rows) * k * 16 + per_task * n_tasks
    assert third[0] < per_task * n_tasks
    assert n * k * 16 < third[1] < n * k * 16 + per_task * n_tasks


def kill(cluster: Any, everyone: bool) -> None:
    """Wait until a worker has a part of a pass, which nobody has fetched yet, and kill it, or all of them."""
    with dask.Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
        having: list[str] = []
        while not having:
            having = [
                worker
                for worker, keys in client.has_what().items()
                if any(key.startswith(("symmetric_block", "_added_up")) for key in keys)
            ]
        for worker in pids if everyone else having[:1]:
            os.kill(pids[worker], signal.SIGKILL)
    if everyone:
        cluster.scale(len(cluster.workers) + 1)


def test_workers_killed_during_a_pass_change_nothing(
    workers: Any, points: np.ndarray, expected: list[PathRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one a part of the pass is done again; with all, what they were sent is sent again, to those that follow."""
    results, sent, strikes = Cluster.results, [], ["all", "one"]

    def watched(self: Cluster, handles: Any) -> Any:
        if strikes and handles[0].key.startswith("_added_up"):
            kill(workers, everyone=strikes.pop() == "all")
        return results(self, handles)

    monkeypatch.setattr(dask_cluster, "PATIENCE", 600.0)
    monkeypatch.setattr(Cluster, "results", watched)
    monkeypatch.setattr(Cluster, "send", lambda self, value, send=Cluster.send: sent.append(value) or send(self, value))
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, workers.scheduler_address)
    assert same(list(search().iter_path(points)), expected)
    assert not strikes
    assert [type(value).__name__ for value in sent].count("BlockPairs") > 1


def test_without_workers_a_run_waits_then_ends_and_can_be_resumed(
    nobody: Any, points: np.ndarray, expected: list[PathRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, nobody.scheduler_address)
    monkeypatch.setattr(dask_cluster, "PATIENCE", 0.3)
    with pytest.raises(ClusterError, match=r"has had no worker for 0 seconds; start workers, and resume from"):
        list(search().iter_path(points))
    monkeypatch.setattr(dask_cluster, "PATIENCE", 60.0)
    nobody.scale(1)
    records = search().iter_path(points)
    found = [next(records), next(records)]
    monkeypatch.setattr(dask_cluster, "PATIENCE", 0.3)
    nobody.scale(0)
    nobody.sync(nobody._correct_state)
    with pytest.raises(ClusterError, match="has had no worker"):
        next(records)
    monkeypatch.delenv(dask_cluster.ENVIRONMENT)
    found += search().iter_path(points, resume=found)
    assert same(found, expected)


def test_where_no_scheduler_answers_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "REACH", 0.3)
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(
        ClusterError, match=r"^OFFGRID_DASK_SCHEDULER is 'tcp://127.*', where no Dask scheduler answers; "
    ):
        check(address)


def test_a_scheduler_that_goes_ends_the_run_in_one_sentence(
    points: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "REACH", 0.5)
    with dask.LocalCluster(
        n_workers=1, processes=False, protocol="tcp", dashboard_address=":0", silence_logs="CRITICAL"
    ) as cluster:
        monkeypatch.setenv(dask_cluster.ENVIRONMENT, cluster.scheduler_address)
        records = search().iter_path(points)
        next(records)
    with pytest.raises(ClusterError, match=r"has gone; start it again, and resume from the last record found\.$"):
        list(records)
