"""Is my preprocessing right? What the numbers of an input look like, and what is suspicious about them.

Most wrong results come from a picture that was scaled to 0..1, has its channels reversed, or is constant
(known-problems.md 11, 12): a network gives an answer all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.quantize import quantize
from emu.hef.formats import QuantInfo

OK, UNIT_RANGE, CONSTANT, BGR_LIKE, CLIPPED, UNUSED_FRAMES = (
    "ok",
    "unit_range",
    "constant",
    "bgr_like",
    "clipped",
    "unused_frames",
)

MOST_FRAMES = 64  # looked at; more say nothing new
_CLIPPED_SHARE = 0.001
_UNIT_EXPECTED = 2.0  # an input that takes numbers above this is not one of 0..1
_BLUE_OVER_RED = 1.25  # pictures of the world are redder than blue: a hint, no more

ADVICE = {
    UNIT_RANGE: "numbers of 0..1 where 0..{high:g} are expected: nearly all become codes 0 and 1",
    CONSTANT: "every element of a frame is the same",
    BGR_LIKE: "the first channel is much brighter than the last: BGR where RGB is expected? (a hint)",
    CLIPPED: "{clipped:.1%} of the numbers lie outside {low:g}..{high:g} and are clipped",
    UNUSED_FRAMES: "{given} frames are given, {used} used: --frames {given} uses them all",
}


class InputStatistics(Struct, frozen=True):
    """Range, mean, shares of the codes used and of the elements clipped (0..1), and what they mean together."""

    minimum: float
    maximum: float
    mean: float
    codes_used: float
    clipped: float
    verdict: str
    advice: str = ""


def input_statistics(
    frames: Iterable[NDArray[Any]],
    qp: QuantInfo,
    code_dtype: np.dtype[Any],
    *,
    given: int,
    used: int,
    channels_last: int = 0,
) -> InputStatistics:
    """Statistics of an input's frames: real numbers as float32, or codes.

    `given` and `used` count frames; `channels_last` is 3 where the frames are pixels of three colours in an order that
    the user chose.
    """
    codes = int(np.iinfo(code_dtype).max)
    low, high = _expected(qp, codes)
    seen = np.zeros(codes + 1, np.bool_)
    minimum, maximum, total, count, outside, constant = np.inf, -np.inf, 0.0, 0, 0, False
    colours = np.zeros(3)
    for frame in frames:
        is_float = frame.dtype.kind == "f"
        if not is_float:
            low, high = 0.0, float(codes)
        lowest, highest = (float(frame.min()), float(frame.max())) if frame.size else (0.0, 0.0)
        minimum, maximum = min(minimum, lowest), max(maximum, highest)
        total += float(frame.sum(dtype=np.float64))
        count += frame.size
        constant |= lowest == highest and frame.size > 1
        if is_float:
            outside += int(np.count_nonzero((frame < low) | (frame > high) | ~np.isfinite(frame)))
            seen[quantize(frame.astype(np.float32), qp, code_dtype).reshape(-1)] = True
        else:
            seen[frame.reshape(-1)] = True
        if channels_last == 3:
            colours += frame.reshape(-1, 3).mean(axis=0, dtype=np.float64)
    clipped = outside / count if count else 0.0
    verdict = OK
    if constant:
        verdict = CONSTANT
    elif 0.0 <= minimum <= maximum <= 1.0 and high > _UNIT_EXPECTED:
        verdict = UNIT_RANGE
    elif clipped > _CLIPPED_SHARE:
        verdict = CLIPPED
    elif given > used:
        verdict = UNUSED_FRAMES
    elif colours[0] > colours[2] * _BLUE_OVER_RED:
        verdict = BGR_LIKE
    advice = ADVICE.get(verdict, "").format(low=low, high=high, clipped=clipped, given=given, used=used)
    share = float(np.count_nonzero(seen)) / seen.size
    return InputStatistics(
        float(minimum), float(maximum), total / count if count else 0.0, share, clipped, verdict, advice
    )


def _expected(qp: QuantInfo, codes: int) -> tuple[float, float]:
    """The real numbers that an input takes without clipping."""
    low, high = sorted(((0 - qp.zp) * qp.scale, (codes - qp.zp) * qp.scale))
    if qp.limvals_min < qp.limvals_max:
        low, high = max(low, qp.limvals_min), min(high, qp.limvals_max)
    return low, high
