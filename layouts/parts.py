"""Small parts that every panel is made of: icons, help marks, titles, letters.

Entry points: `icon`, `help_mark`, `section_title`, `legend_entries`, `field`, `settings_section`, `letter`, `select`,
`unbroken`, `plain_text`, `choices`, `address`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import dash_mantine_components as dmc
from dash import get_relative_path, html
from dash.development.base_component import Component

LETTERS = "ABCDEF"

DEFINITIONS = {
    "NMI": (
        "Normalised mutual information: how much the clustering and the labels tell about each other, from 0 (nothing) "
        "to 1 (the same partition). No unit."
    ),
    "c-NNC": (
        "Nearest-neighbour cost: how often the nearest neighbours of a point lie in another cluster, nearer ones "
        "weighing more. From 0 to 1; 0 means that every point sits among its own. It needs no labels. No unit."
    ),
    "Near neighbours": (
        "For each row, look at the rows most like it: the share of them that lies in another cluster, the nearest "
        "counting most, on average over clusters. Lower is better; no labels are needed. Exactly: c-NNC over each "
        "row’s J = ⌊2 (log n + 1)⌋ nearest neighbours, where neighbour j weighs the sum of 1/c² for c = j to J."
    ),
    "Stability": (
        "Each bar is one clustering, as long as the range of σ (log scale) over which no point moves. 4.9× means that "
        "σ can grow 4.9 times before the first point changes cluster; ≤ 2.0× that it changes by then, where the search "
        "has not looked in between. Where a partition recurs, all its bars have one colour."
    ),
    "Values": (
        "A value is a σ at which the path’s clustering changes. Each value has a partition: which rows are together, "
        "whatever the clusters are called. It recurs where the same one comes back at a larger σ. A recommended "
        "clustering that is not on the path is not counted."
    ),
    "Kernel": (
        "σ is in squared units of the data. For scikit-learn gamma = 1/σ. For the form exp(−‖x−y‖²/2s²) the width is "
        "s = √(σ/2)."
    ),
    "Laplacian": (
        "‖x−y‖₁ is the sum of the absolute differences of the columns: an outlying value counts less than in RBF. "
        "σ is in units of the data. For scikit-learn’s laplacian_kernel gamma = 1/σ."
    ),
    "Polynomial": (
        "The degree d is searched from 1 to 64, and the kernel sharpens as it grows. For scikit-learn’s "
        "polynomial_kernel gamma = 1, coef0 = c, degree = d. There is no end at k-means, and no bound."
    ),
    "Kernel sum": (
        "Two kernels added: the parameter of the first is searched, the second stays as it is. The search ends where "
        "the first no longer tells points apart."
    ),
    "ARI": (
        "Adjusted Rand index: on how many pairs of points clustering and labels agree, corrected for chance. 1 is the "
        "same partition, 0 what chance gives. No unit."
    ),
    "Holds to": (
        "The partition stays as it is while σ grows up to this value, where the first point changes cluster. ≤ marks a "
        "bound: it changes by then, where the search has not looked in between. – stands for the recommended "
        "clustering where it is not on the path: it comes from another start, and how far it holds was not searched."
    ),
    "Interval": "The range over which no point moves, on a log scale; a full bar is a factor of 100.",
    "Points moved here": (
        "Points that change cluster at this value of the path, against the value just before it. The clusterings above "
        "count from one card to the next, which may be many values apart."
    ),
    "Smallest cluster": "Points in the smallest cluster. 0 means that a cluster is empty.",
    "Distinct clusterings": "Different partitions among all that were found, whatever the clusters’ numbers.",
    "Kernel passes": (
        "Kernel entries evaluated, in units of n²: one pass looks at every pair of points once. A measure of work that "
        "does not depend on the machine."
    ),
    "Diagonal dominance": (
        "The share of the diagonal, each row with itself, in the sum of all entries of the kernel matrix. 1 means that "
        "no two rows are alike: nothing can move. 1 over the number of rows means that all are alike. No unit."
    ),
    "Mean distance": (
        "The mean over a cluster’s rows of their distance to the cluster’s mean, as the search sees the data. Of an "
        "outlying row it feels less than the RMS distance."
    ),
    "RMS distance": (
        "The square root of the mean squared distance of a cluster’s rows to the cluster’s mean: its spread, and what "
        "ordinary k-means makes small."
    ),
    "Explained": (
        "The share of a column’s variance that lies between the clusters’ means, and not inside clusters: 100% where "
        "the column alone tells the clusters apart, 0% where it does not differ between them."
    ),
    "Mean within clusters": (
        "The kernel's mean over all pairs of different rows in the same cluster, in units of its largest entry: 1 is "
        "as alike as a row is to itself, 0 nothing in common. No unit."
    ),
    "Mean between clusters": (
        "The kernel's mean over all pairs of rows in different clusters, in units of its largest entry. The further "
        "below the mean within clusters, the clearer the kernel tells the clusters apart. No unit."
    ),
}


# A list that goes on shows so: Mantine hides scrollbars until one points at them.
SCROLLBAR = {"type": "auto"}


def address(path: str) -> str:
    """Return the address of a page of ours, below the prefix that the application is served under."""
    try:
        return str(get_relative_path(path))
    except AttributeError:  # there is no application: a part is looked at by itself
        return path


def icon(name: str) -> Component:
    """Return a decorative icon; its drawing is a mask in the stylesheet, so that it takes the text's colour."""
    return html.Span(className=f"icon icon-{name}", **{"aria-hidden": "true"})


