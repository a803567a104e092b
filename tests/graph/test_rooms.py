"""No two modules of emu/graph know each other, whatever for and wherever they import."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from tests.conftest import ROOT


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imports_go_one_way() -> None:
    """`prepare` raises CycleError, which lists the ring."""
    modules = {module_name(path): path for path in (ROOT / "emu" / "graph").rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        used: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                used |= {each if each in modules else str(node.module) for each in inside}
            elif isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
        found[name] = (used & set(modules)) - {name}
    assert not {"emu.graph.ops", "emu.graph.plan"} & found["emu.graph.ir"]
    TopologicalSorter(found).prepare()
