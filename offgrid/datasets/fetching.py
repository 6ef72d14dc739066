"""Data sets from their public homes, each file checked against a SHA-256 that is written here.

Entry points: `SOURCES`, `fetch`, `fetched` (where a data set lies that was fetched before). Files are kept in
``$XDG_CACHE_HOME/offgrid/datasets``, by default ``~/.cache/offgrid/datasets``. A download that was cut off goes on
where it was; what does not have the checksum is thrown away; a data set is there whole or not at all.
"""

from __future__ import annotations

import gzip
import hashlib
import http
import http.client
import io
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from offgrid.datasets.archives import open_archive, unpack
from offgrid.datasets.limits import MB, Limits
from offgrid.datasets.model import listed
from offgrid.errors import InputError

_TIMEOUT = 30.0
_CHUNK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


class FetchError(Exception):
    """A data set that can't be fetched: the network, the server or the content; one sentence for people."""


@dataclass(frozen=True)
class Part:
    """One file to download.

    Attributes
    ----------
    url : str
    sha256 : str
        Of the file, or, where it is an archive and `member` names a file in it, of that one.
    member : str or None
    most_bytes : int
        Nothing larger is taken.
    """

    url: str
    sha256: str
    member: str | None = None
    most_bytes: int = 5 * MB


@dataclass(frozen=True)
class Source:
    """A data set that can be fetched: the file made of it, its parts, and how it is made of their contents."""

    title: str
    file: str
    parts: tuple[Part, ...]
    build: Callable[[Sequence[bytes]], bytes]


def _wifi(contents: Sequence[bytes]) -> bytes:
    """Return the signal strengths of seven access points, and the room, as CSV."""
    lines = contents[0].decode("ascii").split("\r\n")
    header = ",".join([*(f"ap{i}" for i in range(1, 8)), "label"])
    return "\n".join([header, *(line.replace("\t", ",") for line in lines if line), ""]).encode("ascii")


def _digits(contents: Sequence[bytes]) -> bytes:
    """Return the first 8,000 test digits of MNIST as an archive of NumPy: X (8000, 784) and y."""
    images, labels = (np.frombuffer(gzip.decompress(content), dtype=np.uint8) for content in contents)
    buffer = io.BytesIO()
    # the headers are 16 and 8 bytes long
    np.savez_compressed(buffer, X=images[16:].reshape(-1, 784)[:8000], y=labels[8:][:8000])
    return buffer.getvalue()


SOURCES: Mapping[str, Source] = {
    # the checksum was published by another package that reads this file, and a copy of the data in this form has it
    "wifi": Source(
        "Wireless indoor localisation",
        "wifi.csv",
        (
            Part(
                "https://archive.ics.uci.edu/static/public/422/wireless+indoor+localization.zip",
                "2ae62faa28071e47b875d6bb64175238574a8d1366d1b64ab355bc1c87220294",
                member="wifi_localization.txt",
            ),
        ),
        _wifi,
    ),
    # these checksums are published by many packages
    "mnist": Source(
        "MNIST, 8,000 test digits",
        "mnist_8k.npz",
        (
            Part(
                "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            Part(
                "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ),
        _digits,
    ),
}

# The paper's other sets, for which no checksum could be verified: where to find them.
HOMES: Mapping[str, str] = {
    "audit": "https://archive.ics.uci.edu/dataset/475/audit+data",
    "dermatology": "https://archive.ics.uci.edu/dataset/33/dermatology",
} | dict.fromkeys(
    ("aggregation", "compound", "d31", "flame", "jain", "pathbased", "r15", "spiral"),
    "http://cs.joensuu.fi/sipu/datasets/",
)


def cache_folder() -> Path:
    """Return the folder that fetched data sets are kept in; it need not exist."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # the standard says that a relative path is to be ignored
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return base / "offgrid" / "datasets"


def fetched(name: str) -> Path | None:
    """Return the file of a data set that was fetched before, None where it was not."""
    path = cache_folder() / SOURCES[name].file if name in SOURCES else None
    return path if path is not None and path.is_file() else None


def fetch(name: str, *, report: Callable[[int], None] | None = None) -> Path:
    """Fetch a data set, unless it was before, and return its file.

    Parameters
    ----------
    name : str
        One of `SOURCES`.
    report : callable, optional
        Called with the number of bytes of each piece that arrives.

    Raises
    ------
    InputError
        Where the name is not one of a data set that can be fetched.
    FetchError
        Where the network, the server, the content or the disk fails.
    """
    if name in HOMES:
        raise InputError(
            f"{name} can't be fetched: no checksum for it could be verified; download it from {HOMES[name]}."
        )
    if name not in SOURCES:
        raise InputError(f"There is no data set {name!r} to fetch: choose from {listed([*SOURCES])}.")
    there = fetched(name)
    if there is not None:
        return there
    source, folder = SOURCES[name], cache_folder()
    target = folder / source.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        downloads = [folder / f"{name}-{i}.part" for i in range(len(source.parts))]
        contents = [
            _content(part, path, report or (lambda _count: None))
            for part, path in zip(source.parts, downloads, strict=True)
        ]
        made = folder / f".{source.file}.{os.getpid()}"
        made.write_bytes(source.build(contents))
        made.replace(target)
        for path in downloads:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise FetchError(f"{str(folder)!r} can't be written: {error.strerror or error}.") from error
    return target


def _content(part: Part, path: Path, report: Callable[[int], None]) -> bytes:
    """Return the file that a part stands for, downloaded and checked."""
    _download(part, path, report)
    content = path.read_bytes()
    try:
        if part.member is not None:
            limits = Limits(file_bytes=part.most_bytes)
            archive = open_archive(content, part.url, limits)
            if part.member not in archive.namelist():
                raise InputError(f"{part.url} holds no {part.member}.")
            content = unpack(archive, part.member, part.url, limits)
    except InputError as error:
        path.unlink(missing_ok=True)
        raise FetchError(str(error)) from error
    found = hashlib.sha256(content).hexdigest()
    if found != part.sha256:
        path.unlink(missing_ok=True)
        raise FetchError(
            f"{part.url} is not the file that is expected: its SHA-256 is {found}, not {part.sha256}; nothing was kept."
        )
    return content


def _download(part: Part, path: Path, report: Callable[[int], None]) -> None:
    """Download to a file, from where an earlier download of it was cut off."""
    if not part.url.startswith(("https://", "http://")):
        raise FetchError(f"{part.url} is no address of the web.")
    begun = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "offgrid", **({"Range": f"bytes={begun}-"} if begun else {})}
    request = urllib.request.Request(part.url, headers=headers)  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - checked above
            goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            expected = answer.headers.get("Content-Length")
            size, received = (begun if goes_on else 0), 0
            with path.open("ab" if goes_on else "wb") as file:
                while piece := answer.read(_CHUNK):
                    size, received = size + len(piece), received + len(piece)
                    if size > part.most_bytes:
                        path.unlink()
                        raise FetchError(f"{part.url} sends more than {part.most_bytes // MB} MB: that can't be it.")
                    file.write(piece)
                    report(len(piece))
            if expected is not None and received < int(expected):
                raise http.client.IncompleteRead(b"", int(expected) - received)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == _RANGE_NOT_SATISFIABLE and begun:
                return  # all of it is here already
        raise FetchError(f"{part.url} can't be fetched: the server says {error.code} {error.reason}.") from error
    except (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or "the connection was cut off"
        raise FetchError(f"{part.url} can't be fetched: {reason}; the same command goes on from here.") from error
