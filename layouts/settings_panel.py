"""The left column: data, clusters, kernel, search, run, in the order a person decides them.

Entry points: `panel`, and what callbacks write into it: `upload_report`, `upload_refused`, `preview`, `panel_class`,
`backdrop_class`, `bar_note`, `run_label`, `run_note`, `method_note`, `label_data`, `hidden_fields`.
"""

from __future__ import annotations

from collections.abc import Sequence

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from figures import words
from layouts import ids
from layouts.clusters_section import clusters_section
from layouts.compare_section import compare_section
from layouts.kernel_section import kernel_section
from layouts.parts import SCROLLBAR, choices, field, icon, select, settings_section
from layouts.thumbnail import thumbnail
from layouts.views import DataCard, SettingsView, UploadView

METHODS = (
    ("certified", "Certified"),
    ("dyadic", "Dyadic"),
    ("newton", "Newton"),
    ("bisection", "Bisection"),
)
METHOD_NOTES = {
    "certified": "Misses no value: each stretch of σ is proved quiet before it is passed.",
    "dyadic": "The paper’s Algorithm 2: products and square roots only, at the depths chosen.",
    "newton": "The paper’s first approach: root finding, kept to compare with.",
    "bisection": "Halves a bracket to within 0.001 of σ, kept to compare with.",
}
STARTS = (
    ("percentile", "1st percentile of distances"),
    ("bound", "Theorem 1’s bound"),
    ("value", "A value of σ, or a degree"),
)
LIMITINGS = (
    ("none", "Every point"),
    ("close", "Points whose two best clusters are close"),
    ("movers", "Points that moved the first time"),
)
SCALING_HELP = (
    "Unit variance suits columns in different units: each is divided by its standard deviation, and all weigh the "
    "same. Robust, less the median and over the interquartile range, suits columns with outliers. None suits columns "
    "in one unit, such as coordinates. σ is in squared units of the scaled data."
)
START_HELP = (
    "The first value of σ: the 1st percentile of the squared distances (degree 1 of a polynomial), where few points "
    "are close; or Theorem 1’s bound, below which no point can move."
)
BUDGET_HELP = "The search stops after so many values of σ on each level. Empty: it goes on to the k-means end."
UPLOAD_ACCEPT = ".csv,.tsv,.txt,.arff,.parquet,.npy,.npz,.xlsx"


def panel(
    view: SettingsView, cards: Sequence[DataCard], *, max_upload_mb: float = 50, active: bool = False
) -> Component:
    """Return the settings column, filled for `view`; on a narrow screen it opens over the page."""
    return html.Aside(
        id=ids.SETTINGS_PANEL,
        className=panel_class(opened=False),
        **{"aria-label": "Settings"},
        children=html.Div(
            className="settings-inner",
            children=[
                html.Div(
                    className="settings-close",
                    children=[
                        html.Span("Settings", className="settings-close-title"),
                        dmc.Button("Close", id=ids.SETTINGS_CLOSE, variant="default"),
                    ],
                ),
                html.Div(
                    [
                        _data(view, cards, max_upload_mb),
                        clusters_section(view),
                        kernel_section(view),
                        _search(view),
                        compare_section(view),
                    ],
                    className="settings-scroll",
                ),
                _run(active),
            ],
        ),
    )


def panel_class(*, opened: bool) -> str:
    """Return the class of `SETTINGS_PANEL`; `opened` matters on a narrow screen only."""
    return "settings settings-opened" if opened else "settings"


def backdrop_class(*, opened: bool) -> str:
    """Return the class of `SETTINGS_BACKDROP`."""
    return "settings-backdrop settings-backdrop-shown" if opened else "settings-backdrop"


def narrow_bar(view: SettingsView) -> Component:
    """Return the bar under the header that stands for the settings on a narrow screen."""
    return html.Section(
        className="settings-bar",
        **{"aria-label": "Settings in short"},
        children=[
            html.Div(
                [
                    html.Div(view.data_title, id=ids.SETTINGS_BAR_TITLE, className="settings-bar-title"),
                    html.Div(bar_note(view), id=ids.SETTINGS_BAR_NOTE, className="settings-bar-note"),
                ]
            ),
            dmc.Button("Settings", id=ids.SETTINGS_OPEN, variant="default"),
        ],
    )


def bar_note(view: SettingsView) -> str:
    """Return the settings in one line ("k = 7, RBF, certified")."""
    return f"k = {view.k}, {view.kernel_title}, {view.method}"


