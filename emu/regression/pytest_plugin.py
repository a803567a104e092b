"""The pytest plugin: the `emu_run` fixture, `--emu-update`, coverage over a suite (docs/regression.md).

pytest loads it by its entry point, so it imports nothing of emu before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emu.hw.coverage import Coverage
    from emu.regression.run import Run

_WORKER_KEY = "emu_coverage"
_COVERAGE: pytest.StashKey[Coverage] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("emu", "regression tests of what models make a device do")
    group.addoption("--emu-update", action="store_true", help="write the golden files of emu_run(...).assert_golden")
    group.addoption("--emu-coverage", metavar="FILE", help="merge what all emu_run runs touched into FILE (JSON)")
    group.addoption(
        "--emu-coverage-threshold",
        type=_percent,
        metavar="PCT",
        help="fail if fewer than PCT %% of the action types were executed",
    )


def _percent(text: str) -> float:
    """A share that a threshold can be; not-a-number would fail nothing."""
    value = float(text)
    if not 0 <= value <= 100:
        raise ValueError(text)
    return value


@pytest.fixture
def emu_run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """`emu_run("x.hef", batch=2, …)` runs a HEF or a capture, found beside the test file, and returns a `Run`.

    Keywords are those of `emu.regression.run.RunSettings`.
    """
    from emu.regression.run import RunSettings, execute

    runs = 0

    def run(model: str | Path, **settings: Any) -> Run:
        nonlocal runs
        runs += 1
        base = request.path.parent
        found = execute(base / model, RunSettings(**settings), tmp_path / f"emu_run_{runs}.trace")
        found.update = request.config.getoption("--emu-update")
        found.base = base
        _coverage(request.config).merge(found.coverage)
        return found

    yield run


def _coverage(config: pytest.Config) -> Coverage:
    from emu.hw.coverage import Coverage

    return config.stash.setdefault(_COVERAGE, Coverage())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the coverage, and fail the session where it stays below the threshold."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[_WORKER_KEY] = _coverage(config).document()  # pytest-xdist: the controller adds it up
        return
    target, threshold = config.getoption("--emu-coverage"), config.getoption("--emu-coverage-threshold")
    if target is None and threshold is None:
        return
    from emu.hw.coverage import merge_into

    coverage = _coverage(config)
    if target is not None:
        coverage = merge_into(Path(target), coverage)
    if threshold is not None and coverage.percent < threshold:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist is done: add what its runs touched."""
    from emu.hw.coverage import Coverage

    document = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
    if document is not None:
        _coverage(node.config).merge(Coverage.of_document(document))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the coverage where it was asked for."""
    threshold = config.getoption("--emu-coverage-threshold")
    if config.getoption("--emu-coverage") is None and threshold is None:
        return
    coverage = _coverage(config)
    terminalreporter.section("emu coverage")
    for line in coverage.text():
        terminalreporter.line(line.rstrip("\n"))
    if threshold is not None and coverage.percent < threshold:
        terminalreporter.line(f"FAILED: {coverage.percent:.1f} % of the action types, {threshold:g} % are required")
