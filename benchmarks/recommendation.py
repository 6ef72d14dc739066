"""Clusterings without labels: the recommended one beside what a person could run instead, the number of clusters given.

Entry point: `MEASUREMENTS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering

from benchmarks import rulers
from benchmarks.cases import Floats, Labelled, Labels, load_labelled
from benchmarks.measurement import Measurement, Row, Settings
from benchmarks.timing import Spread
from offgrid import recommend_partition
from offgrid.metrics import normalized_mutual_information

# The paper's thirteen data sets; of them the package has its own where the paper's data are absent.
SETS = (
    "aggregation", "compound", "d31", "flame", "jain", "pathbased", "r15", "spiral",
    "audit", "dermatology", "wdbc", "wifi", "wine",
)  # fmt: skip
# Data sets with more rows are clustered once, unless all is asked for.
_MANY = 1000
_FULL_ROUNDS = 10


def _ours(X: Floats, k: int, seed: int) -> Labels:
    return recommend_partition(X, k, random_state=seed).labels


def _kmeans(X: Floats, k: int, seed: int) -> Labels:
    return KMeans(k, n_init=10, random_state=seed).fit(X).labels_


def _spectral_neighbours(X: Floats, k: int, seed: int) -> Labels:
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit(X).labels_


def _spectral_rbf(X: Floats, k: int, seed: int) -> Labels:
    return SpectralClustering(k, gamma=1.0, random_state=seed).fit(X).labels_


def _self_tuning(X: Floats, k: int, seed: int) -> Labels:
    rows = rulers.leading_vectors(rulers.locally_scaled(rulers.squared_distances(X)), k)
    return KMeans(k, n_init=10, random_state=seed).fit(rows).labels_


def _hdbscan(X: Floats, _k: int, _seed: int) -> Labels:
    return HDBSCAN(copy=True).fit(X).labels_


OURS = "this package"
METHODS: dict[str, Callable[[Floats, int, int], Labels]] = {
    OURS: _ours,
    "k-means": _kmeans,
    "spectral, nearest neighbours": _spectral_neighbours,
    "spectral, gamma = 1": _spectral_rbf,
    "self-tuning spectral": _self_tuning,
    "HDBSCAN": _hdbscan,
}


@dataclass
class _Scores:
    """NMI and seconds of one method, a list of runs for each data set."""

    nmi: list[list[float]] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)

    def add(self, case: Labelled, method: Callable[[Floats, int, int], Labels], seeds: int) -> None:
        """Cluster one data set with each seed."""
        self.nmi.append([])
        self.seconds.append([])
        for seed in range(seeds):
            begin = time.perf_counter()
            labels = method(case.X, case.k, seed)
            self.seconds[-1].append(time.perf_counter() - begin)
            self.nmi[-1].append(normalized_mutual_information(case.y, labels))

    def mean(self) -> float:
        """Return the mean NMI over data sets, of each the mean over seeds."""
        return float(np.mean([np.mean(runs) for runs in self.nmi]))

    def total(self) -> float:
        """Return the sum over data sets of the median seconds."""
        return float(sum(np.median(runs) for runs in self.seconds))


def recommendation(settings: Settings) -> Iterator[Row]:
    """Compare agreement with the labels, which no method sees, and seconds."""
    import warnings

    scores = {name: _Scores() for name in METHODS}
    cases = [case for name in SETS if (case := load_labelled(name, settings.data)) is not None]
    # warm up: compiling, and loading the linear algebra
    _ours(cases[0].X[:50], 2, 0)
    for case in cases:
        seeds = _FULL_ROUNDS if settings.full else settings.rounds if case.n <= _MANY else 1
        settings.progress(f"{case.name}: {seeds} seeds, {len(METHODS)} methods")
        with warnings.catch_warnings():
            # scikit-learn warns of graphs in several pieces, which is what data in clusters have
            warnings.simplefilter("ignore")
            for name, method in METHODS.items():
                scores[name].add(case, method, seeds)
        others = ", ".join(f"{name} {np.mean(scores[name].nmi[-1]):.3f}" for name in METHODS if name != OURS)
        yield Row(
            f"{case.name}, n = {case.n:,}, k = {case.k}",
            Spread.of(scores[OURS].nmi[-1]),
            unit="NMI",
            note=f"{others}.",
            details={
                "source": case.source,
                "nmi": {name: found.nmi[-1] for name, found in scores.items()},
                "seconds": {name: found.seconds[-1] for name, found in scores.items()},
            },
        )
    ours = scores[OURS]
    for name, found in scores.items():
        if name == OURS:
            continue
        below = max(np.mean(theirs) - np.mean(mine) for mine, theirs in zip(ours.nmi, found.nmi, strict=True))
        yield Row(
            f"all {len(cases)} data sets",
            Spread.of([ours.total()]),
            Spread.of([found.total()]),
            against=name,
            note=f"mean NMI: ours {ours.mean():.3f}, {name} {found.mean():.3f}; ours is never lower by more than "
            f"{max(below, 0.0):.3f}.",
            details={"nmi": ours.mean(), "their_nmi": found.mean(), "largest_deficit": float(below)},
        )


MEASUREMENTS = (
    Measurement(
        "recommendation",
        "The recommended clustering, beside scikit-learn's methods and self-tuning spectral clustering",
        "Each method gets the points and, but for HDBSCAN, the number of clusters, and nothing else. NMI tells how "
        "well the clustering agrees with the labels, 1 at best. Data sets of more than a thousand rows are clustered "
        "with one seed, with --full all with ten. Seconds are those of all data sets, one run each.",
        recommendation,
    ),
)
