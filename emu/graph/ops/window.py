"""Geometry that convolution and pooling share: padding rules and the sizes that follow from them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import OpError

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]
"""top, bottom, left, right"""

NO_PADS: Pads = (0, 0, 0, 0)

ROOM = 1 << 24
"""Values that padded maps may have beyond four times those of the tensor: a forged padding is not allocated."""


class PadRule(StrEnum):
    """Where the pads come from."""

    EXPLICIT = "explicit"
    SAME = "same"


def check_positive(values: Pair, attribute: str) -> None:
    if min(values) < 1:
        raise OpError(f"{list(values)}: must be positive", attribute)


def same_pads(size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> Pads:
    """TensorFlow's SAME: out = ceil(in / stride), the smaller half of the pads first (graph-conventions.md OM-O2)."""
    pads: list[int] = []
    for length, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        pads += [total // 2, total - total // 2]
    return pads[0], pads[1], pads[2], pads[3]


def add_pads(a: Pads, b: Pads) -> Pads:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


def padded_size(size: Pair, pads: Pads) -> Pair:
    height, width = size[0] + pads[0] + pads[1], size[1] + pads[2] + pads[3]
    if min(pads) < 0:
        raise OpError(f"{list(pads)}: must not be negative", "pad")
    return height, width


def need_room(padded: int, held: int) -> None:
    """Refuse padded maps of so many values for tensors that hold so few."""
    if padded > 4 * held + ROOM:
        raise OpError(f"maps of {padded} values for {held} of the tensor are out of all proportion", "pad")


def pad_map(x: Array, pads: Pads, value: float = 0, dtype: np.dtype[Any] | None = None) -> Array:
    """x [N, C, H, W] with `value` around it, as `dtype`; x itself where nothing changes."""
    dtype = x.dtype if dtype is None else dtype
    if not any(pads):
        return x.astype(dtype, copy=False)
    n, c, h, w = x.shape
    out = np.full((n, c, h + pads[0] + pads[1], w + pads[2] + pads[3]), value, dtype)
    out[:, :, pads[0] : pads[0] + h, pads[2] : pads[2] + w] = x
    return out


def need_map(shape: Shape, what: str = "input") -> None:
    if len(shape) != 4:
        raise OpError(f"{what} {list(shape)} has not four dimensions")


def channels_first(shape: Shape, channel_last: bool) -> Shape:
    """The dims of a map as N, C, H, W."""
    return (shape[0], shape[3], shape[1], shape[2]) if channel_last else shape


def from_channels_first(shape: Shape, channel_last: bool) -> Shape:
    return (shape[0], shape[2], shape[3], shape[1]) if channel_last else shape
