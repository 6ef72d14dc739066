"""Choosing a kernel, and comparing with other methods, in a real browser."""

from __future__ import annotations

import pytest
from pages import Open, await_finished, press_run
from playwright.sync_api import Page, expect

from figures import words
from offgrid import BandwidthSearch, Laplacian, Polynomial, recommend_partition
from offgrid.baselines import run_baseline
from offgrid.comparison import MAX_ROWS, near_neighbours
from offgrid.datasets import load
from offgrid.recommendation_words import percent

FLAME = load("flame")


def choose_kernel(page: Page, title: str) -> None:
    page.locator("#kernel").get_by_text(title, exact=True).click()


def test_methods_are_compared_with_the_numbers_of_the_library(open_page: Open) -> None:
    page = open_page("/?data=builtin:flame&k=2")
    for title in ("Grid", "Median heuristic"):
        page.get_by_role("checkbox", name=title).click()
    expect(page.locator("#run-note")).to_have_text("")
    press_run(page)
    await_finished(page)
    expect(page.locator("#path-legend")).to_contain_text("of 13 values in view")
    expect(page.locator("#path-legend")).to_contain_text("median heuristic")
    page.get_by_role("tab", name="Compare").click()
    rows = page.locator(".methods tbody tr")
    expect(rows).to_have_count(4)
    grid = run_baseline("grid", FLAME.X, 2, FLAME.y, random_state=0)
    cells = rows.filter(has_text="Powers of ten").locator("td").all_inner_texts()
    assert cells[0] == words.sigma(grid.recommended.sigma or 0.0)
    near = near_neighbours(FLAME.X, 2, 0)(grid.recommended.labels)
    assert cells[2] == percent(near or 0.0)
    assert cells[5:8] == [words.measure(grid.cnnc), "13", str(grid.n_partitions)]
    own = recommend_partition(FLAME.X, 2, random_state=0, max_rows=MAX_ROWS)
    expect(page.locator(".methods-recommended td").first).to_have_text(words.sigma(own.sigma))
    for sentence in own.why:
        expect(page.locator(".compare-reasons")).to_contain_text(sentence)


def test_the_summary_leads_to_the_reasons(open_page: Open) -> None:
    page = open_page("/?data=builtin:flame&k=2")
    press_run(page)
    await_finished(page)
    own = recommend_partition(FLAME.X, 2, random_state=0, max_rows=MAX_ROWS)
    for sentence in own.verdict:
        expect(page.locator("#summary")).to_contain_text(sentence)
    page.get_by_role("button", name="Why this one?").focus()
    page.keyboard.press("Enter")
    title = page.locator(".compare-reasons-title")
    expect(title).to_be_focused()
    expect(title).to_have_text(f"Why σ = {words.sigma(own.sigma)}")
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")


def test_more_methods_are_added_without_another_search(open_page: Open) -> None:
    page = open_page("/?data=builtin:flame&k=2&seed=5")
    run = press_run(page)
    await_finished(page)
    expect(page.locator("#run-note")).to_have_text("Settings match the result shown")
    page.get_by_role("checkbox", name="MKNN").click()
    expect(page.locator("#run-note")).to_have_text("Settings differ from the result shown")
    page.locator("#run-button").click()
    expect(page.locator("#path-legend")).to_contain_text("MKNN")
    await_finished(page)
    assert f"run={run}" in page.url
    assert "compare=mknn" in page.url


@pytest.mark.parametrize(("title", "kernel"), [("Laplacian", Laplacian()), ("Poly", Polynomial(1.0))])
def test_another_kernel_is_searched(open_page: Open, title: str, kernel: Laplacian | Polynomial) -> None:
    page = open_page("/?data=builtin:flame&k=2&max_steps=12")
    choose_kernel(page, title)
    expect(page.locator("#kernel-note")).to_contain_text("d is searched" if title == "Poly" else "‖x−y‖₁")
    expect(page.locator("#offset-field")).to_be_visible(visible=title == "Poly")
    press_run(page)
    await_finished(page)
    expected = BandwidthSearch(2, kernel=kernel, random_state=0, max_steps=12).fit(FLAME.X, FLAME.y)
    symbol = "degree" if title == "Poly" else "σ"
    expect(page.locator("#summary .answer")).to_have_text(f"{symbol} = {words.sigma(expected.sigma_)}")
    expect(page.locator("#result-note")).to_contain_text("Polynomial kernel" if title == "Poly" else "Laplacian kernel")
    page.reload()
    expect(page.locator("#summary .answer")).to_have_text(f"{symbol} = {words.sigma(expected.sigma_)}")


def test_a_sum_of_kernels_names_what_is_wrong_with_it(open_page: Open) -> None:
    page = open_page("/?data=builtin:flame&k=2&max_steps=5")
    choose_kernel(page, "Sum")
    weight = page.get_by_label("Weight of the fixed kernel")
    weight.fill("0")
    expect(page.locator("#settings-error")).to_have_text(
        "The weight of the fixed kernel is 0; it must be a positive number."
    )
    weight.fill("0.25")
    expect(page.locator("#settings-error")).to_be_empty()
    press_run(page)
    await_finished(page)
    assert "plus=0.25%2Claplacian%2C1.0" in page.url.replace(",", "%2C")
