"""Where the tests find the shared material (captures, real files), and a skip with a reason where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("EMU_SHARED", ROOT.parent / "shared"))
DATA = Path(__file__).resolve().parent / "data"

needs_shared = pytest.mark.skipif(
    not (SHARED / "README.md").exists(),
    reason="the shared captures are not here (set EMU_SHARED or lay them beside the project)",
)


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "README.md").exists():
        pytest.skip("the shared captures are not here (set EMU_SHARED or lay them beside the project)")
    return SHARED
