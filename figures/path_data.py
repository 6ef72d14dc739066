"""The numbers that the path figure draws, without drawing: steps, bars, sticks, ranges, ticks, places of letters.

Entry points: `axis_range`, `bound_in_place`, `steps`, `bars`, `shown_bar_texts`, `linear_axis`, `log_ticks`,
`letter_places`, `hover_texts`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from figures import words
from offgrid.path import BESIDE, BandwidthPath

NEAR_DECADES = 1.0


@dataclass(frozen=True)
class Bar:
    """One bar of the stability strip: record, lane (0 on top), ends in bandwidth, what is written in it.

    `high` is None where nothing is known yet. `recurrence` numbers a partition that occurs more than once.
    """

    index: int
    lane: int
    low: float
    high: float
    text: str
    recurrence: int | None


@dataclass(frozen=True)
class LinearAxis:
    """Range and ticks of a linear axis; `texts` all have the same number of decimals."""

    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class LogAxis:
    """Range in log10 and ticks of the bandwidth axis."""

    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]
    minor: tuple[float, ...]


def bound_in_place(path: BandwidthPath, lower_bound: float | None) -> bool:
    """Whether Theorem 1's bound lies within a decade of the first value, so that it is drawn where it is."""
    if lower_bound is None or not len(path):
        return False
    return math.log10(path.records[0].sigma / lower_bound) <= NEAR_DECADES


def axis_range(
    path: BandwidthPath,
    *,
    lower_bound: float | None = None,
    front: float | None = None,
    share: float = 0.0,
    frozen_share: float = 0.1,
) -> tuple[float, float]:
    """Return the range of the bandwidth axis in log10.

    A finished path leaves room after its last value for the bar that goes on to infinity. A growing one ends where
    its front and the share covered foretell, in half decades so that the axis seldom changes. A bound drawn in its
    place has `frozen_share` of the axis at its left.
    """
    sigmas = [record.sigma for record in path.records if math.isfinite(record.sigma)]
    if not sigmas:
        centre = math.log10(front) if front else 0.0
        return centre - 0.25, centre + 3.0
    first = math.log10(min(sigmas))
    last = math.log10(max([*sigmas, front or 0.0]))
    if front is None:
        ends = [end.holds_to for end in path.ends.values() if math.isfinite(end.holds_to)]
        last = max([last, *(math.log10(end) for end in ends)])
        high = last + max(0.45, 0.22 * (last - first))
    elif share > 0.02:
        high = max(_half_up(first + (last - first) / share), last + 0.25)
    else:
        high = _half_up(last + 2.0)
    if lower_bound is not None and bound_in_place(path, lower_bound):
        return (math.log10(lower_bound) - frozen_share * high) / (1 - frozen_share), high
    return first - max(0.05, 0.05 * (high - first)), high


def _half_up(value: float) -> float:
    return math.ceil(value * 2) / 2


def steps(
    path: BandwidthPath, level: int, values: Sequence[float], axis_end: float, front: float | None = None
) -> tuple[list[float], list[float]]:
    """Return the corners of a level's step line: each value holds until the next bandwidth, the last to its end.

    `values` has one number for each record of the path; `axis_end` is the bandwidth at which the axis ends.
    """
    places = path.at_level(level)
    if not places:
        return [], []
    x = [path.records[i].sigma for i in places]
    y = [values[i] for i in places]
    end = _reach(path, places[-1], axis_end, front)
    return ([*x, end], [*y, y[-1]]) if end > x[-1] else (x, y)


def _reach(path: BandwidthPath, index: int, axis_end: float, front: float | None) -> float:
    """Return how far to the right a record is drawn: to the next one, so that steps and bars touch."""
    holds = path.holds_to(index)
    record = path.records[index]
    if index + 1 < len(path) and path.records[index + 1].level == record.level:
        return path.records[index + 1].sigma
    if holds is not None:
        return min(holds, axis_end)
    growing = front is not None and record.level == path.levels[-1]
    return max(record.sigma, front or 0.0) if growing else record.sigma


def bars(path: BandwidthPath, axis_end: float, front: float | None = None) -> list[Bar]:
    """Return the bars of the stability strip, one lane for each level; records whose end is unknown have none."""
    lanes = {level: lane for lane, level in enumerate(path.levels)}
    drawn = []
    for index, record in enumerate(path.found):
        end = _reach(path, index, axis_end, front)
        if end <= record.sigma:
            continue
        extent = path.extent(index)
        number = path.recurrences[index]
        text = words.at_most(words.factor(extent.to / record.sigma), exact=extent.exact) if extent is not None else ""
        if number is not None:
            text = ", ".join(part for part in (f"recurs {recurrence_name(number)}", text) if part)
        drawn.append(Bar(index, lanes[record.level], record.sigma, end, text, number))
    return drawn


def shown_bar_texts(drawn: Sequence[Bar], low: float, high: float, width: float) -> list[str]:
    """Return what is written in each bar: nothing where the text, or 46 px, do not fit on an axis of `width` px."""
    unit = width / (high - low)
    long = [math.log10(bar.high / bar.low) * unit for bar in drawn]
    return [bar.text if px >= max(46.0, 6.2 * len(bar.text) + 10) else "" for bar, px in zip(drawn, long, strict=True)]


