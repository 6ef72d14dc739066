"""Who follows which run: the visitors whose pages a run is carried out for.

Entry points: `SCHEMA` and the functions below, each within a transaction of the store of runs. Times are on the
store's clock.
"""

from __future__ import annotations

import sqlite3

from services.run_model import STALE_AFTER, Following, too_many

SCHEMA = """
CREATE TABLE followers (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    visitor TEXT NOT NULL,
    seen REAL NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, visitor)
) WITHOUT ROWID;
CREATE INDEX followers_by_visitor ON followers (visitor);
"""

UNDER_WAY = (
    "NOT runs.cancel AND (runs.state = 'queued' OR "
    f"runs.state = 'running' AND runs.heartbeat BETWEEN :now - {STALE_AFTER} AND :now)"
)


def add(db: sqlite3.Connection, run_id: str, visitor: str, now: float, most: int | None) -> None:
    """Let a visitor follow a run.

    Raises
    ------
    InputError
        Where `most` others that they follow are under way.
    """
    if most is not None:
        under_way = db.execute(
            "SELECT count(*) FROM followers JOIN runs ON runs.id = followers.run "  # noqa: S608 - our own text
            f"WHERE followers.visitor = :visitor AND runs.id != :run AND {UNDER_WAY}",
            {"visitor": visitor, "run": run_id, "now": now},
        ).fetchone()[0]
        if under_way >= most:
            raise too_many(most)
    db.execute(
        "INSERT INTO followers (run, visitor, seen) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen",
        (run_id, visitor, now),
    )


def remove(db: sqlite3.Connection, run_id: str, visitor: str) -> bool:
    """Let a visitor leave a run; True where they followed it and nobody does now."""
    left = db.execute("DELETE FROM followers WHERE run = ? AND visitor = ?", (run_id, visitor)).rowcount
    return bool(left) and not count(db, run_id)


def count(db: sqlite3.Connection, run_id: str) -> int:
    """Return how many visitors follow a run."""
    return int(db.execute("SELECT count(*) FROM followers WHERE run = ?", (run_id,)).fetchone()[0])


def standing(db: sqlite3.Connection, run_id: str, visitor: str) -> Following:
    """Return how a visitor stands to a run."""
    own = _own(db, run_id, visitor)
    others = count(db, run_id) - (own is not None)
    return Following(own is not None, own is not None and bool(own["pinned"]), others)


def is_due(db: sqlite3.Connection, run_id: str, visitor: str, now: float, every: float) -> bool:
    """Whether a look of this visitor is to be written down: the one before is `every` seconds ago."""
    own = _own(db, run_id, visitor)
    return own is not None and not 0 <= now - own["seen"] < every


def see(db: sqlite3.Connection, run_id: str, visitor: str, now: float) -> None:
    """Note that a visitor's page shows the run."""
    db.execute("UPDATE followers SET seen = ? WHERE run = ? AND visitor = ?", (now, run_id, visitor))


def pin(db: sqlite3.Connection, run_id: str, visitor: str, *, pinned: bool) -> None:
    """Note whether the run goes on for a visitor without a page."""
    db.execute("UPDATE followers SET pinned = ? WHERE run = ? AND visitor = ?", (pinned, run_id, visitor))


def unpin(db: sqlite3.Connection, run_id: str) -> None:
    """Drop the pins of a run that has ended: they have done what they were for."""
    db.execute("UPDATE followers SET pinned = 0 WHERE run = ?", (run_id,))


def abandoned(db: sqlite3.Connection, now: float, grace: float) -> list[str]:
    """Return the ids of runs under way that no page has shown for `grace` seconds and nobody has pinned.

    What was seen later than now was seen before the machine last started: it counts from now on.
    """
    db.execute("UPDATE followers SET seen = ? WHERE seen > ?", (now, now))
    rows = db.execute(
        f"SELECT id FROM runs WHERE {UNDER_WAY} AND NOT asked BETWEEN :since AND :now AND NOT EXISTS ("  # noqa: S608
        "SELECT 1 FROM followers WHERE followers.run = runs.id AND (pinned OR seen >= :since))",
        {"now": now, "since": now - grace},
    )
    return [str(row["id"]) for row in rows]


def _own(db: sqlite3.Connection, run_id: str, visitor: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT seen, pinned FROM followers WHERE run = ? AND visitor = ?", (run_id, visitor)
    ).fetchone()
    return row
