"""What every answer tells the browser to forbid."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from dash import Dash
from flask.testing import FlaskClient

from app import create_app
from services.headers import ALWAYS
from services.settings import Settings

SECRET = "open-sesame-of-this-test"

pytestmark = pytest.mark.usefixtures("no_default_search")  # nothing here looks at a result


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Dash:
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), secret_key=SECRET))


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    return app.server.test_client()


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/healthz", "/assets/favicon.ico", "/nowhere", "/assets/none"])
def test_every_answer_has_the_headers(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    answer.close()  # files are sent as they are read
    for name, value in ALWAYS.items():
        assert answer.headers[name] == value, name
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert ("Content-Security-Policy" in answer.headers) == (answer.mimetype == "text/html")


def test_refusals_have_them_too(client: FlaskClient) -> None:
    answer = client.post("/_dash-update-component", data=b"{", content_type="application/json")
    assert answer.status_code == 400
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_policy_names_no_other_host_and_allows_no_script_but_ours(client: FlaskClient) -> None:
    policy = dict(part.split(" ", 1) for part in client.get("/").headers["Content-Security-Policy"].split("; "))
    assert {"object-src", "frame-src", "media-src", "frame-ancestors"} <= {
        name for name, value in policy.items() if value == "'none'"
    }
    for name, value in policy.items():
        allowed = set(value.split()) - {"'self'", "'none'", "data:", "blob:"}
        if name == "script-src":
            assert allowed
            assert all(one.startswith("'sha256-") for one in allowed)
        else:
            assert allowed <= ({"'unsafe-inline'"} if name == "style-src" else set()), name


def test_https_is_kept_to_where_it_is_used(client: FlaskClient) -> None:
    name = "Strict-Transport-Security"
    assert name not in client.get("/healthz").headers
    assert "max-age=31536000" in client.get("/healthz", headers={"X-Forwarded-Proto": "https"}).headers[name]
    assert name in client.get("/healthz", base_url="https://example.org").headers


def test_a_frame_that_is_allowed_is_not_denied(tmp_path: Path) -> None:
    made = create_app(Settings(data_dir=tmp_path, frame_ancestors="https://example.org"))
    answer = made.server.test_client().get("/")
    assert "X-Frame-Options" not in answer.headers
    assert "frame-ancestors https://example.org" in answer.headers["Content-Security-Policy"]


def test_the_key_stays_out_of_the_log_and_of_answers(
    client: FlaskClient, app: Dash, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [
        client.get(path).get_data(as_text=True) for path in ("/", "/_dash-layout", "/_dash-dependencies", "/readyz")
    ]
    client.post("/_dash-update-component", data=b"{", content_type="application/json")
    logging.getLogger("app").warning("settings: %s", Settings(secret_key=SECRET))
    assert app.server.secret_key == SECRET
    assert SECRET not in caplog.text
    assert not any(SECRET in answer for answer in answers)