def recurrence_name(number: int) -> str:
    """Return the name of a recurring partition: a, b, …, z, aa, and so on."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def linear_axis(values: Sequence[float], *, limits: tuple[float, float] = (-math.inf, math.inf)) -> LinearAxis:
    """Return range and three to six round ticks that hold every value, with a little room at both ends."""
    low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
    if high - low < 0.02:
        centre = (high + low) / 2
        low, high = min(low, centre - 0.05), max(high, centre + 0.05)
    low, high = max(low, limits[0]), min(high, limits[1])
    step = _round_step((high - low) / 3.5)
    first, last = math.floor(low / step + 0.1), math.ceil(high / step - 0.1)
    ticks = tuple(round(i * step, 10) for i in range(first, last + 1))
    room = 0.025 * (ticks[-1] - ticks[0])
    decimals = max(1, -math.floor(math.log10(step) + 1e-9))
    texts = tuple(words.measure(tick, decimals) for tick in ticks)
    return LinearAxis(min(ticks[0], low) - room, max(ticks[-1], high) + room, ticks, texts)


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.9)


def log_ticks(low: float, high: float, most: int = 12, clear: float = 0.0) -> LogAxis:
    """Return the ticks of a log axis from `low` to `high` (log10): powers of ten, small ticks at 2 to 9.

    Where fewer than two powers of ten fit, 2 and 5 are labelled too, then every digit. At most `most` labels,
    and none within the share `clear` of the right end.
    """
    digits: tuple[int, ...]
    for digits in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        exponents = _tick_exponents(low, high, digits)
        if len(exponents) >= 2:
            break
    every = max(1, math.ceil(len(exponents) / most))
    shown = exponents if digits != (1,) else [e for e in exponents if round(e[0]) % every == 0]
    if digits != (1,) and len(shown) > most:
        shown = shown[:: math.ceil(len(shown) / most)]
    ticks = tuple(digit * 10.0**power for power, digit in shown)
    last = high - clear * (high - low)
    texts = tuple(_tick_text(tick) if math.log10(tick) <= last else "" for tick in ticks)
    fine = tuple(d * 10.0**p for p, d in _tick_exponents(low, high, tuple(range(1, 10)))) if high - low <= 9 else ()
    return LogAxis(low, high, ticks, texts, fine)


def _tick_exponents(low: float, high: float, digits: Sequence[int]) -> list[tuple[int, int]]:
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [(p, d) for p in powers for d in digits if low <= p + math.log10(d) <= high]


def _tick_text(value: float) -> str:
    if 1e-4 < value < 1e7:
        return f"{value:,.0f}" if value >= 1 else f"{value:.10f}".rstrip("0")
    text = words.sigma(value)
    return text.replace("1.00×", "") if text.startswith("1.00×") else text


def letter_places(sigmas: Sequence[float], low: float, high: float, width: float, apart: float = 22.0) -> list[float]:
    """Return where each letter stands (log10): above its bandwidth, pushed aside where letters would overlap.

    `width` is the axis in px and `apart` the smallest distance between letters, in px. Order is kept.
    """
    unit = (high - low) / width
    order = sorted(range(len(sigmas)), key=lambda i: sigmas[i])
    wanted = [math.log10(sigmas[i]) for i in order]
    groups: list[list[float]] = []  # [sum of (wanted - offset), members]
    for place in wanted:
        groups.append([place, 1])
        while len(groups) > 1 and _left(groups[-1], apart * unit) < _right(groups[-2], apart * unit) + apart * unit:
            last = groups.pop()
            before = groups[-1]
            total = before[1] + last[1]
            before[0] = (before[0] * before[1] + last[0] * last[1]) / total
            before[1] = total
    placed: list[float] = []
    for centre, members in groups:
        placed.extend(centre + (j - (members - 1) / 2) * apart * unit for j in range(int(members)))
    result = [0.0] * len(sigmas)
    for place, i in zip(placed, order, strict=True):
        result[i] = place
    return result


def _left(group: list[float], step: float) -> float:
    return group[0] - (group[1] - 1) / 2 * step


def _right(group: list[float], step: float) -> float:
    return group[0] + (group[1] - 1) / 2 * step


def hover_texts(path: BandwidthPath, symbol: str = "σ") -> list[str]:
    """Return for each record what its marks say when pointed at."""
    several = len(path.levels) > 1
    texts = []
    for index, record in enumerate(path.records):
        extent = path.extent(index)
        until = "" if extent is None else f", {words.lasting(extent.to, exact=extent.exact, symbol=symbol)}"
        lines = [f"<span style='font-weight:500'>{words.bandwidth(record.sigma, symbol)}</span>{until}"]
        agreement = f"NMI {words.measure(record.nmi)}, " if record.nmi is not None else ""
        lines.append(f"{agreement}c-NNC {words.cost(record.cnnc, record.cnnc_error)}")
        if record.level == BESIDE:
            texts.append("<br>".join([*lines, f"not on the path: {words.origin(record.sigma)}"]))
            continue
        first = index == path.at_level(record.level)[0] if len(record.moved) == 0 else False
        lines.append("first value" if first else f"{words.plural(len(record.moved), 'point')} moved")
        if several:
            lines[-1] += f", level {record.level}"
        texts.append("<br>".join(lines))
    return texts
