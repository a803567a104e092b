"""Convolutions and matrix products of a graph-style ModelDef, real and quantised (om-format.md 7, 7.1, 10)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Layout, Quantisation, Shape
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Function, Then
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.linear import FullConnection, Gemm, MatMul
from emu.graph.ops.quantised import QuantisedProduct, Scheme
from emu.graph.ops.window import PadRule, Pair, same_pads
from emu.graph.readers.om.ge_aipp import preceded
from emu.graph.readers.om.ge_attrs import Attrs
from emu.graph.readers.om.ge_site import Meaning, OpReader, exchanged
from emu.graph.readers.om.params import four, pad_rule, pair
from emu.graph.readers.om.quantise import factor_scheme
from emu.schemas import om_pb2

Product = Conv | ConvTranspose | FullConnection | MatMul

ALGORITHM_SIGNED = 0
CROSS_CORRELATION = 1
"""The mode of every convolution that does not say one (om-format.md 6)."""


def convolution(reader: OpReader) -> Op:
    """Convolution and ConvolutionDepthwise: attributes as ConvolutionOpParams (om-format.md 10)."""
    depthwise = reader.node.type == "ConvolutionDepthwise"
    mode = reader.attrs.integer("mode", default=3 if depthwise else CROSS_CORRELATION)
    if mode not in (0, 1, 2, 3):
        raise OpError(f"unknown mode {mode}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    if depthwise and mode == CROSS_CORRELATION:
        mode = 3
    if mode == 2:
        return conv_transpose(reader)
    common = _common(reader)
    if mode == 3:
        common["groups"] = _channels(reader)
        if reader.input(1).layout in (Layout.FRACTAL_Z, Layout.FRACTAL_Z_C04):
            raise OpError("a packed filter is not defined for depthwise convolution", "filter")
    product = Conv(**common, flip=mode == 0)
    return preceded(reader, _real_or_quantised(reader, product, reader.shape(1)[0] if reader.shape(1) else 0))


def _channels(reader: OpReader) -> int:
    shape = reader.shape()
    if len(shape) != 4:
        raise OpError(f"input {list(shape)} has not four dimensions")
    return shape[reader.channel_axis]


def _common(reader: OpReader) -> dict[str, Any]:
    """What Convolution and ConvTranspose share; old files spell the names in the singular (om-format.md 8)."""
    attrs = reader.attrs
    pad_mode = attrs.integer("pad_mode", default=0)
    rule, pads = pad_rule(pad_mode, attrs.integers("pad", "pads", default=()))
    kernel = attrs.integers("kernel", default=())
    return {
        "strides": pair(attrs.integers("stride", "strides"), (1, 1), "strides"),
        "dilations": pair(attrs.integers("dilation", "dilations", default=()), (1, 1), "dilations"),
        "pads": pads,
        "pad_rule": rule,
        "groups": attrs.integer("group", "groups", default=1) or 1,
        "channel_last": reader.channel_last,
        "before_pad": four(attrs.integers("before_pad", default=()), "before_pad"),
        "kernel": pair(kernel, (1, 1), "kernel") if kernel else None,
        "units": attrs.integer("num_output", default=0) or None,
        "epilogue": reader.epilogue(),
    }


def conv_transpose(reader: OpReader) -> Op:
    """x, filter [Ci, Co/g, Kh, Kw], [bias]; with TF_DECONV the result's size is an operand too (om-format.md 10)."""
    target: Pair | None = None
    if reader.attrs.boolean("TF_DECONV", default=False):
        target = _take_output_shape(reader)
    elif reader.attrs.integers("target_shape", default=()):
        target = pair(reader.attrs.integers("target_shape"), (0, 0), "target_shape")
    common = _common(reader)
    if target is not None and common["pad_rule"] is PadRule.SAME:
        # the padding of the forward convolution that makes x out of the target
        filter_shape = reader.shape(1)
        if len(filter_shape) != 4 or min(target) < 1 or min(common["strides"]) < 1:
            raise OpError(f"{list(filter_shape)} for a result of {list(target)}", "filter")
        kernel = filter_shape[2], filter_shape[3]
        common["pads"] = same_pads(target, kernel, common["strides"], common["dilations"])
        common["pad_rule"] = PadRule.EXPLICIT
    product = ConvTranspose(**common, adj=pair(reader.attrs.integers("adj", default=()), (0, 0), "adj"), target=target)
    shape = reader.shape(1)
    return _real_or_quantised(reader, product, shape[1] * product.groups if len(shape) > 1 else 0)


