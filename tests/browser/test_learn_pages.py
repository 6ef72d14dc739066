"""The Learn pages in a browser: every lesson stepped through by buttons, keys and slider, shared by address, narrow."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from pages import Open
from playwright.sync_api import Page, expect

LESSONS = {
    "frozen": "Frozen",
    "lloyd": "Lloyd in feature space",
    "powers": "Powers from square roots",
    "critical": "Hunting the critical value",
}


def await_lesson(page: Page) -> None:
    """Wait until both figures are drawn."""
    expect(page.locator("#learn-sentence")).not_to_be_empty()
    page.wait_for_function("() => document.querySelectorAll('#learn-stage .main-svg').length >= 4")


def step(page: Page) -> tuple[int, int | None]:
    """Return the step that the page says it shows, and the last one's number; the start does not say that."""
    text = page.locator("#learn-sentence").inner_text()
    found = re.match(r"Step (\d+) of (\d+):", text)
    assert found or text.startswith("Start:"), text
    return (int(found[1]), int(found[2])) if found else (0, None)


def expect_step(page: Page, number: int) -> None:
    expect(page.locator("#learn-sentence")).to_have_text(re.compile(rf"^Step {number} of " if number else "^Start:"))


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_by_buttons_and_keys(open_page: Open, name: str) -> None:
    page = open_page(f"/learn/{name}", wait=False)
    await_lesson(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(LESSONS[name])
    expect(page.locator("#nav-learn")).to_have_class(re.compile("nav-link-on"))
    now, _ = step(page)
    page.locator("#learn-forward").click()
    expect_step(page, now + 1)
    expect(page).to_have_url(re.compile(rf"[?&]step={now + 1}$"))
    page.locator("#learn-stage").focus()
    page.keyboard.press("ArrowRight")
    expect_step(page, now + 2)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect_step(page, now)
    page.keyboard.press("End")
    expect(page.locator("#learn-forward")).to_be_disabled()
    at, last = step(page)
    assert at == last
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    expect_step(page, 0)
    expect(page.locator("#learn-back")).to_be_disabled()
    slider = page.locator("#learn-slider [role=slider]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect_step(page, 1)
    expect(slider).to_have_attribute("aria-valuenow", "1")


def test_stepping_asks_nothing_of_the_server(open_page: Open) -> None:
    page = open_page("/learn/lloyd?sigma=5&seed=1", wait=False)
    await_lesson(page)
    asked: list[str] = []
    # browsers look for the favicon again when an address changes
    page.on("request", lambda request: asked.append(request.url) if "/favicon" not in request.url else None)
    page.locator("#learn-stage").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect_step(page, 5)
    expect(page.locator("#learn-rows tr")).to_have_count(6)
    expect(page.locator("#learn-rows .row-on th")).to_have_text("5")
    assert asked == []


def test_an_address_is_shared(open_page: Open) -> None:
    first = open_page("/learn/lloyd", wait=False)
    await_lesson(first)
    first.get_by_label("Seed").fill("3")
    expect(first).to_have_url(re.compile(r"\?seed=3$"))
    first.locator("#learn-forward").click()
    first.locator("#learn-forward").click()
    expect_step(first, 2)
    expect(first).to_have_url(re.compile(r"\?seed=3&step=2$"))
    said, row = first.locator("#learn-sentence").inner_text(), first.locator("#learn-rows").inner_text()
    address = urlsplit(first.url)
    other = open_page(f"{address.path}?{address.query}", wait=False)
    await_lesson(other)
    expect(other.locator("#learn-sentence")).to_have_text(said)
    assert other.locator("#learn-rows").inner_text() == row
    expect(other.get_by_label("Seed")).to_have_value("3")


def test_a_value_that_cannot_be_used_is_told_and_the_lesson_stays(open_page: Open) -> None:
    page = open_page("/learn/powers?base=zero", wait=False)
    await_lesson(page)
    expect(page.locator("#learn-alert")).to_contain_text("Base b is zero")
    page.get_by_label("Exponent p").fill("200")
    expect(page.locator("#learn-alert")).to_contain_text("Exponent p is 200: give a number from 0 to 40.")
    expect(page.locator("#learn-sentence")).to_contain_text("10 to the power 2.3")
    page.get_by_label("Exponent p").fill("2.75")
    expect(page.locator("#learn-sentence")).to_contain_text("2 + 0.75")
    expect(page.locator("#learn-alert")).to_be_empty()
    page.locator("#learn-forward").click()
    page.locator("#learn-forward").click()
    expect(page.locator("#learn-sentence")).to_contain_text("n/d is 3/4, which is f itself")
    expect(page.locator("#learn-forward")).to_be_disabled()


def test_the_tight_example_has_a_size_and_no_seed(open_page: Open) -> None:
    page = open_page("/learn/frozen?data=tight&n=16", wait=False)
    await_lesson(page)
    expect(page.get_by_label("Points")).to_be_visible()
    expect(page.get_by_label("Seed")).to_be_hidden()
    page.locator("#learn-stage").focus()
    page.keyboard.press("End")
    expect(page.locator("#learn-sentence")).to_contain_text("1 point of 16 moves")
    expect(page.locator("#learn-left")).to_contain_text("y, in cluster 1")
    page.keyboard.press("Home")
    expect(page.locator("#learn-left")).to_contain_text("y, in cluster 2")


def test_play_walks_to_the_end_and_stops(open_page: Open) -> None:
    page = open_page("/learn/powers?base=16&exponent=2.75", wait=False)
    await_lesson(page)
    page.locator("#learn-play").click()
    expect(page.locator("#learn-play")).to_have_text("Pause")
    expect_step(page, 2)
    expect(page.locator("#learn-play")).to_have_text("Play")


def test_from_lesson_to_lesson_and_back_to_explore(open_page: Open) -> None:
    page = open_page("/learn", wait=False)
    page.locator("main").get_by_text("Frozen").click()
    for title in list(LESSONS.values())[1:]:
        await_lesson(page)
        page.locator(".ways-on").get_by_text(title).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
    await_lesson(page)
    expect(page.locator("#learn-explore")).to_have_attribute("href", "/?data=builtin:flame&k=2&start=5.0")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(LESSONS["powers"])
    await_lesson(page)
    page.locator("#nav-explore").click()
    expect(page.locator("#path-graph .main-svg").first).to_be_visible()
    expect(page.locator("#nav-explore")).to_have_class(re.compile("nav-link-on"))
    expect(page.locator("#nav-learn")).not_to_have_class(re.compile("nav-link-on"))


def test_the_colour_scheme_is_switched_without_losing_the_step(open_page: Open) -> None:
    page = open_page("/learn/lloyd?step=3", wait=False)
    await_lesson(page)
    ink = "() => document.querySelector('#learn-right .js-plotly-plot').data[1].line.color"
    light = page.evaluate(ink)
    page.locator("#theme-toggle").click()
    page.wait_for_function(f"before => ({ink})() !== before", arg=light)
    expect_step(page, 3)


@pytest.mark.parametrize("name", LESSONS)
def test_a_phone_shows_all_of_a_lesson(open_page: Open, name: str) -> None:
    page = open_page(f"/learn/{name}", wait=False, viewport={"width": 390, "height": 844})
    await_lesson(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#learn-forward").click()
    for part in ("#learn-left", "#learn-right", "#learn-sentence", "#learn-explore"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.get_by_label("Pages", exact=True).last.click()
    page.get_by_role("menuitem", name="Learn").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Learn how the bandwidths are found")
