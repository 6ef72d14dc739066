"""A table of the paper beside ours: each figure over the paper's, with the difference, and a line's rerun below it.

Entry points: `section`, and what callbacks write into a line: `found_rows`, `said_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.parts import help_mark, section_title
from offgrid.experiments.comparison import CLOSE, Column, Figure, Line
from offgrid.experiments.findings import Note

HEADINGS = {
    "nmi": "NMI",
    "cnnc": "c-NNC",
    "seconds_median": "Seconds",
    "passes": "Kernel passes",
    "seconds": "Seconds",
    "speedup": "Speed-up",
    "relative_error": "Relative error",
    "seconds_per_value": "Seconds for each value of σ",
}
DEFINITIONS = {
    "seconds_median": "Processor time of one search of both levels, or of all values of a baseline: the median of our "
    "runs, the mean of the paper's.",
    "passes": "Work that does not depend on the machine: kernel entries evaluated, in units of n², mean of the runs.",
    "seconds": "Processor time to find the next critical value once, mean over the searches.",
    "speedup": "Seconds of bisection over the method's.",
    "relative_error": "|found − true| / true, mean over the searches; true is the certified value to 10⁻⁹.",
    "seconds_per_value": "The processor time of a method over the number of values of σ that it came to, at most 13.",
}
HOW_TO_READ = {
    "2": "ours above, the paper's below with ours less the paper's",
    "3": "ours above; the paper's below, and how much less or more ours is",
    "4": "ours above; the paper's below, and how much less or more ours is",
    "figure": "mean of the runs",
}
_BAR_SPAN = 2.0  # the bar is full at twice the difference that counts as close
_RATIO_SPAN = 4.0  # or at a factor of 2**4


@dataclass(frozen=True)
class RerunView:
    """What the page shows of a rerun: where it stands in words, and the line its runs make so far.

    `share` is what is done of it, `elapsed` and `doing` are words; `line` is None before the first run is done.
    """

    line_name: str
    runs: int
    done: int
    state: str
    doing: str = ""
    elapsed: str = ""
    share: float = 0.0
    message: str = ""
    source: str = ""
    shipped_source: str = ""
    line: Line | None = None
    cancelling: bool = False

    @property
    def at_work(self) -> bool:
        """Whether it may still change by itself."""
        return self.state in ("queued", "running")


def section(
    table: str,
    columns: Sequence[Column],
    lines: Sequence[Line],
    notes: Sequence[Note],
    reruns: Mapping[str, RerunView],
    active: RerunView | None,
) -> Component:
    """Return the table with its title; `reruns` by line, `active` the one that the page follows."""
    marks = {each: place for place, note in enumerate(notes, 1) for each in note.about}
    body: list[Component] = []
    for line in lines:
        followed = active if active is not None and active.line_name == line.name else None
        disabled = active is not None and active.at_work
        body += [
            html.Tbody(_shipped_row(line, columns, marks, disabled=disabled), className="line"),
            html.Tbody(found_rows(reruns.get(line.name), columns), id=ids.rerun_part("found", line.name)),
            html.Tbody(said_rows(followed, columns), id=ids.rerun_part("said", line.name)),
        ]
    return html.Section(
        className="section",
        children=[
            section_title("Ours and the paper's", HOW_TO_READ[table]),
            html.Div(
                html.Table([_head(columns), *body], className=f"figures figures-{table}"),
                className="figures-frame",
                tabIndex="0",
                role="region",
                **{"aria-label": "Ours and the paper's figures"},
            ),
        ],
    )


def note_id(place: int) -> str:
    """Return the id of a reason, which the marks in the table point to."""
    return f"reason-{place}"


def _head(columns: Sequence[Column]) -> Component:
    groups: list[tuple[str, int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.what:
            groups[-1] = (column.what, groups[-1][1] + 1)
        else:
            groups.append((column.what, 1))
    top = [
        html.Th(
            html.Span([HEADINGS[what], help_mark(HEADINGS[what], DEFINITIONS.get(what))], className="group-words"),
            colSpan=span,
            scope="colgroup",
            className="group",
        )
        for what, span in groups
    ]
    firsts = _firsts(columns)
    names = [
        html.Th(column.method, scope="col", className="number first" if first else "number")
        for column, first in zip(columns, firsts, strict=True)
    ]
    corner = html.Th(html.Span("Data", className="visually-hidden"), scope="col", className="name")
    end = html.Th(html.Span("Do it again", className="visually-hidden"), scope="col")
    return html.Thead([html.Tr([html.Td(className="name"), *top, html.Td()]), html.Tr([corner, *names, end])])


def _firsts(columns: Sequence[Column]) -> list[bool]:
    """Return for each column whether a group of columns begins there."""
    return [place == 0 or columns[place - 1].what != column.what for place, column in enumerate(columns)]


def _shipped_row(
    line: Line, columns: Sequence[Column], marks: Mapping[tuple[str, str], int], *, disabled: bool
) -> Component:
    cells = []
    for column, first in zip(columns, _firsts(columns), strict=True):
        figure = line.figures[column.method, column.what]
        mark = marks.get((line.name, column.method)) if figure.apart else None
        cells.append(html.Td(_cell(column, figure, line, mark), className="number first" if first else "number"))
    again = html.Button(
        "Rerun", id=ids.rerun_part("button", line.name), type="button", className="rerun", disabled=disabled,
        **{"aria-label": f"Rerun {line.title}"},
    )  # fmt: skip
    return html.Tr([html.Th(line.title, scope="row", className="name"), *cells, html.Td(again, className="again")])


def _cell(column: Column, figure: Figure, line: Line, mark: int | None) -> list[Component]:
    ours: list[Any] = [number(figure.value, column.what)]
    if mark is not None:
        link = html.A(str(mark), href=f"#{note_id(mark)}", **{"aria-label": f"Why: reason {mark}"})
        ours.append(html.Sup(link, className="why"))
    parts = [html.Div(ours, className="ours ours-apart" if figure.apart else "ours")]
    theirs, change = _beside(column, figure, line)
    if theirs or change:
        parts.append(html.Div([html.Span(theirs), html.Span(change, className="change")], className="theirs"))
    bar = _bar(column, figure)
    if bar is not None:
        style = {"--from": f"{50 + min(bar, 0) * 50:.1f}%", "--long": f"{abs(bar) * 50:.1f}%"}
        parts.append(
            html.Div(className="bar bar-apart" if figure.apart else "bar", style=style, **{"aria-hidden": "true"})
        )
    return parts


def _beside(column: Column, figure: Figure, line: Line) -> tuple[str, str]:
    """Return the paper's figure and how ours differs, as text; for certified quality, how it stands to dyadic."""
    if figure.difference is None:
        if column.against != "difference" or figure.value is None:
            return "", ""
        dyadic = line.figures["dyadic", column.what].value
        return ("over dyadic", signed(figure.value - dyadic)) if dyadic is not None else ("", "")
    printed = number(figure.printed, column.what)
    if column.against == "difference":
        return printed, signed(figure.difference)
    return printed, times(figure.ratio)


