"""What the web server adds around the pages: whose browser it is, security headers, limits, health and metrics.

Entry points: `harden` and `warm`.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Sequence
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import RequestEntityTooLarge

from services import parsing, visitors
from services.context import Services
from services.disk import is_writable
from services.handles import server_secret
from services.headers import add_headers
from services.metrics import Metrics
from services.startup import is_ready
from services.visitors import UPDATE_PATH

LOCAL = ("127.0.0.1", "::1")

logger = logging.getLogger(__name__)


def harden(
    server: Flask,
    services: Services,
    script_hashes: Callable[[], Sequence[str]],
    too_large: Callable[[str], str],
) -> None:
    """Give the server its key, its limits, its headers and its pages for operators.

    Parameters
    ----------
    server : Flask
    services : Services
    script_hashes : callable
        Returns the hashes of the inline scripts; asked at each page, since Dash adds scripts until the first request.
    too_large : callable
        Makes, from a sentence, the answer to an update whose request is too large.
    """
    settings = services.settings
    server.secret_key = server_secret(settings)
    server.config["MAX_CONTENT_LENGTH"] = settings.max_request_bytes
    server.config["MAX_FORM_MEMORY_SIZE"] = settings.max_request_bytes
    visitors.recognise(server, prefix=settings.url_prefix, https=settings.https)

    @server.errorhandler(413)
    def refuse_large(error: RequestEntityTooLarge) -> Any:
        if not request.path.endswith(UPDATE_PATH):
            return error
        limit = f"{settings.max_upload_mb:g} MB"
        sentence = f"The file is larger than {limit}, the most that is taken; upload a smaller one."
        return Response(too_large(sentence), mimetype="application/json")

    add_headers(server, script_hashes, services.settings.frame_ancestors)

    _add_operation(server, services)


def _add_operation(server: Flask, services: Services) -> None:
    """Add ``/healthz``, ``/readyz`` and ``/metrics``, at the root and below the prefix."""
    metrics, prefix = Metrics(services), services.settings.url_prefix
    metrics.count(server, prefix)

    def answer_health() -> Any:
        return jsonify(status="ok")

    def answer_ready() -> Any:
        found = checks(services)
        ready = all(found.values())
        return jsonify(status="ready" if ready else "not ready", checks=found), 200 if ready else 503

    def answer_metrics() -> Any:
        return metrics.answer() if _may_read_metrics(services.settings.metrics_token) else abort(403)

    for name, answer in (("healthz", answer_health), ("readyz", answer_ready), ("metrics", answer_metrics)):
        for number, path in enumerate(sorted({f"/{name}", f"{prefix}{name}"})):
            server.add_url_rule(path, f"{name}{number}", answer)


def checks(services: Services) -> dict[str, bool]:
    """Return what has to hold for visitors to be served: the stores take writes, and the first page has a result."""
    found = {
        "disk": _holds(lambda: is_writable(services.settings.data_dir)),
        "runs": _holds(lambda: services.runs.census() is not None),
    }
    # Without a worker the first page says so: that is better than none.
    return found if services.workers is not None else {**found, "first page": _holds(lambda: is_ready(services))}


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        logger.exception("not ready")
        return False


def _may_read_metrics(token: str | None) -> bool:
    """Whether who asks has the token; without one in the settings, whether they ask directly from this machine."""
    if token:
        given = request.headers.get("Authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())
    forwarded = any(name in request.headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-IP"))
    return request.remote_addr in LOCAL and not forwarded


def warm(server: Flask, prefix: str = "/") -> None:
    """Load the first page once, in this process, before anybody else does.

    Dash registers its pages and the component libraries' files with the first request. A second request meanwhile gets
    a page without them: it stays blank, or complains of callbacks without components.
    """
    parsing.prepare()
    client = server.test_client()
    for path in ("", "_dash-layout", "_dash-dependencies"):
        client.get(f"{prefix}{path}")
