"""Every component id of the dashboard, typed once.

Ids are grouped as the page is read: shell, state, settings, result. Each says what callbacks usually write to it.
"""

from __future__ import annotations

from typing import Literal

# Shell ---------------------------------------------------------------------------------------------------------------
PROVIDER = "provider"  # MantineProvider; forceColorScheme
THEME_TOGGLE = "theme-toggle"  # ColorSchemeToggle
BRAND = "brand"  # href
NAV_EXPLORE = "nav-explore"  # className, href
NAV_LEARN = "nav-learn"  # className
NAV_EXPERIMENTS = "nav-experiments"  # className
MENU_EXPLORE = "menu-explore"  # href
MENU_LEARN = "menu-learn"
MENU_EXPERIMENTS = "menu-experiments"
NOTIFICATIONS = "notifications"  # NotificationContainer; sendNotifications
LIVE = "live"  # visually hidden aria-live region; children

# State ---------------------------------------------------------------------------------------------------------------
SCHEME = "scheme"  # Store: "light" or "dark"
NARROW = "narrow"  # Store: True below 768 px
RUN = "run"  # Store: {"id": ..., "query": {...}} of what is shown; no id where there is no run
CARRY_OUT = "carry-out"  # Store: {"id": ..., "nonce": ...}; a change has the run carried out in the background
DONE = "done"  # Store: written when the background callback returns
TICK = "tick"  # Store: anything that changes whenever the run shown may have changed
SHOWN = "shown"  # Store: {"id", "version", "active", "sigmas", "told"} of the path that is drawn
PANES = "panes"  # Store: {"signature": ..., "at": ..., "figures": {place: digest}} of the clusterings that are drawn
DRAWN = "drawn"  # Store: true once the browser has drawn the path; the clusterings come after it
ADDRESS = "address"  # Store: the address of what is shown, without the host
SELECTION = "selection"  # Store: {"indices": [...], "active": i or None, "auto": whether nobody chose it}
UPLOADED = "uploaded"  # Store: {"id": ..., "name": ...} of the file in use, or {}
POLL = "poll"  # Interval; disabled while no run is active
DOWNLOAD = "download"  # Download

# Settings ------------------------------------------------------------------------------------------------------------
SETTINGS_PANEL = "settings-panel"  # aside; className (see settings_panel.panel_class)
SETTINGS_BACKDROP = "settings-backdrop"  # narrow: a click closes the settings; className
SETTINGS_OPEN = "settings-open"  # narrow: button in the bar
SETTINGS_CLOSE = "settings-close"  # narrow: button in the panel
SETTINGS_BAR_TITLE = "settings-bar-title"  # narrow: children
SETTINGS_BAR_NOTE = "settings-bar-note"  # narrow: children

DATA_GALLERY = "data-gallery"  # RadioGroup; value "builtin:NAME", "upload:ID" or None
UPLOAD = "upload"  # dcc.Upload
UPLOAD_LABEL = "upload-label"  # children: "Upload a file" or the name of the file in use
UPLOAD_REPORT = "upload-report"  # children: report in words, or the sentence that refuses the file
PREVIEW = "preview"  # children: first rows of the upload
DATA_MORE = "data-more"  # Details with the fields down to SCALING; open
COLUMNS_FIELD = "columns-field"  # wrapper of COLUMNS; hidden
COLUMNS = "columns"  # MultiSelect; value, data
LABEL_FIELD = "label-field"  # wrapper of LABEL_COLUMN; hidden
LABEL_COLUMN = "label-column"  # Select; value, data ("" is "no labels")
MISSING_FIELD = "missing-field"  # wrapper of MISSING; hidden
MISSING = "missing"  # SegmentedControl "drop" or "median"
PREPARED = "prepared"  # children: what the choices above did to the data, in sentences
SCALING = "scaling"  # SegmentedControl "none", "unit" or "robust"
K = "k"  # NumberInput
K_NOTE = "k-note"  # children: "k, from the labels"
INIT = "init"  # SegmentedControl "random" or "k-means++"
CLUSTERS_MORE = "clusters-more"  # disclosure of seed and restarts
SEED = "seed"  # NumberInput
RESTARTS = "restarts"  # NumberInput
KERNEL = "kernel"  # SegmentedControl "rbf", "laplacian", "polynomial" or "sum"
KERNEL_NOTE = "kernel-note"  # children: formula and help of the kernel
SUM_FIELD = "sum-field"  # wrapper of the fields of a sum; hidden
SUM_KERNEL = "sum-kernel"  # Select of the kernel whose parameter is searched
PLUS_WEIGHT = "plus-weight"  # NumberInput
PLUS_KERNEL = "plus-kernel"  # Select of the kernel that is added
PLUS_VALUE = "plus-value"  # NumberInput: its parameter
OFFSET_FIELD = "offset-field"  # wrapper of OFFSET; hidden unless a polynomial kernel is named
OFFSET = "offset"  # NumberInput
COMPARE_WITH = "compare-with"  # CheckboxGroup; value: names in comparison.OFFERED
METHOD = "method"  # Select "certified", "dyadic", "newton" or "bisection"
METHOD_NOTE = "method-note"  # children: what the method does, one sentence
SEARCH_MORE = "search-more"  # disclosure of the fields below
START = "start"  # Select "percentile", "bound" or "value"
START_VALUE_FIELD = "start-value-field"  # wrapper of START_VALUE; hidden
START_VALUE = "start-value"  # NumberInput
DEPTHS_FIELD = "depths-field"  # wrapper of DEPTHS; hidden unless the method has depths
DEPTHS = "depths"  # MultiSelect of "1".."6"
LIMITING_FIELD = "limiting-field"  # wrapper of LIMITING; hidden unless dyadic
LIMITING = "limiting"  # Select "none", "close" or "movers"
MAX_STEPS = "max-steps"  # NumberInput, empty for no budget
SETTINGS_ERROR = "settings-error"  # children: one sentence, or None
RUN_BUTTON = "run-button"  # disabled, children
RUN_NOTE = "run-note"  # children: "Settings match the result shown" ...

