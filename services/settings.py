"""What can be set from outside, read from the environment in one place.

Entry points: `Settings` (frozen) and `from_environment`. Every variable is called ``OFFGRID_`` and the field's name in
capitals. A bad value raises `InputError` with one sentence.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from offgrid.dask_cluster import parse_address
from offgrid.errors import InputError
from offgrid.memory import parse_bytes

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOG_FORMATS = ("text", "json")
SHORTEST_SECRET = 16  # characters

_Reader = Callable[[str, str], Any]  # from a variable and its text to the value


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
    uploads_mb, uploads_per_visitor_mb : float
        Room for all uploads, and for those of one visitor, as kept. Past a visitor's, their oldest ones go.
    keep_uploads_days, keep_runs_days : int
        Uploads and runs that nobody has used for so long are deleted.
    max_runs, runs_mb : int, float
        Most runs that are kept, and room for what they found. The least recently used go first.
    cache_mb : float
        Room for what is computed once for each data set.
    slots : int
        Searches that run at once; further ones wait in a queue.
    runs_per_visitor : int
        Searches that one visitor may have running or waiting.
    grace_seconds : int
        A search that no page has shown for so long is ended, unless it is pinned.
    threads : int or None
        Threads of one search; None for all processors.
    memory_limit : str or None
        Memory of one search for what grows with the square of the rows, such as ``1.5GiB``; None for that.
    dask_scheduler : str or None
        Address of a Dask scheduler whose workers share the largest searches; None for this machine alone.
    secret_key : str or None
        Key for signed cookies and ids; None to keep a random one in `data_dir`.
    redis_url : str or None
        Redis server that web servers and workers share; None to keep everything in `data_dir`, with no other server.
    url_prefix : str
        Path below which everything is served, from a slash to a slash.
    https : bool
        Whether people come by https: cookies are sent by it only then.
    metrics_token : str or None
        Who gives it as a bearer token may read ``/metrics``; None for direct requests from this machine only.
    log_level, log_format : str
    frame_ancestors : str
        Pages that may show this one in a frame, as in a Content-Security-Policy; nobody's by default.
    """

    host: str = "127.0.0.1"
    port: int = 8050
    data_dir: Path = field(default_factory=default_data_dir)
    max_rows: int = 20_000
    max_upload_mb: float = 50.0
    uploads_mb: float = 5_000.0
    uploads_per_visitor_mb: float = 500.0
    keep_uploads_days: int = 30
    keep_runs_days: int = 90
    max_runs: int = 10_000
    runs_mb: float = 2_000.0
    cache_mb: float = 2_000.0
    slots: int = 2
    runs_per_visitor: int = 3
    grace_seconds: int = 300
    threads: int | None = None
    memory_limit: str | None = None
    dask_scheduler: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    url_prefix: str = "/"
    https: bool = False
    metrics_token: str | None = field(default=None, repr=False)
    log_level: str = "INFO"
    log_format: str = "text"
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
        return {_variable(name): str(value) for name, value in values.items() if value is not None}


_FIELDS = tuple(field.name for field in fields(Settings))


