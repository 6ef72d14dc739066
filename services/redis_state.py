"""What a run is in Redis, apart from its records, and what happens to it: plain values, changed in place.

Entry points: `Row`, `new_row`, `state_of`, `is_stale`, and the functions below. Rules are those of `services.run_rows`
and `services.followers`, which keep the same in SQLite. Times are on the store's clock.
"""

from __future__ import annotations

from typing import Any

from services.run_keeping import ENDS
from services.run_model import MOST_TRIES, STALE_AFTER, TRIED, Following, Progress, RunState

Row = dict[str, Any]

ACTIVE = ("queued", "running")
LASTING = (*ACTIVE, "finished")  # states of a run that is joined by whoever asks for it again
MOST_FOLLOWERS = 500  # the ones seen last; a run that is shared for months must not grow


def new_row(run_id: str, key: str, now: float, queued: float) -> Row:
    """Return a run that was just asked for."""
    return {
        "id": run_id,
        "key": key,
        "settings": {},
        "state": "queued",
        "message": "",
        "created": now,
        "asked": now,
        "queued": queued,
        "started": None,
        "heartbeat": now,
        "worked": 0.0,
        "pid": None,
        "owner": None,
        "closed_by": None,
        "tries": 0,
        "cancel": False,
        "progress": None,
        "lower_bound": None,
        "lower_bound_note": "",
        "ends": "[]",
        "n_records": 0,
        "size": 0,
        "mark": "",
        "epoch": 0,
        "followers": {},
    }


def is_stale(row: Row, now: float) -> bool:
    """Whether the process that claimed the run is gone. A heartbeat from the future was before the clock was set."""
    return not -1 <= now - row["heartbeat"] <= STALE_AFTER


def state_of(row: Row, now: float) -> RunState:
    """Return the state: one that runs without a heartbeat is interrupted, or cancelled where that was asked for.

    A queued run needs no process.
    """
    if row["state"] == "running" and is_stale(row, now):
        return "cancelled" if row["cancel"] else "interrupted"
    state: RunState = row["state"]
    return state


def searched_until(row: Row, time: float) -> float:
    """Return how long the run's process has searched: no less than nothing, where the clock was set back since."""
    return 0.0 if row["started"] is None else max(time - row["started"], 0.0)


def is_free(row: Row, now: float) -> bool:
    """Whether a queued run is no living process's."""
    return row["state"] == "queued" and (row["owner"] is None or is_stale(row, now))


def reopen(row: Row, now: float, queued: float) -> None:
    """Queue again; time between the last slot and the last heartbeat was spent searching, so it counts."""
    searched = searched_until(row, row["heartbeat"])
    row.update(state="queued", message="", asked=now, queued=queued, cancel=False, owner=None, closed_by=None, pid=None)
    row.update(worked=row["worked"] + searched, started=None, heartbeat=now, tries=0)


def beat(row: Row, now: float, progress: Progress | None) -> bool:
    """Note a heartbeat; True where cancel was asked for."""
    row["heartbeat"] = now
    if progress is not None:
        row["progress"] = vars(progress)
    return bool(row["cancel"])


def cancel(row: Row, now: float, message: str) -> None:
    """Ask the run's process to stop; without one it is cancelled at once."""
    if row["state"] not in (*ACTIVE, "interrupted"):
        return
    if row["owner"] is not None and not is_stale(row, now):
        row.update(cancel=True, message=message)
    else:
        end(row, row["heartbeat"], "cancelled", message)


def end(row: Row, until: float, state: str, message: str, ends: str | None = None) -> None:
    """Close the run, whose process searched until then."""
    if row["cancel"] and state == "queued":
        state = "cancelled"
    if row["cancel"] and state == "cancelled":
        message = row["message"]
    searched = searched_until(row, until)
    row.update(state=state, message=message, worked=row["worked"] + searched, started=None)
    row.update(owner=None, pid=None, cancel=False, ends=row["ends"] if ends is None else ends)
    if state != "queued":
        for follower in row["followers"].values():
            follower["pinned"] = False


def take_over(row: Row, now: float) -> bool:
    """Queue a run again, in its old place, whose process is gone; False where it ends here."""
    tries, queued = row["tries"] + 1, row["queued"]
    if row["cancel"] or tries == MOST_TRIES:
        state, message = ("cancelled", "") if row["cancel"] else ("failed", TRIED)
        end(row, row["heartbeat"], state, message)
        row["tries"] = 0
        return False
    reopen(row, now, queued)
    row["tries"] = tries
    return True


def counted(before: Row, after: Row) -> dict[str, float]:
    """Return what a change adds to the totals: runs that have ended, and seconds spent searching."""
    totals = {"seconds": after["worked"] - before["worked"]}
    if after["state"] != before["state"] and after["state"] in ENDS:
        totals[after["state"]] = 1.0
    return {name: amount for name, amount in totals.items() if amount}


# Followers -----------------------------------------------------------------------------------------------------------


def follow(row: Row, visitor: str, now: float) -> None:
    """Let a visitor follow the run."""
    followers = row["followers"]
    followers[visitor] = {"seen": now, "pinned": followers.get(visitor, {}).get("pinned", False)}
    while len(followers) > MOST_FOLLOWERS:
        del followers[min(followers, key=lambda one: followers[one]["seen"])]


def leave(row: Row, visitor: str) -> bool:
    """Let a visitor leave the run; True where they followed it and nobody does now."""
    return row["followers"].pop(visitor, None) is not None and not row["followers"]


def standing(row: Row, visitor: str) -> Following:
    """Return how a visitor stands to the run."""
    own = row["followers"].get(visitor)
    return Following(own is not None, own is not None and own["pinned"], len(row["followers"]) - (own is not None))


def see(row: Row, visitor: str, now: float) -> None:
    """Note that a visitor's page shows the run."""
    if visitor in row["followers"]:
        row["followers"][visitor]["seen"] = now


def pin(row: Row, visitor: str, *, pinned: bool) -> None:
    """Note whether the run goes on for a visitor without a page."""
    if visitor in row["followers"]:
        row["followers"][visitor]["pinned"] = pinned


def is_due(row: Row, visitor: str, now: float, every: float) -> bool:
    """Whether a look of this visitor is to be written down: the one before is a while ago."""
    own = row["followers"].get(visitor)
    return own is not None and now - own["seen"] >= every


def seen_since(row: Row, time: float) -> bool:
    """Whether a page has shown the run since then."""
    return any(follower["seen"] >= time for follower in row["followers"].values())


def is_abandoned(row: Row, now: float, grace: float) -> bool:
    """Whether the run is under way though no page has shown it for `grace` seconds, and nobody has pinned it."""
    if row["state"] not in ACTIVE or row["cancel"] or any(one["pinned"] for one in row["followers"].values()):
        return False
    return not now - grace <= row["asked"] <= now and not seen_since(row, now - grace)


def seen_no_later(row: Row, now: float) -> None:
    """Count what was seen in the future, before the clock was set, as seen now."""
    for follower in row["followers"].values():
        follower["seen"] = min(follower["seen"], now)


def is_under_way_for(row: Row, visitor: str, now: float) -> bool:
    """Whether the run counts against what one visitor may have."""
    return visitor in row["followers"] and state_of(row, now) in ACTIVE and not row["cancel"]
