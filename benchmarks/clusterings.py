"""One clustering: its c-NNC, and kernel k-means and spectral clustering at one bandwidth, beside other packages.

Entry point: `MEASUREMENTS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import rulers
from benchmarks.cases import Floats, Labels, load_case, mnist, random_start, states
from benchmarks.measurement import SEED, Measurement, Row, Settings
from benchmarks.peers.installation import PeerUnavailable, run_peer
from benchmarks.timing import Spread, alternate, seconds
from offgrid import BandwidthSearch, KernelKMeans
from offgrid.metrics import adjusted_rand_index, neighbour_ranks

_DIGITS, _CLUSTERS = 2000, 10


def costs(settings: Settings) -> Iterator[Row]:
    """Compare c-NNC of one partition with sorting and cumulating."""
    case = load_case("d31", settings.data)
    settings.progress(f"{case}: {settings.rounds} rounds")
    labels = states(case, 3)[1].labels
    squares = rulers.squared_distances(case.X)
    order = rulers.neighbour_order(squares)
    ranks = neighbour_ranks(case.X)

    def ready() -> float:
        return ranks.cost(labels, case.k).value

    def cumulated() -> float:
        return rulers.nearest_neighbour_cost(order, labels, case.k)

    def sorted_anew() -> float:
        return rulers.nearest_neighbour_cost(rulers.neighbour_order(squares), labels, case.k)

    apart = abs(ready() - cumulated())
    ours, theirs = alternate(ready, cumulated, 4 * settings.rounds)
    label = f"{case}, n = {case.n:,}, k = {case.k}"
    yield Row(
        f"{label}, neighbours ranked or sorted before", Spread.of(ours), Spread.of(theirs),
        against="NumPy: compare, cumulate, weigh", details={"values_apart": apart, "source": case.source},
    )  # fmt: skip
    ours, theirs = alternate(ready, sorted_anew, settings.rounds)
    yield Row(
        f"{label}, NumPy sorts neighbours each time", Spread.of(ours), Spread.of(theirs),
        against="NumPy: sort ready distances, then the same", target=100.0,
    )  # fmt: skip
    ours, theirs = alternate(lambda: neighbour_ranks(case.X), lambda: rulers.neighbour_order(squares), settings.rounds)
    yield Row(
        f"{label}, ranking neighbours, once for a data set", Spread.of(ours), Spread.of(theirs),
        against="NumPy: sort ready distances",
    )  # fmt: skip


def _digits(settings: Settings) -> tuple[Floats, float] | None:
    """Return the digits and a bandwidth for them, the median of squared distances."""
    X = mnist(settings.data, _DIGITS)
    if X is None:
        return None
    return X, float(np.median(rulers.squared_distances(X)[np.triu_indices(len(X), 1)]))


_DIGITS_LABEL = f"MNIST, {_DIGITS:,} × 784, k = {_CLUSTERS}"
_NO_DIGITS = Row(_DIGITS_LABEL, skipped="there is no mnist_8k.npz here: name its folder with --data")


def kernel_kmeans(settings: Settings) -> Iterator[Row]:
    """Compare kernel k-means at one bandwidth with NumPy and with other packages."""
    ready = _digits(settings)
    if ready is None:
        yield _NO_DIGITS
        return
    X, sigma = ready
    start = random_start(len(X), _CLUSTERS)

    def fit() -> KernelKMeans:
        return KernelKMeans(_CLUSTERS, sigma=sigma, init=start).fit(X)

    def plain() -> tuple[Labels, int]:
        return rulers.kernel_kmeans(rulers.kernel(rulers.squared_distances(X), sigma), start, _CLUSTERS)

    settings.progress(f"MNIST: ours and NumPy's, {settings.rounds} rounds")
    model, (labels, moving) = fit(), plain()
    ours, theirs = alternate(fit, plain, settings.rounds)
    mine = Spread.of(ours)
    iterations = model.n_iter_
    yield _beside(mine, iterations, Spread.of(theirs), moving, "NumPy kernel k-means", labels, model.labels_)
    for name, remark in (
        (
            "tslearn",
            "It leaves the norms of centroids out, so it may end elsewhere, and stops once its cost stays within 1e-6.",
        ),
        ("python-kkmeans", "With a kernel function of ours: its own would need 25 GB here."),
    ):
        settings.progress(f"MNIST: {name}")
        try:
            report = run_peer(
                name, settings.peers, X, k=_CLUSTERS, sigma=sigma, seed=SEED, rounds=settings.rounds
            )  # fmt: skip
        except PeerUnavailable as reason:
            yield Row(f"{_DIGITS_LABEL}, beside {name}", skipped=f"{reason}.")
            continue
        same = np.array_equal(report["labels"], model.labels_)
        # it does not count its iterations; where it ends with our labels it has taken our steps
        count = report["iterations"] or (iterations if same else None)
        found = np.array(report["labels"])
        yield _beside(
            mine, iterations, Spread.of(report["seconds"]), count, name, found, model.labels_, remark,
            requirements=report["requirements"],
        )  # fmt: skip


def _beside(
    ours: Spread, iterations: int, theirs: Spread, count: int | None, name: str, labels: Labels, mine: Labels,
    remark: str = "", **details: Any,
) -> Row:  # fmt: skip
    """Return the row for one other implementation, with what an iteration takes, the kernel matrix counted in."""
    per_iteration = None if count is None else theirs.median / count
    told = (
        "an unknown number of iterations"
        if per_iteration is None
        else f"{count} iterations, {per_iteration:.3g} s each"
    )
    agreement = adjusted_rand_index(mine, labels)
    note = (
        f"Ours {iterations} iterations, {ours.median / iterations:.3g} s each; {name} {told}; "
        f"agreement of the two clusterings (ARI) {agreement:.3f}."
    )
    details |= {"iterations": iterations, "their_iterations": count, "agreement": agreement}
    return Row(
        f"{_DIGITS_LABEL}, beside {name}",
        ours,
        theirs,
        against=name,
        target=1.0,
        note=f"{note} {remark}".strip(),
        details=details,
    )


def spectral(settings: Settings) -> Iterator[Row]:
    """Compare kernel k-means at one bandwidth with spectral clustering at the same."""
    from sklearn.cluster import SpectralClustering

    ready = _digits(settings)
    if ready is None:
        yield _NO_DIGITS
        return
    X, sigma = ready
    start = random_start(len(X), _CLUSTERS)
    model = KernelKMeans(_CLUSTERS, sigma=sigma, init=start)
    other = SpectralClustering(_CLUSTERS, gamma=1.0 / sigma, random_state=SEED)
    settings.progress(f"MNIST: {settings.rounds} rounds")
    model.fit(X)
    ours, theirs = alternate(lambda: model.fit(X), lambda: other.fit(X), settings.rounds)
    yield Row(
        _DIGITS_LABEL, Spread.of(ours), Spread.of(theirs), against="scikit-learn SpectralClustering",
        details={"agreement": adjusted_rand_index(model.labels_, other.labels_), "sigma": sigma},
    )  # fmt: skip


def scales(settings: Settings) -> Iterator[Row]:
    """Compare a whole search with MSSCpy's analysis over a range of scales."""
    case = load_case("aggregation", settings.data)
    start = random_start(case.n, case.k)
    label = f"{case}, n = {case.n:,}: all scales of each"
    settings.progress(f"{case}: msscpy")
    try:
        report = run_peer("msscpy", settings.peers, case.X, rounds=settings.rounds if settings.full else 1)
    except PeerUnavailable as reason:
        yield Row(label, skipped=f"{reason}.")
        return

    def search() -> object:
        return BandwidthSearch(case.k, init=start).fit(case.X).path_

    found = BandwidthSearch(case.k, init=start).fit(case.X).path_
    yield Row(
        label,
        Spread.of(seconds(search) for _ in range(settings.rounds)),
        Spread.of(report["seconds"]),
        against="MSSCpy, its default range",
        note=f"Ours {len(found)} clusterings, every change; MSSCpy {report['scales']} scales on a grid.",
        details={name: report[name] for name in ("scales", "regions", "requirements")},
    )


MEASUREMENTS = (
    Measurement(
        "cnnc",
        "c-NNC of one clustering, beside counting along sorted neighbours in NumPy",
        "c-NNC rates a clustering by how many of each point's nearest neighbours share its cluster. The sorting of "
        "neighbours is needed once for a data set; a search then asks for c-NNC at every step.",
        costs,
    ),
    Measurement(
        "kernel-kmeans",
        "Kernel k-means at one bandwidth, beside NumPy, tslearn and python-kkmeans",
        "From the points to convergence, the kernel matrix included, from the same start, at the median of squared "
        "distances. The other packages run in environments of their own and are timed inside.",
        kernel_kmeans,
    ),
    Measurement(
        "spectral",
        "Kernel k-means beside scikit-learn's spectral clustering, at one bandwidth",
        "Another method with the same kernel: what one try at one bandwidth costs.",
        spectral,
    ),
    Measurement(
        "scales",
        "A whole search, beside multi-scalar spectral clustering (MSSCpy)",
        "Another method that looks at many scales; it runs in an environment of its own and is timed inside.",
        scales,
    ),
)