def _variable(name: str) -> str:
    """Return the variable of a field."""
    return f"OFFGRID_{name.upper()}"


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read `Settings` from ``OFFGRID_*`` variables; unset and blank ones keep their defaults.

    Raises
    ------
    InputError
        Where a value can't be used, naming the variable, the value and what is allowed.
    """
    given = {name: environ.get(_variable(name), "").strip() for name in _FIELDS}
    settings = Settings(**{name: _READERS[name](_variable(name), text) for name, text in given.items() if text})
    if settings.uploads_per_visitor_mb > settings.uploads_mb:
        raise InputError(
            f"OFFGRID_UPLOADS_PER_VISITOR_MB is {settings.uploads_per_visitor_mb:g}, more than all uploads may take "
            f"together (OFFGRID_UPLOADS_MB is {settings.uploads_mb:g}); give less, or raise the other."
        )
    if settings.redis_url is not None and settings.secret_key is None:
        raise InputError("OFFGRID_REDIS_URL is set and OFFGRID_SECRET_KEY is not; give all servers of it the same key.")
    return settings


def _text(_variable: str, text: str) -> str:
    return text


def _number(low: float, high: float) -> _Reader:
    def read(variable: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise InputError(f"{variable} is {text!r}; it must be a number from {low:g} to {high:,g}.")
        return value

    return read


def _integer(low: int, high: int) -> _Reader:
    def read(variable: str, text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise InputError(f"{variable} is {text!r}; it must be a whole number from {low} to {high:,}.")
        return int(text)

    return read


def _one_of(allowed: tuple[str, ...]) -> _Reader:
    def read(variable: str, text: str) -> str:
        found = next((one for one in allowed if one.lower() == text.lower()), None)
        if found is None:
            raise InputError(f"{variable} is {text!r}; it must be one of {', '.join(allowed)}.")
        return found

    return read


def _size(variable: str, text: str) -> str:
    parse_bytes(text, variable)
    return text


def _scheduler(_variable: str, text: str) -> str:
    return parse_address(text)


def _folder(variable: str, text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise InputError(f"{variable} is {text!r}, which is a file; give a folder.")
    return path


def _secret(variable: str, text: str) -> str:
    if len(text) < SHORTEST_SECRET:
        allowed = f"give {SHORTEST_SECRET} or more, at random"
        raise InputError(f"{variable} has {len(text)} characters, which can be guessed; {allowed}.")
    return text


def _redis_url(variable: str, text: str) -> str:
    if not text.startswith(("redis://", "rediss://", "unix://")):
        kind = text.partition("://")[0][:20]  # not the whole of it, which may hold a password
        raise InputError(f"{variable} begins with {kind!r}; it must begin with redis://, rediss:// or unix://.")
    if importlib.util.find_spec("celery") is None or importlib.util.find_spec("redis") is None:
        raise InputError(f"{variable} needs packages that are missing; install requirements-redis.txt.")
    return text


def _prefix(variable: str, text: str) -> str:
    if not re.fullmatch(r"/([A-Za-z0-9._~-]+/)*", f"{text.rstrip('/')}/"):
        raise InputError(f"{variable} is {text!r}; it must be a path such as /offgrid/.")
    return f"{text.rstrip('/')}/"


def _yes_or_no(variable: str, text: str) -> bool:
    known = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
    if text.lower() not in known:
        raise InputError(f"{variable} is {text!r}; it must be 1 or 0.")
    return known[text.lower()]


def _sources(variable: str, text: str) -> str:
    if not text.isprintable() or set(text) & set(";,"):
        raise InputError(f"{variable} is {text!r}; give origins with blanks between them, such as https://example.org.")
    return text


_READERS: dict[str, _Reader] = {
    "host": _text,
    "port": _integer(1, 65_535),
    "data_dir": _folder,
    "max_rows": _integer(2, 1_000_000),
    "max_upload_mb": _number(0.001, 2_000),
    "uploads_mb": _number(1, 1_000_000),
    "uploads_per_visitor_mb": _number(1, 1_000_000),
    "keep_uploads_days": _integer(1, 36_500),
    "keep_runs_days": _integer(1, 36_500),
    "max_runs": _integer(10, 1_000_000),
    "runs_mb": _number(1, 1_000_000),
    "cache_mb": _number(1, 1_000_000),
    "runs_per_visitor": _integer(1, 1_000),
    "grace_seconds": _integer(5, 86_400),
    "slots": _integer(1, 64),
    "threads": _integer(1, 1_024),
    "memory_limit": _size,
    "dask_scheduler": _scheduler,
    "secret_key": _secret,
    "redis_url": _redis_url,
    "url_prefix": _prefix,
    "https": _yes_or_no,
    "metrics_token": _text,
    "log_level": _one_of(LOG_LEVELS),
    "log_format": _one_of(LOG_FORMATS),
    "frame_ancestors": _sources,
}


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
