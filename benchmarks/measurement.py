"""What a measurement is, and what comes out of it.

Entry points: `Settings` (what was asked for), `Row` (one result), `Measurement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.timing import Spread

SEED = 0


def _silent(_message: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Settings:
    """What was asked for.

    Attributes
    ----------
    rounds : int
        How often each of the two sides is timed on one piece of work.
    full : bool
        Time all of the plain way, where otherwise a part is timed and the whole worked out from it.
    data : Path or None
        Folder with the paper's data; without it the package's own data stand in.
    peers : Path or None
        Folder for the environments of other packages; without it they are left out.
    progress : callable
        Is told what is going on.
    """

    rounds: int = 5
    full: bool = False
    data: Path | None = None
    peers: Path | None = None
    progress: Callable[[str], None] = _silent


@dataclass(frozen=True)
class Row:
    """One result: ours beside theirs, or ours alone.

    Attributes
    ----------
    label : str
        What was measured, and on what.
    ours, theirs : Spread or None
    unit : str
    against : str
        Who "theirs" is.
    target : float or None
        With `theirs` the ratio to reach at least; without, the value not to exceed.
    note : str
        What a reader has to know of it.
    details : dict
        Numbers for the JSON file only.
    skipped : str
        Why there is no result.
    """

    label: str
    ours: Spread | None = None
    theirs: Spread | None = None
    unit: str = "s"
    against: str = ""
    target: float | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    skipped: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times ours goes into theirs, median by median."""
        if self.ours is None or self.theirs is None:
            return None
        return self.theirs.median / self.ours.median

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self) | {"ratio": self.ratio}


@dataclass(frozen=True)
class Measurement:
    """A measurement by its name.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        What is compared, in one line.
    explanation : str
        The same in a few sentences, for someone who has not seen it before.
    run : callable
        Yields rows as they are measured.
    """

    name: str
    title: str
    explanation: str
    run: Callable[[Settings], Iterator[Row]]
