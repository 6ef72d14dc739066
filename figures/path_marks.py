"""What stands around the path's panels: end columns, letters, titles, the running front.

Entry points: `add_columns`, `add_letters`, `add_titles`, `add_front`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from figures import words
from figures.path_context import GAP_TO_COLUMN, Context
from figures.path_data import letter_places
from figures.theme import Figure, text_on

LETTERS = "ABCDEF"
_WORD_ROOM = 150.0  # px to keep free for a word beside a letter: on a narrower window they shrink to 85
MARK = 20  # px that a question mark takes after a panel's name
AFTER_MARK = "after-mark"
_BREAK = "\N{FRACTION SLASH}" * 2


# Columns -------------------------------------------------------------------------------------------------------------
def add_columns(
    ctx: Context, lower_bound: float | None, in_place: bool, end_heights: Sequence[float], far_end: tuple[str, str]
) -> None:
    """Add the two ends of the axis: the frozen zone (a column, or in its place on the axis), and the far end.

    `end_heights` are where lines enter the k-means column, in px from the top; its words keep clear of them.
    """
    at = ctx.at
    if lower_bound is not None and in_place:
        _add_frozen_zone(ctx, lower_bound)
    elif lower_bound is not None:
        lines = ["Frozen", "Theorem 1"] if ctx.narrow else ["Frozen", "no point moves", "Theorem 1"]
        slash = -at.left + at.column + (12 if ctx.narrow else 18)
        bound = words.sigma_bound(lower_bound)
        edge = f"≤ {bound}" if ctx.narrow and len(bound) > 7 else f"σ ≤ {bound}"
        _add_column(ctx, 0, -at.left, _words_at(ctx, []), lines, edge, slash)
    lines = [far_end[0]] if ctx.narrow else list(far_end)
    if ctx.symbol == "σ" and len(ctx.path.ends) and ctx.far_end is None and ctx.front is None:
        lines.append("not reached")
    _add_column(
        ctx,
        1,
        GAP_TO_COLUMN,
        _words_at(ctx, end_heights),
        lines,
        "σ → ∞" if ctx.symbol == "σ" else "",
        GAP_TO_COLUMN / 2,
    )


def _box(ctx: Context, top: float, bottom: float) -> Figure:
    return {
        "type": "rect",
        "yref": "paper",
        "y0": ctx.y(bottom),
        "y1": ctx.y(top),
        "line": {"width": 0},
        "fillcolor": ctx.colours.column,
        "layer": "below",
    }


def _add_column(
    ctx: Context, side: int, left: float, words_at: float, lines: list[str], edge: str, slash: float
) -> None:
    """Add a column whose left edge is `left` px from the axis' left (side 0) or right (side 1) end."""
    middle = left + ctx.at.column / 2
    foot = ctx.at.moved[1] + 18
    edges = {"xref": "paper", "xsizemode": "pixel", "xanchor": side, "x0": left, "x1": left + ctx.at.column}
    ctx.shapes.append({**_box(ctx, ctx.at.top, ctx.at.strip[1]), **edges})
    ctx.add_note(lines[0], x=side, px=words_at, shift=middle, size=12.5, colour=ctx.colours.second, weight=500)
    for row, line in enumerate(lines[1:], start=1):
        ctx.add_note(line, x=side, px=words_at + 18 * row, shift=middle, size=11.5)
    ctx.add_note(edge, x=side, px=foot, shift=middle, size=11.5)
    ctx.add_note(_BREAK, x=side, px=foot - 2, shift=slash, size=13)


def _words_at(ctx: Context, taken: Sequence[float]) -> float:
    """Return the height of a column's first word, clear of the lines that enter the column and their values."""
    usual = ctx.at.top + (74 if ctx.at.nmi else 34)
    tried = [usual, usual + 36, ctx.at.top + 24, usual + 72, usual + 108]
    return next((px for px in tried if all(not -32 < height - px < 60 for height in taken)), usual)


def _add_frozen_zone(ctx: Context, bound: float) -> None:
    """Shade each panel up to the bound; the zone is named in the first."""
    for panel in (ctx.at.nmi, ctx.at.cnnc, ctx.at.strip):
        if panel is not None:
            ctx.shapes.append({**_box(ctx, *panel), "xref": "x", "x0": 10.0**ctx.low, "x1": bound})
    lines = ["Frozen", "Theorem 1"] if ctx.narrow else ["Frozen", "no point moves", "Theorem 1"]
    middle, first = ctx.px(math.log10(bound)) / 2, _words_at(ctx, [])
    for row, line in enumerate([*lines, f"σ ≤ {words.sigma_bound(bound)}"]):
        look: Figure = {"size": 11.5} if row else {"size": 12.5, "weight": 500, "colour": ctx.colours.second}
        ctx.add_note(line, x=0, px=first + 18 * row, shift=middle, bgcolor=ctx.colours.column, **look)


