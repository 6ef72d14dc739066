"""Plain data that the layouts show. Callbacks fill these from the services; nothing here computes or reads.

Entry points: `SettingsView` (left column), `UploadView` (the file in use), `ResultView` (everything at the right).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from offgrid.comparison import RECOMMENDED, Comparison
from offgrid.path import BandwidthPath

RunState = Literal["none", "queued", "running", "finished", "cancelled", "failed", "interrupted"]
Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class DataCard:
    """One built-in data set in the gallery: `value` as in `DATA_GALLERY`, `points` (m x 2) drawn as its thumbnail."""

    value: str
    title: str
    points: NDArray[Any]


@dataclass(frozen=True)
class UploadView:
    """The file in use: its report in words and its first rows.

    `lines` are plain facts ("178 rows, 14 columns."), `warnings` are what was ignored or needs a decision.
    """

    id: str
    name: str
    lines: Sequence[str] = ()
    warnings: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()


@dataclass(frozen=True)
class SettingsView:
    """What the settings show. `start` is "percentile", "bound" or a number; `data` as in `DATA_GALLERY`."""

    data: str = "builtin:aggregation"
    data_title: str = ""
    columns: Sequence[str] = ()
    chosen_columns: Sequence[str] = ()
    label_options: Sequence[str] = ()
    label: str | None = None
    has_missing: bool = False
    missing: str = "drop"
    scaling: str = "none"
    k: int = 3
    k_note: str = ""
    prepared: Sequence[str] = ()
    init: str = "random"
    seed: int = 0
    n_init: int = 1
    method: str = "certified"
    depths: Sequence[int] = (1, 2)
    start: str | float = "percentile"
    limiting: str | None = None
    max_steps: int | None = None
    kernel: str = "rbf"
    kernel_title: str = "RBF"
    offset: float = 1.0
    plus: tuple[float, str, float] | None = None
    compare: Sequence[str] = ()
    upload: UploadView | None = None


@dataclass(frozen=True)
class ResultView:
    """The run that is shown, as read from the store.

    `message` is the run's own sentence for people (why it failed), `alert` one about the address that was opened.
    `follows` says whether the run is one of this visitor's, `others` how many share it while it is under way.
    `selection` holds indices into the path in the order of their bandwidths; `active` is the one the arrow keys walk
    from. `workers_missing` says that nobody is there to carry out a queued run. `sigma` is how far the search is and
    `share` the part of the log range covered, or of `beside`, what is done beside the search once that is over.
    `symbol` is what the searched parameter is called, and `far_end` says in two lines what lies at the end of the path.
    `method` and `init` are those of the search, `near_on_path` the share of near neighbours that its own choice
    separates. `compared` has what the methods beside the search found, by name; the choice of the one that recommends
    is the path's last record.
    """

    title: str = ""
    note: str = ""
    state: RunState = "none"
    path: BandwidthPath = field(default_factory=lambda: BandwidthPath(()))
    recommended: int | None = None
    reason: str = ""
    selection: tuple[int, ...] = ()
    active: int | None = None
    has_labels: bool = False
    message: str = ""
    alert: str = ""
    queue_place: int | None = None
    workers_missing: bool = False
    follows: bool = True
    pinned: bool = False
    others: int = 0
    level: int = 1
    n_levels: int = 1
    sigma: float | None = None
    share: float = 0.0
    seconds: float = 0.0
    lower_bound: float | None = None
    lower_bound_note: str = ""
    scheme: Scheme = "light"
    narrow: bool = False
    symbol: str = "σ"
    far_end: tuple[str, str] = ("k-means", "the far end")
    method: str = "certified"
    init: str = "random"
    near_on_path: float | None = None
    beside: str = ""
    compared: Mapping[str, Comparison] = field(default_factory=dict)

    @property
    def recommendation(self) -> Comparison | None:
        """What recommends the last record, None where the path itself does."""
        found = self.compared.get(RECOMMENDED)
        return None if found is None or found.failure else found

    @property
    def searching(self) -> bool:
        """Whether the path may still grow."""
        return self.active_state and not self.beside

    @property
    def active_state(self) -> bool:
        """Whether the run may still change by itself."""
        return self.state in ("queued", "running")

    @property
    def own_and_active(self) -> bool:
        """Whether the run is under way and one of this visitor's."""
        return self.active_state and self.follows
