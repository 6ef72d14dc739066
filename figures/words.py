"""Numbers as people read them: bandwidths, measures, factors and counts, with true minus, thousands commas and units.

Entry points: `sigma` (prose and headings), `bandwidth` (with its name), `sigma_exact` (tables), `measure`, `share`,
`percent`, `value`, `factor`, `at_most`, `lasting`, `origin`, `count`, `plural`, `clip`, `duration`; and
`SCALINGS`, the names of what is done to columns.
"""

from __future__ import annotations

import math

INFINITY = "∞"
SCALINGS = {"none": "not scaled", "unit": "unit variance", "robust": "robust scaling"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def sigma(value: float) -> str:
    """Return a bandwidth to three figures ("90.8"), whole from 100 up ("2,378")."""
    if math.isinf(value):
        return INFINITY
    if value <= 0 or 0.001 <= value < 1e7:
        return _minus(f"{value:,.0f}" if value >= 99.95 else _significant(value, 3))
    return scientific(value, 3)


def bandwidth(value: float, symbol: str = "σ") -> str:
    """Return a bandwidth with its name ("σ = 90.8", "σ → ∞")."""
    return f"{symbol} → {INFINITY}" if math.isinf(value) else f"{symbol} = {sigma(value)}"


def sigma_exact(value: float) -> str:
    """Return a bandwidth to two decimals ("2,377.61"); small ones keep three figures."""
    if math.isinf(value):
        return INFINITY
    if 1 <= value < 1e9:
        return f"{value:,.2f}"
    return sigma(value)


def sigma_bound(value: float) -> str:
    """Return a bandwidth to two figures ("0.0016"), for a bound that is only named."""
    return scientific(value, 2) if value < 1e-4 else _significant(value, 2)


def measure(value: float, decimals: int = 3) -> str:
    """Return a measure such as NMI or c-NNC."""
    return _minus(f"{value:.{decimals}f}")


def cost(value: float, error: float) -> str:
    """Return c-NNC, with its standard error where it is an estimate."""
    if error <= 0.0:
        return measure(value)
    return f"{measure(value)} ± {measure(error) if error >= 0.0005 else _significant(error, 1)}"


def share(value: float) -> str:
    """Return a number from 0 to 1 to three figures ("0.820", "0.00375", "2.1×10⁻⁹")."""
    if value == 0 or value >= 0.0001:
        return _significant(value, 3) if 0 < value < 0.1 else measure(value)
    return scientific(value, 2)


def percent(part: float) -> str:
    """Return a share in per cent ("19%", "0.4%")."""
    return f"{100 * part:.1f}%" if 0 < part < 0.0095 else f"{100 * part:.0f}%"


def value(number: float) -> str:
    """Return a number of any size to four figures ("12.34", "−0.005821", "1.23×10⁹")."""
    size = abs(number)
    if size and not 1e-4 <= size < 1e7:
        return scientific(number, 3)
    return _minus(_significant(number, 4))


def factor(value: float) -> str:
    """Return a factor ("4.9×", "12×", "to ∞")."""
    if math.isinf(value):
        return f"to {INFINITY}"
    if value >= 1e5:
        return f"{scientific(value, 1)} ×"
    return f"{value:,.0f}×" if value >= 9.95 else f"{value:.1f}×"


def at_most(text: str, *, exact: bool) -> str:
    """Return the text of a number, marked where the number is only a bound ("≤ 28.56")."""
    return text if exact else f"≤ {text}"


def lasting(to: float, *, exact: bool, symbol: str = "σ") -> str:
    """Return how far a partition is there, in words."""
    if math.isinf(to):
        return f"holds for every larger {symbol}"
    return f"{'holds to' if exact else 'changes by'} {bandwidth(to, symbol)}"


def origin(sigma: float) -> str:
    """Return where a recommended clustering comes from that the path does not have."""
    return "best of 10 k-means starts" if math.isinf(sigma) else "from a spectral start"


def count(value: int) -> str:
    """Return a whole number with thousands commas."""
    return _minus(f"{value:,d}")


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return the number and its noun ("1 point", "43 points")."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def clip(text: str, longest: int) -> str:
    """Return the text cut to `longest` characters, an ellipsis in place of the rest."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    """Return a time as people say it ("9 s", "2 min 5 s", "1 h 4 min")."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _significant(value: float, figures: int) -> str:
    if value == 0:
        return "0"
    decimals = max(0, figures - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def scientific(value: float, figures: int) -> str:
    """Return a number as a multiple of a power of ten ("2.1×10⁻⁹")."""
    mantissa, exponent = f"{value:.{figures - 1}e}".split("e")
    return _minus(mantissa) + "×10" + str(int(exponent)).translate(_SUPERSCRIPTS)


def _minus(text: str) -> str:
    return text.replace("-", "−")
