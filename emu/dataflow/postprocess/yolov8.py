"""YOLOv8: box edges as distributions over distances (DFL), class scores without objectness (netflow-nms.md 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput, invalid, passing
from emu.dataflow.postprocess.nms import Detections, NmsConfig
from emu.dataflow.postprocess.yolox import require_same_grid
from emu.dataflow.quantize import F32, Codes, dtype_of
from emu.errors import HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType

_CELLS_AT_ONCE = 512  # their exponentials stay in the cache
EDGES = 4  # distances to the left, upper, right and lower edge

Float32s = NDArray[np.float32]
Indices = NDArray[np.intp]


class Yolov8Decoder(Struct, frozen=True):
    """Stream names of one grid and its stride in image pixels."""

    reg: str
    cls: str
    stride: int


class Yolov8Config(Struct, frozen=True):
    """Decoders in the HEF's order; the image size in pixels (binary32) need not be that of the input layer."""

    decoders: tuple[Yolov8Decoder, ...]
    image_height: float
    image_width: float


class Yolov8(NmsPostProcess):
    """The softmax's sums follow Eigen's only to 1e-6 of a coordinate; scores and choices are exact."""

    def __init__(
        self,
        inputs: Iterable[OpInput],
        config: NmsConfig,
        yolo: Yolov8Config,
        user: Format | None = None,
        *,
        runtime: str,
    ) -> None:
        super().__init__(inputs, config, user, runtime=runtime)
        self.yolo = yolo
        self._grids = [
            _Grid(self._input(one.reg, "reg"), self._input(one.cls, "cls"), one.stride) for one in yolo.decoders
        ]

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        cells, scores, classes = [], [], []
        with np.errstate(all="ignore"):
            for grid in self._grids:
                codes = grid.class_planes(frames, self.config.classes)
                mask = passing(grid.cls, codes, self.config.score_threshold, self.rules.prefilter)
                rows, found, columns = _positions(mask)
                if not self.rules.column_innermost:
                    order = np.argsort((rows * mask.shape[2] + columns) * mask.shape[1] + found)
                    rows, found, columns = rows[order], found[order], columns[order]
                cells.append(grid.cells(frames, rows, columns))
                scores.append(grid.cls.dequantize(codes[rows, found, columns]))
                classes.append(found)
            if not cells:
                return Detections.concatenate([])
            return Detections.of(self._boxes(cells), np.concatenate(scores), np.concatenate(classes))

    def _boxes(self, cells: list[_Cells]) -> Float32s:
        """[n, 4] boxes of the cells of all grids."""
        height, width = F32(self.yolo.image_height), F32(self.yolo.image_width)
        distances, x_centre, y_centre = (
            np.concatenate([getattr(one, name) for one in cells]) for name in ("distances", "x_centre", "y_centre")
        )
        x_centre /= width
        y_centre /= height
        boxes = np.empty((x_centre.size, EDGES), F32)
        boxes[:, 0] = y_centre - distances[:, 1] / height
        boxes[:, 1] = x_centre - distances[:, 0] / width
        boxes[:, 2] = y_centre + distances[:, 3] / height
        boxes[:, 3] = x_centre + distances[:, 2] / width
        return boxes


