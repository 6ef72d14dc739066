"""The HTML report: what the page shows, put into one file.

Entry points: `report_file`, `values`, `settings_in_words`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callbacks.clusterings_panel import axes_view, painter, unscaled
from callbacks.code_tab import reproduction
from callbacks.path_panel import drawn_path
from callbacks.profile_tab import profiled
from callbacks.state import Data, Look, result_view
from callbacks.tabs import Seen
from figures import words
from figures.clustering import matched_clusterings, matched_truth
from figures.flow import flow_figure, steps
from layouts import clusterings_panel, compare_tab, flow_tab, path_panel, profile_tab, summary, table_panel
from layouts.parts import DEFINITIONS, LETTERS, plain_text
from layouts.views import ResultView, Scheme
from offgrid.comparison import MAX_ROWS
from offgrid.datasets.model import Points
from offgrid.errors import InputError
from services.context import Services
from services.export import NOTHING, File, slug
from services.report import Drawing, Report, Table, report_html
from services.run_settings import RunSettings, library_version
from services.runs import Run

PLOTLY_FILE = Path(__file__).resolve().parents[1] / "assets" / "plotly" / "plotly.min.js"
_SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")


def report_file(services: Services, asked: RunSettings, run: Run, points: Points, chosen: Data) -> File:
    """Return the report of a run, with the selection that the page shows.

    Raises
    ------
    InputError
        Where nothing has been found yet.
    """
    if not len(run.path):
        raise InputError(NOTHING)
    view = result_view(services, asked, run, chosen, Look())
    now = Seen(asked, view, points)
    python, shell, about = reproduction(services, now)
    content = Report(
        title=view.title,
        about=view.note,
        answer=plain_text(summary.summary(view)[0]),
        worth=summary.worth_lines(view) if view.state == "finished" else [],
        path=_drawing(
            "Bandwidth path", lambda scheme: drawn_path(replace(view, scheme=scheme), marks=False), _path_note(view)
        ),
        panes=_panes(services, view, asked, points),
        flow=_flow(view, now.n_clusters),
        why=compare_tab.why(view),
        reasons=compare_tab.reasons(view),
        methods=_methods(view),
        profile=_profile(services, now),
        profile_note=profile_tab.explained(asked.data.scaling),
        values=values(view),
        settings=settings_in_words(asked, points, view),
        python=f"# {about}\n{python}" if about and python else python,
        shell=shell,
        definitions=definitions(view),
        made=f"Made with Off-the-grid {library_version()} on {datetime.now(UTC):%Y-%m-%d}.",
    )
    name = f"{slug(points.title)}-k{now.n_clusters}-report.html"
    return File(name, report_html(content, PLOTLY_FILE.read_text(encoding="utf-8")), "text/html")


def _drawing(title: str, draw: Callable[[Scheme], Any], note: str = "", caption: str = "") -> Drawing:
    return Drawing(title, draw("light"), draw("dark"), note, caption)


def _path_note(view: ResultView) -> str:
    """Return the note and the legend of the path in one line."""
    marks = {"recommended": "diamond: recommended", "best so far": "diamond: best so far"}
    legend = [plain_text(entry) for entry in path_panel.legend(view)]
    return "; ".join(filter(None, [path_panel.path_note(view), ", ".join(marks.get(text, text) for text in legend)]))


def _panes(services: Services, view: ResultView, asked: RunSettings, points: Points) -> list[Drawing]:
    """Return the selected clusterings, and the labels where there are any."""
    axes, k = axes_view(services, asked), asked.search.n_clusters
    pictures = unscaled(services, asked) if axes.drawing == "means" else None
    draw = {scheme: painter(services, points, pictures, (axes.x, axes.y), scheme) for scheme in _SCHEMES}
    found = matched_clusterings(view.path, view.selection, k)
    panes = []
    for place, one in enumerate(found):
        role = clusterings_panel.role(view, one.index)
        at = words.bandwidth(view.path.records[one.index].sigma, view.symbol)
        title = f"{LETTERS[place]}, {at}{f', {role}' if role else ''}"
        light, dark = (draw[scheme](one.labels, k, moved=one.moved) for scheme in _SCHEMES)
        measures = ", ".join(clusterings_panel.measures(view, one.index))
        panes.append(Drawing(title, light, dark, measures, clusterings_panel.caption(place, one.n_moved)))
    if points.y is not None and found:
        classes, names = matched_truth(found[0].labels, points.y, points.class_names)
        light, dark = (draw[scheme](classes, len(names), class_names=names) for scheme in _SCHEMES)
        panes.append(Drawing("Ground truth", light, dark, "the labels that came with the data", axes.note))
    return panes


def _flow(view: ResultView, k: int) -> Drawing | None:
    if len(view.selection) < 2:
        return None
    found = matched_clusterings(view.path, view.selection, k)
    sigmas = [view.path.records[index].sigma for index in view.selection]

    def draw(scheme: Scheme) -> Any:
        return flow_figure(
            found, n_clusters=k, sigmas=sigmas, symbol=view.symbol, recommended=view.recommended, scheme=scheme
        )

    told = [flow_tab.told(place, step) for place, step in enumerate(steps(found, k))]
    return _drawing("Flow between clusterings", draw, flow_tab.EXPLAINED, "\n".join(told))


def values(view: ResultView) -> Table:
    """Return the table of every value, in the order of the page's table."""
    rows = sorted(table_panel.rows(view, "all"), key=lambda row: row["sigma"])
    several, labelled = len(view.path.levels) > 1, view.has_labels
    head = ["", *(["Level"] if several else []), view.symbol, "Holds to", "Points moved here", "c-NNC"]
    head += [*(["NMI", "ARI"] if labelled else []), "Smallest cluster"]
    cells = [
        [
            row["letter"],
            *([str(row["level"])] if several else []),
            row["sigma_text"],
            row["holds_text"],
            "–" if row["moved"] is None else words.count(row["moved"]),
            words.measure(row["cnnc"], 4),
            *([words.measure(row["nmi"]), words.measure(row["ari"])] if labelled else []),
            words.count(row["smallest"]),
        ]
        for row in rows
    ]
    marked = next((place for place, row in enumerate(rows) if row["recommended"]), None)
    return Table(head, cells, marked)


