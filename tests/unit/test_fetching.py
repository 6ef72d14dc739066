"""Fetching data sets: from a local server, whole, cut off, wrong, and gone."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from offgrid import InputError, cli, datasets
from offgrid.datasets import fetching
from offgrid.datasets.fetching import FetchError, Part, Source, fetch, fetched
from offgrid.experiments import cases

CONTENT = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(5000))


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; cuts an answer off after `cut` bytes; knows ranges unless `whole` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: int | None = None
        self.whole = False
        self.asked: list[str | None] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.headers.get("Range"))
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        first = int(asked[1]) if asked and not self.server.whole else 0
        if first and first >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first:][: self.server.cut])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "offgrid" / "datasets"


@pytest.fixture
def table(server: Server, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A data set of one plain file on the local server."""
    server.files["table.csv"] = CONTENT
    part = Part(server.url("table.csv"), hashlib.sha256(CONTENT).hexdigest())
    source = Source("Table", "table.csv", (part,), lambda contents: contents[0])
    monkeypatch.setattr(fetching, "SOURCES", {"table": source})
    return source


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


class TestFetch:
    def test_file_arrives_once(self, table: Source, server: Server, cache: Path) -> None:
        pieces: list[int] = []
        assert fetched("table") is None
        path = fetch("table", report=pieces.append)
        assert path == fetched("table") == cache / "table.csv"
        assert path.read_bytes() == CONTENT
        assert sum(pieces) == len(CONTENT)
        assert names(cache) == ["table.csv"]
        assert fetch("table") == path
        assert server.asked == [None]

    def test_goes_on_where_it_was_cut_off(self, table: Source, server: Server, cache: Path) -> None:
        server.cut = 10_000
        with pytest.raises(FetchError, match=r"the connection was cut off; the same command goes on from here"):
            fetch("table")
        assert names(cache) == ["table-0.part"]
        assert fetched("table") is None
        server.cut = None
        pieces: list[int] = []
        assert fetch("table", report=pieces.append).read_bytes() == CONTENT
        assert server.asked == [None, "bytes=10000-"]
        assert sum(pieces) == len(CONTENT) - 10_000

    def test_server_that_knows_no_ranges(self, table: Source, server: Server) -> None:
        server.cut, server.whole = 10_000, True
        with pytest.raises(FetchError):
            fetch("table")
        server.cut = None
        assert fetch("table").read_bytes() == CONTENT

    def test_stopped_between_the_last_byte_and_the_end(self, table: Source, server: Server, cache: Path) -> None:
        cache.mkdir(parents=True)
        (cache / "table-0.part").write_bytes(CONTENT)
        assert fetch("table").read_bytes() == CONTENT
        assert server.asked == [f"bytes={len(CONTENT)}-"]

    def test_other_content_is_thrown_away(self, table: Source, server: Server, cache: Path) -> None:
        server.files["table.csv"] = CONTENT[:-1] + b"!"
        with pytest.raises(FetchError, match="is not the file that is expected: its SHA-256 is") as caught:
            fetch("table")
        assert table.parts[0].sha256 in str(caught.value)
        assert names(cache) == []
        server.files["table.csv"] = CONTENT
        assert fetch("table").read_bytes() == CONTENT

    def test_too_much_is_not_taken(self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        server.files["table.csv"] = CONTENT
        part = Part(server.url("table.csv"), "", most_bytes=1000)
        monkeypatch.setattr(fetching, "SOURCES", {"table": Source("", "table.csv", (part,), lambda c: c[0])})
        with pytest.raises(FetchError, match="sends more than"):
            fetch("table")
        assert names(cache) == []

    def test_file_that_is_gone(self, table: Source, server: Server, cache: Path) -> None:
        server.files.clear()
        with pytest.raises(FetchError, match="the server says 404"):
            fetch("table")
        assert names(cache) == []

    def test_no_server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Server() as stopped:
            url = stopped.url("table.csv")
        monkeypatch.setattr(fetching, "SOURCES", {"table": Source("", "t", (Part(url, ""),), lambda c: c[0])})
        with pytest.raises(FetchError, match=r"can't be fetched: .*refused"):
            fetch("table")

    def test_not_of_the_web(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "secret").write_text("x", encoding="utf-8")
        part = Part((tmp_path / "secret").as_uri(), "")
        monkeypatch.setattr(fetching, "SOURCES", {"table": Source("", "t", (part,), lambda c: c[0])})
        with pytest.raises(FetchError, match="is no address of the web"):
            fetch("table")

    def test_folder_that_cannot_be(self, table: Source, cache: Path) -> None:
        cache.parent.parent.mkdir(parents=True, exist_ok=True)
        cache.parent.write_text("", encoding="utf-8")
        with pytest.raises(FetchError, match="can't be written"):
            fetch("table")

    def test_names_that_are_not_fetched(self) -> None:
        with pytest.raises(InputError, match="There is no data set 'atlantis' to fetch: choose from wifi and mnist"):
            fetch("atlantis")
        with pytest.raises(InputError, match="no checksum for it could be verified; download it from https://archive"):
            fetch("audit")

    def test_relative_cache_is_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "here")
        assert fetching.cache_folder() == Path.home() / ".cache" / "offgrid" / "datasets"


