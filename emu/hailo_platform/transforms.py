"""`HailoRTTransformUtils`: what scripts use of it (pyhailort-api.md 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.hailo_platform import nms
from emu.hailo_platform.enums import FormatType
from emu.hailo_platform.exceptions import HailoRTException, HailoRTInvalidOperationException, raising_as_hailort
from emu.hailo_platform.infos import QuantInfo

Array = NDArray[Any]


class HailoRTTransformUtils:
    """Static helpers: codes to real numbers and back, NMS buffers to boxes."""

    @staticmethod
    def get_dtype(data_bytes: int) -> Any:
        """1, 2, 4 bytes: uint8, uint16, float32."""
        found = {1: np.uint8, 2: np.uint16, 4: np.float32}.get(data_bytes)
        if found is None:
            raise HailoRTException(f"unsupported data bytes value {data_bytes}")
        return found

    @staticmethod
    def dequantize_output_buffer(
        src_buffer: Array, dst_buffer: Array, elements_count: int, quant_info: QuantInfo
    ) -> None:
        """(code - zp) * scale of the first `elements_count` elements, in the type of `dst_buffer`."""
        _require_one(quant_info)
        from emu.dataflow.quantize import dequantize

        codes = src_buffer.reshape(-1)[:elements_count]
        dst_buffer.reshape(-1)[:elements_count] = _as_type(dequantize(codes, quant_info.inside()), dst_buffer.dtype)

    @staticmethod
    def dequantize_output_buffer_in_place(
        raw_buffer: Array, dst_dtype: Any, elements_count: int, quant_info: QuantInfo
    ) -> None:
        """As `dequantize_output_buffer`; the codes stand at the front of a buffer of `dst_dtype`."""
        HailoRTTransformUtils.dequantize_output_buffer(raw_buffer.copy(), raw_buffer, elements_count, quant_info)

    @staticmethod
    def quantize_input_buffer(src_buffer: Array, dst_buffer: Array, elements_count: int, quant_info: QuantInfo) -> None:
        """rint(clip(x) / scale + zp) of the first `elements_count` elements, ties to even."""
        _require_one(quant_info)
        from emu.dataflow.quantize import quantize

        with raising_as_hailort():
            values = src_buffer.reshape(-1)[:elements_count].astype(np.float32)
            dst_buffer.reshape(-1)[:elements_count] = quantize(values, quant_info.inside(), dst_buffer.dtype)

    @staticmethod
    def output_raw_buffer_to_nms_format(raw_output_buffer: Array, number_of_classes: int) -> list[list[Array]]:
        """Per frame per class (detections, 5)."""
        return [nms.by_class(frame, number_of_classes) for frame in raw_output_buffer]

    @staticmethod
    def output_raw_buffer_to_nms_format_single_frame(
        raw_output_buffer: Array, number_of_classes: int, offset: int = 0
    ) -> list[Array]:
        return nms.by_class(raw_output_buffer.reshape(-1)[offset:], number_of_classes)

    @staticmethod
    def output_raw_buffer_to_nms_tf_format(
        raw_output_buffer: Array, shape: list[int], dtype: Any, quantized_empty_bbox: Array
    ) -> Array:
        """(frames, classes, 5, boxes) of `shape`, filled up with the empty box."""
        frames, classes, _, boxes = shape
        values = raw_output_buffer.reshape(frames, -1)
        return np.stack([nms.by_class_tf(frame, classes, boxes, quantized_empty_bbox) for frame in values]).astype(
            dtype, copy=False
        )

    @staticmethod
    def _get_format_type(dtype: Any) -> FormatType:
        found = {"uint8": FormatType.UINT8, "uint16": FormatType.UINT16, "float32": FormatType.FLOAT32}
        name = np.dtype(dtype).name
        if name not in found:
            raise HailoRTException(f"unsupported data type {dtype}")
        return found[name]


def _require_one(quant_info: QuantInfo) -> None:
    """The all-zero quant info stands for several ones."""
    if quant_info == QuantInfo(0.0, 0.0, 0.0, 0.0):
        raise HailoRTInvalidOperationException("Invalid operation. See hailort.log for more information")


def _as_type(values: Array, dtype: Any) -> Array:
    return values.astype(dtype) if np.issubdtype(dtype, np.floating) else np.rint(values).astype(dtype)
