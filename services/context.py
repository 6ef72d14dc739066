"""The services of one process, opened together.

Entry point: `Services`. Memory: the points used lately, `KEPT_POINTS` data sets, and `KEPT_UPLOADS`
tables.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from offgrid.comparison import SEARCH
from offgrid.datasets import load
from offgrid.datasets.model import Dataset, Points
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services.disk import is_full
from services.handles import short
from services.points import DataSpec, load_points
from services.run_settings import RunSettings, SearchSettings, comparison_key, content_key
from services.settings import Settings
from services.stores import RedisStores, Stores, open_stores
from services.uploads import Upload

if TYPE_CHECKING:
    from offgrid.comparison import Comparison
    from offgrid.metrics import NeighbourRanks

DEFAULT = RunSettings(DataSpec("builtin:aggregation"), SearchSettings(7))  # what the first page shows
KEPT_POINTS = 8
KEPT_UPLOADS = 4
SMALL_RANKS = 65_536  # rows whose ranks take two bytes each
DAY = 86_400
BY_ITSELF = "auto"  # the label column that was recognised

logger = logging.getLogger(__name__)


class Services:
    """Store of runs, uploads and caches. Opening it touches no file and no server.

    Attributes
    ----------
    workers : Workers or None
        The workers that carry runs out; None where the web server starts processes for that.
    """

    def __init__(self, settings: Settings, stores: Stores | None = None) -> None:
        stores = stores or open_stores(settings)
        self.settings = settings
        self.runs, self.uploads, self.cache = stores.runs, stores.uploads, stores.cache
        self.comparisons = stores.comparisons
        self.workers = stores.workers if isinstance(stores, RedisStores) else None
        self._points: OrderedDict[DataSpec, Points] = OrderedDict()
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._lock = Lock()

    @property
    def slots(self) -> int:
        """Return how many searches may run at once; 0 where no worker is there."""
        return self.settings.slots if self.workers is None else sum(self.workers.alive().values())

    def points(self, spec: DataSpec) -> Points:
        """Return the points of a search, kept for the next time.

        Raises
        ------
        InputError
            Where the data are gone or can't be prepared as asked.
        """
        with self._lock:
            known = self._points.get(spec)
            if known is not None:
                self._points.move_to_end(spec)
                return known
        points = load_points(spec, self.uploads)
        with self._lock:
            self._points[spec] = points
            while len(self._points) > KEPT_POINTS:
                self._points.popitem(last=False)
        return points

    def content(self, spec: DataSpec) -> str:
        """Return a hash that stands for the data in keys.

        An upload's has its secret id in it: equal files of two visitors share nothing, not even the time they take.
        """
        found = self.points(spec).hash
        return found if spec.upload is None else hashlib.sha256(f"{spec.upload}:{found}".encode()).hexdigest()

    def ranks(self, spec: DataSpec) -> NeighbourRanks:
        """Return the neighbours' ranks that c-NNC needs, found once for each data set: for a job, not for a page."""
        from offgrid.memory import for_ranks
        from offgrid.metrics import neighbour_ranks

        points = self.points(spec)
        size = min(points.n**2 * (2 if points.n <= SMALL_RANKS else 4), for_ranks())
        return self.cache.get_or_make("ranks", self.content(spec), lambda: neighbour_ranks(points.X), size)

    def upload(self, upload_id: str) -> Upload:
        """Return an upload, the ones used lately from memory.

        Raises
        ------
        InputError
            Where it is not kept any more.
        """
        with self._lock:
            known = self._uploads.get(upload_id)
        if known is not None:
            self.uploads.touch(upload_id)
        else:
            known = self.uploads.get(upload_id)
            with self._lock:
                self._uploads[upload_id] = known
                while len(self._uploads) > KEPT_UPLOADS:
                    self._uploads.popitem(last=False)
        return known

    def source(self, spec: DataSpec) -> Table | Dataset:
        """Return the data as they were given, before anything was chosen or dropped.

        Raises
        ------
        InputError
            Where the data are gone.
        """
        return self.upload(spec.upload).table if spec.upload is not None else load(spec.builtin or "")

    def simplified(self, spec: DataSpec) -> DataSpec:
        """Return the same data described with defaults where they say the same: a shorter address, one cache entry."""
        if spec.upload is None:
            every = load(spec.builtin or "").feature_names
            return replace(spec, columns=None) if spec.columns == every else spec
        table = self.upload(spec.upload).table
        label = BY_ITSELF if spec.label is not None and spec.label == table.label else spec.label
        named = table.label if label == BY_ITSELF else label
        usual = tuple(name for name in table.features if name != named)
        return replace(spec, label=label, columns=None if spec.columns == usual else spec.columns)

    def key(self, asked: RunSettings) -> str:
        """Return the key of the run that these settings describe."""
        return content_key(self.content(asked.data), asked.search)

    def check(self, asked: RunSettings) -> None:
        """Raise `InputError` where the settings do not fit the data."""
        n, k, most = self.points(asked.data).n, asked.search.n_clusters, self.settings.max_rows
        if n > most:
            raise InputError(f"The data have {n:,} rows, and this server takes {most:,}; use fewer rows.")
        if k > n:
            raise InputError(f"k is {k:,}, but there are only {n:,} rows; choose k from 1 to {n:,}.")

    def request(self, asked: RunSettings, visitor: str | None = None) -> str:
        """Return the id of the run that these settings describe, queued where it has to be carried out.

        The visitor follows it from now on.

        Raises
        ------
        InputError
            Where the settings do not fit the data, or the visitor has too many searches under way.
        """
        self.check(asked)
        run_id = self.runs.create(asked, self.key(asked), visitor, self.settings.runs_per_visitor)
        if self.comparisons.missing(self.comparison_keys(asked).values()):
            self.runs.ask_beside(run_id, asked, visitor, self.settings.runs_per_visitor)
        return run_id

    def resume(self, run_id: str, visitor: str) -> None:
        """Let the visitor follow the run, and queue it again where it stopped early.

        Raises
        ------
        InputError
            Where the visitor has too many searches under way.
        """
        self.runs.resume(run_id, visitor, self.settings.runs_per_visitor)

    def use(self, run_id: str) -> None:
        """Note that somebody looks at the run, so that it is kept; a full store keeps nobody from looking."""
        try:
            self.runs.use(run_id)
        except Exception as error:
            if not isinstance(error, InputError) and not is_full(error):
                raise
            logger.warning("the use of run %s could not be noted: %s", short(run_id), error)

    def sweep(self) -> None:
        """Delete what is too old or over the quotas; the default run stays."""
        settings = self.settings
        self.runs.sweep(
            older_than=settings.keep_runs_days * DAY,
            most=settings.max_runs,
            most_bytes=int(settings.runs_mb * 1e6),
            keep=[self.key(DEFAULT)],
        )
        self.uploads.sweep(settings.keep_uploads_days * DAY)
        self.cache.sweep(int(settings.cache_mb * 1e6))
        self.comparisons.sweep(settings.keep_runs_days * DAY)

    def rebase(self) -> None:
        """Count everything as used now: the clock was set."""
        self.runs.rebase()
        self.uploads.rebase()

    def comparison_keys(self, asked: RunSettings) -> dict[str, str]:
        """Return the key of each method that is carried out beside the search, by name."""
        content = self.content(asked.data)
        return {name: comparison_key(name, content, asked.search) for name in asked.comparisons}

    def path_key(self, asked: RunSettings) -> str:
        """Return the key of what the path of these settings would choose, kept as a method's result is."""
        return comparison_key(SEARCH, self.content(asked.data), asked.search)

    def near_on_path(self, asked: RunSettings) -> float | None:
        """Return the share of near neighbours that the path's choice separates, None where it is not kept."""
        found = self.comparisons.get(self.path_key(asked))
        return None if found is None else found.near

    def compared(self, asked: RunSettings) -> dict[str, Comparison]:
        """Return what the methods beside the search have found so far, by name."""
        found = {name: self.comparisons.get(key) for name, key in self.comparison_keys(asked).items()}
        return {name: comparison for name, comparison in found.items() if comparison is not None}
