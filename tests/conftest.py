"""Where the tests find the shared material (captures, real files), and a skip with a reason where it is absent."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# before numpy is loaded, for the commands that tests start too: where others use the cores (the other workers of the
# tests), a second thread of BLAS spins while it waits for them, 20 times the time of the product
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("EMU_SHARED", ROOT.parent / "shared"))
DATA = Path(__file__).resolve().parent / "data"
RUNTIMES = ("4.23", "5.2")  # whose captures are compiled and run, all of them
OLDER = ("4.17.1", "4.18", "4.19", "4.20", "4.21", "4.22", "5.0.1", "5.1.0", "5.1.1")
# of the older releases' synthetic captures every so-manieth, unless all are asked for
ALL_CAPTURES = os.environ.get("EMU_ALL_CAPTURES") == "1"
SAMPLE = 1 if ALL_CAPTURES else 5

# the same examples in every run: what a change breaks is seen at once, and nothing else is
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None)  # EMU_HYPOTHESIS=search looks for new ones
settings.load_profile(os.environ.get("EMU_HYPOTHESIS", "same"))

needs_shared = pytest.mark.skipif(
    not (SHARED / "README.md").exists(),
    reason="the shared captures are not here (set EMU_SHARED or lay them beside the project)",
)


def pytest_sessionstart() -> None:
    gc.disable()  # until all is collected: what that makes lives to the end


def pytest_collection_finish() -> None:
    """Sixteen thousand tests are not looked through for garbage again and again, a fifth of the suite's time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    gc.freeze()  # pytest has looked for the last time; the end of the process would walk all of it twice for nothing


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "README.md").exists():
        pytest.skip("the shared captures are not here (set EMU_SHARED or lay them beside the project)")
    return SHARED
