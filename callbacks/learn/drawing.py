"""From a lesson's values to what it shows: the trace, computed once for its values, and its figures.

Entry point: `draw`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np

from callbacks.state import Look
from figures.learn_critical import critical_demonstration
from figures.learn_frozen import frozen_demonstration, tight_demonstration
from figures.learn_lloyd import lloyd_demonstration
from figures.learn_parts import Demonstration
from figures.learn_powers import powers_demonstration
from layouts.learn.lesson import Lesson, Value
from layouts.learn.lessons import CRITICAL, FROZEN, LLOYD, POWERS, TIGHT
from offgrid import traces
from offgrid.datasets import load, tight_example

_KEPT = 64  # traces of each kind
_DEEPEST = 10  # of the depths to choose from on the Explore page

_frozen_zone = lru_cache(_KEPT)(lambda data, seed: traces.frozen_zone(load(data).X, _random(data, seed), _k(data)))
_tight_zone = lru_cache(_KEPT)(traces.tight_example_zone)
_power_rounds = lru_cache(_KEPT)(traces.power_rounds)
_lloyd_steps = lru_cache(_KEPT)(lambda data, sigma, seed: traces.lloyd_steps(load(data).X, _k(data), sigma, seed=seed))
_hunts = lru_cache(_KEPT)(
    lambda data, sigma, seed, depth: traces.hunts(load(data).X, _k(data), sigma, seed=seed, depth=depth)
)


@dataclass(frozen=True)
class Drawn:
    """A lesson as it is shown.

    Attributes
    ----------
    demonstration : Demonstration
    explore : str
        Address of the Explore page with the same data and settings.
    """

    demonstration: Demonstration
    explore: str


def draw(lesson: Lesson, values: Mapping[str, Value], look: Look) -> Drawn:
    """Return a lesson for checked values of its controls, or raise InputError."""
    return _DRAWERS[lesson.name](values, look)


def check(lesson: Lesson, values: Mapping[str, Any]) -> None:
    """Raise InputError where values that are fine one by one do not go together."""
    if lesson is POWERS:
        _power_rounds(values["base"], values["exponent"], values["depth"])


def hidden_controls(lesson: Lesson, values: Mapping[str, Value]) -> Sequence[str]:
    """Return the names of the controls that mean nothing for these values."""
    if lesson is not FROZEN:
        return ()
    return ("seed",) if values["data"] == TIGHT else ("n",)


def _draw_frozen(values: Mapping[str, Any], look: Look) -> Drawn:
    data = values["data"]
    if data == TIGHT:
        squares, _ = tight_example(values["n"])
        shown = tight_demonstration(squares, _tight_zone(values["n"]), scheme=look.scheme)
        return Drawn(shown, explore_address(FROZEN.read({})["data"], start="bound"))
    zone = _frozen_zone(data, values["seed"])
    shown = frozen_demonstration(load(data).X, zone, _k(data), scheme=look.scheme)
    return Drawn(shown, explore_address(data, values["seed"], start="bound"))


def _draw_lloyd(values: Mapping[str, Any], look: Look) -> Drawn:
    data = values["data"]
    found = _lloyd_steps(data, values["sigma"], values["seed"])
    shown = lloyd_demonstration(load(data).X, found, _k(data), scheme=look.scheme)
    return Drawn(shown, explore_address(data, values["seed"], start=values["sigma"]))


def _draw_powers(values: Mapping[str, Any], look: Look) -> Drawn:
    found = _power_rounds(values["base"], values["exponent"], values["depth"])
    # the search that works with such powers, at the same depth as far as it offers that
    explore = explore_address(LLOYD.read({})["data"], method="dyadic", depths=min(values["depth"], _DEEPEST))
    return Drawn(powers_demonstration(found, scheme=look.scheme), explore)


def _draw_critical(values: Mapping[str, Any], look: Look) -> Drawn:
    data = values["data"]
    found = _hunts(data, values["sigma"], values["seed"], values["depth"])
    shown = critical_demonstration(found, axis=values["axis"], scheme=look.scheme, narrow=look.narrow)
    return Drawn(shown, explore_address(data, values["seed"], start=values["sigma"]))


_DRAWERS: dict[str, Callable[[Mapping[str, Any], Look], Drawn]] = {
    FROZEN.name: _draw_frozen,
    LLOYD.name: _draw_lloyd,
    POWERS.name: _draw_powers,
    CRITICAL.name: _draw_critical,
}


def explore_address(data: Any, seed: int = 0, **search: object) -> str:
    """Return the address of a search on the same data from the same random partition."""
    query = {"data": f"builtin:{data}", "k": _k(data), **({"seed": seed} if seed else {}), **search}
    return f"/?{urlencode(query, safe=':')}"


def _k(data: str) -> int:
    return int(load(data).k or 1)


def _random(data: str, seed: int) -> Any:
    """Return the random partition that a search with this seed starts from."""
    return np.random.RandomState(seed).randint(_k(data), size=len(load(data).X))
