"""The head of the result: title, summary in a few sentences, running line, notice.

Entry points: `head` (the static frame), and what callbacks write into it: `summary`, `running_text`, `elapsed_text`,
`running_note`, `notice`. `worth_lines` has the summary's text under its first sentence, for the report too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.export_menu import export_menu
from layouts.parts import DEFINITIONS, help_mark, icon, unbroken
from layouts.views import ResultView
from offgrid.comparison import Comparison
from offgrid.path import BandwidthPath
from offgrid.selection import recommend

NO_WORKER = "No worker is there to carry the search out; it starts when one comes"
POLL_MS = 1000
POLL_WAITING_MS = 3000


@dataclass(frozen=True)
class Notice:
    """What the notice says. `class_name` for `NOTICE`, `resume` whether the button is offered, with what on it."""

    hidden: bool
    title: str = ""
    text: str = ""
    class_name: str = "notice"
    resume: bool = False
    button: str = "Resume"


def head(view: ResultView) -> Component:
    """Return title line, summary, running line and notice, filled for `view`."""
    told = notice(view)
    return html.Div(
        className="result-head",
        children=[
            html.Div(
                className="title-line",
                children=[
                    html.Div(
                        className="title-words",
                        children=[
                            html.Span(view.title, id=ids.RESULT_TITLE, className="result-title"),
                            html.Span(view.note, id=ids.RESULT_NOTE, className="result-note"),
                        ],
                    ),
                    html.Div(
                        className="title-buttons",
                        children=[
                            dmc.Button(
                                html.Span("Copy link", id=ids.COPY_LINK_LABEL),
                                id=ids.COPY_LINK,
                                variant="default",
                                leftSection=icon("link"),
                            ),
                            export_menu(),
                        ],
                    ),
                ],
            ),
            html.Div(summary(view), id=ids.SUMMARY, className="summary"),
            running_line(view),
            html.Div(
                id=ids.NOTICE,
                className=told.class_name,
                hidden=told.hidden,
                role="status",
                children=[
                    html.Div(
                        [
                            html.Div(told.title, id=ids.NOTICE_TITLE, className="notice-title"),
                            html.Div(told.text, id=ids.NOTICE_TEXT, className="notice-text"),
                        ]
                    ),
                    dmc.Button(told.button, id=ids.RESUME, variant="default", style=resume_style(told)),
                ],
            ),
        ],
    )


def running_line(view: ResultView) -> Component:
    """Return the framed line that says how far the search is, with the one Cancel."""
    return html.Div(
        id=ids.RUNNING,
        className="running",
        hidden=not view.active_state,
        children=[
            html.Div(
                className="running-words",
                children=[
                    html.Div(running_text(view), id=ids.RUNNING_TEXT, className="running-text"),
                    html.Div(elapsed_text(view), id=ids.RUNNING_ELAPSED, className="running-elapsed"),
                    dmc.Checkbox(
                        id=ids.PIN,
                        label="Keep running when I close this page",
                        checked=view.pinned,
                        size="xs",
                        className="pin",
                        style=own_style(view),
                    ),
                    dmc.Button("Cancel", id=ids.CANCEL, variant="default", style=own_style(view)),
                ],
            ),
            dmc.ProgressRoot(
                size=4,
                radius=2,
                children=dmc.ProgressSection(
                    id=ids.RUNNING_BAR,
                    value=bar_value(view),
                    **{"aria-label": "Share of the bandwidth range covered, in per cent"},
                ),
            ),
            html.Div(running_note(view), id=ids.RUNNING_NOTE, className="running-note"),
        ],
    )


def bar_value(view: ResultView) -> float:
    """Return the bar's value, 0 to 100."""
    return round(100 * min(max(view.share, 0.0), 1.0), 1)


def running_text(view: ResultView) -> str:
    """Return what is happening ("Level 1 of 2, σ = 1.83, 12 clusterings so far"), or the place in the queue."""
    if view.state == "queued" and view.workers_missing:
        return NO_WORKER
    if view.state == "queued":
        return "Starting" if view.queue_place is None else f"Place {view.queue_place} in the queue"
    if view.beside:
        return f"After the path: {view.beside}"
    level = f"Level {view.level} of {view.n_levels}"
    if view.sigma is None:
        return f"{level}, preparing"
    if not len(view.path):
        return f"{level}, starting at {words.bandwidth(view.sigma, view.symbol)}"
    return f"{level}, {words.bandwidth(view.sigma, view.symbol)}, {words.plural(len(view.path), 'clustering')} so far"