# Data ----------------------------------------------------------------------------------------------------------------
def _data(view: SettingsView, cards: Sequence[DataCard], max_upload_mb: float) -> Component:
    upload = view.upload
    return settings_section(
        "Data",
        "Pick a built-in set, or bring your own table.",
        [
            dmc.RadioGroup(
                id=ids.DATA_GALLERY,
                value=view.data,
                children=html.Div([_card(card) for card in cards], className="gallery"),
                **{"aria-label": "Built-in data sets"},
            ),
            dcc.Upload(
                id=ids.UPLOAD,
                className="upload",
                className_active="upload upload-active",
                className_reject="upload upload-reject",
                accept=UPLOAD_ACCEPT,
                max_size=int(max_upload_mb * 1_000_000),
                children=html.Button(
                    type="button",
                    className="upload-button",
                    children=[
                        icon("upload"),
                        html.Span(upload_label(upload), id=ids.UPLOAD_LABEL, className="upload-label"),
                        html.Span(
                            f"up to {max_upload_mb:g} MB",
                            className="upload-limit",
                            **{"data-bytes": str(int(max_upload_mb * 1_000_000))},
                        ),
                    ],
                ),
            ),
            html.Div(upload_report(upload) if upload else None, id=ids.UPLOAD_REPORT, role="status"),
            html.Div(preview(upload) if upload else None, id=ids.PREVIEW),
            _data_more(view),
        ],
    )


def _card(card: DataCard) -> Component:
    return dmc.RadioCard(
        value=card.value,
        className="card",
        withBorder=False,
        children=[
            html.Span(className="card-thumb", style={"--thumb": thumbnail(card.points)}),
            html.Span(card.title.partition(" (")[0], className="card-title", title=card.title),
        ],
    )


def upload_label(upload: UploadView | None) -> str:
    """Return the words on the upload button."""
    return "Upload a file" if upload is None else words.clip(upload.name, 24)


def upload_report(upload: UploadView) -> list[Component]:
    """Return the report on a file in plain words."""
    facts = [html.P(line) for line in upload.lines]
    ignored = [html.P(line, className="report-warning") for line in upload.warnings]
    name = html.P(upload.name, className="report-name", title=upload.name)
    return [html.Div([name, *facts, *ignored], className="report")]


def upload_refused(sentence: str, kept: str = "") -> list[Component]:
    """Return the one sentence that says why a file was not taken, and which one before it stays."""
    still = [html.P(f"{words.clip(kept, 40)} stays loaded.")] if kept else []
    return [html.Div([html.P(sentence), *still], className="report report-error", role="alert")]


def preview(upload: UploadView) -> Component | None:
    """Return the first rows as a small table that scrolls sideways."""
    if not upload.rows:
        return None
    head = html.Thead(html.Tr([html.Th(words.clip(str(name), 18), title=str(name)) for name in upload.columns]))
    body = html.Tbody([html.Tr([html.Td(words.clip(str(cell), 14)) for cell in row]) for row in upload.rows])
    return html.Div(
        html.Table([head, body]),
        className="preview",
        tabIndex=0,
        role="region",
        **{"aria-label": "First rows of the file"},
    )


def _data_more(view: SettingsView) -> Component:
    return html.Details(
        id=ids.DATA_MORE,
        open=view.upload is not None,
        className="more",
        children=[
            html.Summary("Columns, labels, scaling"),
            field(
                "Columns used",
                dmc.MultiSelect(
                    id=ids.COLUMNS,
                    data=list(view.columns),
                    value=list(view.chosen_columns),
                    searchable=True,
                    clearable=False,
                    rightSection=icon("chevron"),
                    scrollAreaProps=SCROLLBAR,
                    **{"aria-label": "Columns used"},
                ),
                wrapper_id=ids.COLUMNS_FIELD,
                hidden=not view.columns,
            ),
            field(
                "Labels",
                dmc.Select(
                    id=ids.LABEL_COLUMN,
                    data=label_data(view.label_options),
                    value=view.label or "",
                    allowDeselect=False,
                    rightSection=icon("chevron"),
                    scrollAreaProps=SCROLLBAR,
                    **{"aria-label": "Column with the labels"},
                ),
                wrapper_id=ids.LABEL_FIELD,
                hidden=not view.label_options,
                help_text="A column that names the true group of each row. It takes no part in the search.",
            ),
            field(
                "Rows with missing values",
                dmc.SegmentedControl(
                    id=ids.MISSING,
                    data=choices([("drop", "Drop"), ("median", "Fill with median")]),
                    value=view.missing,
                    fullWidth=True,
                    **{"aria-label": "Rows with missing values"},
                ),
                wrapper_id=ids.MISSING_FIELD,
                hidden=not view.has_missing,
            ),
            field(
                "Scaling",
                dmc.SegmentedControl(
                    id=ids.SCALING,
                    data=choices([("none", "None"), ("unit", "Unit variance"), ("robust", "Robust")]),
                    value=view.scaling,
                    fullWidth=True,
                    **{"aria-label": "Scaling"},
                ),
                help_text=SCALING_HELP,
            ),
            html.Div(prepared(view), id=ids.PREPARED, className="prepared", role="status"),
        ],
    )


