"""Off-the-grid: which bandwidth? Kernel k-means and the critical values at which its clustering changes.

After Ordozgoiti and Belanche, "Off-the-grid: fast and effective hyperparameter search for kernel clustering",
ECML-PKDD 2020. Names are loaded when they are first used, so that ``import offgrid`` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offgrid import baselines, datasets, metrics
    from offgrid.bounds import bandwidth_lower_bound
    from offgrid.critical import CriticalValue, critical_bandwidth
    from offgrid.errors import InputError
    from offgrid.exponentiation import fast_power
    from offgrid.interactive import explore
    from offgrid.kernels import RBF, KernelSum, Laplacian, Polynomial
    from offgrid.kmeans import KernelKMeans
    from offgrid.path import BandwidthPath, PathRecord
    from offgrid.recommendation import RecommendedPartition, recommend_partition
    from offgrid.search import BandwidthSearch

__version__ = "0.1.0"

_HOMES = {
    "BandwidthPath": "path",
    "BandwidthSearch": "search",
    "CriticalValue": "critical",
    "InputError": "errors",
    "KernelKMeans": "kmeans",
    "KernelSum": "kernels",
    "Laplacian": "kernels",
    "PathRecord": "path",
    "Polynomial": "kernels",
    "RBF": "kernels",
    "RecommendedPartition": "recommendation",
    "bandwidth_lower_bound": "bounds",
    "critical_bandwidth": "critical",
    "explore": "interactive",
    "fast_power": "exponentiation",
    "recommend_partition": "recommendation",
}
_MODULES = ("baselines", "datasets", "metrics")

__all__ = [
    "RBF", "BandwidthPath", "BandwidthSearch", "CriticalValue", "InputError", "KernelKMeans", "KernelSum", "Laplacian",
    "PathRecord", "Polynomial", "RecommendedPartition", "bandwidth_lower_bound", "baselines", "critical_bandwidth",
    "datasets", "explore", "fast_power", "metrics", "recommend_partition",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"offgrid.{name}")
    if name in _HOMES:
        return getattr(import_module(f"offgrid.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'offgrid' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
