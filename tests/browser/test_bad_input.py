"""Files and values that can't be used: each gets one clear sentence, nothing is lost, and the server goes on."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pages import Open, Server, await_finished, press_run
from playwright.sync_api import Page, expect


class Trap:
    """An object whose unpickling would leave a trace."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.mark,)


def pickled(mark: Path) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap(mark)], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def zip_bomb(entry: str, megabytes: int = 400) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(entry, "w") as file,
    ):
        zeros = bytes(1_000_000)
        for _ in range(megabytes):
            file.write(zeros)
    return buffer.getvalue()


REFUSED: list[tuple[str, bytes]] = [
    ("empty.csv", b""),
    ("letter.txt", b"Dear reader,\n\nthis is a letter and no table at all.\nIt has three lines, more or less.\n"),
    ("ragged.csv", b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n10,11,12\n"),
    ("words.csv", b"name,colour\nann,red\nbob,blue\ncid,green\n"),
    ("one_row.csv", b"a,b\n1,2\n"),
    ("bytes.csv", bytes(range(256)) * 40),
    ("bomb.npz", zip_bomb("X.npy")),
    ("bomb.xlsx", zip_bomb("xl/worksheets/sheet1.xml")),
    ("notes.pdf", b"%PDF-1.4 not a table"),
]


def send(page: Page, name: str, content: bytes) -> None:
    page.locator("#upload input[type=file]").set_input_files({"name": name, "mimeType": "", "buffer": content})


def refusal(page: Page) -> str:
    """Return the sentence that refuses the file just sent."""
    expect(page.locator("#upload-report .report-error")).to_be_visible()
    return page.locator("#upload-report").inner_text().strip()


def assert_sentence(text: str) -> None:
    assert 15 < len(text) < 400, text
    assert (
        text[0].isupper()
        or text[0].isdigit()
        or text.split(maxsplit=1)[0].endswith((".csv", ".txt", ".npz", ".npy", ".xlsx", ".pdf"))
    )
    assert text.endswith("."), text
    assert "Traceback" not in text
    assert "Error" not in text, text
    assert "\n" not in text, text


def assert_nothing_lost(page: Page, server: Server) -> None:
    assert server.answers("/healthz")
    expect(page.locator("#result-title")).to_have_text("Aggregation")
    expect(page.locator("#summary")).to_contain_text("Recommended")
    expect(page.locator("#run-button")).to_be_enabled()
    expect(page.locator("#k")).to_have_value("7")


@pytest.mark.parametrize(("name", "content"), REFUSED, ids=[name for name, _ in REFUSED])
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    open_page: Open, server: Server, name: str, content: bytes
) -> None:
    page = open_page()
    send(page, name, content)
    assert_sentence(refusal(page))
    assert_nothing_lost(page, server)


def test_a_refused_file_leaves_the_one_before_in_use(open_page: Open) -> None:
    page = open_page()
    send(page, "good.csv", ("a,b\n" + "\n".join(f"{i},{i * i % 11}" for i in range(30))).encode())
    expect(page.locator("#upload-report")).to_contain_text("30 rows")
    send(page, "words.csv", b"name,colour\nann,red\nbob,blue\n")
    expect(page.locator("#upload-report .report-error")).to_contain_text("good.csv stays loaded.")
    expect(page.locator("#upload-label")).to_have_text("good.csv")
    press_run(page)
    expect(page.locator("#result-title")).to_have_text("good.csv")
    await_finished(page)


