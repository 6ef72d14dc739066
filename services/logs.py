"""Logging: one format, to standard error, for every process.

Entry points: `set_up` (once for each process), `about_run` (says which run the lines are about) and `describe` (an
exception in one sentence for people; the trace goes to the log). Ids of runs and uploads open them, so that only their
first characters are logged; cookies, keys and what people upload never are.
"""

from __future__ import annotations

import contextvars
import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from offgrid.errors import InputError
from services.disk import FULL, is_full
from services.handles import short

FORMAT = "%(asctime)s %(levelname)-7s %(name)s [%(process)d] %(run_note)s%(message)s"

_run: contextvars.ContextVar[str] = contextvars.ContextVar("run", default="")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line."""
        values = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        run_id = getattr(record, "run", "")
        if run_id:
            values["run"] = run_id
        if record.exc_info:
            values["trace"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False)


class _OurHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Told apart from handlers of others."""


def set_up(level: str, form: str = "text") -> None:
    """Send records from `level` up to standard error. Calling it again changes level and format."""
    root = logging.getLogger()
    handler = next((one for one in root.handlers if isinstance(one, _OurHandler)), None)
    if handler is None:
        handler = _OurHandler(sys.stderr)
        handler.addFilter(_add_run)
        root.addHandler(handler)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(FORMAT))
    root.setLevel(level)
    # One line for each request says nothing here: a page that follows a search asks every second.
    for name in ("werkzeug", "dash.dash", "numba"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


@contextmanager
def about_run(run_id: str) -> Iterator[None]:
    """Have the lines logged within the block say which run they are about."""
    token = _run.set(short(run_id))
    try:
        yield
    finally:
        _run.reset(token)


def _add_run(record: logging.LogRecord) -> bool:
    run_id = _run.get()
    record.__dict__.update(run=run_id, run_note=f"run {run_id}: " if run_id else "")
    return True


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
    if is_full(error):
        return f"{doing} failed: {FULL}"
    if isinstance(error, MemoryError):
        return f"{doing} needs more memory than this machine has; use fewer rows."
    return f"{doing} failed ({type(error).__name__}). The log of the server says more."
