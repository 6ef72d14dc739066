"""Milliseconds that the server takes to answer a selection on a path of 3,100 points: six clusterings, and the path.

``python -m benchmarks.selection`` from the top folder. The search (D31, 40 values) is done first.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from callbacks import clusterings_panel, state
from callbacks.path_panel import drawn_path
from layouts.views import ResultView
from services.context import Services
from services.jobs import execute
from services.points import DataSpec
from services.run_settings import RunSettings, SearchSettings
from services.settings import Settings

ROUNDS = 20
ASKED = RunSettings(DataSpec("builtin:d31"), SearchSettings(31, max_steps=40))
CHOSEN = {"auto": False, "indices": [3, 10, 17, 24, 31, 38], "active": 3}


def milliseconds(work: Callable[[], object]) -> list[float]:
    """Do the work again and again, and return how long it took each time."""
    durations = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        durations.append(1000.0 * (time.perf_counter() - begin))
    return durations


def main() -> None:
    """Measure and print medians with the range."""
    with tempfile.TemporaryDirectory() as folder:
        services = Services(Settings(data_dir=Path(folder)))
        run_id = services.request(ASKED)
        execute(run_id, services)

        def view() -> ResultView:
            return state.result_view(services, ASKED, services.runs.get(run_id), CHOSEN, state.Look())

        def answer_panes() -> str:
            how = clusterings_panel.Drawing(("column:0", "column:1"))
            panes = clusterings_panel.drawn_panes(services, view(), ASKED, how, {})
            words = [[*part.head, part.foot] for part in panes.written.values()]
            return json.dumps([words, panes.graphs], default=lambda part: part.to_plotly_json())

        def answer_path() -> str:
            return json.dumps(drawn_path(view()))

        for name, work in (("six clusterings", answer_panes), ("path", answer_path)):
            taken = milliseconds(work)
            print(f"{name}: median {statistics.median(taken):.1f} ms, {min(taken):.1f} to {max(taken):.1f} ms")


if __name__ == "__main__":
    main()
