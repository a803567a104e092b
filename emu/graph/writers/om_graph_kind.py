"""A domi.ModelDef written again as a graph-style ModelDef: parameters become attributes, weights become Const ops.

The attributes have the names of the seed's fields, as the old Kirin files have them (om-format.md 0, 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Array, Graph, Layout, Node, Tensor
from emu.graph.readers.om import domi
from emu.graph.readers.om.domi_site import FILTER_FORMATS, MATRIX_FORMATS, VECTOR_FORMATS, OpReader, op_kind
from emu.graph.readers.om.ge_ops import MEANINGS
from emu.graph.readers.om.types import DOMI_DTYPES, PROTO_DTYPES
from emu.graph.writers.om import Constants, write_om
from emu.schemas import ge_ir_pb2, om_pb2

PROTO_OF = {dtype: number for number, dtype in PROTO_DTYPES.items()}

# type strings of the graph kind for kinds that are spelt otherwise there; all others keep theirs
TYPES = {"FullConnection": "FullyConnection", "BatchNorm": "BNInference"}

PLURAL = {"pad": "pads", "stride": "strides", "dilation": "dilations", "group": "groups"}

# attributes that are of another kind than their field
AS_INTEGER = {"ceil_mode"}


def rewrite(model: om_pb2.ModelDef, weights: memoryview | None = None) -> bytes:
    """The .om file of the graph kind that computes what `model` computes; GraphError for an op that it has not."""
    writer = _Writer(model, weights)
    message = writer.write()
    return write_om(message, bytes(writer.constants.data), modeltype=0)


@dataclass(slots=True)
class _Writer:
    model: om_pb2.ModelDef
    weights: memoryview | None
    constants: Constants = field(default_factory=Constants.empty)
    graph: ge_ir_pb2.GraphDef = field(default_factory=ge_ir_pb2.GraphDef)
    tensors: dict[str, list[Tensor]] = field(default_factory=dict)

    def write(self) -> ge_ir_pb2.ModelDef:
        # the reader has worked out the logical dims of packed tensors
        read = domi.read_domi(memoryview(self.model.SerializeToString()), self.weights)
        self.tensors = {node.name: [read.tensors[at] for at in node.outputs] for node in read.nodes}
        message = ge_ir_pb2.ModelDef(name=self.model.name, version=2, custom_version="1.0.0")
        message.attr["stream_num"].i = self.model.stream_num
        message.attr["event_num"].i = self.model.event_num
        message.attr["weight_size"].i = self.model.weight_size
        message.attr["memory_size"].i = self.model.memory_size
        self.graph = message.graph.add(name=self.model.name)
        for op in self.model.op:
            self._write_op(op)
        return message

    def _write_op(self, op: om_pb2.OpDef) -> None:
        kind = op_kind(op)
        constants = self._constant_operands(op, kind)
        target = self.graph.op.add(name=op.name, type=self._type(op, kind), stream_id=op.stream_id, id=op.id)
        count = len(op.src_index)
        edges = [f"{name}:{index}" for name, index in zip(op.src_name, op.src_index, strict=False)]
        target.input.extend([*edges, *constants])
        if len(op.src_name) > count:
            target.input.extend(f"{name}:-1" for name in op.src_name[count].split(":") if name)
        for name, index in zip(op.src_name, op.src_index, strict=False):
            self._describe(target.input_desc.add(), self.tensors[name][index])
        for tensor in self.tensors[op.name]:
            self._describe(target.output_desc.add(), tensor)
        if kind == "Data":
            self._describe(target.input_desc.add(), self.tensors[op.name][0])
        elif kind == "Const":
            target.attr["value"].t.CopyFrom(self._constant(self._reader(op).weight_value(op.weights[0], "value", ANY)))
        for name, attr in op.attr.items():
            target.attr[name].ParseFromString(attr.SerializeToString())
        self._parameters(op, target)

    def _type(self, op: om_pb2.OpDef, kind: str) -> str:
        name = "ConvTranspose" if kind == "Convolution" and op.convolution_param.mode == 2 else TYPES.get(kind, kind)
        if name not in MEANINGS:
            raise GraphError(
                GraphStatus.GRAPH_UNSUPPORTED,
                f"op {op.name!r}: {kind} has no counterpart in the graph kind",
                op=op.name,
            )
        return name

    def _reader(self, op: om_pb2.OpDef) -> OpReader:
        return OpReader(Graph("om", "domi", ""), op, Node(op.name, op.type, None), self.weights)

    # --- weights ----------------------------------------------------------------------------------------------------

    def _constant_operands(self, op: om_pb2.OpDef, kind: str) -> list[str]:
        """A Const op for every weight; returns the edges from them, in operand order."""
        reader = self._reader(op)
        param = getattr(op, op.WhichOneof("op_params") or "convolution_param")
        found: list[tuple[str, Array]] = []

        def take(name: str, definition: om_pb2.WeightDef, formats: Sequence[int]) -> None:
            found.append((name, reader.weight_value(definition, name, formats)))

        if kind in ("Convolution", "FullConnection"):
            matrix = kind == "FullConnection" and len(param.filter.shape.dim) != 4
            take("filter", param.filter, MATRIX_FORMATS if matrix else FILTER_FORMATS)
            if param.HasField("bias"):
                take("bias", param.bias, VECTOR_FORMATS)
        elif kind == "Scale":
            take("scale", param.scale, VECTOR_FORMATS)
            if param.HasField("bias"):
                take("bias", param.bias, VECTOR_FORMATS)
        elif kind == "BatchNorm":
            found = self._batch_norm(reader, param)
        elif kind == "Eltwise":
            for weight in param.weight:
                take("weight", weight, VECTOR_FORMATS)
        elif kind != "Const":
            for name, weight in zip(op.weight_name, op.weights, strict=False):
                take(name, weight, MATRIX_FORMATS if name == "filter" else VECTOR_FORMATS)
        edges: list[str] = []
        for place, (name, value) in enumerate(found):
            const = self.graph.op.add(name=f"{op.name}.{name}{place}", type="Const", stream_id=op.stream_id)
            const.attr["value"].t.CopyFrom(self._constant(value))
            const.output_desc.add().CopyFrom(const.attr["value"].t.desc)
            edges.append(f"{const.name}:0")
        return edges

    def _batch_norm(self, reader: OpReader, param: om_pb2.BatchNormOpParams) -> list[tuple[str, Array]]:
        """scale, bias, mean, variance, or mean, variance (om-format.md 8)."""
        mean = reader.weight_value(param.estimated_mean, "mean", VECTOR_FORMATS)
        variance = reader.weight_value(param.estimated_variance, "variance", VECTOR_FORMATS)
        found = [("mean", mean), ("variance", variance)]
        if not (param.HasField("scale") or param.HasField("bias")):
            return found
        scale, bias = np.ones_like(mean), np.zeros_like(mean)
        if param.HasField("scale"):
            scale = reader.weight_value(param.scale, "scale", VECTOR_FORMATS)
        if param.HasField("bias"):
            bias = reader.weight_value(param.bias, "bias", VECTOR_FORMATS)
        return [("scale", scale), ("bias", bias), *found]

    def _constant(self, value: Array) -> ge_ir_pb2.TensorDef:
        raw = np.ascontiguousarray(value).tobytes()
        definition = ge_ir_pb2.TensorDef()
        layout = Layout.NCHW if value.ndim == 4 else Layout.ND
        self._describe(definition.desc, Tensor("", value.shape, value.dtype, layout))
        definition.desc.weight_size = len(raw)
        definition.desc.data_offset = self.constants.add(raw)
        return definition

    def _describe(self, target: ge_ir_pb2.TensorDescriptor, tensor: Tensor) -> None:
        target.dtype = PROTO_OF[tensor.dtype.newbyteorder("=")]  # type: ignore[assignment]
        target.shape.dim.extend(tensor.shape)
        target.layout = str(tensor.layout)
        target.size = math.prod(tensor.shape) * tensor.dtype.itemsize
        if tensor.logical_shape is not None:
            target.attr["origin_shape"].list.i.extend(tensor.logical_shape)
            target.attr["origin_format"].s = b"NCHW"

    # --- parameters -------------------------------------------------------------------------------------------------

    def _parameters(self, op: om_pb2.OpDef, target: ge_ir_pb2.OpDef) -> None:
        """Every scalar and list of op_params as an attribute with the field's name."""
        which = op.WhichOneof("op_params")
        if which is not None:
            param = getattr(op, which)
            for descriptor in param.DESCRIPTOR.fields:
                name, value = descriptor.name, getattr(param, descriptor.name)
                if descriptor.message_type is None:
                    self._set(target.attr[PLURAL.get(name, name)], name, value, descriptor)
                elif name == "shape":
                    target.attr["shape"].list.i.extend(value.dim)
        if op_kind(op) == "Convolution" or op_kind(op) == "FullConnection":
            self._quantisation(op, target)

    def _set(self, attr: ge_ir_pb2.AttrDef, name: str, value: Any, descriptor: Any) -> None:
        floating = descriptor.cpp_type in (descriptor.CPPTYPE_FLOAT, descriptor.CPPTYPE_DOUBLE)
        if descriptor.is_repeated:
            attr.list.SetInParent()
            (attr.list.f if floating else attr.list.i).extend(value)
        elif floating:
            attr.f = value
        elif descriptor.cpp_type == descriptor.CPPTYPE_BOOL and name not in AS_INTEGER:
            attr.b = value
        else:
            attr.i = int(value)

    def _quantisation(self, op: om_pb2.OpDef, target: ge_ir_pb2.OpDef) -> None:
        """quantize_factor as nested attributes; a weight-only filter as a QuantizeInfo with step 0."""
        weight = getattr(op, op.WhichOneof("op_params") or "convolution_param").filter
        if op.HasField("quantize_factor"):
            self._group(target.attr["quantize_factor"].func, op.quantize_factor)
        elif weight.HasField("alloffset_quantize_info"):
            info = target.attr["QuantizeInfo"].func.attr
            info["quantize_algo"].i = 0
            info["scale_data_value"].f = 0.0
            info["scale_weight_mode"].i = 1
            info["scale_weight_value"].bt = np.float32(weight.alloffset_quantize_info.scale).tobytes()
            info["offset_weight_value"].bt = np.float32(weight.alloffset_quantize_info.offset).tobytes()

    def _group(self, group: ge_ir_pb2.NamedAttrs, message: Any) -> None:
        for descriptor, value in message.ListFields():
            attr = group.attr[descriptor.name]
            if descriptor.message_type is not None:
                self._group(attr.func, value)
            elif descriptor.type == descriptor.TYPE_BYTES:
                attr.bt = value
            elif descriptor.name.endswith("_offset"):
                attr.i = self._moved(message, descriptor.name, value)
            else:
                attr.i = value

    def _moved(self, message: Any, name: str, offset: int) -> int:
        """The same bytes in the new WEIGHTS_DATA; what follows the offset is copied up to the next kilobyte."""
        if getattr(message, name.removesuffix("offset") + "value", b"") or self.weights is None or offset <= 0:
            return 0
        return self.constants.add(bytes(self.weights[offset : offset + QUANTISE_SPAN]))


ANY = (*VECTOR_FORMATS, *FILTER_FORMATS, *MATRIX_FORMATS)
QUANTISE_SPAN = 1 << 13
"""Bytes copied for a quantisation array that is given by its offset only: its length is the reader's to know."""

assert set(DOMI_DTYPES.values()) <= set(PROTO_OF)