def prepared(view: SettingsView) -> list[Component]:
    """Return what the choices did to the data: rows dropped, values filled, columns not scaled."""
    return [html.P(sentence) for sentence in view.prepared]


def label_data(columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the options for the label column, "no labels" first."""
    return choices([("", "No labels"), *((name, words.clip(name, 40)) for name in columns)])


# Search --------------------------------------------------------------------------------------------------------------
def _search(view: SettingsView) -> Component:
    start, value = (view.start, None) if isinstance(view.start, str) else ("value", view.start)
    hidden = hidden_fields(view.method, start)
    return settings_section(
        "Search",
        "Where the values of σ come from.",
        [
            select(ids.METHOD, METHODS, view.method, "Search method"),
            html.P(method_note(view.method), id=ids.METHOD_NOTE, className="help"),
            html.Details(
                id=ids.SEARCH_MORE,
                className="more",
                children=[
                    html.Summary("Start and budget"),
                    field(
                        "Start of the search",
                        select(ids.START, STARTS, start, "Start of the search"),
                        help_text=START_HELP,
                    ),
                    field(
                        "First value",
                        dmc.NumberInput(
                            id=ids.START_VALUE, value=value, min=0, hideControls=True, **{"aria-label": "First value"}
                        ),
                        wrapper_id=ids.START_VALUE_FIELD,
                        hidden=hidden[ids.START_VALUE_FIELD],
                    ),
                    field(
                        "Depths, one level each",
                        dmc.MultiSelect(
                            id=ids.DEPTHS,
                            data=[str(depth) for depth in range(1, 11)],
                            value=[str(depth) for depth in view.depths],
                            rightSection=icon("chevron"),
                            **{"aria-label": "Depths, one level each"},
                        ),
                        wrapper_id=ids.DEPTHS_FIELD,
                        hidden=hidden[ids.DEPTHS_FIELD],
                    ),
                    field(
                        "Points checked at each query",
                        select(ids.LIMITING, LIMITINGS, view.limiting or "none", "Points checked at each query"),
                        wrapper_id=ids.LIMITING_FIELD,
                        hidden=hidden[ids.LIMITING_FIELD],
                    ),
                    field(
                        "Step budget",
                        dmc.NumberInput(
                            id=ids.MAX_STEPS,
                            value=view.max_steps if view.max_steps is not None else "",
                            min=1,
                            allowDecimal=False,
                            allowNegative=False,
                            placeholder="No limit",
                            hideControls=True,
                            **{"aria-label": "Step budget, empty for no limit"},
                        ),
                        help_text=BUDGET_HELP,
                    ),
                ],
            ),
        ],
    )


def hidden_fields(method: str, start: str) -> dict[str, bool]:
    """Return for each wrapper of the advanced search fields whether it is hidden."""
    return {
        ids.START_VALUE_FIELD: start != "value",
        ids.DEPTHS_FIELD: method == "certified",
        ids.LIMITING_FIELD: method != "dyadic",
    }


def method_note(method: str) -> str:
    """Return what a search method does, in one sentence."""
    return METHOD_NOTES[method]


# Run -----------------------------------------------------------------------------------------------------------------
def _run(active: bool) -> Component:
    return html.Div(
        className="run",
        children=[
            html.Div(id=ids.SETTINGS_ERROR, className="settings-error", role="alert"),
            dmc.Button(
                run_label(active=active),
                id=ids.RUN_BUTTON,
                disabled=active,
                fullWidth=True,
                size="md",
                className="run-button",
            ),
            html.Div("", id=ids.RUN_NOTE, className="run-note"),
        ],
    )


def run_label(*, active: bool) -> str:
    """Return the words on the Run button."""
    return "Searching…" if active else "Run search"


def run_note(*, active: bool, matches: bool, has_result: bool, n_found: int = 0, unseen: str = "") -> str:
    """Return the line under the Run button; `unseen` names the data set where the result is one of another."""
    if active:
        kept = f"Cancel keeps the {words.plural(n_found, 'value')} found so far"
        return kept if n_found else "Cancel stops the search"
    if not has_result:
        return ""
    if unseen:
        return f"The result shown is not of {words.clip(unseen, 20)} yet"
    return "Settings match the result shown" if matches else "Settings differ from the result shown"
