"""Three hunts for one critical value: their looks on the axis of σ, and their brackets against what they have spent.

Entry point: `critical_demonstration`.
"""

from __future__ import annotations

import math
from typing import Literal

from figures import words
from figures.learn_parts import (
    Demonstration,
    Step,
    demonstration,
    dots,
    line,
    linear,
    logarithmic,
    note,
    panel,
    power_of_ten,
    rule,
)
from figures.theme import Figure, Scheme, cluster_colour, palette
from offgrid.traces import Hunt, Hunts, Query

HEAD = ("Method", "Looks", "Kernel passes", "Quiet up to", "A point moves at", "Relative width")
NAMES = {"certified": "Certified search", "dyadic": "Dyadic search", "bisection": "Bisection"}
_SYMBOLS = {"certified": "circle", "dyadic": "square", "bisection": "diamond"}
Axis = Literal["near", "whole"]


def critical_demonstration(
    found: Hunts, *, axis: Axis = "near", scheme: Scheme = "light", narrow: bool = False
) -> Demonstration:
    """Return the lesson: the start, then at each step the next look of each method that is still hunting."""
    last = max(len(hunt.queries) for hunt in found.hunts)
    ends = _ends(found, axis)
    steps = [
        Step(
            (_lanes_figure(found, place, ends, scheme, narrow=narrow), _widths_figure(found, place, scheme)),
            _sentence(found, place, last),
            [_row(found, hunt, place) for hunt in found.hunts],
        )
        for place in range(last + 1)
    ]
    notes = ("filled: a point moves; hollow: none does", "against kernel passes spent")
    return demonstration(steps, notes=notes, head=HEAD)


# Words ---------------------------------------------------------------------------------------------------------------
def exact(value: float) -> str:
    """Return a bandwidth to six figures, so that brackets can be told apart."""
    if math.isinf(value):
        return words.INFINITY
    if 1e-3 <= value < 1e7:
        return f"{value:,.{max(0, 5 - math.floor(math.log10(value)))}f}"
    return words.sigma(value)


def _row(found: Hunts, hunt: Hunt, place: int) -> tuple[str, ...]:
    seen = hunt.queries[:place]
    if not seen:
        return (NAMES[hunt.method], "0", "–", exact(found.start), "–", "–")
    query = seen[-1]
    above, width = ("–", "–") if math.isinf(query.above) else (exact(query.above), _width(query))
    return (
        NAMES[hunt.method],
        words.count(len(seen)),
        words.measure(query.look.passes, 2),
        exact(query.look.below),
        above,
        width,
    )


def _width(query: Query) -> str:
    value = query.width
    return f"{value:.2g}" if 1e-3 <= value < 1e3 else words.sigma(value)


def _sentence(found: Hunts, place: int, last: int) -> str:
    if place == 0:
        return (
            f"kernel k-means has converged at σ = {words.sigma(found.start)}. At which larger σ does its clustering "
            "change first?"
        )
    if place == last:
        said = "; ".join(_ended(hunt) for hunt in found.hunts)
        return f"all three have ended. {said[0].upper()}{said[1:]}."
    parts = [_told(hunt, place) for hunt in found.hunts if place <= len(hunt.queries)]
    ended = [NAMES[hunt.method] for hunt in found.hunts if place > len(hunt.queries)]
    done = f"; {' and '.join(ended)} {'has' if len(ended) == 1 else 'have'} ended" if ended else ""
    return f"{'; '.join(parts)}{done}."


def _told(hunt: Hunt, place: int) -> str:
    query = hunt.queries[place - 1]
    seen = "a point moves" if query.moves else "none moves"
    rows = f"{words.plural(query.look.rows, 'point')} at " if hunt.method == "certified" else ""
    return f"{NAMES[hunt.method]} looks at {rows}σ = {words.sigma(query.look.sigma)}: {seen}"


def _ended(hunt: Hunt) -> str:
    passes = words.measure(hunt.passes, 1)
    return f"{NAMES[hunt.method]} at {exact(hunt.sigma)} after {passes} kernel passes"


# Figures -------------------------------------------------------------------------------------------------------------
def _ends(found: Hunts, axis: Axis) -> tuple[float, float]:
    """Return the ends of the axis: all that was looked at, or the start and what a doubling reaches."""
    looked = [query.look.sigma for hunt in found.hunts for query in hunt.queries if math.isfinite(query.look.sigma)]
    if axis == "whole":
        return found.start / 1.5, 1.5 * max([2.0 * found.start, *looked])
    values = [hunt.sigma for hunt in found.hunts if math.isfinite(hunt.sigma)]
    return found.start / 1.04, max([1.6 * found.start, *(1.25 * value for value in values)])


