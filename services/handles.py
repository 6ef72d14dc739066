"""Ids that stand in addresses: unguessable, and signed with the server's secret.

Entry points: `Handles` and `server_secret`. Whoever has an id may look at what it stands for, so it is a secret shared
by passing it on. A made-up or altered id is told apart by its signature before anything is looked up.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from filelock import FileLock
from itsdangerous import Signer

from services.settings import Settings

TOKEN_BYTES = 16  # 128 bits
SHOWN = 8  # characters of an id in a log: enough to find lines, too few to open anything
_SHAPE = re.compile(r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{27}")


class Handles:
    """Makes and recognises the ids of one kind.

    Parameters
    ----------
    kind : str
        An id of one kind is none of another.
    secret : callable
        Returns the server's secret; asked when it is first needed.
    """

    def __init__(self, kind: str, secret: Callable[[], str] = str) -> None:
        self._kind, self._secret = kind, secret
        self._made: Signer | None = None

    def new(self) -> str:
        """Return a new id, safe in an address and as a file's name."""
        return self._signer().sign(secrets.token_urlsafe(TOKEN_BYTES)).decode("ascii")

    def valid(self, handle: object) -> bool:
        """Whether this is an id that this server has given out."""
        return isinstance(handle, str) and bool(_SHAPE.fullmatch(handle)) and self._signer().validate(handle)

    def _signer(self) -> Signer:
        if self._made is None:
            self._made = Signer(self._secret(), salt=f"offgrid.{self._kind}", sep=".")
        return self._made


def short(handle: str) -> str:
    """Return the part of an id that may stand in a log."""
    return handle[:SHOWN]


def server_secret(settings: Settings) -> str:
    """Return the secret of the settings, or the one kept in the data folder, made by whichever process comes first."""
    if settings.secret_key:
        return settings.secret_key
    file = settings.data_dir / "secret-key"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        if not file.exists() or not file.read_text(encoding="ascii").strip():
            file.touch(mode=0o600)
            file.write_text(secrets.token_hex(32), encoding="ascii")
        return file.read_text(encoding="ascii").strip()
