"""QuantizeFactorParams to the scheme of an integer product (graph-conventions.md OM-Q, om-format.md 7)."""

from __future__ import annotations

import math

import numpy as np

from emu.graph.ir import Array
from emu.graph.ops import OpError
from emu.graph.ops.quantised import Scheme
from emu.graph.readers.om.types import weight_range
from emu.schemas import om_pb2


def _fp16(weights: memoryview | None, value: bytes, offset: int, count: int, what: str) -> Array | None:
    """A float16 array of quantize_factor as float64, or None if it is absent (graph-conventions.md OM-Q1)."""
    raw: bytes | memoryview = value
    if not raw:
        if offset == 0:
            return None
        raw = weight_range(weights, offset, 2 * count, what)
    if len(raw) % 2:
        raise OpError(f"{len(raw)} bytes are no float16 array", what)
    return np.frombuffer(raw, "<f2").astype(np.float64)


def _effective(weights: memoryview | None, factor: om_pb2.QuantizeFactor, count: int, name: str) -> Array | None:
    """The scale of a QuantizeFactor, squared in SQRT mode."""
    if factor.scale_mode not in (om_pb2.NORMAL_MODE, om_pb2.SQRT_MODE):
        raise OpError(f"unknown mode {factor.scale_mode}", f"{name}.scale_mode")
    found = _fp16(weights, factor.scale_value, factor.scale_offset, count, f"{name}.scale_value")
    if found is None:
        return None
    if found.size != count:
        raise OpError(f"{found.size} values, {count} are needed", f"{name}.scale_value")
    return found * found if factor.scale_mode == om_pb2.SQRT_MODE else found


def _offset(weights: memoryview | None, value: bytes, offset: int, what: str) -> float:
    found = _fp16(weights, value, offset, 1, what)
    if found is None:
        return 0.0
    if found.size != 1 or not math.isfinite(float(found[0])):
        raise OpError(f"{found.size} values, one number is needed", what)
    return float(found[0])


def factor_scheme(
    factor: om_pb2.QuantizeFactorParams, weights: memoryview | None, units: int, relu_flag: bool
) -> Scheme:
    """The scheme for a product with `units` output channels; OpError for a count or kind that does not fit."""
    if factor.quantize_algo not in (0, 1, 2) or factor.scale_type not in (0, 1):
        raise OpError(
            f"quantize_algo {factor.quantize_algo}, scale_type {factor.scale_type}: unknown", "quantize_factor"
        )
    # a part that is written, but says nothing, is as good as absent: files have all parts (om-format.md 7)
    requantise = factor.requantize_param.ByteSize() > 0
    if requantise == (factor.dequantize_param.ByteSize() > 0):
        both = "both" if requantise else "neither"
        raise OpError(f"{both} of dequantize_param and requantize_param", "quantize_factor")
    name = "requantize_param" if requantise else "dequantize_param"
    out = factor.requantize_param if requantise else factor.dequantize_param
    count = units if factor.scale_type == om_pb2.VECTOR_SCALE else 1
    scale = _effective(weights, out, count, name)
    if scale is None:
        raise OpError("is missing", f"{name}.scale_value")
    given = factor.quantize_param
    multiplier = _effective(weights, given, 1, "quantize_param")
    signed = factor.quantize_algo == om_pb2.NON_OFFSET_ALGO
    offsets = {}
    if factor.quantize_algo == om_pb2.ALL_OFFSET_ALGO:
        offsets = {
            "offset_data": _offset(
                weights, given.offset_data_value, given.offset_data_offset, "quantize_param.offset_data_value"
            ),
            "offset_weight": _offset(
                weights, given.offset_weight_value, given.offset_weight_offset, "quantize_param.offset_weight_value"
            ),
            "offset_out": _offset(weights, out.offset_data_value, out.offset_data_offset, f"{name}.offset_data_value"),
        }
    return Scheme(
        lowest=-128 if signed else 0,
        highest=127 if signed else 255,
        scale=scale,
        multiplier=None if multiplier is None else float(multiplier[0]),
        relu=relu_flag,
        requantise=requantise,
        **offsets,
    )
