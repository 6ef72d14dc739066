"""What is known of a run, whatever store keeps it.

Entry points: `Run`, `RunState`, `Progress`, `Following`, and the exceptions `LostRun`, `StoreAway` and `too_many`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from offgrid.errors import InputError
from offgrid.path import BandwidthPath
from services.run_settings import RunSettings

RunState = Literal["queued", "running", "finished", "cancelled", "failed", "interrupted"]

STALE_AFTER = 5.0  # seconds without a heartbeat (one a second) after which a process counts as gone
SEEN_EVERY = 15.0  # seconds within which a second look of a page is not written down
MOST_TRIES = 3
TRIED = f"The search's process ended {MOST_TRIES} times in a row before it found another value."


class LostRun(Exception):
    """The run was claimed by another process meanwhile, or is gone; whoever gets this must stop writing to it."""


class StoreAway(InputError):
    """The store does not answer, or takes no more; the sentence is fit to be shown. What was kept is there later."""


@dataclass(frozen=True)
class Progress:
    """Where a search is: level of the hierarchy, bandwidth, and the share of the log-sigma range covered (0 to 1).

    After the search, `beside` says what is carried out beside it, in words, and `share` how much of that is done.
    """

    level: int
    n_levels: int
    sigma: float
    share: float
    beside: str = ""


@dataclass(frozen=True)
class Following:
    """How a visitor stands to a run: whether it is one of theirs, goes on without a page, and how many share it."""

    follows: bool = False
    pinned: bool = False
    others: int = 0


@dataclass(frozen=True)
class Run:
    """One run as it stands.

    Attributes
    ----------
    id : str
    version : str
        Changes when anything to be drawn of the run does; of the same moment as all the rest.
    key : str
        Hash of the data, the search settings and the version of the library.
    settings : RunSettings
    state : str
        "interrupted" is a run whose process stopped beating; it can be resumed from its last record.
    message : str
        Why it failed or ended, or what was repaired, in one sentence.
    created : float
        Seconds since the epoch.
    seconds : float
        Time spent searching, over all its processes.
    pid : int or None
        Process that claimed it last.
    place : int or None
        Place in the queue, from 1, while queued.
    cancelling : bool
        Cancel was asked for and is about to be noticed.
    progress : Progress or None
    lower_bound : float or None
        Theorem 1's bound; None where there is none, with the reason in `lower_bound_note`.
    path : BandwidthPath
        The records so far.
    """

    id: str
    version: str
    key: str
    settings: RunSettings
    state: RunState
    message: str
    created: float
    seconds: float
    pid: int | None
    place: int | None
    cancelling: bool
    progress: Progress | None
    lower_bound: float | None
    lower_bound_note: str
    path: BandwidthPath

    @property
    def active(self) -> bool:
        """Whether a process is at work on it, or about to be."""
        return self.state in ("queued", "running")


def too_many(most: int) -> InputError:
    """Return the refusal of one search more for a visitor who has `most` under way."""
    have = "1 search" if most == 1 else f"{most} searches"
    return InputError(
        f"You have {have} under way, as many as this server carries out for one visitor; "
        "cancel one, or wait until one has ended."
    )
