"""The project's scripts (examples/, benchmarks/), which are no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.conftest import ROOT


def script(place: str) -> ModuleType:
    """A script by its place from the root, loaded anew: what a test changes in it is that test's own."""
    path = ROOT / place
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where its dataclasses look for their own names
    spec.loader.exec_module(module)
    return module
