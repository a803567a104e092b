"""`import emu`: the names are those of docs/api.md, the samples of docs and docstrings run, nothing heavy is loaded."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import emu
from emu.chips.chips import load
from emu.host.session import RunRequest, run_program
from tests.conftest import ROOT

API = (ROOT / "docs" / "api.md").read_text()
HEAVY = ("numpy", "simpy", "google", "orjson", "yaml", "flatbuffers", "xxhash", "structlog")
TWO_CONTEXT = ROOT / "examples" / "two_context.hef"
NOT_BUILT = {"open_graph"}
Told = Callable[..., dict[str, Any]]
WITH_SAMPLES = [path for path in sorted((ROOT / "emu").rglob("*.py")) if ">>> " in path.read_text()]


@pytest.fixture
def emu_json() -> Told:
    """Run the command with --json; its document."""

    def run(*arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "emu", *arguments, "--json"]
        document: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)
        return document

    return run


def test_the_door_and_its_contract_name_the_same_things() -> None:
    rows = [line for line in API.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)[`(]", row.split("|")[1])}
    assert named == set(emu.__all__) == set(emu._DOOR)


def test_every_name_is_there() -> None:
    for name in set(emu.__all__) - NOT_BUILT:
        assert getattr(emu, name) is not None
        assert getattr(emu, name).__doc__
    for name in NOT_BUILT:
        try:
            getattr(emu, name)
        except AttributeError as error:
            assert "not built yet" in str(error)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = emu.nothing
    assert set(emu.__all__) <= set(dir(emu))


def test_the_import_loads_nothing_heavy() -> None:
    program = "import sys, emu; emu.HailoError, emu.EmuError; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert set(loaded.split()).isdisjoint(HEAVY)


def test_the_package_ships_its_types() -> None:
    assert (Path(emu.__file__).parent / "py.typed").exists()


def test_the_samples_of_the_contract_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    samples = re.findall(r"^```python\n(.*?)^```$", API, re.MULTILINE | re.DOTALL)
    assert len(samples) >= 5
    names: dict[str, object] = {}
    for sample in samples:
        exec(compile(sample, "docs/api.md", "exec"), names)


@pytest.mark.parametrize("path", WITH_SAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_samples_of_docstrings_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted and not result.failed


def test_no_sample_hides_from_the_tests() -> None:
    """An indented block in a docstring that looks like code is a sample: it has to be written as one."""
    looks_like_code = re.compile(r"^ {4,}(?!>>> |\.\.\. )\w[\w., ]* = \w+\(.*\)$", re.MULTILINE)
    for path in (ROOT / "emu").rglob("*.py"):
        if path.name.endswith("_pb2.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found = looks_like_code.search(ast.get_docstring(node) or "")
                assert found is None, f"{path.relative_to(ROOT)}: {found[0].strip()}"


@pytest.mark.parametrize("frames", [1, 8, 20])
def test_a_run_gives_the_command_s_figures_by_every_way(frames: int, emu_json: Told) -> None:
    """Also a bare `run_program`: nothing counts silently as infinitely fast."""
    told = emu_json("run", str(TWO_CONTEXT), "--frames", str(frames))["network_groups"][0]
    mine = emu.run(TWO_CONTEXT, frames=frames).network_groups[0]
    assert (mine.fps, mine.latency_ns, mine.simulated_ns) == (told["fps"], told["latency_ns"], told["simulated_ns"])
    program = emu.compile_hef(TWO_CONTEXT)
    bare = run_program(program, load(program.device), RunRequest(frames=frames)).groups[0]
    assert (bare.fps, bare.latency_ns) == (told["fps"], told["latency_ns"])


def test_estimates_are_the_command_s(emu_json: Told) -> None:
    told = emu_json("estimate", str(TWO_CONTEXT), "--batch", "1,8")
    assert emu.estimate(TWO_CONTEXT).document()["batches"] == told["batches"]


def test_run_takes_frames_and_gives_outputs() -> None:
    import numpy as np

    frames = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
    name = "two_context/input_layer1"
    done = emu.run(TWO_CONTEXT, inputs={name: frames})
    (output,) = done.outputs.values()
    assert len(output) == 3 and len({array.tobytes() for array in output}) == 3
    with emu.open_device() as device:
        (again,) = device.configure(TWO_CONTEXT).infer({name: frames}).values()
    assert (again == output).all()
    given = emu.run(TWO_CONTEXT, frames=2, reference=lambda group, frame, inputs: {"two_context/conv2": bytes(640)})
    assert not given.outputs["two_context/conv2"][0].any() or given.outputs["two_context/conv2"].shape[0] == 2


@pytest.mark.parametrize(
    ("options", "what"),
    [({"batc": 2}, "batc"), ({"reference": 5}, "reference"), ({"inputs": {"nobody": []}}, "nobody")],
)
def test_what_does_not_exist_is_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(emu.UsageError, match=what):
        emu.run(TWO_CONTEXT, **options)
