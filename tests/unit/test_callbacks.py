"""The application without a browser: addresses, views, files to take away, refusals, headers."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dash import Dash
from flask.testing import FlaskClient

from app import create_app
from callbacks import clusterings_panel, explore, export_menu, state
from callbacks.clusterings_panel import Drawing
from callbacks.fields import asked_from, settings_view
from callbacks.path_panel import drawn_path
from callbacks.settings_panel import checked, data_values, decoded, proposed_view
from callbacks.state import Look
from figures.clustering import matched_clusterings
from layouts import ids
from offgrid.errors import InputError
from offgrid.path import BandwidthPath, LevelEnd, PathRecord
from offgrid.selection import recommend
from services import export, logs, startup
from services.context import Services
from services.jobs import execute
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.runs import Run
from services.settings import Settings

FLAME = RunSettings(DataSpec("builtin:flame"), SearchSettings(2))
WIDE = Look()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    """Services over a folder in which the default run and one of Flame are finished."""
    made = Services(Settings(data_dir=tmp_path_factory.mktemp("data")))
    for asked in (startup.DEFAULT, FLAME):
        execute(made.request(asked), made)
    return made


@pytest.fixture(scope="module")
def app(services: Services) -> Dash:
    return create_app(services.settings)


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    return app.server.test_client()


def flame(services: Services) -> Run:
    run = services.runs.get(services.request(FLAME))
    assert run is not None
    assert run.state == "finished"
    return run


FIELD_VALUES: dict[str, Any] = {
    "data": "builtin:flame", "uploaded": {}, "columns": [], "column_options": [], "label": "auto", "missing": "drop",
    "scaling": "none", "k": 2, "init": "random", "seed": 0, "n_init": 1, "method": "certified", "depths": ["1", "2"],
    "start": "percentile", "start_value": "", "limiting": "none", "max_steps": "", "kernel": "rbf", "offset": 1.0,
    "sum_kernel": "rbf", "plus_weight": 0.5, "plus_kernel": "laplacian", "plus_value": 1.0, "compare": [],
}  # fmt: skip


# Fields --------------------------------------------------------------------------------------------------------------


def test_fields_at_their_defaults_are_the_default_settings() -> None:
    assert asked_from(FIELD_VALUES) == FLAME


def test_every_field_counts() -> None:
    changed = {
        "columns": ["b"], "column_options": ["a", "b"], "label": "", "missing": "median", "scaling": "robust", "k": 4,
        "init": "k-means++", "seed": 3, "n_init": 2, "method": "dyadic", "depths": ["3", "1"], "start": "value",
        "start_value": 0.5, "limiting": "movers", "max_steps": 9, "kernel": "polynomial", "offset": 3.0,
        "compare": ["mknn", "grid"],
    }  # fmt: skip
    assert asked_from({**FIELD_VALUES, **changed}) == RunSettings(
        DataSpec("builtin:flame", ("b",), None, "median", "robust"),
        SearchSettings(4, "dyadic", (1, 3), 0.5, "k-means++", 2, 3, "movers", 9, "polynomial", 3.0),
        ("grid", "mknn"),
    )


def test_a_sum_of_kernels_takes_its_own_fields() -> None:
    changed = {"kernel": "sum", "sum_kernel": "laplacian", "plus_kernel": "polynomial", "plus_value": 2, "offset": 4}
    search = asked_from({**FIELD_VALUES, **changed}).search
    assert (search.kernel, search.plus, search.offset) == ("laplacian", (0.5, "polynomial", 2.0), 4.0)
    assert search.kernel_title == "Laplacian + Polynomial"
    assert asked_from({**FIELD_VALUES, "plus_weight": ""}).search.plus is None, "hidden fields do not count"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"data": None}, "No data are chosen"),
        ({"columns": [], "column_options": ["a"]}, "No column is chosen"),
        ({"k": ""}, "k is empty; give a number."),
        ({"k": None}, "k is empty"),
        ({"k": 2.5}, "k is 2.5; it must be a whole number."),
        ({"k": "many"}, "k is 'many'; it must be a number."),
        ({"seed": -1}, "The seed is -1"),
        ({"start": "value", "start_value": ""}, "The first value is empty"),
        ({"start": "value", "start_value": -2}, "The first value is -2; it must be a positive number."),
        ({"depths": []}, "No depth is chosen"),
        ({"max_steps": 0}, "The step budget is 0"),
        ({"n_init": 0}, "The number of restarts is 0"),
    ],
)
def test_a_field_that_cannot_be_used_is_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        asked_from({**FIELD_VALUES, **changed})
    assert sentence in str(caught.value)


def test_k_must_fit_the_rows(services: Services) -> None:
    with pytest.raises(InputError, match="k is 241, but there are only 240 rows; choose k from 1 to 240"):
        checked(services, {**FIELD_VALUES, "k": 241})


def test_too_many_rows_are_refused(tmp_path: Path) -> None:
    small = Services(Settings(data_dir=tmp_path, max_rows=239))
    with pytest.raises(InputError, match="240 rows, and this server takes 239; use fewer rows"):
        small.request(FLAME)
    assert not (tmp_path / "runs.sqlite3").exists()


TABLE = b"width,height,kind\n" + b"".join(b"%d,%d,%s\n" % (i % 9, i % 7, b"ab"[i % 2 : i % 2 + 1]) for i in range(40))


def test_an_upload_proposes_what_suits_it(services: Services) -> None:
    upload = services.uploads.save("table.csv", TABLE)
    view = proposed_view(services, f"upload:{upload.id}")
    assert (view.k, view.k_note, view.scaling, view.label) == (2, "k, from the labels", "unit", "kind")
    assert list(view.columns) == list(view.chosen_columns) == ["width", "height"]
    values = data_values(view)
    assert (values["gallery"], values["uploaded"]["id"]) == (None, upload.id)
    fields = {
        **FIELD_VALUES,
        **{
            name: values[name] for name in ("columns", "column_options", "label", "missing", "scaling", "k", "uploaded")
        },
        "data": values["gallery"],
    }
    asked = checked(services, fields)
    assert asked.data == DataSpec(f"upload:{upload.id}", scaling="unit"), "defaults make a short address"
    assert settings_view(services, asked) == view


def test_a_label_that_an_address_asks_for_is_among_those_to_choose_from(services: Services) -> None:
    rows = b"".join(b"%d,%.1f,%s\n" % (i, i % 4 / 2, b"ab"[i % 2 : i % 2 + 1]) for i in range(40))
    upload = services.uploads.save("table.csv", b"width,half,kind\n" + rows)
    source = f"upload:{upload.id}"
    assert list(proposed_view(services, source).label_options) == ["kind"]
    asked = RunSettings(DataSpec(source, label="half"), SearchSettings(4))
    view = settings_view(services, asked)
    assert (view.label, list(view.label_options)) == ("half", ["kind", "half"])


def test_a_built_in_set_proposes_its_own(services: Services) -> None:
    view = proposed_view(services, "builtin:wine")
    assert (view.k, view.scaling, view.upload) == (3, "unit", None)
    assert data_values(view)["uploaded"] == {}


def test_what_arrives_broken_is_refused() -> None:
    assert decoded("data:text/csv;base64,YSxi") == b"a,b"
    with pytest.raises(InputError, match="did not arrive whole"):
        decoded("data:text/csv;base64,YSxi?")


# Addresses -----------------------------------------------------------------------------------------------------------


def test_the_bare_address_opens_the_finished_default(services: Services) -> None:
    opened = explore.open_address(services, {})
    assert opened.asked == startup.DEFAULT
    assert opened.run is not None
    assert opened.run.state == "finished"
    assert opened.alert == ""


def test_an_address_opens_its_run(services: Services) -> None:
    run = flame(services)
    assert explore.open_address(services, {**FLAME.to_query(), "run": run.id}) == explore.Opened(FLAME, run)
    assert explore.open_address(services, {"run": run.id}) == explore.Opened(FLAME, run)


def test_an_address_made_by_hand_finds_the_finished_run(services: Services) -> None:
    assert explore.open_address(services, FLAME.to_query()).run == flame(services)


def test_an_address_with_other_settings_than_its_run_shows_the_run(services: Services) -> None:
    opened = explore.open_address(services, {"data": "builtin:flame", "k": "5", "run": flame(services).id})
    assert (opened.asked, opened.run) == (FLAME, flame(services))


@pytest.mark.parametrize(
    ("query", "alert"),
    [
        ({"run": "gone"}, explore.GONE),
        ({"data": "builtin:flame", "k": "3", "run": "gone"}, explore.GONE),
        ({"data": "builtin:nothing", "k": "3"}, "nothing"),
        ({"data": "builtin:flame", "k": "x"}, "k=x"),
        ({"data": "upload:" + "A" * 22, "k": "2"}, "no longer kept"),
    ],
)
def test_what_an_address_cannot_open_is_said(services: Services, query: dict[str, str], alert: str) -> None:
    opened = explore.open_address(services, query)
    assert alert in opened.alert
    assert explore.page(services, query) is not None


def test_a_page_is_drawn_for_any_selection(services: Services) -> None:
    for text in ("1,4", "x", "", "999", "1," * 50):
        assert explore.page(services, {**FLAME.to_query(), "select": text}) is not None


# Views ---------------------------------------------------------------------------------------------------------------


def record(sigma: float, cnnc: float, nmi: float | None = None, level: int = 1) -> PathRecord:
    return PathRecord(sigma, sigma, sigma, np.array([0, 1, 1], dtype=np.int32), np.array([1]), cnnc, nmi, level=level)


def path_of(*records: PathRecord) -> BandwidthPath:
    return BandwidthPath(records, [LevelEnd(1, "k-means", float("inf"))])


def chosen(path: BandwidthPath, data: Any, *, growing: bool = False) -> tuple[tuple[int, ...], int | None]:
    best = recommend(path.records)
    return state.selection_of(data, path, best and best.index, growing=growing)


def test_an_address_selects_six_at_most(services: Services) -> None:
    run = flame(services)
    chosen = state.parse_selection("0,1,2,3,4,5,6,7,8")
    assert len(run.path) > 9
    assert state.result_view(services, FLAME, run, chosen, WIDE).selection == (0, 1, 2, 3, 4, 5)


def test_nobody_chose_best_labels_recommended_and_the_far_end() -> None:
    path = path_of(record(1, 0.5, 0.2), record(2, 0.4, 0.9), record(3, 0.1, 0.8), record(4, 0.2, 0.7))
    assert chosen(path, {"auto": True}) == ((1, 2, 3), 2)
    assert chosen(path, None) == ((1, 2, 3), 2)


def test_nobody_chose_and_no_labels_the_longest_lived_stands_in() -> None:
    path = path_of(record(1, 0.5), record(2, 0.4), record(20, 0.1), record(25, 0.2))
    assert chosen(path, None) == ((1, 2, 3), 2)


def test_while_it_grows_the_best_and_the_one_before_are_shown() -> None:
    path = path_of(record(1, 0.5), record(2, 0.6), record(3, 0.4), record(4, 0.45))
    assert chosen(path, None, growing=True) == ((0, 2), 2)
    assert chosen(path_of(), None, growing=True) == ((), None)


def test_a_selection_is_kept_in_order_of_bandwidth_and_within_the_path() -> None:
    path = path_of(record(5, 0.5), record(2, 0.4, level=2), record(3, 0.1, level=2))
    assert chosen(path, {"auto": False, "indices": [0, 2, 1, 77, "x"], "active": 0}) == ((1, 2, 0), 0)
    assert chosen(path, {"auto": False, "indices": [], "active": 99}) == ((), None)


def test_the_view_of_data_that_are_gone_still_has_its_path(services: Services) -> None:
    lost = RunSettings(DataSpec("upload:" + "A" * 22), SearchSettings(2))
    view = state.result_view(services, lost, flame(services), None, WIDE)
    assert view.title == "The data are not kept any more"
    assert len(view.path) == len(flame(services).path)
    assert drawn_path(view)["data"]
    assert clusterings_panel.drawn_panes(services, view, lost, Drawing(("column:0", "column:1")), {}).written == {}


def test_panes_are_redrawn_only_when_something_in_them_differs(services: Services) -> None:
    run_data = {"id": flame(services).id, "query": FLAME.to_query()}
    view = state.result_view(services, FLAME, flame(services), None, WIDE)
    wanted = clusterings_panel.signature(view, run_data, {"axes": ["column:0", "column:1"], "truth": "clusters"})
    drawn = {"signature": wanted, "at": 0.0}
    assert clusterings_panel.is_due({}, wanted, view, None)
    assert not clusterings_panel.is_due(drawn, wanted, view, None)
    assert clusterings_panel.is_due(drawn, wanted + "x", view, None)
    running = replace(view, state="running")
    now = {"signature": "", "at": clusterings_panel.time.time()}
    assert not clusterings_panel.is_due(now, wanted, running, {"auto": True})
    assert clusterings_panel.is_due(now, wanted, running, {"auto": False}), "what a person chose is drawn at once"


def test_only_figures_that_differ_are_sent_and_those_that_go_are_emptied(services: Services) -> None:
    along, scheme = ("column:0", "column:1"), WIDE

    def panes(selection: Sequence[int], before: Mapping[str, str], **how: bool) -> clusterings_panel.Panes:
        chosen = {"indices": [*selection], "active": selection[-1], "auto": False}
        view = state.result_view(services, FLAME, flame(services), chosen, scheme)
        return clusterings_panel.drawn_panes(services, view, FLAME, Drawing(along, **how), before)

    def sent(found: clusterings_panel.Panes) -> dict[int, bool]:
        return {place: graph != {} for place, graph in found.graphs.items()}

    first = panes([0, 1, 3], {})
    assert sent(first) == {0: True, 1: True, 2: True}
    assert sent(panes([0, 1, 3], first.digests)) == {}
    walked = panes([0, 1, 4], first.digests)
    assert sent(walked) == {2: True}
    assert sent(panes([0, 1, 3], walked.digests)) == {2: True}
    assert sent(panes([0, 1, 3], first.digests, truth=True)) == {6: True}
    assert sent(panes([0, 1], first.digests)) == {2: False}
    assert [*panes([0, 1], first.digests).written] == [0, 1]
    scheme = state.Look("dark")
    assert sent(panes([0, 1, 3], first.digests)) == {0: True, 1: True, 2: True}


def test_a_page_without_a_run_shows_nothing_of_another(services: Services) -> None:
    run_data = {"query": FLAME.to_query()}
    assert state.run_id(run_data) == state.run_id({}) == ""
    assert state.shown_run(services, run_data) is None
    assert state.asked_in(run_data) == FLAME
    assert state.store_of_path(None) == {}


def test_what_is_shown_is_drawn_anew_when_the_run_or_what_stands_beside_it_changes(services: Services) -> None:
    run = flame(services)
    assert run.path.n_found > 1
    shorter = replace(run, path=BandwidthPath(run.path.found[:-1]))
    versions = {state.store_of_path(one)["version"] for one in (run, shorter, replace(run, version="later"))}
    assert len(versions) == 3


def test_panels_show_as_much_as_the_page_knows_of(services: Services) -> None:
    run_data = {"id": flame(services).id, "query": FLAME.to_query()}
    known = {"id": run_data["id"], "sigmas": [1.0, 2.0]}
    cut = state.drawn_run(services, run_data, known)
    assert cut is not None
    assert (len(cut.path), cut.path.ends, cut.state) == (2, {}, "running")
    for whole in ({}, {**known, "id": "another"}, {**known, "sigmas": [0.0] * 999}):
        run = state.drawn_run(services, run_data, whole)
        assert run is not None
        assert run.path.found == flame(services).path.records


def test_the_data_are_described_with_all_that_was_done_to_them(services: Services) -> None:
    points = services.points(FLAME.data)
    assert state.describe(points, "none", SearchSettings(2)) == "240 rows, 2 columns, 2 classes, k = 2, RBF kernel"
    fewer = replace(points, y=None, n_given=245)
    assert state.describe(fewer, "unit", SearchSettings(3, kernel="laplacian")) == (
        "240 of 245 rows, 2 columns, unit variance, k = 3, Laplacian kernel"
    )


# Files ---------------------------------------------------------------------------------------------------------------


def run_data_of(services: Services) -> dict[str, Any]:
    return {"id": flame(services).id, "query": FLAME.to_query()}


def test_the_path_is_saved_as_csv(services: Services) -> None:
    file = export_menu.exported(services, ids.EXPORT_PATH_CSV, run_data_of(services), None)
    assert file.name == "flame-k2-path.csv"
    rows = list(csv.DictReader(io.StringIO(file.text)))
    recommended = services.compared(FLAME)["recommended"]
    found = [record.sigma for record in flame(services).path.records]
    assert [float(row["sigma"]) for row in rows] == sorted([*found, recommended.choice.sigma])
    [beside] = [row for row in rows if row["recommended"] == "true"]
    assert (float(beside["sigma"]), beside["level"]) == (recommended.choice.sigma, "0")


@pytest.mark.parametrize("index", [1, 3, -1])
def test_labels_are_those_of_the_active_value_numbered_as_on_the_page(services: Services, index: int) -> None:
    place = index % (len(flame(services).path) + 1)
    selection = {"auto": False, "indices": [1, 3, len(flame(services).path)], "active": place}
    run_data = run_data_of(services)
    file = export_menu.exported(services, ids.EXPORT_LABELS_CSV, run_data, selection)
    run = state.shown_run(services, run_data)
    assert run is not None
    view = state.result_view(services, FLAME, run, selection, WIDE)
    shown = {one.index: one.labels for one in matched_clusterings(view.path, view.selection, 2)}[place]
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert [int(row["cluster"]) for row in rows] == (shown + 1).tolist()
    assert list(rows[0]) == ["row", *services.points(FLAME.data).feature_names, "label", "cluster"]
    assert file.name == f"flame-k2-labels-sigma-{run.path.records[place].sigma:.6g}.csv"


def test_the_clustering_of_an_upload_is_its_file_with_a_column_more(services: Services) -> None:
    lines = [f"B{i:02};{'NS'[i % 2]};{i % 5},{i};{i * i % 11},25" for i in range(30)]
    lines[4] = "B04;N;;1,25"
    upload = services.uploads.save("cellar.csv", "\n".join(["bottle;region;acid;sugar", *lines]).encode())
    asked = RunSettings(DataSpec(f"upload:{upload.id}", scaling="unit"), SearchSettings(2, max_steps=3), ())
    run_id = services.request(asked)
    execute(run_id, services)
    run_data = {"id": run_id, "query": asked.to_query()}
    file = export_menu.exported(services, ids.EXPORT_LABELS_CSV, run_data, None)
    head, *rows = file.text.splitlines()
    assert head == "row;bottle;region;acid;sugar;cluster"
    assert [row.split(";", 1)[1].rsplit(";", 1)[0] for row in rows] == lines
    assert [row.split(";")[0] for row in rows if row.endswith(";")] == ["5"]
    assert {row.rsplit(";", 1)[1] for row in rows} == {"1", "2", ""}
    values = json.loads(export_menu.exported(services, ids.EXPORT_RUN_JSON, run_data, None).text)
    assert values["data"]["row_numbers"] == [1, 2, 3, 4, *range(6, 31)]
    draw = clusterings_panel.painter(services, services.points(asked.data), None, ("column:0", "column:1"), "light")
    points = draw(np.zeros(29, dtype=int), 2)["data"][0]
    assert points["hovertext"][4] == "B05"
    assert np.frombuffer(base64.b64decode(points["customdata"]["bdata"]), "i4")[8] == 6


def test_the_run_is_saved_as_json(services: Services) -> None:
    file = export_menu.exported(services, ids.EXPORT_RUN_JSON, run_data_of(services), None)
    values = json.loads(file.text)
    assert len(values["records"]) == len(flame(services).path) + 1
    assert values["recommended"]["reason"].startswith("it separates the fewest near neighbours: ")
    assert values["search"]["n_clusters"] == 2
    assert (values["data"]["scaling"], values["state"]) == ("none", "finished")


def test_nothing_found_is_nothing_to_save(services: Services) -> None:
    with pytest.raises(InputError, match="nothing to save"):
        export_menu.exported(services, ids.EXPORT_PATH_CSV, {}, None)


@pytest.mark.parametrize(
    ("title", "name"),
    [("My Data (2).CSV", "my-data-2"), ("größe.xlsx", "groe"), ("../../etc/passwd", "etc-passwd"), ("日本", "data")],
)
def test_names_of_files_are_plain(title: str, name: str) -> None:
    assert export.slug(title) == name


# The server ----------------------------------------------------------------------------------------------------------


def test_health_and_readiness(client: FlaskClient, tmp_path: Path) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200
    empty = create_app(Settings(data_dir=tmp_path)).server.test_client()
    assert empty.get("/healthz").status_code == 200
    assert empty.get("/readyz").status_code == 503


def test_pages_forbid_foreign_scripts_and_frames(client: FlaskClient) -> None:
    answer = client.get("/")
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert policy["script-src"].count("sha256-") >= 1
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    text = answer.get_data(as_text=True)
    assert 'src="http' not in text
    assert 'href="http' not in text


def test_every_inline_script_is_allowed_by_its_hash(client: FlaskClient) -> None:
    import base64
    import hashlib
    import re

    answer = client.get("/")
    allowed = answer.headers["Content-Security-Policy"]
    text = re.sub(r"<!--.*?-->", "", answer.get_data(as_text=True), flags=re.DOTALL)
    inline = re.findall(r"<script(?![^>]* src=)(?![^>]*application/json)[^>]*>(.*?)</script>", text, flags=re.DOTALL)
    assert inline
    for script in inline:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in allowed, script[:80]


def test_a_large_request_is_answered_with_a_sentence(client: FlaskClient, services: Services) -> None:
    body = b"x" * (services.settings.max_request_bytes + 1)
    answer = client.post("/_dash-update-component", data=body, content_type="application/json")
    assert answer.status_code == 200
    told = answer.get_json()["sideUpdate"][ids.UPLOAD_REPORT]["children"]
    assert "The file is larger than 50 MB" in json.dumps(told)
    assert client.post("/elsewhere", data=body).status_code in (404, 405, 413)


def test_the_key_is_kept_and_shared_by_processes(tmp_path: Path) -> None:
    first, second = (create_app(Settings(data_dir=tmp_path)).server.secret_key for _ in range(2))
    assert first == second
    assert create_app(Settings(data_dir=tmp_path, secret_key="given" * 4)).server.secret_key == "given" * 4
    assert (tmp_path / "secret-key").stat().st_mode & 0o077 == 0


def test_every_input_and_output_is_on_a_page(client: FlaskClient, app: Dash) -> None:
    client.get("/")
    declared = Path(ids.__file__).read_text(encoding="utf-8")
    layout = json.dumps(app.validation_layout, default=lambda part: part.to_plotly_json())
    for callback in client.get("/_dash-dependencies").get_json():
        for part in (*callback["inputs"], *callback["state"]):
            if part["id"].startswith("_pages"):
                continue
            # ids that match a pattern may come and go: their type is one of those declared
            pattern = part["id"].startswith("{")
            known = json.loads(part["id"])["type"].split("-")[0] if pattern else f'"id": "{part["id"]}"'
            assert known in (declared if pattern else layout), part


def test_no_trace_reaches_a_person(caplog: pytest.LogCaptureFixture) -> None:
    assert logs.describe(InputError("k is 0."), "The search") == "k is 0."
    assert logs.describe(MemoryError(), "The search").startswith("The search needs more memory")
    sentence = logs.describe(KeyError("secret"), "The search")
    assert sentence == "The search failed (KeyError). The log of the server says more."
    assert "secret" in caplog.text