# Letters -------------------------------------------------------------------------------------------------------------
def add_letters(ctx: Context, active: int | None) -> None:
    """Add the letters of the selection in one row, a ring around the active one, and their dotted lines."""
    ctx.add_y_axis("y5", ctx.at.letters, (0, 1))
    chosen = list(ctx.selection)
    if not chosen:
        return
    colours = ctx.colours
    sigmas = [ctx.sigma(i) for i in chosen]
    places = letter_places(sigmas, ctx.low, ctx.high, ctx.at.width, apart=22 if ctx.narrow else 26)
    for index, sigma in zip(chosen, sigmas, strict=True):
        colour = colours.accent if index == ctx.recommended else colours.muted
        ctx.add_rule(sigma, ctx.at.letters[1], ctx.at.moved[1], color=colour, width=1, dash="1px,3px")
    x = [10.0**place for place in places]
    if active in chosen:
        place = chosen.index(active)
        edge = colours.accent if active == ctx.recommended else colours.ink
        ring = {"size": 25, "symbol": "circle-open", "color": edge, "line": {"width": 1}}
        ctx.add_marks("y5", [active], [0.5], ring, x=[x[place]], hoverinfo="skip", hovertemplate=None)
    fill = [colours.filled if i == ctx.recommended else colours.ink for i in chosen]
    ctx.add_marks(
        "y5",
        chosen,
        [0.5] * len(chosen),
        {"size": 20, "color": fill},
        x=x,
        mode="markers+text",
        text=list(LETTERS[: len(chosen)]),
        textposition="middle center",
        textfont={"size": 12, "weight": 500, "color": [text_on(colour) for colour in fill]},
    )
    if ctx.recommended in chosen and not ctx.narrow:
        _add_word(ctx, places, chosen.index(ctx.recommended))


def _add_word(ctx: Context, places: list[float], place: int) -> None:
    """Write the word beside the recommended letter, on the side that no other letter takes."""
    finished = all(level in ctx.path.ends for level in ctx.path.levels)
    word = "recommended" if finished else "best so far"
    here = ctx.px(places[place])
    gaps = [ctx.px(other) - here for j, other in enumerate(places) if j != place]
    if all(not 0 < gap < _WORD_ROOM for gap in gaps):
        anchor, shift = "left", 17
    elif all(not -_WORD_ROOM < gap < 0 for gap in gaps):
        anchor, shift = "right", -17
    else:
        return
    accent = ctx.colours.accent
    at: Figure = {"x": places[place], "px": sum(ctx.at.letters) / 2, "xref": "x", "xanchor": anchor}
    ctx.add_note(word, **at, shift=shift, size=12.5, colour=accent)


# Titles and front ----------------------------------------------------------------------------------------------------
def add_titles(ctx: Context, *, marks: bool) -> None:
    """Add each panel's name and what it means, with a gap where a question mark is laid over the graph.

    The words after a gap have a name, by which they are found where the gap is closed in a saved picture.
    """
    most = max([len(record.moved) for record in ctx.path.records], default=0)
    at_most = f"at most {words.count(most)}" if most else ""
    each = f"at each value found, {at_most}" if most else "at each value found"
    told = [
        ("NMI", ctx.at.nmi, 31, "agreement with the labels, higher is better", "higher is better"),
        ("c-NNC", ctx.at.cnnc, 44, "cost to the nearest neighbours, lower is better", "lower is better"),
        ("Stability", ctx.at.strip, 57, f"how far {ctx.symbol} can grow before a point moves, as a factor", ""),
        ("Points moved", ctx.at.moved, 83, each, at_most),
    ]
    for name, panel, shift, long, short in told:
        if panel is None:
            continue
        at: Figure = {"x": 0, "px": panel[0] - 13.5, "size": 12.5, "plate": True, "xanchor": "left"}
        ctx.add_note(name, **at, colour=ctx.colours.ink, weight=500, shift=-1)
        text = short if ctx.narrow else long
        if text:
            gap = {"shift": shift - 1 + MARK, "name": AFTER_MARK} if marks and name != "Points moved" else {}
            ctx.add_note(text, **{**at, "shift": shift - 1, **gap})


def add_front(ctx: Context, front: float) -> None:
    """Add the line at which the search is, and say so beside it."""
    at = ctx.at
    ctx.add_rule(front, at.top, at.strip[1], color=ctx.colours.accent, width=2)
    place = math.log10(front)
    left = ctx.px(place) > 0.7 * at.width
    ctx.add_note(
        f"searching, {words.bandwidth(front, ctx.symbol)}",
        x=place,
        px=at.top + (103 if at.nmi else 60),
        shift=-10 if left else 10,
        colour=ctx.colours.accent,
        xref="x",
        xanchor="right" if left else "left",
    )
