"""Every state that the pages can be in, each reached as a person or the server would reach it.

Pages, tabs and what is beneath them are read from the page itself, so that new ones need no line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pages import Open, Server, await_values, press_run
from playwright.sync_api import Page, expect

from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings

LONG = "a name that somebody has given to a column without ever thinking of whoever has to read it on a telephone"
# Longer than anybody watches: every point moves at some value, and bisection halves its way to each.
ENDLESS = "/?data=builtin:d31&k=31&method=bisection&seed="
MESSY = (
    f"Kunde;{LONG};Umsatz;Höhe;konstant\n"
    + "\n".join(
        f"Kunde {i};{'' if i % 9 == 0 else f'{i * 7 % 13},{i % 10}'};{i % 5},25;{i * i % 17},5;1" for i in range(1, 60)
    )
    + "\nKunde 59;7,9;4,25;12,5;1\n"
).encode()
LOST = RunSettings(DataSpec("builtin:iris"), SearchSettings(3, seed=99))

State = Callable[[Open, Server], Page]


def send(page: Page, name: str, content: bytes) -> None:
    page.locator("#upload input[type=file]").set_input_files({"name": name, "mimeType": "", "buffer": content})


def first_view(open_page: Open, server: Server) -> Page:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()
    return page


def nothing_searched(open_page: Open, server: Server) -> Page:
    page = open_page("/?data=builtin:spiral&k=3&seed=98", wait=False)
    expect(page.locator("#run-button")).to_be_enabled()
    return page


def running(open_page: Open, server: Server, seed: int = 77) -> Page:
    page = open_page(f"{ENDLESS}{seed}")
    press_run(page)
    await_values(page, 1)
    return page


def cancelled(open_page: Open, server: Server) -> Page:
    page = running(open_page, server, seed=78)  # none but who started a search may cancel it
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text("cancelled")
    return page


def made(server: Server, seed: int) -> tuple[str, str]:
    """Return the id of a run that a process of ours has claimed, and its ticket."""
    asked = replace(LOST, search=replace(LOST.search, seed=seed))
    run = server.runs.create(asked, f"state-{seed}")
    return run, str(server.runs.claim(run))


def queued(open_page: Open, server: Server) -> Page:
    run, _ = made(server, 100)
    page = open_page(f"/?data=builtin:iris&k=3&seed=100&run={run}", wait=False)
    expect(page.locator("#notice")).to_be_visible()
    return page


def failed(open_page: Open, server: Server) -> Page:
    run, owner = made(server, 101)
    server.runs.start(run, owner)
    server.runs.fail(run, owner, "The search needs more memory than this machine has; use fewer rows.")
    page = open_page(f"/?data=builtin:iris&k=3&seed=101&run={run}", wait=False)
    expect(page.locator("#notice")).to_contain_text("more memory")
    return page


def interrupted(open_page: Open, server: Server) -> Page:
    run, owner = made(server, 102)
    server.runs.start(run, owner)
    server.runs.stop(run, owner, "interrupted", "The server was stopped during the search.")
    page = open_page(f"/?data=builtin:iris&k=3&seed=102&run={run}", wait=False)
    expect(page.locator("#notice")).to_contain_text("Interrupted")
    return page


def run_gone(open_page: Open, server: Server) -> Page:
    page = open_page("/?run=AAAAAAAAAAAA")
    expect(page.locator("#notice")).to_contain_text("not kept any more")
    return page


def uploaded(open_page: Open, server: Server) -> Page:
    page = open_page()
    send(page, f"{LONG}.csv", MESSY)
    expect(page.locator("#upload-report")).to_contain_text("missing")
    expect(page.locator("#preview tbody tr").first).to_be_attached()
    open_settings(page)
    return page


def refused(open_page: Open, server: Server) -> Page:
    page = open_page()
    send(page, "words.csv", b"name,colour\nann,red\nbob,blue\n")
    expect(page.locator("#upload-report .report-error")).to_be_attached()
    open_settings(page)
    return page


def open_settings(page: Page) -> None:
    if page.locator("#settings-open").is_visible():
        page.locator("#settings-open").click()


def images(open_page: Open, server: Server) -> Page:
    page = open_page("/?data=builtin:digits&k=10&max_steps=2")
    press_run(page)
    expect(page.locator("#summary")).to_contain_text("Recommended", timeout=180_000)
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()
    return page


def many_clusters(open_page: Open, server: Server) -> Page:
    page = open_page("/?data=builtin:d31&k=31&max_steps=3")
    press_run(page)
    expect(page.locator("#summary")).to_contain_text("Recommended", timeout=180_000)
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()
    return page


def many_points(open_page: Open, server: Server) -> Page:
    """More than SVG is fit for: WebGL draws them, which some policies of a page's content forbid."""
    page = open_page("/?data=builtin:iris&k=3&max_steps=2")
    rows = (f"{i % 3 * 9 + i * 0.618 % 1:.4f},{i % 3 * 4 + i * 0.414 % 1:.4f}" for i in range(6_000))
    send(page, "many.csv", "\n".join(["wide,high", *rows]).encode())
    expect(page.locator("#upload-label")).to_have_text("many.csv")
    page.locator("#k").fill("3")
    press_run(page)
    expect(page.locator("#result-title")).to_have_text("many.csv")
    expect(page.locator("#summary")).to_contain_text("Recommended", timeout=180_000)
    expect(page.locator(".pane .gl-canvas-context").first).to_be_visible()
    expect(page.locator(".pane .no-webgl")).to_have_count(0)
    expect(page.locator(".pane").filter(visible=True).first.locator(".annotation")).to_have_count(3)
    return page


def with_labels(open_page: Open, server: Server) -> Page:
    page = first_view(open_page, server)
    page.locator("#truth").get_by_text("With ground truth").click()
    expect(page.locator(".pane-title", has_text="Ground truth")).to_be_visible()
    return page


def menu_open(open_page: Open, server: Server) -> Page:
    page = first_view(open_page, server)
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    return page


def no_page(open_page: Open, server: Server) -> Page:
    page = open_page("/no-such-page", wait=False)
    expect(page.locator("main")).to_contain_text("no page at this address")
    return page


STATES: dict[str, State] = {
    "first-view": first_view,
    "nothing-searched": nothing_searched,
    "running": running,
    "cancelled": cancelled,
    "queued": queued,
    "failed": failed,
    "interrupted": interrupted,
    "run-gone": run_gone,
    "uploaded": uploaded,
    "refused": refused,
    "images": images,
    "many-clusters": many_clusters,
    "many-points": many_points,
    "with-labels": with_labels,
    "menu-open": menu_open,
    "no-page": no_page,
}
