"""Convolution in all its forms: grouped, depthwise, mathematical (flipped kernel) and transposed.

One class holds the attributes; the arithmetic is in conv_fast.py (bands of patches times a matrix, shifted sums for
depthwise) and here in the plain form: one tap of the kernel after the other, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Epilogue
from emu.graph.ops.conv_fast import Filters, convolve
from emu.graph.ops.window import (
    NO_PADS,
    PadRule,
    Pads,
    Pair,
    add_pads,
    channels_first,
    check_positive,
    from_channels_first,
    need_map,
    need_room,
    pad_map,
    padded_size,
    same_pads,
)


@dataclass(frozen=True, slots=True)
class Conv(Op):
    """Cross-correlation of x [N, C, H, W] with weight [Co, C/groups, Kh, Kw], plus bias [Co].

    `channel_last`: x and the result are [N, H, W, C]; the weight's axes do not change. `flip` turns the kernel by 180
    degrees first. `before_pad` are zeros added to the input, the pads (given, or SAME of the enlarged input) come on
    top. `kernel` and `units` are what the file says about the weight, checked if present. `direct`: no other form than
    sums of products, which integers need to stay exact.
    """

    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pads = NO_PADS
    pad_rule: PadRule = PadRule.EXPLICIT
    groups: int = 1
    flip: bool = False
    channel_last: bool = False
    before_pad: Pads = NO_PADS
    epilogue: Epilogue = NO_EPILOGUE
    kernel: Pair | None = None
    units: int | None = None
    direct: bool = False

    def all_pads(self, size: Pair, kernel: Pair) -> Pads:
        """Zeros around a map of `size`, before_pad included."""
        enlarged = padded_size(size, self.before_pad)
        if self.pad_rule is PadRule.EXPLICIT:
            return add_pads(self.before_pad, self.pads)
        return add_pads(self.before_pad, same_pads(enlarged, kernel, self.strides, self.dilations))

    def shape(self, x: Operand, weight: Operand, bias: Operand | None = None) -> Shape:
        need_map(x.shape)
        need_map(weight.shape, "filter")
        check_positive(self.strides, "stride")
        check_positive(self.dilations, "dilation")
        n, channels, height, width = channels_first(x.shape, self.channel_last)
        units, inner, *rest = weight.shape
        kernel = rest[0], rest[1]
        check_weight(self.kernel, self.units, kernel, units)
        if self.groups < 1 or units % self.groups:
            raise OpError(f"{self.groups} groups do not divide {units} outputs", "group")
        if inner == 1 and self.groups > 1:
            check_taps(kernel)
        if inner * self.groups != channels:
            raise OpError(f"input has {channels} channels, the filter takes {inner} x {self.groups} groups", "filter")
        if bias is not None and math.prod(bias.shape) != units:
            raise OpError(f"{list(bias.shape)} for {units} outputs", "bias")
        full = padded_size((height, width), self.all_pads((height, width), kernel))
        need_room(n * channels * full[0] * full[1], n * channels * height * width)
        out = []
        for length, k, s, d in zip(full, kernel, self.strides, self.dilations, strict=True):
            if (k - 1) * d + 1 > length:
                raise OpError(f"kernel {k} with dilation {d} exceeds the padded input {length}", "kernel")
            out.append((length - (k - 1) * d - 1) // s + 1)
        return from_channels_first((n, units, out[0], out[1]), self.channel_last)

    def _turned(self, weight: Array) -> Array:
        return weight[:, :, ::-1, ::-1] if self.flip else weight

    def _finished(self, y: Array) -> Array:
        # a view: the next op on maps wants the channels first again
        return y.transpose(0, 2, 3, 1) if self.channel_last else y

    def reference(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        result = np.result_type(x, weight)
        x = x.transpose(0, 3, 1, 2) if self.channel_last else x
        weight = self._turned(weight)
        pads = self.all_pads((x.shape[2], x.shape[3]), (weight.shape[2], weight.shape[3]))
        n = len(x)
        units, inner, kh, kw = weight.shape
        full = pad_map(x.astype(np.float64), pads)
        out_h = (full.shape[2] - (kh - 1) * self.dilations[0] - 1) // self.strides[0] + 1
        out_w = (full.shape[3] - (kw - 1) * self.dilations[1] - 1) // self.strides[1] + 1
        grouped = full.reshape(n, self.groups, inner, *full.shape[2:])
        filters = weight.astype(np.float64).reshape(self.groups, units // self.groups, inner, kh, kw)
        y = np.zeros((n, self.groups, units // self.groups, out_h, out_w))
        for row in range(kh):
            for column in range(kw):
                top, left = row * self.dilations[0], column * self.dilations[1]
                tap = grouped[
                    ...,
                    top : top + (out_h - 1) * self.strides[0] + 1 : self.strides[0],
                    left : left + (out_w - 1) * self.strides[1] + 1 : self.strides[1],
                ]
                y += np.einsum("ngchw,goc->ngohw", tap, filters[..., row, column])
        flat = y.reshape(n, units, out_h, out_w)
        if bias is not None:
            flat += bias.reshape(-1, 1, 1)
        return self._finished(self.epilogue(flat).astype(result))

    def fast(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        return self._convolved(x, Filters(self._turned(weight)), bias)

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        weight = constants[1]
        if weight is None:
            return self.fast
        filters = Filters(self._turned(weight), kept=True)
        return lambda x, _, bias=None: self._convolved(x, filters, bias)

    def _convolved(self, x: Array, filters: Filters, bias: Array | None) -> Array:
        x = x.transpose(0, 3, 1, 2) if self.channel_last else x
        kernel = filters.weight.shape[2], filters.weight.shape[3]
        return self._finished(
            convolve(
                x,
                filters,
                None if bias is None else bias.reshape(-1),
                strides=self.strides,
                dilations=self.dilations,
                pads=self.all_pads((x.shape[2], x.shape[3]), kernel),
                groups=self.groups,
                epilogue=self.epilogue,
                direct=self.direct,
            )
        )


TAP_LIMIT = 1 << 16
"""Elements of a kernel that is walked tap by tap (depthwise, transposed): a forged kernel costs no time."""


def check_taps(kernel: Pair) -> None:
    if kernel[0] * kernel[1] > TAP_LIMIT:
        raise OpError(
            f"a kernel of {list(kernel)} has more than {TAP_LIMIT} taps", "kernel", GraphStatus.GRAPH_UNSUPPORTED
        )


def check_weight(kernel: Pair | None, units: int | None, found_kernel: Pair, found_units: int) -> None:
    """What the file says about the weight against the weight itself."""
    if kernel not in (None, found_kernel):
        raise OpError(f"{list(kernel or ())}, the filter has {list(found_kernel)}", "kernel")
    if units not in (None, found_units):
        raise OpError(f"{units}, the filter has {found_units}", "num_output")
    if min(found_kernel) < 1:
        raise OpError(f"filter has a kernel of {list(found_kernel)}", "filter")


@dataclass(frozen=True, slots=True)
class ConvTranspose(Op):
    """Transposed convolution of x [N, C, H, W] with weight [C, Co/groups, Kh, Kw], plus bias [Co].

    Size: (in - 1) * stride - pads + dilation * (k - 1) + 1 + adj, adj rows and columns at the bottom and right; or
    `target` [H, W], from which adj follows (graph-conventions.md OM-O4). With PadRule.SAME the total padding is
    max((k - 1) * dilation + 1 - stride, 0), smaller half first (MS-O1).
    """

    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pads = NO_PADS
    pad_rule: PadRule = PadRule.EXPLICIT
    groups: int = 1
    adj: Pair = (0, 0)
    target: Pair | None = None
    channel_last: bool = False
    before_pad: Pads = NO_PADS
    epilogue: Epilogue = NO_EPILOGUE
    kernel: Pair | None = None
    units: int | None = None

    def all_pads(self, kernel: Pair) -> Pads:
        if self.pad_rule is PadRule.EXPLICIT:
            return self.pads
        pads: list[int] = []
        for k, s, d in zip(kernel, self.strides, self.dilations, strict=True):
            total = max((k - 1) * d + 1 - s, 0)
            pads += [total // 2, total - total // 2]
        return pads[0], pads[1], pads[2], pads[3]

    def _size(self, size: Pair, kernel: Pair) -> Pair:
        pads = self.all_pads(kernel)
        size = padded_size(size, self.before_pad)
        plain = [
            (length - 1) * s - pads[2 * at] - pads[2 * at + 1] + d * (k - 1) + 1
            for at, (length, k, s, d) in enumerate(zip(size, kernel, self.strides, self.dilations, strict=True))
        ]
        adj = self.adj
        if self.target is not None:
            adj = self.target[0] - plain[0], self.target[1] - plain[1]
            if min(adj) < 0:
                raise OpError(f"{list(self.target)} is smaller than {plain}", "target_shape")
        return plain[0] + adj[0], plain[1] + adj[1]

    def shape(self, x: Operand, weight: Operand, bias: Operand | None = None) -> Shape:
        need_map(x.shape)
        need_map(weight.shape, "filter")
        check_positive(self.strides, "stride")
        check_positive(self.dilations, "dilation")
        if min(self.adj) < 0:
            raise OpError(f"{list(self.adj)}: must not be negative", "adj")
        if min(self.pads) < 0:
            raise OpError(f"{list(self.pads)}: must not be negative", "pad")
        n, channels, height, width = channels_first(x.shape, self.channel_last)
        inner, per_group, *rest = weight.shape
        kernel = rest[0], rest[1]
        units = per_group * self.groups
        check_weight(self.kernel, self.units, kernel, units)
        check_taps(kernel)
        if self.groups < 1 or channels % self.groups:
            raise OpError(f"{self.groups} groups do not divide {channels} channels", "group")
        if inner != channels:
            raise OpError(f"input has {channels} channels, the filter takes {inner}", "filter")
        if bias is not None and math.prod(bias.shape) != units:
            raise OpError(f"{list(bias.shape)} for {units} outputs", "bias")
        out = self._size((height, width), kernel)
        if min(out) < 1:
            raise OpError(f"result would be {list(out)}", "pad")
        pads = self.all_pads(kernel)
        need_room(n * units * (out[0] + pads[0] + pads[1]) * (out[1] + pads[2] + pads[3]), n * units * out[0] * out[1])
        return from_channels_first((n, units, *out), self.channel_last)

    def reference(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        return self._scatter(x, weight, bias, np.dtype(np.float64))

    def fast(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        return self._scatter(x, weight, bias, np.result_type(x, weight))

    def _scatter(self, x: Array, weight: Array, bias: Array | None, dtype: np.dtype[np.generic]) -> Array:
        """Every tap of the kernel adds its product to the places that it reaches."""
        result = np.result_type(x, weight)
        if self.channel_last:
            x = x.transpose(0, 3, 1, 2)
        _, per_group, kh, kw = weight.shape
        out_h, out_w = self._size((x.shape[2], x.shape[3]), (kh, kw))
        x = pad_map(x, self.before_pad)
        n, channels, height, width = x.shape
        top, _, left, _ = self.all_pads((kh, kw))
        (sh, sw), (dh, dw) = self.strides, self.dilations
        # room for every tap; what lies outside the result is cut off at the end
        full_h = max((height - 1) * sh + (kh - 1) * dh + 1, top + out_h)
        full_w = max((width - 1) * sw + (kw - 1) * dw + 1, left + out_w)
        inner = channels // self.groups
        y = np.zeros((n, self.groups, per_group, full_h, full_w), dtype)
        maps = np.ascontiguousarray(x, dtype).reshape(n, self.groups, inner, height * width)
        filters = weight.astype(dtype, copy=False).reshape(self.groups, inner, per_group, kh, kw)
        for row in range(kh):
            for column in range(kw):
                taps = filters[..., row, column].swapaxes(1, 2)
                product = (taps * maps if inner == 1 else np.matmul(taps, maps)).reshape(
                    n, self.groups, per_group, height, width
                )
                y[
                    ...,
                    row * dh : row * dh + (height - 1) * sh + 1 : sh,
                    column * dw : column * dw + (width - 1) * sw + 1 : sw,
                ] += product
        cut = y[..., top : top + out_h, left : left + out_w].reshape(n, -1, out_h, out_w)
        if bias is not None:
            cut = cut + bias.reshape(-1, 1, 1)
        cut = self.epilogue(cut.astype(result, copy=False))
        cut = np.ascontiguousarray(cut)
        return cut.transpose(0, 2, 3, 1) if self.channel_last else cut
