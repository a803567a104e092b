"""The data plane backwards: an output frame -> the stream bytes that give it, an input's stream bytes -> its frame.

`OutputInverse` and `InputInverse` undo the transform they are made of. What a transform drops (padding) comes back as
zero. An output value becomes the nearest code of the stream's type, as a core saturates, not one inside limvals: those
bound the numbers that calibration saw, and a 16-bit stream sends codes beyond them (transforms.md 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, InputTransform, OutputTransform, as_bytes
from emu.dataflow.quantize import Codes, dequantize, dtype_of, is_identity
from emu.dataflow.reorder import Elements, transpose
from emu.dataflow.reverse import input_reverse, output_reverse
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import FormatOrder, FormatType, QuantInfo, frame_size


def nearest_codes(values: NDArray[Any], qp: QuantInfo, dtype: np.dtype[Any]) -> Codes:
    """The codes whose real values are nearest to `values`, same shape; NaN becomes the zero point.

    Ties go to even. HAILO_INVALID_ARGUMENT for a scale of 0, which stands for no number.
    """
    if qp.scale == 0.0 or not np.isfinite([qp.scale, qp.zp]).all():
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"a scale of {qp.scale:g} and zero point {qp.zp:g} quantise nothing"
        )
    # binary64: a 16-bit code must survive the division
    real = np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    with np.errstate(over="ignore"):
        codes = np.rint(real / qp.scale + qp.zp)
    limit = np.iinfo(dtype).max
    found: Codes = np.clip(codes, 0, limit).astype(dtype)
    return found


def nearest_codes_per_feature(
    values: NDArray[Any], qps: Sequence[QuantInfo], dtype: np.dtype[Any], repetition: int = 1
) -> Codes:
    """`nearest_codes` of a flat frame whose features have a qp each, every qp for `repetition` elements in turn."""
    period = len(qps) * repetition
    if values.size % period:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"{len(qps)} quant infos for {repetition} elements each do not divide a frame of {values.size} elements",
        )
    grid = values.reshape(-1, len(qps), repetition)
    codes = np.empty(grid.shape, dtype)
    for feature, qp in enumerate(qps):
        codes[:, feature] = nearest_codes(grid[:, feature], qp, dtype)
    return codes.reshape(-1)


class OutputInverse:
    """Undoes an `OutputTransform`. Raises HAILO_INVALID_OPERATION where the transform itself could not run."""

    def __init__(self, transform: OutputTransform) -> None:
        self.transform = transform
        self._dtype = dtype_of(transform.device.type)

    def __call__(self, frame: Buffer) -> Bytes:
        """The `hw_frame_size` bytes of a user frame's bytes (`user_frame_size` of them, HAILO_INVALID_ARGUMENT)."""
        made = self.transform
        user = as_bytes(frame, made.user_frame_size, "output frame").view(dtype_of(made.user.type))
        codes: Elements = self._codes(user[: made.shape.elements])
        shape = made.shape
        if made.transposes:
            turned = np.zeros_like(codes)
            transpose(codes, shape, made.user.order, turned)
            codes, shape = turned, shape.transposed()
        out = np.zeros(made.hw_frame_size, np.uint8)
        device = out.view(self._dtype)
        if made.reorders:
            output_reverse(made.user.order, made.device.order)(codes, shape, device, made.hw_shape)
        else:
            device[: codes.size] = codes
        return out

    def _codes(self, user: Elements) -> Codes:
        made = self.transform
        if made.user.type is not FormatType.FLOAT32:
            if made.user.type is made.device.type:
                return user
            return np.minimum(user, np.iinfo(self._dtype).max).astype(self._dtype)
        if made.user.order is FormatOrder.NHW:  # indices: cast, never scaled
            return nearest_codes(user, QuantInfo(0.0, 1.0, 0.0, 0.0), self._dtype)
        if all(qp == made.qps[0] for qp in made.qps):
            return nearest_codes(user, made.qps[0], self._dtype)
        repetition = made.shape.width if made.user.order is FormatOrder.NHCW else 1
        return nearest_codes_per_feature(user, made.qps, self._dtype, repetition)


class InputInverse:
    """Undoes an `InputTransform`: stream bytes -> the user frame that the device sees."""

    def __init__(self, transform: InputTransform) -> None:
        self.transform = transform
        self._dtype = dtype_of(transform.device.type)

    def codes(self, frame: Buffer) -> Codes:
        """The elements in host order, flat, as the device has them."""
        made = self.transform
        device: Elements = as_bytes(frame, made.hw_frame_size, "stream frame").view(self._dtype)
        if not made.transposes and not made.reorders:
            return device[: made.shape.elements]
        shape = made.shape.transposed() if made.transposes else made.shape
        elements = frame_size(shape, made.user) // made.user.type.element_bytes
        host = np.zeros(elements, self._dtype)
        if made.reorders:
            input_reverse(made.device.order, made.user.order)(device, made.hw_shape, host, shape)
        else:
            host[:] = device[:elements]
        if made.transposes:
            turned = np.zeros_like(host)
            transpose(host, shape, made.user.order, turned)
            host = turned
        return host

    def values(self, frame: Buffer) -> NDArray[np.float32]:
        """The real numbers that the network computes with, in host order, flat: (code - zp) * scale."""
        codes, qp = self.codes(frame), self.transform.qps[0]
        return codes.astype(np.float32) if is_identity(qp) else dequantize(codes, qp)

    def __call__(self, frame: Buffer) -> Bytes:
        """The user frame's bytes in the transform's own user format."""
        made = self.transform
        if made.user.type is FormatType.FLOAT32:
            return self.values(frame).astype("<f4").view(np.uint8)
        return self.codes(frame).astype(dtype_of(made.user.type)).view(np.uint8)
