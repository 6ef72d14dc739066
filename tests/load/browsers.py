"""A class in front of one server: ``python -m tests.load.browsers --browsers 60 --minutes 5``.

It starts gunicorn with a data folder of its own, lets so many simulated browsers open pages, run searches, look at
values, reload and cancel, and prints how long answers took, what failed, what became of every run, and the memory of
the server over time. Bounded: at the end everybody cancels what is under way and waits for it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import requests

from services.context import Services
from services.settings import Settings
from tests.load.headless import Log, Page
from tests.load.serving import Gunicorn

SETS = ("flame", "iris", "spiral", "compound", "pathbased", "r15")
STEPS = (15, 30, 60)
SEEDS = 12  # few enough for some to ask for the same search
THINKS = (0.5, 4.0)  # seconds between two things that a person does
CANCELS, RELOADS, LEAVES = 0.15, 0.2, 0.1  # how often
LAST_WORDS = 60.0  # seconds at the end for what is under way to end


@dataclass
class Figures:
    """What a class has met."""

    log: Log = field(default_factory=Log)
    pressed: set[str] = field(default_factory=set)
    refused: int = 0
    cancelled: int = 0
    memory: list[tuple[float, float, float]] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    lost: int = 0

    @property
    def slowest(self) -> dict[str, tuple[int, float, float, float]]:
        """Number, median, 95th percentile and maximum in milliseconds, by kind of request."""
        return {
            kind: (len(times), *(1000 * float(np.percentile(times, q)) for q in (50, 95, 100)))
            for kind, times in self.log.seconds.items()
        }


def browse(origin: str, until: float, figures: Figures, seed: int, stop: threading.Event) -> None:
    """Do what a person does until the time is over."""
    dice, page = random.Random(seed), Page(origin, figures.log)
    try:
        stop.wait(dice.uniform(0, 3))
        page.open()
        while time.monotonic() < until and not stop.is_set():
            _search(page, dice, figures)
            _watch(page, dice, until, figures, stop)
            if page.run and dice.random() < RELOADS:
                page.open(page.address)
            stop.wait(dice.uniform(*THINKS))
        _leave(page, stop)
    except requests.RequestException:
        return  # it is in the log


def _search(page: Page, dice: random.Random, figures: Figures) -> None:
    page.set({("data-gallery", "value"): f"builtin:{dice.choice(SETS)}"})
    page.set({("seed", "value"): dice.randrange(SEEDS), ("max-steps", "value"): dice.choice(STEPS)})
    before = page.run
    page.press("run-button")
    if page.text("settings-error"):
        figures.refused += 1
    elif page.run != before:
        figures.pressed.add(page.run)


def _watch(page: Page, dice: random.Random, until: float, figures: Figures, stop: threading.Event) -> None:
    """Follow the search that is shown, look at values, and cancel it now and then, or go on without it."""
    cancels, leaves = dice.random() < CANCELS, dice.random() < LEAVES
    polls = 0
    while page.active and time.monotonic() < until and not stop.is_set():
        stop.wait(page.props.get(("poll", "interval"), 1000) / 1000)
        page.poll()
        polls += 1
        if cancels and polls == 3:
            page.press("cancel")
            figures.cancelled += 1
            cancels = False
        if (leaves and polls == 5) or (page.active and not page.follows):
            return
    values = len((page.props.get(("shown", "data")) or {}).get("sigmas", []))
    if values:
        chosen = dice.randrange(values)
        page.set({("selection", "data"): {"indices": [chosen], "active": chosen, "auto": False}})


def _leave(page: Page, stop: threading.Event) -> None:
    """Cancel what is under way, and wait until it is over."""
    end = time.monotonic() + LAST_WORDS
    if page.follows:
        page.press("cancel")
    while page.follows and time.monotonic() < end and not stop.wait(0.5):
        page.poll()


def watch_memory(leader: int, figures: Figures, done: threading.Event, every: float) -> None:
    """Note the memory of the web processes, and of all processes of the server, in MB."""
    began = time.monotonic()
    while not done.wait(every):
        web, every_one = 0.0, 0.0
        for process in [psutil.Process(leader), *psutil.Process(leader).children(recursive=True)]:
            try:
                size = process.memory_full_info().uss / 1e6
                web += size if "gunicorn" in " ".join(process.cmdline()) else 0.0
                every_one += size
            except psutil.Error:
                continue
        figures.memory.append((time.monotonic() - began, web, every_one))


def run(browsers: int, seconds: float, folder: Path, *, every: float = 10.0, **environment: str) -> Figures:
    """Let so many browsers loose on a server of their own for so long, and return the figures."""
    figures, stop, done = Figures(), threading.Event(), threading.Event()
    settings = {"OFFGRID_SLOTS": "2", "OFFGRID_LOG_LEVEL": "WARNING", **environment}
    with Gunicorn(folder / "data", settings) as server:
        until = time.monotonic() + seconds
        memory = threading.Thread(target=watch_memory, args=(server.pid, figures, done, every))
        class_ = [
            threading.Thread(target=browse, args=(server.origin, until, figures, seed, stop))
            for seed in range(browsers)
        ]
        for thread in (memory, *class_):
            thread.start()
        try:
            for thread in class_:
                thread.join()
        finally:
            stop.set()
            done.set()
            memory.join()
        _account(Services(Settings(data_dir=folder / "data")), figures)
    return figures


def _account(services: Services, figures: Figures) -> None:
    """Say what became of every run: what is neither finished nor cancelled, nor anybody's any more, is lost.

    Browsers that went on without their search have left it to the grace time: it may be under way still.
    """
    for run_id in figures.pressed:
        found = services.runs.get(run_id)
        figures.states["gone" if found is None else found.state] += 1
        figures.lost += found is None or found.state in ("failed", "interrupted")


def report(figures: Figures) -> str:
    """Return the figures as text."""
    lines = [f"{'kind':8}{'requests':>10}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}"]
    lines += [
        f"{kind:8}{n:10,}{p50:10.0f}{p95:10.0f}{top:10.0f}" for kind, (n, p50, p95, top) in figures.slowest.items()
    ]
    states = ", ".join(f"{count} {state}" for state, count in sorted(figures.states.items()))
    lines.append(f"runs: {len(figures.pressed)} asked for: {states}; lost: {figures.lost}")
    lines.append(f"cancel pressed {figures.cancelled} times; refused over the limit {figures.refused} times")
    lines.append(f"failures: {len(figures.log.failures)}")
    lines += [f"  {times} × {what}" for what, times in Counter(figures.log.failures).most_common(10)]
    lines.append("memory in MB, own to the processes (web processes, all):")
    lines += [f"  {at:5.0f} s {web:8.0f} {all_:8.0f}" for at, web, all_ in figures.memory]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browsers", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=5.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(arguments.browsers, 60 * arguments.minutes, Path(folder))
    sys.stdout.write(report(figures) + "\n")
    return 1 if figures.lost or figures.log.failures else 0


if __name__ == "__main__":
    sys.exit(main())
