"""The Content-Security-Policy in a browser: it stops what is not ours, and nothing of ours runs into it."""

from __future__ import annotations

import re

from pages import Open, Watch, await_finished, press_run
from playwright.sync_api import Page, expect

LISTEN = """() => {
    window.violations = [];
    const note = (event) => window.violations.push(`${event.effectiveDirective} ${event.blockedURI}`);
    document.addEventListener("securitypolicyviolation", note);
}"""


def violations(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.violations")
    return found


def walk(page: Page) -> None:
    """Do what a person does: other data, a search, values on the path, every tab, dark and light, a file saved."""
    rows = "\n".join(f"{i % 5},{i % 3},{'ab'[i % 2]}" for i in range(30))
    table = {"name": "<b>table</b>.csv", "mimeType": "", "buffer": f"<i>x</i>,y,label\n{rows}\n".encode()}
    page.locator("#upload input[type=file]").set_input_files(table)
    expect(page.locator("#upload-report")).to_contain_text("30 rows")
    press_run(page)
    await_finished(page)
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
    page.locator("#theme-toggle").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.locator("#theme-toggle").click()
    page.get_by_role("button", name="Export").click()
    with page.expect_download():
        page.locator("#export-png").click()


def test_nothing_of_ours_runs_into_the_policy_and_what_is_not_ours_does(open_page: Open, watch: Watch) -> None:
    page = open_page()
    page.evaluate(LISTEN)
    walk(page)
    assert violations(page) == []
    watch.allowed += ["Content Security Policy"]
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        document.body.append(Object.assign(new Image(), {src: "https://elsewhere.invalid/x.png"}));
    }""")
    page.wait_for_function("window.violations.length >= 2")
    assert re.search("script-src-elem inline", "\n".join(violations(page)))
    assert "img-src https://elsewhere.invalid/x.png" in violations(page)
    assert page.evaluate("window.hacked") is None
    watch.hosts.discard("elsewhere.invalid")  # asked for by the test, and stopped by the browser
