"""Algorithm 1 on a number: n / d against its target, and the error of the result inside Theorem 2's band.

Entry point: `powers_demonstration`.
"""

from __future__ import annotations

import math

from figures.learn_parts import (
    Demonstration,
    Step,
    demonstration,
    dots,
    line,
    linear,
    logarithmic,
    note,
    panel,
    power_of_ten,
    rule,
)
from figures.theme import Figure, Palette, Scheme, palette
from offgrid.traces import PowerRound, PowerRounds

HEAD = ("Round", "n/d", "Root of the base", "Result", "Band of Theorem 2", "Relative error")


def powers_demonstration(found: PowerRounds, *, scheme: Scheme = "light") -> Demonstration:
    """Return the lesson: one step for the start and one for each round."""
    colours = palette(scheme)
    rows = [_row(found, item) for item in found.rounds]
    steps = [
        Step(
            (_exponent_figure(found, place, colours, scheme), _error_figure(found, place, colours, scheme)),
            _sentence(found, item),
            rows[: place + 1],
            place,
        )
        for place, item in enumerate(found.rounds)
    ]
    notes = (f"f = {number(found.fraction)}, band f ± 1/d", "below the band's edge")
    return demonstration(steps, notes=notes, head=HEAD)


def number(value: float) -> str:
    """Return a number to nine figures at most."""
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        return f"{value:,.9g}".replace("-", "−")
    mantissa, exponent = f"{value:.6e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}".replace("-", "−")


def error_of(found: PowerRounds, item: PowerRound) -> float:
    """Return the relative error of a round's result."""
    return item.value / found.target - 1.0


def _percent(value: float) -> str:
    if value == 0.0:
        return "0"
    sign = "−" if value < 0 else "+"
    size = abs(value)
    return f"{sign}{number(float(f'{100 * size:.2g}'))}%"


def _fraction_of(item: PowerRound) -> str:
    return f"{item.numerator}/{item.denominator}"


def _row(found: PowerRounds, item: PowerRound) -> tuple[str, ...]:
    done = "" if item.multiplied is None else "× " if item.multiplied else "÷ "
    return (
        str(item.number),
        _fraction_of(item),
        f"{done}{number(item.root)}",
        number(item.value),
        f"{number(item.low)} to {number(item.high)}",
        _percent(error_of(found, item)),
    )


def _sentence(found: PowerRounds, item: PowerRound) -> str:
    target = f"{number(found.base)} to the power {number(found.exponent)} is {number(found.target)}"
    if item.number == 0:
        if found.fraction == 0.0:
            return f"{target}. The exponent is whole, so products alone give it, and there is no fraction to approach."
        split = f"the exponent is {found.whole} + {number(found.fraction)}"
        return f"{split}; n/d begins at 1/1, and the result at {number(item.value)}. {target}."
    side = "below" if item.multiplied else "above"
    verb = "multiply by" if item.multiplied else "divide by"
    said = f"the last n/d was {side} f, so {verb} the root {number(item.root)}: n/d is {_fraction_of(item)}"
    if item.numerator == found.fraction * item.denominator:
        return f"{said}, which is f itself. The result is {number(item.value)}."
    return f"{said}, and the result {number(item.value)}, {_percent(error_of(found, item))} off."


def _exponent_figure(found: PowerRounds, place: int, colours: Palette, scheme: Scheme) -> Figure:
    """Return n / d by round, the fraction that it goes to, and the band 2**-round around that."""
    rounds = found.rounds
    seen = rounds[: place + 1]
    exponents = [item.numerator / item.denominator for item in seen]
    texts = [f"round {item.number}<br>n/d = {_fraction_of(item)}" for item in seen]
    sides: list[float] = [item.number + side for item in rounds for side in (-0.5, 0.5)]
    halves = [1.0 / item.denominator for item in rounds for _ in range(2)]
    low, high = ([found.fraction + sign * half for half in halves] for sign in (-1, 1))
    marks = {"size": [9 if item.number == place else 6 for item in seen], "color": _colours(place, colours)}
    traces = [
        line(sides + sides[::-1], high + low[::-1], "rgba(0,0,0,0)", 0, fill="toself", fillcolor=colours.column),
        line([-0.5, len(rounds) - 0.5], [found.fraction] * 2, colours.muted, 1),
        line([item.number for item in seen], exponents, colours.ink, 1.2),
        dots([item.number for item in seen], exponents, texts, marks),
    ]
    yaxis = linear(colours, "", -0.05, 1.08, showgrid=True, gridcolor=colours.hairline, showline=False)
    layout = panel(scheme, _round_axis(len(rounds), colours), yaxis)
    layout["annotations"] = [
        note(
            f"f = {number(found.fraction)}", colours.second, 1, found.fraction, yref="y", xanchor="right",
            yanchor="bottom",
        )
    ]  # fmt: skip
    return {"data": traces, "layout": layout}


def _error_figure(found: PowerRounds, place: int, colours: Palette, scheme: Scheme) -> Figure:
    """Return the size of the relative error by round, under the largest one that Theorem 2 allows."""
    rounds = found.rounds
    allowed = [max(item.high / found.target - 1.0, 1.0 - item.low / found.target, 1e-300) for item in rounds]
    sizes = [abs(error_of(found, item)) for item in rounds]
    floor = max(min([*(size for size in sizes if size > 1e-16), *allowed]) / 3.0, 1e-17)
    seen = rounds[: place + 1]
    # an error of nothing stands on the axis: a logarithmic one has no zero
    shown = [max(sizes[item.number], floor) for item in seen]
    texts = [f"round {item.number}<br>relative error {_percent(error_of(found, item))}" for item in seen]
    marks = {"size": [9 if item.number == place else 6 for item in seen], "color": _colours(place, colours)}
    traces = [
        line([item.number for item in rounds], allowed, colours.muted, 1.2),
        dots([item.number for item in seen], shown, texts, marks),
    ]
    top = 10 ** math.ceil(math.log10(max(*allowed, floor * 10)) + 0.1)
    yaxis = logarithmic(colours, "", floor / 1.5, top, most=6, showgrid=True, gridcolor=colours.hairline, minor={})
    yaxis["ticktext"] = [power_of_ten(value) for value in yaxis["tickvals"]]
    layout = panel(scheme, _round_axis(len(rounds), colours), {**yaxis, "showline": False}, left=56)
    edge = note("largest error allowed", colours.second, 0, math.log10(allowed[0]), xref="x", yref="y")
    layout["annotations"] = [{**edge, "xanchor": "left", "yanchor": "bottom", "xshift": 8}]
    layout["shapes"] = [rule(place, colours.border, dash="dot")]
    return {"data": traces, "layout": layout}


def _colours(place: int, colours: Palette) -> list[str]:
    return [*[colours.ink] * place, colours.accent]


def _round_axis(count: int, colours: Palette) -> Figure:
    every = max(1, -(-count // 12))
    return linear(colours, "round", -0.6, count - 0.4, tick0=0, dtick=every)
