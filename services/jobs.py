"""Carrying out a run in a process of its own.

Entry point: `execute`. It claims the run, waits for a slot, and writes every record to the store as it is found. A
thread beats once a second, notices a cancel that was asked for, and ends the process when its parent is gone. A
process that is told to end (SIGTERM, SIGINT) lets go of the run, which is queued for another one. Slots are locks of
the kernel, which are free again the moment their process dies.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from offgrid.comparison import METHODS, Comparison, Near, compare, near_neighbours, of_path
from offgrid.datasets.model import Points
from offgrid.errors import InputError
from services import slots
from services.context import Services
from services.disk import is_full
from services.heart import Heart, Stopped
from services.logs import about_run, describe
from services.run_model import StoreAway
from services.run_settings import SearchSettings
from services.runs import LostRun, Progress, Run

if TYPE_CHECKING:
    from services.stores import Runs

SERVER_GONE = "The server was stopped; the search goes on when it is back."
NO_ROOM = "The server's disk is full, so that nothing more could be kept."

logger = logging.getLogger(__name__)

OnProgress = Callable[[str], None]
Build = Callable[[SearchSettings], Any]


def build_search(search: SearchSettings) -> Any:
    """Return the library's search for these settings. Imported here: the web process does no compiled work."""
    from offgrid import BandwidthSearch
    from offgrid.kernels import kernel_named

    plus = () if search.plus is None else (search.plus,)
    return BandwidthSearch(
        search.n_clusters,
        kernel=kernel_named(search.kernel, offset=search.offset, plus=plus),
        method=search.method,
        depths=search.depths,
        start=search.start,
        init=search.init,
        n_init=search.n_init,
        max_steps=search.max_steps,
        random_state=search.seed,
        limiting=search.limiting,
    )