def help_mark(term: str, text: str | None = None, *, class_name: str = "") -> Component:
    """Return a question mark that opens the definition of `term` on hover, focus and touch."""
    # The wrapper that Mantine puts around a target is the button itself: it gets the focus and the description.
    button = {"component": "button", "type": "button", "className": "help-mark", "aria-label": f"What {term} means"}
    mark = dmc.Tooltip(
        label=text or DEFINITIONS[term],
        multiline=True,
        w=264,
        position="bottom-start",
        events={"hover": True, "focus": True, "touch": True},
        classNames={"tooltip": "definition"},
        boxWrapperProps={**button, "w": 16},
        children="?",
    )
    return html.Div(mark, className=f"help-place {class_name}".strip())


def section_title(title: str, note: Any = None, *, note_id: str | None = None, right: Any = None) -> Component:
    """Return the head of a section: title, muted note, and what stands at its right edge."""
    extra = {"id": note_id} if note_id else {}
    return html.Div(
        className="section-head",
        children=[
            html.H2(title, className="section-title"),
            html.Div(note, className="section-note", **extra),
            html.Div(right, className="section-right"),
        ],
    )


def legend_entries(entries: Iterable[tuple[str, str]]) -> list[Component]:
    """Return the entries of a legend, each a mark (its class is "key-" and the first text) and what it means."""
    return [
        html.Span([html.Span(className=f"key key-{key}", **{"aria-hidden": "true"}), text], className="legend-entry")
        for key, text in entries
    ]


def field(
    label: str,
    control: Component,
    *,
    wrapper_id: str | None = None,
    hidden: bool = False,
    help_text: str | None = None,
) -> Component:
    """Return a control under its small label, in a wrapper that callbacks can hide."""
    extra = {"id": wrapper_id} if wrapper_id else {}
    mark = [help_mark(label, help_text)] if help_text else []
    return html.Div(
        className="field",
        hidden=hidden,
        **extra,
        children=[html.Div([html.Span(label), *mark], className="field-label"), control],
    )


def letter(place: int, *, accent: bool = False) -> Component:
    """Return the round letter of the selection's place."""
    return html.Span(LETTERS[place], className="letter letter-accent" if accent else "letter")


def select(
    component_id: str, options: Iterable[tuple[str, str]], value: str, label: str, *, class_name: str | None = None
) -> Component:
    """Return a select that always has a value."""
    return dmc.Select(
        id=component_id,
        data=choices(options),
        value=value,
        allowDeselect=False,
        rightSection=icon("chevron"),
        scrollAreaProps=SCROLLBAR,
        className=class_name,
        **{"aria-label": label},
    )


_UNBROKEN = re.compile(r"((?:σ|degree) = [^ ]*[^ ,.;:]|c-NNC(?: [0-9.]*[0-9])?|NMI [0-9.]*[0-9]|larger σ|k-means)")


def unbroken(text: str) -> list[Any]:
    """Return prose in which a name and its value ("σ = 90.8") stay on one line."""
    pieces = enumerate(_UNBROKEN.split(text))
    return [html.Span(piece, className="unbroken") if place % 2 else piece for place, piece in pieces if piece]


def plain_text(component: Any) -> str:
    """Return the text of a component and of all it contains."""
    if isinstance(component, list | tuple):
        return "".join(plain_text(part) for part in component)
    if isinstance(component, Component):
        return plain_text(getattr(component, "children", None))
    return "" if component is None else str(component)


def choices(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return (value, label) pairs as Mantine data."""
    return [{"value": value, "label": label} for value, label in pairs]


def settings_section(title: str, note: str, children: list[Component]) -> Component:
    """Return a section of the settings: title, one muted sentence, controls."""
    return html.Section(
        className="settings-section",
        children=[html.H2(title, className="settings-title"), html.P(note, className="help"), *children],
    )
