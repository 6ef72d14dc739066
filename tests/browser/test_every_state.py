"""A walk through every page, tab, state and export: looked at by axe, and kept as pictures.

axe finds nothing serious or critical at 390 and 1920 px, light and dark; the pictures, at 390, 1024 and 1920 px, are in
``test-artifacts/screens``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pages import ROOT, Open, Server, run_id, stored, wait_for
from playwright.sync_api import Download, FileChooser, Page, expect
from states import STATES, State, first_view

from services.runs import Run

axe_playwright = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
AXE = (Path(axe_playwright.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SCREENS = ROOT / "test-artifacts" / "screens"
WIDTHS = {390: 844, 1024: 900, 1920: 1080}
SCHEMES = ("light", "dark")
# Between them these have every arrangement and every colour.
EXAMINED = {(390, "light"), (1920, "light"), (1920, "dark")}
GRAVE = ("serious", "critical")
MOST_PAGES = 30
SETTLED = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const searching = document.getElementById("cancel")?.checkVisibility(); // never comes to rest
    const end = performance.now() + (searching ? 2000 : 20000);
    await document.fonts.ready;
    for (let calm = 0; calm < 5 && performance.now() < end; calm += 1) {
        await frame();
        const graphs = [...document.querySelectorAll(".dash-graph")].filter((graph) => graph.offsetParent);
        if (document.querySelector("[data-dash-is-loading]") || graphs.some((g) => !g.querySelector(".main-svg"))) {
            calm = -1;
        }
    }
    const ending = document.getAnimations().filter((a) => a.effect.getTiming().iterations !== Infinity);
    await Promise.allSettled(ending.map((a) => a.finished));
}"""
STICKING_OUT = """() => {
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= wide) {
        return [];
    }
    const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > wide + 0.5);
    return over.slice(0, 3).map((e) => `${e.tagName} ${e.id} ${e.getAttribute("class")}`);
}"""


