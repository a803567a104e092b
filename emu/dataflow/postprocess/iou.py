"""IoU-only: the chip has decoded the boxes, the host removes overlapping ones (netflow-nms.md 8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.nms_wire import NmsOutputTransform
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput, invalid
from emu.dataflow.postprocess.nms import Detections, NmsConfig
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import BBOX_PARAMS, Format, FormatOrder, FormatType, NmsInfo


class IouOnly(NmsPostProcess):
    """Reads one on-chip NMS stream; no score threshold. BY_SCORE is refused, as its conversion element does."""

    allowed_orders = frozenset({FormatOrder.HAILO_NMS_BY_CLASS})

    def __init__(
        self, layer: OpInput, info: NmsInfo, config: NmsConfig, user: Format | None = None, *, runtime: str
    ) -> None:
        self.layer = layer
        self.info = info
        super().__init__([layer], config, user, runtime=runtime)
        self._transform = NmsOutputTransform(
            Format(FormatType.AUTO, FormatOrder.AUTO), layer.format, [layer.quant_info], info
        )

    def _validate_inputs(self) -> None:
        if self.layer.format.order is not FormatOrder.HAILO_NMS_ON_CHIP:
            raise invalid(f"stream {self.layer.name} is {self.layer.format.order.name}, not HAILO_NMS_ON_CHIP")
        if self.config.background_removal:
            raise HailoError(
                HailoStatus.HAILO_INVALID_OPERATION,
                "background removal with an IoU-only op: the library would count one class more than it has",
            )
        if self.config.classes > self.info.number_of_classes:
            raise invalid(
                f"the op reads {self.config.classes} classes, stream {self.layer.name} has"
                f" {self.info.number_of_classes}"
            )

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        return parse_by_class(self._transform(frames[self.layer.name]), self.config.classes)


def parse_by_class(frame: Bytes, classes: int) -> Detections:
    """Detections of a BY_CLASS float32 frame, class after class; a box beyond the frame is HAILO_INVALID_ARGUMENT."""
    values = frame.view("<f4")
    parts, found = [], []
    offset = 0
    for index in range(classes):
        count = int(values[offset]) if offset < values.size else 0
        start = offset + 1
        offset = start + BBOX_PARAMS * count
        if count < 0 or offset > values.size:
            raise invalid(f"class {index} of an NMS frame announces {count} boxes beyond its {frame.size} bytes")
        parts.append(values[start:offset].reshape(count, BBOX_PARAMS))
        found.append(np.full(count, index))
    boxes = np.concatenate([*parts, np.zeros((0, BBOX_PARAMS), np.float32)])
    return Detections.of(boxes[:, :4], boxes[:, 4], np.concatenate([*found, np.zeros(0, np.intp)]))
