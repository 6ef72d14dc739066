"""The bandwidth path as one figure: NMI, c-NNC, stability strip and points moved over one log axis.

Entry point: `path_figure`. Figures are plain dicts: building plotly's validated objects takes longer than everything
else here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from figures import words
from figures.path_baselines import add_baselines, baseline_marks
from figures.path_context import GAP_TO_COLUMN, HOVER, Context, Panel, geometry
from figures.path_data import (
    Bar,
    LinearAxis,
    axis_range,
    bars,
    bound_in_place,
    linear_axis,
    log_ticks,
    shown_bar_texts,
    steps,
)
from figures.path_marks import add_columns, add_front, add_letters, add_titles
from figures.theme import Figure, Scheme, base_layout, cluster_colour, palette, text_on
from offgrid.comparison import Comparison
from offgrid.path import BandwidthPath


def path_figure(
    path: BandwidthPath,
    *,
    lower_bound: float | None,
    selection: Sequence[int] = (),
    recommended: int | None = None,
    active: int | None = None,
    scheme: Scheme = "light",
    narrow: bool = False,
    front: float | None = None,
    share: float = 0.0,
    running: bool = False,
    has_labels: bool | None = None,
    symbol: str = "σ",
    far_end: tuple[str, str] = ("k-means", "the far end"),
    compared: Sequence[Comparison] = (),
    marks: bool = True,
) -> Figure:
    """Return the figure of a path, finished or growing.

    Parameters
    ----------
    path : BandwidthPath
    lower_bound : float or None
        Theorem 1's bound; None where there is none.
    selection : sequence of int
        Indices of the selected records, by bandwidth; they get letters A, B, ….
    recommended, active : int or None
        Index of the record with the diamond; index of the one that the arrow keys walk from.
    front, share : float
        While `running`: the bandwidth reached, and the share of the log range covered.
    has_labels : bool or None
        Whether to draw the NMI panel; None takes it from the first record.
    symbol : str
        What the searched parameter is called.
    far_end : tuple of str
        What lies at the end of the path, in two lines.
    compared : sequence of Comparison
        Methods whose values are drawn beside the path, a symbol each.
    marks : bool
        Whether a question mark is laid over the figure after each panel's name, for which there has to be room.
    """
    front = front if running else None
    if has_labels is None:
        has_labels = bool(len(path)) and path.records[0].nmi is not None
    in_place = bound_in_place(path, lower_bound)
    frozen_column = lower_bound is not None and not in_place
    at = geometry(has_nmi=has_labels, lanes=len(path.levels), narrow=narrow, frozen_column=frozen_column)
    low, high = shown_range(path, lower_bound, narrow=narrow, front=front, share=share)
    best = recommended if recommended is not None and recommended < len(path) else None
    kept = tuple(i for i in selection if i < len(path))
    ctx = Context(path, at, palette(scheme), scheme, kept, best, low, high, front, narrow, symbol)
    seen = baseline_marks(compared, low, high)
    costs = [record.cnnc for record in path.records]
    cost_axis = linear_axis([*costs, *(mark.cnnc for mark in seen)])
    end_heights = [_height(at.cnnc, cost_axis, costs[ctx.far_end])] if ctx.far_end is not None else []
    _add_x_axis(ctx)
    if at.nmi is not None:
        agreement = [record.nmi or 0.0 for record in path.records]
        axis = linear_axis([*agreement, *(mark.nmi for mark in seen if mark.nmi is not None)], limits=(0.0, 1.0))
        if ctx.far_end is not None:
            end_heights.append(_height(at.nmi, axis, agreement[ctx.far_end]))
        add_baselines(ctx, "y", seen, lambda mark: mark.nmi)
        _add_measure(ctx, "y", at.nmi, axis, agreement)
    add_baselines(ctx, "y2", seen, lambda mark: mark.cnnc)
    _add_measure(ctx, "y2", at.cnnc, cost_axis, costs)
    _add_strip(ctx)
    _add_moved(ctx)
    add_columns(ctx, lower_bound, in_place, end_heights, far_end)
    add_letters(ctx, active)
    add_titles(ctx, marks=marks)
    if front is not None:
        add_front(ctx, front)
    return {"data": ctx.traces, "layout": _layout(ctx)}


def shown_range(
    path: BandwidthPath, lower_bound: float | None, *, narrow: bool, front: float | None = None, share: float = 0.0
) -> tuple[float, float]:
    """Return the range of the bandwidth axis in log10."""
    frozen_column = lower_bound is not None and not bound_in_place(path, lower_bound)
    at = geometry(has_nmi=False, lanes=1, narrow=narrow, frozen_column=frozen_column)
    frozen_share = (at.column + 8) / at.width
    return axis_range(path, lower_bound=lower_bound, front=front, share=share, frozen_share=frozen_share)


def _layout(ctx: Context) -> Figure:
    at = ctx.at
    return {
        **base_layout(ctx.scheme),
        **ctx.axes,
        "shapes": ctx.shapes,
        "annotations": ctx.notes,
        "height": at.height,
        "margin": {"l": at.left, "r": at.right, "t": 0, "b": at.foot, "pad": 0},
        "dragmode": False if ctx.narrow else "select",
        "selectdirection": "h",
        "newselection": {"line": {"color": ctx.colours.muted, "width": 1, "dash": "solid"}},
        "activeselection": {"opacity": 0},
        "selections": [],
        "bargap": 0,
        "barmode": "overlay",
        "uniformtext": {"mode": "hide", "minsize": 11},
        "hoverdistance": 24,
    }


# Axes and measures ---------------------------------------------------------------------------------------------------
def _add_x_axis(ctx: Context) -> None:
    clear = 22 / ctx.at.width
    ticks = log_ticks(ctx.low, ctx.high, most=4 if ctx.narrow else 12, clear=clear)
    ctx.add_note(f"{'bandwidth σ' if ctx.symbol == 'σ' else ctx.symbol}, logarithmic", x=0.5, px=ctx.at.moved[1] + 35)
    border = ctx.colours.border
    ctx.axes["xaxis"] = {
        "type": "log",
        "range": [ctx.low, ctx.high],
        "anchor": "y4",
        "domain": [0, 1],
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "linecolor": border,
        "linewidth": 1,
        "ticks": "outside",
        "ticklen": 6,
        "tickwidth": 1,
        "tickcolor": border,
        "tickmode": "array",
        "tickvals": ticks.ticks,
        "ticktext": ticks.texts,
        "tickfont": {"size": 12, "color": ctx.colours.muted},
        "tickangle": 0,
        "minor": {"tickmode": "array", "tickvals": ticks.minor, "ticks": "outside", "ticklen": 3, "tickcolor": border},
        "fixedrange": True,
    }


def _add_measure(ctx: Context, name: str, panel: Panel, axis: LinearAxis, values: list[float]) -> None:
    ctx.add_y_axis(
        name,
        panel,
        (axis.low, axis.high),
        showgrid=True,
        gridcolor=ctx.colours.hairline,
        gridwidth=1,
        showticklabels=True,
        tickmode="array",
        tickvals=axis.ticks,
        ticktext=axis.texts,
        tickfont={"size": 11.5, "color": ctx.colours.muted},
        ticklabelstandoff=4,
    )
    for level in ctx.path.levels:
        _add_level(ctx, level, name, values)
    if ctx.recommended is not None:
        diamond = {"symbol": "diamond", "size": 12, "color": ctx.colours.accent}
        ctx.add_marks(name, [ctx.recommended], [values[ctx.recommended]], diamond)
    if ctx.far_end is not None:
        _carry_into_column(ctx, name, values[ctx.far_end], panel, axis)


def _add_level(ctx: Context, level: int, name: str, values: list[float]) -> None:
    """Add a level's step line and its markers; levels after the first are lighter, with hollow markers."""
    first = level == ctx.path.levels[0]
    places = ctx.path.at_level(level)
    colour = ctx.colours.ink if first else ctx.colours.muted
    x, y = steps(ctx.path, level, values, ctx.end, ctx.front)
    ctx.add_line(name, x, y, colour, 1.5 if first else 1, shape="hv")
    hollow = {"size": 5, "color": ctx.colours.page, "line": {"color": colour, "width": 1.2}}
    ctx.add_marks(name, places, [values[i] for i in places], {"size": 5, "color": colour} if first else hollow)


