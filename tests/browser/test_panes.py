"""The clusterings while the selection changes: graphs that stay, are drawn one after the other, and end up right."""

from __future__ import annotations

from pages import Open, Server, await_finished, press_run
from playwright.sync_api import expect
from states import STATES

DRAWN = """() => [...document.querySelectorAll(".pane:not([hidden])")]
    .map((pane) => [pane, pane.querySelector(".js-plotly-plot")])
    .filter(([, graph]) => graph)
    .map(([pane, graph]) => [
        pane.querySelector(".pane-title").textContent,
        pane.querySelector(".pane-caption").textContent,
        ...graph._fullData.map((trace) => [...trace.x, ...(trace.marker.color || [])].join()),
    ])"""
GRAPHS = "() => [...document.querySelectorAll('.pane .js-plotly-plot')]"


def test_graphs_stay_while_the_selection_walks(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.locator("#path-frame").press("Home")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.evaluate(f"() => ({GRAPHS})().forEach((graph) => {{ graph.stays = true; }})")
    before = page.evaluate(DRAWN)
    page.locator("#path-frame").press("ArrowRight")
    page.wait_for_function(f"(before) => ({DRAWN})()[0][2] !== before", arg=before[0][2])
    after = page.evaluate(DRAWN)
    assert [one[2] for one in after[1:]] == [one[2] for one in before[1:]], "only the active one has other points"
    assert page.evaluate(f"() => ({GRAPHS})().every((graph) => graph.stays)")
    page.locator("#path-frame").press("Escape")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(0)
    expect(page.locator(".pane:visible")).to_have_count(1)
    expect(page.locator(".pane:visible")).to_contain_text("Click a value on the path")


def test_a_quick_walk_ends_with_what_a_fresh_page_shows(open_page: Open) -> None:
    page = open_page("/?data=builtin:d31&k=31&max_steps=40")
    press_run(page)
    await_finished(page)
    page.locator("#path-frame").press("Home")
    for key in ["ArrowRight"] * 9 + ["Enter"] + ["ArrowRight"] * 6 + ["ArrowLeft"] * 2 + ["Enter", "End"]:
        page.keyboard.press(key)
    page.wait_for_function("() => new URLSearchParams(location.search).get('select').split(',').length > 3")
    other = open_page(page.url.removeprefix(page.evaluate("location.origin")))
    titles = other.locator(".pane-title")
    expect(titles).not_to_have_count(0)
    expect(other.locator(".pane .js-plotly-plot")).to_have_count(titles.count())
    shown = other.evaluate(DRAWN)
    assert len(shown) > 3
    page.wait_for_function(f"(shown) => JSON.stringify(({DRAWN})()) === JSON.stringify(shown)", arg=shown)


def test_webgl_s_contexts_are_given_back_when_panes_go(open_page: Open, server: Server) -> None:
    page = STATES["many-points"](open_page, server)
    graphs = page.locator(".pane .js-plotly-plot")
    expect(graphs).not_to_have_count(0)
    page.evaluate(f"""() => {{ window.held = ({GRAPHS})()
        .flatMap((graph) => graph._fullLayout._glcanvas.data())
        .flatMap(({{regl}}) => (regl ? [regl._gl] : [])); }}""")
    assert page.evaluate("() => held.length > 1 && held.every((gl) => !gl.isContextLost())")
    page.locator("#path-frame").press("Escape")
    expect(graphs).to_have_count(0)
    page.wait_for_function("() => held.every((gl) => gl.isContextLost())")
    for key in ("Home", "Enter", "ArrowRight", "Enter", "ArrowRight"):
        page.keyboard.press(key)
    expect(graphs).to_have_count(3)
    for graph in graphs.all():
        expect(graph.locator(".annotation")).to_have_count(3)
    page.locator(".card", has_text="Flame").click()
    press_run(page)
    expect(page.locator("#result-title")).to_have_text("Flame")
    expect(page.locator(".pane path.point").first).to_be_visible()
    expect(page.locator(".pane canvas")).to_have_count(0)
