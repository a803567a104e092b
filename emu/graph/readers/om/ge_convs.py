"""Ascend's convolutions (om-format.md 10): strides and dilations in data_format order, pads from top to right."""

from __future__ import annotations

from typing import Any

from emu.errors import GraphStatus
from emu.graph.ir import Layout
from emu.graph.ops import Op, OpError
from emu.graph.ops.adapted import Adapted, View
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.window import Pads
from emu.graph.readers.om.ge_site import Meaning, OpReader
from emu.graph.readers.om.params import four

# plain filters by layout: the axes that bring them to N, C, H, W
FILTER_AXES = {Layout.NHWC: (0, 3, 1, 2), Layout.HWCN: (3, 2, 0, 1)}


def _common(reader: OpReader) -> dict[str, Any]:
    attrs = reader.attrs
    spatial = reader.spatial()
    strides = spatial("strides", None)
    pads = attrs.integers("pads")
    if len(pads) != 4:
        raise OpError(f"has {len(pads)} values, not 4", "pads")
    checked: Pads = four(pads, "pads")
    if attrs.integer("offset_x", default=0):
        raise OpError(f"{attrs.integer('offset_x')} is not supported", "offset_x", GraphStatus.GRAPH_UNSUPPORTED)
    return {
        "strides": strides,
        "pads": checked,
        "dilations": spatial("dilations", (1, 1)),
        "channel_last": reader.channel_last,
    }


def _view(reader: OpReader, place: int) -> View | None:
    """How a filter is turned; packed ones are unpacked to N, C, H, W before the op sees them."""
    tensor = reader.input(place)
    axes = None if tensor.logical_shape is not None else FILTER_AXES.get(tensor.layout)
    return None if axes is None else View(axes)


def _adapted(product: Op, view: View | None, order: tuple[int, ...] = ()) -> Op:
    return product if view is None and not order else Adapted(product, order, (None, view))


def _conv2d(reader: OpReader) -> Op:
    """x, filter, [bias]."""
    product = Conv(**_common(reader), groups=reader.attrs.integer("groups", default=1) or 1)
    return _adapted(product, _view(reader, 1))


def _depthwise(reader: OpReader) -> Op:
    """x, filter, [bias]: the filter [H, W, C, multiplier] in HWCN, else [C * multiplier, 1, H, W]."""
    weight = reader.input(1)
    if weight.logical_shape is not None or weight.layout in (Layout.FRACTAL_Z, Layout.FRACTAL_Z_C04):
        raise OpError(
            "a packed filter is not defined for depthwise convolution", "filter", GraphStatus.GRAPH_UNSUPPORTED
        )
    shape = reader.shape()
    if len(shape) != 4:
        raise OpError(f"input {list(shape)} has not four dimensions")
    product = Conv(**_common(reader), groups=shape[reader.channel_axis])
    return _adapted(product, View((2, 3, 0, 1), merge=True) if weight.layout is Layout.HWCN else _view(reader, 1))


def _transposed(reader: OpReader, order: tuple[int, ...], weight: int) -> Op:
    """The gradient of a Conv2D by its input, of size input_size; zeros there leave it to output_padding."""
    common = _common(reader)
    spatial = reader.spatial()
    adj = spatial("output_padding", (0, 0))
    groups = reader.attrs.integer("groups", default=1) or 1
    view = _view(reader, weight if reader.attrs.find("input_size") is not None else weight + 1)
    rows, columns = (2, 3) if reader.attrs.text("data_format", default="NCHW") == "NCHW" else (1, 2)

    def make(size: tuple[int, ...]) -> Op:
        if len(size) not in (2, 4):
            raise OpError(f"{len(size)} values, 4 are needed", "input_size")
        target = (size[rows], size[columns]) if len(size) == 4 else (size[0], size[1])
        product = ConvTranspose(**common, groups=groups, adj=adj, target=target if any(target) else None)
        return _adapted(product, view, order)

    return reader.configured(make, (0, ("input_size",)))


def _conv2d_transpose(reader: OpReader) -> Op:
    """(input_size), x, filter, [bias]."""
    return _transposed(reader, (), 1)


def _conv2d_backprop_input(reader: OpReader) -> Op:
    """(input_size), filter, dy."""
    if len(reader.node.inputs) != (2 if "input_size" in reader.attrs else 3):
        raise OpError(f"has {len(reader.node.inputs)} operands, 2 and the size are known", "type", GraphStatus.OM_MODEL)
    return _transposed(reader, (1, 0), 0)


MEANINGS: dict[str, Meaning] = {
    "Conv2D": _conv2d,
    "DepthwiseConv2D": _depthwise,
    "DepthwiseConv2DD": _depthwise,
    "Conv2DTranspose": _conv2d_transpose,
    "Conv2DTransposeD": _conv2d_transpose,
    "Conv2DBackpropInput": _conv2d_backprop_input,
    "Conv2DBackpropInputD": _conv2d_backprop_input,
}
