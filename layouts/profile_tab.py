"""The Profile tab: what each cluster of a selected clustering is like.

Entry points: `tab`, and `content` and `column_options`, which a callback writes into it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from figures import words
from figures.theme import Scheme, cluster_colour
from layouts import ids
from layouts.parts import help_mark, select
from layouts.tabs import Tab, at_select, nothing_yet
from layouts.views import ResultView
from offgrid.profile import ClusterProfile

ACROSS = 6  # columns beside each other
_REACH = 2.5  # standard deviations from the middle of a track to its ends
_LONGEST = 18
_SCALED = {
    "none": "as they are",
    "unit": "divided by their standard deviation",
    "robust": "less their median, divided by their interquartile range",
}


def tab() -> Tab:
    """Return the tab, empty until it is open."""
    controls = [
        select(ids.PROFILE_COLUMNS, (), "", "Columns shown", class_name="tab-select tab-select-wide"),
        at_select(ids.PROFILE_AT, "Clustering profiled"),
        html.Button(
            "CSV",
            id=ids.PROFILE_CSV,
            type="button",
            className="save-button",
            **{"aria-label": "Save the profile of every cluster as CSV"},
        ),
    ]
    return Tab("profile", "Profile", html.Div(id=ids.PROFILE, className="tab-body"), controls)


def column_options(n_columns: int) -> list[dict[str, str]]:
    """Return what columns can be shown, as data of the select: none where all of them are."""
    if n_columns <= ACROSS:
        return []
    return [
        {"value": str(first), "label": f"columns {first + 1} to {min(first + ACROSS, n_columns)} of {n_columns}"}
        for first in range(0, n_columns, ACROSS)
    ]


def content(
    view: ResultView, profile: ClusterProfile | None, names: Sequence[str], *, first: int = 0, scaling: str = "none"
) -> list[Component]:
    """Return the table of a profile from the `first` most telling column on, or why there is none."""
    if profile is None:
        return [nothing_yet(why_none(view))]
    shown = profile.telling[first : first + ACROSS].tolist()
    rows = [_row(profile, place, shown, view.scheme) for place in range(len(profile.clusters))]
    body = html.Tbody([*rows, _overall(profile, shown)])
    return [
        html.P(_explained(len(names), scaling), className="tab-words"),
        html.Div(
            html.Table([_head(profile, shown, names), body], className="profile"),
            className="profile-frame",
            tabIndex=0,
            role="region",
            **{"aria-label": "Profile of the clusters"},
        ),
    ]


def as_text(profile: ClusterProfile, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table, with the most telling columns."""
    shown = profile.telling[:ACROSS].tolist()
    head = ["Cluster", "Size", "Mean distance", "RMS distance"]
    head += [f"{words.clip(names[j], _LONGEST)} ({100 * profile.separation[j]:.0f}% explained)" for j in shown]
    rows = [
        [
            str(int(cluster) + 1),
            f"{words.count(int(profile.sizes[place]))} ({words.percent(int(profile.sizes[place]) / profile.n_rows)})",
            *(words.value(float(x)) for x in (profile.distances[place], profile.spreads[place])),
            *(words.value(float(profile.means[place, j])) for j in shown),
        ]
        for place, cluster in enumerate(profile.clusters)
    ]
    return head, [*rows, ["All", words.count(profile.n_rows), *_of_all(profile, shown)]]


def _of_all(profile: ClusterProfile, shown: Sequence[int]) -> list[str]:
    numbers = [profile.overall_distance, profile.overall_spread, *(float(profile.overall[j]) for j in shown)]
    return [words.value(number) for number in numbers]


def explained(scaling: str) -> str:
    """Return what the numbers of the table are."""
    return f"Means are in the columns’ own units. Distances are those of the search, with columns {_SCALED[scaling]}."


def why_none(view: ResultView) -> list[str]:
    """Return why there is no profile to show."""
    if view.selection:
        return ["The data are not kept any more,", "so their clusters cannot be described."]
    if len(view.path):
        return ["No clustering is selected.", "Select a value on the path to see what its clusters are like."]
    return ["Clusters are described here", "once the first clustering is found."]


def _explained(n_columns: int, scaling: str) -> str:
    order = " Columns that tell the clusters apart most come first." if n_columns > 1 else ""
    return (
        "Means are in the columns’ own units; a dot is a mean against that of all rows, the tick in the middle, and "
        f"the ends of its track are {_REACH:g} standard deviations away.{order} Distances are those of the search, "
        f"with columns {_SCALED[scaling]}."
    )


def _head(profile: ClusterProfile, shown: Sequence[int], names: Sequence[str]) -> Component:
    fixed = [
        html.Th("Cluster", scope="col"),
        html.Th("Size", scope="col"),
        html.Th(["Mean distance", help_mark("Mean distance")], scope="col"),
        html.Th(["RMS distance", help_mark("RMS distance")], scope="col"),
    ]
    telling = [
        html.Th(
            scope="col",
            children=[
                html.Span(words.clip(names[column], _LONGEST), title=names[column], className="profile-name"),
                html.Span(
                    [f"{100 * profile.separation[column]:.0f}% explained", *_once(place)], className="profile-between"
                ),
            ],
        )
        for place, column in enumerate(shown)
    ]
    return html.Thead(html.Tr([*fixed, *telling]))


def _once(place: int) -> list[Component]:
    return [help_mark("Explained")] if place == 0 else []


def _row(profile: ClusterProfile, place: int, shown: Sequence[int], scheme: Scheme) -> Component:
    cluster, size = int(profile.clusters[place]), int(profile.sizes[place])
    colour, share = cluster_colour(cluster, scheme), size / profile.n_rows
    apart = profile.standardised[place]
    return html.Tr(
        style={"--cluster": colour},
        children=[
            html.Th([html.Span(className="profile-chip"), str(cluster + 1)], scope="row"),
            html.Td(
                [
                    html.Span([f"{words.count(size)} ", html.Span(words.percent(share), className="profile-share")]),
                    html.Span(className="profile-bar", style={"--share": f"{100 * share:.1f}%"}),
                ]
            ),
            html.Td(words.value(float(profile.distances[place]))),
            html.Td(words.value(float(profile.spreads[place]))),
            *[_mean(float(profile.means[place, column]), float(apart[column])) for column in shown],
        ],
    )


def _mean(mean: float, apart: float) -> Component:
    at = 50 + 50 * max(-1.0, min(apart / _REACH, 1.0))
    side = "above" if apart >= 0 else "below"
    told = f"{abs(apart):.2f} standard deviations {side} the mean of all rows"
    return html.Td(
        [
            html.Span(words.value(mean)),
            html.Span(className="profile-track", style={"--at": f"{at:.1f}%"}, title=told),
            html.Span(told, className="visually-hidden"),
        ]
    )


def _overall(profile: ClusterProfile, shown: Sequence[int]) -> Component:
    return html.Tr(
        [
            html.Th("All", scope="row"),
            html.Td(words.count(profile.n_rows)),
            *[html.Td(number) for number in _of_all(profile, shown)],
        ],
        className="profile-all",
    )
