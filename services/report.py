"""One HTML file with a whole result: it opens without a server and without a network.

Entry points: `Report` with its parts, and `report_html`. Everything is inside: scripts once, type, figures, text. A
policy in the page itself forbids every request. Memory: plotly.js (2 MB) and the figures, as text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
_FONTS = _HERE.parent / "assets" / "fonts"
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
Figure = Mapping[str, Any]


@dataclass(frozen=True)
class Drawing:
    """A figure in both schemes, under its title, with a line above and one beneath."""

    title: str
    light: Figure
    dark: Figure
    note: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text; `marked` is the one that stands out."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None


@dataclass(frozen=True)
class Report:
    """What a report says, as plain text: all of it is escaped when it is written."""

    title: str
    about: str
    answer: str
    worth: Sequence[str]
    path: Drawing
    panes: Sequence[Drawing]
    flow: Drawing | None
    why: str
    reasons: Sequence[str]
    methods: Table | None
    profile: Table | None
    profile_note: str
    values: Table
    settings: Sequence[tuple[str, str]]
    python: str
    shell: str
    definitions: Sequence[tuple[str, str]]
    made: str


def report_html(report: Report, plotly_js: str) -> str:
    """Return the file. `plotly_js` is what the pages use of plotly.js."""
    drawings = [report.path, *report.panes, *([report.flow] if report.flow else [])]
    figures = [_both(drawing) for drawing in drawings]
    flow = len(drawings) - 1
    body = [
        f'<p class="data"><b>{escape(report.title)}</b> {escape(report.about)}</p>',
        f"<h1>{_prose(report.answer)}</h1>",
        *[f'<p class="worth">{_prose(sentence)}</p>' for sentence in report.worth],
        _wide(report.path, 0),
        "<h2>Clusterings</h2>" if report.panes else "",
        f'<div class="panes">{"".join(_pane(one, i) for i, one in enumerate(report.panes, 1))}</div>',
        _wide(report.flow, flow) if report.flow else "",
        _reasons(report),
        f"<h2>Methods compared</h2>{_table(report.methods)}" if report.methods else "",
        _profile(report),
        f"<h2>Values</h2>{_table(report.values)}",
        f"<h2>Settings</h2>{_settings(report.settings)}" if report.settings else "",
        f"<h2>The same run again</h2><h3>Python</h3><pre>{escape(report.python)}</pre>" if report.python else "",
        f"<h3>Command line</h3><pre>{escape(report.shell)}</pre>" if report.shell else "",
        f"<h2>What the measures mean</h2><dl>{_definitions(report.definitions)}</dl>",
        f"<footer>{escape(report.made)}</footer>",
    ]
    return _page(report.title, "\n".join(body), json.dumps(figures, allow_nan=False, ensure_ascii=False), plotly_js)


def _prose(text: str) -> str:
    """Return a sentence in which no line ends after "k-"."""
    return escape(text).replace("k-means", '<span class="unbroken">k-means</span>')


def _page(title: str, body: str, figures: str, plotly_js: str) -> str:
    """Return the document; nothing that a text contains can end the script that holds it."""
    style = _fonts() + (_HERE / "report_page" / "report.css").read_text(encoding="utf-8")
    script = (_HERE / "report_page" / "report.js").read_text(encoding="utf-8")
    data = figures.replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}, Off-the-grid</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
<script type="application/json" id="figures">{data}</script>
<script>{plotly_js}</script>
<script>{script}</script>
</body>
</html>
"""


def _wide(drawing: Drawing, place: int) -> str:
    height = drawing.light["layout"].get("height", 420)
    return (
        f'<h2>{escape(drawing.title)}</h2><p class="note">{escape(drawing.note)}</p><div class="wide">'
        f'<div class="figure" id="figure-{place}" style="height:{int(height)}px"></div></div>{_caption(drawing)}'
    )


def _pane(drawing: Drawing, place: int) -> str:
    return (
        f'<section class="pane"><h3>{escape(drawing.title)}</h3><p class="note">{escape(drawing.note)}</p>'
        f'<div class="figure" id="figure-{place}"></div>{_caption(drawing)}</section>'
    )


def _caption(drawing: Drawing) -> str:
    return "".join(f'<p class="caption">{escape(line)}</p>' for line in drawing.caption.splitlines())


def _reasons(report: Report) -> str:
    told = "".join(f'<p class="reason">{_prose(sentence)}</p>' for sentence in report.reasons)
    return f"<h2>{escape(report.why)}</h2>{told}" if told else ""


def _profile(report: Report) -> str:
    if report.profile is None:
        return ""
    note = f'<p class="note">{escape(report.profile_note)}</p>'
    return f"<h2>Profile of the recommended clustering</h2>{note}{_table(report.profile)}"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    rows = []
    for place, row in enumerate(table.rows):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        rows.append(f'<tr class="marked">{cells}</tr>' if place == table.marked else f"<tr>{cells}</tr>")
    body = "".join(rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _settings(settings: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in settings)
    return f'<table class="settings"><tbody>{rows}</tbody></table>'


def _definitions(definitions: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in definitions)


def _fonts() -> str:
    """Return the two weights of the page's type, inside the style sheet."""
    faces = []
    for weight in (400, 500):
        content = base64.b64encode((_FONTS / f"fira-sans-latin-{weight}-normal.woff2").read_bytes()).decode("ascii")
        source = f'url(data:font/woff2;base64,{content}) format("woff2")'
        faces.append(f'@font-face{{font-family:"Fira Sans";font-weight:{weight};src:{source}}}')
    return "".join(faces)


def _both(drawing: Drawing) -> dict[str, Any]:
    """Return a figure once, with the places where the dark one differs from it."""
    light, dark = plain(drawing.light), plain(drawing.dark)
    return {"figure": light, "dark": list(differences(light, dark))}


def differences(one: Any, other: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[list[str | int], Any]]:
    """Yield where, and in what, one tree of plain values has to be changed to be the other.

    The smallest changed parts are named, but lists of other lengths and objects with other keys are taken whole.
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, (*path, place))
    elif one != other:
        yield list(path), other


def plain(value: Any) -> Any:
    """Return a figure's values as JSON has them: lists, and null for what is no number."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
