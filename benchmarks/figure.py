"""The ratios as a bar chart, in one HTML file that needs nothing else.

Entry points: `write_figure`, `bars`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def bars(results: Sequence[dict[str, Any]]) -> list[tuple[str, float, str]]:
    """Return label, ratio and who it is a ratio to, for every row of seconds that has one."""
    return [
        (f"{result['name']}: {row['label']}", row["ratio"], row["against"])
        for result in results
        for row in result["rows"]
        if row["ratio"] is not None and row["unit"] == "s"
    ]


def write_figure(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the chart."""
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    every = bars(results)
    texts = [f"{ratio:.3g} × {against}" for _, ratio, against in every]
    figure = go.Figure(
        go.Bar(
            y=[label for label, _, _ in every],
            x=[ratio for _, ratio, _ in every],
            text=texts,
            orientation="h",
            marker={"color": "#2f6f8f"},
            hovertemplate="%{y}<br>%{text}<extra></extra>",
        )
    )
    figure.update_layout(
        title="How many times as fast as others: medians of one run",
        template="simple_white",
        height=160 + 34 * len(every),
        margin={"l": 20, "r": 40},
        xaxis={"type": "log", "title": "their seconds / our seconds (right of 1: ours is faster)"},
        yaxis={"autorange": "reversed", "automargin": True},
        shapes=[{"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper", "line": {"dash": "dot"}}],
    )
    figure.write_html(path, include_plotlyjs=True)
