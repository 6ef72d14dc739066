"""What the web server adds around the pages: security headers, limits, health.

Entry points: `harden` and `warm`.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from filelock import FileLock
from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import RequestEntityTooLarge

from services import parsing
from services.context import Services
from services.headers import add_headers
from services.startup import is_ready

UPDATE_PATH = "/_dash-update-component"

logger = logging.getLogger(__name__)


def harden(
    server: Flask,
    services: Services,
    script_hashes: Callable[[], Sequence[str]],
    too_large: Callable[[str], str],
) -> None:
    """Give the server its key, its limits, its headers and its health pages.

    Parameters
    ----------
    server : Flask
    services : Services
    script_hashes : callable
        Returns the hashes of the inline scripts; asked at each page, since Dash adds scripts until the first request.
    too_large : callable
        Makes, from a sentence, the answer to an update whose request is too large.
    """
    server.secret_key = services.settings.secret_key or _kept_key(services)
    server.config["MAX_CONTENT_LENGTH"] = services.settings.max_request_bytes
    server.config["MAX_FORM_MEMORY_SIZE"] = services.settings.max_request_bytes
    server.config["SESSION_COOKIE_SAMESITE"] = "Lax"

    @server.errorhandler(413)
    def refuse_large(error: RequestEntityTooLarge) -> Any:
        if not request.path.endswith(UPDATE_PATH):
            return error
        limit = f"{services.settings.max_upload_mb:g} MB"
        sentence = f"The file is larger than {limit}, the most that is taken; upload a smaller one."
        return Response(too_large(sentence), mimetype="application/json")

    add_headers(server, script_hashes, services.settings.frame_ancestors)

    @server.get("/healthz")
    def answer_health() -> Any:
        return jsonify(status="ok")

    @server.get("/readyz")
    def answer_ready() -> Any:
        try:
            ready = is_ready(services)
        except Exception:
            logger.exception("not ready")
            ready = False
        return (jsonify(status="ready"), 200) if ready else (jsonify(status="not ready"), 503)


def warm(server: Flask) -> None:
    """Load the first page once, in this process, before anybody else does.

    Dash registers its pages and the component libraries' files with the first request. A second request meanwhile gets
    a page without them: it stays blank, or complains of callbacks without components.
    """
    parsing.prepare()
    client = server.test_client()
    for path in ("/", "/_dash-layout", "/_dash-dependencies"):
        client.get(path)


def _kept_key(services: Services) -> str:
    """Return the key kept in the data folder, made by whichever process comes first."""
    file = services.settings.data_dir / "secret-key"
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_hex(32), encoding="ascii")
        return file.read_text(encoding="ascii")