def execute(
    run_id: str,
    services: Services,
    on_progress: OnProgress | None = None,
    *,
    owner: str | None = None,
    build: Build = build_search,
    parent_lives: Callable[[], bool] | None = None,
) -> None:
    """Carry the run out, from its last record on, until it is finished, cancelled or failed.

    Returns at once where another process has it.

    Parameters
    ----------
    run_id : str
    services : Services
    on_progress : callable, optional
        Called with the store's `version` of the run after every record and every heartbeat.
    owner : str, optional
        The run's token, where it was claimed together with a slot; else it is claimed here, and waits for a slot.
    build : callable, optional
        Makes the search from its settings.
    parent_lives : callable, optional
        Where it returns False, the process is ended at once, with the run left to be resumed. None to watch nothing.
    """
    runs = services.runs
    has_slot = owner is not None
    owner = owner or runs.claim(run_id)
    if owner is None:
        return
    heart = _Heart(runs, run_id, owner, on_progress, parent_lives)
    slot = nullcontext() if has_slot else slots.hold(services.settings, lambda: runs.is_next(run_id), heart.wait)
    with about_run(run_id):
        try:
            with heart.beating(), slot:
                _carry_out(services, run_id, owner, heart, build)
        except Stopped:
            if heart.cancelled:
                _close(runs.stop, run_id, owner, "cancelled")
            elif heart.leaving:
                _close(runs.stop, run_id, owner, "queued", SERVER_GONE)
        except LostRun:
            logger.info("it goes on in another process")
        except StoreAway as error:
            logger.warning("it stops here, and goes on when the store is back: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever it is, a person sees a sentence, the log keeps the trace
            told = describe(error, "The search")
            if is_full(error):
                _close(runs.stop, run_id, owner, "interrupted", NO_ROOM)
            else:
                _close(runs.fail, run_id, owner, told)
        except BaseException:
            _close(runs.stop, run_id, owner, "queued", SERVER_GONE)
            raise
        heart.notify()


def _close(close: Callable[..., None], run_id: str, owner: str, *values: str) -> None:
    """Close a run that may be another process's by now, or on a disk that takes no word more.

    Without a heartbeat it counts as interrupted before long.
    """
    try:
        close(run_id, owner, *values)
    except LostRun:
        logger.info("it goes on in another process")
    except Exception:
        logger.warning("it could not be closed as %s", values, exc_info=True)


def _carry_out(services: Services, run_id: str, owner: str, heart: _Heart, build: Build) -> None:
    runs = services.runs
    runs.start(run_id, owner)
    heart.notify()
    run = runs.get(run_id)
    if run is None:
        raise LostRun(run_id)
    if services.key(run.settings) != run.key:
        raise InputError("The data or the library have changed since this run began; run the search again.")
    logger.info("searching, after %d values found before", len(run.path))
    points, search = services.points(run.settings.data), build(run.settings.search)
    heart.watch(search)
    with heart.interruptible():
        ranks = services.ranks(run.settings.data)
        records = search.iter_path(points.X, points.y, resume=run.path.records, ranks=ranks)
    _find(runs, run, owner, heart, search, records)
    runs.set_ends(run_id, owner, search.ends_)
    _compare(services, run, points, ranks, heart)
    runs.finish(run_id, owner, search.ends_)
    logger.info("finished")


def _compare(services: Services, run: Run, points: Points, ranks: Any, heart: _Heart) -> None:
    """Carry out what is asked for beside the search, and what others ask for meanwhile, each once for everybody.

    What the path would choose is kept in the same form.
    """
    search = run.settings.search

    @cache
    def near() -> Near:
        with heart.interruptible():
            return near_neighbours(points.X, search.n_clusters, search.seed)

    path_key = services.path_key(run.settings)
    if services.comparisons.missing([path_key]):
        found = services.runs.get(run.id) or run
        services.comparisons.put(path_key, of_path(found.path.found, near()))
    while True:
        now = services.runs.get(run.id) or run
        keys = services.comparison_keys(now.settings)
        left = services.comparisons.missing(keys.values())
        if not left:
            return
        name = next(name for name, key in keys.items() if key == left[0])
        services.comparisons.put(left[0], _carry_out_beside(name, search, points, ranks, near, heart))


def _carry_out_beside(
    name: str, search: SearchSettings, points: Points, ranks: Any, near: Callable[[], Near], heart: _Heart
) -> Comparison:
    """Return what a method found; where it could not, the reason: the path is worth having without it."""
    title, init = METHODS[name].title, "random" if search.init == "random" else "k-means++"

    def progress(what: str, share: float) -> None:
        heart.beside(f"{title}, {what}", share)

    heart.beside(title)
    heart.notify()
    try:
        counted = near()
        with heart.interruptible():
            return compare(
                name, points.X, search.n_clusters, points.y,
                init=init, seed=search.seed, ranks=ranks, near=counted, progress=progress,
            )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever it is, the person sees a sentence and the log keeps the trace
        return Comparison.failed(name, describe(error, title))


def _find(runs: Runs, run: Run, owner: str, heart: _Heart, search: Any, records: Iterator[Any]) -> None:
    """Move the records from the search to the store, one by one."""
    bound_told = False
    with closing(records):  # type: ignore[type-var]
        while True:
            with heart.interruptible():
                record = next(records, None)
            if not bound_told:
                runs.set_bound(run.id, owner, search.lower_bound_, search.lower_bound_note_)
                bound_told = True
            if record is None:
                return
            if runs.append(run.id, owner, record, search.ends_, heart.progress()):
                heart.cancelled = True
                raise Stopped
            heart.notify()


class _Heart(Heart):
    """The heart of a run: it reports where the search is, and lets go of the run when the process is told to end."""

    signals = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)

    def __init__(
        self,
        runs: Runs,
        run_id: str,
        owner: str,
        on_progress: OnProgress | None,
        parent_lives: Callable[[], bool] | None,
    ) -> None:
        super().__init__(parent_lives)
        self._runs, self._run_id, self._owner = runs, run_id, owner
        self._on_progress = on_progress
        self._search: Any = None
        self._beside = ("", 0.0)
        self.cancelled = False

    def watch(self, search: Any) -> None:
        """Report where this search is with every beat."""
        self._search = search

    def beside(self, what: str, share: float = 0.0) -> None:
        """Report what is carried out beside the search, from now on, and how much of it is done."""
        self._beside = what, share

    def progress(self) -> Progress | None:
        """Return where the search is."""
        now = getattr(self._search, "progress_", None)
        if now is None:
            return None
        what, share = self._beside
        return Progress(now.level, now.n_levels, now.sigma, share if what else now.share, what)

    def beat(self) -> bool:
        """Note in the store that the process lives, and where the search is, until a cancel is noticed."""
        if self._stop.is_set():
            return True
        try:
            self.cancelled = self._runs.beat(self._run_id, self._owner, self.progress())
        except LostRun:
            return True
        except Exception:
            logger.warning("the heartbeat could not be written", exc_info=True)
        return self.cancelled

    def notify(self) -> None:
        """Call `on_progress`; a listener that fails must not end a search."""
        if self._on_progress is None:
            return
        try:
            self._on_progress(self._runs.version(self._run_id))
        except Exception:
            logger.warning("progress could not be sent", exc_info=True)

    def let_go(self) -> None:
        """Queue the run for another process."""
        self._runs.stop(self._run_id, self._owner, "queued", SERVER_GONE)
