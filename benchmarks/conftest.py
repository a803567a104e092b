"""Quick mode, so that no benchmark rots unseen: `EMU_BENCH_QUICK=1 pytest benchmarks` calls each function once.

Sizes are tiny, of parameters the first is taken, and no limit is held: an inequality that a benchmark asserts says
nothing of so little work. Whatever else goes wrong fails.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.effort import QUICK

FOLDER = Path(__file__).resolve().parent
_LIMIT = re.compile(r"\s*assert\b.*(?:<|>)")


def pytest_configure(config: pytest.Config) -> None:
    if QUICK:
        config.option.benchmark_disable = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not QUICK:
        return
    first: dict[tuple[Path, str], pytest.Item] = {}
    for item in items:
        first.setdefault((item.path, getattr(item, "originalname", item.name)), item)
    kept = list(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    try:
        return (yield)
    except AssertionError as error:
        if QUICK and _is_limit(error):
            return True
        raise


def _is_limit(error: AssertionError) -> bool:
    """Whether what failed is an inequality that stands in a benchmark itself."""
    last = error.__traceback__
    assert last is not None
    while last.tb_next is not None:
        last = last.tb_next
    file = last.tb_frame.f_code.co_filename
    return Path(file).parent == FOLDER and _LIMIT.match(linecache.getline(file, last.tb_lineno)) is not None
