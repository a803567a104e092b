"""The arrows between the packages: the code against the tables of docs/architecture.md, and what loads when."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "emu"
_ROW = re.compile(r"\| `emu/(\w+)` \|.*\| ([^|]+) \|$", re.MULTILINE)
_SMALL = re.compile(r"\| `emu/(\w+)\.py` \|")
TABLE = (ROOT / "docs" / "architecture.md").read_text()
SMALL = set(_SMALL.findall(TABLE))
ROOMS = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
KNOWS = {
    room: ROOMS if cell == "all" else set() if cell == "–" else set(cell.split(", "))
    for room, cell in _ROW.findall(TABLE)
}
HEAVY = ("numpy", "google", "simpy", "flatbuffers", "yaml", "orjson", "xxhash", "structlog")


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_rooms(path: Path) -> Iterator[str]:
    """What a module imports of emu, wherever in it and for whatever reason: packages and top modules by name."""
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("emu."))


def test_the_tables_name_every_room() -> None:
    assert set(KNOWS) == ROOMS
    assert {path.stem for path in PACKAGE.glob("[!_]*.py")} == SMALL


def test_no_two_rooms_know_each_other() -> None:
    """Each row names only rooms of rows above it."""
    above: set[str] = set()
    for room, known in KNOWS.items():
        if known != ROOMS:
            assert known <= above, room
        above.add(room)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_what_its_row_names(room: str) -> None:
    used: set[str] = set()
    for path in (PACKAGE / room).rglob("*.py"):
        found = set(imported_rooms(path)) - {room}
        beyond = found - SMALL - KNOWS[room] - {"__version__"}
        assert not beyond, f"{path.relative_to(ROOT)} imports {', '.join(sorted(beyond))}"
        used |= found
    if KNOWS[room] != ROOMS:
        assert KNOWS[room] <= used, f"the row of {room} names more than it imports"


def test_small_modules_import_no_room() -> None:
    for name in SMALL:
        assert set(imported_rooms(PACKAGE / f"{name}.py")) <= SMALL, name


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """The modules of emu that one imports, wherever in it and for whatever reason."""
    found = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules
        else:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules or {str(node.module)} & modules
    return found


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other: the strongly connected components of more than one module (Kosaraju)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in graph:
        pending = [(root, iter(sorted(graph[root])))] if root not in seen else []
        seen.add(root)
        while pending:
            module, rest = pending[-1]
            following = next((one for one in rest if one not in seen), None)
            if following is None:
                order.append(module)
                pending.pop()
            else:
                seen.add(following)
                pending.append((following, iter(sorted(graph[following]))))
    importers: dict[str, set[str]] = {module: set() for module in graph}
    for module, imported in graph.items():
        for one in imported:
            importers[one].add(module)
    found, seen = [], set()
    for root in reversed(order):
        together, pending_names = [], [root]
        while pending_names:
            module = pending_names.pop()
            if module not in seen:
                seen.add(module)
                together.append(module)
                pending_names += importers[module]
        if len(together) > 1:
            found.append(sorted(together))
    return found


def test_no_modules_import_each_other_in_a_ring() -> None:
    """An import under TYPE_CHECKING or in a function counts: who is named is known."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    graph = {module: imported_modules(path, set(paths)) - {module} for module, path in paths.items()}
    assert rings(graph) == []


def test_rings_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"f2", "a"}, "f2": {"f"}}
    assert sorted(rings(graph)) == [["a", "b", "c"], ["f", "f2"]]


PRIVATE_OF_SIMPY = re.compile(r"\._(queue|now|ok|value|eid|active_proc|defused|generator|target|resume)\b")


def test_simpy_is_used_through_its_public_parts() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if path == PACKAGE / "hw" / "clock.py":
            continue  # it is simpy's environment: a checkpoint keeps its queue and sets it up again
        if re.search(r"^import simpy|^from simpy", text, re.MULTILINE):
            assert not (found := PRIVATE_OF_SIMPY.findall(text)), f"{path.relative_to(ROOT)}: {found}"


@pytest.mark.parametrize(
    ("code", "rooms"),
    [
        ("import emu", set()),
        ("import emu.hef, emu.hw", {"hef", "hw"}),
        (
            "import runpy; sys.argv = ['emu', '--help']; runpy.run_module('emu', run_name='__main__')",
            {"cli"},
        ),
    ],
)
def test_loading_waits_for_use(code: str, rooms: set[str]) -> None:
    """What `import` and `--help` load: neither heavy libraries nor any other room."""
    program = (
        f"import atexit, sys\natexit.register(lambda: sys.stderr.write(' '.join(name for name in sys.modules)))\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stderr.split())
    assert {name.split(".")[1] for name in loaded if name.startswith("emu.")} - {"__main__"} - SMALL == rooms
    assert loaded.isdisjoint(HEAVY)


UNUSED_BY_HEF_COMMANDS = ("numpy", "simpy", "structlog", "emu.hw", "emu.graph", "emu.dataflow")
UNUSED_BY_A_RUN = (
    "structlog",
    "emu.dataflow",
    "emu.graph",
    "emu.images",
    "emu.reference.reference",
    "emu.hw.faults",
    "emu.timing.estimate",
    "emu.trace.sinks",
    "emu.trace.record",
    "emu.cli.watching",
    *(f"emu.host.{name}" for name in ("capture", "checkpoint", "coverage", "debugger", "profiler", "recording")),
)


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        *((name, UNUSED_BY_HEF_COMMANDS) for name in ("parse-hef", "actions", "inspect", "estimate")),
        ("run", UNUSED_BY_A_RUN),
        ("check", ("structlog",)),  # which has something to say of this file
    ],
)
def test_a_command_loads_only_what_it_uses(command: str, unused: tuple[str, ...]) -> None:
    """Half of what a short command costs is loading (benchmarks/bench_startup.py)."""
    program = (
        "import atexit, runpy, sys\n"
        "atexit.register(lambda: sys.stderr.write('loaded: ' + ' '.join(sys.modules)))\n"
        f"sys.argv = ['emu', {command!r}, 'examples/two_context.hef']\n"
        "runpy.run_module('emu', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = done.stderr.rpartition("loaded: ")[2].split()
    assert "emu.hef.hef" in loaded
    assert [name for name in loaded if any(f"{name}.".startswith(f"{one}.") for one in unused)] == []


def test_working_out_programs_loads_no_device() -> None:
    """As estimates of well-formed configuration do (emu.hw.config.starts)."""
    program = "import sys, emu.hw.config.starts; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {
        "simpy",
        "emu.hw.memory",
        "emu.hw.vdma",
        "emu.hw.link",
        "emu.hw.config.channels",
        "emu.wire.status",
    }.isdisjoint(done.stdout.split())
