"""Which runs are kept in Redis, and what is counted of all that ever were.

Entry points: `census` and `sweep`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from services.redis_rows import RunRows
from services.redis_state import ACTIVE, seen_since, state_of
from services.run_keeping import ENDS, SHOWN_LATELY, Census


def census(rows: RunRows) -> Census:
    """Return how the runs stand."""
    now, known, totals = rows.now(), rows.states(), rows.totals()
    shown: dict[str, str] = {run_id: name for run_id, (name, _) in known.items()}
    shown |= {row["id"]: state_of(row, now) for row in rows.active()}
    return Census(
        states=dict(Counter(shown.values())),
        size=sum(size for _, size in known.values()),
        ended={name: int(totals.get(name, 0)) for name in ENDS},
        seconds=totals.get("seconds", 0.0),
    )


def sweep(rows: RunRows, *, older_than: float, most: int, most_bytes: int, keep: Sequence[str]) -> int:
    """Delete what is too old, then the least recently used over the quotas; return how many went."""
    used, known, now = rows.used(), rows.states(), rows.now()
    count, size, gone = len(used), sum(size for _, size in known.values()), 0
    for run_id, time in used:
        if count <= most and size <= most_bytes and time >= now - older_than:
            break
        row, _ = rows.get(run_id)
        if row is None:
            rows.forget(run_id)
        elif row["state"] in ACTIVE or row["key"] in keep or seen_since(row, now - SHOWN_LATELY):
            continue
        elif rows.delete(row):
            gone += 1
        count, size = count - 1, size - known.get(run_id, ("", 0))[1]
    return gone
