"""What an output frame is to a Python program: an array, or detections (pyhailort-api.md 7, 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform import nms
from emu.hailo_platform.enums import FormatOrder
from emu.hailo_platform.exceptions import HailoRTException, HailoRTInvalidHEFException
from emu.hef.formats import BBOX_PARAMS

if TYPE_CHECKING:
    from emu.dataflow.vstreams import OutputVStream
    from emu.hef.infos import NetworkGroupInfo

Array = NDArray[Any]


class OutputShape:
    """Of one output vstream, in the format it was built for."""

    def __init__(self, vstream: OutputVStream, group: NetworkGroupInfo) -> None:
        from emu.dataflow.postprocess.base import NmsPostProcess
        from emu.dataflow.quantize import dequantize, dtype_of

        self.order = FormatOrder(int(vstream.user.order))
        self.is_nms = vstream.is_nms
        self.frame_size = vstream.frame_size
        self.dtype = dtype_of(vstream.user.type)
        self.array_shape = vstream.array_shape
        self._inputs = [info.shape for info in group.input_vstreams]
        self._header = 0
        self._name = vstream.info.name
        if self.is_nms:
            shape = vstream.op.nms_shape if isinstance(vstream.op, NmsPostProcess) else vstream.info.nms_shape
            assert shape is not None
            self.classes: int = shape.number_of_classes
            self.boxes: int = shape.max_bboxes_per_class
            self.total: int = shape.max_bboxes_total
            zeros = np.zeros(BBOX_PARAMS, np.uint8)
            self._empty = (
                dequantize(zeros, vstream.info.quant_info) if self.dtype == np.float32 else zeros.astype(self.dtype)
            )
        if self.order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK:
            self._header = mask_header(vstream)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the buffer that holds a frame."""
        if not self.is_nms:
            return self.array_shape
        if self.order is FormatOrder.HAILO_NMS_BY_CLASS:
            return (self.frame_size // self.dtype.itemsize,)
        return (self.frame_size,)

    def one(self, frame: Array, tf_format: bool) -> Any:
        """A frame's bytes -> array, list of classes, list of detections, or with `tf_format` an array for those too.

        HailoRTException for detections by score as an array.
        """
        if not self.is_nms:
            return frame.view(self.dtype).reshape(self.array_shape)
        if self.order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK:
            if not tf_format:
                return nms.with_byte_masks(frame, self._header)
            height, width = self._image()
            return nms.masks_tf(frame, self._header, self.boxes, height, width, np.float32)
        if self.order is FormatOrder.HAILO_NMS_BY_SCORE:
            if tf_format:
                raise HailoRTException(f"Use of tf format is unsupported for format order: {self.order}.")
            return nms.by_score(frame)
        values = frame.view(self.dtype)
        if tf_format:
            return nms.by_class_tf(values, self.classes, self.boxes, self._empty)
        return nms.by_class(values, self.classes)

    def many(self, frames: Sequence[Array], tf_format: bool) -> Any:
        """Frames together: arrays are stacked, lists are not."""
        found = [self.one(frame, tf_format) for frame in frames]
        if self.is_nms and not tf_format:
            return found
        stacked = np.stack(found)
        return stacked[:, None] if self.order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK else stacked

    def _image(self) -> tuple[int, int]:
        if len(self._inputs) != 1 or self._inputs[0] is None:
            raise HailoRTInvalidHEFException(
                f"Output format {self.order} should have 1 input. Number of inputs: {len(self._inputs)}"
            )
        return self._inputs[0].height, self._inputs[0].width


def mask_header(vstream: OutputVStream) -> int:
    """Bytes of a detection before its mask."""
    if vstream.op is None:
        raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"{vstream.info.name} is made by no op")
    return vstream.op.rules.mask_header_bytes
