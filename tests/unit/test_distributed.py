"""Passes in blocks of rows, as a cluster does them, give the same bits as one machine. No cluster is needed here."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offgrid import RBF, dask_cluster, distributed
from offgrid.cli import main
from offgrid.dask_cluster import ClusterError
from offgrid.distributed import BlockPairs, Columns, DistributedPairs, distribute
from offgrid.engine import pairs as pairs_module
from offgrid.engine.layout import SQUARE
from offgrid.engine.neighbours import closest_pair
from offgrid.engine.pairs import Pairs
from offgrid.engine.partition import Partition
from offgrid.errors import InputError
from offgrid.kernels import Laplacian
from services import jobs, processes, startup
from services.settings import Settings, from_environment

ADDRESS = "tcp://127.0.0.1:8170"


class Inline:
    """A cluster that carries out each task at once, on copies that went through pickle, and answers in any order."""

    def __init__(self, threads: int, seed: int = 0) -> None:
        self.threads = threads
        self.order = np.random.default_rng(seed)
        self.sent: list[Any] = []
        self.tasks = 0

    def send(self, value: Any) -> Any:
        self.sent.append(value)
        frames: list[Any] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=frames.append)
        # what arrives over the network cannot be written to
        return pickle.loads(head, buffers=[bytes(frame) for frame in frames])

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        self.tasks += 1
        return pickle.loads(pickle.dumps(task))(*arguments)

    def carry_out(self, submit: Callable[[int, bool], Sequence[Any]], place: Callable[[int, Any], None]) -> None:
        handles = submit(self.threads, False)
        for index in self.order.permutation(len(handles)):
            place(int(index), handles[index])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have even the smallest pass done in blocks, of many chunks and for several ranges."""
    monkeypatch.setattr(distributed, "WORTH", 0)
    monkeypatch.setattr(distributed, "_BLOCK", 500)
    monkeypatch.setattr(distributed, "_RANGE", 40)
    monkeypatch.setattr(pairs_module, "_CHUNK", 100)
    pairs_module.equal_work.cache_clear()
    yield
    pairs_module.equal_work.cache_clear()


def over(inline: Inline, pairs: Pairs) -> DistributedPairs:
    spread = DistributedPairs(pairs, ADDRESS)
    spread._cluster = lambda: inline  # type: ignore[method-assign,assignment,return-value]
    return spread


@st.composite
def passes(draw: st.DrawFn) -> tuple[Pairs, Partition, float, Inline, np.random.Generator]:
    n, d, k = draw(st.integers(2, 300)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = rng.normal(size=(n, d)) if draw(st.booleans()) else rng.integers(3, size=(n, d)).astype(float)
    # some clusters may stay empty
    labels = rng.choice(rng.permutation(k)[: draw(st.integers(1, k))], size=n)
    pairs = Pairs.from_points(points, manhattan=draw(st.booleans()))
    inline = Inline(draw(st.integers(1, 9)), draw(st.integers(0, 99)))
    return pairs, Partition(labels, k), draw(st.sampled_from([1e-3, 0.5, 7.0, 300.0])), inline, rng


@settings(max_examples=60, deadline=None)
@given(passes())
def test_every_pass_gives_the_bits_of_one_machine(case: Any) -> None:
    local, partition, t, inline, rng = case
    spread = over(inline, local)
    rows = rng.permutation(local.n)[: rng.integers(1, local.n + 1)]
    clusters = rng.integers(4, size=len(rows))
    for ask in (
        lambda pairs: pairs.symmetric_sums(partition, t),
        lambda pairs: pairs.cluster_sums(partition, t, rows),
        lambda pairs: pairs.sums_over(rows, clusters, 4, t),
        lambda pairs: pairs.limit_sums(partition),
        lambda pairs: [pairs.self_moments(partition, t, 0.1, 9)],
        lambda pairs: [np.array(closest_pair(pairs))],
    ):
        before = inline.tasks
        expected, found = ask(local), ask(spread)
        assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))
        assert inline.tasks > before
    assert spread.entries == local.entries
    # the points once, the labels once, and the columns of one `sums_over`
    assert [type(value) for value in inline.sent] == [BlockPairs, Columns, Columns]


def test_chunks_are_added_up_alike_however_many_are_met_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    pairs, partition = Pairs.from_points(rng.normal(size=(300, 2))), Partition(rng.integers(4, size=300), 4)
    at_once = pairs.symmetric_sums(partition, 1.0)
    # `equal_work` has the chunks of these rows ready
    monkeypatch.setattr(pairs_module, "_CHUNKS", 7)
    assert len(pairs_module.equal_work(300)) == 65
    assert np.array_equal(pairs.symmetric_sums(partition, 1.0), at_once)
    sums, slopes = pairs.cluster_sums(partition, 1.0, np.arange(300))
    np.testing.assert_allclose(at_once, [sums, slopes], rtol=1e-12)


