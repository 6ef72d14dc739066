"""Numbers as people read them, and colours."""

from __future__ import annotations

import math

import pytest

from figures import words
from figures.theme import cluster_colour, cluster_symbol, palette, text_on


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (90.8, "90.8"),
        (121.29, "121"),
        (2377.61, "2,378"),
        (6.257, "6.26"),
        (99.96, "100"),
        (0.00161, "0.00161"),
        (1.2345e-9, "1.23×10⁻⁹"),
        (1e150, "1.00×10¹⁵⁰"),
        (math.inf, "∞"),
    ],
)
def test_sigma_has_three_figures(value: float, text: str) -> None:
    assert words.sigma(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2377.614, "2,377.61"), (30.08, "30.08"), (0.0513, "0.0513"), (math.inf, "∞")]
)
def test_tables_have_two_decimals(value: float, text: str) -> None:
    assert words.sigma_exact(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4.91, "4.9×"), (12.3, "12×"), (9.96, "10×"), (math.inf, "to ∞"), (3e7, "3×10⁷ ×")]
)
def test_factors(value: float, text: str) -> None:
    assert words.factor(value) == text


def test_bound_measures_counts_and_times() -> None:
    assert words.sigma_bound(0.001609) == "0.0016"
    assert words.sigma_bound(1.29e-6) == "1.3×10⁻⁶"
    assert words.measure(-0.0512) == "−0.051"
    assert [words.cost(0.25, error) for error in (0.0, 0.0123, 0.00042)] == ["0.250", "0.250 ± 0.012", "0.250 ± 0.0004"]
    assert words.plural(1, "point") == "1 point"
    assert words.plural(1043, "point") == "1,043 points"
    assert words.plural(2, "search", "searches") == "2 searches"
    assert words.duration(9.9) == "9 s"
    assert words.duration(125) == "2 min 5 s"
    assert words.duration(3840) == "1 h 4 min"
    assert words.clip("abcdef", 4) == "abc…"
    assert words.clip("abc", 4) == "abc"


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        linear = [
            (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4) for c in bytes.fromhex(colour[1:])
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_reaches_the_contrast_asked_for(scheme: str) -> None:
    colours = palette(scheme)  # type: ignore[arg-type]
    for text in (colours.ink, colours.second, colours.muted, colours.accent):
        assert _contrast(text, colours.page) >= 4.5
    for fill in (*colours.clusters, colours.accent, colours.filled, colours.second):
        assert _contrast(text_on(fill), fill) >= 4.5
    for bar in colours.bars:
        assert _contrast(colours.bar_text, bar) >= 4.5
    assert _contrast(colours.muted, colours.column) >= 4.5


def test_colours_repeat_with_another_marker() -> None:
    looks = {(cluster_colour(i, "light"), cluster_symbol(i)) for i in range(64)}
    assert len(looks) == 64
    assert cluster_colour(0, "light") == cluster_colour(8, "light")
    assert cluster_symbol(0) == cluster_symbol(7) == "circle"
    assert cluster_symbol(8) == "square"