def _carry_into_column(ctx: Context, name: str, value: float, panel: Panel, axis: LinearAxis) -> None:
    """Carry the line into the k-means column, its value printed on the side where there is more room."""
    column = ctx.at.column
    ctx.shapes.append(
        {
            "type": "line",
            "xref": "paper",
            "xsizemode": "pixel",
            "xanchor": 1,
            "x0": GAP_TO_COLUMN,
            "x1": GAP_TO_COLUMN + column,
            "yref": name,
            "y0": value,
            "y1": value,
            "line": {"color": ctx.colours.ink, "width": 1.5},
            "layer": "above",
        }
    )
    px = _height(panel, axis, value)
    beside = px + 12 if px - panel[0] < (panel[1] - panel[0]) / 2 else px - 12
    middle = GAP_TO_COLUMN + column / 2
    ctx.add_note(words.measure(value), x=1, px=beside, shift=middle, colour=ctx.colours.second)


def _height(panel: Panel, axis: LinearAxis, value: float) -> float:
    """Return the height of a value in px from the figure's top."""
    return panel[1] - (value - axis.low) / (axis.high - axis.low) * (panel[1] - panel[0])


# Strip and sticks ----------------------------------------------------------------------------------------------------
def _add_strip(ctx: Context) -> None:
    lanes = max(len(ctx.path.levels), 1)
    # One lane is 22 px of a pitch of 30: in units of the pitch, centred on 0, 1, ….
    named = {}
    if lanes > 1:
        form = "L{}" if ctx.narrow else "Level {}"
        named = {
            "showticklabels": True,
            "tickmode": "array",
            "tickvals": list(range(lanes)),
            "ticktext": [form.format(level) for level in ctx.path.levels],
            "tickfont": {"size": 11, "color": ctx.colours.muted},
            "ticklabelstandoff": 2,
        }
    ctx.add_y_axis("y3", ctx.at.strip, (lanes - 1 + 11 / 30, -11 / 30), **named)
    drawn = bars(ctx.path, ctx.end, ctx.front)
    if not drawn:
        return
    colours = [_bar_colour(ctx, bar, place) for place, bar in enumerate(drawn)]
    ctx.traces.append(
        {
            "type": "bar",
            "orientation": "h",
            "base": [bar.low for bar in drawn],
            "x": [bar.high - bar.low for bar in drawn],
            "y": [bar.lane for bar in drawn],
            "width": 22 / 30,
            "xaxis": "x",
            "yaxis": "y3",
            "customdata": [bar.index for bar in drawn],
            "hovertext": [ctx.texts[bar.index] for bar in drawn],
            "hovertemplate": HOVER,
            "marker": {"color": colours, "line": {"color": ctx.colours.page, "width": 0.4 if ctx.narrow else 0.8}},
            "text": shown_bar_texts(drawn, ctx.low, ctx.high, ctx.at.width),
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "insidetextfont": {"size": 12, "color": [_bar_ink(ctx, colour) for colour in colours]},
            "selected": {"marker": {"opacity": 1}},
            "unselected": {"marker": {"opacity": 1}},
        }
    )


