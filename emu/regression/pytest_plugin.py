"""The pytest plugin: the fixtures `emu_run`, `emu_model` and `hailo_platform`, the mark `hailo`, `--emu-update`,
coverage over a suite (docs/regression.md, docs/applications.md).

pytest loads it by its entry point, so it imports nothing of emu before a test asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emu.host.coverage import Coverage
    from emu.regression.graph_run import GraphRun
    from emu.regression.run import Run

_WORKER_KEY = "emu_coverage"
_COVERAGE: pytest.StashKey[Coverage] = pytest.StashKey()
_FIXTURES = {"emu_run", "emu_model", "hailo_platform"}
_MARK = {"allow_hazards", "models"}
# keywords of emu_run that name files, which are looked for beside the test
_FILES = ("reference", "alls", "input", "inputs", "device_output")


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
    group.addoption("--emu-models", metavar="DIR", help="models for emu_model, instead of those of the mark hailo")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "hailo(allow_hazards=[RULE], models=DIR): a test of emu (every one that takes a fixture of it): hazards that "
        "its runs may show, models that its emu_model goes through",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """`-m hailo` and `-m "not hailo"` choose by what a test takes."""
    if _FIXTURES & set(getattr(item, "fixturenames", ())):
        item.add_marker("hailo")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `emu_model` runs once for each model of a folder, in the order of their names."""
    if "emu_model" not in metafunc.fixturenames:
        return
    from emu.check.verdict import models

    given = metafunc.config.getoption("--emu-models")
    if given is not None:
        base, folders = metafunc.config.invocation_params.dir, [given]
    else:
        base = metafunc.definition.path.parent
        marks = (_checked(mark) for mark in metafunc.definition.iter_markers("hailo"))
        named = next((mark["models"] for mark in marks if "models" in mark), None)
        if named is None:
            raise pytest.UsageError('emu_model: say which by @pytest.mark.hailo(models="DIR") or --emu-models DIR')
        folders = [named] if isinstance(named, str | Path) else list(named)
    found = [path for folder in folders for path in models([base / folder])]
    if not found:
        raise pytest.UsageError(f"emu_model: no model in {', '.join(map(str, folders))}")
    metafunc.parametrize("emu_model", found, ids=[Path(os.path.relpath(path, base)).as_posix() for path in found])


def _percent(text: str) -> float:
    """A share that a threshold can be; not-a-number would fail nothing."""
    value = float(text)
    if not 0 <= value <= 100:
        raise ValueError(text)
    return value


@pytest.fixture
def emu_run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Run | GraphRun]]:
    """`emu_run("x.hef", batch=2, …)` runs a HEF or a capture, found beside the test file, and returns a `Run`; an OM or
    MS graph gives a `GraphRun`.

    A run that shows a hazard fails, but for the rules of `@pytest.mark.hailo(allow_hazards=["RULE", …])`. Keywords are
    those of `emu.host.spec.RunSpec.of`, for graphs those of `emu.regression.graph_run.execute_graph`.
    """
    runs = 0
    allowed = _allowed_hazards(request)
    base = request.path.parent

    def run(model: str | Path, **settings: Any) -> Run | GraphRun:
        __tracebackhide__ = True
        nonlocal runs
        runs += 1
        settings |= {name: _beside(base, settings[name]) for name in _FILES if name in settings}
        if _is_graph(base / model):
            from emu.regression.graph_run import execute_graph

            executed = execute_graph(base / model, settings)
            executed.update, executed.base = request.config.getoption("--emu-update"), base
            return executed
        from emu.host.spec import RunSpec
        from emu.regression.run import execute

        inputs = settings.pop("inputs") if isinstance(settings.get("inputs"), Mapping) else None
        for name in ("input", "device_output"):
            if isinstance(settings.get(name), str):
                settings[name] = (settings[name],)
        if inputs is not None and "frames" not in settings:
            settings["frames"] = max((len(array) for array in inputs.values()), default=None)
        spec = RunSpec.of(base / model, **settings)
        found = execute(base / model, spec, tmp_path / f"emu_run_{runs}.trace", inputs)
        found.update = request.config.getoption("--emu-update")
        found.base = base
        _coverage(request.config).merge(found.coverage)
        return found.assert_hazards(allowed=allowed)

    yield run


def _allowed_hazards(request: pytest.FixtureRequest) -> set[str]:
    """The rules that the marks of a test, its class and its module allow."""
    allowed: set[str] = set()
    for mark in request.node.iter_markers("hailo"):
        allowed.update(_checked(mark).get("allow_hazards", ()))
    return allowed


def _checked(mark: pytest.Mark) -> Mapping[str, Any]:
    """What a mark says."""
    if mark.args or not mark.kwargs.keys() <= _MARK or isinstance(mark.kwargs.get("allow_hazards"), str):
        raise pytest.UsageError('@pytest.mark.hailo takes allow_hazards=["RULE", ...] and models="DIR", nothing else')
    return mark.kwargs


def _is_graph(model: Path) -> bool:
    """Whether a file is an OM or MS graph, by its content; what cannot be read is for the run to say."""
    from emu.errors import EmuError
    from emu.recognise import Kind, read_head, recognise

    if model.suffix == ".json":
        return False
    try:
        return recognise(read_head(model)) in (Kind.OM, Kind.MS)
    except EmuError:
        return False


def _beside(base: Path, value: Any) -> Any:
    """A file, or several, beside the test, also in `NAME=FILE`; as it is where there is none, and arrays."""
    if isinstance(value, list | tuple):
        return tuple(_beside(base, one) for one in value)
    if not isinstance(value, str | Path):
        return value
    if (base / value).exists():
        return str(base / value)
    name, sign, file = str(value).partition("=")
    return f"{name}={base / file}" if sign and (base / file).exists() else str(value)


@pytest.fixture
def hailo_platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """HailoRT's Python API, answered by a simulated device (docs/applications.md); a test may leave all open."""
    from emu.hailo_platform.installation import install, is_installed, uninstall
    from emu.hailo_platform.vdevice import release_all

    # a card of its own: the device is free, whoever runs beside
    monkeypatch.setenv("EMU_CARD", f"pytest-{os.getpid()}")
    before = is_installed()
    yield install()
    release_all()
    if not before:
        uninstall()


def _coverage(config: pytest.Config) -> Coverage:
    from emu.host.coverage import Coverage

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
    from emu.host.coverage import merge_into

    coverage = _coverage(config)
    if target is not None:
        coverage = merge_into(Path(target), coverage)
    if threshold is not None and coverage.percent < threshold:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist is done: add what its runs touched."""
    from emu.host.coverage import Coverage

    document = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
    if document is not None:
        _coverage(node.config).merge(Coverage.of_document(document))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A line of what the suite's runs touched of the firmware; all of it where it was asked for."""
    threshold = config.getoption("--emu-coverage-threshold")
    if config.getoption("--emu-coverage") is None and threshold is None:
        coverage = config.stash.get(_COVERAGE, None)
        if coverage is not None and coverage.actions.total():
            terminalreporter.line(f"emu {next(coverage.text()).rstrip()}")
        return
    coverage = _coverage(config)
    terminalreporter.section("emu coverage")
    for line in coverage.text():
        terminalreporter.line(line.rstrip("\n"))
    if threshold is not None and coverage.percent < threshold:
        terminalreporter.line(f"FAILED: {coverage.percent:.1f} % of the action types, {threshold:g} % are required")
