"""Why a clustering is recommended, in sentences for people.

Entry points: `reasons`, and `headline`, the shortest of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offgrid.recommendation import RecommendedPartition


def reasons(found: RecommendedPartition) -> tuple[str, ...]:
    """Return the reasons for a recommendation, and the runner-up, one sentence each."""
    sentences = [_sample(found)] if len(found.rows) < len(found.labels) else []
    if found.n_tried == 0:
        what = "With one cluster" if found.cost == 0.0 else "Where all rows are equal"
        return (*sentences, f"{what} there is nothing to choose: every bandwidth gives the same.")
    sentences.append(_cost(found))
    if len(found.candidates) == 1:
        return (*sentences, _left_out(found))
    sentences.append(_rank(found))
    if not math.isinf(found.sigma):
        sentences.append(
            f"Ordinary k-means, which needs no bandwidth, has {_percent(found.kmeans.cost)}: more by "
            f"{found.excess_of_kmeans:.1f} standard errors, one of which may be chance."
        )
    sentences += [_range(found), _runner_up(found)]
    if len(found.candidates) <= found.n_tried:
        sentences.append(_left_out(found))
    return tuple(sentences)


def headline(found: RecommendedPartition) -> str:
    """Return the reason for a recommendation as a clause, what follows "because"."""
    if found.n_tried == 0:
        return "there is nothing to choose"
    share = _percent(found.cost)
    if math.isinf(found.sigma):
        clearly = "" if found.n_partitions == 1 else " clearly"
        return f"no bandwidth keeps near neighbours together{clearly} better: {share} of them lie in another cluster"
    return (
        f"its clustering keeps near neighbours together best: {share} of them lie in another cluster, "
        f"{_percent(found.kmeans.cost)} with k-means"
    )


def _sample(found: RecommendedPartition) -> str:
    return (
        f"This was worked out on a random sample of {len(found.rows):,} of the {len(found.labels):,} rows; every other "
        "row joins the cluster of the nearest one in the sample."
    )


def _cost(found: RecommendedPartition) -> str:
    if math.isinf(found.sigma):
        what = "Ordinary k-means, which needs no bandwidth,"
    else:
        what = f"The clustering at σ = {found.sigma:.4g}"
    counted = (
        "the nearest neighbour of a row lies in another cluster for"
        if found.n_neighbours == 1
        else f"of a row's {found.n_neighbours} nearest neighbours, the nearest counting most,"
    )
    tail = "of the rows" if found.n_neighbours == 1 else "lie in another cluster"
    return (
        f"{what} keeps near neighbours together: {counted} {_percent(found.cost)} {tail}, taken as the mean over "
        "clusters."
    )


def _rank(found: RecommendedPartition) -> str:
    if found.n_partitions == 1:
        return "The same clustering was found at every bandwidth."
    among = f"of the {found.n_partitions} different clusterings found"
    lowest = found.lowest
    if lowest.cost >= found.cost:
        return f"That is the lowest share {among}."
    return (
        f"The lowest share {among}, {_percent(lowest.cost)} at σ = {lowest.sigma:.4g}, is less by only "
        f"{found.excess_of_kmeans:.1f} standard errors, and one may be chance: no bandwidth does clearly better."
    )


def _range(found: RecommendedPartition) -> str:
    if found.n_seen == 1:
        return "No neighbouring bandwidth gives a clustering that is the same for 90% of the rows."
    upper = "ordinary k-means (σ = ∞)" if math.isinf(found.seen_to) else f"σ = {found.seen_to:.4g}"
    return (
        f"It is the same for at least 90% of the rows from σ = {found.seen_from:.4g} to {upper}: {found.n_seen} of "
        f"the {len(found.candidates)} values tried."
    )


def _runner_up(found: RecommendedPartition) -> str:
    second = found.runner_up
    if second is None:
        return "There is no runner-up: no value gives a clustering that differs in more than 10% of the rows."
    sigma = second.candidate.sigma
    what = "ordinary k-means" if math.isinf(sigma) else f"σ = {sigma:.4g}"
    share = len(second.differs) / len(found.labels)
    excess = f"{abs(second.excess):.1f} standard errors {'more' if second.excess >= 0 else 'less'}"
    return (
        f"Runner-up: {what}, with {_percent(second.candidate.cost)} ({excess}); it places {len(second.differs):,} rows "
        f"({_percent(share)}) in other clusters."
    )


def _left_out(found: RecommendedPartition) -> str:
    missing = found.n_tried + 1 - len(found.candidates)
    which = "all" if missing == found.n_tried else f"{missing}"
    return (
        f"At {which} of the {found.n_tried} bandwidths tried, the smallest first, rows are joined to so few others "
        "that the data fall into more pieces than clusters: which belong together can't be told there."
    )


def _percent(share: float) -> str:
    value = 100.0 * share
    return f"{value:.0f}%" if value >= 10.0 or value == 0.0 else f"{value:.2g}%"
