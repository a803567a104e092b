"""Softmax over the features of a de-quantised frame, without subtracting the maximum (netflow-nms.md 8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, OutputTransform, expand_auto
from emu.dataflow.postprocess.base import OpInput, PostProcess
from emu.dataflow.quantize import F32
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType

_ORDERS = (FormatOrder.NHWC, FormatOrder.NC)


def softmax(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """exp(x) / sum over the last axis: x above 88.7 overflows to NaN, all below -104 give 0/0 (known-bugs.md 17)."""
    with np.errstate(all="ignore"):
        exponentials = np.exp(values.astype(F32))
        result: NDArray[np.float32] = exponentials / exponentials.sum(axis=-1, keepdims=True, dtype=F32)
    return result


class Softmax(PostProcess):
    """FLOAT32 NHWC or NC in the input's shape; HAILO_INVALID_OPERATION for any other output."""

    def __init__(self, layer: OpInput, user: Format | None = None, *, runtime: str) -> None:
        user = user or Format(FormatType.AUTO, FormatOrder.AUTO)
        type = FormatType.FLOAT32 if user.type is FormatType.AUTO else user.type
        super().__init__([layer], expand_auto(Format(type, user.order, user.flags), layer.format), runtime)
        self.layer = layer
        if self.user.order not in _ORDERS or self.user.type is not FormatType.FLOAT32:
            raise HailoError(
                HailoStatus.HAILO_INVALID_OPERATION,
                f"softmax gives {' or '.join(order.name for order in _ORDERS)} in FLOAT32, not"
                f" {self.user.order.name} in {self.user.type.name}",
            )
        self._transform = OutputTransform(layer.shape, self.user, layer.padded_shape, layer.format, [layer.quant_info])

    @property
    def frame_size(self) -> int:
        return self._transform.user_frame_size

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        values = self._transform(frames[self.layer.name]).view("<f4")
        out.view("<f4")[:] = softmax(values.reshape(-1, self.layer.shape.features)).reshape(-1)
        return HailoStatus.HAILO_SUCCESS
