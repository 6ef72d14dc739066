"""How much memory a search may take, and what it does where that is little."""

from __future__ import annotations

import pytest
import reference

from offgrid import RBF, BandwidthSearch, InputError, memory
from offgrid.engine.layout import COMPUTED, SQUARE, TRIANGLE
from offgrid.metrics import neighbour_ranks
from offgrid.selection import recommend


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000000", 1_000_000), ("800MB", 800_000_000), ("800 mb", 800_000_000), ("1.5GiB", 3 << 29),
        ("2G", 2_000_000_000), ("512 KiB", 512 << 10), ("0", 0), ("1TB", 10**12),
    ],
)  # fmt: skip
def test_sizes(text, expected, monkeypatch):
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", text)
    assert memory.memory_limit() == expected
    assert memory.for_pairs() + memory.for_ranks() <= expected


@pytest.mark.parametrize("text", ["plenty", "-1", "1.5.2G", "GiB", "1 PB", "nan"])
def test_nonsense_is_one_sentence(text, monkeypatch):
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", text)
    with pytest.raises(InputError, match=r"^OFFGRID_MEMORY_LIMIT is .*; it must be a size such as 800MB"):
        memory.memory_limit()


def test_unset_and_blank_are_the_default(monkeypatch):
    monkeypatch.delenv("OFFGRID_MEMORY_LIMIT", raising=False)
    assert memory.memory_limit() == memory.DEFAULT
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", " ")
    assert memory.memory_limit() == memory.DEFAULT


def test_the_limit_decides_what_is_stored_and_ranked(monkeypatch):
    X, _ = reference.sample(0, 200, 20, 3)
    assert RBF().on(X).pairs.held == SQUARE
    assert neighbour_ranks(X).exact
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "400KB")
    assert RBF().on(X).pairs.held == TRIANGLE
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "60KB")
    assert RBF().on(X).pairs.held == COMPUTED
    ranks = neighbour_ranks(X)
    assert len(ranks.rows) == 20_000 // 400
    assert not ranks.exact


def test_little_memory_changes_no_partition(monkeypatch):
    X, _ = reference.sample(1, 150, 20, 3)
    plain = BandwidthSearch(3, random_state=0).fit(X).path_
    monkeypatch.setenv("OFFGRID_MEMORY_LIMIT", "30KB")
    frugal = BandwidthSearch(3, random_state=0).fit(X).path_
    assert [(r.sigma, r.below, r.labels.tolist()) for r in plain] == [
        (r.sigma, r.below, r.labels.tolist()) for r in frugal
    ]
    # c-NNC is an estimate then, and says how far to trust it
    assert all(record.cnnc_error == 0.0 for record in plain)
    assert all(record.cnnc_error > 0.0 for record in frugal)
    assert all(abs(a.cnnc - b.cnnc) < 6.0 * b.cnnc_error for a, b in zip(plain, frugal, strict=True))
    assert "± " in recommend(frugal).reason
    assert "±" not in recommend(plain).reason
