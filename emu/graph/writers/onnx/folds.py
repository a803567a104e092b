"""Reductions, normalisations, softmax, sampling and fake quantisation in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from emu.graph.ir import Operand
from emu.graph.ops.configured import Chain, Fused
from emu.graph.ops.elementwise import aligned_shape, check_axis
from emu.graph.ops.fake_quant import (
    FOLD_EPSILON,
    AddFold,
    BatchNormFold,
    DequantiseLinear,
    FakeQuantise,
    MulFold,
    QuantiseLinear,
)
from emu.graph.ops.norm import BatchNorm, BiasAdd, L2Norm, LayerNorm, LocalResponseNorm, Scale
from emu.graph.ops.reduce import ArgBest, Reduce, Reduction, TopK, Unique
from emu.graph.ops.resize import Resize, Sampling, Upsample
from emu.graph.ops.softmax import Softmax
from emu.graph.writers.onnx.builder import Builder, Site, emit, emits, no_counterpart


def _axes(axes: tuple[int, ...], rank: int) -> list[int]:
    return sorted(check_axis(axis, rank) for axis in axes) if axes else list(range(rank))


@emits(Softmax)
def _softmax(op: Softmax, site: Site) -> list[str]:
    b, shape = site.builder, site.shape(0)
    axes = _axes(op.axes, len(shape))
    kind = "LogSoftmax" if op.log else "Softmax"
    if len(axes) == 1:
        return [b.add(kind, site.name(0), axis=axes[0])]
    order = [axis for axis in range(len(shape)) if axis not in axes] + axes
    moved = [shape[axis] for axis in order]
    flat = b.reshape(b.transpose(site.name(0), order), [*moved[: -len(axes)], math.prod(moved[-len(axes) :])])
    y = b.reshape(b.add(kind, flat, axis=-1), moved)
    return [b.transpose(y, np.argsort(order).tolist())]


_REDUCTIONS = {
    Reduction.MEAN: "ReduceMean",
    Reduction.MAX: "ReduceMax",
    Reduction.MIN: "ReduceMin",
    Reduction.PROD: "ReduceProd",
    Reduction.SUM_OF_SQUARES: "ReduceSumSquare",
}


@emits(Reduce)
def _reduce(op: Reduce, site: Site) -> list[str]:
    b, dtype = site.builder, site.operand(0).dtype
    axes, x = _axes(op.axes, len(site.shape(0))), site.name(0)
    x = x if dtype.kind == "f" else b.cast(x, np.float64 if op.reduction is Reduction.MEAN else np.int64)
    if op.reduction is Reduction.SUM:
        y = b.add("ReduceSum", x, b.integers(axes), keepdims=int(op.keep))
    else:
        y = b.add(_REDUCTIONS[op.reduction], x, axes=axes, keepdims=int(op.keep))
    return [b.reshape(b.cast(y, dtype), site.results[0])]


@emits(ArgBest)
def _arg_best(op: ArgBest, site: Site) -> list[str]:
    b, axis = site.builder, check_axis(op.axis, len(site.shape(0)))
    if op.count == 1 and not op.values:
        kind = "ArgMax" if op.largest else "ArgMin"
        return [b.add(kind, site.name(0), axis=axis, keepdims=int(op.keep))]
    values, places = b.add_many(
        "TopK", [site.name(0), b.integers([op.count])], 2, axis=axis, largest=int(op.largest), sorted=1
    )
    return [b.reshape(values if op.values else places, site.results[0])]


@emits(TopK)
def _top_k(op: TopK, site: Site) -> list[str]:
    values, places = site.builder.add_many("TopK", [site.name(0), site.builder.integers([op.k])], 2, axis=-1, sorted=1)
    return [values, site.builder.cast(places, np.int32)]


@emits(Unique)
def _unique(op: Unique, site: Site) -> list[str]:
    values, _, inverse, _ = site.builder.add_many("Unique", [site.name(0)], 4, sorted=0)
    return [values, site.builder.cast(inverse, np.int32)]


# --- normalisation ------------------------------------------------------------------------------------------------


def _along(site: Site, place: int, axis: int | None) -> str:
    """A parameter that broadcasts against the first operand, as float64."""
    b, wide = site.builder, site.builder.cast(site.name(place), np.float64)
    if axis is None:
        return wide
    return b.reshape(wide, aligned_shape((math.prod(site.shape(place)),), axis, len(site.shape(0))))


@emits(BatchNorm)
def _batch_norm(op: BatchNorm, site: Site) -> list[str]:
    """In float64, and operator by operator: BatchNormalization wants the channels on axis 1."""
    b = site.builder
    variance = b.add("Add", _along(site, 2, op.axis), b.constant(op.epsilon, np.float64))
    y = b.add("Sub", b.cast(site.name(0), np.float64), _along(site, 1, op.axis))
    y = b.add("Div", y, b.add("Sqrt", variance))
    if site.optional(3) is not None:
        y = b.add("Mul", y, _along(site, 3, op.axis))
    if site.optional(4) is not None:
        y = b.add("Add", y, _along(site, 4, op.axis))
    return [b.cast(y, np.float32)]


@emits(Scale)
def _scale(op: Scale, site: Site) -> list[str]:
    b = site.builder
    y = b.add("Mul", b.cast(site.name(0), np.float64), _along(site, 1, op.axis))
    if site.optional(2) is not None:
        y = b.add("Add", y, _along(site, 2, op.axis))
    return [b.cast(y, np.float32)]


@emits(BiasAdd)
def _bias_add(op: BiasAdd, site: Site) -> list[str]:
    b = site.builder
    y = b.add("Add", b.cast(site.name(0), np.float64), _along(site, 1, op.axis))
    return [b.cast(y, site.dtype if site.dtype.kind != "f" else np.float32)]


@emits(LayerNorm)
def _layer_norm(op: LayerNorm, site: Site) -> list[str]:
    b, rank = site.builder, len(site.shape(0))
    axes = list(range(check_axis(op.axis, rank), rank))
    x = b.cast(site.name(0), np.float64)
    mean = b.add("ReduceMean", x, axes=axes, keepdims=1)
    centred = b.add("Sub", x, mean)
    variance = b.add("ReduceMean", b.add("Mul", centred, centred), axes=axes, keepdims=1)
    y = b.add("Div", centred, b.add("Sqrt", b.add("Add", variance, b.constant(op.epsilon, np.float64))))
    for place, kind in ((1, "Mul"), (2, "Add")):
        if site.optional(place) is not None:
            y = b.add(kind, y, b.cast(site.name(place), np.float64))
    return [b.cast(each, np.float32) for each in (y, mean, variance)]


@emits(LocalResponseNorm)
def _local_response(op: LocalResponseNorm, site: Site) -> list[str]:
    """A sum over a window of the channels, by a matrix of ones: LRN has another window for even sizes of some."""
    b, shape = site.builder, site.shape(0)
    axis = check_axis(op.axis, len(shape))
    channels = np.arange(shape[axis])
    window = (channels[None, :] >= channels[:, None] - op.before) & (channels[None, :] <= channels[:, None] + op.after)
    order = [at for at in range(len(shape)) if at != axis] + [axis]
    x = b.cast(b.transpose(site.name(0), order), np.float64)
    total = b.add("MatMul", b.add("Mul", x, x), b.constant(window.T.astype(np.float64)))
    factor = b.add("Add", b.add("Mul", total, b.constant(op.alpha, np.float64)), b.constant(op.bias, np.float64))
    y = b.add("Div", x, b.add("Pow", factor, b.constant(op.beta, np.float64)))
    return [b.transpose(b.cast(y, np.float32), np.argsort(order).tolist())]


@emits(L2Norm)
def _l2_norm(op: L2Norm, site: Site) -> list[str]:
    b = site.builder
    x = b.cast(site.name(0), np.float64)
    axes = b.integers([check_axis(axis, len(site.shape(0))) for axis in op.axes])
    total = b.add("ReduceSum", b.add("Mul", x, x), axes, keepdims=1, noop_with_empty_axes=1)
    return [b.cast(b.add("Div", x, b.add("Sqrt", b.add("Max", total, b.constant(op.epsilon, np.float64)))), np.float32)]


# --- sampling -----------------------------------------------------------------------------------------------------


@emits(Resize)
def _resize(op: Resize, site: Site) -> list[str]:
    b, last = site.builder, op.channels_last
    x = b.cast(site.name(0), np.float32) if site.operand(0).dtype.kind != "f" else site.name(0)
    x = b.transpose(x, (0, 3, 1, 2)) if last else x
    n, c = site.shape(0)[0], site.shape(0)[3 if last else 1]
    linear = op.sampling is Sampling.LINEAR
    if op.half_pixel_centers and not linear:
        raise no_counterpart("the nearest element of half-pixel centres as TensorFlow takes it")
    mode = "align_corners" if op.align_corners else "half_pixel" if op.half_pixel_centers else "asymmetric"
    nearest = "round_prefer_ceil" if op.align_corners else "floor"
    y = b.add(
        "Resize",
        x,
        None,
        None,
        b.integers([n, c, op.height, op.width]),
        mode="linear" if linear else "nearest",
        coordinate_transformation_mode=mode,
        nearest_mode=None if linear else nearest,
    )
    return [b.transpose(y, (0, 2, 3, 1)) if last else y]


@emits(Upsample)
def _upsample(op: Upsample, site: Site) -> list[str]:
    b, linear = site.builder, op.sampling is Sampling.LINEAR
    return [
        b.add(
            "Resize",
            site.name(0),
            None,
            b.constant(op.scales, np.float32),
            mode="linear" if linear else "nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode=None if linear else "floor",
        )
    ]


# --- quantisation-aware training ----------------------------------------------------------------------------------


def _half_up(b: Builder, x: str) -> str:
    return b.add("Floor", b.add("Add", x, b.constant(0.5, np.float64)))


def _clipped(b: Builder, x: str, low: float, high: float) -> str:
    return b.add("Clip", x, b.constant(low, np.float64), b.constant(high, np.float64))


@emits(FakeQuantise)
def _fake_quantise(op: FakeQuantise, site: Site) -> list[str]:
    b, rank = site.builder, len(site.shape(0))
    if op.axis is None:
        low, high = (b.reshape(b.cast(site.name(at), np.float64), []) for at in (1, 2))
    else:
        axis = check_axis(op.axis, rank)
        low, high = _along(site, 1, axis), _along(site, 2, axis)
    first, last = int(op.narrow), 2**op.bits - 1
    scale = b.add("Div", b.add("Sub", high, low), b.constant(last - first, np.float64))
    zero = b.add("Sub", b.constant(first, np.float64), b.add("Div", low, scale))
    zero = _clipped(b, _half_up(b, zero), first, last)
    steps = b.add("Add", b.add("Div", b.cast(site.name(0), np.float64), scale), zero)
    steps = _clipped(b, _half_up(b, steps), first, last)
    return [b.cast(b.add("Mul", b.add("Sub", steps, zero), scale), np.float32)]


def _one(site: Site, place: int) -> str:
    return site.builder.reshape(site.builder.cast(site.name(place), np.float64), [])


@emits(QuantiseLinear)
def _quantise(op: QuantiseLinear, site: Site) -> list[str]:
    b = site.builder
    steps = b.add("Round", b.add("Div", b.cast(site.name(0), np.float64), _one(site, 1)))
    return [b.cast(_clipped(b, b.add("Add", steps, _one(site, 2)), -128, 127), np.int8)]


@emits(DequantiseLinear)
def _dequantise(op: DequantiseLinear, site: Site) -> list[str]:
    b = site.builder
    steps = b.add("Sub", b.cast(site.name(0), np.float64), _one(site, 2))
    return [b.cast(b.add("Mul", steps, _one(site, 1)), np.float32)]


@emits(BatchNormFold)
def _batch_norm_fold(op: BatchNormFold, site: Site) -> list[str]:
    b, shape = site.builder, site.shape(1)
    variance = b.add("Add", b.cast(site.name(2), np.float64), b.constant(FOLD_EPSILON, np.float64))
    constants = [b.constant(np.full(shape, value, np.float32)) for value in (0, 1)]
    return [*constants, site.name(1), b.cast(b.add("Sqrt", variance), np.float32)]


@emits(MulFold)
def _mul_fold(op: MulFold, site: Site) -> list[str]:
    b = site.builder
    factor = b.add("Div", _along(site, 1, 0), _along(site, 2, 0))
    return [b.cast(b.add("Mul", b.cast(site.name(0), np.float64), factor), np.float32)]


@emits(AddFold)
def _add_fold(op: AddFold, site: Site) -> list[str]:
    b = site.builder
    beta, gamma, deviation, mean, running = (_along(site, at, op.axis) for at in range(1, 6))
    y = b.add("Mul", b.cast(site.name(0), np.float64), b.add("Div", running, deviation))
    shift = b.add("Sub", beta, b.add("Div", b.add("Mul", gamma, mean), deviation))
    return [b.cast(b.add("Add", y, shift), np.float32)]


# --- several ops as one -------------------------------------------------------------------------------------------


@emits(Chain)
def _chain(op: Chain, site: Site) -> list[str]:
    name, operand = site.name(0), site.operand(0)
    for inner in op.ops:
        name = emit(inner, Site(site.builder, (name,), (operand,), site.results, site.dtype))[0]
    return [name]


@emits(Fused)
def _fused(op: Fused, site: Site) -> list[str]:
    found: list[Any] = []
    for step in op.steps:
        operands = [site.operands[at] if at >= 0 else found[-at - 1][1] for at in step.sources]
        names = [site.names[at] if at >= 0 else found[-at - 1][0] for at in step.sources]
        shape = step.op.shape(*operands)
        shape = shape[0] if isinstance(shape, list) else shape
        if shape is None:
            raise no_counterpart("a member's result has no known dims")
        dtype = next(operand.dtype for operand in operands if operand is not None)
        name = emit(step.op, Site(site.builder, tuple(names), tuple(operands), (shape,), dtype))[0]
        found.append((name, Operand(shape, dtype)))
    return [found[-1][0]]