def findings(page: Page) -> list[str]:
    """Return what axe finds serious or critical, each with the elements and what is wrong with them."""
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE)
    found = page.evaluate("() => window.axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def settle(page: Page) -> None:
    """Wait until no part of the page waits for the server, fonts are there, and what moves has come to rest."""
    page.evaluate(SETTLED)


def look(page: Page, name: str) -> list[str]:
    """Look at the page in every width and scheme; return what is wrong."""
    wrong = []
    SCREENS.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            where = f"{name} at {width} px, {scheme}"
            if (width, scheme) in EXAMINED:
                wrong += [f"{where}: {finding}" for finding in findings(page)]
            page.evaluate("() => window.scrollTo(0, 0)")  # what sticks to the top is drawn there
            page.screenshot(path=SCREENS / f"{name}-{width}-{scheme}.png", full_page=True)
            wrong += [f"{where}: {what} sticks out at the right" for what in page.evaluate(STICKING_OUT)]
    return wrong


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_every_state(open_page: Open, server: Server, state: State, request: pytest.FixtureRequest) -> None:
    page = state(open_page, server)
    wrong = look(page, request.node.callspec.id)
    if page.locator("#cancel").is_visible():
        page.locator("#cancel").click()  # a search that goes on would slow what comes after it
        expect(page.locator("#notice")).to_contain_text("cancelled")
    assert wrong == []


def test_every_tab(open_page: Open, server: Server) -> None:
    page = first_view(open_page, server)
    names = page.get_by_role("tab").all_inner_texts()
    assert "Table" in names
    wrong = []
    for name in names:
        page.set_viewport_size({"width": 1440, "height": 1000})
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        wrong += look(page, f"tab-{slug(name)}")
    assert wrong == []


def test_every_page(open_page: Open, server: Server) -> None:
    page = first_view(open_page, server)
    wrong, seen = [], {"/"}
    waiting = list(inner_addresses(page))
    while waiting and len(seen) < MOST_PAGES:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.add(address)
        page.goto(server.url + address)
        expect(page.locator("main h1").first).to_be_attached()
        page.wait_for_load_state("networkidle")
        wrong += look(page, f"page-{slug(address)}")
        page.set_viewport_size({"width": 1440, "height": 1000})
        waiting += inner_addresses(page)
    assert wrong == []


def inner_addresses(page: Page) -> Iterator[str]:
    """Yield the paths that the page's links lead to, on this server."""
    for link in page.locator("nav a[href], main a[href]").all():
        parts = urlsplit(link.get_attribute("href") or "")
        if not parts.netloc and parts.path.startswith("/") and not parts.path.startswith(("/assets", "/_dash")):
            yield parts.path


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "first"


def test_every_export(open_page: Open, server: Server, tmp_path: Path) -> None:
    page = first_view(open_page, server)
    page.locator("#path-frame").press("ArrowRight")  # a choice, which puts the run into the address
    run = stored(server, run_id(page))
    got: list[Download] = []
    page.on("download", lambda file: got.append(file))  # noqa: PLW0108 - Playwright marks what it is given
    menu = page.get_by_role("button", name="Export")
    menu.click()
    names = page.get_by_role("menuitem").all_inner_texts()
    assert len(names) >= 5
    menu.click()
    for name in names:
        expect(page.get_by_role("menu")).to_have_count(0)
        menu.click()
        seen, ending = len(got), f".{name.split()[-1].lower()}"
        page.get_by_role("menuitem", name=name, exact=True).click()

        def come(seen: int = seen, ending: str = ending) -> list[Download]:
            page.evaluate("1")  # lets the browser tell
            return [file for file in got[seen:] if file.suggested_filename.endswith(ending)]

        wait_for(lambda come=come: bool(come()), f"the file of {name!r}")  # type: ignore[misc]
        file = tmp_path / come()[0].suggested_filename
        come()[0].save_as(file)
        assert file.stat().st_size > 100, name
        check(file, run)


def check(file: Path, run: Run) -> None:
    """Check that a file of data holds the path that the store has, and the recommended clustering beside it."""
    values = len(run.path) + 1
    if file.name.endswith("path.csv"):
        assert len(file.read_text(encoding="utf-8").strip().splitlines()) == values + 1
    if file.suffix == ".json":
        assert len(json.loads(file.read_text(encoding="utf-8"))["records"]) == values


def test_the_keyboard_alone_loads_runs_selects_and_exports(open_page: Open, server: Server, tmp_path: Path) -> None:
    page = open_page()
    choosers: list[FileChooser] = []
    # Listened for from now on: a page that is busy hears of it only after the keys that follow.
    page.on("filechooser", lambda one: choosers.append(one))  # noqa: PLW0108 - Playwright marks what it is given
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{i % 7},{i * i % 11}" for i in range(40)), encoding="utf-8")
    tab_to(page, "button.upload-button")
    page.keyboard.press("Enter")
    wait_for(lambda: page.evaluate("true") and bool(choosers), "the file chooser")
    choosers[0].set_files(table)
    expect(page.locator("#upload-report")).to_contain_text("40 rows")
    tab_to(page, "#k")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    tab_to(page, "#run-button")
    page.keyboard.press("Enter")
    expect(page.locator("#result-title")).to_have_text("table.csv")
    expect(page.locator("#summary")).to_contain_text("Recommended")
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()
    tab_to(page, "#path-frame")
    page.keyboard.press("Home")
    expect(page.locator(".pane")).not_to_have_count(0)
    expect(page).to_have_url(re.compile("select="))
    tab_to(page, ".menu-button", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name=re.compile("lustering.* σ = .*, CSV"))).to_be_focused()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.startswith("table-k2-labels-sigma-")
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("row,a,b,cluster", 41)


def tab_to(page: Page, selector: str, *, backwards: bool = False) -> None:
    """Press Tab until an element has the focus, which must be seen."""
    for _ in range(120):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab never comes to {selector}")
