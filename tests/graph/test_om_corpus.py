"""Every made-up OM case gives its expected outputs or its refusal; written again as graph kind it computes the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.readers import om
from emu.graph.readers.om import container as om_container
from emu.graph.readers.om.domi import parse
from emu.graph.readers.om.domi_ops import MEANINGS
from emu.graph.readers.om.domi_site import PARAM_KINDS
from emu.graph.writers.om import write_om
from emu.graph.writers.om_graph_kind import rewrite
from emu.schemas import om_pb2
from tests.graph.om_cases import CASES, INVALID, VALID, Case, compare

S = GraphStatus
# the kind of refusal in the index -> the status
STATUSES = {
    "not an .om file: too short for the 256-byte header": S.OM_CONTAINER,
    "truncated: no partition table": S.OM_CONTAINER,
    "different format (PICO), refused by magic": S.OM_CONTAINER,
    "header size is not 256": S.OM_CONTAINER,
    "length != file size - 256": S.OM_CONTAINER,
    "truncated": S.OM_CONTAINER,
    "length != file size - 256 / trailing bytes": S.OM_CONTAINER,
    "no MODEL_DEF partition": S.OM_CONTAINER,
    "partition table beyond the file": S.OM_CONTAINER,
    "partition beyond the file": S.OM_CONTAINER,
    "partition offset beyond the file": S.OM_CONTAINER,
    "duplicate partition type": S.OM_CONTAINER,
    "protobuf decode error": S.OM_MODEL,
    "neither graph nor domi: no ops": S.OM_MODEL,
    "both kinds present: refused": S.OM_MODEL,
    "input producer does not exist": S.GRAPH_STRUCTURE,
    "negative src_index": S.GRAPH_STRUCTURE,
    "src_name / src_index counts disagree": S.GRAPH_STRUCTURE,
    "cyclic graph": S.GRAPH_STRUCTURE,
    "unknown data type": S.OM_MODEL,
    "unknown weight format": S.OM_MODEL,
    "unknown op type": S.GRAPH_UNSUPPORTED,
    "compressed weights are unsupported": S.GRAPH_UNSUPPORTED,
    "Recv without Send": S.GRAPH_STRUCTURE,
    "more than one Send for an event": S.GRAPH_STRUCTURE,
    "deadlock: wait cycle between streams": S.GRAPH_STRUCTURE,
    "deadlock": S.GRAPH_STRUCTURE,
}


def status(kind: str) -> GraphStatus:
    """Shapes, weights and attributes are the rest."""
    if kind.startswith("as domi.ModelDef"):
        return S.GRAPH_STRUCTURE
    return STATUSES.get(kind, S.GRAPH_SHAPE)


@pytest.mark.parametrize("plain", [False, True], ids=["fast", "reference"])
@pytest.mark.parametrize("case", VALID, ids=lambda case: case.name)
def test_outputs(case: Case, plain: bool):
    got = executor.run(om.read(case.data), case.arrays("inputs"), reference=plain)
    compare(got, case.arrays("expected"), *case.limits)


ONLY_DOMI = {"AddLimited", "MulLimited"}
"""What om-format.md 10 has no row for."""


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.name)
def test_written_again_as_graph_kind(case: Case):
    container = om_container.read_container(case.data)
    model = parse(container.find(om_container.MODEL_DEF))
    if any(op.type in ONLY_DOMI for op in model.op):
        with pytest.raises(GraphError, match="no counterpart"):
            rewrite(model, container.find(om_container.WEIGHTS_DATA))
        return
    graph = om.read(rewrite(model, container.find(om_container.WEIGHTS_DATA)))
    assert graph.kind == "graph"
    compare(executor.run(graph, case.arrays("inputs")), case.arrays("expected"), *case.limits)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("case", VALID, ids=lambda case: case.name)
def test_written_again_as_domi(case: Case, wide: bool):
    """The writer gives a file that reads the same, with both tables."""
    container = om_container.read_container(case.data)
    weights = container.find(om_container.WEIGHTS_DATA)
    model = parse(container.find(om_container.MODEL_DEF))
    again = write_om(model, bytes(weights or b""), wide_table=wide)
    found = om_container.read_container(again)
    assert found.table_bits == (64 if wide else 32)
    assert parse(found.find(om_container.MODEL_DEF)) == model
    assert bytes(found.find(om_container.WEIGHTS_DATA) or b"") == bytes(weights or b"")


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case.name)
def test_refusal(case: Case):
    with pytest.raises(GraphError) as caught:
        graph = om.read(case.data)
        zeros = {p.name: np.zeros(graph.tensors[p.tensor].shape, graph.tensors[p.tensor].dtype) for p in graph.inputs}
        executor.run(graph, zeros)
    line = caught.value.line()
    assert caught.value.status is status(case.kind), line
    assert "\n" not in line
    if caught.value.status in (S.GRAPH_SHAPE, S.GRAPH_UNSUPPORTED):
        assert caught.value.where["op"] in line
        assert "inputs " in line and "outputs " in line


def test_the_index_is_whole():
    assert (len(VALID), len(INVALID)) == (135, 46)
    assert {case.path.name for case in CASES} == {path.name for path in CASES[0].path.parent.glob("*.om")}


def test_every_message_of_the_seed_has_a_meaning():
    """Op messages of om.proto: those of the oneof, and those carried by attributes (graph-conventions.md OM-O15)."""
    messages = {name.removesuffix("OpParams") for name in om_pb2.DESCRIPTOR.message_types_by_name if "OpParams" in name}
    assert messages <= set(MEANINGS)
    oneof = om_pb2.OpDef.DESCRIPTOR.oneofs_by_name["op_params"].fields
    assert {field.name for field in oneof} == set(PARAM_KINDS)


def test_every_meaning_has_a_case():
    seen = set()
    for case in VALID:
        container = om_container.read_container(case.data)
        for op in parse(container.find(om_container.MODEL_DEF)).op:
            which = op.WhichOneof("op_params")
            seen.add(op.type if which is None else PARAM_KINDS[which])
    # Deconvolution and ConvolutionDepthwise are types of ops whose op_params decide
    assert set(MEANINGS) - seen == {"Deconvolution", "ConvolutionDepthwise"}


def noted(name: str, change: Callable[[om_pb2.OpDef], None], kind: str) -> list[str]:
    """The notes of a case whose first op of a kind is changed."""
    container = om_container.read_container(next(case for case in VALID if case.name == name).data)
    model = parse(container.find(om_container.MODEL_DEF))
    change(next(op for op in model.op if kind in (op.type, op.WhichOneof("op_params"))))
    return om.read(write_om(model, bytes(container.find(om_container.WEIGHTS_DATA) or b""))).notes


def test_what_is_not_used_is_noted():
    """Statistics that are not the file's, weights beside the typed parameters (graph-conventions.md OM-O8, OM-O15)."""

    def unset(op: om_pb2.OpDef) -> None:
        op.batchnorm_param.use_global_stats = False

    def add_weight(op: om_pb2.OpDef) -> None:
        op.weight_name.append("bias")
        op.weights.add().data = b"1234"

    def add_attribute(op: om_pb2.OpDef) -> None:
        op.attr["weight"].bt = b"1234"

    name = next(case.name for case in VALID if case.name.startswith("bn"))
    assert not noted(name, lambda op: None, "batchnorm_param")
    assert any("use_global_stats" in note for note in noted(name, unset, "batchnorm_param"))
    for change, word in ((add_weight, "bias"), (add_attribute, "weight")):
        assert any(f"{word} is no parameter" in note for note in noted(name, change, "batchnorm_param"))
