"""`emu run` and `emu inspect` of .ms files: JSON, exit codes, names, the example (cli.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.cli.main import main
from emu.graph.writers.ms import SubGraphBuilder, write
from emu.schemas.generated import ms_v0_5 as b
from tests.conftest import ROOT, SHARED, needs_shared
from tests.graph.ms_cases import Array, onnx

EXAMPLE = ROOT / "examples" / "lenet.ms"
LITE = {"lenet_tod_infer_20230323_5fa71c": ("1.5.0", 13), "mindrt_parallel_model_20210707_1e1f6d": ("1.2.0", 10)}
TRAINING = "lite_lenet_train_20200916_4b205b.ms"


@pytest.fixture
def emu(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the program; its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    return run


def by_onnxruntime(image: Array) -> Array:
    """The example's network, op by op, on the weights that its script makes."""
    from emu.graph.readers.ms.file import read_graph_def

    graph_def = read_graph_def(EXAMPLE.read_bytes())
    tensors = graph_def.subgraphs[0].allTensors
    nodes = {node.name: node for node in graph_def.subgraphs[0].nodes}

    def constants(name: str) -> list[Array]:
        held = [tensors[at] for at in nodes[name].inputIndex[1:]]
        dtypes = {b.DataType.DT_INT8: np.int8, b.DataType.DT_FLOAT: np.float32}
        return [np.frombuffer(each.data or b"", dtypes[each.dataType]).reshape(each.dims) for each in held]

    x = np.maximum(onnx("Conv", [image, *constants("conv1")])[0], 0)
    (x,) = onnx("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    stored, bias = constants("conv2")
    scales = np.array([each.scale for each in nodes["conv2"].quantParam[1].param]).reshape(-1, 1, 1, 1)
    (x,) = onnx("Conv", [x, (stored * scales).astype(np.float32), bias])
    x = np.maximum(onnx("Gemm", [x.reshape(1, 72), *constants("ip1")], transB=1)[0], 0)
    (x,) = onnx("Gemm", [x, *constants("ip2")], transB=1)
    return onnx("Softmax", [x], axis=1)[0]


def test_the_example_is_what_its_script_writes(tmp_path: Path) -> None:
    target = tmp_path / "lenet.ms"
    subprocess.run([sys.executable, str(ROOT / "examples" / "make_lenet_ms.py"), str(target)], check=True)
    assert target.read_bytes() == EXAMPLE.read_bytes()


def test_the_example_agrees_with_onnxruntime(emu: Any, tmp_path: Path) -> None:
    image = np.random.default_rng(1).standard_normal((1, 1, 12, 12)).astype(np.float32)
    np.save(tmp_path / "image.npy", image)
    code, out, _ = emu(
        "run", EXAMPLE, "--input", f"input_0={tmp_path / 'image.npy'}", "--output-dir", tmp_path, "--json"
    )
    assert code == 0
    document = json.loads(out)
    assert document["model"] == {"file": str(EXAMPLE), "format": "ms", "kind": "B", "name": "lenet"}
    assert document["nodes"] == 7
    assert document["inputs"] == [{"name": "input_0", "shape": [1, 1, 12, 12], "dtype": "float32", "source": "file"}]
    found = np.load(tmp_path / "00_output_0.npy")
    np.testing.assert_allclose(found, by_onnxruntime(image), rtol=1e-4, atol=1e-6)
    assert document["outputs"] == [
        {"name": "output_0", "shape": [1, 10], "dtype": "float32", "min": found.min(), "max": found.max()}
    ]


def test_until_shows_the_operands(emu: Any, tmp_path: Path) -> None:
    code, out, _ = emu("run", EXAMPLE, "--until", "relu1", "--json")
    assert code == 0
    assert [(each["name"], each["shape"]) for each in json.loads(out)["outputs"]] == [("ip1:0", [1, 16])]


def test_inspect_follows_the_schema(emu: Any) -> None:
    code, out, err = emu("inspect", EXAMPLE, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["format"], document["kind"], document["name"], document["refusals"]) == ("ms", "B", "lenet", [])
    subgraph = document["subgraphs"][0]
    assert [node["attr_type"] for node in subgraph["nodes"]] == [
        "Conv2D", "Pooling", "Conv2D", "FullConnection", "Activation", "FullConnection", "SoftMax",
    ]  # fmt: skip
    conv2 = subgraph["nodes"][2]
    assert conv2["quantType"] == "WeightQuant"
    assert [len(each["param"]) for each in conv2["quantParam"]] == [0, 8, 0, 0]
    assert conv2["attr"]["padMode"] == "VALID"
    weight = subgraph["allTensors"][conv2["inputIndex"][1]]
    assert (weight["dataType"], weight["dims"], weight["data"]) == ("DT_INT8", [8, 4, 3, 3], {"bytes": 288})


def test_inspect_as_text_names_every_operator_and_tensor(emu: Any) -> None:
    code, out, _ = emu("inspect", EXAMPLE, "--constants")
    assert code == 0
    assert "generation B (schema 0.5)" in out
    for line in ("node 2 'conv2': Conv2D [4, 6, 7] -> [5]", "tensor 6: DT_INT8 [8, 4, 3, 3] NCHW, 288 bytes"):
        assert line in out


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """A sound file whose second operator cannot be executed."""
    builder = SubGraphBuilder()
    x, y, z = builder.input((2,)), builder.tensor((2,)), builder.tensor((2,))
    builder.node(b.Exp(), [x], [y], name="exp")
    builder.node(b.Activation(b.ActivationType.LEAKY_RELU), [y], [z], name="leaky")
    builder.outputs.append(z)
    path = tmp_path / "refused.ms"
    path.write_bytes(write(builder.graph()))
    return path


def test_a_refused_operator_is_listed_and_runs_up_to_it(emu: Any, refused: Path) -> None:
    code, out, err = emu("run", refused)
    assert (code, out) == (3, "")
    assert err.startswith("emu: error: GRAPH_UNSUPPORTED(6): op 'leaky' (Activation): attribute type")
    assert err.count("\n") == 1
    code, out, _ = emu("inspect", refused, "--json")
    assert code == 0
    (reason,) = json.loads(out)["refusals"]
    assert "leaky" in reason
    code, out, _ = emu("run", refused, "--until", "leaky", "--json")
    assert code == 0
    assert json.loads(out)["outputs"][0]["name"] == "exp:0"


@pytest.mark.parametrize("options", [["--device", "hailo8"], ["--batch", "2"], ["--trace"], ["--frames", "2"]])
def test_options_of_a_device_are_wrong_use(emu: Any, options: list[str]) -> None:
    code, out, err = emu("run", EXAMPLE, *options)
    assert (code, out) == (2, "")
    assert err


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("input_0", np.zeros((1, 1, 12, 12), np.float64), "float64"),
        ("input_0", np.zeros((1, 12, 12), np.float32), r"[1, 12, 12]"),
    ],
)
def test_inputs_are_never_cast_or_reshaped(emu: Any, tmp_path: Path, name: str, array: Array, words: str) -> None:
    path = tmp_path / "x.npy"
    np.save(path, array)
    code, out, _ = emu("run", EXAMPLE, "--input", f"{name}={path}", "--json")
    error = json.loads(out)["error"]
    assert (code, error["status"], error["name"]) == (2, 7, "GRAPH_INPUT")
    assert words in error["message"]


