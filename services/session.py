"""The dashboard of one Python session, as `offgrid.explore` starts it.

Entry points: `serve` (the web server's process) and ``python -m services.session RUN`` (the search it starts). The data
come on standard input, and the answer, one line of JSON, goes to standard output. When standard input is closed
the session is over: every process of it is ended, and its data folder is deleted.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
from werkzeug.serving import make_server

from offgrid.datasets.table import Table
from offgrid.errors import InputError
from services import logs, visitors
from services.context import Services
from services.heart import parent_watch
from services.jobs import execute
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.server import warm
from services.settings import Settings, from_environment

HOST = "127.0.0.1"
FEW_CLUSTERS = 3  # proposed where no labels tell
ROOT = Path(__file__).resolve().parents[1]


def serve(create_app: Callable[[Settings], Any], keep_house: Callable[[Any, Settings], Any]) -> int:
    """Serve the dashboard on the data that come on standard input until that is closed."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the answer stands alone on standard output, whatever anybody prints
    given = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    settings = from_environment(os.environ)
    threading.Thread(target=_end_with_input, args=(settings.data_dir,), daemon=True).start()
    app = create_app(settings)
    services = Services(settings)
    try:
        asked = settings_of(given, services)
        run_id = services.request(asked)
        server = make_server(HOST, given["port"], app.server, threaded=True)
    except InputError as error:
        return _answer(answer, error=str(error))
    except (OSError, OverflowError) as error:
        return _answer(answer, error=f"The port {given['port']} can't be used ({error}); give another, or 0 for any.")
    services.runs.follow(run_id, visitors.SERVER, pinned=True)
    visitors.welcome_as(app.server, visitors.SERVER)  # whoever comes is the one who has started it
    environment = {**os.environ, **settings.to_environment()}
    subprocess.Popen([sys.executable, "-m", "services.session", run_id], cwd=ROOT, env=environment,
                     stdin=subprocess.DEVNULL)  # fmt: skip
    warm(app.server)
    query = urlencode({**asked.to_query(), "run": run_id})
    _answer(answer, url=f"http://{HOST}:{server.server_port}/?{query}")
    threading.Thread(target=keep_house, args=(app.server, settings), daemon=True).start()
    server.serve_forever()
    return 0


def _answer(stream: Any, **values: str) -> int:
    stream.write(json.dumps(values) + "\n")
    stream.flush()
    return 1


def settings_of(given: Mapping[str, Any], services: Services) -> RunSettings:
    """Keep the table as an upload, and return what to search for.

    Raises
    ------
    InputError
        Where a setting is not known or does not fit.
    """
    table: Table = given["table"]
    search = _search_values(given["search"])
    upload = services.uploads.keep(table.name, table)
    data = DataSpec.from_dict({"source": f"upload:{upload.id}", "missing": table.missing, **given["data"]})
    if "n_clusters" not in search:
        points = services.points(data)
        search["n_clusters"] = points.n_classes or min(FEW_CLUSTERS, points.n)
    return RunSettings(services.simplified(data), SearchSettings(**search))


def _search_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, by the names of `SearchSettings`."""
    values = {"seed" if name == "random_state" else name: value for name, value in given.items() if value is not None}
    known = [field.name for field in fields(SearchSettings)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        allowed = ", ".join("random_state" if name == "seed" else name for name in known)
        raise InputError(f"There is no setting {unknown[0]!r}: choose from {allowed}.")
    # NumPy's numbers and lists are as good as Python's.
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}


def _end_with_input(data_dir: Path) -> None:
    sys.stdin.buffer.read()
    for process in psutil.Process().children(recursive=True):
        process.kill()
    shutil.rmtree(data_dir, ignore_errors=True)
    os._exit(0)


def main() -> int:
    """Carry out the run that the command line names."""
    settings = from_environment(os.environ)
    logs.set_up(settings.log_level, settings.log_format)
    execute(sys.argv[1], Services(settings), parent_lives=parent_watch())
    return 0


if __name__ == "__main__":
    sys.exit(main())
