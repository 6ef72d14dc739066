"""Seconds from navigation to a drawn path, in a fresh browser and on a reload, of a server that is running.

``python benchmarks/first_view.py [ADDRESS]`` (by default http://127.0.0.1:8050/). Needs what `make test` installs.
"""

from __future__ import annotations

import shutil
import statistics
import sys

from playwright.sync_api import Page, sync_playwright

ROUNDS = 5
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DRAWN = (
    "window.drawn = new Promise((tell) => { const look = () => document.querySelector('#path-graph path.js-line')"
    " ? tell(performance.now()) : requestAnimationFrame(look); look(); })"
)


def seconds_to_path(page: Page, address: str) -> float:
    """Navigate, and return when the path was drawn, by the page's own clock."""
    page.goto(address, wait_until="commit")
    return float(page.evaluate("window.drawn")) / 1000


def main() -> None:
    """Measure and print medians with the range."""
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8050/"
    fresh, again = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(ROUNDS):
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            context.add_init_script(DRAWN)
            page = context.new_page()
            fresh.append(seconds_to_path(page, address))
            page.locator(".pane .js-plotly-plot").first.wait_for()
            again.append(seconds_to_path(page, address))
            context.close()
        browser.close()
    for name, seconds in (("fresh browser", fresh), ("reload", again)):
        print(f"{name}: median {statistics.median(seconds):.2f} s, {min(seconds):.2f} to {max(seconds):.2f} s")


if __name__ == "__main__":
    main()
