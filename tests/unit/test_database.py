"""What opening a file writes into it: nothing, so that what is kept can be read on a full disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from offgrid.comparison import Comparison
from services.comparisons import ComparisonStore
from services.database import Database
from services.disk import is_full

SCHEMA = "CREATE TABLE things (name TEXT);"


def test_opening_a_file_that_is_there_writes_nothing(tmp_path: Path) -> None:
    file, log = tmp_path / "things.sqlite3", tmp_path / "things.sqlite3-wal"
    with Database(file, SCHEMA).transaction() as db:
        db.execute("INSERT INTO things VALUES ('first')")
    before = log.read_bytes()
    assert before, "it has a log, since a connection is open"
    other = Database(file, SCHEMA).connection()
    assert [tuple(row) for row in other.execute("SELECT name FROM things")] == [("first",)]
    assert other.total_changes == 0
    assert log.read_bytes() == before


def test_a_file_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "things.sqlite3"
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        Database(file, SCHEMA + "INSERT INTO others VALUES (1);").connection()
    assert Database(file, SCHEMA).connection().execute("SELECT count(*) FROM things").fetchone()[0] == 0
    assert list(tmp_path.glob("*.older-*")) == []


def test_an_error_of_a_full_disk_is_known_by_its_kind(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "small.sqlite3")
    db.execute("CREATE TABLE things (name TEXT)")
    db.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        db.execute("INSERT INTO things VALUES (?)", ("x" * 100_000,))
    assert is_full(full.value)
    with pytest.raises(sqlite3.OperationalError) as other:
        db.execute("SELECT full FROM things")
    assert not is_full(other.value), "whatever its words are"


def full_disk(*_: object) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    raise error


def test_results_beside_the_path_that_cannot_be_opened_are_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, result = ComparisonStore(tmp_path), Comparison.failed("kmeans", "no reason")
    monkeypatch.setattr(Database, "_connect", full_disk)
    assert store.get("key") is None
    with pytest.raises(sqlite3.OperationalError):
        store.put("key", result)
