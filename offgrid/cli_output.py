"""What all commands share: exit statuses, the error that ends one, and where they print and write.

Entry points: `CommandError`, `complain`, `console`, `progress_line`, `write`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

OK, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 3, 130


class CommandError(Exception):
    """A command that can't be carried out; the message is for people."""

    def __init__(self, message: str, status: int = FAILURE) -> None:
        super().__init__(message)
        self.status = status


def complain(message: str, status: int) -> int:
    """Print a message on standard error, and return the status."""
    print(f"offgrid: {message}", file=sys.stderr)
    return status


def console() -> Console:
    """Return standard output; where it is no terminal, wide enough for every column, without colours."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False, soft_wrap=False)


def progress_line(*measures: ProgressColumn) -> Progress:
    """Return a line on standard error with words, `measures` and the time; where that is no terminal, nothing.

    It is gone when it is done.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *measures, TimeElapsedColumn())
    errors = Console(stderr=True)
    return Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)


def write(path: Path, text: str) -> None:
    """Write a file, or raise CommandError with the system's reason."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"{str(path)!r} can't be written: {error.strerror or error}.") from error
