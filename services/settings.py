"""What can be set from outside, read from the environment in one place.

Entry points: `Settings` (frozen) and `from_environment`. Every variable is called ``OFFGRID_`` and the field's name in
capitals. A bad value raises `InputError` with one sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from offgrid.errors import InputError
from offgrid.memory import parse_bytes

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def default_data_dir() -> Path:
    """Return where runs, uploads and caches live when nothing is said: this user's data folder."""
    return user_data_path("off-the-grid", appauthor=False)


@dataclass(frozen=True)
class Settings:
    """Everything an operator decides.

    Attributes
    ----------
    host, port : str, int
        Where ``python app.py`` listens. Only this machine by default.
    data_dir : Path
        Folder for runs, uploads, caches and locks. May be shared by several processes of one machine.
    max_rows : int
        Largest table that is accepted; memory grows with its square.
    max_upload_mb : float
        Largest upload, in megabytes of the file itself.
    keep_uploads_days : int
        Uploads that nobody has used for so long are deleted when the server starts.
    slots : int
        Searches that run at once; further ones wait in a queue.
    threads : int or None
        Threads of one search; None for all processors.
    memory_limit : str or None
        Memory of one search for what grows with the square of the rows, such as ``1.5GiB``; None for that.
    secret_key : str or None
        Key for signed cookies and handles; None to keep a random one in `data_dir`.
    log_level : str
    frame_ancestors : str
        Pages that may show this one in a frame, as in a Content-Security-Policy; nobody's by default.
    """

    host: str = "127.0.0.1"
    port: int = 8050
    data_dir: Path = field(default_factory=default_data_dir)
    max_rows: int = 20_000
    max_upload_mb: float = 50.0
    keep_uploads_days: int = 30
    slots: int = 2
    threads: int | None = None
    memory_limit: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    log_level: str = "INFO"
    frame_ancestors: str = "'none'"

    @property
    def max_upload_bytes(self) -> int:
        """Largest uploaded file in bytes."""
        return int(self.max_upload_mb * 1_000_000)

    @property
    def max_request_bytes(self) -> int:
        """Largest request: an upload arrives as base64 inside JSON, 1.4 times its size, and some room for the rest."""
        return int(1.4 * self.max_upload_bytes) + 1_000_000

    def to_environment(self) -> dict[str, str]:
        """Return the variables that `from_environment` reads back as these settings, for a subprocess."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {f"OFFGRID_{name.upper()}": str(value) for name, value in values.items() if value is not None}


_FIELDS = tuple(field.name for field in fields(Settings))


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read `Settings` from ``OFFGRID_*`` variables; unset and blank ones keep their defaults.

    Raises
    ------
    InputError
        Where a value can't be used, naming the variable, the value and what is allowed.
    """
    given = {name: environ.get(f"OFFGRID_{name.upper()}", "").strip() for name in _FIELDS}
    readers: dict[str, Callable[[str], Any]] = {
        "host": str,
        "port": lambda text: _integer("OFFGRID_PORT", text, 1, 65_535),
        "data_dir": _folder,
        "max_rows": lambda text: _integer("OFFGRID_MAX_ROWS", text, 2, 1_000_000),
        "max_upload_mb": lambda text: _number("OFFGRID_MAX_UPLOAD_MB", text, 0.001, 2_000),
        "keep_uploads_days": lambda text: _integer("OFFGRID_KEEP_UPLOADS_DAYS", text, 1, 36_500),
        "slots": lambda text: _integer("OFFGRID_SLOTS", text, 1, 64),
        "threads": lambda text: _integer("OFFGRID_THREADS", text, 1, 1_024),
        "memory_limit": _size,
        "secret_key": str,
        "log_level": _log_level,
        "frame_ancestors": _sources,
    }
    return Settings(**{name: readers[name](text) for name, text in given.items() if text})


def _number(name: str, text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise InputError(f"{name} is {text!r}; it must be a number from {low:g} to {high:,g}.")
    return value


def _integer(name: str, text: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise InputError(f"{name} is {text!r}; it must be a whole number from {low} to {high:,}.")
    return int(text)


def _size(text: str) -> str:
    parse_bytes(text, "OFFGRID_MEMORY_LIMIT")
    return text


def _folder(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise InputError(f"OFFGRID_DATA_DIR is {text!r}, which is a file; give a folder.")
    return path


def _sources(text: str) -> str:
    if not text.isprintable() or set(text) & set(";,"):
        raise InputError(
            f"OFFGRID_FRAME_ANCESTORS is {text!r}; give origins with blanks between them, such as https://example.org."
        )
    return text


def _log_level(text: str) -> str:
    if text.upper() not in LOG_LEVELS:
        raise InputError(f"OFFGRID_LOG_LEVEL is {text!r}; it must be one of {', '.join(LOG_LEVELS)}.")
    return text.upper()


def prepare_data_dir(settings: Settings) -> None:
    """Make the data folder, readable by its owner only.

    Raises
    ------
    InputError
        Where the folder can't be made or written to.
    """
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        (settings.data_dir / ".writable").touch()
    except OSError as error:
        logging.getLogger(__name__).debug("no data folder", exc_info=error)
        raise InputError(
            f"OFFGRID_DATA_DIR is {str(settings.data_dir)!r}, which can't be written to ({error.strerror}); "
            "give a folder of your own."
        ) from error