def _take_output_shape(reader: OpReader) -> Pair:
    """Operands output_shape, filter, x, [bias] become x, filter, [bias]; the size is returned.

    The descriptors of the constants may be swapped (om-format.md 3): the list of four integers is the size, the others
    are filter and bias in their order.
    """
    inputs = reader.node.inputs
    if len(inputs) not in (3, 4):
        raise OpError(f"has {len(inputs)} operands, 3 or 4 are needed", status=GraphStatus.GRAPH_STRUCTURE)
    sizes = [place for place in (0, 1, 3) if place < len(inputs) and reader.input(place).shape == (4,)]
    sizes = [place for place in sizes if reader.input(place).dtype.kind in "iu"]
    if len(sizes) != 1 or (value := reader.input(sizes[0]).value) is None:
        raise OpError("no operand is a constant list of four integers", "output_shape", GraphStatus.GRAPH_UNSUPPORTED)
    rest = [place for place in (0, 1, 3) if place < len(inputs) and place != sizes[0]]
    dims = [int(size) for size in value]
    size = (dims[1], dims[2]) if reader.attrs.integer("format", default=0) == 1 else (dims[2], dims[3])
    reader.reorder((inputs[2], *(inputs[place] for place in rest)))
    # what input_desc says of swapped constants is wrong
    reader.node.input_shapes = reader.node.input_shapes[:1]
    return size


def full_connection(reader: OpReader) -> Op:
    """x, filter, [bias]; attributes as FullConnectionOpParams."""
    rank = len(reader.output().op_shape)
    product = FullConnection(
        units=reader.attrs.integer("num_output", default=0) or None,
        four_dimensional=rank == 4,
        epilogue=reader.epilogue(),
    )
    return _real_or_quantised(reader, product, reader.shape(1)[0] if reader.shape(1) else 0)


def mat_mul(reader: OpReader) -> Op:
    """x1, x2, [bias]; matrices may be written with trailing dims of 1 (om-format.md 8.2)."""
    transposed = [
        reader.attrs.boolean(f"transpose_x{place}", old) for place, old in ((1, "transposeX"), (2, "transposeW"))
    ]
    rank = len(reader.output().op_shape)
    shapes = [reader.read_as(place) for place in range(len(reader.node.inputs))]
    for place in (0, 1):
        shape = reader.shape(place)
        if rank == 2 and len(shape) == 4 and shape[2:] == (1, 1):
            shapes[place] = shape[:2]
    if exchanged(reader.input(1), shapes[1]):
        # the file means the transpose: stored [10, 64, 1, 1], read as [64, 10, 1, 1] (tensorflow2_resnet20)
        shapes[1] = reader.input(1).op_shape[:2]
        transposed[1] = not transposed[1]
    reader.node.input_shapes = tuple(shapes)
    product = MatMul(transposed[0], transposed[1])
    columns = reader.shape(1)[-2 if transposed[1] else -1] if len(reader.shape(1)) > 1 else 0
    op = _real_or_quantised(reader, product, columns)
    epilogue = reader.epilogue()
    return op if isinstance(op, QuantisedProduct) or epilogue.idle else Then(op, epilogue)


def gemm(reader: OpReader) -> Op:
    """a, b, c, alpha, beta (om-format.md 8)."""
    return Gemm(reader.attrs.boolean("transpose_a"), reader.attrs.boolean("transpose_b"))


def batch_mat_mul(reader: OpReader) -> Op:
    """x1, x2, [bias], with any number of dims before those of the matrices."""
    flags = [reader.attrs.boolean(f"adj_x{place}", f"adj_{name}") for place, name in ((1, "x"), (2, "y"))]
    return MatMul(flags[0], flags[1])


def batch_mat_mul_tik(reader: OpReader) -> Op:
    """A custom op of the public samples, as MatmulTik there: operands x1 and x2, no attributes, their plain product."""
    reader.graph.notes.append(
        f"op {reader.node.name!r}: custom op BatchMatMulTik is taken as the product of its operands; what it does is "
        "in its kernel alone"
    )
    return MatMul()


def _real_or_quantised(reader: OpReader, product: Product, units: int) -> Op:
    """The product, in the integer form where the op says so."""
    info, factor = reader.attrs.group("QuantizeInfo"), reader.attrs.group("quantize_factor")
    weight = reader.input(1)
    if info is None and factor is None:
        if weight.dtype.kind != "f":
            raise OpError(f"is {weight.dtype}, and no quantisation is given", "filter", GraphStatus.GRAPH_UNSUPPORTED)
        return product
    epilogue = getattr(product, "epilogue", NO_EPILOGUE)
    relu = epilogue.function is Function.RELU
    if epilogue.alpha != 1 or epilogue.function not in (Function.LINEAR, Function.RELU):
        raise OpError(
            f"alpha {epilogue.alpha}, {epilogue.function} on an integer product", "alpha", GraphStatus.GRAPH_UNSUPPORTED
        )
    if factor is not None:
        plain = _without_epilogue(product)
        return QuantisedProduct(plain, factor_scheme(_factor_message(factor), reader.weights, units, relu))
    assert info is not None
    return _from_info(reader, product, info, units, relu)


def _without_epilogue(product: Product) -> Product:
    return product if isinstance(product, MatMul) else replace(product, epilogue=NO_EPILOGUE)