@pytest.mark.parametrize("n", [2, 800, 9_000, 128_000, 400_000, 1_000_000, 10_000_000])
def test_many_rows_are_cut_into_chunks_for_many_machines(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_module, "_CHUNK", 300_000)
    pairs_module.equal_work.cache_clear()
    edges = np.array(pairs_module.equal_work(n))
    assert edges[0] == 0
    assert edges[-1] == n
    assert 1 <= len(edges) - 1 <= 256
    met = np.diff(n * edges - edges * (edges + 1) / 2)
    assert met.max() <= 1.01 * met.mean() + n
    assert (len(edges) - 1 > 64) == (n > 129_999)


def test_only_labels_of_a_new_partition_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    inline = Inline(3)
    spread = over(inline, Pairs.from_points(rng.normal(size=(200, 2))))
    first, second = (Partition(rng.integers(5, size=200), 5) for _ in range(2))
    for partition, t in ((first, 1.0), (first, 0.5), (second, 0.5)):
        spread.all_sums(partition, t)
        spread.cluster_sums(partition, t, np.arange(100))
    assert [type(value) for value in inline.sent] == [BlockPairs, Columns, Columns]
    # a byte for each label
    assert inline.sent[1].clusters.nbytes == 200


def test_a_worker_of_another_build_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    spread = over(Inline(2), Pairs.from_points(rng.normal(size=(50, 2))))
    partition = Partition(rng.integers(2, size=50), 2)
    _, numba, *rest = dask_cluster.build()
    with monkeypatch.context() as patch:
        patch.setattr(dask_cluster, "build", lambda: ("offgrid 0.0.9", numba, *rest))
        points = spread._points(Inline(2))
    with pytest.raises(ClusterError, match=r"differ \('offgrid 0.0.9' and 'offgrid .*install the same versions"):
        points.sums_of(Columns(partition.labels, 2), 1.0, range(3))
    with pytest.raises(ClusterError, match="in features of their processors"):
        dask_cluster.check_build((*dask_cluster.build()[:3], "+none"))


def test_nothing_is_distributed_without_a_scheduler_or_with_a_stored_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    pairs = Pairs.from_points(points)
    monkeypatch.delenv(dask_cluster.ENVIRONMENT, raising=False)
    assert distribute(pairs) is pairs
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, ADDRESS)
    stored = Pairs.from_points(points, held=SQUARE)
    assert distribute(stored) is stored
    for kernel in (RBF(), Laplacian()):
        bound = kernel.on(points).pairs
        assert isinstance(bound, DistributedPairs)
        assert bound.manhattan == isinstance(kernel, Laplacian)


def test_a_small_pass_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "WORTH", 10**9)
    rng = np.random.default_rng(4)
    inline = Inline(2)
    spread = over(inline, Pairs.from_points(rng.normal(size=(100, 2))))
    partition = Partition(rng.integers(2, size=100), 2)
    spread.all_sums(partition, 1.0)
    spread.cluster_sums(partition, 1.0, np.arange(10))
    spread.sums_over(np.arange(9), np.zeros(9, dtype=np.int64), 1, 1.0)
    spread.limit_sums(partition)
    spread.self_moments(partition, 1.0, 0.1, 5)
    closest_pair(spread)
    assert inline.tasks == 0


@pytest.mark.parametrize(
    "text", ["127.0.0.1:8786", "tcp://", "tcp://host", "http://host:80", "tcp://host:x", "tcp://[::1"]
)
def test_what_is_no_address_is_refused_in_one_sentence(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, text)
    with pytest.raises(ClusterError, match=r"^OFFGRID_DASK_SCHEDULER is '.*; give an address such as tcp://.*\.$"):
        RBF().on([[0.0], [1.0]])


def test_a_blank_address_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, "  ")
    assert dask_cluster.configured() is None


def test_dask_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"Dask is not installed here: run 'pip install \"offgrid\[dask\]\"'\.$"):
        dask_cluster.check(ADDRESS)


def test_the_command_line_names_a_scheduler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, ADDRESS)
    assert main(["search", "builtin:aggregation", "--dask", "10.0.0.5"]) == 3
    assert "OFFGRID_DASK_SCHEDULER is '10.0.0.5', which is no scheduler's address" in capsys.readouterr().err


def test_the_dashboard_asks_the_scheduler_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_environment({dask_cluster.ENVIRONMENT: ADDRESS}).dask_scheduler == ADDRESS
    with pytest.raises(ClusterError, match="which is no scheduler's address"):
        from_environment({dask_cluster.ENVIRONMENT: "10.0.0.5"})
    startup.check_cluster(Settings())
    with pytest.raises(InputError, match=r"^OFFGRID_DASK_SCHEDULER is 'nowhere', .* such as tcp://10.0.0.5:8786\.$"):
        startup.check_cluster(Settings(dask_scheduler="nowhere"))


def test_a_job_of_the_dashboard_uses_the_cluster_of_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(dask_cluster.ENVIRONMENT, "")
    monkeypatch.setattr(jobs, "execute", lambda *_arguments, **_options: None)
    monkeypatch.setattr(processes.os, "nice", lambda _by: 0)
    processes.carry_out("a run", Settings(data_dir=tmp_path, dask_scheduler=ADDRESS))
    assert dask_cluster.configured() == ADDRESS


def test_nothing_of_dask_is_imported_unless_it_is_used() -> None:
    code = (
        "import sys; from offgrid import RBF; RBF().on([[0.0], [1.0]]); "
        "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed', 'tornado')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
