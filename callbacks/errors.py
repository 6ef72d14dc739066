"""What a person sees when something goes wrong that no callback foresaw: one sentence, never a trace.

Entry points: `show_failure` (Dash's `on_error`), `too_large` and `notified` (answers to an update, written by hand) and
`notification`.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from dash import no_update, set_props
from plotly.utils import PlotlyJSONEncoder  # type: ignore[import-untyped]

from layouts import ids
from layouts.settings_panel import upload_label, upload_refused
from services.logs import describe


def notification(title: str, sentence: str) -> list[dict[str, Any]]:
    """Return what `NOTIFICATIONS.sendNotifications` takes, for one message that stays until it is closed.

    The same message is shown once, however often it is sent: a page that follows a search asks every second.
    """
    name = uuid5(NAMESPACE_OID, f"{title} {sentence}").hex
    return [{"action": "show", "id": name, "title": title, "message": sentence, "color": "red", "autoClose": False}]


def show_failure(error: Exception) -> Any:
    """Log the error with its trace, and show it in one sentence; nothing on the page changes."""
    sentence = describe(error, "The last action")
    set_props(ids.NOTIFICATIONS, {"sendNotifications": notification("That did not work.", sentence)})
    return no_update


def too_large(sentence: str) -> str:
    """Return Dash's answer to an update, written by hand: the sentence where the report on the file would stand."""
    return _beside(
        {
            ids.UPLOAD_REPORT: {"children": upload_refused(sentence)},
            ids.UPLOAD_LABEL: {"children": upload_label(None)},
        }
    )


def notified(title: str, sentence: str) -> str:
    """Return Dash's answer to an update, written by hand: nothing on the page changes, and the sentence is shown."""
    return _beside({ids.NOTIFICATIONS: {"sendNotifications": notification(title, sentence)}})


def _beside(changes: dict[str, Any]) -> str:
    """Return an answer that changes other properties than those that were asked for."""
    return json.dumps({"multi": True, "response": {}, "sideUpdate": changes}, cls=PlotlyJSONEncoder)