def _positions(mask: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """Row, class and column of the set elements, in that nesting."""
    flat = _set_elements(mask)
    _, classes, width = mask.shape
    rest, columns = np.divmod(flat, width)
    rows, found = np.divmod(rest, classes)
    return rows, found, columns


def _set_elements(mask: NDArray[np.bool_]) -> Indices:
    """np.flatnonzero for masks that are nearly empty: eight elements looked at at a time."""
    flat = np.ascontiguousarray(mask).reshape(-1)
    if flat.size % 8:
        return flat.nonzero()[0]
    busy = (flat.view(np.uint64) != 0).nonzero()[0]
    inside = flat.reshape(-1, 8)[busy].reshape(-1).nonzero()[0]
    positions: Indices = busy[inside >> 3] * 8 + (inside & 7)
    return positions


class _Cells(Struct, frozen=True):
    """Cells of one grid in image pixels: centres [n], and [n, 4] distances to the left, upper, right, lower edge."""

    x_centre: Float32s
    y_centre: Float32s
    distances: Float32s


class _Grid:
    """One pair of layers."""

    def __init__(self, reg: OpInput, cls: OpInput, stride: int) -> None:
        require_same_grid(reg, cls)
        if reg.format != cls.format:
            raise invalid(f"streams {reg.name} and {cls.name} have different formats")
        if reg.shape.features % EDGES:
            raise invalid(f"stream {reg.name} has {reg.shape.features} features, not a multiple of {EDGES}")
        self.reg, self.cls = reg, cls
        self.length = reg.shape.features // EDGES
        self._fits = -1  # the number of classes that the frames were found to have room for
        self._stride = F32(stride)
        # one column sums the exponentials, the other sums them times their distance
        self._weights = np.stack([np.ones(self.length, F32), np.arange(self.length, dtype=F32)], axis=1)
        self._exponentials = self._table() if reg.format.type is FormatType.UINT8 else None
        # the library's scratch is as long as the padded features and keeps what lies beyond the real ones from
        # detection to detection and frame to frame (known-bugs.md 15)
        extra = reg.padded_shape.features // EDGES - self.length
        self._kept = np.zeros((EDGES, extra), F32) if extra > 0 else None

    def _table(self) -> Float32s:
        """exp of every 8-bit code."""
        with np.errstate(all="ignore"):
            exponentials: Float32s = np.exp(self.reg.dequantize(np.arange(256).astype(dtype_of(FormatType.UINT8))))
        return exponentials

    def class_planes(self, frames: Mapping[str, Buffer], classes: int) -> Codes:
        if self._fits != classes:
            self.reg.require_entry(self.reg.padded_shape.features, "a YOLOv8 regression layer")
            self.cls.require_entry(classes, f"{classes} classes")
            self._fits = classes
        return self.cls.planes(frames[self.cls.name])[:, :classes]

    def cells(self, frames: Mapping[str, Buffer], rows: Indices, columns: Indices) -> _Cells:
        """Decode cells, one a detection."""
        reg = self.reg.planes(frames[self.reg.name])[:, : self.reg.shape.features]
        if self._kept is not None:
            values = self.reg.dequantize(reg[rows, :, columns]).reshape(-1, EDGES, self.length)
            distances = self._stateful_distances(values)
        else:
            distances = np.empty((rows.size, EDGES), F32)
            for start in range(0, rows.size, _CELLS_AT_ONCE):
                part = slice(start, start + _CELLS_AT_ONCE)
                codes = reg[rows[part], :, columns[part]].reshape(-1, self.length)
                distances[part] = self._distances(codes).reshape(-1, EDGES)
        return _Cells(
            (columns.astype(F32) + F32(0.5)) * self._stride,
            (rows.astype(F32) + F32(0.5)) * self._stride,
            distances * self._stride,
        )

    def _distances(self, codes: Codes) -> Float32s:
        """Expected value of softmax over each row of [n, length]."""
        if self._exponentials is not None:
            exponentials = self._exponentials[codes]
        else:
            exponentials = np.exp(self.reg.dequantize(codes))
        sums = exponentials @ self._weights
        distances: Float32s = sums[:, 1] / sums[:, 0]
        return distances

    def _stateful_distances(self, values: Float32s) -> Float32s:
        """The library's softmax over scratch longer than the values: each result is exponentiated again next time."""
        kept = self._kept
        assert kept is not None
        distances = np.empty(values.shape[:2], F32)
        positions = np.arange(self.length + kept.shape[1], dtype=F32)
        for detection, edges in enumerate(values):
            exponentials = np.exp(np.concatenate([edges, kept], axis=1))
            softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
            distances[detection] = (softmax * positions).sum(axis=1)
            kept[:] = softmax[:, self.length :]
        return distances


class Yolov8BboxOnly(Yolov8):
    """Decodes every cell, no thresholds: float32 [1, proposals, 4 + classes], rows of box and class scores."""

    default_order = FormatOrder.NHWC
    allowed_orders = frozenset({FormatOrder.NHWC})

    @property
    def proposals(self) -> int:
        # half of all inputs' cells: every grid has two layers of the same size
        return sum(layer.shape.height * layer.shape.width for layer in self.inputs.values()) // 2

    @property
    def frame_size(self) -> int:
        return self.proposals * (EDGES + self.config.classes) * 4

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        records = out.view("<f4").reshape(self.proposals, EDGES + self.config.classes)
        start = 0
        for grid in self._grids:
            scores = grid.class_planes(frames, self.config.classes)
            height, _, width = scores.shape
            rows, columns = (index.reshape(-1) for index in np.indices((height, width)))
            if start + rows.size > self.proposals:
                raise invalid(f"the decoders have more cells than the {self.proposals} proposals of the output frame")
            target = records[start : start + rows.size]
            target[:, :EDGES] = self._boxes([grid.cells(frames, rows, columns)])
            target[:, EDGES:] = grid.cls.dequantize(scores).transpose(0, 2, 1).reshape(rows.size, -1)
            start += rows.size
        return HailoStatus.HAILO_SUCCESS
