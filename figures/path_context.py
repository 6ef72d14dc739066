"""What every part of the path figure needs: where the panels stand, the axis, the colours, and what is drawn so far.

Entry points: `Geometry`, `geometry`, `Context`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from figures.path_data import hover_texts
from figures.theme import Figure, Palette, Scheme
from offgrid.path import BandwidthPath

Panel = tuple[float, float]

HOVER = "%{hovertext}<extra></extra>"
GAP_TO_COLUMN = 8.0
_LETTERS = (2.0, 26.0)  # room above for the ring around the active one


@dataclass(frozen=True)
class Geometry:
    """Places in px from the figure's top: each panel's (top, bottom); margins; width assumed for placing letters."""

    letters: Panel
    nmi: Panel | None
    cnnc: Panel
    strip: Panel
    moved: Panel
    foot: float
    left: float
    right: float
    column: float
    width: float

    @property
    def top(self) -> float:
        """Top of the first panel."""
        return (self.nmi or self.cnnc)[0]

    @property
    def height(self) -> float:
        """Height of the whole figure."""
        return self.moved[1] + self.foot


def geometry(*, has_nmi: bool, lanes: int, narrow: bool, frozen_column: bool) -> Geometry:
    """Return where everything stands. Heights are the design's; a further lane of the strip takes 30 px."""
    nmi_high, cnnc_high, gap, last_gap, moved_high = (150, 124, 42, 36, 34) if narrow else (176, 136, 42, 32, 34)
    column, width, ticks = (58, 204, 30) if narrow else (92, 824, 40)
    top = 56.0
    nmi = (top, top + nmi_high) if has_nmi else None
    cnnc_top = nmi[1] + gap if nmi else top
    cnnc = (cnnc_top, cnnc_top + cnnc_high)
    strip = (cnnc[1] + gap, cnnc[1] + gap + 22 + 30 * (max(lanes, 1) - 1))
    moved = (strip[1] + last_gap, strip[1] + last_gap + moved_high)
    left = column + ticks if frozen_column else ticks
    width += 0 if frozen_column else column
    return Geometry(_LETTERS, nmi, cnnc, strip, moved, 50, left, column + GAP_TO_COLUMN, column, width)


@dataclass(frozen=True, eq=False)
class Context:
    """What every part of the drawing needs, and the lists to which it adds."""

    path: BandwidthPath
    at: Geometry
    colours: Palette
    scheme: Scheme
    selection: tuple[int, ...]
    recommended: int | None
    low: float
    high: float
    front: float | None
    narrow: bool
    symbol: str = "σ"
    traces: list[Figure] = field(default_factory=list)
    shapes: list[Figure] = field(default_factory=list)
    notes: list[Figure] = field(default_factory=list)
    axes: Figure = field(default_factory=dict)

    @property
    def end(self) -> float:
        """Bandwidth at which the axis ends."""
        return 10.0**self.high

    @cached_property
    def texts(self) -> list[str]:
        """Hover text of each record."""
        return hover_texts(self.path, self.symbol)

    def sigma(self, index: int) -> float:
        """Return where a record stands on the axis: ordinary k-means, which has no bandwidth, at its end."""
        return min(self.path.records[index].sigma, self.end)

    @cached_property
    def far_end(self) -> int | None:
        """Index of the record that holds for every larger bandwidth, None where no level got there."""
        lasts = (self.path.at_level(level)[-1] for level in self.path.levels)
        return next((i for i in lasts if math.isinf(self.path.holds_to(i) or 0.0)), None)

    def px(self, log_sigma: float) -> float:
        """Return where a bandwidth (log10) lies on an axis of the width assumed, in px from its left end."""
        return (log_sigma - self.low) / (self.high - self.low) * self.at.width

    def y(self, px: float) -> float:
        """Return the paper coordinate of a height in px from the top."""
        return 1 - px / self.at.moved[1]

    def add_y_axis(self, name: str, panel: Panel, span: tuple[float, float], **extra: Any) -> None:
        """Add the axis of a panel; `name` is "y", "y2", …. Without `extra` nothing of it is seen."""
        self.axes[f"yaxis{name[1:]}"] = {
            "domain": [max(0.0, self.y(panel[1])), min(1.0, self.y(panel[0]))],
            "range": list(span),
            "anchor": "x",
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "showticklabels": False,
            "fixedrange": True,
            **extra,
        }

    def add_marks(self, name: str, indices: list[int], y: list[float], marker: Figure, **extra: Any) -> None:
        """Add marks that can be pointed at, clicked and boxed; `customdata` is the record's index."""
        self.traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [self.sigma(i) for i in indices],
                "y": y,
                "xaxis": "x",
                "yaxis": name,
                "customdata": indices,
                "hovertext": [self.texts[i] for i in indices],
                "hovertemplate": HOVER,
                "marker": marker,
                "selected": {"marker": {"opacity": 1}},
                "unselected": {"marker": {"opacity": 1}},
                "cliponaxis": False,
                **extra,
            }
        )

    def add_line(self, name: str, x: list[Any], y: list[Any], colour: str, width: float, **line: Any) -> None:
        """Add a line that nothing happens to."""
        self.traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "xaxis": "x",
                "yaxis": name,
                "line": {"color": colour, "width": width, **line},
                "hoverinfo": "skip",
            }
        )

    def add_rule(self, sigma: float, top: float, bottom: float, **line: Any) -> None:
        """Add a vertical line at a bandwidth, from and to heights in px from the top."""
        ends = {"x0": sigma, "x1": sigma, "y0": self.y(bottom), "y1": self.y(top)}
        self.shapes.append({"type": "line", "xref": "x", "yref": "paper", **ends, "line": line, "layer": "above"})

    def add_note(
        self,
        text: str,
        *,
        x: float,
        px: float,
        shift: float = 0,
        size: float = 12,
        colour: str | None = None,
        weight: int = 400,
        plate: bool = False,
        **extra: Any,
    ) -> None:
        """Add words centred at a height in px from the top; `plate` puts the page's colour behind them."""
        note = {
            "text": text,
            "showarrow": False,
            "xref": "paper",
            "x": x,
            "xanchor": "center",
            "xshift": shift,
            "yref": "paper",
            "y": 1,
            "yanchor": "middle",
            "yshift": -px,
            "borderpad": 1,
            "font": {"size": size, "color": colour or self.colours.muted, "weight": weight},
            **extra,
        }
        self.notes.append({**note, "bgcolor": self.colours.page} if plate else note)
