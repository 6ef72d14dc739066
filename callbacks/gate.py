"""What may come in: updates as the pages of this application send them, and no others.

Entry point: `register`. Dash takes what a browser sends at its word: callbacks, ids and values of any type. Here each
update is held against the callbacks that exist, and the values against the types that they are written with, before
Dash sees any of it. What no page of ours can have sent gets a sentence and the status 400; a page of an older version
is told to reload.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dash import Dash
from dash.exceptions import DependencyException
from flask import Request, Response, request
from werkzeug.exceptions import BadRequest, HTTPException

from callbacks.errors import notified
from layouts import ids
from services.run_settings import METHODS
from services.visitors import UPDATE_PATH

MOST_VALUES = 200_000  # elements of a request: a page sends some thousands, each of which takes memory here
OLD_PAGE = "This page is of another version than the server. Reload it."
FAILED = "The server failed to answer; its log says more."

logger = logging.getLogger(__name__)

Check = Callable[[Any], bool]


class MalformedError(Exception):
    """No page of ours sent this."""


# Types ---------------------------------------------------------------------------------------------------------------


def text(value: Any) -> bool:
    """Whether a value is a text that can be written down: half of a surrogate pair cannot."""
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def number(value: Any) -> bool:
    """Whether a value is a number within the range of floats."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300


def finite(value: Any) -> bool:
    """Whether a value is a number, up to the largest there is: the far end of a path stands at that."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def flag(value: Any) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool)


def maybe(check: Check) -> Check:
    """Allow None too."""
    return lambda value: value is None or check(value)


def many(check: Check) -> Check:
    """Whether a value is a list of such things."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def named(check: Check) -> Check:
    """Whether a value is an object whose values are all such things."""
    return lambda value: isinstance(value, dict) and all(text(key) and check(one) for key, one in value.items())


def record(*needed: str, **checks: Check) -> Check:
    """Whether a value is an object: empty, or with the needed fields, and those checked that are there."""
    return lambda value: (
        isinstance(value, dict)
        and (not value or all(name in value for name in needed))
        and all(check(value[name]) for name, check in checks.items() if name in value)
    )


_TEXT = maybe(text)
_NUMBER = maybe(lambda value: text(value) or number(value))  # a field that is empty holds ""
_VALUES: dict[tuple[str, str], Check] = {
    (ids.RUN, "data"): maybe(record("query", id=text, query=named(text))),
    (ids.CARRY_OUT, "data"): maybe(record("id", id=text)),
    (ids.SHOWN, "data"): maybe(record("id", "sigmas", id=text, version=text, sigmas=many(maybe(finite)))),
    (ids.SELECTION, "data"): maybe(record(indices=many(number), active=maybe(number), auto=flag)),
    (ids.PANES, "data"): maybe(
        record("signature", "at", "figures", signature=text, at=number, figures=named(text))
    ),
    (ids.UPLOADED, "data"): maybe(record("id", id=text, name=text)),
    (ids.UPLOAD, "contents"): _TEXT,
    # a file system may hold names that are no proper text; the store of uploads makes one of them
    (ids.UPLOAD, "filename"): maybe(lambda value: isinstance(value, str)),
    ("_pages_location", "pathname"): maybe(lambda value: text(value) and value.startswith("/")),
    ("_pages_location", "search"): _TEXT,
    **{(name, "value"): maybe(many(text)) for name in (ids.COLUMNS, ids.DEPTHS, ids.COMPARE_WITH)},
    (ids.COLUMNS, "data"): maybe(many(text)),
    (ids.METHOD, "value"): METHODS.__contains__,
    **{
        (name, "value"): _NUMBER
        for name in (
            ids.K, ids.SEED, ids.RESTARTS, ids.START_VALUE, ids.MAX_STEPS, ids.OFFSET, ids.PLUS_WEIGHT, ids.PLUS_VALUE,
        )
    },
    **{
        (name, "value"): _TEXT
        for name in (
            ids.DATA_GALLERY, ids.LABEL_COLUMN, ids.MISSING, ids.SCALING, ids.INIT, ids.START, ids.LIMITING, ids.TRUTH,
            ids.X_AXIS, ids.Y_AXIS, ids.TABLE_FILTER, ids.KERNEL, ids.SUM_KERNEL, ids.PLUS_KERNEL,
        )
    },
}  # fmt: skip


# Requests ------------------------------------------------------------------------------------------------------------


