"""Kernel k-means iteration by iteration: the clustering with its moved points ringed, and the objective beside it.

Entry point: `lloyd_demonstration`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import words
from figures.clustering import clustering_figure
from figures.learn_parts import Demonstration, Step, demonstration, dots, line, linear, panel
from figures.theme import Figure, Palette, Scheme, palette
from offgrid.traces import LloydSteps

HEAD = ("Iteration", "Points moved", "Objective", "Change")


def lloyd_demonstration(
    X: NDArray[np.float64], found: LloydSteps, n_clusters: int, *, scheme: Scheme = "light"
) -> Demonstration:
    """Return the lesson: one step for the start partition and one for each iteration that moved a point."""
    rows = _rows(found)
    steps = [
        Step(
            (
                ringed_clustering(X, step.labels, step.moved, n_clusters, scheme),
                _objective_figure(found, place, palette(scheme), scheme),
            ),
            _sentence(found, place),
            rows[: place + 1],
            place,
        )
        for place, step in enumerate(found.steps)
    ]
    sizes = f"{words.count(len(X))} points, {words.plural(n_clusters, 'cluster')}"
    return demonstration(steps, notes=(sizes, "never rises"), head=HEAD)


def ringed_clustering(
    X: NDArray[np.float64],
    labels: NDArray[Any],
    moved: NDArray[Any],
    n_clusters: int,
    scheme: Scheme,
) -> Figure:
    """Return the scatter plot of a clustering in which the rings are all there and only some are seen.

    So that every step has the same traces.
    """
    figure = clustering_figure(X, labels, n_clusters=n_clusters, moved=np.arange(len(X)), scheme=scheme)
    rings = figure["data"][-1]
    rings["selectedpoints"] = [int(i) for i in moved]
    rings["selected"], rings["unselected"] = {"marker": {"opacity": 1}}, {"marker": {"opacity": 0}}
    return figure


def _sentence(found: LloydSteps, place: int) -> str:
    step = found.steps[place]
    if place == 0:
        return f"each point has a random label; the objective is {words.measure(step.objective, 2)}."
    before = found.steps[place - 1].objective
    moved = len(step.moved)
    said = (
        f"{words.plural(moved, 'point')} {'moves' if moved == 1 else 'move'}, and the objective falls from "
        f"{words.measure(before, 2)} to {words.measure(step.objective, 2)}."
    )
    if place < len(found.steps) - 1:
        return said
    return f"{said} The next step moves no point." if found.converged else f"{said} The lesson stops here."


def _rows(found: LloydSteps) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for place, step in enumerate(found.steps):
        change = words.measure(step.objective - found.steps[place - 1].objective, 4) if place else "–"
        rows.append(
            (str(place), words.count(len(step.moved)) if place else "–", words.measure(step.objective, 4), change)
        )
    return rows


def _objective_figure(found: LloydSteps, place: int, colours: Palette, scheme: Scheme) -> Figure:
    values = [step.objective for step in found.steps]
    count = len(values)
    low, high = min(values), max(values)
    room = 0.08 * max(high - low, 1e-9 * abs(high), 1e-300)
    texts = [f"iteration {i}<br>objective {words.measure(value, 4)}" for i, value in enumerate(values)]
    size = [9 if i == place else 5 for i in range(count)]
    colour = [colours.accent if i == place else colours.ink if i < place else colours.border for i in range(count)]
    traces = [
        line(range(count), values, colours.border, 1.5),
        line(range(place + 1), values[: place + 1], colours.ink, 1.5),
        dots(range(count), values, texts, {"size": size, "color": colour}),
    ]
    every = max(1, -(-count // 10))
    xaxis = linear(colours, "iteration", -0.4, count - 0.6, tick0=0, dtick=every)
    yaxis = linear(colours, "", low - room, high + room, showgrid=True, gridcolor=colours.hairline, showline=False)
    return {"data": traces, "layout": panel(scheme, xaxis, yaxis)}
