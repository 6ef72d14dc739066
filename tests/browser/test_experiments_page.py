"""The Experiments page in a real browser: looking, doing a line again, reloading, cancelling."""

from __future__ import annotations

import re

from pages import Open, Server
from playwright.sync_api import expect

from offgrid.experiments import again, comparison
from offgrid.experiments.cases import find_folder
from offgrid.experiments.progress import quiet
from services.reruns import RerunStore


def part(name: str, line: str) -> str:
    """Return the selector of a line's part: Dash writes such ids as JSON, keys in alphabetical order."""
    return f'[id=\'{{"line":"{line}","type":"rerun-{name}"}}\']'


def test_tables_and_figure_by_address(open_page: Open) -> None:
    page = open_page("/experiments", wait=False)
    expect(page).to_have_title("Experiments – Off-the-grid")
    expect(page.locator(".nav-link-on")).to_have_text("Experiments")
    expect(page.locator(".summary-answer")).to_contain_text("within 0.05 of the paper's NMI")
    aggregation = page.get_by_role("row", name=re.compile("^Aggregation"))
    expect(aggregation).to_contain_text("0.872")
    expect(aggregation.get_by_role("button", name="Rerun Aggregation")).to_be_visible()
    page.get_by_role("button", name="What NMI means").focus()
    expect(page.get_by_text("how much the clustering and the labels tell about each other")).to_be_visible()
    page.get_by_label("Why: reason 1").first.click()
    expect(page.locator("#reason-1")).to_be_in_viewport()
    page.get_by_role("link", name="Table 4").click()
    expect(page.locator(".summary-answer")).to_contain_text("times as fast as bisection")
    expect(page).to_have_url(re.compile(r"/experiments\?table=4$"))
    page.get_by_role("link", name="Figure 1").click()
    expect(page.locator(".scaling-graph .main-svg").first).to_be_visible()
    page.go_back()
    expect(page.locator(".experiment-title")).to_contain_text("Table 4")
    page.locator(".nav").get_by_text("Explore").click()
    expect(page.locator("#path-graph .main-svg").first).to_be_visible()
    expect(page.locator(".nav-link-on")).to_have_text("Explore")


def test_a_line_is_done_again_and_kept(open_page: Open, server: Server) -> None:
    page = open_page("/experiments?table=2", wait=False)
    page.get_by_role("button", name="Rerun Flame").click()
    found = page.locator(part("found", "flame"))
    expect(found).to_contain_text("here, 1 run")
    expect(page).to_have_url(re.compile(r"\?table=2&rerun=[\w-]+$"))
    measure, _source = again.open_line("quality", "flame", find_folder(None))
    expected = measure(0, quiet)["methods"]
    figures = [f"{expected[column.method][column.what]:.3f}" for column in comparison.columns("2")]
    expect(found.locator(".ours")).to_have_text(figures)
    expect(page.get_by_role("button", name="Rerun Wine")).to_be_enabled()
    expect(page.get_by_role("row", name=re.compile("^Flame"))).to_contain_text("0.615")
    page.reload()
    expect(found.locator(".ours")).to_have_text(figures)
    page.goto(f"{server.url}/experiments?table=3")
    expect(found).to_contain_text("here, 1 run")


def test_a_long_rerun_is_found_again_and_cancelled(open_page: Open, server: Server) -> None:
    page = open_page("/experiments?table=2", wait=False, viewport={"width": 390, "height": 844})
    runs = page.get_by_label("Runs of a rerun")
    runs.fill("50")
    runs.press("Tab")
    page.get_by_role("button", name="Rerun D31").click()
    said = page.locator(part("said", "d31"))
    expect(said).to_contain_text("Run 1 of 50, ")
    expect(page.get_by_role("button", name="Rerun Flame")).to_be_disabled()
    page.reload()
    expect(said).to_contain_text("Run 1 of 50, ")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    said.get_by_role("button", name="Cancel").click()
    expect(said).to_contain_text("The rerun was cancelled.")
    expect(page.get_by_role("button", name="Rerun Flame")).to_be_enabled()
    rerun = RerunStore(server.data_dir).get(page.url.partition("rerun=")[2])
    assert rerun is not None
    assert rerun.state == "cancelled"
