"""How files reach the browser: compressed, and kept there for as long as they are the same.

Entry point: `deliver_well`. Memory: the compressed form of each file that was asked for, some 2 MB for each process.
"""

from __future__ import annotations

import gzip
import hashlib

from flask import Flask, Response, request

KEPT = 31_536_000  # seconds, a year: an address that names a version never changes its content
SMALLEST = 1_000  # bytes; less than that is not worth compressing
TEXTS = frozenset(
    ("text/html", "text/css", "text/javascript", "application/javascript", "application/json", "image/svg+xml")
)
STATIC = ("/assets/", "/_dash-component-suites/")

_packed: dict[bytes, bytes] = {}


def deliver_well(server: Flask, prefix: str = "/") -> None:
    """Compress what is text for browsers that take gzip, and have them keep files whose address names a version."""
    root = prefix.rstrip("/")
    assets, static = f"{root}/assets/", tuple(f"{root}{path}" for path in STATIC)

    @server.after_request
    def pack(response: Response) -> Response:
        if request.path.startswith(assets) and request.args.keys() & {"m", "v"} and response.status_code == 200:
            response.cache_control.no_cache = None
            response.cache_control.public = True
            response.cache_control.max_age = KEPT
            response.cache_control.immutable = True
        if not _worth_packing(response):
            return response
        response.direct_passthrough = False
        content = response.get_data()
        if len(content) >= SMALLEST:
            fixed = request.path.startswith(static)
            response.set_data(_packed_file(content) if fixed else gzip.compress(content, 1, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
            etag, _ = response.get_etag()
            if etag is not None:
                response.set_etag(etag, weak=True)  # the bytes differ, the content does not
                response.make_conditional(request)
        response.vary.add("Accept-Encoding")
        return response


def _worth_packing(response: Response) -> bool:
    return (
        request.method in ("GET", "POST")
        and response.status_code == 200
        and response.mimetype in TEXTS
        and "Content-Encoding" not in response.headers
        and request.accept_encodings["gzip"] > 0
    )


def _packed_file(content: bytes) -> bytes:
    """Return a file's compressed form, made once: there are only so many files."""
    key = hashlib.blake2b(content).digest()
    found = _packed.get(key)
    if found is None:
        found = _packed[key] = gzip.compress(content, 6, mtime=0)
    return found