def _bar(column: Column, figure: Figure) -> float | None:
    """Return the difference from -1 to 1, as drawn; None where there is nothing to compare with."""
    if column.against == "difference" and figure.difference is not None:
        return max(-1.0, min(1.0, figure.difference / (_BAR_SPAN * CLOSE[column.what])))
    if column.against == "ratio" and figure.ratio:
        return max(-1.0, min(1.0, math.log2(figure.ratio) / _RATIO_SPAN))
    return None


def found_rows(rerun: RerunView | None, columns: Sequence[Column]) -> list[Component]:
    """Return the row with what a rerun found; none where there is none."""
    if rerun is None or rerun.line is None:
        return []
    cells = [
        html.Td(
            html.Div(number(rerun.line.figures[column.method, column.what].value, column.what), className="ours"),
            className="number first" if first else "number",
        )
        for column, first in zip(columns, _firsts(columns), strict=True)
    ]
    what: list[Any] = [html.Span(f"here, {words.plural(rerun.line.runs, 'run')}")]
    if rerun.source and rerun.source != rerun.shipped_source:
        what.append(html.Span(f"on {rerun.source} data", className="stand-in"))
    return [html.Tr([html.Th(what, scope="row", className="name"), *cells, html.Td()], className="found")]


def said_rows(rerun: RerunView | None, columns: Sequence[Column]) -> list[Component]:
    """Return the row that says where a rerun stands; none once it is finished."""
    if rerun is None or rerun.state == "finished":
        return []
    span, name = len(columns) + 2, rerun.line_name
    if not rerun.at_work:
        return [html.Tr(html.Td(html.Div(_ended(rerun), className="said", role="status"), colSpan=span))]
    line = html.Div(
        className="running-words",
        children=[
            html.Div(running_text(rerun), id=ids.rerun_part("text", name), className="running-text"),
            html.Div(elapsed_text(rerun), id=ids.rerun_part("elapsed", name), className="running-elapsed"),
            dmc.Button("Cancel", id=ids.rerun_part("cancel", name), variant="default", disabled=rerun.cancelling),
        ],
    )
    bar = dmc.ProgressRoot(
        size=4,
        radius=2,
        children=dmc.ProgressSection(
            id=ids.rerun_part("bar", name),
            value=bar_value(rerun),
            **{"aria-label": "Share of the rerun done, in per cent"},
        ),
    )
    return [html.Tr(html.Td(html.Div([line, bar], className="running"), colSpan=span))]