class TestArchives:
    def archive(self, server: Server, monkeypatch: pytest.MonkeyPatch, member: str) -> None:
        raw = b"".join(b"-6%d\t-56\t-61\t-66\t-71\t-82\t-8%d\t%d\r\n" % (i, i * i % 7, 1 + i // 5) for i in range(10))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("rooms.txt", raw)
        server.files["rooms.zip"] = buffer.getvalue()
        part = Part(server.url("rooms.zip"), hashlib.sha256(raw).hexdigest(), member=member)
        monkeypatch.setattr(fetching, "SOURCES", {"wifi": Source("Wifi", "wifi.csv", (part,), fetching._wifi)})

    def test_wifi_becomes_a_table(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archive(server, monkeypatch, "rooms.txt")
        points = datasets.read_table(fetch("wifi")).prepare(scaling="none")
        assert points.X[3].tolist() == [-63, -56, -61, -66, -71, -82, -82]
        assert points.class_names == ("1", "2")

    def test_experiments_use_what_was_fetched(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archive(server, monkeypatch, "rooms.txt")
        cases.load_case.cache_clear()
        assert cases.load_case("wifi", None) is None
        fetch("wifi")
        cases.load_case.cache_clear()
        case = cases.load_case("wifi", None)
        assert (case.source, case.points.n, case.k) == ("wifi.csv", 10, 2)
        cases.load_case.cache_clear()

    def test_file_that_is_not_in_it(self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archive(server, monkeypatch, "other.txt")
        with pytest.raises(FetchError, match=r"holds no other.txt"):
            fetch("wifi")
        assert names(cache) == []

    def test_no_archive(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archive(server, monkeypatch, "rooms.txt")
        server.files["rooms.zip"] = b"<html>moved</html>"
        with pytest.raises(FetchError, match="is damaged"):
            fetch("wifi")

    def test_digits(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        images = np.arange(3 * 784, dtype=np.uint64).astype(np.uint8)
        raw = (b"h" * 16 + images.tobytes(), b"h" * 8 + bytes([7, 2, 1]))
        parts = []
        for name, content in zip(("images.gz", "labels.gz"), raw, strict=True):
            server.files[name] = gzip.compress(content)
            parts.append(Part(server.url(name), hashlib.sha256(server.files[name]).hexdigest()))
        source = Source("MNIST", "mnist_8k.npz", tuple(parts), fetching._digits)
        monkeypatch.setattr(fetching, "SOURCES", {"mnist": source})
        with np.load(fetch("mnist")) as archive:
            assert np.array_equal(archive["X"], images.reshape(3, 784))
            assert archive["y"].tolist() == [7, 2, 1]


def test_every_source_is_pinned() -> None:
    for source in fetching.SOURCES.values():
        for part in source.parts:
            assert part.url.startswith("https://")
            assert re.fullmatch(r"[0-9a-f]{64}", part.sha256)
    assert not set(fetching.SOURCES) & set(fetching.HOMES)


class TestCommand:
    def test_prints_the_file(self, table: Source, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["datasets", "fetch", "table"]) == 0
        assert capsys.readouterr().out == f"{cache / 'table.csv'}\n"
        assert cli.main(["datasets", "fetch", "table", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"name": "table", "file": str(cache / "table.csv")}

    @pytest.mark.parametrize(("name", "status"), [("atlantis", 3), ("flame", 3), ("table", 1)])
    def test_failure_is_one_sentence(
        self, name: str, status: int, table: Source, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.files.clear()
        assert cli.main(["datasets", "fetch", name]) == status
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("offgrid: ")
        assert captured.err.count("\n") == 1
