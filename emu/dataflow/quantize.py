"""Real numbers <-> the device's integer codes, to the bit as HailoRT computes them on x86-64 (transforms.md 2).

All arithmetic is binary32 with one rounding per operation. Codes are uint8 or uint16 arrays, real values float32
arrays of the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.errors import HailoError, HailoStatus
from emu.hef.formats import INVALID_QUANT_INFO, FormatType, QuantInfo

F32 = np.float32
Codes = NDArray[np.uint8] | NDArray[np.uint16]

# elements quantised at a time: the block and its scratch stay in a core's second-level cache
_BLOCK = 1 << 17
# from 0 to 2^22 the sum with it has no digits behind the point: 1.5 * 2^23
_ROUND = F32(3 << 22)
# the first binary32 that no longer fits the int32 that x86-64 converts through
_INT32_LIMIT = F32(2.0**31)

DTYPES: dict[FormatType, np.dtype[Any]] = {
    FormatType.UINT8: np.dtype(np.uint8),
    FormatType.UINT16: np.dtype("<u2"),
    FormatType.FLOAT32: np.dtype("<f4"),
}


def dtype_of(type: FormatType) -> np.dtype[Any]:
    """Little-endian numpy dtype of a format type; AUTO has none (HAILO_INVALID_ARGUMENT)."""
    dtype = DTYPES.get(type)
    if dtype is None:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"format type {type.name} names no element type")
    return dtype


def is_identity(qp: QuantInfo) -> bool:
    return qp.scale == 1.0 and qp.zp == 0.0


def require_valid(qp: QuantInfo, name: str = "") -> None:
    """Refuse the all-zero quant info that stands for several ones (HAILO_INVALID_ARGUMENT)."""
    if qp == INVALID_QUANT_INFO:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{name + ': ' if name else ''}one quant_info was asked for, but the layer is quantised per feature"
            " (all of zp, scale, limvals are 0)",
        )


def _casts_to_zero(probe: list[float], dtypes: list[type[Any]]) -> bool:
    """Whether numpy on this machine casts `probe` to numbers with 16 zero low bits, as x86-64 does (C leaves it open).

    67 elements take the cast through its vector body and its tail.
    """
    with np.errstate(invalid="ignore"):
        values = np.resize(np.array(probe, F32), 67)
        return not any(values.astype(dtype).astype(np.uint16).any() for dtype in dtypes)


_INT32_CAST_IS_X86 = _casts_to_zero([np.nan, np.inf, -np.inf, 1e10, -1e10], [np.int32])
_CODE_CAST_OF_NAN_IS_X86 = _casts_to_zero([np.nan], [np.uint8, np.uint16])


def cast_to_codes(values: NDArray[np.float32], dtype: np.dtype[Any]) -> Codes:
    """C's float -> uint8/uint16 as x86-64 does it: truncate to int32, keep the low bits; NaN and |v| >= 2^31 are 0."""
    if not _INT32_CAST_IS_X86:
        values = np.where(np.abs(values) < _INT32_LIMIT, values, F32(0))
    with np.errstate(invalid="ignore"):
        codes: Codes = values.astype(np.int32).astype(dtype)
    return codes


def clip(values: NDArray[np.float32], qp: QuantInfo) -> NDArray[np.float32]:
    """To [limvals_min, limvals_max]; the maximum is tested first, NaN stays NaN."""
    low, high = F32(qp.limvals_min), F32(qp.limvals_max)
    clipped: NDArray[np.float32]
    if low <= high:
        clipped = np.clip(values, low, high)
    else:
        clipped = np.where(values >= high, high, np.where(values <= low, low, values))
    return clipped


def quantize(values: NDArray[np.float32], qp: QuantInfo, dtype: np.dtype[Any], out: Codes | None = None) -> Codes:
    """Codes of `values`, same shape: rint(clip(v)/scale + zp), ties to even; the identity qp rounds without clipping.

    Results outside the code range wrap as the C conversion does (known-bugs.md 41, 42). `out`, if given, is a
    contiguous array of as many codes.
    """
    flat = np.ascontiguousarray(values, dtype=F32).reshape(-1)
    codes: Codes = np.empty(np.shape(values), dtype) if out is None else out
    target = codes.reshape(-1)
    with np.errstate(all="ignore"):
        if _quantize_inside(flat, qp, target):
            return codes
        direct = _cast_is_direct(qp, target.dtype)
        scratch = np.empty(min(_BLOCK, flat.size), F32)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            work = scratch[: block.size]
            np.rint(_scaled(block, qp, work), out=work)
            target[start : start + block.size] = work if direct else cast_to_codes(work, target.dtype)
    return codes