@needs_shared
@pytest.mark.parametrize("name", LITE)
def test_lite_runs_and_is_shown(emu: Any, name: str) -> None:
    path = SHARED / "ms" / f"lite_{name}.ms"
    version, nodes = LITE[name]
    code, out, err = emu("run", path, "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["model"] | {"file": "", "name": ""} == {"file": "", "format": "ms", "kind": "lite", "name": ""}
    assert (document["nodes"], [each["name"] for each in document["inputs"]]) == (nodes, ["input_0"])
    code, out, err = emu("inspect", path, "--json")
    document = json.loads(out)
    assert (code, err, document["version"]) == (0, "", f"MindSpore Lite {version}")
    assert (len(document["nodes"]), document["refusals"]) == (nodes, [])
    code, out, err = emu("inspect", path)
    assert (code, err) == (0, "")
    assert version in out


@needs_shared
def test_a_training_graph_of_lite_is_refused_by_its_operators(emu: Any) -> None:
    """What precedes the loss runs; the loss and what follows are operators of training."""
    path = SHARED / "ms" / TRAINING
    code, out, err = emu("run", path)
    assert (code, out) == (3, "")
    assert err.startswith("emu: error: GRAPH_UNSUPPORTED(6): ")
    assert "(SoftmaxCrossEntropy): an operator of training" in err
    code, out, _ = emu("inspect", path, "--json")
    document = json.loads(out)
    kinds = {line.split("(")[2].split(")")[0] for line in document["refusals"]}
    assert code == 0
    assert kinds == {
        "SoftmaxCrossEntropy", "BiasGrad", "ApplyMomentum", "ActivationGrad", "Conv2DGradFilter", "Conv2DGradInput",
        "PoolingGrad",
    }  # fmt: skip
    loss = next(node["name"] for node in document["nodes"] if node["primitive"]["value_type"] == "SoftmaxCrossEntropy")
    code, out, _ = emu("run", path, "--until", loss, "--json")
    assert (code, json.loads(out)["outputs"][0]["shape"]) == (0, [32, 10])


@needs_shared
def test_every_invalid_file_exits_with_3(emu: Any) -> None:
    paths = sorted((SHARED / "graphs" / "ms").glob("bad_*.ms"))
    assert len(paths) > 40
    for path in paths:
        if path.stem == "bad_om_file":  # an OM file, and recognised as one (graph-conventions.md 0.10)
            continue
        code, out, err = emu("run", path, "--json")
        assert code == 3, path.name
        assert json.loads(out)["error"]["message"]
        assert err.count("\n") <= 1
