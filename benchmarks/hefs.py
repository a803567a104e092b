"""The HEFs that benchmarks go through: the given ones, in quick mode without them the project's examples."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT, SHARED, needs_shared
from tests.effort import QUICK

HEFS = sorted((SHARED / "hef").glob("*.hef")) or sorted((ROOT / "examples").glob("*.hef"))

needs_hefs = pytest.mark.filterwarnings("default") if QUICK else needs_shared