def running_text(rerun: RerunView) -> str:
    """Return what is happening."""
    if rerun.cancelling:
        return "Stopping"
    if rerun.state == "queued":
        return rerun.doing or "Waiting for its turn"
    return rerun.doing[:1].upper() + rerun.doing[1:]


def elapsed_text(rerun: RerunView) -> str:
    """Return the elapsed time, empty before the start."""
    return f"{rerun.elapsed} elapsed" if rerun.elapsed else ""


def bar_value(rerun: RerunView) -> float:
    """Return the bar's value, 0 to 100."""
    return round(100 * rerun.share, 1)


def _ended(rerun: RerunView) -> str:
    kept = f" {words.plural(rerun.done, 'run')} of {rerun.runs} {'is' if rerun.done == 1 else 'are'} kept."
    kept = kept if rerun.done else ""
    if rerun.state == "cancelled":
        return f"The rerun was cancelled.{kept}"
    if rerun.state == "interrupted":
        return f"The rerun was interrupted.{f' {rerun.message}' if rerun.message else ''}{kept} Rerun does it again."
    return f"{rerun.message}{kept}"


# Numbers -------------------------------------------------------------------------------------------------------------


def number(value: float | None, what: str) -> str:
    """Return a figure as its column writes it."""
    if value is None:
        return "–"
    if what in CLOSE:
        return words.measure(value)
    if what == "relative_error":
        return words.scientific(value, 2)
    if what == "speedup":
        return f"{value:,.1f}×"
    if what == "passes":
        return f"{value:,.1f}"
    return f"{value:,.3f}" if what == "seconds_median" else seconds(value)


def seconds(value: float) -> str:
    """Return seconds to three figures, below one in thousandths."""
    size, unit = (1000 * value, "ms") if value < 0.9995 else (value, "s")
    decimals = max(0, 2 - math.floor(math.log10(size))) if size > 0 else 0
    return f"{size:.{decimals}f} {unit}"


def signed(value: float) -> str:
    """Return a difference of measures with its sign; ±0 where it rounds to nothing."""
    text = f"{abs(value):.3f}"
    if float(text) == 0.0:
        return "±0"
    return f"{'+' if value > 0 else '−'}{text}"


def times(ratio: float | None) -> str:
    """Return how many times less or more one figure is than the other."""
    if ratio is None:
        return ""
    factor = max(ratio, 1.0 / ratio)
    if factor < 1.05:
        return "the same"
    return f"{words.factor(factor)} {'more' if ratio > 1 else 'less'}"
