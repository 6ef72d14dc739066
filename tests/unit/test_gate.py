"""What may come in: the pages' own updates pass, everything else is a sentence, and nothing is ever a trace."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import dash
import numpy as np
import pytest
from dash import Dash
from flask.testing import FlaskClient

from app import create_app
from callbacks import gate
from callbacks.state import drawn_sigmas
from layouts import ids
from offgrid.path import BandwidthPath, PathRecord
from services.settings import Settings

UPDATE = "/_dash-update-component"

pytestmark = pytest.mark.usefixtures("no_default_search")  # nothing here looks at a result


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Dash:
    made = create_app(Settings(data_dir=tmp_path_factory.mktemp("data")))
    made.server.test_client().get("/")
    return made


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    return app.server.test_client()


def update(app: Dash, output: str, **values: Any) -> dict[str, Any]:
    """Return an update as a page sends it, of the first callback that writes this output."""
    name, callback = next((name, one) for name, one in app.callback_map.items() if output in name and "callback" in one)
    items = {
        kind: [
            [] if spec["id"].startswith("{") else {**spec, "value": values.get(f"{spec['id']}.{spec['property']}")}
            for spec in callback[kind]
        ]
        for kind in ("inputs", "state")
    }
    several = isinstance(callback["output"], list)
    outputs = [
        [] if isinstance(one.component_id, dict) else {"id": one.component_id, "property": one.component_property}
        for one in (callback["output"] if several else [callback["output"]])
    ]
    changed = [f"{item['id']}.{item['property']}" for item in items["inputs"] if item][:1]
    return {"output": name, "outputs": outputs if several else outputs[0], **items, "changedPropIds": changed}


def hidden_fields(app: Dash) -> dict[str, Any]:
    return update(app, f"{ids.START_VALUE_FIELD}.hidden", **{f"{ids.METHOD}.value": "dyadic"})


def test_an_update_of_a_page_passes(app: Dash, client: FlaskClient) -> None:
    answer = client.post(UPDATE, json=hidden_fields(app))
    assert answer.status_code == 200
    assert answer.get_json()["response"][ids.DEPTHS_FIELD] == {"hidden": False}


def test_every_callback_s_own_empty_values_pass(app: Dash) -> None:
    for name, callback in app.callback_map.items():
        if "callback" in callback:
            body = update(app, name, **{f"{ids.METHOD}.value": "certified"})
            assert gate.checked_update(body, app.callback_map) is None, name


def changed(**changes: Any) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, **changes}

    return change


def without(key: str) -> Any:
    return lambda body: {name: value for name, value in body.items() if name != key}


def first_input(**changes: Any) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        body["inputs"][0] = {**body["inputs"][0], **changes}
        return body

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("output"),
        changed(output=None),
        changed(output=["x.y"]),
        changed(output={}),
        without("outputs"),
        changed(outputs=None),
        changed(outputs={}),
        changed(outputs=[]),
        changed(outputs=[None] * 4),
        lambda body: {**body, "outputs": body["outputs"][::-1]},
        lambda body: {**body, "outputs": body["outputs"] * 2},
        without("inputs"),
        changed(inputs=None),
        changed(inputs={}),
        changed(inputs=[]),
        changed(inputs=[None, None]),
        changed(inputs=[[], []]),
        lambda body: {**body, "inputs": body["inputs"][::-1]},
        lambda body: {**body, "inputs": body["inputs"] * 2},
        changed(state=[{"id": "x", "property": "y"}]),
        changed(state="all"),
        changed(changedPropIds=None),
        changed(changedPropIds=[{}]),
        changed(changedPropIds=["\ud800"]),
        first_input(id={}),
        first_input(id=None),
        first_input(id=["method"]),
        first_input(property="id"),
        first_input(property=None),
        first_input(value=7),
        first_input(value=None),
        first_input(value="magic"),
        first_input(value=["certified"]),
    ],
)
def test_what_no_page_sends_is_refused_in_a_sentence(app: Dash, client: FlaskClient, change: Any) -> None:
    answer = client.post(UPDATE, json=change(copy.deepcopy(hidden_fields(app))))
    assert answer.status_code == 400
    text = answer.get_data(as_text=True)
    assert text.startswith("The ")
    assert text.endswith(".\n")
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"output":' + b"9" * 9_000 + b"}",
    ],
)
def test_what_is_no_json_is_refused_in_a_sentence(client: FlaskClient, data: bytes) -> None:
    answer = client.post(UPDATE, data=data, content_type="application/json")
    assert answer.status_code == 400
    assert answer.get_data(as_text=True).startswith("The request holds")


def test_a_request_of_very_many_values_is_not_even_read(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("the request was read"))
    data = b'{"output":[' + b"[]," * (gate.MOST_VALUES // 2 + 1) + b"0]}"
    answer = client.post(UPDATE, data=data, content_type="application/json")
    assert answer.status_code == 400
    assert "more than 200,000 values" in answer.get_data(as_text=True)


def test_a_text_with_many_brackets_is_a_file_s_content_all_the_same(app: Dash) -> None:
    contents = "data:text/csv;base64," + "A" * 3_000_000
    body = update(app, f"{ids.UPLOAD_REPORT}.children", **{f"{ids.UPLOAD}.contents": contents})
    assert gate.checked_update(body, app.callback_map) is None


@pytest.mark.parametrize("output", ["x.children", "..x.children...y.data..", "", ".", "scheme.data", "__class__.x"])
def test_a_page_of_another_version_is_told_to_reload(app: Dash, client: FlaskClient, output: str) -> None:
    answer = client.post(UPDATE, json={**hidden_fields(app), "output": output})
    assert answer.status_code == 200
    told = answer.get_json()["sideUpdate"][ids.NOTIFICATIONS]["sendNotifications"][0]
    assert told["message"] == gate.OLD_PAGE


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (f"{ids.RUN}.data", 7),
        (f"{ids.RUN}.data", {"id": "x"}),
        (f"{ids.RUN}.data", {"query": {"k": 7}}),
        (f"{ids.RUN}.data", {"id": "\ud800", "query": {}}),
        (f"{ids.SHOWN}.data", {"id": "x"}),
        (f"{ids.SHOWN}.data", {"id": "x", "sigmas": "many"}),
        (f"{ids.SELECTION}.data", {"indices": ["1"]}),
        (f"{ids.SELECTION}.data", {"indices": [10**400]}),
        (f"{ids.SELECTION}.data", [1]),
        (f"{ids.X_AXIS}.value", {"a": 1}),
        (f"{ids.KERNEL}.value", ["rbf"]),
        (f"{ids.PLUS_WEIGHT}.value", {"a": 1}),
        (f"{ids.COMPARE_WITH}.value", 7),
    ],
)
def test_values_of_other_types_than_the_page_s_are_refused(app: Dash, place: str, value: Any) -> None:
    component, name = place.split(".")
    output = next(
        output
        for output, one in app.callback_map.items()
        if "callback" in one and {"id": component, "property": name} in [*one["inputs"], *one["state"]]
    )
    body = update(app, output, **{f"{ids.METHOD}.value": "certified"})
    assert gate.checked_update(body, app.callback_map) is None
    with pytest.raises(gate.MalformedError, match=f"The value of {place} cannot be used"):
        gate.checked_update(update(app, output, **{f"{ids.METHOD}.value": "certified", place: value}), app.callback_map)


def test_a_path_up_to_ordinary_k_means_passes(app: Dash) -> None:
    # Where no bandwidth is recommended, the path ends at σ = ∞, told to the browser as the largest number there is.
    end = BandwidthPath([PathRecord(s, s, s, np.zeros(3, np.int32), np.array([0]), 0.1) for s in (1.0, math.inf)])
    shown = {"id": "x", "version": "y", "sigmas": json.loads(json.dumps(drawn_sigmas(end)))}
    body = update(app, f"{ids.PATH_GRAPH}.figure", **{f"{ids.SHOWN}.data": shown})
    assert gate.checked_update(body, app.callback_map) is None
    shown["sigmas"][-1] = math.nan
    with pytest.raises(gate.MalformedError):
        gate.checked_update(update(app, f"{ids.PATH_GRAPH}.figure", **{f"{ids.SHOWN}.data": shown}), app.callback_map)


def test_a_file_may_have_a_name_that_is_no_proper_text(app: Dash) -> None:
    body = update(app, f"{ids.UPLOAD_REPORT}.children", **{f"{ids.UPLOAD}.filename": "\ud800.csv"})
    assert gate.checked_update(body, app.callback_map) is None
    body = update(app, f"{ids.UPLOAD_REPORT}.children", **{f"{ids.UPLOAD}.filename": ["a.csv"]})
    with pytest.raises(gate.MalformedError):
        gate.checked_update(body, app.callback_map)


def test_ids_of_patterns_are_matched_by_their_keys() -> None:
    pattern = '{"place":["ALL"],"type":"graph"}'
    assert gate._matches({"id": {"place": 1, "type": "graph"}, "property": "figure"}, pattern, "figure")
    for wrong in ({"place": 1}, {"place": [1], "type": "graph"}, {"place": 1, "type": "graph", "x": 1}, "graph", None):
        assert not gate._matches({"id": wrong, "property": "figure"}, pattern, "figure")


@pytest.mark.parametrize(
    "query", ["cacheKey=x&job=1", "cacheKey=%C3%A9~%C3%A9", "oldJob=1~0&endId=~", "job=" + "9" * 999]
)
def test_forged_handles_of_jobs_do_nothing(app: Dash, client: FlaskClient, query: str) -> None:
    answer = client.post(f"{UPDATE}?{query}", json=update(app, f"{ids.DONE}.data"))
    assert answer.status_code in (200, 204, 400)
    assert "Traceback" not in answer.get_data(as_text=True)


@pytest.mark.parametrize(
    "path",
    [
        "/_dash-component-suites/os/path",
        "/_dash-component-suites/services/settings.py",
        "/_dash-component-suites/dash/../../../etc/passwd",
        "/_dash-component-suites/dash/%2e%2e/%2e%2e/app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
    ],
)
def test_no_file_of_the_server_can_be_asked_for(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert "import " not in answer.get_data(as_text=True)
    assert "root:" not in answer.get_data(as_text=True)
    assert answer.status_code in (200, 404)  # 200 is the page that says there is no such page


def test_what_fails_within_the_server_is_told_without_a_trace(
    app: Dash, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dash.Dash, "_prepare_callback", lambda *_: 1 / 0)
    answer = client.post(UPDATE, json=hidden_fields(app))
    assert answer.status_code == 200
    assert gate.FAILED in answer.get_data(as_text=True)
    monkeypatch.setattr(dash.Dash, "index", lambda *_, **__: 1 / 0)
    answer = client.get("/")
    assert (answer.status_code, answer.get_data(as_text=True)) == (500, f"{gate.FAILED}\n")
    assert caplog.text.count("ZeroDivisionError") >= 2
