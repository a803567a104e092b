"""Pooling and resizing of a graph-style ModelDef."""

from __future__ import annotations

from emu.errors import GraphStatus
from emu.graph.ir import Layout
from emu.graph.ops import Op, OpError
from emu.graph.ops.pool import Pool, PoolMode
from emu.graph.ops.resize import Resize, Sampling
from emu.graph.ops.window import NO_PADS, PadRule, Pads
from emu.graph.readers.om.ge_site import Meaning, OpReader
from emu.graph.readers.om.params import POOL_MODES, four, pad_rule, pair, scaled


def _pooling(reader: OpReader) -> Op:
    """Attributes as PoolingOpParams; om-format.md 6."""
    number = reader.attrs.integer("mode")
    mode = POOL_MODES.get(number)
    if mode is None:
        raise OpError(f"unknown mode {number}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    whole = reader.attrs.boolean("global_pooling", default=False)
    pad_mode = reader.attrs.integer("pad_mode", default=0)
    rule, pads = pad_rule(pad_mode, reader.attrs.integers("pad", "pads", default=()))
    required = {"default": ()} if whole else {}
    op = Pool(
        mode=mode,
        window=pair(reader.attrs.integers("window", **required), (1, 1), "window"),
        strides=pair(reader.attrs.integers("stride", "strides", **required), (1, 1), "stride"),
        pads=pads,
        pad_rule=rule,
        ceil=reader.attrs.boolean("ceil_mode", default=False),
        whole=whole,
        channel_last=reader.channel_last,
        before_pad=four(reader.attrs.integers("before_pad", default=()), "before_pad"),
    )
    return scaled(op, reader.alpha())


def _window_pooling(reader: OpReader) -> Op:
    """MaxPool, AvgPool (`padding`) and MaxPoolV3, AvgPoolV2 (`padding_mode` and `pads`) of TensorFlow's kind."""
    attrs = reader.attrs
    spatial = reader.spatial()
    mode = PoolMode.MAX if reader.node.type.startswith("Max") else PoolMode.AVERAGE
    whole = attrs.boolean("global_pooling", default=False)
    named = attrs.text("padding_mode", "padding")
    before: Pads = NO_PADS
    pads: Pads = NO_PADS
    if named == "CALCULATED":
        pads = four(attrs.integers("pads"), "pads")
        if mode is PoolMode.AVERAGE and not attrs.boolean("exclusive", default=True):
            # the zeros of the padding count as elements
            before, pads = pads, NO_PADS
    elif named not in ("SAME", "VALID"):
        raise OpError(f"{named!r} is no padding", "padding_mode", GraphStatus.GRAPH_UNSUPPORTED)
    return Pool(
        mode=mode,
        window=(1, 1) if whole else spatial("ksize", None),
        strides=(1, 1) if whole else spatial("strides", None),
        pads=pads,
        pad_rule=PadRule.SAME if named == "SAME" else PadRule.EXPLICIT,
        ceil=attrs.boolean("ceil_mode", default=False),
        whole=whole,
        channel_last=reader.channel_last,
        before_pad=before,
    )


def _global_pooling(reader: OpReader) -> Op:
    mode = PoolMode.MAX if reader.node.type == "GlobalMaxPool" else PoolMode.AVERAGE
    return Pool(mode=mode, whole=True, channel_last=reader.channel_last)


def _resize(reader: OpReader) -> Op:
    """x, size [h, w]: an operand, or an attribute in the forms that end in D."""
    sampling = Sampling.NEAREST if "Nearest" in reader.node.type else Sampling.LINEAR
    align = reader.attrs.boolean("align_corners")
    half = reader.attrs.boolean("half_pixel_centers", default=False)
    # the attribute `format` of a resize stays 0 where the file works on NHWC, `inferred_format` tells (aipp.om)
    last = reader.attrs.integer("inferred_format", "format", default=0) == 1 or reader.input().layout is Layout.NHWC
    last = last or (reader.input().layout is Layout.ND and reader.channel_last)

    def make(size: tuple[int, ...]) -> Op:
        height, width = pair(size or (0, 0), (0, 0), "size")
        if height * width >= 1 << 31:
            raise OpError(f"{list(size)}", "size")
        return Resize(height, width, sampling, align, last, half)

    return reader.configured(make, (1, ("size",)))


MEANINGS: dict[str, Meaning] = {
    "Pooling": _pooling,
    "PoolingD": _pooling,
    "MaxPool": _window_pooling,
    "MaxPoolV3": _window_pooling,
    "AvgPool": _window_pooling,
    "AvgPoolV2": _window_pooling,
    "GlobalAveragePool": _global_pooling,
    "GlobalMaxPool": _global_pooling,
    "ResizeBilinear": _resize,
    "ResizeBilinearV2": _resize,
    "ResizeBilinearV2D": _resize,
    "ResizeNearestNeighborV2": _resize,
    "ResizeNearestNeighborV2D": _resize,
}
