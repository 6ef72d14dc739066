"""Take the pictures of docs/gallery.md anew, of a server that runs.

Call it as ``python tools/gallery.py http://127.0.0.1:8050``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
PATIENCE = 300_000  # milliseconds: some of the pictures need a search


@dataclass(frozen=True)
class Picture:
    """One picture: where it is taken, and what is done there first."""

    name: str
    address: str
    prepare: Callable[[Page], None]
    width: int = 1440
    height: int = 1000
    scheme: str = "light"


def searched(page: Page) -> None:
    """Run the search, unless the page shows a finished one."""
    if page.locator("#run-button").is_enabled() and not page.locator(".pane .js-plotly-plot").count():
        page.locator("#run-button").click()
    expect(page.locator("#summary")).to_contain_text("Recommended")
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()


def clusterings(page: Page) -> None:
    """Show the clusterings and the tab beneath them, below the page's header."""
    searched(page)
    page.wait_for_load_state("networkidle")
    title = page.get_by_role("heading", name="Clusterings")
    title.evaluate("title => window.scrollBy({top: title.getBoundingClientRect().top - 72, behavior: 'instant'})")


def drawn(page: Page) -> None:
    """Wait for figures, or for a table where the page has none."""
    expect(page.locator("main .main-svg, main table").first).to_be_visible()


PICTURES = (
    Picture("explore", "/", searched),
    Picture("flow-dark", "/?tab=flow", clusterings, scheme="dark"),
    Picture("digits-dark", "/?data=builtin:digits&k=10&max_steps=12", clusterings, scheme="dark"),
    Picture("profile", "/?data=builtin:wine&k=3&tab=profile", clusterings),
    Picture("learn", "/learn/critical?step=6", drawn),
    Picture("experiments", "/experiments", drawn),
)


def main(origin: str) -> None:
    """Take all pictures of the server at this origin."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for picture in PICTURES:
            page = browser.new_page(
                viewport={"width": picture.width, "height": picture.height},
                color_scheme=picture.scheme,  # type: ignore[arg-type]
                reduced_motion="reduce",
            )
            page.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            page.goto(origin + picture.address)
            picture.prepare(page)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=GALLERY / f"{picture.name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
