"""Which bandwidth on a path to recommend, and why.

Entry points: `recommend`, and `recommended_index`, which knows of what stands beside the path too. Later criteria
belong here; each gives an index into the path and a reason in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offgrid.path import BandwidthPath, PathRecord


@dataclass(frozen=True)
class Recommendation:
    """The recommended record and the reason, as a clause that completes "Recommended sigma = ..., because ..."."""

    index: int
    reason: str


def recommend(records: Sequence[PathRecord]) -> Recommendation | None:
    """Recommend the record of lowest c-NNC (paper, section 7); among equals the smallest bandwidth of the first level.

    Returns None for an empty path.
    """
    if not records:
        return None
    index = min(range(len(records)), key=lambda i: (records[i].cnnc, i))
    best = records[index]
    cost = f"{best.cnnc:.3f}"
    if best.cnnc_error > 0.0:
        cost += f" ± {best.cnnc_error:.1g}, estimated from a sample of rows"
    return Recommendation(index, f"its clustering has the lowest c-NNC on the path, {cost}")


def recommended_index(path: BandwidthPath) -> int | None:
    """Return the index of the recommended record: what stands beside the path, else the one of lowest c-NNC."""
    if len(path) > path.n_found:
        return len(path) - 1
    best = recommend(path.found)
    return None if best is None else best.index
