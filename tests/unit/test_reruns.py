"""Lines of the paper's tables done again: the store, the process that carries one out, and what the page says of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dash import no_update
from dash.development.base_component import Component

from callbacks import experiments as page_callbacks
from layouts import experiments_table
from layouts.experiments_table import RerunView
from offgrid import InputError
from offgrid.experiments import again, comparison
from services import heart, rerun_jobs, reruns, slots
from services.reruns import LostRerun, RerunStore
from services.settings import Settings


class Clock:
    """Time that stands still until it is set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> RerunStore:
    return RerunStore(tmp_path, clock)


def begun(store: RerunStore, name: str = "flame") -> tuple[str, str]:
    rerun_id = store.create("quality", name, 2)
    owner = store.claim(rerun_id)
    assert owner is not None
    store.start(rerun_id, owner, "built in")
    return rerun_id, owner


def text_of(component: Any) -> str:
    if isinstance(component, (list, tuple)):
        return " ".join(text_of(each) for each in component)
    if isinstance(component, Component):
        return text_of(getattr(component, "children", None))
    return "" if component is None else str(component)


class TestStore:
    def test_from_asking_to_the_end(self, store: RerunStore, clock: Clock) -> None:
        rerun_id, owner = begun(store)
        clock.now += 3.0
        assert store.tell(rerun_id, owner, 0.25, "run 1 of 2, grid") is False
        store.append(rerun_id, owner, {"run": 0, "methods": {}})
        running = store.get(rerun_id)
        assert running is not None
        assert (running.state, running.share, running.doing, running.seconds) == (
            "running",
            0.25,
            "run 1 of 2, grid",
            3,
        )
        assert running.found == ({"run": 0, "methods": {}},)
        assert store.latest("quality") == {}, "not before it is done"
        store.close(rerun_id, owner, "finished")
        assert store.latest("quality")["flame"].id == rerun_id
        assert store.latest("searching") == {}

    def test_another_process_cannot_write(self, store: RerunStore) -> None:
        rerun_id, _owner = begun(store)
        assert store.claim(rerun_id) is None
        with pytest.raises(LostRerun):
            store.append(rerun_id, "somebody else", {})
        with pytest.raises(LostRerun):
            store.beat("unknown", "nobody")

    def test_first_come_first_served(self, store: RerunStore) -> None:
        first, second = store.create("quality", "flame", 1), store.create("quality", "wine", 1)
        assert (store.first(first), store.first(second)) == (True, False)
        waiting = store.get(second)
        assert waiting is not None
        assert waiting.waiting == 1
        store.cancel(first)
        assert store.first(second)

    def test_a_process_that_is_gone(self, store: RerunStore, clock: Clock) -> None:
        rerun_id, owner = begun(store)
        store.append(rerun_id, owner, {"run": 0})
        clock.now += reruns.STALE_AFTER + 1
        gone = store.get(rerun_id)
        assert gone is not None
        assert gone.state == "interrupted"
        assert store.latest("quality")["flame"].found == ({"run": 0},), "what was found stays"
        never = store.create("quality", "wine", 1)
        clock.now += reruns.UNCLAIMED_AFTER + 1
        unclaimed = store.get(never)
        assert unclaimed is not None
        assert unclaimed.state == "interrupted"

    def test_cancel(self, store: RerunStore) -> None:
        rerun_id, owner = begun(store)
        store.cancel(rerun_id)
        assert store.beat(rerun_id, owner) is True
        asked = store.get(rerun_id)
        assert asked is not None
        assert asked.cancelling
        store.close(rerun_id, owner, "cancelled")
        store.cancel(rerun_id)
        store.cancel("unknown")
        assert store.get("unknown") is None

    @pytest.mark.parametrize("runs", [0, -1, 51])
    def test_number_of_runs(self, store: RerunStore, runs: int) -> None:
        with pytest.raises(InputError, match="choose from 1 to 50"):
            store.create("quality", "flame", runs)

    def test_limits(self, store: RerunStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reruns, "MOST_WAITING", 2)
        monkeypatch.setattr(reruns, "KEPT", 3)
        first = store.create("quality", "flame", 1)
        store.create("quality", "flame", 1)
        with pytest.raises(InputError, match="2 reruns are waiting already"):
            store.create("quality", "flame", 1)
        clock.now += reruns.UNCLAIMED_AFTER + 1
        store.create("quality", "flame", 1)
        assert store.get(first) is not None
        store.create("quality", "flame", 1)
        assert store.get(first) is None, "the oldest goes first"