# Result: head and summary --------------------------------------------------------------------------------------------
RESULT_TITLE = "result-title"  # children
RESULT_NOTE = "result-note"  # children: "788 rows, 2 columns, 7 classes, k = 7, RBF kernel"
COPY_LINK = "copy-link"
COPY_LINK_LABEL = "copy-link-label"  # children: "Copy link" or "Copied"
EXPORT_PATH_CSV = "export-path-csv"
EXPORT_LABELS_CSV = "export-labels-csv"  # children name the active sigma
EXPORT_RUN_JSON = "export-run-json"
EXPORT_REPORT = "export-report"  # one HTML file with all of it
EXPORT_PNG = "export-png"  # figures, client side
EXPORT_SVG = "export-svg"
SUMMARY = "summary"  # children
NOTICE = "notice"  # wrapper: interrupted, failed, cancelled, queued; hidden, className
NOTICE_TITLE = "notice-title"  # children
NOTICE_TEXT = "notice-text"  # children
RESUME = "resume"  # Button in the notice; children, style display
RUNNING = "running"  # wrapper of the running line; hidden
RUNNING_TEXT = "running-text"  # children: "Level 1 of 2, σ = 1.83, 12 clusterings so far"
RUNNING_ELAPSED = "running-elapsed"  # children: "9 s elapsed"
RUNNING_BAR = "running-bar"  # ProgressSection; value 0..100
RUNNING_NOTE = "running-note"  # children: that others follow the search too, or None
PIN = "pin"  # Checkbox; checked, style display
CANCEL = "cancel"  # Button; disabled, style display

# Result: path --------------------------------------------------------------------------------------------------------
PATH_NOTE = "path-note"  # children: "48 values, no partition recurs"
PATH_LEGEND = "path-legend"  # children
PATH_FRAME = "path-frame"  # focusable wrapper of the graph, takes arrow keys; className
PATH_GRAPH = "path-graph"  # Graph; figure, clickData, selectedData (customdata = record index)

# Result: clusterings -------------------------------------------------------------------------------------------------
CLUSTERINGS_NOTE = "clusterings-note"  # children: "PCA of 13 columns, 55% of the variance", sample, or None
CLUSTERINGS = "clusterings"
INVITATION = "pane-invitation"  # hidden once there are three panes
INVITATION_WORDS = "pane-invitation-words"  # children: how to fill the next pane
TRUTH_FIELD = "truth-field"  # wrapper of TRUTH; hidden where there are no labels
TRUTH = "truth"  # SegmentedControl "clusters" or "truth"
DRAWING_FIELD = "drawing-field"  # wrapper of DRAWING; hidden where no row is an image
DRAWING = "drawing"  # SegmentedControl "points" or "means"
AXES_FIELD = "axes-field"  # wrapper of X_AXIS and Y_AXIS; hidden for two columns or fewer
X_AXIS = "x-axis"  # Select; "pca:0" or "column:NAME"
Y_AXIS = "y-axis"  # Select

