"""What a person does on the Explore page, in a real browser on a freshly started server."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import (
    SERVER_ENDS,
    Open,
    Server,
    Watch,
    await_finished,
    await_values,
    press_run,
    run_id,
    stored,
    values_shown,
    wait_for,
)
from playwright.sync_api import Download, Page, expect

from offgrid import BandwidthSearch
from offgrid.datasets import load
from offgrid.datasets.reading import read_table
from offgrid.path import PathRecord

# Bisection takes some thirty kernel passes a value: long enough to be watched, cancelled, killed and resumed.
METHOD = "bisection"
D31 = f"/?data=builtin:d31&k=31&method={METHOD}"
D31_SHORT = f"{D31}&max_steps=40"
STEPS = 40

DRAWN = "#path-graph .scatterlayer path.js-line"


def test_the_first_page_shows_a_drawn_path(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(DRAWN).first).to_be_attached()
    expect(page.locator("#summary")).to_contain_text("Recommended σ =")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    expect(page.locator("#table .ag-row").first).to_be_visible()
    expect(page.locator("#run-note")).to_have_text("Settings match the result shown")
    assert values_shown(page) > 10
    assert page.url.endswith("/"), "the address stays short until somebody changes something"


def upload(page: Page, file: Path | dict[str, object]) -> None:
    page.locator("#upload input[type=file]").set_input_files(file)  # type: ignore[arg-type]


def test_wine_is_uploaded_searched_and_agrees_with_the_library(open_page: Open, shared: Path, server: Server) -> None:
    page = open_page()
    upload(page, shared / "data" / "wine.csv")
    expect(page.locator("#upload-report")).to_contain_text("178 rows")
    expect(page.locator("#upload-label")).to_have_text("wine.csv")
    expect(page.locator("#label-column")).to_have_value("label")
    expect(page.locator("#k")).to_have_value("3")
    expect(page.locator("#k-note")).to_have_text("k, from the labels")
    expect(page.locator("#scaling input:checked")).to_have_value("unit")
    expect(page.locator("#preview tbody tr")).not_to_have_count(0)
    expect(page.locator("#run-note")).to_have_text("The result shown is not of wine.csv yet")
    press_run(page)
    await_finished(page)
    points = read_table(shared / "data" / "wine.csv").prepare(scaling="unit")
    expected = BandwidthSearch(3, random_state=0).fit(points.X, points.y).path_
    best = max(record.nmi for record in expected if record.nmi is not None)
    expect(page.locator("#path-note")).to_have_text(re.compile(f"^{len(expected)} values"))
    page.locator("#table-filter").click()
    page.get_by_role("option", name=re.compile("every value")).click()
    shown = page.locator("#table .ag-row:not(.row-recommended) [col-id=nmi]")
    expect(shown.first).to_be_visible()
    assert max(float(text) for text in shown.all_inner_texts()) == pytest.approx(best, abs=5e-4)
    found = stored(server, run_id(page)).path.records
    assert [record.sigma for record in found] == [record.sigma for record in expected]


def test_the_path_grows_while_the_search_runs_and_cancel_keeps_it(open_page: Open, server: Server) -> None:
    page = open_page(D31 + "&seed=1")
    run = press_run(page)
    expect(page.locator("#running")).to_be_visible()
    expect(page.locator("#run-button")).to_be_disabled()
    first = await_values(page, 0)
    second = await_values(page, first)
    third = await_values(page, second)
    assert 0 < first < second < third
    expect(page.locator("#running-text")).to_contain_text("clusterings so far")
    expect(page.locator("#summary")).to_contain_text("Best so far")
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text("cancelled")
    expect(page.locator("#running")).to_be_hidden()
    expect(page.locator("#run-button")).to_be_enabled()
    kept = stored(server, run)
    assert kept.state == "cancelled"
    assert len(kept.path) >= third
    expect(page.locator("#path-note")).to_contain_text(f"{len(kept.path)} values")


def test_a_reload_finds_the_run_and_its_cancel_works(open_page: Open, server: Server) -> None:
    page = open_page(D31 + "&seed=2")
    run = press_run(page)
    before = await_values(page, 0)
    page.reload()
    expect(page.locator("#running")).to_be_visible()
    await_values(page, before)
    assert stored(server, run).state == "running"
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text("cancelled")
    assert stored(server, run).state == "cancelled"


def test_a_second_tab_joins_the_same_search(open_page: Open, server: Server) -> None:
    first, second = open_page(D31 + "&seed=3"), open_page(D31 + "&seed=3")
    run = press_run(first)
    assert press_run(second) == run
    await_values(first, 0)
    await_values(second, 0)
    expect(second.locator("#running-note")).to_contain_text("Cancel takes you off it, and it goes on.")
    second.locator("#cancel").click()
    expect(second.locator("#notice-title")).to_have_text("You do not follow this search.")
    expect(second.locator("#cancel")).to_be_hidden()
    expect(second.locator("#run-button")).to_be_enabled()
    expect(first.locator("#running-note")).to_be_empty()
    assert stored(server, run).state == "running", "the first browser's search goes on"
    second.locator("#resume").click()
    expect(second.locator("#cancel")).to_be_visible()
    second.locator("#cancel").click()
    expect(second.locator("#cancel")).to_be_hidden()
    first.locator("#cancel").click()
    expect(first.locator("#notice")).to_contain_text("cancelled")
    expect(second.locator("#notice")).to_contain_text("cancelled")


def test_a_search_is_pinned_and_the_pin_outlives_a_reload(open_page: Open, server: Server) -> None:
    page = open_page(D31 + "&seed=5")
    run = press_run(page)
    await_values(page, 0)
    page.locator("#pin").check()
    wait_for(lambda: server.runs.abandoned(-1) == [], "the pin")
    page.reload()
    expect(page.locator("#pin")).to_be_checked()
    page.locator("#pin").uncheck()
    wait_for(lambda: server.runs.abandoned(-1) == [run], "the pin to go")
    page.locator("#cancel").click()
    expect(page.locator("#notice")).to_contain_text("cancelled")


def uninterrupted() -> list[PathRecord]:
    points = load("d31").prepare()
    return BandwidthSearch(31, method=METHOD, random_state=0, max_steps=STEPS).fit(points.X, points.y).path_


def same_path(found: list[PathRecord], expected: list[PathRecord]) -> None:
    for name in ("sigma", "below", "critical", "cnnc", "nmi", "ari", "level"):
        assert [getattr(record, name) for record in found] == [getattr(record, name) for record in expected], name
    assert all(
        (a.labels == b.labels).all() and (a.moved == b.moved).all() for a, b in zip(found, expected, strict=True)
    )


def test_a_killed_job_is_noticed_and_resumed_to_the_same_path(open_page: Open, server: Server) -> None:
    page = open_page(D31_SHORT)
    run = press_run(page)
    await_values(page, 2)
    job = stored(server, run).pid
    assert job is not None
    os.kill(job, signal.SIGKILL)
    expect(page.locator("#notice-title")).to_contain_text("Interrupted after", timeout=10_000)
    kept = len(stored(server, run).path)
    assert 2 < kept < STEPS, "the job must be killed before its end"
    expect(page.locator("#notice-title")).to_have_text(f"Interrupted after {kept} values.")
    expect(page.locator("#running")).to_be_hidden()
    page.locator("#resume").click()
    expect(page.locator("#running")).to_be_visible()
    await_finished(page)
    expect(page.locator("#notice")).to_be_hidden()
    same_path(list(stored(server, run).path.records), uninterrupted())


def test_a_restarted_server_keeps_the_run(open_page: Open, own_server: Callable[..., Server], watch: Watch) -> None:
    server = own_server()
    watch.allowed = [*SERVER_ENDS, "Callback failed"]
    page = open_page(D31_SHORT, at=server)
    run = press_run(page)
    await_values(page, 2)
    server.stop()
    server.start()
    await_finished(page)  # by itself
    assert len(stored(server, run).path) == STEPS + 1


def test_two_selections_draw_two_scatters(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.locator("#path-frame").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(0)
    markers = page.locator("#path-graph .scatterlayer .trace").filter(has=page.locator("path.point"))
    points = markers.first.locator("path.point")
    points.nth(5).click(force=True)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(1)
    # the path is drawn anew with its letter: a click before that would meet a mark that is about to go
    expect(page.locator("#path-graph text").filter(has_text=re.compile("^A$")).first).to_be_visible()
    points.nth(30).click(force=True)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(2)
    expect(page.locator(".pane-title .letter")).to_have_text(["A", "B"])
    expect(page.locator(".pane-caption").nth(1)).to_contain_text("since A")
    points.nth(5).click(force=True)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(1)


def test_arrow_keys_walk_and_table_rows_toggle(open_page: Open) -> None:
    page = open_page()
    page.locator("#path-frame").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(1)
    first = page.locator(".pane-title").first.inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pane-title").first).not_to_have_text(first)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".pane-title").first).to_have_text(re.compile(re.escape(first.split()[-1])))
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(2)
    expect(page.locator(".pane-role").nth(1)).to_have_text("k-means end of the path")
    page.locator("#table .ag-row:not(.row-selected)").first.locator("[col-id=cnnc]").click()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    page.wait_for_function("() => new URLSearchParams(location.search).get('select').split(',').length === 3")


def test_dragging_over_the_path_selects_up_to_six(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    area = page.locator("#path-graph .nsewdrag").first.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + 20, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] / 2, middle + 4, steps=8)
    page.mouse.move(area["x"] + area["width"] - 20, middle + 4, steps=8)
    page.mouse.up()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(6)
    expect(page.locator(".pane-title .letter")).to_have_text(list("ABCDEF"))


def test_a_copied_address_opens_the_same_view_elsewhere(open_page: Open, shared: Path) -> None:
    page = open_page()
    upload(page, shared / "data" / "wine.csv")
    expect(page.locator("#k")).to_have_value("3")
    page.locator("#seed").evaluate("element => element.closest('details').open = true")
    page.locator("#seed").fill("5")
    page.locator("#seed").blur()
    press_run(page)
    await_finished(page)
    page.locator("#path-frame").focus()
    for key in ("Escape", "Home", "Enter", "End"):
        page.keyboard.press(key)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(2)
    page.wait_for_function("() => new URLSearchParams(location.search).get('select').split(',').length === 2")
    other = open_page(page.url.removeprefix(page.evaluate("location.origin")))
    for place in ("#summary", "#path-note", "#result-title", "#result-note", "#run-note", "#upload-label"):
        expect(other.locator(place)).to_have_text(page.locator(place).inner_text(), use_inner_text=True)
    for field in ("#k", "#seed", "#label-column"):
        expect(other.locator(field)).to_have_value(page.locator(field).input_value())
    expect(other.locator("#scaling input:checked")).to_have_value("unit")
    expect(other.locator(".pane-title")).to_have_text(
        page.locator(".pane-title").all_inner_texts(), use_inner_text=True
    )


def test_back_and_forward_go_from_run_to_run(open_page: Open) -> None:
    page = open_page()
    first = page.locator("#summary").inner_text()
    page.locator(".card", has_text="Flame").click()
    expect(page.locator("#k")).to_have_value("2")
    press_run(page)
    expect(page.locator("#result-title")).to_have_text("Flame")
    await_finished(page)
    page.locator("#nav-learn").click()
    expect(page.locator(".lesson-card").first).to_be_visible()
    page.locator("#nav-explore").click()
    expect(page.locator("#result-title")).to_have_text("Flame")
    page.go_back()
    page.go_back()
    page.go_back()
    expect(page.locator("#result-title")).to_have_text("Aggregation")
    expect(page.locator("#summary")).to_have_text(first, use_inner_text=True)
    page.go_forward()
    expect(page.locator("#result-title")).to_have_text("Flame")
    page.locator("#nav-explore").click()
    expect(page.locator("#result-title")).to_have_text("Aggregation")


def test_the_same_search_is_found_again(open_page: Open, server: Server) -> None:
    page = open_page("/?data=builtin:iris&k=3")
    run = press_run(page)
    await_finished(page)
    created = stored(server, run).created
    other = open_page("/?data=builtin:iris&k=3", wait=False)
    await_finished(other)
    assert press_run(open_page("/?data=builtin:iris&k=3")) == run
    assert stored(server, run).created == created


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_reach_every_part(open_page: Open, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    tint = "document.querySelector('#path-graph .xtick text, #path-graph .infolayer text').style.fill"
    before = page.evaluate(tint)
    page.locator("#theme-toggle").click()
    page.wait_for_function(f"b => {tint} !== b", arg=before)
    other = "dark" if scheme == "light" else "light"
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", other)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", other)
    expect(page.locator(DRAWN).first).to_be_attached()
    page.wait_for_function(f"b => {tint} !== b", arg=before)


def test_a_narrow_page_hides_its_settings_until_asked(open_page: Open) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    expect(page.locator("#run-button")).not_to_be_in_viewport()
    page.locator("#settings-open").click()
    expect(page.locator("#settings-panel")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#settings-panel")).not_to_be_in_viewport()
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], "nothing sticks out sideways"


def test_a_search_goes_on_when_its_page_starts_another(open_page: Open, server: Server) -> None:
    page = open_page(D31 + "&seed=4")
    first = press_run(page)
    await_values(page, 0)
    page.go_back()
    expect(page.locator("#summary")).to_contain_text("No search yet")
    page.locator(".card", has_text="Digits").click()
    expect(page.locator("#k")).to_have_value("10")
    second = press_run(page)
    before = len(stored(server, first).path)
    wait_for(lambda: len(stored(server, second).path) > 0, "the second search")
    wait_for(lambda: len(stored(server, first).path) > before, "the first search to go on")
    assert stored(server, first).state == "running"
    for run in (first, second):
        server.runs.cancel(run)
    wait_for(lambda: not stored(server, first).active, "the first search to end")


def test_a_waiting_search_says_its_place(open_page: Open, own_server: Callable[..., Server]) -> None:
    server = own_server(OFFGRID_SLOTS="1")
    first, second = open_page(D31, at=server), open_page(D31 + "&seed=1", at=server)
    press_run(first)
    await_values(first, 0)
    run = press_run(second)
    expect(second.locator("#running-text")).to_have_text("Place 1 in the queue")
    assert stored(server, run).state == "queued"
    first.locator("#cancel").click()
    await_values(second, 0)
    expect(second.locator("#running-text")).to_contain_text("clusterings so far")
    second.locator("#cancel").click()
    expect(second.locator("#notice")).to_contain_text("cancelled")


def test_the_arrow_keys_work_from_the_first_press_on(open_page: Open) -> None:
    page = open_page()
    titles = page.locator(".pane-title")
    before = titles.all_inner_texts()
    page.locator("#path-frame").press("ArrowRight")
    expect(titles.first).not_to_have_text(before[0], use_inner_text=True)
    expect(titles).to_have_count(3)


def saved(page: Page, item: str, count: int = 1) -> dict[str, bytes]:
    """Choose an item of the Export menu, and return the files that the browser saves."""
    files: dict[str, bytes] = {}
    page.get_by_role("button", name="Export").click()
    with page.expect_event("download", lambda download: _keep(download, files) == count):
        page.locator(f"#export-{item}").click()
    return files


def _keep(download: Download, files: dict[str, bytes]) -> int:
    files[download.suggested_filename] = Path(download.path()).read_bytes()
    return len(files)


def clusters_shown(page: Page, role: str) -> list[int]:
    """Return the numbers of the clusters that the hover text of a pane tells, by row."""
    plot = page.locator(".pane", has_text=role).locator(".js-plotly-plot")
    told = plot.evaluate("plot => plot._fullData.filter((one) => one.customdata).flatMap((one) => one.customdata)")
    return [cluster for _, cluster in sorted((int(row), int(cluster)) for row, cluster in told)]


def test_results_are_taken_away(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".pane .js-plotly-plot")).to_have_count(3)
    values = values_shown(page)
    (name, path), *_ = saved(page, "path-csv").items()
    assert name == "aggregation-k7-path.csv"
    assert len(path.decode().splitlines()) == values + 2, "the head, and what is recommended beside the path"
    expect(page.locator("#export-labels-csv")).to_have_count(0)
    page.get_by_role("button", name="Export").click()
    sigma = page.locator(".pane", has_text="recommended").locator(".pane-title span:not(.letter)").first.inner_text()
    expect(page.locator("#export-labels-csv")).to_have_text(f"Recommended clustering, {sigma}, CSV")
    page.keyboard.press("Escape")
    (name, labels), *_ = saved(page, "labels-csv").items()
    assert name.startswith("aggregation-k7-labels-sigma-")
    rows = list(csv.DictReader(io.StringIO(labels.decode())))
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 789)]
    assert [int(row["cluster"]) for row in rows] == clusters_shown(page, "recommended")
    (name, run), *_ = saved(page, "run-json").items()
    assert name == "aggregation-k7-run.json"
    found = json.loads(run)
    assert len(found["records"]) == values + 1
    assert found["records"][found["recommended"]["index"]]["labels"] == clusters_shown(page, "recommended")
    figures = saved(page, "svg", count=4)
    assert "aggregation-k7-path.svg" in figures
    assert all(b"@font-face" in figure and b"</svg>" in figure for figure in figures.values())
    figures = saved(page, "png", count=4)
    assert all(figure.startswith(b"\x89PNG") for figure in figures.values())


def test_a_table_is_given_back_with_its_clusters(open_page: Open, tmp_path: Path) -> None:
    lines = [f"B{i:02};{'Loire' if i % 2 else 'Jura'};{i % 5},{i};-{i * i % 11},25" for i in range(40)]
    lines[4] = "B04;Jura;;1,25"
    table = tmp_path / "Cellar 2.csv"
    table.write_text("\n".join(["bottle;region;acid;sugar", *lines]), encoding="utf-8")
    page = open_page()
    upload(page, table)
    expect(page.locator("#upload-report")).to_contain_text("bottle and region are ignored: they hold text; files")
    page.locator("#k").fill("2")
    press_run(page)
    expect(page.locator("#result-title")).to_have_text("Cellar 2.csv")
    await_finished(page)
    expect(page.locator(".pane", has_text="recommended").locator(".js-plotly-plot")).to_be_visible()
    (name, labels), *_ = saved(page, "labels-csv").items()
    assert name.startswith("cellar-2-k2-labels-sigma-")
    rows = labels.decode().splitlines()
    assert rows[0] == "row;bottle;region;acid;sugar;cluster"
    assert [row.split(";", 1)[1].rsplit(";", 1)[0] for row in rows[1:]] == lines
    assert [i for i, row in enumerate(rows) if row.endswith(";")] == [5]
    assert [int(row.rsplit(";", 1)[1]) for row in rows[1:] if row[-1] != ";"] == clusters_shown(page, "recommended")
    plot = page.locator(".pane", has_text="recommended").locator(".js-plotly-plot")
    told = plot.evaluate("""plot => Object.fromEntries(plot.data.filter((one) => one.hovertext).flatMap((one, i) =>
        one.hovertext.map((name, j) => [plot._fullData[i].customdata[j][0], name])))""")
    assert told["6"] == "B05"
    told = plot.evaluate("plot => plot.data[0].hovertemplate.split('<br>')[0]")
    assert told == "row %{customdata[0]}, %{hovertext}, cluster %{customdata[1]}"
    panes = page.locator(".pane .js-plotly-plot").count()
    figures = saved(page, "svg", count=1 + panes)
    assert "cellar-2-k2-path.svg" in figures
    assert all(name.startswith("cellar-2-k2-") for name in figures)


def test_the_link_is_copied_whole(open_page: Open) -> None:
    page = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy-link").click()
    expect(page.locator("#copy-link-label")).to_have_text("Copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert "data=builtin:aggregation&k=7&run=" in link, "even from the bare first page"
    expect(page.locator("#copy-link-label")).to_have_text("Copy link")
