"""Whose browser it is, whose uploads these are, and what of the server only its operators may read."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from pathlib import Path

import pytest
from dash import Dash
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from callbacks.summary import following_values
from layouts import summary
from layouts.views import ResultView
from offgrid.errors import InputError
from services import logs, visitors
from services.disk import is_full
from services.handles import Handles, server_secret, short
from services.settings import Settings
from services.uploads import GONE, UploadStore

TABLE = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 9, i % 7) for i in range(40))
HTML = {"Accept": "text/html"}

pytestmark = pytest.mark.usefixtures("no_default_search")  # applications here are only asked for headers


def server(**config: object) -> Flask:
    made = Flask(__name__)
    made.secret_key = "key"
    visitors.recognise(made, prefix="/", **{"https": False, **config})  # type: ignore[arg-type]

    @made.get("/who")
    def who() -> str:
        return visitors.current()

    @made.get("/mine")
    def mine() -> str:
        return visitors.require()

    return made


# Cookies -------------------------------------------------------------------------------------------------------------


def test_a_browser_is_known_again_and_another_is_another() -> None:
    app = server()
    ann, bob = app.test_client(), app.test_client()
    first = ann.get("/who", headers=HTML).text
    assert ann.get("/who").text == ann.get("/mine").text == first
    assert len(first) >= 22
    assert bob.get("/who", headers=HTML).text != first


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites() -> None:
    cookie = server(https=True).test_client().get("/who", headers=HTML).headers["Set-Cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Lax", "Secure", "Path=/"))
    assert "Secure" not in server().test_client().get("/who", headers=HTML).headers["Set-Cookie"]


@pytest.mark.parametrize(
    "change", [lambda text: text[:-2], lambda text: "A" + text[1:], lambda text: text.split(".")[0]]
)
def test_a_forged_cookie_is_nobody_known(change: object) -> None:
    app = server()
    client = app.test_client()
    known = client.get("/who", headers=HTML).text
    cookie = client.get_cookie("offgrid-visitor")
    assert cookie is not None
    client.set_cookie("offgrid-visitor", change(cookie.value))  # type: ignore[operator]
    assert client.get("/who", headers=HTML).text != known


@pytest.mark.parametrize("jump", [-3_600.0, 10 * 365 * 86_400.0])
def test_a_browser_is_known_again_after_the_clock_was_set(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    client = server().test_client()
    known = client.get("/who", headers=HTML).text
    now = time.time() + jump
    monkeypatch.setattr(time, "time", lambda: now)
    cookie = client.get_cookie("offgrid-visitor")
    assert cookie is not None
    sent = f"offgrid-visitor={cookie.value}"
    assert client.get("/who", headers={**HTML, "Cookie": sent}).text == known


def test_without_cookies_nothing_is_begun() -> None:
    app = server()
    app.testing = True  # let the error through
    with pytest.raises(InputError, match="sent no cookie"):
        app.test_client(use_cookies=False).get("/mine", headers=HTML)


def test_files_and_health_give_no_cookie(tmp_path: Path) -> None:
    client = create_app(Settings(data_dir=tmp_path)).server.test_client()
    for path in ("/healthz", "/readyz", "/assets/favicon.ico"):
        with client.get(path) as answer:
            assert "Set-Cookie" not in answer.headers, path
    assert "Set-Cookie" in client.get("/", headers=HTML).headers


# Ids -----------------------------------------------------------------------------------------------------------------


def test_an_id_holds_for_its_kind_and_its_server_only() -> None:
    runs, uploads = Handles("run", lambda: "one"), Handles("upload", lambda: "one")
    handle = runs.new()
    assert runs.valid(handle)
    assert Handles("run", lambda: "one").valid(handle), "another process of the same server"
    assert not uploads.valid(handle)
    assert not Handles("run", lambda: "other").valid(handle)
    assert not any(
        runs.valid(wrong) for wrong in (None, 7, "", handle[:-1], handle + "A", handle.replace(".", "-"), [])
    )


def test_the_secret_is_made_once_and_an_empty_file_is_none(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    secret = server_secret(settings)
    assert len(secret) == 64
    assert server_secret(settings) == secret
    (tmp_path / "secret-key").write_text("")
    assert len(server_secret(settings)) == 64


# Room for uploads ----------------------------------------------------------------------------------------------------


@pytest.fixture
def size(tmp_path: Path) -> int:
    store = UploadStore(tmp_path / "measure")
    store.save("t.csv", TABLE)
    return store.size()


def age(store: UploadStore, *ids_: str) -> None:
    """Let these be used long ago, the first the longest."""
    for years, upload_id in enumerate(reversed(ids_), 1):
        then = time.time() - years * 1e7
        os.utime(store.folder / upload_id, (then, then))


def kept(store: UploadStore, **named: str) -> set[str]:
    return {name for name, upload_id in named.items() if (store.folder / upload_id).exists()}


def test_a_visitor_s_oldest_upload_makes_place_for_their_next(tmp_path: Path, size: int) -> None:
    store = UploadStore(tmp_path / "uploads", visitor_room=2.5 * size)
    bob = store.save("t.csv", TABLE, "bob").id
    first, second = (store.save("t.csv", TABLE, "ann").id for _ in range(2))
    age(store, bob, first, second)
    third = store.save("t.csv", TABLE, "ann").id
    assert kept(store, bob=bob, first=first, second=second, third=third) == {"bob", "second", "third"}


def test_a_table_over_a_visitor_s_room_is_refused_and_nothing_makes_place(tmp_path: Path, size: int) -> None:
    store = UploadStore(tmp_path / "uploads", visitor_room=1.5 * size)
    first = store.save("t.csv", TABLE, "ann").id
    with pytest.raises(InputError, match="for one visitor; use fewer rows"):
        store.save("big.csv", b"a,b\n" + b"1,2.5\n2,5.25\n3,3.125\n" * 9_000, "ann")
    assert kept(store, first=first) == {"first"}


def test_a_full_server_gives_up_what_nobody_uses_and_else_refuses(tmp_path: Path, size: int) -> None:
    store = UploadStore(tmp_path / "uploads", room=2.5 * size)
    old, new = store.save("t.csv", TABLE, "ann").id, store.save("t.csv", TABLE, "bob").id
    with pytest.raises(InputError, match="no room for another file now"):
        store.save("t.csv", TABLE, "eve")
    age(store, old)
    third = store.save("t.csv", TABLE, "eve").id
    assert kept(store, old=old, new=new, third=third) == {"new", "third"}
    assert not list(store.folder.glob(".new-*"))


def test_an_upload_that_a_search_needs_stays(tmp_path: Path, size: int) -> None:
    busy: set[str] = set()
    store = UploadStore(tmp_path / "uploads", visitor_room=1.5 * size, room=1.5 * size, in_use=lambda: busy)
    first = store.save("t.csv", TABLE, "ann").id
    busy.add(first)
    age(store, first)
    with pytest.raises(InputError, match="searches under way need all the room"):
        store.save("t.csv", TABLE, "ann")
    with pytest.raises(InputError, match="no room for another file now"):
        store.save("t.csv", TABLE, "bob")
    assert kept(store, first=first) == {"first"}


def test_a_full_disk_refuses_an_upload_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = UploadStore(tmp_path / "uploads")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(InputError, match="no room for another file now"):
        store.save("t.csv", TABLE)
    assert list(store.folder.iterdir()) == []
    assert is_full(OSError(28, ""))
    assert not is_full(OSError(13, ""))


def test_ids_of_another_server_open_nothing(tmp_path: Path) -> None:
    store = UploadStore(tmp_path / "uploads", handles=Handles("upload", lambda: "one"))
    upload = store.save("t.csv", TABLE, "ann")
    other = UploadStore(tmp_path / "uploads", handles=Handles("upload", lambda: "two"))
    with pytest.raises(InputError) as caught:
        other.get(upload.id)
    assert str(caught.value) == GONE


# For operators -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Dash:
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), url_prefix="/off/", metrics_token="t0ken"))


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    return app.server.test_client()


def test_metrics_are_for_who_has_the_token(client: FlaskClient) -> None:
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 403
    answer = client.get("/metrics", headers={"Authorization": "Bearer t0ken"})
    assert answer.status_code == 200
    assert 'offgrid_runs{state="queued"}' in answer.text
    assert "offgrid_slots 2.0" in answer.text
    again = client.get("/off/metrics", headers={"Authorization": "Bearer t0ken"}).text
    assert 'offgrid_http_requests_total{kind="operation",status="403"} 2.0' in again


def test_without_a_token_metrics_are_for_this_machine(tmp_path: Path) -> None:
    client = create_app(Settings(data_dir=tmp_path)).server.test_client()
    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 403
    assert client.get("/metrics", environ_base={"REMOTE_ADDR": "10.0.0.1"}).status_code == 403


def test_readiness_says_which_check_fails(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.server.is_writable", lambda _: False)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json() == {
        "status": "not ready",
        "checks": {"disk": False, "runs": True, "first page": False},
    }


def test_everything_is_below_the_prefix(client: FlaskClient) -> None:
    page = client.get("/off/", headers=HTML)
    assert page.status_code == 200
    assert client.get("/", headers=HTML).status_code == 404
    assert "Path=/off/" in page.headers["Set-Cookie"]
    addresses = re.findall(r'(?:src|href)="(/[^"]*)"', page.text)
    assert addresses
    assert all(address.startswith("/off/") for address in addresses)
    assert client.get("/off/_dash-layout").status_code == 200
    layout = json.dumps(client.get("/off/_dash-layout").get_json())
    assert '"href": "/off/"' in layout
    assert '"href": "/"' not in layout


def test_a_line_of_the_log_is_one_json_object_about_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    root.handlers = []
    try:
        logs.set_up("INFO", "json")
        handle = Handles("run").new()
        with logs.about_run(handle):
            try:
                raise RuntimeError("broken")
            except RuntimeError:
                logging.getLogger("offgrid.test").exception("it failed for %s", "Ann\nB.")
        logging.getLogger("offgrid.test").info("about nothing")
    finally:
        root.handlers, root.level = before
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["level"], first["run"], first["message"]) == ("ERROR", short(handle), "it failed for Ann\nB.")
    assert "RuntimeError: broken" in first["trace"]
    assert handle not in json.dumps(first)
    assert "run" not in second


# What the page says --------------------------------------------------------------------------------------------------


def test_who_follows_alone_sees_cancel_and_the_pin_only() -> None:
    values = following_values(ResultView(state="running"), cancelling=False)
    assert (values["cancel_style"], values["pin_style"], values["running_note"]) == ({}, {}, None)
    assert (values["notice_hidden"], values["run_disabled"]) == (True, True)


def test_who_does_not_follow_can_look_or_follow() -> None:
    values = following_values(ResultView(state="running", follows=False, others=1), cancelling=False)
    assert values["cancel_style"] == values["pin_style"] == {"display": "none"}
    assert values["notice_text"] == "Others do, and it goes on until they leave it. Follow it, and it goes on for you."
    assert (values["resume_label"], values["resume_style"], values["run_disabled"]) == ("Follow", {}, False)


def test_a_search_that_ended_by_itself_says_why() -> None:
    told = summary.notice(ResultView(state="cancelled", message="No page has shown it for 5 minutes."))
    assert told.title == "The search was ended."
    assert told.text.startswith("No page has shown it for 5 minutes. Nothing was found yet.")


def test_a_page_that_waits_asks_less_often() -> None:
    assert summary.poll_ms(ResultView(state="queued", queue_place=5)) > summary.poll_ms(ResultView(state="running"))
