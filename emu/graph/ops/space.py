"""Blocks of a map moved between its place, its channels and its batch (graph-conventions.md MS-O13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_count, need_positive, need_rank


def _nhwc(shape: Shape, channels_last: bool) -> Shape:
    if channels_last:
        return shape
    n, c, h, w = shape
    return n, h, w, c


def _stored(shape: Shape, channels_last: bool) -> Shape:
    n, h, w, c = shape
    return shape if channels_last else (n, c, h, w)


def _to_nhwc(x: Array, channels_last: bool) -> Array:
    return x if channels_last else x.transpose(0, 2, 3, 1)


def _from_nhwc(x: Array, channels_last: bool) -> Array:
    return x if channels_last else x.transpose(0, 3, 1, 2)


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Op):
    """Element (bh, bw) of each block and channel c become channel (bh * block + bw) * C + c."""

    exact: ClassVar[bool] = True
    block: int
    channels_last: bool = False

    def shape(self, x: Operand) -> Shape:
        need_rank(x.shape, 4, "input")
        need_positive(self.block, "blockSize")
        n, h, w, c = _nhwc(x.shape, self.channels_last)
        if h % self.block or w % self.block:
            raise OpError(f"a map of {h}x{w} has no whole blocks of {self.block}", "blockSize")
        found = (n, h // self.block, w // self.block, c * self.block * self.block)
        return _stored(found, self.channels_last)

    def reference(self, x: Array) -> Array:
        b = self.block
        y = _to_nhwc(x, self.channels_last)
        n, h, w, c = y.shape
        y = y.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
        return _from_nhwc(y.reshape(n, h // b, w // b, b * b * c), self.channels_last)


@dataclass(frozen=True, slots=True)
class DepthToSpace(Op):
    """The inverse of SpaceToDepth (DCR order)."""

    exact: ClassVar[bool] = True
    block: int
    channels_last: bool = False

    def shape(self, x: Operand) -> Shape:
        need_rank(x.shape, 4, "input")
        need_positive(self.block, "blockSize")
        n, h, w, c = _nhwc(x.shape, self.channels_last)
        if c % (self.block * self.block):
            raise OpError(f"{c} channels are no whole blocks of {self.block}x{self.block}", "blockSize")
        found = (n, h * self.block, w * self.block, c // (self.block * self.block))
        return _stored(found, self.channels_last)

    def reference(self, x: Array) -> Array:
        b = self.block
        y = _to_nhwc(x, self.channels_last)
        n, h, w, c = y.shape
        y = y.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
        return _from_nhwc(y.reshape(n, h * b, w * b, c // (b * b)), self.channels_last)


@dataclass(frozen=True, slots=True)
class SpaceToBatch(Op):
    """tf.space_to_batch_nd on NHWC: zero padding [top, bottom, left, right], then the blocks go to the batch."""

    block_shape: tuple[int, ...]
    paddings: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        n, h, w, c = _checked_blocks(x.shape, self.block_shape, self.paddings, "paddings")
        (block_h, block_w), (top, bottom, left, right) = self.block_shape, self.paddings
        height, width = h + top + bottom, w + left + right
        if height % block_h or width % block_w:
            raise OpError(f"a padded map of {height}x{width} has no whole blocks", "blockShape")
        return n * block_h * block_w, height // block_h, width // block_w, c

    def reference(self, x: Array) -> Array:
        (block_h, block_w), (top, bottom, left, right) = self.block_shape, self.paddings
        y = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        n, h, w, c = y.shape
        y = y.reshape(n, h // block_h, block_h, w // block_w, block_w, c).transpose(2, 4, 0, 1, 3, 5)
        return y.reshape(n * block_h * block_w, h // block_h, w // block_w, c)


@dataclass(frozen=True, slots=True)
class BatchToSpace(Op):
    """tf.batch_to_space_nd on NHWC: the inverse of SpaceToBatch, then cut by crops [top, bottom, left, right]."""

    exact: ClassVar[bool] = True
    block_shape: tuple[int, ...]
    crops: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        n, h, w, c = _checked_blocks(x.shape, self.block_shape, self.crops, "crops")
        (block_h, block_w), (top, bottom, left, right) = self.block_shape, self.crops
        if n % (block_h * block_w):
            raise OpError(f"a batch of {n} has no whole blocks of {block_h}x{block_w}", "blockShape")
        height, width = h * block_h - top - bottom, w * block_w - left - right
        if height < 0 or width < 0:
            raise OpError(f"crops {list(self.crops)} of a map of {h * block_h}x{w * block_w}", "crops")
        return n // (block_h * block_w), height, width, c

    def reference(self, x: Array) -> Array:
        (block_h, block_w), (top, bottom, left, right) = self.block_shape, self.crops
        n, h, w, c = x.shape
        batch = n // (block_h * block_w)
        y = x.reshape(block_h, block_w, batch, h, w, c).transpose(2, 3, 0, 4, 1, 5)
        y = y.reshape(batch, h * block_h, w * block_w, c)
        return y[:, top : h * block_h - bottom, left : w * block_w - right]


def _checked_blocks(shape: Shape, block_shape: tuple[int, ...], edges: tuple[int, ...], name: str) -> Shape:
    need_rank(shape, 4, "input")
    need_count(block_shape, 2, "blockShape")
    need_count(edges, 4, name)
    if min(block_shape) < 1:
        raise OpError(f"{list(block_shape)}", "blockShape")
    if min(edges) < 0:
        raise OpError(f"{list(edges)}", name)
    return shape