def _methods(view: ResultView) -> Table | None:
    """Return the table of the Compare tab, None where there is one method alone."""
    found = [one for one in compare_tab.methods(view) if not one.failure]
    if len(found) < 2:
        return None
    rows = [[compare_tab.named(view, one).title, *compare_tab.cells(view, one)] for one in found]
    marked = next((place for place, one in enumerate(found) if compare_tab.is_final(view, one)), None)
    return Table([text for text, _ in compare_tab.columns(view)], rows, marked)


def _profile(services: Services, now: Seen) -> Table | None:
    """Return the profile of the recommended clustering."""
    profile = profiled(services, now, now.view.recommended)
    if profile is None or now.points is None:
        return None
    return Table(*profile_tab.as_text(profile, now.points.feature_names))


def settings_in_words(asked: RunSettings, points: Points, view: ResultView) -> list[tuple[str, str]]:
    """Return everything that decided the result, as name and value."""
    data, search = asked.data, asked.search
    columns = ", ".join(points.feature_names[:20])
    more = len(points.feature_names) - 20
    start = search.start if isinstance(search.start, str) else f"{search.symbol} = {search.start:g}"
    left = f" of {words.count(points.n + points.n_left_out)}, {words.count(points.n_left_out)} left out: missing values"
    found = [
        ("Data", points.title),
        ("Rows", f"{words.count(points.n)}{left if points.n_left_out else ''}"),
        ("Columns", f"{columns} and {more} more" if more > 0 else columns),
        ("Labels", ", ".join(points.class_names[:20]) if points.y is not None else "none"),
        ("Missing values", "rows dropped" if data.missing == "drop" else "filled with the median"),
        ("Scaling", words.SCALINGS[data.scaling]),
        ("Clusters k", str(search.n_clusters)),
        ("Start partition", f"{search.init}, {words.plural(search.n_init, 'start')}, seed {search.seed}"),
        ("Kernel", search.kernel_title),
        ("Method", search.method),
        ("Start of the search", start),
    ]
    if search.method == "dyadic":
        found.append(("Depths", f"{', '.join(map(str, search.depths))}; limiting check: {search.limiting or 'none'}"))
    if search.max_steps is not None:
        found.append(("Step budget", words.count(search.max_steps)))
    return [
        *found,
        ("Recommended clustering", _recommended(asked, points, view)),
        ("State", view.state),
        ("Time of the search", _seconds(sum(record.seconds for record in view.path.found))),
        *([("Time of the recommendation", _seconds(view.recommendation.seconds))] if view.recommendation else []),
        *[("Note", note) for note in points.notes],
    ]


def _recommended(asked: RunSettings, points: Points, view: ResultView) -> str:
    """Return how the recommended clustering was made."""
    if view.recommendation is None:
        return "of the values on the path the one of lowest c-NNC"
    sample = f", on a random sample of {words.count(MAX_ROWS)} rows" if points.n > MAX_ROWS else ""
    return (
        f"of {len(view.recommendation.tried)} clusterings the one that separates the fewest near neighbours, k-means "
        "where no other is better by more than one standard error: normalised cuts from a spectral start, one for each "
        f"σ of a grid, and the best of 10 k-means starts; seed {asked.search.seed}{sample}"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else words.duration(seconds)


def definitions(view: ResultView) -> list[tuple[str, str]]:
    """Return the definitions of the measures that the report shows."""
    near = ["Near neighbours"] if view.recommendation is not None else []
    terms = [*near, "c-NNC", *(["NMI", "ARI"] if view.has_labels else []), "Stability", "Kernel"]
    return [(term, DEFINITIONS[term]) for term in terms]