def quantize_planes(pixels: NDArray[np.float32], qp: QuantInfo, planes: Codes) -> None:
    """`quantize` of [h, w, f] into [h, f, w], for a few features.

    Real numbers are taken apart while they are rounded, which numpy does on several at once; codes go one by one.
    """
    inside = _Inside.of(qp, planes.dtype)
    height, width, features = pixels.shape
    if not pixels.size:
        return
    rows = max(1, _BLOCK // (width * features))
    with np.errstate(all="ignore"):
        scratch = np.empty((min(rows, height), width, features), F32)
        plane = np.empty(scratch.shape[:2], F32)
        for start in range(0, height, rows):
            block = pixels[start : start + rows]
            scaled = inside.scaled(block, scratch[: len(block)]) if inside else None
            if scaled is None:
                planes[:] = quantize(pixels, qp, planes.dtype).transpose(0, 2, 1)
                return
            for feature in range(features):
                rounded = np.rint(scaled[:, :, feature], out=plane[: len(block)])
                planes[start : start + rows, feature] = rounded
        if inside:
            inside.clip(planes)


class _Inside(Struct, frozen=True):
    """How values that all have codes before they are clipped become codes.

    Every step keeps the order of values, so that clipping codes is clipping values, at a quarter of the bytes.
    """

    scale: np.float32
    zp: np.float32
    limits: NDArray[Any] | None  # the first code and the last one, None for all that the type has
    beyond: np.uint32  # as integers, what is negative or no number is larger than any number above 0

    @classmethod
    def of(cls, qp: QuantInfo, dtype: np.dtype[Any]) -> _Inside | None:
        """None where the steps do not keep the order of values or a limit has no code."""
        most = int(np.iinfo(dtype).max)
        limits = None
        with np.errstate(all="ignore"):
            if not is_identity(qp):
                if not (_cast_is_direct(qp, dtype) and qp.scale > 0):
                    return None
                ends = np.array([qp.limvals_min, qp.limvals_max], F32) / F32(qp.scale) + F32(qp.zp)
                limits = np.rint(ends).astype(dtype)
                if tuple(limits) == (0, most):
                    limits = None
        return cls(F32(qp.scale), F32(qp.zp), limits, F32(most + 0.5).view(np.uint32))

    def scaled(self, block: NDArray[np.float32], work: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """block/scale + zp, in `work` if anything is to be done; None where a value has no code."""
        scaled = block if self.scale == 1 else np.divide(block, self.scale, out=work)
        if self.zp != 0:
            scaled = np.add(scaled, self.zp, out=work)
        return None if np.maximum.reduce(scaled.view(np.uint32), axis=None) >= self.beyond else scaled

    def clip(self, codes: Codes) -> None:
        if self.limits is not None:
            # numbers of numpy's: of Python's, numpy drops a lower limit of 0 and then has no fast loop
            np.clip(codes, self.limits[0], self.limits[1], out=codes)


def _quantize_inside(values: NDArray[np.float32], qp: QuantInfo, codes: Codes) -> bool:
    """`quantize` where all values have a code before they are clipped; False where one has none.

    Adding `_ROUND` rounds as rint does and leaves the code in the low bits.
    """
    inside = _Inside.of(qp, codes.dtype)
    if inside is None:
        return False
    scratch = np.empty(min(_BLOCK, values.size), F32)
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        work = scratch[: block.size]
        scaled = inside.scaled(block, work)
        if scaled is None:
            return False
        np.add(scaled, _ROUND, out=work)
        codes[start : start + _BLOCK] = work.view(np.uint32)
    inside.clip(codes)
    return True


def _scaled(block: NDArray[np.float32], qp: QuantInfo, work: NDArray[np.float32]) -> NDArray[np.float32]:
    """clip(block)/scale + zp, in `work` if anything is to be done; steps that cannot change a value are left out."""
    if is_identity(qp):
        return block
    if qp.limvals_min <= qp.limvals_max:
        np.clip(block, F32(qp.limvals_min), F32(qp.limvals_max), out=work)
    else:
        work[:] = clip(block, qp)
    if qp.scale != 1.0:
        np.divide(work, F32(qp.scale), out=work)
    if qp.zp != 0.0:
        np.add(work, F32(qp.zp), out=work)
    return work


def _cast_is_direct(qp: QuantInfo, dtype: np.dtype[Any]) -> bool:
    """Whether numpy's plain cast gives the codes: every clipped value is in the code range, and NaN casts to 0."""
    if is_identity(qp) or not qp.limvals_min <= qp.limvals_max or not _CODE_CAST_OF_NAN_IS_X86:
        return False
    ends = np.rint(np.array([qp.limvals_min, qp.limvals_max], F32) / F32(qp.scale) + F32(qp.zp))
    return bool((ends >= 0).all() and (ends <= np.iinfo(dtype).max).all())


def quantize_threshold(value: float, qp: QuantInfo, dtype: np.dtype[Any]) -> int:
    """The code that HailoRT 5.2's pre-filters compare with: `quantize` of one value, never the identity shortcut."""
    with np.errstate(all="ignore"):
        clipped = clip(np.array([value], F32), qp)
        return int(cast_to_codes(np.rint(clipped / F32(qp.scale) + F32(qp.zp)), dtype)[0])


def dequantize(codes: Codes, qp: QuantInfo) -> NDArray[np.float32]:
    """(code - zp) * scale, not clipped; same shape as `codes`."""
    values = codes.astype(F32)
    if not is_identity(qp):
        with np.errstate(all="ignore"):
            values -= F32(qp.zp)
            values *= F32(qp.scale)
    return values


def dequantize_per_feature(codes: Codes, qps: Sequence[QuantInfo], repetition: int = 1) -> NDArray[np.float32]:
    """Dequantise a flat frame whose features have a qp each, every qp for `repetition` elements in turn.

    The library lays this pattern from the end of the frame backwards and, where it does not divide the frame, goes on
    before its start: refused (HAILO_INVALID_OPERATION).
    """
    period = len(qps) * repetition
    if codes.size % period:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"{len(qps)} quant infos for {repetition} elements each do not divide a frame of {codes.size} elements",
        )
    zps = np.repeat(np.array([qp.zp for qp in qps], F32), repetition)
    scales = np.repeat(np.array([qp.scale for qp in qps], F32), repetition)
    with np.errstate(all="ignore"):
        values: NDArray[np.float32] = (codes.reshape(-1, period).astype(F32) - zps) * scales
    return values.reshape(-1)
