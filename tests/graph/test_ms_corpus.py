"""Every shared MS graph gives its expected outputs, or its refusal; the real files do what is known of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.readers import ms
from emu.graph.readers.ms.file import read_graph_def
from emu.graph.writers.ms import write
from tests.conftest import SHARED, needs_shared

INDEX = SHARED / "graphs" / "INDEX.tsv"


def cases(kind: str) -> list[dict[str, str]]:
    if not INDEX.exists():
        return []
    with INDEX.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["format"] == "ms" and row["valid"] == kind]


def names(rows: list[dict[str, str]]) -> list[str]:
    return [Path(row["name"]).stem for row in rows]


VALID, INVALID = cases("valid"), cases("invalid")

# the kind of refusal in INDEX.tsv → the status; what the file layer sees first is MS_FLATBUFFER
STATUSES = {
    "too short": GraphStatus.MS_FLATBUFFER,
    "root offset out of range": GraphStatus.MS_FLATBUFFER,
    "truncated: offsets out of range": GraphStatus.MS_FLATBUFFER,
    "truncated": GraphStatus.MS_FLATBUFFER,
    "MindSpore Lite file, wrong generation": GraphStatus.MS_FLATBUFFER,
    "not a predict GraphDef: root vtable too large (Lite)": GraphStatus.MS_FLATBUFFER,
    "vector beyond the file": GraphStatus.MS_FLATBUFFER,
    "vtable out of range": GraphStatus.MS_FLATBUFFER,
    "offset out of range": GraphStatus.MS_FLATBUFFER,
    "unknown operator type": GraphStatus.MS_FLATBUFFER,
    "union without table": GraphStatus.MS_FLATBUFFER,
    "not a FlatBuffer GraphDef": GraphStatus.MS_FLATBUFFER,
    "no subgraph": GraphStatus.GRAPH_STRUCTURE,
    "tensor index out of range": GraphStatus.GRAPH_STRUCTURE,
    "cyclic graph": GraphStatus.GRAPH_STRUCTURE,
    "missing producer": GraphStatus.GRAPH_STRUCTURE,
    "node output is a constant with data": GraphStatus.GRAPH_STRUCTURE,
    "too few inputs": GraphStatus.GRAPH_STRUCTURE,
    "missing bias input": GraphStatus.GRAPH_STRUCTURE,
    "unknown or undefined data type": GraphStatus.GRAPH_UNSUPPORTED,
    "unknown pad mode": GraphStatus.GRAPH_UNSUPPORTED,
    "unknown/undefined activation type": GraphStatus.GRAPH_UNSUPPORTED,
    "unknown eltwise mode": GraphStatus.GRAPH_UNSUPPORTED,
    "unknown padding mode": GraphStatus.GRAPH_UNSUPPORTED,
    "unknown reduce mode": GraphStatus.GRAPH_UNSUPPORTED,
    "weight bytes shorter than shape": GraphStatus.GRAPH_SHAPE,
    "negative dimension": GraphStatus.GRAPH_SHAPE,
    "size overflow / data shorter than shape": GraphStatus.GRAPH_SHAPE,
    "shape mismatch": GraphStatus.GRAPH_SHAPE,
    "kernel disagrees with the weight": GraphStatus.GRAPH_SHAPE,
    "shapes cannot be broadcast": GraphStatus.GRAPH_SHAPE,
    "element counts differ": GraphStatus.GRAPH_SHAPE,
    "index out of range": GraphStatus.GRAPH_SHAPE,
    "inner dimensions differ": GraphStatus.GRAPH_SHAPE,
    "quantParam per channel count differs": GraphStatus.GRAPH_SHAPE,
    "scale must be positive": GraphStatus.GRAPH_SHAPE,
}
# the same words for two layers: a node without operator is a sound buffer of either generation
BY_NAME = {
    "bad_union_none": GraphStatus.GRAPH_UNSUPPORTED,
    "bad_a_no_opdef": GraphStatus.GRAPH_STRUCTURE,
}


def compare(row: dict[str, str], data: bytes, reference: bool) -> None:
    path = SHARED / "graphs" / row["name"]
    with np.load(path.with_suffix(".inputs.npz")) as inputs:
        found = executor.run(ms.read(data), dict(inputs), reference=reference)
    with np.load(path.with_suffix(".expected.npz")) as expected:
        wanted = dict(expected)
    assert found.keys() == wanted.keys()
    atol, rtol = 0.0, 0.0
    if row["tolerance"] != "exact":
        atol, rtol = (float(part.partition("=")[2]) for part in row["tolerance"].split())
    for name, want in wanted.items():
        got = found[name]
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)


@needs_shared
@pytest.mark.parametrize("row", VALID, ids=names(VALID))
def test_expected_outputs(row: dict[str, str]) -> None:
    data = (SHARED / "graphs" / row["name"]).read_bytes()
    compare(row, data, reference=False)
    compare(row, data, reference=True)


@needs_shared
@pytest.mark.parametrize("row", VALID, ids=names(VALID))
def test_written_again_means_the_same(row: dict[str, str]) -> None:
    graph_def = read_graph_def((SHARED / "graphs" / row["name"]).read_bytes())
    data = write(graph_def)
    assert read_graph_def(data) == graph_def
    compare(row, data, reference=False)


@needs_shared
@pytest.mark.parametrize("row", INVALID, ids=names(INVALID))
def test_refusals(row: dict[str, str]) -> None:
    path = SHARED / "graphs" / row["name"]
    with pytest.raises(GraphError) as caught:
        graph = ms.read(path.read_bytes())
        tensors = {port.name: graph.tensors[port.tensor] for port in graph.inputs}
        executor.run(graph, {name: np.zeros(tensor.shape, tensor.dtype) for name, tensor in tensors.items()})
    assert caught.value.status is BY_NAME.get(path.stem, STATUSES.get(row["oracle_or_refusal"]))


@needs_shared
def test_the_corpus_is_whole() -> None:
    assert {Path(row["name"]).stem for row in (*VALID, *INVALID)} == {
        path.stem for path in (SHARED / "graphs" / "ms").glob("*.ms")
    }


@needs_shared
def test_lenet_gives_its_golden_output() -> None:
    folder = SHARED / "ms"
    graph = ms.read((folder / "lenet.ms").read_bytes())
    image = np.fromfile(folder / "lenet.bin", np.float32).reshape(1, 1, 28, 28)
    header, values = (folder / "lenet.out").read_text().splitlines()[:2]
    assert header.split() == ["prob", "2", "1", "10"]
    want = np.array(values.split(), np.float64).reshape(1, 10)
    found = executor.run(graph, {"input_0": image})
    assert graph.kind == "A"
    np.testing.assert_allclose(found["output_0"], want, rtol=0, atol=1e-6)


@needs_shared
@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("lite_lenet_tod_infer_20230323_5fa71c", "MindSpore Lite 1.5.0"),
        ("lite_lenet_train_20200916_4b205b", "MindSpore Lite 0.7.0"),
        ("lite_mindrt_parallel_model_20210707_1e1f6d", "MindSpore Lite 1.2.0"),
    ],
)
def test_lite_files_are_refused_by_name_and_version(name: str, version: str) -> None:
    with pytest.raises(GraphError, match=version) as caught:
        ms.read((SHARED / "ms" / f"{name}.ms").read_bytes())
    assert caught.value.status is GraphStatus.MS_FLATBUFFER
