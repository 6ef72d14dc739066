"""What the browser gets, and how."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from plotly.offline import get_plotlyjs_version
from werkzeug.test import TestResponse

from app import PLOTLY, PLOTLY_FILE, create_app
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


class Closing(FlaskClient):
    """Closes each answer once it is read, as a server does."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        answer = super().open(*args, buffered=True, **kwargs)
        answer.close()
        return answer


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("services.startup._start", lambda _settings: None)  # nobody needs the default search
        server = create_app(Settings(data_dir=tmp_path_factory.mktemp("data"))).server
        server.test_client_class = Closing
        yield server.test_client()


def test_a_file_is_compressed_for_those_who_take_it(client: FlaskClient) -> None:
    plain = client.get(PLOTLY)
    packed = client.get(PLOTLY, headers={"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data == PLOTLY_FILE.read_bytes()
    assert int(packed.headers["Content-Length"]) == len(packed.data) < len(plain.data) / 2
    assert "Accept-Encoding" in packed.headers["Vary"]


@pytest.mark.parametrize("address", ["/_dash-layout", "/", "/assets/20-tokens.css"])
def test_pages_and_answers_are_compressed_too(client: FlaskClient, address: str) -> None:
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(gzip.decompress(packed.data)) > len(packed.data)


def test_what_is_small_or_packed_already_is_left_alone(client: FlaskClient) -> None:
    for address in ("/healthz", "/assets/fonts/fira-sans-latin-400-normal.woff2"):
        assert "Content-Encoding" not in client.get(address, headers={"Accept-Encoding": "gzip"}).headers


@pytest.mark.parametrize(
    "address", ["/assets/20-tokens.css", "/_dash-component-suites/dash_ag_grid/async-community.js"]
)
def test_a_browser_that_has_the_file_is_told_so(client: FlaskClient, address: str) -> None:
    etag = client.get(address, headers={"Accept-Encoding": "gzip"}).headers["ETag"]
    again = client.get(address, headers={"Accept-Encoding": "gzip", "If-None-Match": etag})
    assert again.status_code == 304
    assert again.data == b""


def test_files_with_a_version_in_their_address_are_kept_for_good(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    addresses = re.findall(r'(?:src|href)="(/assets/[^"]*|/_dash-component-suites/[^"]*)"', page)
    assert len(addresses) > 15
    for address in addresses:
        kept = client.get(address).headers["Cache-Control"]
        assert "max-age=31536000" in kept, address
        assert "no-cache" not in kept, address
    assert "immutable" not in client.get("/assets/20-tokens.css").headers["Cache-Control"]


def test_the_bundle_of_plotly_is_of_the_installed_version_and_asked_for_once(client: FlaskClient) -> None:
    head = PLOTLY_FILE.read_bytes()[:300].decode()
    assert f"plotly.js {get_plotlyjs_version()}," in head, "make it anew: tools/plotly/README.md"
    page = client.get("/").get_data(as_text=True)
    assert page.count("plotly.min.js") == 1
    assert PLOTLY in page


def test_the_bundle_has_every_kind_of_trace_that_figures_draw() -> None:
    registered = set(
        re.findall(r"plotly\.js/(?:lib|src/traces)/(\w+)", (ROOT / "tools" / "plotly" / "entry.js").read_text())
    )
    as_dict = re.compile(r'"(scatter\w*|bar|heatmap\w*|sankey|box|violin|contour|histogram\w*)"')
    as_object = re.compile(r"\bgo\.(Scatter\w*|Bar|Heatmap|Sankey|Box|Violin)\b")
    modules = [module for name in ("figures", "layouts", "callbacks") for module in (ROOT / name).rglob("*.py")]
    text = "\n".join(module.read_text(encoding="utf-8") for module in modules)
    drawn = {name.lower() for name in (*as_dict.findall(text), *as_object.findall(text))}
    assert {"scattergl", "heatmap"} <= drawn
    assert drawn <= registered | {"scatter"}