def _bar_colour(ctx: Context, bar: Bar, place: int) -> str:
    """Return a bar's colour: a recurring partition has one everywhere, and the recommended one's is the accent."""
    numbers = ctx.path.recurrences
    if bar.index == ctx.recommended:
        return ctx.colours.accent
    if bar.recurrence is not None:
        best = ctx.recommended is not None and bar.recurrence == numbers[ctx.recommended]
        return ctx.colours.accent if best else cluster_colour(bar.recurrence, ctx.scheme)
    return ctx.colours.second if bar.index in ctx.selection else ctx.colours.bars[place % 2]


def _bar_ink(ctx: Context, colour: str) -> str:
    return ctx.colours.bar_text if colour in ctx.colours.bars else text_on(colour)


def _add_moved(ctx: Context) -> None:
    counts = [len(record.moved) for record in ctx.path.records]
    ctx.add_y_axis("y4", ctx.at.moved, (0, math.sqrt(max([*counts, 1]))))
    for best, colour in ((False, ctx.colours.muted), (True, ctx.colours.accent)):
        x: list[float | None] = []
        y: list[float | None] = []
        for index, count in enumerate(counts):
            if count and (index == ctx.recommended) is best:
                x += [ctx.sigma(index)] * 2 + [None]
                y += [0, math.sqrt(count), None]
        ctx.add_line("y4", x, y, colour, 1.5)