def _factor_message(group: Attrs) -> om_pb2.QuantizeFactorParams:
    """The attribute group `quantize_factor` has the members of QuantizeFactorParams (om-format.md 0)."""
    message = om_pb2.QuantizeFactorParams(
        quantize_algo=_enum(group, "quantize_algo"),
        scale_type=_enum(group, "scale_type"),
    )
    for name in ("quantize_param", "dequantize_param", "requantize_param"):
        part = group.group(name)
        if part is None or not list(part.names()):
            continue
        target = getattr(message, name)
        target.SetInParent()
        target.scale_mode = _enum(part, "scale_mode")
        for member in ("scale", "offset_data", "offset_weight", "offset_pad"):
            setattr(target, f"{member}_value", part.data(f"{member}_value", default=b""))
            offset = part.integer(f"{member}_offset", default=0)
            setattr(target, f"{member}_offset", offset)
    return message


def _enum(group: Attrs, name: str) -> Any:
    value = group.integer(name, default=0)
    if not 0 <= value < 16:
        raise OpError(f"unknown value {value}", name)
    return value


def _from_info(reader: OpReader, product: Product, info: Attrs, units: int, relu: bool) -> Op:
    """QuantizeInfo (om-format.md 7.1): steps, not multipliers; a step of 0 quantises the weights only."""
    algorithm = info.integer("quantize_algo", default=0)
    if algorithm not in (0, 1, 2):
        raise OpError(f"unknown algorithm {algorithm}", "QuantizeInfo.quantize_algo", GraphStatus.GRAPH_UNSUPPORTED)
    step = info.number("scale_data_value", default=0.0)
    mode = info.integer("scale_weight_mode", default=0)
    if mode not in (0, 1):
        raise OpError(f"unknown mode {mode}", "QuantizeInfo.scale_weight_mode", GraphStatus.GRAPH_UNSUPPORTED)
    count = units if mode == 0 else 1
    scales = _floats(info, "scale_weight_value", count, None)
    offsets = _floats(info, "offset_weight_value", count, 0.0)
    if not (math.isfinite(step) and step >= 0 and np.isfinite(scales).all()):
        raise OpError(f"step {step} or a weight scale is no positive number", "QuantizeInfo.scale_data_value")
    if step == 0:
        return _weights_only(reader, product, scales, offsets)
    signed = algorithm == ALGORITHM_SIGNED
    scheme = Scheme(
        lowest=-128 if signed else 0,
        highest=127 if signed else 255,
        scale=scales * step,
        step=step,
        offset_data=0.0 if signed else info.number("offset_data_value", default=0.0) + 0.0,
        offset_weight=offsets.reshape(_weight_axis_shape(product, len(reader.shape(1)), offsets.size)),
        relu=relu,
    )
    return QuantisedProduct(_without_epilogue(product), scheme)


def _weight_axis(product: Product, rank: int) -> int:
    """The axis of the output channels in the weight as the op reads it."""
    if isinstance(product, MatMul):
        return rank - 2 if product.transpose_b else rank - 1
    return 1 if isinstance(product, ConvTranspose) else 0


def _weight_axis_shape(product: Product, rank: int, size: int) -> Shape:
    axis = _weight_axis(product, rank)
    return tuple(size if at == axis else 1 for at in range(rank))


def _floats(info: Attrs, name: str, count: int, default: float | None) -> Array:
    """A float32 vector stored as bytes."""
    raw = info.data(name, default=b"")
    if not raw and default is not None:
        return np.full(1, default)
    if len(raw) != 4 * count:
        raise OpError(f"{len(raw)} bytes for {count} values", f"QuantizeInfo.{name}")
    return np.frombuffer(raw, "<f4").astype(np.float64)


def _weights_only(reader: OpReader, product: Product, scales: Array, offsets: Array) -> Op:
    if not (scales > 0).all() or (offsets != np.rint(offsets)).any():
        raise OpError("scales must be positive and offsets whole", "QuantizeInfo.scale_weight_value")
    axis = _weight_axis(product, len(reader.shape(1))) if scales.size > 1 else None
    whole = np.broadcast_to(offsets, scales.shape).astype(np.int64)
    found = Quantisation(scales, whole, -(1 << 31), (1 << 31) - 1, axis)
    reader.node.quantisations = (
        None,
        found,
        *(None for _ in reader.node.inputs[2:]),
        *(None for _ in reader.node.outputs),
    )
    return product


MEANINGS: dict[str, Meaning] = {
    "Convolution": convolution,
    "ConvolutionDepthwise": convolution,
    "ConvTranspose": conv_transpose,
    "FullyConnection": full_connection,
    "MatMul": mat_mul,
    "MatMulV2": mat_mul,
    "BatchMatMul": batch_mat_mul,
    "BatchMatMulV2": batch_mat_mul,
    "BatchMatMulTik": batch_mat_mul_tik,
    "GEMM": gemm,
}
