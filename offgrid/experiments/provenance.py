"""What a measurement was made with, and on what.

Entry points: `machine`, `versions`.
"""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")


def machine() -> dict[str, Any]:
    """Return the processor, the memory and the system."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "cores_available": available,
        "memory_gb": memory,
        "load_before": load,
        "system": platform.platform(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what it computes with."""
    from offgrid import __version__

    return {"python": platform.python_version(), "offgrid": __version__} | {
        name: metadata.version(name) for name in _PACKAGES
    }
