"""Who asks: a random id for each browser, in a signed cookie. There are no accounts.

Entry points: `recognise` (once, for the server), `current` and `require`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from flask import Flask, g, has_request_context, request, session

from offgrid.errors import InputError

SERVER = "server"  # who follows what the server does for itself
NOBODY = ""
KEPT = timedelta(days=365)
NAME = "visitor"
NO_COOKIE = (
    "Your browser has sent no cookie, so that this search could not be told from other people's; "
    "allow cookies for this site, then press Run search again."
)


def recognise(server: Flask, *, prefix: str, https: bool) -> None:
    """Give every browser its id with the first page, before any of the page's own requests."""
    server.config.update(
        SESSION_COOKIE_NAME="offgrid-visitor",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=https,
        SESSION_COOKIE_PATH=prefix,
        SESSION_REFRESH_EACH_REQUEST=False,
        PERMANENT_SESSION_LIFETIME=KEPT,
    )

    @server.before_request
    def greet() -> None:
        if "text/html" in request.headers.get("Accept", ""):
            current()


def current() -> str:
    """Return the id of the browser that asks; `NOBODY` outside of a request."""
    if not has_request_context():
        return NOBODY
    known = session.get(NAME)
    if not isinstance(known, str):
        known = session[NAME] = secrets.token_urlsafe(16)
        session.permanent = True
        g.new_visitor = True
    return known


def require() -> str:
    """Return the id of the browser that asks, where it will be the same next time.

    Raises
    ------
    InputError
        Where the browser sends no cookie: whatever was begun for it could never be found to be its own.
    """
    visitor = current()
    if g.get("new_visitor", False):
        raise InputError(NO_COOKIE)
    return visitor