def elapsed_text(view: ResultView) -> str:
    """Return the elapsed time, empty before the start."""
    return f"{words.duration(view.seconds)} elapsed" if view.state == "running" else ""


def running_note(view: ResultView) -> str | None:
    """Return that Cancel stops nothing for others, where others follow the search."""
    if not view.own_and_active or not view.others:
        return None
    others = "Somebody else follows" if view.others == 1 else f"{view.others} others follow"
    return f"{others} this search too: Cancel takes you off it, and it goes on."


def own_style(view: ResultView) -> dict[str, str]:
    """Return the style of what only those who follow the search may press."""
    return {} if view.follows else {"display": "none"}


def poll_ms(view: ResultView) -> int:
    """Return how often the page asks how the run stands: less often while it waits for its turn."""
    return POLL_WAITING_MS if view.state == "queued" and (view.queue_place or 0) > 1 else POLL_MS


def resume_style(told: Notice) -> dict[str, str]:
    """Return the style of `RESUME`: shown only where a run can be resumed."""
    return {} if told.resume else {"display": "none"}


def notice(view: ResultView) -> Notice:
    """Return the notice for the run's state: what happened, what is kept, what can be done."""
    kept = view.path.n_found
    found = "Nothing was found yet."
    if kept:
        found = f"The {words.plural(kept, 'value')} found {'is' if kept == 1 else 'are'} kept."
    again = "Resume goes on from the last one." if kept else "Resume starts it again."
    if view.alert:
        return Notice(False, "This address could not be opened as it is.", view.alert, "notice notice-warn", False)
    if view.active_state and not view.follows:
        title = "You do not follow this search."
        others = "Others do, and it goes on until they leave it." if view.others else "Nobody does: it ends soon."
        return Notice(False, title, f"{others} Follow it, and it goes on for you.", "notice", True, "Follow")
    if view.state == "interrupted":
        title = f"Interrupted after {words.plural(kept, 'value')}." if kept else "Interrupted before the first value."
        text = f"{view.message} {again}".strip()
        return Notice(False, title, text, "notice notice-warn", True)
    if view.state == "cancelled":
        title = "The search was ended." if view.message else "The search was cancelled."
        text = f"{view.message} {found} {again}".strip()
        return Notice(False, title, text, "notice", True)
    if view.state == "failed":
        return Notice(False, "The search stopped.", f"{view.message} {found}".strip(), "notice notice-error", False)
    return Notice(True)


def summary(view: ResultView) -> list[Component]:
    """Return the answer with its reason, then how sure that is and what it is worth."""
    if view.recommended is None or not len(view.path):
        return _nothing_yet(view)
    record = view.path.records[view.recommended]
    named = words.bandwidth(record.sigma, view.symbol)
    value = html.Span(f"k-means, {named}" if math.isinf(record.sigma) else named, className="answer unbroken")
    if view.state == "finished":
        first = ["Recommended ", value, *unbroken(f", because {view.reason}.")]
        worth = [html.P(unbroken(line), className="summary-worth") for line in worth_lines(view)]
        return [html.H2(first, className="summary-answer"), *worth, *_more(view)]
    lead = "Best so far: " if view.active_state else "Best of what was found: "
    last = "yet" if view.active_state else "so far"
    first = [lead, value, *unbroken(f", with the lowest c-NNC {last}, {words.cost(record.cnnc, record.cnnc_error)}.")]
    return [html.H2(first, className="summary-answer")]


def _nothing_yet(view: ResultView) -> list[Component]:
    sentence = {
        "queued": "The search waits for its turn.",
        "running": f"Looking for the first value of {view.symbol}.",
        "failed": f"No value of {view.symbol} was found.",
        "none": "No search yet. Choose data and press Run search.",
    }.get(view.state, f"No value of {view.symbol} was found.")
    return [html.H2(sentence, className="summary-answer")]


