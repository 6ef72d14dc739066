"""How far a run of an experiment is, told to whoever asked for it.

Entry points: `Tell`, `quiet`.
"""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[float, str], None]


def quiet(_share: float, _doing: str) -> None:
    """Tell nobody: the first argument is the share of the run that is done, the second what comes next."""
