"""Lowerings of the operators that work on NHWC maps without a weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from emu.graph.ir import Op, OpError
from emu.graph.ops.norm import LocalResponseNorm
from emu.graph.ops.pool import Pool, PoolMode
from emu.graph.ops.resize import Resize, Sampling
from emu.graph.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from emu.graph.ops.window import NO_PADS, PadRule, Pair
from emu.graph.readers.lite.activations import fused
from emu.graph.readers.lite.products import four_pads, pair, then
from emu.graph.readers.lite.site import Site, lowers, unsupported
from emu.schemas.generated import ms_lite_v2 as lite

Pooling: TypeAlias = lite.AvgPoolFusion | lite.MaxPoolFusion
SpaceToBlocks: TypeAlias = lite.SpaceToBatch | lite.SpaceToBatchND
BlocksToSpace: TypeAlias = lite.BatchToSpace | lite.BatchToSpaceND


@lowers("AvgPoolFusion", "MaxPoolFusion")
def _pool(attr: Pooling, at: Site) -> Op:
    same = attr.pad_mode is lite.PadMode.SAME
    op = Pool(
        mode=PoolMode.MAX if isinstance(attr, lite.MaxPoolFusion) else PoolMode.AVERAGE,
        window=(1, 1) if attr.global_ else pair(attr.kernel_size, "kernel_size"),
        strides=pair(attr.strides, "strides", (1, 1) if attr.global_ else None),
        pads=NO_PADS if same else four_pads(attr.pad),
        pad_rule=PadRule.SAME if same else PadRule.EXPLICIT,
        ceil=attr.round_mode is lite.RoundMode.CEIL and not same,
        whole=attr.global_,
        channel_last=True,
    )
    return then(op, fused(attr.activation_type))


@lowers("Resize")
def _resize(attr: lite.Resize, at: Site) -> Op:
    if attr.method not in (lite.ResizeMethod.LINEAR, lite.ResizeMethod.NEAREST):
        raise unsupported(f"{attr.method.value} {attr.method.name}: linear and nearest are computed", "method")
    at.need(1, 2)
    height, width = _size(at) if at.has(1) else (attr.new_height, attr.new_width)
    at.take(0)
    mode = attr.coordinate_transform_mode
    return Resize(
        height,
        width,
        Sampling.LINEAR if attr.method is lite.ResizeMethod.LINEAR else Sampling.NEAREST,
        align_corners=mode is lite.CoordinateTransformMode.ALIGN_CORNERS,
        channels_last=True,
        half_pixel_centers=mode is lite.CoordinateTransformMode.HALF_PIXEL,
        shifted=True,
    )


def _size(at: Site) -> Pair:
    """Height and width from the second operand: sizes or factors of both axes, of all four, or Caffe's one zoom."""
    value = at.value(1, "size").reshape(-1)
    shape = at.shape(0)
    if len(shape) != 4:
        raise OpError(f"input {list(shape)} has not four dimensions")
    if value.size == 1 and value.dtype.kind in "iu":
        zoom = int(value[0]) - 1
        return shape[1] + (shape[1] - 1) * zoom, shape[2] + (shape[2] - 1) * zoom
    if value.size not in (2, 4):
        raise OpError(f"a size of {value.size} numbers")
    both = value if value.size == 2 else value[1:3]
    if value.dtype.kind in "iu":
        return int(both[0]), int(both[1])
    if not all(math.isfinite(factor) and 0 < factor < 1 << 16 for factor in both.tolist()):
        raise OpError(f"factors {both.tolist()}")
    return math.floor(float(both[0]) * shape[1] + 0.5), math.floor(float(both[1]) * shape[2] + 0.5)


@lowers("SpaceToDepth")
def _space_to_depth(attr: lite.SpaceToDepth, at: Site) -> Op:
    return SpaceToDepth(attr.block_size, channels_last=True)


@lowers("DepthToSpace")
def _depth_to_space(attr: lite.DepthToSpace, at: Site) -> Op:
    if attr.mode not in ("", "DCR"):
        raise unsupported(f"{attr.mode!r}: depth, column, row (DCR) is computed", "mode")
    return DepthToSpace(attr.block_size, channels_last=True)


def _flat(rows: lite.Vec2D | None) -> tuple[int, ...]:
    return tuple(number for row in (rows.data if rows else ()) for number in row.data)


def _blocks(said: Sequence[int], edges: lite.Vec2D | None, at: Site) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Block shape and what lies around, from the attributes or from two further operands."""
    if not at.has(1):
        return tuple(said), _flat(edges)
    at.need(3, 3)
    at.take(0)
    return at.integers(1, "block shape"), at.integers(2, "padding")


@lowers("SpaceToBatch", "SpaceToBatchND")
def _space_to_batch(attr: SpaceToBlocks, at: Site) -> Op:
    said = attr.block_size if isinstance(attr, lite.SpaceToBatch) else attr.block_shape
    return SpaceToBatch(*_blocks(said, attr.paddings, at))


@lowers("BatchToSpace", "BatchToSpaceND")
def _batch_to_space(attr: BlocksToSpace, at: Site) -> Op:
    said = attr.block_size if isinstance(attr, lite.BatchToSpace) else attr.block_shape
    return BatchToSpace(*_blocks(said, attr.crops, at))


@lowers("LRN")
def _local_response_norm(attr: lite.LRN, at: Site) -> Op:
    if attr.norm_region not in ("", "ACROSS_CHANNELS"):
        raise unsupported(f"{attr.norm_region!r}: across channels is computed", "norm_region")
    return LocalResponseNorm(-1, attr.depth_radius, attr.depth_radius, attr.alpha, attr.beta, attr.bias)
