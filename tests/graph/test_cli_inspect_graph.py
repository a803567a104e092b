"""`emu inspect` of OM and MS files: the summary, text against JSON, and what no terminal should get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.cli.main import _run
from emu.graph.writers.om import write_om
from tests.conftest import SHARED, needs_shared
from tests.graph import nets
from tests.graph.om_cases import VALID

REAL = ("om/aipp.om", "om/vae_hh_om.om", "om/0_Add_0_2_1_100_0_2_1_100_0_2_1_100_09311f.om", "ms/lenet.ms")


@pytest.fixture
def emu(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        code = _run(given, "--json" in given, False)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_summary(emu, tmp_path: Path) -> None:
    net, result = nets.separable(size=32, width=8)
    path = tmp_path / "net.om"
    path.write_bytes(net.om(result))
    code, out, _ = emu("inspect", path, "--json")
    found = json.loads(out)["summary"]
    assert code == 0
    assert found["inputs"] == [{"name": "data", "dtype": "float32", "shape": [1, 3, 32, 32]}]
    assert found["outputs"] == [{"name": f"{result}:0", "dtype": "float32", "shape": [1, 1000]}]
    assert found["operators"] == {"Convolution": 27, "Data": 1, "Pooling": 1, "FullConnection": 1, "NetOutput": 1}
    weights = [np.prod(each.dims) for each in net.initialisers]
    assert found["parameters"] == sum(weights)
    assert found["constant_bytes"] == 4 * sum(weights)
    # what the ONNX model of the same network costs, by its own shapes
    macs = 256 * 1000
    for node in net.nodes:
        if node.op_type == "Conv":
            weight = next(each for each in net.initialisers if each.name == node.input[1])
            name = node.output[0].removesuffix(".sum")
            macs += int(np.prod(net.shapes[name])) * int(np.prod(weight.dims[1:]))
    assert found["macs"] == macs
    text = emu("inspect", path)[1].splitlines()
    assert text[1:4] == [
        "model 'separable'",
        "  input data: float32[1, 3, 32, 32]",
        f"  output {result}:0: float32[1, 1000]",
    ]
    assert f"  MACs: {macs}" in text and f"  parameters: {sum(weights)}" in text
    assert not any(line.startswith("constant ") for line in text)
    told = [line for line in emu("inspect", path, "--constants")[1].splitlines() if line.startswith("constant ")]
    assert len(told) == len(net.initialisers)


def scalars(value: Any) -> Iterator[str]:
    """Every value of a document as text would show it, and every key that is not of the schema but of the file."""
    if isinstance(value, dict):
        for key, each in value.items():
            if each not in (None, [], {}, ""):
                yield str(key)
            yield from scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from scalars(each)
    elif value not in (None, ""):
        yield str(value)


TOLD_OTHERWISE = {
    "format", "kind", "summary", "table_bits", "partitions", "ModelDef", "constants", "tasks", "refusals", "notes",
    "header", "om", "type", "offset", "size", "name", "dtype", "shape", "layout", "bytes", "inputs", "outputs", "op",
    "operators", "constant_bytes", "macs", "peak_bytes", "version", "graph", "attr", "count", "gears", "ms",
    "subgraphs", "allTensors", "nodes", "opDef", "attr_type", "file", "model", "dataType", "fmkType", "data", "dims",
    "mempoolCfg", "checksum", "userdefineinfo", "subgraph", "stream_id", "1", "0",
    # defaults of the schema, which the text leaves out
    "False", "QUANT_NONE", "isLastConv", "mempoolSize", "quantType",
}  # fmt: skip


def assert_text_is_whole(document: dict[str, Any], text: str) -> None:
    for header in ("checksum", "userdefineinfo"):
        document.get("header", {}).pop(header, None)
    version = document.get("header", {}).pop("version", None)
    assert version is None or f"0x{version:08X}" in text
    missing = {each for each in scalars(document) if each not in TOLD_OTHERWISE and each not in text}
    assert not missing


@pytest.mark.parametrize("case", VALID[::7], ids=lambda case: case.name)
def test_text_tells_all_that_json_tells(emu, case) -> None:
    document = json.loads(emu("inspect", case.path, "--json")[1])
    assert_text_is_whole(document, emu("inspect", case.path, "--constants")[1])


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_text_of_real_files_tells_all(emu, name: str) -> None:
    document = json.loads(emu("inspect", SHARED / name, "--json")[1])
    assert_text_is_whole(document, emu("inspect", SHARED / name, "--constants")[1])


@needs_shared
def test_summary_of_real_files(emu) -> None:
    found = json.loads(emu("inspect", SHARED / "om" / "0_Add_0_2_1_100_0_2_1_100_0_2_1_100_09311f.om", "--json")[1])
    made = found["summary"]
    assert (made["soc_version"], made["cann_version"]) == ("Ascend910", "7.0.T8.0.B214")
    assert (made["memory_size"], made["weight_size"], made["gears"]) == (2560, 1024, [])
    lenet = json.loads(emu("inspect", SHARED / "ms" / "lenet.ms", "--json")[1])["summary"]
    # Caffe's LeNet: 500 + 25,000 + 400,000 + 5,000 weights and 580 biases
    assert lenet["parameters"] == 431080
    assert lenet["macs"] == 24 * 24 * 500 + 8 * 8 * 25000 + 400000 + 5000


CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.mark.parametrize("evil", ["\x1b[2Jgone", "bell\x07", "c1\x9b31m", "del\x7f", "line\nbreak", "tab\t\r"])
def test_no_control_character_of_a_file_gets_out(emu, tmp_path: Path, evil: str) -> None:
    net, result = nets.separable(size=32, width=8)
    net.om(result)
    net.model.name = evil
    for op in net.model.op:
        if op.name == "d0":
            op.attr[evil].s = evil.encode()
            op.name = evil
        for at, source in enumerate(op.src_name):
            if source == "d0":
                op.src_name[at] = evil
    path = tmp_path / "evil.om"
    path.write_bytes(write_om(net.model, bytes(net.constants.data)))
    for arguments in (
        ("inspect", path), ("inspect", path, "--json"), ("inspect", path, "--constants"), ("run", path),
        ("run", path, "--json", "--profile"), ("run", path, "--profile"), ("run", path, "--until", evil),
    ):  # fmt: skip
        code, out, err = emu(*arguments)
        assert code == 0, err
        assert not CONTROL.search(out) and not CONTROL.search(err)
        # lines are ours: a name breaks none
        assert "break\n" not in out.replace("\\nbreak\n", "")
    assert json.loads(emu("inspect", path, "--json")[1])["ModelDef"]["name"] == evil


def test_constants_are_for_text(emu, tmp_path: Path) -> None:
    net, result = nets.separable(size=32, width=8)
    path = tmp_path / "net.om"
    path.write_bytes(net.om(result))
    code, _, err = emu("inspect", path, "--constants", "--json")
    assert code == 2 and "--constants" in err
