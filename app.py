"""The dashboard: ``python app.py`` runs it on this machine, ``gunicorn -c gunicorn.conf.py app:server`` for a group.

``python app.py --session`` is for `offgrid.explore`, which hands it the data.

Entry points: `create_app` and, made when first asked for, `server`.
"""

from __future__ import annotations

import os
import sys
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
from services import logs, session, startup
from services.context import Services
from services.server import harden, warm
from services.settings import Settings, from_environment, prepare_data_dir

TITLE = "Off-the-grid"
RESULT_KEPT = 3600  # seconds that Dash keeps the (empty) result of a background callback
PLOTLY = "/_dash-component-suites/plotly/package_data/plotly.min.js"
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
PRELOADED = ["services.preload", "callbacks"]


def create_app(settings: Settings | None = None) -> Dash:
    """Return the application for these settings (by default those of the environment)."""
    settings = settings or from_environment(os.environ)
    logs.set_up(settings.log_level)
    prepare_data_dir(settings)
    _start_jobs_from_a_clean_process()
    services = Services(settings)
    app = Dash(
        __name__,
        use_pages=True,
        pages_folder="",
        title=TITLE,
        update_title="",
        serve_locally=True,
        index_string=INDEX,
        include_pages_meta=False,
        background_callback_manager=_background_manager(settings),
        on_error=show_failure,
        meta_tags=[{"name": "description", "content": "The bandwidths at which kernel k-means changes its mind"}],
        add_log_handler=False,
    )
    register_all(app, services)
    app.layout = shell(dash.page_container)
    harden(app.server, services, app.csp_hashes, too_large)
    return app


def _start_jobs_from_a_clean_process() -> None:
    """Fork jobs from a server process without threads: a fork of the web process could hang in compiled code.

    It is started here, so that it has imported everything before the first job comes.
    """
    multiprocess.set_start_method("forkserver", force=True)
    multiprocess.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()


class JobManager(DiskcacheManager):
    """Dash's job manager, which never kills: a search is ended through the store of runs, since others may follow it.

    Dash would kill a page's job as soon as the page starts another one. A job that is done ends by itself.
    """

    def terminate_job(self, job: object) -> None:
        """Let the job be."""


def _background_manager(settings: Settings) -> JobManager:
    """Return Dash's job manager. Every call has a key of its own: what is shared between tabs is the store of runs."""
    handle = diskcache.Cache(str(settings.data_dir / "background"))
    manager = JobManager(handle, cache_by=[lambda: uuid4().hex], expire=RESULT_KEPT)
    for key in list(handle.iterkeys()):
        if key != manager.SIGNING_SECRET_KEY:  # leftovers of jobs nobody waits for; the secret is every worker's
            handle.delete(key)
    return manager


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
        app = create_app(settings)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    startup.prepare(settings)
    warm(app.server)
    sys.stderr.write(f"{TITLE} is on http://{settings.host}:{settings.port}\n")
    app.run(host=settings.host, port=settings.port, debug=False, threaded=True)
    return 0


if __name__ == "__main__":
    sys.exit(session.serve(create_app) if sys.argv[1:] == ["--session"] else main())
