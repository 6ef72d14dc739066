"""The dashboard on data in memory: `explore`, for scripts and notebooks.

The dashboard runs in a process of its own, which is handed the data through a pipe and keeps them in a private folder.
It ends when the pipe is closed: by `Exploration.close`, or because the process that opened it has ended, however.
"""

from __future__ import annotations

import atexit
import contextlib
import html
import importlib.util
import json
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import webbrowser
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from offgrid.datasets.frames import table_of
from offgrid.datasets.model import SCALINGS
from offgrid.errors import InputError

APP = Path(__file__).resolve().parents[1] / "app.py"
NEEDED = ("dash", "dash_mantine_components", "dash_ag_grid", "diskcache")
# Who may show the page in a frame: notebooks on this machine, and those in an editor's window.
FRAMES = "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview:"
# Settings of a server that this dashboard takes over: what a search may take of this machine. With any other, data that
# were in memory only could go to another machine (Redis, Dask), or the page be somewhere else than expected.
TAKEN_OVER = ("OFFGRID_BENCHMARK_DATA", "OFFGRID_MEMORY_LIMIT", "OFFGRID_SLOTS", "OFFGRID_THREADS")
START_PATIENCE = 120.0  # seconds until the dashboard says that it is there
END_PATIENCE = 5.0  # seconds until it is ended by force
HEIGHT = 900  # pixels, in a notebook

_open: set[Exploration] = set()


def explore(
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | None = None,
    scaling: str = "none",
    name: str = "data",
    open_browser: bool | None = None,
    port: int = 0,
    **search: Any,
) -> Exploration:
    """Open the dashboard on data in memory, with the search under way.

    Parameters
    ----------
    X : array-like (n, d), images (n, height, width), or data frame
        A frame keeps its columns' names.
    y : array-like (n,) or None
        Labels of any type, to compare with: the search does not use them.
    n_clusters : int or None
        None for the number of classes in y, or 3 without labels.
    scaling : {"none", "unit", "robust"}
        As in the dashboard. None of it unless asked for, as in `BandwidthSearch`.
    name : str
        What the page calls the data.
    open_browser : bool or None
        Whether to open the page in a browser. None for: unless this is a notebook, which shows it in place.
    port : int
        0 for a free one.
    **search
        Settings of `BandwidthSearch`: `method`, `init`, `random_state` and so on.

    Returns
    -------
    Exploration
        The open page: its `url`, `close()` and `wait()`.

    Raises
    ------
    InputError
        If the data or a setting cannot be used.
    ImportError
        If the dashboard is not installed.
    """
    missing = [package for package in NEEDED if importlib.util.find_spec(package) is None]
    if missing or not APP.exists():
        what = ", ".join(missing) or APP.name
        raise ImportError(f"The dashboard is not installed here ({what} not found): pip install 'offgrid[dashboard]'.")
    if scaling not in SCALINGS:
        raise InputError(f"The scaling {scaling!r} is not known: choose none, unit or robust.")
    table = table_of(X, y, name=str(name) or "data")
    # A column of an array is never taken for the labels: X is data, and y would have been given.
    chosen = None if y is not None or hasattr(X, "columns") else {"columns": table.numeric, "label": None}
    settings = {"n_clusters": n_clusters, **search}
    given = {"table": table, "data": {"scaling": scaling, **(chosen or {})}, "search": settings, "port": int(port)}
    page = Exploration(given)
    if open_browser or (open_browser is None and not _in_notebook() and _has_display()):
        webbrowser.open(page.url)
    return page


class Exploration:
    """A dashboard that is open. It ends with `close`, at the end of a ``with`` block, or with this Python.

    Attributes
    ----------
    url : str
        Address of the page. Whoever knows it can see the data, from this machine.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.url = ""
        self._folder = Path(tempfile.mkdtemp(prefix="offgrid-"))
        self._process: subprocess.Popen[bytes] | None = None
        _open.add(self)
        try:
            self.url = self._start(given)
        except BaseException:
            self.close()
            raise

    def _start(self, given: dict[str, Any]) -> str:
        rows = max(int(os.environ.get("OFFGRID_MAX_ROWS") or 20_000), given["table"].n_rows)
        others = {name: value for name, value in os.environ.items() if not name.startswith("OFFGRID_")}
        taken_over = {name: os.environ[name] for name in TAKEN_OVER if name in os.environ}
        own = {
            "OFFGRID_DATA_DIR": str(self._folder / "data"),
            "OFFGRID_FRAME_ANCESTORS": FRAMES,
            "OFFGRID_LOG_LEVEL": "WARNING",
            "OFFGRID_MAX_ROWS": str(rows),
        }
        with (self._folder / "log.txt").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(APP), "--session"],
                cwd=APP.parent,
                env={**others, **taken_over, **own},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever opened it
            )
        answer = self._hand_over(self._process, pickle.dumps(given))
        if "error" in answer:
            raise InputError(answer["error"])
        return str(answer["url"])

    def _hand_over(self, process: subprocess.Popen[bytes], content: bytes) -> dict[str, str]:
        """Send the data and return the dashboard's answer: its address, or what is wrong, in words."""
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the dashboard has no pipes")
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(content)
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], START_PATIENCE)
        line = process.stdout.readline() if ready else b""
        if not line:
            said = (self._folder / "log.txt").read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"The dashboard did not start: {said[-1] if said else 'it said nothing'}")
        answer: dict[str, str] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the dashboard and delete its copy of the data. Closing it twice does no harm."""
        process, self._process = self._process, None
        _open.discard(self)
        if process is not None:
            _end(process)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def closed(self) -> bool:
        """Whether the dashboard has ended."""
        return self._process is None or self._process.poll() is not None

    def wait(self) -> None:
        """Keep the page open until Ctrl-C (or its process ends), then close it: the last line of a script."""
        sys.stderr.write(f"The dashboard is on {self.url} until Ctrl-C.\n")
        try:
            if self._process is not None:
                self._process.wait()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
        finally:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<offgrid.explore {'closed' if self.closed else 'on ' + self.url}>"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for a notebook."""
        if self.closed:
            return "<p>This dashboard is closed.</p>"
        url = html.escape(self.url, quote=True)
        style = f"width:100%;height:{HEIGHT}px;border:1px solid #D3D7DC;border-radius:8px"
        return (
            f'<iframe src="{url}" title="Off-the-grid" style="{style}" allow="clipboard-write"></iframe>'
            f'<p><a href="{url}" target="_blank" rel="noopener">Open in a tab of its own</a></p>'
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe, on which the dashboard ends itself; end its process group where it does not."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(END_PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this, which shows what a cell returns."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def _has_display() -> bool:
    """Whether a browser can open a window: without one, a text browser would take over the terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@atexit.register
def _close_all() -> None:
    for page in tuple(_open):
        page.close()