def test_an_array_of_objects_is_refused_and_not_loaded(open_page: Open, server: Server, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    page = open_page()
    send(page, "objects.npy", pickled(mark))
    assert_sentence(refusal(page))
    assert not mark.exists(), "what is pickled in a file must never be executed"
    assert_nothing_lost(page, server)


def test_a_large_file_is_turned_away_by_the_browser(open_page: Open, server: Server, tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.write(b"a,b\n")
        file.truncate(60_000_000)
    page = open_page()
    page.locator("#upload input[type=file]").set_input_files(large)
    sentence = refusal(page)
    assert_sentence(sentence)
    assert "60 MB" in sentence
    assert "50 MB" in sentence
    assert_nothing_lost(page, server)


def test_a_large_request_is_answered_by_the_server_too(open_page: Open, own_server: Callable[..., Server]) -> None:
    server = own_server(OFFGRID_MAX_UPLOAD_MB="0.5")
    page = open_page(at=server)
    # Past the browser's own check, as a page that was opened before the limit was lowered would be.
    contents = "data:;base64," + "A" * 3_000_000
    page.evaluate("contents => window.dash_clientside.set_props('upload', {contents, filename: 'large.csv'})", contents)
    sentence = refusal(page)
    assert "larger than 0.5 MB" in sentence
    assert server.answers("/healthz")


def test_more_rows_than_allowed_are_refused_before_anything_is_computed(
    open_page: Open, own_server: Callable[..., Server]
) -> None:
    server = own_server(OFFGRID_MAX_ROWS="900")
    page = open_page(at=server)
    rows = "\n".join(f"{i},{i % 7}" for i in range(901))
    send(page, "many.csv", f"a,b\n{rows}\n".encode())
    sentence = refusal(page)
    assert_sentence(sentence)
    assert "901" in sentence
    assert "900" in sentence
    page.locator(".card", has_text="D31").click()
    expect(page.locator("#settings-error")).to_contain_text("3,100 rows")
    page.locator("#run-button").click()
    expect(page.locator("#settings-error")).to_contain_text("use fewer rows")
    expect(page.locator("#result-title")).to_have_text("Aggregation")


def test_missing_and_infinite_values_are_reported_and_the_choice_is_offered(open_page: Open) -> None:
    page = open_page()
    rows = [f"{i},{i * i % 11}" for i in range(30)]
    rows[3], rows[8], rows[12] = "nan,1", "inf,2", ",3"
    send(page, "gaps.csv", ("a,b\n" + "\n".join(rows)).encode())
    expect(page.locator("#upload-report")).to_contain_text("30 rows")
    expect(page.locator("#upload-report")).to_contain_text("missing")
    expect(page.locator("#missing-field")).to_be_visible()
    page.locator("#k").fill("2")
    press_run(page)
    await_finished(page)
    expect(page.locator("#result-note")).to_contain_text("27 of 30 rows")
    page.locator("#missing").get_by_text("Fill with median").click()
    expect(page.locator("#run-note")).to_have_text("Settings differ from the result shown")
    press_run(page)
    await_finished(page)
    expect(page.locator("#result-note")).to_contain_text("30 rows")


def test_text_in_another_encoding_is_read_or_refused(open_page: Open, server: Server) -> None:
    page = open_page()
    rows = "\n".join(f"{i},{i % 5},{'café' if i % 2 else 'thé'}" for i in range(20))
    send(page, "latin.csv", f"größe,breite,art\n{rows}\n".encode("latin-1"))
    report = page.locator("#upload-report")
    expect(report.locator(".report")).to_contain_text("latin.csv")
    assert server.answers("/healthz")
    page.wait_for_function("() => !document.querySelector('#upload-report').textContent.startsWith('Reading')")
    text = report.inner_text()
    assert "20 rows" in text or text.endswith("."), text


def test_markup_in_names_stays_text(open_page: Open) -> None:
    page = open_page()
    attack = "<script>window.hacked=1</script>"
    image = "<img src=x onerror=window.hacked=1>"
    rows = "\n".join(f"{i % 4},{i % 3},{i % 5},{image if i % 2 else 'b'}" for i in range(24))
    send(page, f"{image}.csv", f"{attack},b,<b>c</b>,label\n{rows}\n".encode())
    expect(page.locator("#preview thead")).to_contain_text("<script>window")
    expect(page.locator("#k")).to_have_value("2")
    press_run(page)
    await_finished(page)
    page.locator("#truth").get_by_text("With ground truth").click()
    expect(page.locator(".pane .js-plotly-plot").first).to_be_visible()
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("#k", "9999", "k is 9,999, but there are only 788 rows"),
        ("#k", "", "k is empty"),
        ("#k", "0", "k is 0"),
    ],
)
def test_a_k_that_does_not_fit_is_told_beside_the_button(open_page: Open, field: str, value: str, part: str) -> None:
    page = open_page()
    page.locator(field).fill(value)
    expect(page.locator("#settings-error")).to_contain_text(part)
    page.locator("#run-button").click()
    expect(page.locator("#settings-error")).to_contain_text(part)
    expect(page.locator("#summary")).to_contain_text("Recommended")
    page.locator(field).fill("7")
    expect(page.locator("#settings-error")).to_be_empty()


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("/?run=nothing", "not kept any more"),
        ("/?data=builtin:flame&k=two", "k=two"),
        ("/?data=builtin:nowhere&k=2", "nowhere"),
        ("/?data=upload:AAAAAAAAAAAAAAAAAAAAAA&k=2", "no longer kept"),
        ("/?data=builtin:flame&k=2&method=magic", "magic"),
        ("/?data=builtin:flame&k=9000", "9,000"),
        ("/?data=builtin:aggregation&k=7&select=1,x,999999,-3", ""),
        ("/?data=a&data=b&k=%00&select=%3Cscript%3E", ""),
    ],
)
def test_an_address_that_cannot_be_opened_says_why_and_shows_something(
    open_page: Open, address: str, part: str
) -> None:
    page = open_page(address)
    if part:
        expect(page.locator("#notice")).to_contain_text(part)
    expect(page.locator("#summary")).to_contain_text("Recommended")


def test_no_page_is_said_in_words(open_page: Open, watch: object) -> None:
    page = open_page("/nowhere", wait=False)
    expect(page.locator("body")).to_contain_text("no page")
    page.get_by_role("link", name="Explore").first.click()
    expect(page.locator("#summary")).to_contain_text("Recommended")
