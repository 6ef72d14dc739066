"""The dashboard on data in memory keeps them on this machine, whatever servers the environment names."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

import offgrid
from services.context import Services
from services.settings import Settings


@pytest.fixture
def elsewhere() -> Iterator[socket.socket]:
    """A server that somebody has set up for others, and that answers nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def test_nothing_goes_to_the_servers_of_the_environment(
    elsewhere: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = elsewhere.getsockname()
    named = {
        "OFFGRID_REDIS_URL": f"redis://{host}:{port}/0",
        "OFFGRID_SECRET_KEY": "a secret that all servers share",
        "OFFGRID_DASK_SCHEDULER": f"tcp://{host}:{port}",
        "OFFGRID_URL_PREFIX": "/for-all/",
        "OFFGRID_DATA_DIR": str(tmp_path),
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    with offgrid.explore([[0, 1], [2, 3], [9, 9], [8, 9]], open_browser=False, n_clusters=2) as opened:
        assert requests.get(opened.url, timeout=60).status_code == 200
        run_id = parse_qs(urlsplit(opened.url).query)["run"][0]
        own = Services(Settings(data_dir=opened._folder / "data"))
        assert own.runs.get(run_id) is not None, "the search is in the session's own folder"
        with pytest.raises(BlockingIOError):  # nobody has connected
            elsewhere.accept()
    assert list(tmp_path.iterdir()) == []