def _lanes_figure(
    found: Hunts, place: int, ends: tuple[float, float], scheme: Scheme, *, narrow: bool
) -> Figure:  # fmt: skip
    colours = palette(scheme)
    traces: list[Figure] = []
    for lane, hunt in enumerate(found.hunts):
        traces += _lane(found, hunt, len(found.hunts) - 1 - lane, place, ends, lane, scheme)
    xaxis = logarithmic(colours, "bandwidth σ, logarithmic", *ends, most=6 if narrow else 9)
    yaxis = {"visible": False, "range": [-0.6, len(found.hunts) - 0.3], "fixedrange": True}
    layout = panel(scheme, xaxis, yaxis, left=12)
    layout["annotations"] = [
        note(
            NAMES[hunt.method],
            colours.ink,
            0,
            len(found.hunts) - 1 - lane,
            yref="y",
            xanchor="left",
            yanchor="bottom",
            yshift=11,
        )
        for lane, hunt in enumerate(found.hunts)
    ]
    value = found.of("certified").sigma
    layout["shapes"] = []
    if ends[0] < value < ends[1]:
        layout["shapes"] = [rule(value, colours.muted, dash="dot")]
        side = "right" if math.log(value / ends[0]) > 0.5 * math.log(ends[1] / ends[0]) else "left"
        shift = -6 if side == "right" else 6
        said = note(f"critical value {exact(value)}", colours.second, math.log10(value), 1, xref="x", yanchor="top")
        layout["annotations"].append({**said, "xanchor": side, "xshift": shift})
    return {"data": traces, "layout": layout}


def _lane(
    found: Hunts, hunt: Hunt, y: int, place: int, ends: tuple[float, float], number: int, scheme: Scheme
) -> list[Figure]:
    """Return a lane: what is quiet so far, the bracket beyond it, and the looks.

    What the certified search calls quiet is a thick bar: every value in it was ruled out. The others know of the values
    that they looked at alone, and have a thin line.
    """
    colours, colour = palette(scheme), cluster_colour(number, scheme)
    seen = hunt.queries[:place]
    below = min(seen[-1].look.below, ends[1]) if seen else found.start
    above = min(seen[-1].above, ends[1]) if seen else ends[1]
    sure = hunt.method == "certified"
    x = [min(query.look.sigma, ends[1]) for query in seen]
    now = place <= len(hunt.queries)
    current = [now and i == len(seen) - 1 for i in range(len(seen))]
    shown = [query.look.sigma <= ends[1] for query in seen]
    marks: Figure = {
        "symbol": [f"{_SYMBOLS[hunt.method]}{'' if query.moves else '-open'}" for query in seen],
        "size": [13 if is_current else 8 for is_current in current],
        "color": [colours.accent if is_current else colours.ink for is_current in current],
        "opacity": [1.0 if inside or is_current else 0.0 for inside, is_current in zip(shown, current, strict=True)],
        "line": {"width": 1.8},
    }
    return [
        line([below, above], [y, y], colours.border, 2),
        line([found.start, below], [y, y], colour, 14 if sure else 3, opacity=0.85),
        dots(x, [y] * len(seen), [_hover(hunt, query, i) for i, query in enumerate(seen, start=1)], marks),
    ]


def _hover(hunt: Hunt, query: Query, number: int) -> str:
    seen = "a point moves" if query.moves else "no point moves"
    cost = f"{words.plural(query.look.rows, 'point')} looked at, {words.measure(query.look.passes, 2)} passes so far"
    return f"{NAMES[hunt.method]}, look {number}<br>σ = {exact(query.look.sigma)}, {seen}<br>{cost}"


def _widths_figure(found: Hunts, place: int, scheme: Scheme) -> Figure:
    """Return the relative width of each bracket against the kernel passes spent."""
    colours = palette(scheme)
    curves = [[query for query in hunt.queries if math.isfinite(query.above)] for hunt in found.hunts]
    widths = [query.width for curve in curves for query in curve] or [1.0]
    traces: list[Figure] = []
    for number, (hunt, curve) in enumerate(zip(found.hunts, curves, strict=True)):
        colour = cluster_colour(number, scheme)
        seen = [query for query in hunt.queries[:place] if math.isfinite(query.above)]
        size = [11 if i == len(seen) - 1 else 5 for i in range(len(seen))]
        traces += [
            line([q.look.passes for q in curve], [q.width for q in curve], colours.border, 1.2),
            dots(
                [q.look.passes for q in seen],
                [q.width for q in seen],
                [_hover(hunt, q, hunt.queries.index(q) + 1) for q in seen],
                {"symbol": _SYMBOLS[hunt.method], "size": size, "color": colour},
                mode="lines+markers",
                line={"color": colour, "width": 1.8},
            ),
        ]
    furthest = max(query.look.passes for hunt in found.hunts for query in hunt.queries)
    xaxis = linear(colours, "kernel passes spent", 0, 1.12 * furthest)
    low, high = min(widths) / 20, max(widths) * 8
    yaxis = logarithmic(colours, "", low, high, most=7, showgrid=True, gridcolor=colours.hairline, minor={})
    yaxis["ticktext"] = [power_of_ten(value) for value in yaxis["tickvals"]]
    layout = panel(scheme, xaxis, {**yaxis, "showline": False}, left=52)
    layout["annotations"] = [
        note(
            NAMES[hunt.method],
            colours.second,
            curve[-1].look.passes,
            math.log10(curve[-1].width),
            xref="x",
            yref="y",
            xanchor="left" if curve[-1].look.passes < 0.6 * furthest else "right",
            yanchor="top",
            yshift=-6,
        )
        for hunt, curve in zip(found.hunts, curves, strict=True)
        if curve
    ]
    return {"data": traces, "layout": layout}
