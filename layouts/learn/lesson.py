"""What a lesson is: its words, its controls and the values that these take.

Entry points: `Lesson`, `Choice`, `Number`, `spoken`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from figures.words import count
from offgrid.errors import InputError

Value = str | float | int
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """A control with a few values, (value, words) each."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    default: str

    def read(self, given: object) -> str:
        """Return a value from the page or an address, or raise InputError."""
        values = [value for value, _ in self.options]
        if given not in values:
            raise InputError(f"{spoken(self.label)} is {given!r}: choose one of {', '.join(values)}.")
        return str(given)


@dataclass(frozen=True)
class Number:
    """A control with a number between two others, whole ones only where `whole`."""

    name: str
    label: str
    default: float
    low: float
    high: float
    whole: bool = False
    step: float = 1.0

    def read(self, given: object) -> float | int:
        """Return a value from the page or an address, or raise InputError."""
        kind = "a whole number" if self.whole else "a number"
        wanted = f"give {kind} from {_shown(self.low)} to {_shown(self.high)}."
        if given in (None, ""):
            raise InputError(f"{spoken(self.label)} is empty: {wanted}")
        try:
            value = float(str(given))
        except ValueError:
            value = math.nan
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            raise InputError(f"{spoken(self.label)} is {given}: {wanted}")
        return int(value) if self.whole else value


Control = Choice | Number


def spoken(label: str) -> str:
    """Return a label without the marks that `formula` reads."""
    return label.replace("{", "").replace("}", "")


@dataclass(frozen=True)
class Lesson:
    """A page: its title, what it says, what can be set, and the formulas with where the paper has them.

    Attributes
    ----------
    name : str
        Last part of the address.
    title : str
    summary : str
        One line for the list of lessons.
    words : str
        Two or three plain sentences, as `formula` reads them.
    controls : sequence of Control
    panels : (str, str)
        Titles of the two figures.
    stepper : str
        What the slider walks through.
    formulas : sequence of (str, str)
        Each with its place in the paper.
    wide : bool
        Whether the left figure is drawn wider than it is high.
    """

    name: str
    title: str
    summary: str
    words: str
    controls: Sequence[Control]
    panels: tuple[str, str]
    formulas: Sequence[tuple[str, str]]
    stepper: str = "Step"
    wide: bool = False

    @property
    def path(self) -> str:
        """The page's address."""
        return f"/learn/{self.name}"

    def read(self, given: Values) -> dict[str, Value]:
        """Return the values of all controls; those not given have their defaults. Raises InputError."""
        return {
            control.name: control.read(given[control.name]) if control.name in given else control.default
            for control in self.controls
        }

    def query(self, values: Mapping[str, Value]) -> dict[str, str]:
        """Return the values for the address, those at their defaults left out."""
        return {
            control.name: _plain(values[control.name])
            for control in self.controls
            if values[control.name] != control.default
        }


def _plain(value: Value) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _shown(value: float) -> str:
    return count(int(value)) if value == int(value) else f"{value:g}"