class TestCarryingOut:
    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        return Settings(data_dir=tmp_path, slots=1)

    @pytest.fixture
    def measure(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
        """Put another measurement in the place of the real one."""

        def put(function: Callable[..., Any]) -> None:
            monkeypatch.setattr(again, "open_line", lambda kind, name, folder: (function, "built in"))
            monkeypatch.setattr("offgrid.engine.warmup", lambda: None)

        return put

    def test_a_real_line(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("offgrid.experiments.cases.find_folder", lambda _asked: None)
        store = RerunStore(settings.data_dir)
        rerun_id = store.create("quality", "flame", 1)
        told: list[None] = []
        rerun_jobs.execute(rerun_id, settings, lambda: told.append(None))
        done = store.get(rerun_id)
        assert done is not None
        assert (done.state, done.source, done.share, done.message) == ("finished", "built in", 1.0, "")
        expected, _source = again.open_line("quality", "flame", None)
        same = expected(0, lambda _share, _doing: None)["methods"]["certified"]
        assert done.found[0]["methods"]["certified"]["nmi"] == same["nmi"]
        assert len(told) >= 5
        rerun_jobs.execute(rerun_id, settings)  # it is done: nothing happens
        lock = slots.take(settings.data_dir / "slots", 1)
        assert lock is not None, "the slot is free again"
        lock.release()

    def test_a_failure_is_a_sentence(self, settings: Settings, measure: Any) -> None:
        def fail(run: int, tell: Any) -> Any:
            raise InputError("The data are no good.")

        measure(fail)
        store = RerunStore(settings.data_dir)
        rerun_id = store.create("scaling", "mnist-1000", 1)
        rerun_jobs.execute(rerun_id, settings)
        failed = store.get(rerun_id)
        assert failed is not None
        assert (failed.state, failed.message) == ("failed", "The data are no good.")

    def test_cancel_ends_it_and_keeps_the_runs_done(self, settings: Settings, measure: Any) -> None:
        store = RerunStore(settings.data_dir)
        rerun_id = store.create("scaling", "mnist-1000", 3)

        def cancelled(run: int, tell: Any) -> Any:
            if run == 1:
                store.cancel(rerun_id)
                tell(0.5, "grid")
                raise AssertionError("it went on")
            return {"methods": {}}

        measure(cancelled)
        rerun_jobs.execute(rerun_id, settings)
        stopped = store.get(rerun_id)
        assert stopped is not None
        assert (stopped.state, len(stopped.found)) == ("cancelled", 1)

    def test_cancel_ends_a_long_measurement(
        self, settings: Settings, measure: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(heart, "BEAT", 0.02)
        store = RerunStore(settings.data_dir)
        rerun_id = store.create("scaling", "mnist-1000", 1)

        def endless(run: int, tell: Any) -> Any:
            store.cancel(rerun_id)
            assert not threading.Event().wait(60), "nothing ended it"
            raise AssertionError("it went on")

        measure(endless)
        rerun_jobs.execute(rerun_id, settings)
        stopped = store.get(rerun_id)
        assert stopped is not None
        assert stopped.state == "cancelled"

    def test_cancel_while_it_waits_for_a_slot(
        self, settings: Settings, measure: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(heart, "BEAT", 0.02)
        taken = slots.take(settings.data_dir / "slots", 1)
        assert taken is not None
        assert slots.take(settings.data_dir / "slots", 1) is None
        store = RerunStore(settings.data_dir)
        rerun_id = store.create("scaling", "mnist-1000", 1)
        rerun_jobs.execute(rerun_id, settings, lambda: store.cancel(rerun_id))
        stopped = store.get(rerun_id)
        assert stopped is not None
        assert stopped.state == "cancelled"
        taken.release()


class TestPage:
    def test_refusals_are_sentences(self, store: RerunStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(page_callbacks, "find_folder", lambda _asked: None)
        assert "choose from 1 to 50" in page_callbacks.requested(store, "2", "flame", 99)["error"]
        assert "is missing" in page_callbacks.requested(store, "2", "flame", "")["error"]
        assert "fetch wifi" in page_callbacks.requested(store, "2", "wifi", 1)["error"]
        assert "There is no line" in page_callbacks.requested(store, "4", "atlantis", 1)["error"]
        assert "id" in page_callbacks.requested(store, "2", "flame", 1)

    def test_a_rerun_stands_beside_ours(self, store: RerunStore) -> None:
        rerun_id, owner = begun(store)
        measure, _source = again.open_line("quality", "flame", None)
        run = measure(0, lambda _share, _doing: None)
        store.append(rerun_id, owner, run)
        followed = {"table": "2", "id": rerun_id, "line": "flame"}
        during = page_callbacks.followed_lines(store, followed, ["flame", "wine"], [])
        assert during["disabled"] == [True, True]
        assert not during["rested"]
        assert "Cancel" in text_of(during["said"][0])
        going_on = page_callbacks.followed_lines(store, followed, ["flame", "wine"], ["flame"])
        assert going_on["said"][0] is no_update, "the Cancel button stays, with its focus"
        assert len(going_on["text"]) == len(going_on["bar"]) == 1
        store.close(rerun_id, owner, "finished")
        after = page_callbacks.followed_lines(store, followed, ["flame", "wine"], [])
        assert after["rested"]
        assert after["said"][0] == []
        assert f"{run['methods']['dyadic']['nmi']:.3f}" in text_of(after["found"][0])
        assert "on built in data" in text_of(after["found"][0])
        page = text_of(page_callbacks.page(store, "2", None))
        assert "here, 1 run" in page
        assert f"{run['methods']['dyadic']['nmi']:.3f}" in page
        shipped = {line.name: line for line in comparison.shipped("2")}["flame"].figures["dyadic", "nmi"]
        assert f"{shipped.value:.3f}" in page, "what is shipped stays"
        assert "here, 1 run" in text_of(page_callbacks.page(store, "3", None)), "Table 3 is made from the same runs"
        assert "here, 1 run" not in text_of(page_callbacks.page(store, "4", None))

    def test_known_figures_of_the_paper(self, store: RerunStore) -> None:
        page = text_of(page_callbacks.page(store, "2", None))
        for words in ("Aggregation", "0.872", "0.203", "Audit: the paper does not say which 23"):
            assert words in page
        assert "11.7×" in text_of(page_callbacks.page(store, "4", None))
        assert "10.757" in text_of(page_callbacks.page(store, "3", None))
        assert "n = 8,000" in text_of(page_callbacks.page(store, "figure", None))

    def test_an_address_that_is_wrong(self, store: RerunStore) -> None:
        assert "There is no table '9'" in text_of(page_callbacks.page(store, "9", None))
        assert "is not kept any more" in text_of(page_callbacks.page(store, "2", "gone"))

    @pytest.mark.parametrize(
        ("state", "done", "words"),
        [
            ("cancelled", 1, "The rerun was cancelled. 1 run of 3 is kept."),
            ("cancelled", 0, "The rerun was cancelled."),
            ("interrupted", 2, "The rerun was interrupted. 2 runs of 3 are kept. Rerun does it again."),
            ("failed", 0, "Too bad."),
        ],
    )
    def test_what_became_of_it(self, state: str, done: int, words: str) -> None:
        message = "Too bad." if state == "failed" else ""
        view = RerunView("flame", 3, done, state, message=message)
        assert text_of(experiments_table.said_rows(view, comparison.columns("2"))) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (experiments_table.number(None, "nmi"), "–"),
        (experiments_table.number(0.0461, "seconds"), "46.1 ms"),
        (experiments_table.number(10.757, "seconds"), "10.8 s"),
        (experiments_table.number(0.002, "seconds"), "2.00 ms"),
        (experiments_table.number(0.617, "seconds_median"), "0.617"),
        (experiments_table.number(13.72, "speedup"), "13.7×"),
        (experiments_table.number(9.1e-7, "relative_error"), "9.1×10⁻⁷"),
        (experiments_table.signed(-0.0161), "−0.016"),
        (experiments_table.signed(0.0004), "±0"),
        (experiments_table.times(0.4), "2.5× less"),
        (experiments_table.times(24.2), "24× more"),
        (experiments_table.times(0.98), "the same"),
        (experiments_table.times(None), ""),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected
