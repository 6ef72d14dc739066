"""Values computed independently, by brute force, on the paper's data."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import reference

from offgrid import critical_bandwidth
from offgrid.metrics import nearest_neighbour_cost, normalized_mutual_information


@cache
def table(folder: Any, name: str) -> tuple[reference.Floats, reference.Labels]:
    values = np.loadtxt(folder / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return values[:, :-1], values[:, -1].astype(int)


def oracle(folder: Any, name: str) -> list[dict[str, Any]]:
    return json.loads((folder / "oracle" / f"{name}.json").read_text())


def digits(text: str) -> reference.Labels:
    return np.array([int(digit, 36) for digit in text])


def problem(folder: Any, case: dict[str, Any]) -> tuple[reference.Floats, reference.Labels]:
    X, _ = table(folder, case["dataset"])
    return (X / X.std(axis=0) if case["scaled"] else X), digits(case["labels"])


def solve(folder: Any, case: dict[str, Any], **options: Any):
    X, labels = problem(folder, case)
    return critical_bandwidth(X, labels, case["sigma"], n_clusters=case["k"], **options)


@pytest.mark.parametrize("index", range(40))
def test_certified_brackets_every_critical_value(shared, index):
    cases = oracle(shared, "critical_values")
    assert len(cases) == 40
    case = cases[index]
    found = solve(shared, case)
    assert found.below <= case["critical_above"]
    assert found.sigma >= case["critical_below"]
    assert found.sigma / found.below - 1 <= 2.0**-20
    assert set(case["moved"]) <= set(found.moved.tolist())


def test_every_dyadic_exponent(shared):
    cases = {(case["dataset"], case["seed"], case["step"]): case for case in oracle(shared, "critical_values")}
    expected = oracle(shared, "dyadic")
    assert len(expected) == 200
    for row in expected:
        case = cases[row["dataset"], row["seed"], row["step"]]
        found = solve(shared, case, method="dyadic", depth=row["depth"])
        assert (found.numerator, found.denominator, found.changed) == (
            row["numerator"],
            row["denominator"],
            row["changed"],
        )
        assert found.sigma == pytest.approx(case["sigma"] * row["denominator"] / row["numerator"], rel=1e-14)


@pytest.mark.parametrize("limiting", ["close", "movers"])
def test_limited_checks_find_the_same_exponents(shared, limiting):
    for case in oracle(shared, "critical_values")[::4]:
        full = solve(shared, case, method="dyadic", depth=7)
        limited = solve(shared, case, method="dyadic", depth=7, limiting=limiting)
        assert limited.sigma <= full.sigma * (1 + 2.0**-6)
        assert limited.checked < 1.0


def test_every_measure(shared):
    rows = oracle(shared, "metrics")
    assert len(rows) == 23
    cases = {(case["dataset"], case["seed"], case["step"]): case for case in oracle(shared, "critical_values")}
    for row in rows:
        if "labels" in row:
            X, y = table(shared, row["dataset"])
            labels, k = digits(row["labels"]), 3
        else:
            case = cases[row["dataset"], row["seed"], row["step"]]
            X, labels = problem(shared, case)
            y, k = table(shared, row["dataset"])[1], case["k"]
        assert nearest_neighbour_cost(X, labels, k) == pytest.approx(row["cnnc"], abs=1e-12)
        assert normalized_mutual_information(y, labels) == pytest.approx(row["nmi"], abs=1e-12)


@pytest.mark.parametrize(("method", "rel", "absolute"), [("newton", 1e-6, 0.0), ("bisection", 0.0, 1.001e-3)])
def test_the_methods_to_compare_with_come_near_or_step_over(shared, method, rel, absolute):
    cases = oracle(shared, "critical_values")[::2]
    near = 0
    for case in cases:
        X, labels = problem(shared, case)
        found = solve(shared, case, method=method)
        assert found.sigma >= case["critical_below"]
        assert reference.moves(X, labels, case["k"], found.sigma)
        near += found.sigma == pytest.approx(case["critical_above"], rel=rel, abs=absolute)
    assert near >= 0.8 * len(cases)
