"""Every component id of the dashboard, typed once.

Ids are grouped as the page is read: shell, state, settings, result. Each says what callbacks usually write to it.
"""

from __future__ import annotations

# Shell ---------------------------------------------------------------------------------------------------------------
PROVIDER = "provider"  # MantineProvider; forceColorScheme
THEME_TOGGLE = "theme-toggle"  # ColorSchemeToggle
NAV_EXPLORE = "nav-explore"
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
PANES = "panes"  # Store: {"signature": ..., "at": ...} of the clusterings that are drawn
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
SCALING = "scaling"  # SegmentedControl "none", "unit" or "robust"
K = "k"  # NumberInput
K_NOTE = "k-note"  # children: "k, from the labels"
INIT = "init"  # SegmentedControl "random" or "k-means++"
CLUSTERS_MORE = "clusters-more"  # disclosure of seed and restarts
SEED = "seed"  # NumberInput
RESTARTS = "restarts"  # NumberInput
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
RESULT_NOTE = "result-note"  # children: "788 points, 2 columns, 7 clusters, RBF kernel"
COPY_LINK = "copy-link"
COPY_LINK_LABEL = "copy-link-label"  # children: "Copy link" or "Copied"
EXPORT_PATH_CSV = "export-path-csv"
EXPORT_LABELS_CSV = "export-labels-csv"  # children name the active sigma
EXPORT_RUN_JSON = "export-run-json"
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
CLUSTERINGS = "clusterings"  # children: panes
TRUTH_FIELD = "truth-field"  # wrapper of TRUTH; hidden where there are no labels
TRUTH = "truth"  # SegmentedControl "clusters" or "truth"
AXES_FIELD = "axes-field"  # wrapper of X_AXIS and Y_AXIS; hidden for two columns or fewer
X_AXIS = "x-axis"  # Select; "pca:0" or "column:NAME"
Y_AXIS = "y-axis"  # Select

# Result: table -------------------------------------------------------------------------------------------------------
TABS = "tabs"  # Tabs; value "table"
TABLE_FRAME = "table-frame"  # wrapper; style (see table_panel.frame_style)
TABLE = "table"  # AgGrid; rowData, columnDefs
TABLE_COUNT = "table-count"  # children: "9 of 48"
TABLE_FILTER = "table-filter"  # Select "long", "newest" or "all"


def clustering_graph(place: int) -> dict[str, object]:
    """Return the id of the graph in pane `place` (0 to 5; "truth" sits in place 6)."""
    return {"type": "clustering-graph", "place": place}
