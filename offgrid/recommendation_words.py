"""Why a clustering is recommended, in sentences for people who are no statisticians.

Entry points: `headline` (the reason as a clause), `verdict` (how sure it is, in brief), `reasons` (all of it) and
`percent`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offgrid.recommendation import CandidatePartition, RecommendedPartition

# Ordinary k-means is kept unless a bandwidth does better by more than CHANCE standard errors: the "one standard error
# rule" (Breiman et al. 1984), which takes the simplest of the models that can't be told from the best one. From CLEAR
# on a difference is called clear: one as large is chance about once in twenty times.
CHANCE, CLEAR = 1.0, 2.0


def headline(found: RecommendedPartition) -> str:
    """Return the reason for a recommendation as a clause, what follows "because"."""
    if found.n_tried == 0:
        return "there is nothing to choose"
    share = percent(found.cost)
    if not math.isinf(found.sigma):
        return f"it separates the fewest near neighbours: {share} of them, k-means {percent(found.kmeans.cost)}"
    if found.n_partitions == 1:
        return f"every bandwidth gives its clustering, which separates {share} of near neighbours"
    if found.lowest.cost >= found.cost:
        return f"no bandwidth separates fewer near neighbours than its {share}"
    return f"no bandwidth separates clearly fewer near neighbours than its {share}"


def verdict(found: RecommendedPartition) -> tuple[str, ...]:
    """Return how clear the choice is, what it is tied with, and over which bandwidths it is the same."""
    if found.n_tried == 0 or found.n_partitions == 1:
        return ()
    return tuple(sentence for sentence in (_clearness(found), _tie(found), _steadiness(found)) if sentence)


def reasons(found: RecommendedPartition) -> tuple[str, ...]:
    """Return the reasons for a recommendation, and the runner-up, one sentence or two each."""
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
            f"Ordinary k-means, which needs no bandwidth, separates {percent(found.kmeans.cost)}. "
            f"{_difference(found.excess_of_kmeans)}; up to {CHANCE:g} we would call it chance and keep k-means."
        )
    sentences += [_range(found), _runner_up(found)]
    if len(found.candidates) <= found.n_tried:
        sentences.append(_left_out(found))
    return tuple(sentences)


# How sure ------------------------------------------------------------------------------------------------------------


def _clearness(found: RecommendedPartition) -> str:
    times = f"{found.excess_of_kmeans:.1f} times its standard error"
    if not math.isinf(found.sigma):
        how = "clear" if found.excess_of_kmeans >= CLEAR else "slight"
        return f"The difference is {how}: {times}; at {CHANCE:g} or less, k-means would be kept."
    lowest = found.lowest
    if lowest.cost >= found.cost:
        return ""
    return (
        f"{_name(lowest)} separates {percent(lowest.cost)}, a difference of {times}: up to {CHANCE:g} counts as "
        "chance, and k-means is kept."
    )


def _tie(found: RecommendedPartition) -> str:
    second = found.runner_up
    if second is None or abs(second.excess) > CHANCE:
        return ""
    told = math.isinf(found.sigma) and second.candidate is found.lowest
    share = percent(len(second.differs) / len(found.labels))
    who = "That clustering" if told else f"It is tied with {_name(second.candidate)}, which"
    return f"{who} places {share} of the rows elsewhere."


def _steadiness(found: RecommendedPartition) -> str:
    if found.n_seen == 1:
        return "The next values of σ give other clusterings."
    if found.n_seen == len(found.candidates):
        return "Every value of σ tried gives much the same clustering."
    upper = "on" if math.isinf(found.seen_to) else f"to {_sigma(found.seen_to)}"
    return f"From σ = {_sigma(found.seen_from)} {upper} the clustering is much the same."


# All of it -----------------------------------------------------------------------------------------------------------


def _sample(found: RecommendedPartition) -> str:
    return (
        f"This was worked out on a random sample of {len(found.rows):,} of the {len(found.labels):,} rows; every other "
        "row joins the cluster of the nearest one in the sample."
    )


def _cost(found: RecommendedPartition) -> str:
    if math.isinf(found.sigma):
        what = "Ordinary k-means, which needs no bandwidth,"
    else:
        what = f"The clustering at σ = {_sigma(found.sigma)}"
    share = percent(found.cost)
    if found.n_neighbours == 1:
        return f"{what} separates {share} of the rows from the row most like them, on average over clusters."
    return (
        f"{what} separates {share} of near neighbours: of the {found.n_neighbours} rows most like a row, the nearest "
        "counting most, that share lies in another cluster, on average over clusters."
    )


def _rank(found: RecommendedPartition) -> str:
    if found.n_partitions == 1:
        return "The same clustering was found at every bandwidth."
    among = f"of the {found.n_partitions} different clusterings found"
    lowest = found.lowest
    if lowest.cost >= found.cost:
        return f"That is the lowest share {among}."
    return (
        f"The lowest share {among} is {percent(lowest.cost)}, at {_name(lowest)}. "
        f"{_difference(found.excess_of_kmeans)}; up to {CHANCE:g} we call it chance and keep k-means."
    )


def _range(found: RecommendedPartition) -> str:
    if found.n_seen == 1:
        return "No neighbouring bandwidth gives a clustering that is the same for 90% of the rows."
    upper = "ordinary k-means (σ = ∞)" if math.isinf(found.seen_to) else f"σ = {_sigma(found.seen_to)}"
    tried = len(found.candidates)
    which = f"all {tried} values" if found.n_seen == tried else f"{found.n_seen} of the {tried} values"
    return f"It is the same for at least 90% of the rows from σ = {_sigma(found.seen_from)} to {upper}: {which} tried."


def _runner_up(found: RecommendedPartition) -> str:
    second = found.runner_up
    if second is None:
        return "There is no runner-up: no value gives a clustering that differs in more than 10% of the rows."
    share = percent(len(second.differs) / len(found.labels))
    moved = f"places {len(second.differs):,} rows ({share}) in other clusters"
    if second.candidate is found.kmeans:  # its share has been told
        return f"Runner-up: ordinary k-means, which {moved}."
    tied = " That is a tie." if abs(second.excess) <= CHANCE else ""
    return (
        f"Runner-up: {_name(second.candidate)}, which separates {percent(second.candidate.cost)} and {moved}. "
        f"{_difference(second.excess)}.{tied}"
    )


def _left_out(found: RecommendedPartition) -> str:
    missing = found.n_tried + 1 - len(found.candidates)
    which = "all" if missing == found.n_tried else f"{missing}"
    return (
        f"At {which} of the {found.n_tried} bandwidths tried, the smallest first, rows are joined to so few others "
        "that the data fall into more pieces than clusters: which belong together can't be told there."
    )


def _difference(excess: float) -> str:
    return f"The difference is {abs(excess):.1f} times its standard error"


def _name(candidate: CandidatePartition) -> str:
    return "ordinary k-means" if math.isinf(candidate.sigma) else f"σ = {_sigma(candidate.sigma)}"


def _sigma(value: float) -> str:
    return f"{value:,.0f}" if 99.95 <= value < 1e7 else f"{value:#.3g}"


def percent(share: float) -> str:
    """Return a share of near neighbours in per cent ("2.9%", "12%")."""
    value = 100.0 * share
    return f"{value:.0f}%" if value >= 9.95 or value == 0.0 else f"{value:#.2g}%"
