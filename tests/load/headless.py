"""A browser without a screen: opens a page of the dashboard and speaks Dash's protocol as the real one does.

Entry point: `Page`. It keeps the properties of the page's components, asks the server for every callback whose inputs
have changed, and carries out what runs in a browser only where a search depends on it. Times and failures of all
requests go to a `Log`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import requests

ROUNDS = 12  # callbacks that set off callbacks
Prop = tuple[str, str]


@dataclass
class Log:
    """What a group of pages has met: seconds by kind of request, and failures in words."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def note(self, kind: str, seconds: float) -> None:
        self.seconds.setdefault(kind, []).append(seconds)


class Page:
    """One page in a browser of its own: its cookies are kept from page to page.

    Parameters
    ----------
    origin : str
        Such as ``http://127.0.0.1:8050``.
    log : Log
    prefix : str
        Path below which the server serves.
    """

    def __init__(self, origin: str, log: Log, prefix: str = "/") -> None:
        self.origin = origin
        self._base = origin + prefix
        self._prefix = prefix
        self._log = log
        self._session = requests.Session()
        self._callbacks: list[dict[str, Any]] = []
        self._end_id = ""
        self._job: tuple[dict[str, Any], str, str] | None = None
        self.props: dict[Prop, Any] = {}
        self.notices: list[str] = []

    # What a person does ----------------------------------------------------------------------------------------------

    def open(self, query: str = "") -> None:
        """Open the page, as a reload does too."""
        self.props, self._job = {}, None
        html = self._ask("page", "GET", query and f"?{query}", headers={"Accept": "text/html"}).text
        config = re.search(r'"end_id":"([^"]+)"', html)
        self._end_id = config.group(1) if config else ""
        layout = self._ask("page", "GET", "_dash-layout").json()
        self._callbacks = self._ask("page", "GET", "_dash-dependencies").json()
        self._take_tree(layout)
        self.set({("_pages_location", "pathname"): self._prefix, ("_pages_location", "search"): query and f"?{query}"})

    def press(self, button: str) -> None:
        """Press a button."""
        self.set({(button, "n_clicks"): (self.props.get((button, "n_clicks")) or 0) + 1})

    def set(self, values: Mapping[Prop, Any]) -> None:
        """Change properties, and let the page settle."""
        self.props.update(values)
        due = self._due(set(values), {})
        changed = set(values)
        for _ in range(ROUNDS):
            if not due:
                return
            wrote = {one["output"]: self._call(one, changed) for one in due}
            changed = set().union(*wrote.values())
            due = self._due(changed, wrote)
        self._log.failures.append(f"the page does not settle after {sorted(values)}")

    def poll(self) -> None:
        """Let the page's timer tick, where it is on, and ask after the job in the background."""
        if self._job is not None:
            self._ask_after_job()
        if not self.props.get(("poll", "disabled"), True):
            self.set({("poll", "n_intervals"): (self.props.get(("poll", "n_intervals")) or 0) + 1})

    # What is on the page ---------------------------------------------------------------------------------------------

    @property
    def run(self) -> str:
        """Id of the run that is shown, "" for none."""
        return str((self.props.get(("run", "data")) or {}).get("id", ""))

    @property
    def active(self) -> bool:
        """Whether the search that is shown is under way."""
        return not self.props.get(("running", "hidden"), True)

    @property
    def follows(self) -> bool:
        """Whether the search that is shown is one of this browser's."""
        return self.active and not self.props.get(("cancel", "style"))

    @property
    def address(self) -> str:
        """The query of the address that the page would show."""
        data = self.props.get(("run", "data")) or {}
        return urlencode({**data.get("query", {}), "run": self.run}) if self.run else ""

    def text(self, component: str, prop: str = "children") -> str:
        """Return the words of a component."""
        return " ".join(_words(self.props.get((component, prop))))

    # Within ----------------------------------------------------------------------------------------------------------

    def _due(self, changed: set[Prop], wrote: Mapping[str, set[Prop]]) -> list[dict[str, Any]]:
        """Return the callbacks to ask for; what a callback has written itself does not set it off again."""
        by_others = {
            one["output"]: set().union(*(props for output, props in wrote.items() if output != one["output"]))
            for one in self._callbacks
        }
        return [one for one in self._callbacks if self._is_due(one, by_others[one["output"]] if wrote else changed)]

    def _is_due(self, callback: dict[str, Any], changed: set[Prop]) -> bool:
        """Whether the server is to be asked: an input has changed, and all of them are on the page."""
        inputs = [(one["id"], one["property"]) for one in callback["inputs"]]
        on_page = all(one in self.props or (one[0],) in self._ids for one in inputs)
        return not callback.get("clientside_function") and on_page and any(one in changed for one in inputs)

    def _call(self, callback: dict[str, Any], changed: set[Prop]) -> set[Prop]:
        """Ask the server for a callback, and return the properties that it has changed."""
        body = self._body(callback, changed)
        if callback.get("background"):
            answer = self._update(body)
            if answer:
                self._job = (body, answer["cacheKey"], answer["job"])
            return set()
        return self._take(self._update(body))

    def _body(self, callback: dict[str, Any], changed: set[Prop]) -> dict[str, Any]:
        outputs = [_output(part) for part in _parts(callback["output"])]
        several = callback["output"].startswith("..")
        asked = [self._value(one) for one in callback["inputs"]]
        names = [(one["id"], one["property"]) for one in callback["inputs"]]
        return {
            "output": callback["output"],
            "outputs": outputs if several else outputs[0],
            "inputs": asked,
            "state": [self._value(one) for one in callback["state"]],
            "changedPropIds": [f"{name}.{prop}" for name, prop in names if (name, prop) in changed],
        }

    def _value(self, part: Mapping[str, str]) -> dict[str, Any]:
        return {"id": part["id"], "property": part["property"], "value": self.props.get((part["id"], part["property"]))}

    def _update(self, body: dict[str, Any], **more: str) -> dict[str, Any]:
        query = urlencode({**more, "endId": self._end_id})
        answer = self._ask("update", "POST", f"_dash-update-component?{query}", json=body)
        return answer.json() if answer.status_code == 200 and answer.content else {}

    def _ask_after_job(self) -> None:
        assert self._job is not None
        body, key, job = self._job
        answer = self._update(body, cacheKey=key, job=job)
        if "response" in answer or not answer:
            self._job = None
        self._take({"response": {}, **answer})

    def _take(self, answer: Mapping[str, Any]) -> set[Prop]:
        """Take over what the server answers; components among it are on the page from now on."""
        told = {**answer.get("sideUpdate", {}), **answer.get("response", {})}
        changed = set()
        for name, props in told.items():
            for prop, value in props.items():
                if name == "notifications":
                    self.notices.append(json.dumps(value))
                changed.add((name, prop))
                self.props[name, prop] = value
                self._take_tree(value)
        return changed

    def _take_tree(self, value: Any) -> None:
        for props in _components(value):
            for prop, held in props.items():
                self.props[props["id"], prop] = held
        self._ids = {(name,) for name, _ in self.props}

    def _ask(self, kind: str, method: str, path: str, **more: Any) -> requests.Response:
        began = time.perf_counter()
        try:
            answer = self._session.request(method, self._base + path, timeout=60, **more)
        except requests.RequestException as error:
            self._log.failures.append(f"{path.split('?', maxsplit=1)[0]}: {type(error).__name__}")
            if not isinstance(error, requests.ConnectionError):
                raise
            # Browsers ask once more where a connection that they had kept open was cut before the answer.
            answer = self._session.request(method, self._base + path, timeout=60, **more)
        self._log.note(kind, time.perf_counter() - began)
        if answer.status_code >= 400:
            self._log.failures.append(f"{path.split('?', maxsplit=1)[0]}: {answer.status_code} {answer.text[:200]}")
        return answer


def _components(value: Any) -> Iterable[dict[str, Any]]:
    """Return the properties of every component with an id of its own in a tree."""
    if isinstance(value, list):
        for one in value:
            yield from _components(one)
    elif isinstance(value, dict) and "namespace" in value and "props" in value:
        if isinstance(value["props"].get("id"), str):
            yield value["props"]
        for one in value["props"].values():
            if isinstance(one, list | dict):
                yield from _components(one)


def _parts(output: str) -> list[str]:
    return output.strip(".").split("...") if output.startswith("..") else [output]


def _output(part: str) -> dict[str, str]:
    name, _, prop = part.rpartition(".")
    return {"id": name, "property": prop}


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [word for one in value for word in _words(one)]
    return _words(value["props"].get("children")) if isinstance(value, dict) and "props" in value else []
