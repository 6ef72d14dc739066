"""Logging: one format, to standard error, for every process.

Entry points: `set_up` (once for each process) and `describe` (an exception in one sentence for people; the trace goes
to the log).
"""

from __future__ import annotations

import logging
import sys

from offgrid.errors import InputError

FORMAT = "%(asctime)s %(levelname)-7s %(name)s [%(process)d] %(message)s"


def set_up(level: str) -> None:
    """Send records from `level` up to standard error. Calling it again only changes the level."""
    root = logging.getLogger()
    if not any(getattr(handler, "is_offgrid", False) for handler in root.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(FORMAT))
        handler.is_offgrid = True  # type: ignore[attr-defined]
        root.addHandler(handler)
    root.setLevel(level)
    # One line for each request says nothing here: a page that follows a search asks every second.
    for name in ("werkzeug", "dash.dash", "numba"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def describe(error: BaseException, doing: str) -> str:
    """Return `error` as one sentence fit to be shown, and log it.

    Parameters
    ----------
    error : BaseException
        An `InputError` is shown as it is; anything else only by its kind, with its trace in the log.
    doing : str
        What failed, to open the sentence: "The search", say.
    """
    logger = logging.getLogger(__name__)
    if isinstance(error, InputError):
        logger.info("%s refused: %s", doing, error)
        return str(error)
    logger.error("%s failed", doing, exc_info=error)
    if isinstance(error, MemoryError):
        return f"{doing} needs more memory than this machine has; use fewer rows."
    return f"{doing} failed ({type(error).__name__}). The log of the server says more."
