"""Tensors and constants of a graph-style ModelDef.

Ascend writes the physical dims of a packed tensor and keeps the logical ones in the attributes origin_shape and
origin_format, Kirin writes the logical dims (om-format.md 2). Constants have three placements (om-format.md 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph import layouts
from emu.graph.dynamic import UNKNOWN
from emu.graph.ir import Layout, Shape, Tensor
from emu.graph.ops import OpError
from emu.graph.readers.om.ge_attrs import Attrs, Names
from emu.graph.readers.om.types import PROTO_DTYPES, check_dims, decode_constant, weight_range
from emu.schemas import ge_ir_pb2

PLAIN = {"": Layout.ND, "FORMAT_RESERVED": Layout.ND, "CHWN": Layout.ND}
LAYOUTS = {
    str(layout): layout
    for layout in (
        Layout.ND,
        Layout.NCHW,
        Layout.NHWC,
        Layout.HWCN,
        Layout.NC1HWC0,
        Layout.FRACTAL_Z,
        Layout.FRACTAL_Z_C04,
        Layout.FRACTAL_NZ,
    )
} | PLAIN
FILTERS = (Layout.FRACTAL_Z, Layout.FRACTAL_Z_C04)


@dataclass(frozen=True, slots=True)
class WeightStore:
    """WEIGHTS_DATA, and where the constants of a graph lie in it: from `start` on, `merged` as attribute says.

    `one_side`: constants described as floats may hold int8, one byte an element (om-format.md 7).
    """

    data: memoryview | None
    names: Names
    merged: bool = False
    start: int = 0
    one_side: bool = False


def descriptor_tensor(name: str, descriptor: ge_ir_pb2.TensorDescriptor, names: Names) -> Tensor:
    """The tensor of a descriptor; OpError for a data type, layout or dims that have no meaning."""
    dtype = PROTO_DTYPES.get(descriptor.dtype)
    if dtype is None:
        raise OpError(f"data type {descriptor.dtype} cannot be computed with", "dtype", GraphStatus.GRAPH_UNSUPPORTED)
    layout = LAYOUTS.get(descriptor.layout)
    if layout is None:
        raise OpError(f"layout {descriptor.layout!r} is not supported", "layout", GraphStatus.GRAPH_UNSUPPORTED)
    shape = check_dims(descriptor.shape.dim, "shape", least=UNKNOWN)
    attrs = Attrs(names.resolve(descriptor.attr))
    logical = _logical_shape(layout, shape, dtype, attrs)
    origin = None
    if layout is Layout.NC1HWC0 and logical is not None and attrs.text("origin_format", default="") == Layout.NHWC:
        origin = str(Layout.NHWC)
    return Tensor(name, shape, dtype, layout, logical, origin=origin)


def _logical_shape(layout: Layout, dims: Shape, dtype: np.dtype[np.generic], attrs: Attrs) -> Shape | None:
    """The logical dims of a tensor whose dims are physical; None where the dims are logical already."""
    origin = check_dims(attrs.integers("origin_shape", default=()), "origin_shape", least=UNKNOWN)
    order = layouts.AXIS_ORDERS.get(attrs.text("origin_format", default=""), "NCHW")
    if layout is Layout.NC1HWC0 and len(dims) == 5:
        logical = _reordered(origin, order) if len(origin) == 4 else (dims[0], dims[1] * dims[4], dims[2], dims[3])
        expected = layouts.packed_shape(layout, logical, dtype)
        if expected != dims:
            raise OpError(f"{list(logical)} takes {list(expected)} in {layout}, not {list(dims)}", "shape")
        return logical
    if layout is Layout.FRACTAL_NZ and len(dims) >= 4 and len(origin) >= 2:
        return origin if layouts.packed_shape(layout, origin, dtype) == dims else None
    if layout in FILTERS and len(origin) == 4:
        logical = _reordered(origin, order)
        return logical if layouts.packed_shape(layout, logical, dtype) == dims else None
    return None


def _reordered(origin: Shape, order: str) -> Shape:
    """Dims in `order` as N, C, H, W."""
    return tuple(origin[order.index(axis)] for axis in "NCHW")


def constant_tensor(name: str, attrs: Attrs, weights: WeightStore) -> Tensor:
    """The tensor of a Const op with its value."""
    found = attrs.find("value")
    if found is None or found[1].WhichOneof("value") != "t":
        raise OpError("is missing", "value", GraphStatus.OM_MODEL)
    definition = found[1].t
    tensor = descriptor_tensor(name, definition.desc, weights.names)
    if UNKNOWN in tensor.op_shape:
        raise OpError(f"a constant of unknown dims {list(tensor.op_shape)}", "value", GraphStatus.OM_MODEL)
    raw, size_tells = _bytes(definition, weights)
    if weights.one_side and tensor.dtype.kind == "f" and len(raw) == math.prod(tensor.shape) > 0:
        tensor.dtype = np.dtype(np.int8)
    if tensor.logical_shape is None:
        tensor.value = decode_constant(raw, tensor.dtype, tensor.layout, tensor.shape, "value", size_tells=size_tells)
        return tensor
    needed = math.prod(tensor.shape) * tensor.dtype.itemsize
    if len(raw) < needed:
        raise OpError(f"{len(raw)} bytes, {tensor} takes {needed}", "value")
    flat = np.frombuffer(raw, tensor.dtype.newbyteorder("<"), math.prod(tensor.shape))
    tensor.value = flat.reshape(tensor.shape)
    return tensor


def _bytes(definition: ge_ir_pb2.TensorDef, weights: WeightStore) -> tuple[bytes | memoryview, bool]:
    """The bytes of a constant, and whether their number is that of the stored layout."""
    descriptor = definition.desc
    if descriptor.cmps_size or descriptor.cmps_tab or descriptor.cmps_tab_offset:
        raise OpError("compressed weights (cmps_*) are not supported", "value", GraphStatus.GRAPH_UNSUPPORTED)
    if definition.data:
        return definition.data, True
    attrs = Attrs(weights.names.resolve(descriptor.attr))
    if weights.merged or "merged_offset" in attrs:
        offset = attrs.integer("merged_offset")
    else:
        offset = descriptor.data_offset
        if offset == 0:
            if 0 in descriptor.shape.dim:
                return b"", False
            raise OpError("has neither data nor a data_offset", "value", GraphStatus.OM_MODEL)
    if offset < 0 or descriptor.weight_size < 0:
        raise OpError(f"offset {offset}, size {descriptor.weight_size}: must not be negative", "value")
    size = descriptor.weight_size or None
    return weight_range(weights.data, weights.start + offset, size, "value"), size is not None
