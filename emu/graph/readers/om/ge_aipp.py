"""AIPP attributes (om-format.md 9): of an `Aipp` op, or of the Convolution that reads the image."""

from __future__ import annotations

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.aipp import Aipp, Preceded
from emu.graph.ops.move import Convert
from emu.graph.readers.om.ge_attrs import Attrs
from emu.graph.readers.om.ge_site import OpReader

NO_IMAGE = 0
YUV420SP_U8 = 1
FORMAT_NAMES = {
    2: "XRGB8888_U8",
    3: "ARGB8888_U8",
    4: "YUYV_U8",
    5: "YUV422SP_U8",
    6: "AYUV444_U8",
    7: "YUV400_U8",
}
STATIC, DYNAMIC = 1, 2


def aipp_source(attrs: Attrs) -> tuple[int, int] | None:
    """(height, width) of the image that an op's AIPP reads; None without AIPP, or where no image format is set."""
    group = attrs.group("aipp")
    if group is None or group.integer("input_format", default=NO_IMAGE) != YUV420SP_U8:
        return None
    return _source_size(group)


def _source_size(group: Attrs) -> tuple[int, int]:
    size = group.integer("src_image_size_h"), group.integer("src_image_size_w")
    if min(size) < 2 or max(size) > 1 << 16:
        raise OpError(f"{list(size)}", "aipp.src_image_size")
    return size


def aipp_op(reader: OpReader) -> Op | None:
    """What comes before the op: None without AIPP, Convert where the tensor passes as it is."""
    group = reader.attrs.group("aipp")
    if group is None:
        return None
    mode = group.integer("aipp_mode")
    if mode not in (STATIC, DYNAMIC):
        raise OpError(f"unknown mode {mode}", "aipp.aipp_mode", GraphStatus.GRAPH_UNSUPPORTED)
    if mode == DYNAMIC:
        reader.graph.notes.append(
            f"op {reader.node.name!r}: dynamic AIPP without a given configuration uses the op's own attributes"
        )
    kind = group.integer("input_format", default=NO_IMAGE)
    if kind == NO_IMAGE:
        return Convert()
    if kind != YUV420SP_U8:
        name = FORMAT_NAMES.get(kind, "unknown")
        raise OpError(f"{kind} ({name}) is not supported", "aipp.input_format", GraphStatus.GRAPH_UNSUPPORTED)
    return _image_op(group)


def _image_op(group: Attrs) -> Aipp:
    if group.boolean("ax_swap_switch", default=False):
        raise OpError("YUV420SP has no fourth channel to swap", "aipp.ax_swap_switch", GraphStatus.GRAPH_UNSUPPORTED)
    size = _source_size(group)
    crop = None
    if group.boolean("crop", default=False):
        crop = (
            group.integer("load_start_pos_h", default=0),
            group.integer("load_start_pos_w", default=0),
            group.integer("crop_size_h"),
            group.integer("crop_size_w"),
        )
    matrix = None
    if group.boolean("csc_switch", default=False):
        matrix = tuple(group.integer(f"matrix_r{row}c{column}") for row in range(3) for column in range(3))
    resize = None
    if group.boolean("resize", default=False):
        resize = group.integer("resize_output_h"), group.integer("resize_output_w")
    pads = (0, 0, 0, 0)
    if group.boolean("padding", default=False):
        pads = (
            group.integer("top_padding_size", default=0),
            group.integer("bottom_padding_size", default=0),
            group.integer("left_padding_size", default=0),
            group.integer("right_padding_size", default=0),
        )
    shift = [group.number(f"mean_chn_{at}", default=0) + group.number(f"min_chn_{at}", default=0.0) for at in range(3)]
    factor = [group.number(f"var_reci_chn_{at}", default=1.0) for at in range(3)]
    bias = [group.integer(f"input_bias_{at}", default=0) for at in range(3)]
    return Aipp(
        source=size,
        crop=crop,
        swap_chroma=group.boolean("rbuv_swap_switch", default=False),
        matrix=matrix,
        bias=(bias[0], bias[1], bias[2]),
        resize=resize,
        shift=(shift[0], shift[1], shift[2]),
        factor=(factor[0], factor[1], factor[2]),
        pads=pads,
        pad_value=group.number("cpadding_value", default=0.0),
    )


def preceded(reader: OpReader, op: Op) -> Op:
    """The op behind its AIPP, if it has one; the map between them is stored in the dtype of the op's result."""
    before = aipp_op(reader)
    return op if before is None else Preceded(before, op, reader.output().dtype)


def read_aipp(reader: OpReader) -> Op:
    """An Aipp op; its second operand, the AippConfig, is not read."""
    op = aipp_op(reader)
    if op is None:
        raise OpError("is missing", "aipp", GraphStatus.OM_MODEL)
    reader.node.inputs = reader.node.inputs[:1]
    return op
