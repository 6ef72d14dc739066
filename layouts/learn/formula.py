"""Formulas in plain typography: no script has to be fetched for them, and screen readers read them.

Entry point: `formula`.
"""

from __future__ import annotations

import re
from typing import Any

from dash import html

# {x} is a letter in italics, ^(2) stands above the line, _(i) below it.
_MARKS = re.compile(r"\{([^{}]*)\}|\^\(([^()]*)\)|_\(([^()]*)\)")


def formula(text: str) -> list[Any]:
    """Return text with `{x}` in italics, `^(2)` raised and `_(i)` lowered.

    Examples
    --------
    >>> [getattr(piece, "children", piece) for piece in formula("{b}^(p)")]
    ['b', 'p']
    """
    pieces: list[Any] = []
    at = 0
    for found in _MARKS.finditer(text):
        if found.start() > at:
            pieces.append(text[at : found.start()])
        slanted, above, under = found.groups()
        if slanted is not None:
            pieces.append(html.I(slanted))
        else:
            pieces.append(html.Sup(above) if above is not None else html.Sub(under))
        at = found.end()
    return [*pieces, text[at:]] if at < len(text) else pieces
