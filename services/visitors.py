"""Who asks: a random id for each browser, in a signed cookie. There are no accounts.

Entry points: `recognise` (once, for the server), `welcome_as`, `current` and `require`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from flask import Flask, Request, current_app, g, has_request_context, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface
from itsdangerous import BadSignature

from offgrid.errors import InputError

SERVER = "server"  # who follows what the server does for itself
NOBODY = ""
KEPT = timedelta(days=365)
NAME = "visitor"
ONE_FOR_ALL = "OFFGRID_VISITOR"
UPDATE_PATH = "/_dash-update-component"
NO_COOKIE = (
    "Your browser has sent no cookie, so that this search could not be told from other people's; "
    "allow cookies for this site, then press Run search again."
)


class UndatedSessions(SecureCookieSessionInterface):
    """Sessions in signed cookies whose date does not count: the browser drops them when they are old.

    Flask takes a cookie from the future for a forged one. It need not be: the clock was set back since, or another
    server's is a little ahead. Its browser must not lose its searches by that.
    """

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Return what the cookie holds; nothing where it is not one of ours."""
        serializer, cookie = self.get_signing_serializer(app), request.cookies.get(self.get_cookie_name(app), "")
        try:
            return None if serializer is None else self.session_class(serializer.loads(cookie))
        except BadSignature:
            return self.session_class()


def recognise(server: Flask, *, prefix: str, https: bool) -> None:
    """Give every browser its id with its first page, or with an update where it has lost it meanwhile."""
    server.session_interface = UndatedSessions()
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
        asks = request.path.endswith(UPDATE_PATH) or "text/html" in request.headers.get("Accept", "")
        if asks and NAME not in session:
            session[NAME] = secrets.token_urlsafe(16)
            session.permanent = True
            g.new_visitor = True


def welcome_as(server: Flask, visitor: str) -> None:
    """Take everybody for one visitor, with cookies or without: for a server that has only one."""
    server.config[ONE_FOR_ALL] = visitor


def current() -> str:
    """Return the id of the browser that asks; `NOBODY` where none does."""
    if not has_request_context():
        return NOBODY
    return str(current_app.config.get(ONE_FOR_ALL) or session.get(NAME, NOBODY))


def require() -> str:
    """Return the id of the browser that asks, where it will be the same next time.

    Raises
    ------
    InputError
        Where the browser sends no cookie: whatever was begun for it could never be found to be its own.
    """
    visitor = current()
    if not visitor or (g.get("new_visitor", False) and not current_app.config.get(ONE_FOR_ALL)):
        raise InputError(NO_COOKIE)
    return visitor
