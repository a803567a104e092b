"""One op of a domi.ModelDef while it is read: its attributes and weights (graph-conventions.md OM-T)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.errors import GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Graph, Layout, Node, Quantisation, Tensor
from emu.graph.ops import OpError
from emu.graph.readers.om.types import DOMI_DTYPES, INT_FORMATS, check_dims, decode_constant, weight_range
from emu.schemas import om_pb2

# op_params decide the kind where they are set (graph-conventions.md OM-G4); the names are type strings of that meaning
PARAM_KINDS = {
    "sender_param": "Send",
    "receiver_param": "Recv",
    "convolution_param": "Convolution",
    "pooling_param": "Pooling",
    "eltwise_param": "Eltwise",
    "batchnorm_param": "BatchNorm",
    "scale_param": "Scale",
    "full_connection_param": "FullConnection",
    "softmax_param": "Softmax",
    "activation_param": "Activation",
    "reshape_param": "Reshape",
}

FILTER_FORMATS = (0, 1, 4, 13, 16)
MATRIX_FORMATS = (0, 2, 29)
VECTOR_FORMATS = (0, 1, 2, 3)


def op_kind(op: om_pb2.OpDef) -> str:
    """Op kind by op_params if set, else by type."""
    param = op.WhichOneof("op_params")
    return op.type if param is None else PARAM_KINDS[param]


@dataclass(slots=True)
class OpReader:
    """One op being read: its message and its node; `quantisations` of the integer weights that it has, by tensor."""

    graph: Graph
    op: om_pb2.OpDef
    node: Node
    weights: memoryview | None
    quantisations: dict[int, Quantisation] = field(default_factory=dict)
    read_weights: set[str] = field(default_factory=set)

    def input(self, place: int = 0) -> Tensor:
        """The tensor of a data input."""
        if place >= len(self.node.inputs):
            raise OpError(f"needs input {place}, has {len(self.node.inputs)}", status=GraphStatus.GRAPH_STRUCTURE)
        at = self.node.inputs[place]
        assert at is not None
        return self.graph.tensors[at]

    @property
    def channel_last(self) -> bool:
        return self.input().layout is Layout.NHWC

    @property
    def channel_axis(self) -> int:
        return len(self.input().op_shape) - 1 if self.channel_last else 1

    def output_rank(self) -> int:
        if not self.node.outputs:
            raise OpError("has no output_desc", "output_desc", GraphStatus.GRAPH_STRUCTURE)
        return len(self.graph.tensors[self.node.outputs[0]].op_shape)

    def attr(self, name: str, kind: str, default: Any = None) -> Any:
        """The value of an attribute, which must be of `kind` (a member of AttrDef.value); OpError if absent."""
        if name not in self.op.attr:
            if default is None:
                raise OpError("is missing", name)
            return default
        attr = self.op.attr[name]
        found = attr.WhichOneof("value")
        if found != kind:
            raise OpError(f"is of kind {found}, {kind} is needed", name)
        return getattr(attr, kind)

    def add(self, what: str, value: Array) -> int:
        """A constant that belongs to this op."""
        return self.graph.constant(f"{self.op.name}.{what}", value, embedded=True)

    def weight(self, definition: om_pb2.WeightDef, what: str, formats: Sequence[int]) -> int:
        """Add a weight; a filter comes as [N, C, H, W]. Rules: graph-conventions.md OM-T2 to T4."""
        at = self.add(what, self.weight_value(definition, what, formats))
        if definition.HasField("alloffset_quantize_info") and not self.op.HasField("quantize_factor"):
            info = definition.alloffset_quantize_info
            if not (info.scale > 0 and math.isfinite(info.scale)):
                raise OpError(f"scale {info.scale}: must be positive", f"{what}.alloffset_quantize_info")
            self.quantisations[at] = Quantisation(
                np.array([info.scale], np.float64), np.array([info.offset], np.int64), -(1 << 31), (1 << 31) - 1
            )
        return at

    def weight_value(self, definition: om_pb2.WeightDef, what: str, formats: Sequence[int]) -> Array:
        """The array of a weight, from the message or from WEIGHTS_DATA."""
        if (
            definition.cmps_size
            or definition.cmps_tab
            or definition.cmps_tab_offset
            or definition.HasField("cmps_info")
        ):
            raise OpError("compressed weights (cmps_*) are not supported", what, GraphStatus.GRAPH_UNSUPPORTED)
        dtype = DOMI_DTYPES.get(definition.data_type)
        if dtype is None:
            raise OpError(f"unknown data type {definition.data_type}", what, GraphStatus.OM_MODEL)
        if definition.format not in formats:
            raise OpError(f"format {definition.format} is unknown here", what, GraphStatus.OM_MODEL)
        layout = INT_FORMATS[definition.format]
        shape = check_dims(definition.shape.dim, what)
        raw: bytes | memoryview = definition.data
        if not raw:
            if definition.data_offset == 0:
                raise OpError("has neither data nor a data_offset", what, GraphStatus.OM_MODEL)
            raw = weight_range(self.weights, definition.data_offset, None, what)
        array = decode_constant(raw, dtype, layout, shape, what)
        if formats is FILTER_FORMATS:
            if len(shape) != 4:
                raise OpError(f"{list(shape)} has not four dimensions", what)
            array = layouts.to_oihw(array, str(layout) if str(layout) in layouts.AXIS_ORDERS else "NCHW")
        return array

    def named_weight(self, name: str, formats: Sequence[int]) -> int | None:
        """A weight of OpDef.weights by its weight_name (graph-conventions.md OM-O15)."""
        for place, found in enumerate(self.op.weight_name):
            if found == name and place < len(self.op.weights):
                self.read_weights.add(name)
                return self.weight(self.op.weights[place], name, formats)
        return None

    def note_what_is_not_read(self) -> None:
        """Weights that stand beside the parameters of an op, and attributes that seem to be weights."""
        kept = [name for name in self.op.weight_name if name not in self.read_weights]
        kept += [name for name in ("weight", "filter", "bias") if name in self.op.attr]
        for name in kept:
            self.graph.notes.append(
                f"op {self.op.name!r}: {name} is no parameter of {op_kind(self.op)} and is not read"
            )

    def bias(self, message: Any) -> int | None:
        return self.weight(message.bias, "bias", VECTOR_FORMATS) if message.HasField("bias") else None
