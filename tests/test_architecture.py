"""The arrows between the packages: the code against the tables of docs/architecture.md, and what loads when."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
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


def imported_rooms(path: Path) -> Iterator[str]:
    """What a module imports of emu, wherever in it and for whatever reason: packages and top modules by name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
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


@pytest.mark.parametrize(
    ("code", "rooms"),
    [
        ("import emu", set()),
        ("import emu.hef, emu.hw", {"hef", "hw"}),
        ("import sys; sys.argv = ['emu', '--help']; import emu.__main__", {"cli"}),
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