def worth_lines(view: ResultView) -> list[str]:
    """Return what stands under the answer of a finished search, a short paragraph each."""
    assert view.recommended is not None
    if view.recommendation is None:
        return [_worth_on_path(view)]
    sure, worth = " ".join(view.recommendation.verdict), f"{_agreement(view.recommendation)}{_origin(view)}"
    return [line for line in (sure, worth) if line]


def _agreement(found: Comparison) -> str:
    """Return how far a recommended clustering agrees with the labels, and the k-means that its reason names."""
    if found.choice.nmi is None:
        return ""
    kmeans = next(one for one in found.tried if one.sigma is not None and math.isinf(one.sigma))
    other = f", k-means at {words.measure(kmeans.nmi or 0.0)}" if kmeans is not found.choice else ""
    return f"It agrees with the labels at NMI {words.measure(found.choice.nmi)}{other}. "


def _origin(view: ResultView) -> str:
    """Return where a recommended clustering comes from, and what the path has in its place."""
    assert view.recommended is not None
    record, best = view.path.records[view.recommended], recommend(view.path.found)
    assert best is not None
    there = held_at(view.path, record.sigma)
    parts = []
    if there is not None:
        where = "its k-means end" if math.isinf(record.sigma) else "this σ"
        lowest, comma = ("its lowest ", ",") if there == best.index else ("", "")
        parts.append(f"{lowest}c-NNC{comma} {_cost(view, there)}{comma} at {where}")
    if there != best.index:
        at_end, sigma = best.index == far_end(view), view.path.records[best.index].sigma
        where = "its k-means end" if at_end else words.bandwidth(sigma, view.symbol)
        parts.append(f"its lowest, {_cost(view, best.index)}, at {where}")
    found = "It is the" if math.isinf(record.sigma) else "Found"
    start = "a random start" if view.init == "random" else f"a {view.init} start"
    whole = f"{found} {words.origin(record.sigma)}, with c-NNC {_cost(view, view.recommended)}"
    return f"{whole}; the path, from {start}, has {' and '.join(parts)}."


def _cost(view: ResultView, index: int) -> str:
    record = view.path.records[index]
    return words.cost(record.cnnc, record.cnnc_error)


def held_at(path: BandwidthPath, sigma: float) -> int | None:
    """Return the index of the record on the path's first level that is known to hold at a bandwidth, None of none."""
    for index in reversed(path.at_level(path.levels[0])):
        holds = path.holds_to(index)
        if path.records[index].sigma <= sigma:
            return index if holds is not None and sigma <= holds else None
    return None


def _worth_on_path(view: ResultView) -> str:
    assert view.recommended is not None
    record = view.path.records[view.recommended]
    extent = view.path.extent(view.recommended)
    lasts = "" if extent is None else words.lasting(extent.to, exact=extent.exact, symbol=view.symbol)
    agrees = f"agrees with the labels at NMI {words.measure(record.nmi)}" if record.nmi is not None else ""
    first = " and ".join(part for part in (agrees, lasts) if part)
    sentences = [f"It {first}."] if first else []
    far, plain = far_end(view), view.far_end == ResultView().far_end
    if far == view.recommended:
        ordinary = "what ordinary k-means finds, " if plain else ""
        sentences.append(f"It is also {ordinary}the far end of the path.")
    elif far is not None:
        end = view.path.records[far]
        reach = f"reaches {words.measure(end.nmi)}" if end.nmi is not None else f"has c-NNC {words.measure(end.cnnc)}"
        who = "Ordinary k-means, the far end of the path," if plain else "The far end of the path"
        sentences.append(f"{who} {reach}.")
    return " ".join(sentences)


def _more(view: ResultView) -> list[Component]:
    """Return the way to the reasons, and the definition of the share that a recommendation names."""
    if view.recommendation is None:
        return []
    why = html.Button("Why this one?", type="button", className="why-button", **{"data-opens": "compare"})
    counted = html.Span("How near neighbours are counted")
    mark = help_mark("the share of near neighbours", DEFINITIONS["Near neighbours"])
    return [html.Div([why, counted, mark], className="summary-help")]


def far_end(view: ResultView) -> int | None:
    """Return the index of the record that is ordinary k-means' partition too, None if no level reached it."""
    for level in view.path.levels:
        last = view.path.at_level(level)[-1]
        holds = view.path.holds_to(last)
        if holds is not None and math.isinf(holds):
            return last
    return None
