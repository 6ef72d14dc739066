"""The kernel matrix to look at: means over blocks, what they say of clusters, samples of large data."""

from __future__ import annotations

import numpy as np
import pytest

from figures.kernel import SCALES, kernel_figure
from figures.theme import _luminance
from layouts import kernel_tab
from layouts.views import ResultView
from offgrid.kernel_view import KernelView, kernel_view
from offgrid.kernels import RBF, Kernel, KernelSum, Laplacian, Polynomial

RNG = np.random.default_rng(4)
LABELS = np.repeat([4, 0, 2], [30, 45, 1])[RNG.permutation(76)]
X = RNG.normal(size=(76, 3)) + 3.0 * LABELS[:, None]
KERNELS: dict[str, tuple[Kernel, float]] = {
    "RBF": (RBF(), 7.0),
    "Laplacian": (Laplacian(), 2.0),
    "polynomial": (Polynomial(c=500.0), 3.5),
    "sum": (KernelSum([(1.0, RBF(), None), (0.25, Laplacian(), 2.0)]), 7.0),
}


def matrix(kernel: Kernel, value: float) -> np.ndarray:
    whole = np.exp(kernel.logarithms(X, X, value))
    return whole / whole.diagonal().max()


@pytest.mark.parametrize("name", list(KERNELS))
def test_numbers_are_those_of_the_whole_matrix(name: str) -> None:
    kernel, value = KERNELS[name]
    view, whole = kernel_view(kernel, X, LABELS, value, cells=10), matrix(kernel, value)
    same, other = LABELS[:, None] == LABELS[None, :], ~np.eye(76, dtype=bool)
    assert view.within == pytest.approx(whole[same & other].mean(), rel=1e-12)
    assert view.between == pytest.approx(whole[~same].mean(), rel=1e-12)
    assert view.dominance == pytest.approx(np.trace(whole) / whole.sum(), rel=1e-12)
    assert view.clusters.tolist() == [0, 2, 4]
    assert view.cluster_edges.tolist() == [0, 45, 46, 76]
    pair = whole[np.ix_(LABELS == 0, LABELS == 4)].mean()
    assert [view.cluster_means[0, 2], view.cluster_means[2, 0]] == pytest.approx([pair, pair], rel=1e-12)
    assert np.isnan(view.cluster_means[1, 1]), "a row alone has nobody to be like"


def test_cells_are_means_over_blocks_that_respect_clusters() -> None:
    view = kernel_view(RBF(), X, LABELS, 7.0, cells=10)
    order = np.argsort(LABELS, kind="stable")
    whole = matrix(RBF(), 7.0)[np.ix_(order, order)]
    assert set(view.cluster_edges) <= set(view.edges)
    assert len(view.edges) <= 12
    for i, (a, b) in enumerate(zip(view.edges, view.edges[1:], strict=False)):
        for j, (c, d) in enumerate(zip(view.edges, view.edges[1:], strict=False)):
            assert view.cells[i, j] == pytest.approx(whole[a:b, c:d].mean(), rel=1e-6)


def test_few_rows_are_shown_one_by_one() -> None:
    view = kernel_view(RBF(), X, LABELS, 7.0, cells=500)
    assert view.cells.shape == (76, 76)
    assert view.cells.diagonal().tolist() == [1.0] * 76


def test_a_sample_stands_for_many_rows() -> None:
    labels = np.repeat([0, 1, 2], [2000, 900, 100])
    points = RNG.normal(size=(3000, 2)) + 4.0 * labels[:, None]
    exact = kernel_view(RBF(), points, labels, 5.0, budget=10**9)
    sample = kernel_view(RBF(), points, labels, 5.0, budget=1_000_000)
    assert exact.n_used == 3000
    assert sample.n_used == sum(np.diff(sample.cluster_edges)) < 600
    assert sample.cluster_edges[1] / sample.n_used == pytest.approx(2 / 3, abs=0.01)
    for name in ("within", "between", "dominance"):
        assert getattr(sample, name) == pytest.approx(getattr(exact, name), rel=0.1), name
    again = kernel_view(RBF(), points, labels, 5.0, budget=1_000_000)
    assert (again.cells == sample.cells).all(), "the same sample each time"


def test_both_ends_of_the_bandwidth() -> None:
    frozen, flat = (kernel_view(RBF(), X, LABELS, sigma) for sigma in (1e-6, np.inf))
    assert frozen.dominance == 1.0
    assert flat.dominance == pytest.approx(1 / 76)
    assert (frozen.within, flat.within, flat.between) == (0.0, 1.0, 1.0)
    assert "frozen" in kernel_tab.verdict(frozen)
    assert "flat" in kernel_tab.verdict(flat)


def view_of(n_rows: int, n_used: int, side: int) -> KernelView:
    edges = np.linspace(0, n_used, side + 1).astype(np.int64)
    ends = np.array([0, n_used])
    cells = np.ones((side, side), dtype=np.float32)
    return KernelView(cells, edges, np.array([0]), ends, np.ones((1, 1)), 0.8, np.nan, 0.01, n_rows, n_used)


def test_what_is_drawn_is_said() -> None:
    told = kernel_tab.how_it_was_made
    assert told(view_of(788, 788, 197)) == (
        "How alike each two rows are: 788 rows sorted by cluster, each cell is a mean over about 4 × 4 pairs."
    )
    assert "a sample of 1,700 of 20,000 rows" in told(view_of(20_000, 1700, 200))
    assert told(view_of(150, 150, 150)).endswith("each cell is one pair of rows.")
    assert kernel_tab.verdict(kernel_view(RBF(), X, LABELS, 7.0)).startswith("Two rows of one cluster are ")
    assert kernel_tab.why_none(ResultView())[0] == "The kernel appears here"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scale_goes_one_way_and_every_cluster_has_its_number(scheme: str) -> None:
    shades = [_luminance(colour) for colour in SCALES[scheme]]  # type: ignore[index]
    assert shades == sorted(shades, reverse=scheme == "light")
    figure = kernel_figure(kernel_view(RBF(), X, LABELS, 7.0), scheme=scheme)  # type: ignore[arg-type]
    assert figure["layout"]["xaxis"]["ticktext"] == ["1", "3", "5"]
    assert figure["layout"]["yaxis"]["range"] == [76, 0]
    assert (figure["data"][0]["zmin"], figure["data"][0]["zmax"]) == (0, 1)
    assert figure["data"][1]["text"][1][1] == "cluster 3: a single point"


def test_numbers_along_the_axes_do_not_meet() -> None:
    labels = np.repeat(np.arange(31), 20)
    view = kernel_view(RBF(), RNG.normal(size=(620, 2)), labels, 1.0)
    wide, narrow = (kernel_figure(view, narrow=narrow)["layout"] for narrow in (False, True))
    assert len(wide["yaxis"]["ticktext"]) == 31
    assert len(narrow["xaxis"]["ticktext"]) < 20
