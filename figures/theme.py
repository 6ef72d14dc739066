"""Colours, type and plotly defaults of every figure, in light and dark.

Entry points: `palette`, `cluster_colour`, `cluster_symbol`, `text_on`, `base_layout`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Scheme = Literal["light", "dark"]
Figure = dict[str, Any]

FONT = '"Fira Sans", system-ui, sans-serif'
_BLACK = "#0A0B0D"  # reads at 4.5 to 1 on every colour that white does not
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon")


@dataclass(frozen=True)
class Palette:
    """The roles of the design's colour table."""

    page: str
    ink: str
    second: str
    muted: str
    hairline: str
    border: str
    accent: str
    filled: str
    column: str
    bars: tuple[str, str]
    bar_text: str
    clusters: tuple[str, ...]


_PALETTES: dict[Scheme, Palette] = {
    "light": Palette(
        page="#FFFFFF",
        ink="#15181D",
        second="#4A515C",
        muted="#666D79",
        hairline="#E6E8EB",
        border="#D3D7DC",
        accent="#3A4FD0",
        filled="#3A4FD0",
        column="#F1F2F4",
        bars=("#C3C8D0", "#D5D9DF"),
        bar_text="#4A515C",
        clusters=("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A3CC8", "#6B4423"),
    ),
    "dark": Palette(
        page="#121417",
        ink="#ECEEF1",
        second="#BAC0CA",
        muted="#8D95A1",
        hairline="#262A30",
        border="#373C45",
        accent="#9BA9FF",
        filled="#4F63E6",
        column="#1C1F24",
        bars=("#4A505B", "#393E47"),
        bar_text="#D8DCE3",
        clusters=("#3D9BDC", "#F0B429", "#2DB98F", "#DB93BD", "#8BD0F5", "#EE7B3A", "#8A5CF0", "#9A6550"),
    ),
}


def palette(scheme: Scheme) -> Palette:
    """Return the colours of a scheme; anything but "dark" is light."""
    return _PALETTES["dark" if scheme == "dark" else "light"]


def cluster_colour(cluster: int, scheme: Scheme) -> str:
    """Return the colour of cluster 0, 1, …; colours repeat after eight."""
    colours = palette(scheme).clusters
    return colours[cluster % len(colours)]


def cluster_symbol(cluster: int) -> str:
    """Return the marker of cluster 0, 1, …: circles for the first eight, another shape for each eight after."""
    return SYMBOLS[cluster // 8 % len(SYMBOLS)]


def text_on(colour: str) -> str:
    """Return near-black or white, whichever reads better on a colour."""
    light = _luminance(colour)
    white, black = 1.05 / (light + 0.05), (light + 0.05) / (_luminance(_BLACK) + 0.05)
    return "#FFFFFF" if white >= black else _BLACK


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def template(scheme: Scheme) -> Figure:
    """Return the plotly template of a scheme: what every figure shares."""
    colours = palette(scheme)
    return {
        "layout": {
            "font": {"family": FONT, "size": 12, "color": colours.muted},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(colours.clusters),
            "hoverlabel": {
                "bgcolor": colours.page,
                "bordercolor": colours.border,
                "font": {"family": FONT, "size": 12.5, "color": colours.ink},
                "align": "left",
            },
        }
    }


def base_layout(scheme: Scheme) -> Figure:
    """Return the layout every figure starts from."""
    return {
        "template": template(scheme),
        "showlegend": False,
        "hovermode": "closest",
        "separators": ".,",
        "modebar": {"remove": ["select", "lasso", "zoom", "pan"]},
    }
