"""Convolutions, matrix products, pooling and their quantised forms in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops.activation import NO_EPILOGUE
from emu.graph.ops.adapted import Adapted
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.linear import FullConnection, Gemm, MatMul
from emu.graph.ops.pool import Pool, PoolMode
from emu.graph.ops.quantised import FLOAT32_EXACT, QuantisedProduct
from emu.graph.ops.window import Pads, channels_first, padded_size
from emu.graph.writers.onnx.builder import Builder, Site, emit, emits, no_counterpart
from emu.graph.writers.onnx.pointwise import epilogue

_FIRST, _LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def _onnx_pads(pads: Pads) -> list[int]:
    """Top, left, bottom, right."""
    return [pads[0], pads[2], pads[1], pads[3]]


def _map(site: Site, channel_last: bool) -> tuple[str, Shape]:
    x, shape = site.name(0), site.shape(0)
    return (site.builder.transpose(x, _FIRST) if channel_last else x), channels_first(shape, channel_last)


def _finished(b: Builder, y: str, channel_last: bool) -> str:
    return b.transpose(y, _LAST) if channel_last else y


def _flat(b: Builder, site: Site, place: int) -> str | None:
    """A vector of parameters with one dimension."""
    name = site.optional(place)
    if name is None or len(site.shape(place)) == 1:
        return name
    return b.reshape(name, [math.prod(site.shape(place))])


@emits(Conv)
def _conv(op: Conv, site: Site) -> list[str]:
    b = site.builder
    x, shape = _map(site, op.channel_last)
    kernel = site.shape(1)[2], site.shape(1)[3]
    weight = site.name(1)
    if op.flip:
        weight = b.constant(np.ascontiguousarray(site.value(1, "a filter that is turned")[:, :, ::-1, ::-1]))
    y = b.add(
        "Conv",
        x,
        weight,
        _flat(b, site, 2),
        strides=op.strides,
        dilations=op.dilations,
        pads=_onnx_pads(op.all_pads((shape[2], shape[3]), kernel)),
        group=op.groups,
        kernel_shape=kernel,
    )
    return [_finished(b, epilogue(b, y, op.epilogue), op.channel_last)]


@emits(ConvTranspose)
def _conv_transpose(op: ConvTranspose, site: Site) -> list[str]:
    b = site.builder
    x, shape = _map(site, op.channel_last)
    if any(op.before_pad):
        top, bottom, left, right = op.before_pad
        x = b.add("Pad", x, b.integers([0, 0, top, left, 0, 0, bottom, right]))
    size = padded_size((shape[2], shape[3]), op.before_pad)
    kernel = site.shape(1)[2], site.shape(1)[3]
    pads = op.all_pads(kernel)
    out = channels_first(site.results[0], op.channel_last)[2:]
    plain = [
        (length - 1) * s - pads[2 * at] - pads[2 * at + 1] + d * (k - 1) + 1
        for at, (length, k, s, d) in enumerate(zip(size, kernel, op.strides, op.dilations, strict=True))
    ]
    adj = [have - want for have, want in zip(out, plain, strict=True)]
    # ONNX allows less of it than the formats: the rest are zeros before the bias, which is added apart then
    fits = all(0 <= extra < max(s, d) for extra, s, d in zip(adj, op.strides, op.dilations, strict=True))
    bias = _flat(b, site, 2)
    y = b.add(
        "ConvTranspose",
        x,
        site.name(1),
        bias if fits else None,
        strides=op.strides,
        dilations=op.dilations,
        pads=_onnx_pads(pads) if fits else [0, 0, 0, 0],
        group=op.groups,
        kernel_shape=kernel,
        output_padding=adj if fits else None,
    )
    if not fits:
        whole = [
            (length - 1) * s + d * (k - 1) + 1
            for length, k, s, d in zip(size, kernel, op.strides, op.dilations, strict=True)
        ]
        more = [max(0, pads[2 * at] + out[at] - whole[at]) for at in (0, 1)]
        y = b.add("Pad", y, b.integers([0, 0, 0, 0, 0, 0, *more]))
        y = b.slice(y, [pads[0], pads[2]], [pads[0] + out[0], pads[2] + out[1]], [2, 3])
        if bias is not None:
            y = b.add("Add", y, b.reshape(bias, [1, -1, 1, 1]))
    return [_finished(b, epilogue(b, y, op.epilogue), op.channel_last)]


@emits(FullConnection)
def _full_connection(op: FullConnection, site: Site) -> list[str]:
    b = site.builder
    rows, units = site.shape(0)[0], site.shape(1)[0]
    length = math.prod(site.shape(1)[1:])
    x, weight = b.reshape(site.name(0), [rows, length]), b.reshape(site.name(1), [units, length])
    y = b.add("Gemm", x, weight, _flat(b, site, 2), transB=1)
    y = epilogue(b, y, op.epilogue)
    return [b.reshape(y, [rows, units, 1, 1]) if op.four_dimensional else y]


def _matrix(site: Site, place: int, transposed: bool) -> str:
    if not transposed:
        return site.name(place)
    rank = len(site.shape(place))
    return site.builder.transpose(site.name(place), [*range(rank - 2), rank - 1, rank - 2])


@emits(MatMul)
def _mat_mul(op: MatMul, site: Site) -> list[str]:
    b = site.builder
    y = b.add("MatMul", _matrix(site, 0, op.transpose_a), _matrix(site, 1, op.transpose_b))
    bias = _flat(b, site, 2)
    return [y if bias is None else b.add("Add", y, bias)]


@emits(Gemm)
def _gemm(op: Gemm, site: Site) -> list[str]:
    b = site.builder
    product = b.add("MatMul", _matrix(site, 0, op.transpose_a), _matrix(site, 1, op.transpose_b))
    alpha, beta = b.reshape(site.name(3), []), b.reshape(site.name(4), [])
    return [b.add("Add", b.add("Mul", product, alpha), b.add("Mul", site.name(2), beta))]


@emits(Pool)
def _pool(op: Pool, site: Site) -> list[str]:
    b = site.builder
    x, shape = _map(site, op.channel_last)
    if any(op.before_pad):
        top, bottom, left, right = op.before_pad
        x = b.add("Pad", x, b.integers([0, 0, top, left, 0, 0, bottom, right]))
    if op.whole:
        y = b.add("GlobalMaxPool" if op.mode is PoolMode.MAX else "GlobalAveragePool", x)
        return [_finished(b, y, op.channel_last)]
    window, pads, out = op.geometry(padded_size((shape[2], shape[3]), op.before_pad))
    if any(pad >= window[at // 2] for at, pad in enumerate(pads)):
        # padding as wide as the window: a larger map whose new elements are lowest, or nothing
        return [_finished(b, _pool_padded(op, b, x, shape, pads), op.channel_last)]
    more: dict[str, Any] = {"count_include_pad": 0} if op.mode is PoolMode.AVERAGE else {}
    kind = "MaxPool" if op.mode is PoolMode.MAX else "AveragePool"
    y = b.add(kind, x, kernel_shape=window, strides=op.strides, pads=_onnx_pads(pads), **more)
    # the room that ceil needs may hold one more window than is wanted
    y = b.slice(y, [0, 0], out, [2, 3])
    return [_finished(b, y, op.channel_last)]


def _pool_padded(op: Pool, b: Builder, x: str, shape: Shape, pads: Pads) -> str:
    top, bottom, left, right = pads
    around = b.integers([0, 0, top, left, 0, 0, bottom, right])
    window: dict[str, Any] = {"kernel_shape": op.window, "strides": op.strides}
    if op.mode is PoolMode.MAX:
        return b.add("MaxPool", b.add("Pad", x, around, b.constant(-np.inf, np.float32)), **window)
    size = padded_size((shape[2], shape[3]), op.before_pad)
    ones = b.add("Pad", b.constant(np.ones((1, 1, *size), np.float32)), around)
    total = b.add("AveragePool", b.add("Pad", x, around), **window)
    return b.add("Div", total, b.add("AveragePool", ones, **window))


@emits(Adapted)
def _adapted(op: Adapted, site: Site) -> list[str]:
    """Operands through their views, results transposed."""
    b = site.builder
    names, operands = op.in_order(site.names), op.turned(site.operands)
    for at, view in enumerate(op.views[: len(names)]):
        if view is not None and names[at] is not None:
            turned = b.transpose(names[at], view.axes)
            operand = operands[at]
            assert operand is not None
            names[at] = b.reshape(turned, operand.shape) if view.merge else turned
    back = np.argsort(op.result_axes) if op.result_axes else None
    results = [shape if back is None else tuple(shape[axis] for axis in back) for shape in site.results]
    found = emit(op.op, Site(b, tuple(names), tuple(operands), tuple(results), site.dtype))
    if op.result_axes:
        found = [b.transpose(y, op.result_axes) for y in found]
    if op.one_for_scalar:
        found = [b.reshape(y, shape) for y, shape in zip(found, site.results, strict=False)]
    return found


# --- quantised ------------------------------------------------------------------------------------------------------


@emits(QuantisedProduct)
def _quantised(op: QuantisedProduct, site: Site) -> list[str]:
    """The sums in float32 on whole numbers, exact as the executor's: ConvInteger and MatMulInteger have no form for the
    offsets of the formats, and runtimes have no Conv of float64."""
    b, scheme = site.builder, op.scheme
    if getattr(op.product, "epilogue", NO_EPILOGUE) != NO_EPILOGUE:
        raise no_counterpart("a quantised product with an epilogue")
    q = b.cast(site.name(0), np.float64)
    if site.operand(0).dtype.kind == "f":
        if scheme.step is not None:
            q = b.add("Div", q, b.constant(scheme.step, np.float64))
        else:
            q = b.add("Mul", q, b.constant(scheme.multiplier, np.float64))
        low, high = scheme.lowest - scheme.offset_data, scheme.highest - scheme.offset_data
        q = b.add("Clip", b.add("Round", q), b.constant(low, np.float64), b.constant(high, np.float64))
    elif scheme.offset_data:
        q = b.add("Sub", q, b.constant(scheme.offset_data, np.float64))
    weight: Array = site.value(1, "a quantised filter").astype(np.float64) - scheme.offset_weight
    terms = op.terms(weight) * (scheme.highest - scheme.lowest)
    x, total = b.cast(q, np.float32), None
    for factor, digits in _exact_parts(weight, terms):
        names = (x, b.constant(digits, np.float32, "weight"))
        inner = Site(b, names, site.operands[:2], site.results, np.dtype(np.float32))
        part = b.cast(emit(op.product, inner)[0], np.float64)
        part = part if factor == 1 else b.add("Mul", part, b.constant(factor, np.float64))
        total = part if total is None else b.add("Add", total, part)
    assert total is not None
    shape = [1] * len(site.results[0])
    shape[op.axis] = -1
    bias = None if site.optional(2) is None else b.reshape(b.cast(site.name(2), np.float64), shape)
    whole = bias is not None and site.operand(2).dtype.kind != "f"
    if whole:
        total = b.add("Add", total, bias)
    scale = scheme.scale.astype(np.float64)
    y = b.add("Mul", total, b.constant(scale.reshape(shape) if scale.size > 1 else scale.reshape(())))
    if bias is not None and not whole:
        y = b.add("Add", y, bias)
    if scheme.relu:
        y = b.add("Max", y, b.constant(0, np.float64))
    if scheme.requantise:
        y = b.add("Add", b.add("Round", y), b.constant(scheme.offset_out, np.float64))
        y = b.add("Clip", y, b.constant(scheme.lowest, np.float64), b.constant(scheme.highest, np.float64))
    return [b.cast(y, site.dtype if site.dtype.kind != "f" else np.float32)]


def _exact_parts(weight: Array, largest: int) -> list[tuple[float, Array]]:
    """Weights whose products sum exactly in float32 where `largest` is that sum for weights of 1: the weight itself,
    or its digits in some base with their factors."""
    limit = (FLOAT32_EXACT - 1) / max(largest, 1)
    if float(np.abs(weight).max(initial=0)) <= limit:
        return [(1.0, weight)]
    base = 2 ** int(math.log2(limit + 1)) if limit >= 1 else 0
    if base < 2 or not (weight == np.rint(weight)).all():
        raise no_counterpart("sums of products that float32 cannot hold")
    parts: list[tuple[float, Array]] = []
    left, factor = np.abs(weight), 1.0
    while left.any():
        parts.append((factor, np.sign(weight) * (left % base)))
        left, factor = left // base, factor * base
    return parts
