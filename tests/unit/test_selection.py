"""What is recommended."""

from __future__ import annotations

import numpy as np

from offgrid import PathRecord
from offgrid.selection import recommend


def record(cnnc, sigma=1.0, level=1, nmi=None):
    return PathRecord(sigma, sigma, sigma, np.zeros(2, np.int32), np.empty(0, np.int64), cnnc, nmi, level=level)


def test_the_lowest_cost_is_recommended_and_the_reason_says_so():
    recommended = recommend([record(0.4), record(0.21212), record(0.3)])
    assert recommended.index == 1
    assert recommended.reason == "its clustering has the lowest c-NNC on the path, 0.212"


def test_the_first_of_equals_is_recommended():
    assert recommend([record(0.4), record(0.2, 3.0), record(0.2, 5.0), record(0.2, 2.0, level=2)]).index == 1


def test_agreement_with_labels_has_no_say():
    assert recommend([record(0.4, nmi=1.0), record(0.3, nmi=0.0)]).index == 1


def test_nothing_is_recommended_on_an_empty_path():
    assert recommend([]) is None
