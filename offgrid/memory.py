"""How much memory a search may take for what grows with the square of the rows.

Entry points: `memory_limit`, from the environment, and its two shares: `for_pairs` (the exponents L, where storing them
pays) and `for_ranks` (neighbour ranks of c-NNC). What does not fit is computed again and again (`engine.pairs`), or
estimated from a sample of rows (`metrics`).
"""

from __future__ import annotations

import os
import re

from offgrid.errors import InputError

DEFAULT = 3 << 29  # 1.5 GiB
_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30, "TI": 1 << 40}  # fmt: skip  # noqa: E501


def parse_bytes(text: str, name: str) -> int:
    """Return the bytes that a text such as ``800MB``, ``1.5 GiB`` or ``1000000`` stands for, or raise InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?", text.strip().upper())
    if match is None:
        raise InputError(f"{name} is {text!r}; it must be a size such as 800MB or 1.5GiB, or a number of bytes.")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def memory_limit() -> int:
    """Return the bytes that one search may take: `OFFGRID_MEMORY_LIMIT`, else 1.5 GiB."""
    text = os.environ.get("OFFGRID_MEMORY_LIMIT", "")
    return parse_bytes(text, "OFFGRID_MEMORY_LIMIT") if text.strip() else DEFAULT


def for_pairs() -> int:
    """Return the share of the limit for the exponents L: two thirds."""
    return memory_limit() * 2 // 3


def for_ranks() -> int:
    """Return the share of the limit for neighbour ranks: one third."""
    return memory_limit() // 3
