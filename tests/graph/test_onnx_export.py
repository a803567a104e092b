"""Exported ONNX models in onnxruntime: against the expected arrays of the made-up graphs, and against our executor on
the real files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import onnx
import pytest

from emu.cli.main import _run
from emu.errors import GraphError, GraphStatus
from emu.graph.executor import run
from emu.graph.feed import made_up
from emu.graph.ir import Graph
from emu.graph.load import map_file, read_graph
from emu.graph.writers.onnx import export
from tests.conftest import SHARED, needs_shared
from tests.graph import nets
from tests.onnx_session import onnx_session

WITHOUT_COUNTERPART = {"a_detpost.ms", "detpost_fast.ms", "detpost_regular.ms"}


def rows() -> list[dict[str, str]]:
    index = SHARED / "graphs" / "INDEX.tsv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8") as file:
        found = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in found if row["valid"] == "valid"]


ROWS = rows()


def in_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    onnx.checker.check_model(model)
    session = onnx_session(model.SerializeToString())
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feeds), strict=True))


def exported(path: Path) -> tuple[Graph, onnx.ModelProto]:
    graph = read_graph(map_file(path))
    return graph, export(graph)


@needs_shared
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_made_up_graphs(row: dict[str, str]) -> None:
    path = SHARED / "graphs" / row["name"]
    if path.name in WITHOUT_COUNTERPART:
        with pytest.raises(GraphError, match="has no counterpart in ONNX") as caught:
            exported(path)
        assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED
        return
    _, model = exported(path)
    with np.load(path.with_suffix(".inputs.npz")) as given:
        found = in_onnxruntime(model, dict(given))
    atol, rtol = 1e-6, 1e-6  # what is exact in one executor may be rounded differently in another
    if row["tolerance"] != "exact":
        atol, rtol = (float(part.partition("=")[2]) for part in row["tolerance"].split())
    with np.load(path.with_suffix(".expected.npz")) as wanted:
        assert found.keys() == set(wanted.files)
        for name, want in wanted.items():
            got = found[name]
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)


# largest deviation in parts of the largest magnitude; float16 rounds at every one of a network's tensors
REAL = {
    "ms/lenet.ms": 1e-5,
    "om/0_Add_0_2_1_100_0_2_1_100_0_2_1_100_09311f.om": 0,
    "om/0_Add_1_2_192_1_1_2_192_1_1_2_192_1_05e22d.om": 0,
    "om/0_GEMM_1_2_4_8_1_2_8_2_1_2_4_2_1_2_1_1_2_1_1_2_4_2_a009dd.om": 1e-3,
    "om/0_Relu_0_2_1_512_0_2_1_512_da09e8.om": 0,
    "om/aipp.om": 2e-3,
    "om/batchnorm.om": 1e-6,
    "om/hiai.om": 2e-2,
    "om/hifill_matmul.om": 2e-3,
    "om/relu.om": 0,
    "om/tensorflow2_resnet20_quant8_8_retrain.om": 1e-5,
    "om/tf_conv_opversion_0.om": 2e-3,
    "om/tf_conv_opversion_5.om": 2e-3,
    "om/tf_deconv_size_1.om": 1e-5,
    "om/tf_softmax_hcs_npucl.om": 1e-5,
    "om/tf_softmax_infershaped.om": 1e-5,
    "om/tf_softmax_v100.om": 1e-5,
}


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files(name: str) -> None:
    graph, model = exported(SHARED / name)
    feeds = made_up(graph, graph.inputs, 7)
    found = in_onnxruntime(model, feeds)
    for key, want in run(graph, feeds).items():
        got = found[key]
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        limit = REAL[name] * np.abs(want.astype(np.float64)).max()
        assert np.abs(got.astype(np.float64) - want.astype(np.float64)).max() <= limit


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, result = nets.separable(size=32, width=8)
    model, target = tmp_path / "net.om", tmp_path / "net.onnx"
    model.write_bytes(net.om(result))
    assert _run(["export", str(model), "-o", str(target)], False, False) == 0
    assert "net.onnx: ONNX opset 17" in capsys.readouterr().out
    x = np.random.default_rng(0).standard_normal(net.shape, np.float32)
    found = in_onnxruntime(onnx.load(target), {"data": x})
    want = onnx_session(net.onnx(result)).run(None, {"data": x})[0]
    np.testing.assert_allclose(found[f"{result}:0"], want, rtol=1e-4, atol=1e-4)
    # one operator an op: no casts or copies that do nothing
    assert {node.op_type for node in onnx.load(target).graph.node} <= {
        "Conv", "Relu", "Gemm", "Reshape", "GlobalAveragePool", "Identity",
    }  # fmt: skip


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, result = nets.separable(size=32, width=8)
    model = tmp_path / "net.om"
    model.write_bytes(net.om(result))
    kept = model.read_bytes()
    assert _run(["export", str(model), "-o", str(model)], False, False) == 2
    assert model.read_bytes() == kept
    assert "is an existing model file" in capsys.readouterr().err
    assert _run(["export", str(model), "-o", str(tmp_path / "no" / "net.onnx")], False, False) == 7
    assert "cannot write" in capsys.readouterr().err
