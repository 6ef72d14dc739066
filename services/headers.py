"""What every answer tells the browser to forbid: scripts, frames and requests that are not this application's.

Entry point: `add_headers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask import Flask, Response, request

POLICY = {  # of pages; the hashes of Dash's own inline scripts are added to script-src
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # plotly and Mantine write style attributes
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",
    "connect-src": "'self'",
    "media-src": "'none'",
    "frame-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # addresses name runs and uploads
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer", "microphone",
            "midi", "payment", "screen-wake-lock", "usb", "xr-spatial-tracking",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
}  # fmt: skip
NOBODY = "'none'"
HTTPS_KEPT = 31_536_000  # seconds: a year


def add_headers(server: Flask, script_hashes: Callable[[], Sequence[str]], frame_ancestors: str) -> None:
    """Send the headers with every answer of the server.

    Parameters
    ----------
    server : Flask
    script_hashes : callable
        Returns the hashes of the inline scripts; asked at each page, since Dash adds scripts until the first request.
    frame_ancestors : str
        Who may show the pages in a frame, in the policy's words.
    """
    framing = {"X-Frame-Options": "DENY"} if frame_ancestors == NOBODY else {}

    @server.after_request
    def add(response: Response) -> Response:
        if response.mimetype == "text/html":
            own = {"script-src": " ".join(["'self'", *script_hashes()]), "frame-ancestors": frame_ancestors}
            policy = {**POLICY, **own}
            response.headers["Content-Security-Policy"] = "; ".join(f"{name} {value}" for name, value in policy.items())
        for name, value in (ALWAYS | framing).items():
            response.headers.setdefault(name, value)
        if _is_https():
            response.headers.setdefault("Strict-Transport-Security", f"max-age={HTTPS_KEPT}")
        return response


def _is_https() -> bool:
    """Whether the browser came by HTTPS, here or at a proxy. A lie costs nothing: without it browsers ignore this."""
    return request.is_secure or request.headers.get("X-Forwarded-Proto", "").strip() == "https"
