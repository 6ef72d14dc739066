"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("OFFGRID_SHARED") or ROOT.parent / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the paper's data and the oracle's values, which are not ours to publish."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED.name}/ beside the repository, and OFFGRID_SHARED names no other")
    return SHARED
