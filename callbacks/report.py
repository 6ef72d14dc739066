"""The HTML report: what the page shows, put into one file. Entry point: `report_file`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callbacks.clusterings_panel import axes_view, painter, unscaled
from callbacks.code_tab import reproduction
from callbacks.path_panel import drawn_path
from callbacks.state import Data, Look, result_view
from callbacks.tabs import Seen
from figures import words
from figures.clustering import matched_clusterings, matched_truth
from figures.flow import flow_figure, steps
from layouts import clusterings_panel, flow_tab, path_panel, summary, table_panel
from layouts.parts import DEFINITIONS, LETTERS, plain_text
from layouts.views import ResultView, Scheme
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
    answer, *worth = [plain_text(part) for part in summary.summary(view)[:2]]  # the rest is a question mark
    content = Report(
        title=view.title,
        about=view.note,
        answer=answer,
        worth=worth,
        path=_drawing("Bandwidth path", lambda scheme: drawn_path(replace(view, scheme=scheme)), _path_note(view)),
        panes=_panes(services, view, asked, points),
        flow=_flow(view, now.n_clusters),
        values=_values(view),
        settings=settings_in_words(asked, points, run.state, run.seconds),
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


def _values(view: ResultView) -> Table:
    """Return the table of every value found, as the page has it."""
    rows = table_panel.rows(view, "all")
    several, labelled = len(view.path.levels) > 1, view.has_labels
    head = ["", *(["Level"] if several else []), view.symbol, "Holds to", "Points moved", "c-NNC"]
    head += [*(["NMI", "ARI"] if labelled else []), "Smallest cluster"]
    cells = [
        [
            row["letter"],
            *([str(row["level"])] if several else []),
            row["sigma_text"],
            row["holds_text"],
            words.count(row["moved"]),
            words.measure(row["cnnc"], 4),
            *([words.measure(row["nmi"]), words.measure(row["ari"])] if labelled else []),
            words.count(row["smallest"]),
        ]
        for row in rows
    ]
    marked = next((place for place, row in enumerate(rows) if row["recommended"]), None)
    return Table(head, cells, marked)


def settings_in_words(asked: RunSettings, points: Points, state: str, seconds: float) -> list[tuple[str, str]]:
    """Return everything that decided the result, as name and value."""
    data, search = asked.data, asked.search
    columns = ", ".join(points.feature_names[:20])
    more = len(points.feature_names) - 20
    start = search.start if isinstance(search.start, str) else f"{search.symbol} = {search.start:g}"
    found = [
        ("Data", points.title),
        ("Rows", words.count(points.n)),
        ("Columns", f"{columns} and {more} more" if more > 0 else columns),
        ("Labels", ", ".join(points.class_names[:20]) if points.y is not None else "none"),
        ("Missing values", "rows dropped" if data.missing == "drop" else "filled with the median"),
        ("Scaling", data.scaling),
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
        ("State", state),
        ("Time", words.duration(seconds)),
        *[("Note", note) for note in points.notes],
    ]


def definitions(view: ResultView) -> list[tuple[str, str]]:
    """Return the definitions of the measures that the report shows."""
    near = ["Near neighbours"] if view.recommendation is not None else []
    terms = [*near, "c-NNC", *(["NMI", "ARI"] if view.has_labels else []), "Stability", "Kernel"]
    return [(term, DEFINITIONS[term]) for term in terms]
