"""The dashboard on data in memory, as a script or a notebook opens it."""

from __future__ import annotations

import contextlib
import http.server
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, Server, kill_group, wait_for
from playwright.sync_api import Browser, expect

import offgrid
from offgrid.datasets import load
from offgrid.errors import InputError


def gone(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=10).close()
    except (urllib.error.URLError, OSError):
        return True
    return False


@contextlib.contextmanager
def notebook_page(content: str) -> Iterator[str]:
    """Serve one page at another origin of this machine, as a notebook's server does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!DOCTYPE html><title>Notebook</title>{content}".encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def test_a_notebook_shows_the_page_on_data_in_memory(browser: Browser) -> None:
    X, y = load("flame")
    names = np.array(["above", "below"])[y]
    with offgrid.explore(X, names, name="From memory", open_browser=False, max_steps=5, random_state=1) as opened:
        folder = opened._folder
        assert folder.exists()
        with notebook_page(opened._repr_html_()) as address:
            page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
            page.goto(address)
            frame = page.frame_locator("iframe")
            expect(frame.locator("#result-title")).to_have_text("From memory")
            expect(frame.locator("#result-note")).to_contain_text("240 rows, 2 columns, 2 classes, k = 2")
            expect(frame.locator("#summary")).to_contain_text("Recommended")
            expect(frame.locator("#path-note")).to_contain_text("6 values")
            expect(frame.locator("#seed")).to_have_value("1")
            expect(frame.locator(".pane .js-plotly-plot").first).to_be_visible()
            page.context.close()
    assert gone(opened.url)
    assert not folder.exists(), "a copy of the data is left"
    assert opened.closed
    assert "closed" in opened._repr_html_()


def test_nobody_else_may_frame_the_page(server: Server, browser: Browser) -> None:
    with notebook_page(f'<iframe src="{server.url}/"></iframe>') as address:
        page = browser.new_context().new_page()
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        page.goto(address)
        wait_for(lambda: bool(page.evaluate("1")) and any("frame-ancestors" in text for text in refused), "a refusal")
        page.context.close()


def test_it_ends_with_the_python_that_opened_it(tmp_path: Path) -> None:
    script = "import offgrid; page = offgrid.explore([[0, 1], [2, 3], [9, 9]], open_browser=False); print(page.url, page._folder, flush=True); page.wait()"  # noqa: E501
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    url, folder = process.stdout.readline().split()
    data = Path(folder) / "data"
    assert not gone(url)
    assert data.exists()
    kill_group(process.pid)  # without a word
    process.wait(30)
    process.stdout.close()
    wait_for(lambda: gone(url), "the dashboard to end")
    wait_for(lambda: not data.exists(), "its data to be deleted")


def test_a_setting_that_cannot_be_used_is_refused_and_nothing_stays_open() -> None:
    with pytest.raises(InputError, match=re.escape("There is no setting 'bandwidth': choose from n_clusters,")):
        offgrid.explore([[0, 1], [2, 3], [9, 9]], bandwidth=3)
    from offgrid import interactive

    assert not interactive._open
