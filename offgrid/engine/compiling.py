"""How every numeric kernel is compiled: once, kept beside its source, without Python's lock.

Entry points: the decorators `exact` and `fast`. Both divide as NumPy does, without a check that keeps loops scalar.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_KERNEL: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

# In the order written, nothing fused. Said outright: a function without flags of its own would take over those of
# whichever caller compiles it first.
exact: Any = njit(fastmath=False, **_KERNEL)
# Sums may be reordered and products fused with sums; infinities and NaN keep their meaning. Always inlined: else the
# process that compiles would call a copy with another order of summation than the one kept for later processes.
fast: Any = njit(fastmath={"reassoc", "contract", "nsz"}, forceinline=True, **_KERNEL)