def register(app: Dash) -> None:
    """Check every update before Dash sees it, and answer with a sentence where something fails all the same."""

    @app.server.before_request
    def check_update() -> Response | None:
        if request.method != "POST" or not request.path.endswith(UPDATE_PATH):
            return None
        try:
            return checked_update(parsed(request), app.callback_map)
        except MalformedError as error:
            logger.info("update refused: %s", error)
            return Response(f"{error}\n", 400, mimetype="text/plain")

    @app.server.errorhandler(DependencyException)
    def refuse_path(_error: DependencyException) -> Response:
        return Response("There is no such file.\n", 404, mimetype="text/plain")

    @app.server.errorhandler(Exception)
    def tell_failure(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return error
        logger.error("%s %s failed", request.method, request.path, exc_info=error)
        if request.path.endswith(UPDATE_PATH):
            return Response(notified("That did not work.", FAILED), mimetype="application/json")
        return Response(f"{FAILED}\n", 500, mimetype="text/plain")


def parsed(sent: Request) -> dict[str, Any]:
    """Return the object that a request holds; what would take much memory is refused unread."""
    if not all(value.isascii() for value in sent.args.values()):  # signed handles, which Dash compares as ASCII
        raise MalformedError("The request has an address that no page has.")
    data = sent.get_data()
    if sum(data.count(sign) for sign in (b"[", b"{", b",")) > MOST_VALUES:
        raise MalformedError(f"The request holds more than {MOST_VALUES:,} values.")
    try:
        body = sent.get_json()  # kept for Dash
    except (BadRequest, RecursionError) as error:
        raise MalformedError("The request holds no JSON that can be read.") from error
    if not isinstance(body, dict):
        raise MalformedError("The request holds no JSON object.")
    return body


def checked_update(body: Mapping[str, Any], callbacks: Mapping[str, Any]) -> Response | None:
    """Return None for an update that Dash may see, else the answer for a page of another version.

    Raises
    ------
    MalformedError
        Where no page can have sent it.
    """
    output = body.get("output")
    if not isinstance(output, str):
        raise MalformedError("The request names no output.")
    callback = callbacks.get(output, {})
    if "callback" not in callback:
        return Response(notified("Reload the page.", OLD_PAGE), mimetype="application/json")
    _check_items("inputs", body.get("inputs", []), callback["inputs"])
    _check_items("state", body.get("state", []), callback["state"])
    if not many(text)(body.get("changedPropIds", [])):
        raise MalformedError("The request does not say as it should what has changed.")
    if not callback.get("no_output"):
        outputs = callback["output"] if isinstance(callback["output"], list) else [callback["output"]]
        _check_outputs(body.get("outputs"), outputs, single=not isinstance(callback["output"], list))
    return None


def _check_items(kind: str, items: Any, specs: Sequence[Mapping[str, str]]) -> None:
    """Check the inputs or the state of an update: those of its callback, in their order, of their types."""
    if not isinstance(items, list) or len(items) != len(specs):
        raise MalformedError(f"The request has other {kind} than its callback.")
    for item, spec in zip(items, specs, strict=True):
        every = item if isinstance(item, list) and "{" in spec["id"] else [item]
        for one in every:
            if not _matches(one, spec["id"], spec["property"]):
                raise MalformedError(f"The request has other {kind} than its callback.")
            check = _VALUES.get((spec["id"], spec["property"]))
            if check is not None and not check(one.get("value")):
                raise MalformedError(f"The value of {spec['id']}.{spec['property']} cannot be used. Reload the page.")


def _check_outputs(items: Any, outputs: Sequence[Any], *, single: bool) -> None:
    given = [items] if single else items
    if not isinstance(given, list) or len(given) != len(outputs):
        raise MalformedError("The request has other outputs than its callback.")
    for item, output in zip(given, outputs, strict=True):
        every = item if isinstance(item, list) and isinstance(output.component_id, dict) else [item]
        if not all(_matches(one, output.component_id_str(), output.component_property) for one in every):
            raise MalformedError("The request has other outputs than its callback.")


def _matches(item: Any, component: str, name: str) -> bool:
    """Whether an item names this property of this component, or of one of those that a pattern stands for."""
    if not isinstance(item, dict) or not isinstance(item.get("property"), str):
        return False
    if item["property"].partition("@")[0] != name:
        return False
    if not component.startswith("{"):
        return bool(item.get("id") == component)
    own = item.get("id")
    return isinstance(own, dict) and own.keys() == json.loads(component).keys() and named(_id_part)(own)


def _id_part(value: Any) -> bool:
    return text(value) or number(value) or flag(value)
