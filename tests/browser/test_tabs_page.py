"""The tabs beneath the clusterings, in a real browser: what they show, and what they cost while closed."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pages import Open, Watch
from playwright.sync_api import Browser, Download, Page, Request, expect

from figures.words import share
from offgrid import RBF, BandwidthSearch
from offgrid.datasets import load
from offgrid.kernel_view import kernel_view
from services import startup

K = startup.DEFAULT.search.n_clusters


def opened(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    page.wait_for_function("n => new URLSearchParams(location.search).get('tab') === n", arg=name.lower())


def test_only_the_open_tab_is_computed_and_the_address_keeps_it(open_page: Open) -> None:
    page = open_page()
    asked: Counter[str] = Counter()

    def count(request: Request) -> None:
        output = (request.post_data_json or {}).get("output", "") if "_dash-update" in request.url else ""
        asked.update(
            name for name in ("flow", "kernel-matrix", "profile", "code", "compare") if f"{name}.chil" in output
        )

    page.on("request", count)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.locator("#path-frame").press("ArrowRight")
    page.wait_for_function("() => new URLSearchParams(location.search).has('select')")
    opened(page, "Code")
    expect(page.locator(".code-python")).to_contain_text('load("aggregation")')
    assert set(asked) == {"code"}
    page.get_by_role("tab", name="Table").click()
    opened(page, "Code")
    assert asked["code"] == 1, "nothing has changed, so nothing is computed again"
    other = open_page(page.url.removeprefix(page.evaluate("location.origin")))
    expect(other.locator(".code-python")).to_have_text(page.locator(".code-python").inner_text(), use_inner_text=True)
    expect(other.get_by_role("tab", name="Code")).to_have_attribute("aria-selected", "true")


def test_flow_says_which_points_move(open_page: Open) -> None:
    page = open_page("/?tab=flow")
    expect(page.locator(".flow-graph .main-svg").first).to_be_visible()
    captions = [re.findall(r"\d+", text) for text in page.locator(".pane-caption").all_inner_texts()]
    moved = [int(numbers[0]) if numbers else 0 for numbers in captions[1:]]
    told = page.locator(".flow-steps li").all_inner_texts()
    assert [int((re.findall(r": (\d+) point", text) or ["0"])[0]) for text in told] == moved
    assert sum(moved) > 0
    page.locator("#path-frame").press("Escape")
    expect(page.locator(".tab-empty")).to_contain_text("Select two or more values on the path")
    expect(page.locator(".save-buttons:visible")).to_have_count(0)


def test_kernel_numbers_are_those_of_the_library(open_page: Open) -> None:
    page = open_page("/?tab=kernel")
    expect(page.locator(".kernel-graph .main-svg").first).to_be_visible()
    at = page.locator("#kernel-at")
    expect(at).to_have_value(re.compile("^[A-F], σ"))
    numbers = page.locator(".fact dd")
    first = numbers.all_inner_texts()
    at.click()
    page.get_by_role("option", name=re.compile("^C, σ")).click()
    expect(numbers.first).not_to_have_text(first[0])
    index = selected_by_letter(page, "C")
    points = load("aggregation").prepare()
    path = BandwidthSearch(K, random_state=0).fit(points.X, points.y).path_
    view = kernel_view(RBF(), points.X, path[index].labels, path[index].sigma)
    expected = [share(view.dominance), share(view.within), share(view.between)]
    assert numbers.all_inner_texts() == expected


def selected_by_letter(page: Page, letter: str) -> int:
    page.get_by_role("tab", name="Table").click()
    row = page.locator("#table .ag-row", has=page.locator("[col-id=letter]", has_text=letter)).first
    return int(row.get_attribute("row-id") or "")


def test_profile_describes_every_cluster_and_is_saved(open_page: Open) -> None:
    page = open_page("/?tab=profile")
    rows = page.locator(".profile tbody tr")
    expect(rows).to_have_count(K + 1)
    with page.expect_download() as caught:
        page.locator("#profile-csv").click()
    file: Download = caught.value
    assert re.fullmatch(r"aggregation-k7-profile-sigma-[0-9.]+\.csv", file.suggested_filename)
    saved = list(csv.DictReader(io.StringIO(Path(file.path()).read_text(encoding="utf-8"))))
    sizes = [row["size"] for row in saved]
    shown = [text.split()[0] for text in page.locator(".profile tbody td:nth-child(2)").all_inner_texts()]
    assert shown == sizes
    assert sum(map(int, sizes[:-1])) == int(sizes[-1]) == 788
    points = load("aggregation").prepare()
    assert float(saved[-1][f"mean of {points.feature_names[0]}"]) == pytest.approx(np.mean(points.X[:, 0]))


def test_many_columns_are_shown_on_demand(open_page: Open) -> None:
    page = open_page("/?data=builtin:digits&k=10&max_steps=2&method=bisection&tab=profile", wait=False)
    page.locator("#run-button").click()
    expect(page.locator(".profile tbody tr")).to_have_count(11, timeout=180_000)
    heads = page.locator(".profile thead th")
    expect(heads).to_have_count(10)
    first = heads.all_inner_texts()
    page.locator("#profile-columns").click()
    page.get_by_role("option", name="columns 61 to 64 of 64").click()
    expect(heads).to_have_count(8)
    assert not set(first[4:]) & set(heads.all_inner_texts()[4:])


def test_code_is_copied(open_page: Open) -> None:
    page = open_page("/?tab=code")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the Command line text").click()
    expect(page.locator(".copy-code").nth(1)).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == (
        "offgrid search builtin:aggregation --k 7 --scaling none --method certified --seed 0 --out path.csv\n"
        "offgrid recommend builtin:aggregation --k 7 --scaling none --seed 0 --labels-out labels.csv"
    )


def test_the_figure_of_a_tab_is_saved_alone(open_page: Open) -> None:
    page = open_page("/?tab=flow")
    expect(page.locator(".flow-graph .main-svg").first).to_be_visible()
    with page.expect_download() as caught:
        page.get_by_role("button", name="Save the flow figure as SVG").click()
    name = caught.value.suggested_filename
    assert re.fullmatch(r"aggregation-k7-flow-sigma-[0-9.]+-to-sigma-[0-9.]+\.svg", name)
    drawing = Path(caught.value.path()).read_text(encoding="utf-8")
    assert "@font-face" in drawing
    assert "moved" in drawing


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_opens_from_disk_without_a_network(
    open_page: Open, browser: Browser, watch: Watch, tmp_path: Path, scheme: str
) -> None:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as caught:
        page.locator("#export-report").click()
    assert caught.value.suggested_filename == "aggregation-k7-report.html"
    file = tmp_path / "report.html"
    caught.value.save_as(file)
    assert file.stat().st_size < 3_000_000
    context = browser.new_context(offline=True, color_scheme=scheme)  # type: ignore[arg-type]
    reader = context.new_page()
    messages, requests = [], []
    reader.on("console", lambda message: messages.append(message.text))
    reader.on("pageerror", lambda error: messages.append(str(error)))
    reader.on("request", lambda request: requests.append(request.url))
    reader.goto(file.as_uri())
    expect(reader.locator(".figure .main-svg").first).to_be_visible()
    expect(reader.locator(".figure .plot-container")).to_have_count(1 + 3 + 1 + 1)
    expect(reader.locator("h1")).to_have_text(page.locator(".summary-answer").inner_text(), use_inner_text=True)
    values = int(page.locator("#path-note").inner_text().split()[0])
    assert reader.locator(".wide tbody tr").count() >= values
    assert [text.split(",")[0] for text in reader.locator(".pane h3").all_inner_texts()][:3] == ["A", "B", "C"]
    background = reader.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 20, 23)")
    reader.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    reader.wait_for_function("b => getComputedStyle(document.body).backgroundColor !== b", arg=background)
    assert messages == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
