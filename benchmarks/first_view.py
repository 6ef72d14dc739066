"""What a browser meets on a server that is running: seconds to a drawn path, bytes, requests, longest block.

``python -m benchmarks.first_view [ADDRESS]``, by default http://127.0.0.1:8050/; the address of a finished run will do.
Needs what `make test` installs.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROUNDS = 5
STEPS = 12  # selections, one after the other
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
WATCHING = """
window.drawn = new Promise((tell) => {
    const look = () => document.querySelector("#path-graph path.js-line")
        ? tell(performance.now()) : requestAnimationFrame(look);
    look();
});
window.blocks = [];
new PerformanceObserver((list) => window.blocks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({type: "longtask", buffered: true});
"""


@dataclass
class Traffic:
    """Requests that were answered, and the bytes that came over the wire."""

    sizes: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{sum(self.sizes) / 1e6:.2f} MB in {len(self.sizes)} requests"


@contextmanager
def traffic(page: Page) -> Iterator[Traffic]:
    """Count what the page is sent while the block runs."""
    session, seen = page.context.new_cdp_session(page), Traffic()

    def note(event: dict[str, Any]) -> None:
        seen.sizes.append(int(event["encodedDataLength"]))

    session.on("Network.loadingFinished", note)
    session.send("Network.enable")
    yield seen
    session.detach()


def seconds_to_path(page: Page, address: str) -> float:
    """Navigate, and return when the path was drawn, by the page's own clock."""
    page.goto(address, wait_until="commit")
    return float(page.evaluate("() => window.drawn")) / 1000


def settle(page: Page) -> None:
    """Wait until the clusterings are drawn and nothing is asked for."""
    page.locator(".pane .js-plotly-plot").first.wait_for()
    page.wait_for_load_state("networkidle")


def longest_block(page: Page) -> float:
    """Walk along the path with the arrow keys, and return the longest that the page was blocked, in milliseconds."""
    page.locator("#path-frame").press("Home")
    settle(page)
    page.evaluate("() => { window.blocks = []; }")
    for _ in range(STEPS):
        page.locator("#path-frame").press("ArrowRight")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    settle(page)
    return max(page.evaluate("() => window.blocks"), default=0.0)


def main() -> None:
    """Measure and print medians with the range."""
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8050/"
    fresh: list[float] = []
    again: list[float] = []
    sent: list[Traffic] = []
    blocks: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(ROUNDS):
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            context.add_init_script(WATCHING)
            page = context.new_page()
            page.set_default_timeout(120_000)
            for seconds in (fresh, again):
                with traffic(page) as seen:
                    seconds.append(seconds_to_path(page, address))
                    settle(page)
                sent.append(seen)
            blocks.append(longest_block(page))
            context.close()
        browser.close()
    for name, seconds, seen in (("fresh browser", fresh, sent[0]), ("reload", again, sent[1])):
        spread = f"median {statistics.median(seconds):.2f} s, {min(seconds):.2f} to {max(seconds):.2f} s"
        print(f"{name}: path drawn after {spread}; {seen}")
    print(f"longest block while selecting: median {statistics.median(blocks):.0f} ms, at most {max(blocks):.0f} ms")


if __name__ == "__main__":
    main()
