"""What the first page weighs, and what asks nothing of the server."""

from __future__ import annotations

from pages import Open, Server
from playwright.sync_api import Browser, Page, expect

HEAVIEST = 2_600_000  # bytes of the first page over the wire: it was 9 MB before files were compressed


def rest(page: Page) -> None:
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.wait_for_load_state("networkidle")


def test_the_first_page_is_light_and_a_reload_lighter(browser: Browser, server: Server) -> None:
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    session = page.context.new_cdp_session(page)
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.goto(server.url)
    rest(page)
    first, requests = sum(sizes), len(sizes)
    assert 500_000 < first < HEAVIEST
    assert requests < 100
    sizes.clear()
    page.reload()
    rest(page)
    assert sum(sizes) < first / 4, "files are asked for again"
    page.context.close()


def test_pointing_at_things_asks_nothing_of_the_server(open_page: Open) -> None:
    page = open_page()
    rest(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    pointed = 0
    for plot in page.locator(".js-plotly-plot .nsewdrag").all():
        box = plot.bounding_box()
        if box is None:
            continue
        plot.scroll_into_view_if_needed()
        plot.hover(position={"x": box["width"] / 3, "y": box["height"] / 2}, force=True)
        plot.hover(position={"x": box["width"] / 2, "y": box["height"] / 2}, force=True)
        pointed += 1
    page.locator("#table .ag-row").nth(1).hover()
    page.locator("main .help-mark:visible").first.hover()
    expect(page.get_by_role("tooltip").first).to_be_visible()
    assert pointed >= 4
    assert asked == []
