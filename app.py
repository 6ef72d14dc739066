"""The dashboard: ``python app.py`` runs it on this machine, ``gunicorn -c gunicorn.conf.py app:server`` for a group.

``python app.py --session`` is for `offgrid.explore`, which hands it the data.

Entry points: `create_app` and, made when first asked for, `server`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import dash
import diskcache
import multiprocess
from dash import Dash, DiskcacheManager
from multiprocess import forkserver

from callbacks import register_all
from callbacks.errors import show_failure, too_large
from layouts.shell import shell
from offgrid.errors import InputError
from services import logs, processes, session, startup
from services.context import Services
from services.delivery import deliver_well
from services.keeper import Keeper
from services.reruns import RerunStore
from services.server import harden, warm
from services.settings import Settings, from_environment, prepare_data_dir

TITLE = "Off-the-grid"
RESULT_KEPT = 3600  # seconds that Dash keeps the (empty) result of a background callback
# The part of plotly.js that the figures use; `assets/00-plotly.js` hands it to Dash in place of all of plotly.js.
PLOTLY_FILE = Path(__file__).parent / "assets" / "plotly" / "plotly.min.js"
PLOTLY = f"assets/plotly/plotly.min.js?v={zlib.crc32(PLOTLY_FILE.read_bytes()):08x}"
INDEX = f"""<!DOCTYPE html>
<html lang="en">
    <head>
        {{%metas%}}
        <title>{{%title%}}</title>
        {{%favicon%}}
        {{%css%}}
        <link id="plotly-early" rel="preload" as="script" href="{PLOTLY}">
    </head>
    <body>
        {{%app_entry%}}
        <footer>{{%config%}}{{%scripts%}}{{%renderer%}}</footer>
    </body>
</html>
"""
PRELOADED = ["services.preload", "callbacks", "services.processes"]


def create_app(settings: Settings | None = None) -> Dash:
    """Return the application for these settings (by default those of the environment)."""
    settings = settings or from_environment(os.environ)
    logs.set_up(settings.log_level, settings.log_format)
    prepare_data_dir(settings)
    services = Services(settings)
    if services.workers is None:
        _start_jobs_from_a_clean_process()
    app = Dash(
        __name__,
        use_pages=True,
        pages_folder="",
        title=TITLE,
        update_title="",
        url_base_pathname=settings.url_prefix,
        serve_locally=True,
        index_string=INDEX.replace(PLOTLY, f"{settings.url_prefix}{PLOTLY}"),
        assets_ignore=r"^plotly\.min\.js$",
        include_pages_meta=False,
        background_callback_manager=JobManager(services) if services.workers is None else None,
        on_error=show_failure,
        meta_tags=[{"name": "description", "content": "The bandwidths at which kernel k-means changes its mind"}],
        add_log_handler=False,
    )
    register_all(app, services)
    app.layout = shell(dash.page_container)
    harden(app.server, services, app.csp_hashes, too_large)
    deliver_well(app.server, settings.url_prefix)
    return app


def _start_jobs_from_a_clean_process() -> None:
    """Fork jobs from a server process without threads: a fork of the web process could hang in compiled code.

    It is started here, so that it has imported everything before the first job comes.
    """
    multiprocess.set_start_method("forkserver", force=True)
    multiprocess.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()


class JobManager(DiskcacheManager):
    """Dash's job manager, with the store of runs in charge of what is carried out, and for how long.

    It never kills: a search is ended through the store, since others may follow it. (Dash would kill a page's job as
    soon as the page starts another one.) It starts no process but for a run that may have one now. Every call has a
    key of its own: what is shared between tabs is the store of runs.
    """

    def __init__(self, services: Services) -> None:
        handle = diskcache.Cache(str(services.settings.data_dir / "background"))
        super().__init__(handle, cache_by=[lambda: uuid4().hex], expire=RESULT_KEPT)
        self._services, self._reruns = services, RerunStore(services.settings.data_dir)
        self.sweep()

    def terminate_job(self, job: object) -> None:
        """Let the job be: it ends by itself when it is done."""

    def call_job_fn(self, key: str, job_fn: Any, args: Any, context: Any) -> Any:
        """Start a process where there is something for it to do; a repeated or made-up request is answered at once."""
        asked = next(iter(args.values() if isinstance(args, dict) else args), None)
        if not self._may_start(asked.get("id") if isinstance(asked, dict) else None):
            self.handle.set(key, uuid4().hex, expire=RESULT_KEPT)
            return os.getpid()
        return super().call_job_fn(key, job_fn, args, context)

    def _may_start(self, asked: object) -> bool:
        """Whether this is a run whose turn it is, or a rerun of a table's line that nobody carries out."""
        if not isinstance(asked, str):
            return False
        rerun = self._reruns.get(asked)
        return asked in self._services.runs.startable(self._services.settings.slots) or (
            rerun is not None and rerun.state == "queued"
        )

    def sweep(self) -> None:
        """Delete results and progress that no page has asked for in time. The signing secret is every worker's."""
        now = time.time()
        self.handle.expire()
        for key in list(self.handle.iterkeys()):
            if key == self.SIGNING_SECRET_KEY:
                continue
            _, expires = self.handle.get(key, expire_time=True)
            if expires is None:
                self.handle.touch(key, expire=RESULT_KEPT)
            elif expires > now + RESULT_KEPT:  # the clock was set back since
                self.handle.delete(key)


def keep_house(server: Any, settings: Settings, lives: Callable[[], bool] = lambda: True) -> Keeper | None:
    """Make this process ready for visitors, then begin to keep house over the data folder. Workers do it themselves."""
    warm(server, settings.url_prefix)
    services = Services(settings)
    if services.workers is not None:
        return None
    processes.warm()
    manager = JobManager(services)
    keeper = Keeper(services, lambda run_id: processes.launch(run_id, settings), [manager.sweep], lives)
    keeper.start()
    return keeper


def __getattr__(name: str) -> Any:
    """Make `server` when gunicorn asks for it: a job's process imports this module too, and needs no application."""
    if name != "server":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    server = globals()["server"] = create_app().server
    return server


def main() -> int:
    """Serve on this machine until interrupted."""
    try:
        settings = from_environment(os.environ)
        startup.check_cluster(settings)
        app = create_app(settings)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    startup.prepare(settings)
    keeper = keep_house(app.server, settings)
    sys.stderr.write(f"{TITLE} is on http://{settings.host}:{settings.port}{settings.url_prefix}\n")
    try:
        app.run(host=settings.host, port=settings.port, debug=False, threaded=True)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. Searches under way go on when it is started again.\n")
    finally:
        if keeper is not None:
            keeper.stop()
        processes.stop_all()
    return 0


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(session.serve(create_app, keep_house) if sys.argv[1:] == ["--session"] else main())
