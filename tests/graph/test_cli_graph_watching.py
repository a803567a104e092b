"""`emu run` of graphs with `--profile`, `--dump-all`, `--compare`, `--against` and `--memory-limit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from emu.arrays import output_file_name
from emu.cli.main import _run
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from tests.conftest import DATA
from tests.graph import nets

SMALL_HEF = next(iter(sorted(DATA.rglob("*.hef"))), None)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    net, result = nets.separable(size=32, width=8)
    path = tmp_path / "net.om"
    path.write_bytes(net.om(result))
    return path


@pytest.fixture
def emu(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        code = _run(given, "--json" in given, False)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def dumped(folder: Path) -> dict[str, np.ndarray]:
    return {path.name: np.load(path) for path in sorted(folder.glob("*.npy"))}


def computing(model: Path) -> list:
    graph = read_graph(model.read_bytes())
    return [graph.nodes[place] for place in make_plan(graph).order if graph.nodes[place].op is not None]


def test_profile(emu, model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    code, out, _ = emu("run", model, "--json", f"--profile={trace}")
    assert code == 0
    costs = json.loads(out)["profile"]
    assert [each["time_ns"] for each in costs] == sorted((each["time_ns"] for each in costs), reverse=True)
    assert {each["name"] for each in costs} == {node.name for node in computing(model)}
    by_name = {each["name"]: each for each in costs}
    # by hand: 8 units of 3x3x3 on 16x16; a depthwise 3x3 of 8 channels; 1x1 from 8 to 16; 256 by 1000
    assert by_name["stem"]["macs"] == 16 * 16 * 8 * 27
    assert by_name["d0"]["macs"] == 16 * 16 * 8 * 9
    assert by_name["p0"]["macs"] == 16 * 16 * 16 * 8
    assert by_name["fc"]["macs"] == 256 * 1000
    assert by_name["d0"]["bytes"] == 4 * (2 * 16 * 16 * 8 + 8 * 9 + 8)
    events = json.loads(trace.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in slices] == [node.name for node in computing(model)]
    ends = [event["ts"] + event["dur"] for event in slices]
    assert all(end <= event["ts"] + 1e-6 for end, event in zip(ends, slices[1:], strict=False))
    assert slices[1]["args"]["macs"] == by_name[slices[1]["name"]]["macs"]


def test_profile_as_text_does_not_swallow_the_model(emu, model: Path) -> None:
    code, out, _ = emu("run", "--profile", model)
    assert code == 0
    assert "MACs" in out and " d0 (Convolution)" in out
    total = sum(node.op is not None for node in computing(model))
    assert f"in {total} ops" in out


def test_dump_all_holds_every_tensor(emu, model: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "out.npz"
    assert emu("run", model, "--dump-all", tmp_path / "all", "--outputs", outputs)[0] == 0
    found = dumped(tmp_path / "all")
    names = ["data", *(f"{node.name}:0" for node in computing(model) if node.outputs)]
    assert list(found) == sorted(output_file_name(at, name) for at, name in enumerate(names))
    with np.load(outputs) as archive:
        (want,) = archive.values()
    assert any(array.shape == want.shape and np.array_equal(array, want) for array in found.values())
    with_relu = next(array for name, array in found.items() if "_p3_0" in name)
    assert with_relu.min() == 0


def reference(folder: Path, change: str = "", by: float = 0.0) -> Path:
    arrays = {name[3:-4].replace("_0", ":0"): array for name, array in dumped(folder).items()}
    if change:
        arrays[change] = arrays[change] + np.float32(by) * np.abs(arrays[change]).max()
    path = folder / "ref.npz"
    np.savez(path, **arrays)
    return path


def test_compare_names_the_first_tensor_that_differs(emu, model: Path, tmp_path: Path) -> None:
    assert emu("run", model, "--seed", 5, "--dump-all", tmp_path / "all")[0] == 0
    code, out, _ = emu("run", model, "--compare", reference(tmp_path / "all"), "--json")
    document = json.loads(out)
    assert code == 0
    assert document["comparison"]["differences"] == [] and document["comparison"]["missing"] == []
    assert document["comparison"]["compared"] == len([node for node in computing(model) if node.outputs])
    # its inputs came from the file: with those of another seed everything would differ
    assert document["inputs"][0]["source"] == "file"
    changed = reference(tmp_path / "all", "d2:0", 0.01)
    code, out, _ = emu("run", model, "--compare", changed)
    assert code == 6
    assert "first difference: d2:0 of op d2" in out and "1 differ" in out
    assert emu("run", model, "--compare", changed, "--tolerance", 0.02)[0] == 0


def test_against_another_model(emu, model: Path, tmp_path: Path) -> None:
    net, result = nets.separable(size=32, width=8)
    for op in net.model.op:
        if op.name == "p1":
            op.convolution_param.relu_flag = False
    other = tmp_path / "other.om"
    other.write_bytes(net.om(result))
    assert emu("run", model, "--against", model)[0] == 0
    code, out, _ = emu("run", model, "--against", other, "--json")
    assert code == 6
    found = json.loads(out)["comparison"]["differences"]
    assert found[0]["op"] == "p1"
    assert "d1" not in {each["op"] for each in found}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--compare", "{model}"], "as .npz"),
        (["--against", "{folder}/nothing.om"], "nothing.om"),
        (["--tolerance", "1"], "--tolerance without"),
        (["--compare", "{other}"], "nothing in it has the name"),
        (["--compare", "{other}", "--against", "{model}"], "one reference at a time"),
        (["--dump-all", ""], "--dump-all needs"),
        (["--memory-limit", "0"], "memory-limit"),
    ],
)
def test_wrong_uses(emu, model: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    np.savez(tmp_path / "other.npz", something=np.zeros(3))
    places = {"model": model, "folder": tmp_path, "other": tmp_path / "other.npz"}
    code, out, err = emu("run", model, *(argument.format(**places) for argument in arguments))
    assert code in (2, 3) and out == ""
    assert err.count("\n") == 1 and words in err


def test_memory_limit(emu, model: Path) -> None:
    code, _, err = emu("run", model, "--memory-limit", 1000)
    assert code == 3 and "bytes together, the limit is 1000" in err
    assert emu("run", model, "--memory-limit", 1 << 30)[0] == 0


def test_a_trace_never_overwrites_a_model(emu, model: Path) -> None:
    kept = model.read_bytes()
    assert emu("run", model, f"--profile={model}")[0] == 2
    assert model.read_bytes() == kept


@pytest.mark.skipif(SMALL_HEF is None, reason="no HEF in tests/data")
@pytest.mark.parametrize(
    "option", [["--profile"], ["--dump-all", "x"], ["--compare", "x"], ["--against", "x"], ["--memory-limit", "9"]]
)
def test_not_for_hefs(emu, option: list[str]) -> None:
    code, _, err = emu("run", SMALL_HEF, *option)
    assert code == 2 and f"{option[0]}: for OM and MS graphs only" in err
