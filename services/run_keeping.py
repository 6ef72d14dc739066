"""Which runs are kept, and what is counted of all that ever were.

Entry points: `Census`, `census`, `note_end` and `sweep`, each within a transaction of the store of runs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.run_model import STALE_AFTER

SCHEMA = """
CREATE TABLE totals (
    name TEXT PRIMARY KEY,
    value REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""
SHOWN_LATELY = 600.0  # seconds after a page's last heartbeat in which its run stays
ENDS = ("finished", "cancelled", "failed")


@dataclass(frozen=True)
class Census:
    """How many runs there are now by state, how many bytes they take, and what has been counted since the beginning."""

    states: dict[str, int] = field(default_factory=dict)
    size: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def census(db: sqlite3.Connection, now: float) -> Census:
    """Return how the runs stand."""
    stale = f"state = 'running' AND NOT heartbeat BETWEEN :now - {STALE_AFTER} AND :now + 1"
    rows = db.execute(
        f"SELECT CASE WHEN {stale} THEN 'interrupted' ELSE state END AS shown, "  # noqa: S608 - our own text
        "count(*) AS runs, sum(size) AS bytes FROM runs GROUP BY shown",
        {"now": now},
    ).fetchall()
    totals = {row["name"]: row["value"] for row in db.execute("SELECT * FROM totals")}
    return Census(
        states={row["shown"]: int(row["runs"]) for row in rows},
        size=sum(int(row["bytes"]) for row in rows),
        ended={name: int(totals.get(name, 0)) for name in ENDS},
        seconds=float(totals.get("seconds", 0.0)),
    )


def note_end(db: sqlite3.Connection, state: str, seconds: float) -> None:
    """Count a run that has ended, and the seconds that its last process searched."""
    for name, amount in ((state if state in ENDS else "", 1.0), ("seconds", seconds)):
        if name and amount:
            db.execute(
                "INSERT INTO totals VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
                (name, amount),
            )


def sweep(
    db: sqlite3.Connection, *, older_than: float, most: int, most_bytes: int, keep: Sequence[str], now: float
) -> int:
    """Delete what is too old, then the least recently used over the quotas; return how many went."""
    shown = db.execute("SELECT DISTINCT run FROM followers WHERE seen BETWEEN ? AND ?", (now - SHOWN_LATELY, now))
    spared = {row["run"] for row in shown}
    rows = db.execute("SELECT id, key, state, used, size FROM runs ORDER BY used").fetchall()
    count, size = len(rows), sum(row["size"] for row in rows)
    oldest = time.time() - older_than
    gone = 0
    for row in rows:
        over = count > most or size > most_bytes
        if not over and row["used"] >= oldest:
            break
        if row["state"] in ("queued", "running") or row["id"] in spared or row["key"] in keep:
            continue
        db.execute("DELETE FROM runs WHERE id = ?", (row["id"],))
        count, size, gone = count - 1, size - row["size"], gone + 1
    return gone
