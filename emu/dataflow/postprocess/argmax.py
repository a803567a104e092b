"""Argmax over the features of device codes: the first maximum's index, never de-quantised (netflow-nms.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.postprocess.base import OpInput, PostProcess
from emu.dataflow.quantize import Codes, dtype_of
from emu.dataflow.reorder import F8CR_BLOCK
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType, Shape, frame_size

# features that an output type may have to number; one less than it could (known-bugs.md 32)
_MAX_FEATURES = {FormatType.UINT8: 255, FormatType.UINT16: 65535, FormatType.FLOAT32: 1 << 24}
_OUTPUT_ORDERS = {
    FormatOrder.NHCW: FormatOrder.NHW,
    FormatOrder.NHWC: FormatOrder.NHW,
    FormatOrder.F8CR: FormatOrder.NHW,
    FormatOrder.NC: FormatOrder.NC,
}


class Argmax(PostProcess):
    """Output NHW {H, W, 1}, or NC of one element. HAILO_INVALID_OPERATION for orders and types it cannot give."""

    def __init__(self, layer: OpInput, user: Format | None = None, *, runtime: str) -> None:
        super().__init__([layer], user or Format(FormatType.AUTO, FormatOrder.AUTO), runtime)
        self.layer = layer
        order = _OUTPUT_ORDERS.get(layer.format.order)
        if order is None or self.user.order not in (order, FormatOrder.AUTO):
            raise _refuse(f"no argmax from {layer.format.order.name} to {self.user.order.name}")
        type = layer.format.type if self.user.type is FormatType.AUTO else self.user.type
        if layer.shape.features > _MAX_FEATURES[type]:
            raise _refuse(f"{type.name} cannot number {layer.shape.features} features, at most {_MAX_FEATURES[type]}")
        if any(have < want for have, want in zip(layer.padded_shape, layer.shape, strict=True)):
            raise _refuse(
                f"host shape {tuple(layer.shape)} of {layer.name} exceeds device shape {tuple(layer.padded_shape)}"
            )
        self.user = Format(type, order, self.user.flags)
        self.shape = Shape(layer.shape.height, layer.shape.width, 1)

    @property
    def frame_size(self) -> int:
        return frame_size(self.shape, self.user)

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        indices = self._indices(self.layer.codes(frames[self.layer.name]))
        out[: self.frame_size].view(dtype_of(self.user.type))[:] = indices.reshape(-1)
        return HailoStatus.HAILO_SUCCESS

    def _indices(self, codes: Codes) -> NDArray[np.intp]:
        """[height, width] (NC: [1])"""
        shape, padded, order = self.layer.shape, self.layer.padded_shape, self.layer.format.order
        if order is FormatOrder.NC:
            return _first_maximum(codes[None, : shape.features])
        if order is FormatOrder.F8CR:
            return self._f8cr_indices(codes)
        if order is FormatOrder.NHCW:
            grid = codes[: padded.elements].reshape(padded.height, padded.features, padded.width).transpose(0, 2, 1)
        else:
            grid = codes[: padded.elements].reshape(padded)
        return _first_maximum(grid[: shape.height, : shape.width, : shape.features])

    def _f8cr_indices(self, codes: Codes) -> NDArray[np.intp]:
        """All 8 features of every block but the last, of that features % 8: none if it is full (known-bugs.md 30)."""
        shape, padded = self.layer.shape, self.layer.padded_shape
        blocks = padded.features // F8CR_BLOCK
        rows = codes[: padded.elements].reshape(padded.height, padded.width * padded.features)
        rows = rows[:, : blocks * F8CR_BLOCK * padded.width]
        grid = rows.reshape(padded.height, blocks, padded.width, F8CR_BLOCK).transpose(0, 2, 1, 3)
        features = (blocks - 1) * F8CR_BLOCK + shape.features % F8CR_BLOCK
        pixels = grid.reshape(padded.height, padded.width, blocks * F8CR_BLOCK)[: shape.height, : shape.width]
        # without any feature the first element is still the maximum so far
        return _first_maximum(pixels[:, :, : max(features, 1)])


def _first_maximum(values: NDArray[Any]) -> NDArray[np.intp]:
    indices: NDArray[np.intp] = np.argmax(values, axis=-1)
    return indices


def _refuse(message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_OPERATION, message)
