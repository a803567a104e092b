"""YOLOv5: anchors in image pixels, objectness times class confidence, no sigmoid on the host (netflow-nms.md 3, 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput, invalid, passing
from emu.dataflow.postprocess.nms import Detections, NmsConfig
from emu.dataflow.quantize import F32, Codes
from emu.errors import HailoStatus
from emu.hef.formats import Format, FormatOrder

BOX_ENTRIES = 4  # tx, ty, tw, th
OBJECTNESS = 4
FIRST_CLASS = 5

Float32s = NDArray[np.float32]


class Anchors(Struct, frozen=True):
    """Anchor widths and heights of one layer, in pixels of the image."""

    widths: tuple[int, ...]
    heights: tuple[int, ...]


class Yolov5Config(Struct, frozen=True):
    """Anchors by stream name, image size in pixels (binary32)."""

    anchors: Mapping[str, Anchors]
    image_height: float
    image_width: float


class Cells(Struct, frozen=True):
    """Cells of one layer whose objectness passes: entries [n, entry] as codes, and where they are."""

    codes: Codes
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    anchors: NDArray[np.intp]


class Yolov5(NmsPostProcess):
    """Layers are taken in byte order of their stream names."""

    extra_entries = 0  # features of an anchor behind its classes

    def __init__(
        self,
        inputs: Iterable[OpInput],
        config: NmsConfig,
        yolo: Yolov5Config,
        user: Format | None = None,
        *,
        runtime: str,
    ) -> None:
        super().__init__(inputs, config, user, runtime=runtime)
        self.yolo = yolo
        self.layers = [self.inputs[name] for name in sorted(self._detection_inputs(), key=str.encode)]

    def _detection_inputs(self) -> Iterable[str]:
        if len(self.inputs) != len(self.yolo.anchors):
            raise invalid(f"anchors for {len(self.yolo.anchors)} layers, but {len(self.inputs)} inputs")
        for name in self.yolo.anchors:
            self._input(name, "anchors")
        return self.inputs

    @property
    def entry(self) -> int:
        """Features of one anchor."""
        return FIRST_CLASS + self.config.classes + self.extra_entries

    def activate(self, values: Float32s) -> Float32s:
        """What the host applies to box, objectness and class values."""
        return values

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        return Detections.concatenate([self._detect_layer(layer, frames[layer.name]) for layer in self.layers])

    def _grid(self, layer: OpInput, frame: Buffer) -> Codes:
        """[height, anchor, entry, width]"""
        anchors = len(self.yolo.anchors[layer.name].widths)
        layer.require_entry(anchors * self.entry, f"{anchors} anchors of {self.entry} features")
        planes = layer.planes(frame)[:, : anchors * self.entry]
        return planes.reshape(layer.shape.height, anchors, self.entry, layer.shape.width)

    def _objectness_passes(self, layer: OpInput, codes: Codes) -> NDArray[np.bool_]:
        return passing(layer, codes, self.config.score_threshold, self.rules.prefilter)

    def _class_code_limit(self, layer: OpInput) -> int:
        """Classes with a lower code are skipped before anything is computed; 0 skips none."""
        return layer.threshold_code(self.config.score_threshold) if self.rules.prefilter else 0

    def _cells(self, layer: OpInput, frame: Buffer) -> Cells:
        grid = self._grid(layer, frame)
        mask = self._objectness_passes(layer, grid[:, :, OBJECTNESS])
        if self.rules.column_innermost:
            rows, anchors, columns = np.nonzero(mask)
        else:
            rows, columns, anchors = np.nonzero(mask.transpose(0, 2, 1))
        return Cells(grid[rows, anchors, :, columns], rows, columns, anchors)

    def _detect_layer(self, layer: OpInput, frame: Buffer) -> Detections:
        cells = self._cells(layer, frame)
        objectness = self.activate(layer.dequantize(cells.codes[:, OBJECTNESS]))
        class_codes = cells.codes[:, FIRST_CLASS : FIRST_CLASS + self.config.classes]
        scores = self.activate(layer.dequantize(class_codes)) * objectness[:, None]
        mask = scores >= F32(self.config.score_threshold)
        mask &= class_codes >= self._class_code_limit(layer)
        which, classes = np.nonzero(mask)
        boxes = self._boxes(layer, cells)
        self._keep_cells(layer, cells, objectness, which)
        return Detections.of(boxes[which], scores[which, classes], classes)

    def _keep_cells(self, layer: OpInput, cells: Cells, objectness: Float32s, which: NDArray[np.intp]) -> None:
        """A subclass may remember more of the cells that became detections."""

    def _boxes(self, layer: OpInput, cells: Cells) -> Float32s:
        t = self.activate(layer.dequantize(cells.codes[:, :BOX_ENTRIES]))
        anchors = self.yolo.anchors[layer.name]
        widths = np.array(anchors.widths, F32)[cells.anchors]
        heights = np.array(anchors.heights, F32)[cells.anchors]
        with np.errstate(all="ignore"):
            width = np.square(F32(2) * t[:, 2]) * widths / F32(self.yolo.image_width)
            height = np.square(F32(2) * t[:, 3]) * heights / F32(self.yolo.image_height)
            x_centre = (t[:, 0] * F32(2) - F32(0.5) + cells.columns.astype(F32)) / F32(layer.shape.width)
            y_centre = (t[:, 1] * F32(2) - F32(0.5) + cells.rows.astype(F32)) / F32(layer.shape.height)
            return boxes_around(x_centre, y_centre, width, height)


def boxes_around(x_centre: Float32s, y_centre: Float32s, width: Float32s, height: Float32s) -> Float32s:
    """[n, 4] from centre and size; the far edges are near edge + size, as YOLOv5 and YOLOX round them."""
    x_min = x_centre - width / F32(2)
    y_min = y_centre - height / F32(2)
    return np.stack([y_min, x_min, y_min + height, x_min + width], axis=1)


class Yolov5BboxOnly(Yolov5):
    """Decodes every cell, no thresholds: float32 [1, proposals, 5 + classes], rows of box, objectness, confidences."""

    default_order = FormatOrder.NHWC
    allowed_orders = frozenset({FormatOrder.NHWC})

    @property
    def proposals(self) -> int:
        return sum(
            len(self.yolo.anchors[layer.name].widths) * layer.shape.height * layer.shape.width for layer in self.layers
        )

    @property
    def frame_size(self) -> int:
        return self.proposals * self.entry * 4

    def _objectness_passes(self, layer: OpInput, codes: Codes) -> NDArray[np.bool_]:
        return np.ones(codes.shape, np.bool_)

    def _cells(self, layer: OpInput, frame: Buffer) -> Cells:
        grid = self._grid(layer, frame)
        rows, columns, anchors = np.nonzero(np.ones((grid.shape[0], grid.shape[3], grid.shape[1]), np.bool_))
        return Cells(grid[rows, anchors, :, columns], rows, columns, anchors)

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        rows = out.view("<f4").reshape(self.proposals, self.entry)
        start = 0
        for layer in self.layers:
            cells = self._cells(layer, frames[layer.name])
            target = rows[start : start + cells.rows.size]
            target[:, :BOX_ENTRIES] = self._boxes(layer, cells)
            target[:, BOX_ENTRIES:] = layer.dequantize(cells.codes[:, OBJECTNESS:])
            start += cells.rows.size
        return HailoStatus.HAILO_SUCCESS