# Result: tabs -------------------------------------------------------------------------------------------------------
TABS = "tabs"  # Tabs; value "table", ... (the tab's name in the address)
COMPARE_WANTED = "compare-wanted"  # Store, as FLOW_WANTED
COMPARE = "compare"  # children
FLOW_WANTED = "flow-wanted"  # Store: changes when the open tab has to be computed; so do the others that end alike
FLOW = "flow"  # children
KERNEL_WANTED = "kernel-wanted"
KERNEL_AT = "kernel-at"  # Select of a selected record; data, value (its index)
KERNEL_MATRIX = "kernel-matrix"  # children
PROFILE_WANTED = "profile-wanted"
PROFILE_AT = "profile-at"  # Select of a selected record; data, value (its index)
PROFILE_COLUMNS = "profile-columns"  # Select of the columns shown; data, value (place of the first one, or None)
PROFILE_CSV = "profile-csv"
PROFILE = "profile"  # children
CODE_WANTED = "code-wanted"
CODE = "code"  # children

# Result: table -------------------------------------------------------------------------------------------------------
TABLE_FRAME = "table-frame"  # wrapper; style (see table_panel.frame_style)
TABLE = "table"  # AgGrid; rowData, columnDefs
TABLE_COUNT = "table-count"  # children: "9 of 48 values"
TABLE_FILTER = "table-filter"  # Select "long", "newest" or "all"

# Learn ---------------------------------------------------------------------------------------------------------------
LEARN_DATA = (
    "learn-data"  # Store: the whole lesson, {"key", "path", "query", "figures", "steps", "head", "start", "first"}
)
LEARN_STEP = "learn-step"  # Store: the step shown, from 0
LEARN_VISIT = (
    "learn-visit"  # Store: {"lesson", "id": one for each time the page is opened, "step": first, "shown": ...}
)
LEARN_ALERT = "learn-alert"  # children: one sentence about a value that can't be used, or None
LEARN_STAGE = "learn-stage"  # focusable wrapper of the two figures, takes arrow keys
LEARN_LEFT = "learn-left"  # Graph
LEARN_RIGHT = "learn-right"  # Graph
LEARN_NOTES = ("learn-left-note", "learn-right-note")  # children: note beside a figure's title
LEARN_BACK = "learn-back"  # button; disabled
LEARN_FORWARD = "learn-forward"  # button; disabled
LEARN_PLAY = "learn-play"  # button; children
LEARN_SLIDER = "learn-slider"  # Slider; value, max
LEARN_SENTENCE = "learn-sentence"  # children: "Step 3 of 9: …"
LEARN_HEAD = "learn-head"  # table row; children
LEARN_ROWS = "learn-rows"  # table body; children
LEARN_EXPLORE = "learn-explore"  # Link to the Explore page; href

# Experiments ---------------------------------------------------------------------------------------------------------
RERUN = "rerun"  # Store: {"table", "id", "line", "error"} of the rerun that was asked for last on this page
RERUN_CARRY_OUT = "rerun-carry-out"  # Store: {"id", "nonce"}; a change has it carried out in the background
RERUN_TICK = "rerun-tick"  # Store: anything that changes whenever the rerun may have changed
RERUN_DONE = "rerun-done"  # Store: written when the background callback returns
RERUN_POLL = "rerun-poll"  # Interval; disabled while no rerun is active
RERUN_RUNS = "rerun-runs"  # NumberInput: runs of a rerun


def scaling_graph(table: str) -> dict[str, str]:
    """Return the id of the plot on the page of a table: only Figure 1 has one."""
    return {"type": "scaling-graph", "table": table}


def rerun_part(part: str, line: str) -> dict[str, str]:
    """Return the id of a line's part.

    "button", "said" (the row that says where a rerun stands) and "found" (the one with its figures) are always there;
    "text", "elapsed", "bar" and "cancel" while it is at work.
    """
    return {"type": f"rerun-{part}", "line": line}


def pane(place: int, part: Literal["", "-head", "-figure", "-frame", "-graph", "-foot"] = "") -> str:
    """Return the id of pane `place` (0 to 5; the ground truth sits in place 6), or of a part of it.

    "-head" (heading and measures), "-figure" (Store: the graph to draw, {} for none), "-frame" and "-foot" (the
    caption) are always there; "-graph", in the frame, while the pane shows something.
    """
    return f"pane-{place}{part}"


def tab_graph(tab: str) -> dict[str, object]:
    """Return the id of the graph in a tab, which is there while the tab has something to draw."""
    return {"type": "tab-graph", "tab": tab}


def save_figure(tab: str, kind: str) -> dict[str, object]:
    """Return the id of the button that saves the graph of a tab as "png" or "svg"."""
    return {"type": "save-figure", "tab": tab, "kind": kind}


def learn_control(name: str) -> dict[str, object]:
    """Return the id of a lesson's control."""
    return {"type": "learn-control", "name": name}


def learn_field(name: str) -> dict[str, object]:
    """Return the id of the field around a lesson's control; hidden."""
    return {"type": "learn-field", "name": name}
