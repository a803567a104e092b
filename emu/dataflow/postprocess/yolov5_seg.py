"""YOLOv5-seg: detections as YOLOv5's with a sigmoid, and a byte mask for each (netflow-nms.md 5, 9.3)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.postprocess.base import OpInput, exp32, invalid
from emu.dataflow.postprocess.nms import REMOVED_SCORE, Detections, NmsConfig, remove_overlapping
from emu.dataflow.postprocess.resize import resize_bilinear, resize_nearest
from emu.dataflow.postprocess.yolov5 import FIRST_CLASS, Cells, Yolov5, Yolov5Config
from emu.dataflow.quantize import F32, Codes
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    NMS_COUNT_BYTES,
    Format,
    FormatOrder,
    FormatType,
    NmsShape,
)

COEFFICIENTS = 32
MAX_IMAGE_EXTENT = 1 << 14  # pixels; above any camera's, a forged size must not cost memory
_LOGIT_CLIP = F32(1e-7)

Float32s = NDArray[np.float32]


class SegConfig(Struct, frozen=True):
    """`proto_layer` is a stream name; `mask_threshold` a binary32 number; the accumulated mask size is in bytes."""

    proto_layer: str
    mask_threshold: float
    max_accumulated_mask_size: int


class SegSwitches(Struct, frozen=True):
    """HAILORT_YOLOV5_SEG_PP_CROP_OPT and HAILORT_YOLOV5_SEG_NN_RESIZE; 5.2 only, 4.23 does not know them."""

    crop: bool = False
    nearest: bool = False


class _Window(Struct, frozen=True):
    """Where a box lies in an image: [top, bottom) x [left, right) of its pixels."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left


class Yolov5Seg(Yolov5):
    """Output: u16 count, then records of a header and mask_size bytes of 0 or 1, in score order.

    The count is one too high where the frame or the limit cuts the list short (known-bugs.md 2), the `mask` pointer of
    a header is 0 here, and mask pixels that the library reads from outside the resized image are 0.
    """

    default_order = FormatOrder.HAILO_NMS_WITH_BYTE_MASK
    allowed_orders = frozenset({FormatOrder.HAILO_NMS_WITH_BYTE_MASK})
    extra_entries = COEFFICIENTS
    any_frame_size = True

    def __init__(
        self,
        inputs: Iterable[OpInput],
        config: NmsConfig,
        yolo: Yolov5Config,
        seg: SegConfig,
        user: Format | None = None,
        *,
        runtime: str,
        switches: SegSwitches | None = None,
    ) -> None:
        self.seg = seg
        self.switches = switches or SegSwitches()
        super().__init__(inputs, config, yolo, user, runtime=runtime)
        self._proto = self._input(seg.proto_layer, "proto layer")
        self._coefficients: list[Float32s] = []
        self._image = _image_size(yolo)
        if 0 in self.proto_size:
            raise invalid(f"proto layer {seg.proto_layer} has no pixels: {self.proto_size[0]}x{self.proto_size[1]}")

    @property
    def nms_shape(self) -> NmsShape:
        shape = super().nms_shape
        return NmsShape(
            shape.number_of_classes,
            shape.max_bboxes_per_class,
            shape.max_bboxes_total,
            self.seg.max_accumulated_mask_size,
        )

    @property
    def proto_size(self) -> tuple[int, int]:
        """Height and width of the mask prototypes."""
        return self._proto.shape.height, self._proto.shape.width

    def set_max_accumulated_mask_size(self, size: int) -> None:
        """Room for all masks of a frame, in bytes."""
        self.seg = replace(self.seg, max_accumulated_mask_size=size)

    def _mixes(self, types: set[FormatType]) -> bool:
        return False  # the one op whose inputs may have different types

    def _detection_inputs(self) -> Iterable[str]:
        for name in self.inputs:
            if name != self.seg.proto_layer and name not in self.yolo.anchors:
                raise invalid(f"input {name} has no anchors and is not the proto layer")
        return [name for name in self.inputs if name != self.seg.proto_layer]

    def activate(self, values: Float32s) -> Float32s:
        with np.errstate(all="ignore"):
            return F32(1) / (F32(1) + exp32(-values))

    def _objectness_passes(self, layer: OpInput, codes: Codes) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.activate(layer.dequantize(codes)) >= F32(self.config.score_threshold)
        return mask & (codes >= self._class_code_limit(layer))

    def _class_code_limit(self, layer: OpInput) -> int:
        if not self.rules.prefilter:
            return 0
        probability = min(max(F32(self.config.score_threshold), _LOGIT_CLIP), F32(1) - _LOGIT_CLIP)
        return layer.threshold_code(_logit(probability))

    def _keep_cells(self, layer: OpInput, cells: Cells, objectness: Float32s, which: NDArray[np.intp]) -> None:
        first = FIRST_CLASS + self.config.classes
        coefficients = layer.dequantize(cells.codes[:, first : first + COEFFICIENTS]) * objectness[:, None]
        self._coefficients.append(coefficients[which])

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        self._coefficients = []
        return super().detect(frames)

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        config = self.config
        detections, _ = remove_overlapping(
            self.detect(frames), config.classes, config.iou_threshold, config.cross_classes
        )
        coefficients = np.concatenate([*self._coefficients, np.zeros((0, COEFFICIENTS), F32)])[detections.source]
        return self._fill(detections, coefficients, self._prototypes(frames[self._proto.name]), out)

    def _prototypes(self, frame: Buffer) -> Float32s:
        """[32, height, width]; strides are those of the unpadded shape, as in the library (known-bugs.md 26)."""
        height, width, features = self._proto.shape
        codes = self._proto.codes(frame)
        if features < COEFFICIENTS or codes.size < self._proto.shape.elements:
            raise invalid(
                f"proto layer {self._proto.name} has {features} features in {codes.size} elements;"
                f" {COEFFICIENTS} masks of {height}x{width} are read"
            )
        planes = codes[: self._proto.shape.elements].reshape(height, features, width)[:, :COEFFICIENTS]
        return self._proto.dequantize(planes).transpose(1, 0, 2)

    def _fill(self, detections: Detections, coefficients: Float32s, prototypes: Float32s, out: Bytes) -> HailoStatus:
        header_size = self.rules.mask_header_bytes
        count, offset = 0, NMS_COUNT_BYTES
        status = HailoStatus.HAILO_SUCCESS
        for index in np.flatnonzero(detections.scores != REMOVED_SCORE).tolist():
            count += 1
            if count > self.config.max_proposals_total:
                break
            box = detections.boxes[index]
            if not np.isfinite(box).all():
                raise HailoError(
                    HailoStatus.HAILO_INVALID_OPERATION,
                    f"a box with edges {box.tolist()}: the library would convert them to pixels all the same",
                )
            mask_size = self._mask_size(box)
            mask_at = offset + header_size
            if mask_at + mask_size >= out.size:
                status = HailoStatus.HAILO_INSUFFICIENT_BUFFER
                break
            header = struct.pack(
                "<5fHQQ", *box.tolist(), float(detections.scores[index]), int(detections.classes[index]), mask_size, 0
            )
            if header_size > len(header):
                header += struct.pack("<Q", mask_at)
            out[offset:mask_at] = np.frombuffer(header, np.uint8)
            self._write_mask(box, coefficients[index], prototypes, out[mask_at:])
            offset = mask_at + mask_size
        out[:NMS_COUNT_BYTES] = np.frombuffer((count & 0xFFFF).to_bytes(NMS_COUNT_BYTES, "little"), np.uint8)
        return status

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the image that masks are pixels of."""
        return self._image

    def mask_window(self, box: Float32s) -> tuple[int, int, int, int]:
        """Top, left, rows and columns of the mask of a box, in pixels of the image."""
        if self.switches.crop:
            window = _crop_window(box, self._image)
            return window.top, window.left, window.height, window.width
        top, left, _, _ = self._inclusive_edges(box)
        return (top, left, *self._box_size(box))

    def _mask_size(self, box: Float32s) -> int:
        if self.switches.crop:
            window = _crop_window(box, self._image)
            return window.height * window.width
        height, width = self._box_size(box)
        return height * width

    def _box_size(self, box: Float32s) -> tuple[int, int]:
        """Rows and columns of a mask: from the unclipped box (known-bugs.md 27)."""
        height, width = self._image
        return (
            math.ceil((box[2] - box[0]) * F32(height)),
            math.ceil((box[3] - box[1]) * F32(width)),
        )

    def _write_mask(self, box: Float32s, coefficients: Float32s, prototypes: Float32s, out: Bytes) -> None:
        if self.switches.crop:
            self._write_cropped_mask(box, coefficients, prototypes, out)
            return
        height, width = self._image
        top, left, bottom, right = self._inclusive_edges(box)
        _, row_stride = self._box_size(box)
        if bottom < top or right < left:
            return
        image = self._activated(coefficients, prototypes)
        rows = np.arange(top, min(bottom, height - 1) + 1)
        mask = self._thresholded(image, self._image, rows, np.arange(left, min(right, width - 1) + 1))
        if right == width:
            # the column after the last is the next row's first (known-bugs.md 23)
            below = rows + 1
            first = np.zeros((rows.size, 1), np.uint8)
            inside = below < height
            first[inside] = self._thresholded(image, self._image, below[inside], np.zeros(1, np.intp))
            mask = np.concatenate([mask, first], axis=1)
        if bottom == height:
            mask = np.concatenate([mask, np.zeros((1, mask.shape[1]), np.uint8)])
        for index, row in enumerate(mask):
            target = out[index * row_stride : index * row_stride + row.size]
            target[:] = row[: target.size]

    def _inclusive_edges(self, box: Float32s) -> tuple[int, int, int, int]:
        height, width = (F32(size) for size in (self.yolo.image_height, self.yolo.image_width))
        bottom = math.ceil(min(np.ceil(box[2] * height), height))
        right = math.ceil(min(np.ceil(box[3] * width), width))
        if bottom < 0 or right < 0:
            raise HailoError(
                HailoStatus.HAILO_INVALID_OPERATION,
                f"a box ends at ({bottom}, {right}), above or left of the image: the library would convert a negative"
                " number to unsigned and run away",
            )
        return (
            math.ceil(max(np.ceil(box[0] * height), F32(0))),
            math.ceil(max(np.ceil(box[1] * width), F32(0))),
            bottom,
            right,
        )

    def _write_cropped_mask(self, box: Float32s, coefficients: Float32s, prototypes: Float32s, out: Bytes) -> None:
        """HAILORT_YOLOV5_SEG_PP_CROP_OPT: the prototypes are cropped first, the mask is exactly the clipped box."""
        target = _crop_window(box, self._image)
        source = _crop_window(box, prototypes.shape[1:])
        if target.height == 0 or target.width == 0:
            return
        if source.height == 0 or source.width == 0:
            raise invalid(f"a mask of {target.height}x{target.width} pixels from no pixel of the prototypes")
        cropped = prototypes[:, source.top : source.bottom, source.left : source.right]
        image = self._activated(coefficients, cropped)
        shape = (target.height, target.width)
        mask = self._thresholded(image, shape, np.arange(shape[0]), np.arange(shape[1]))
        out[: mask.size] = mask.reshape(-1)

    def _activated(self, coefficients: Float32s, prototypes: Float32s) -> Float32s:
        product = np.tensordot(coefficients, prototypes, axes=1).astype(F32)
        if self.switches.nearest:
            return product  # the threshold is moved instead
        return self.activate(product)

    def _thresholded(
        self, image: Float32s, shape: tuple[int, int], rows: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> NDArray[np.uint8]:
        if self.switches.nearest:
            resized = resize_nearest(image, shape, rows, columns)
            threshold = F32(_logit(F32(self.seg.mask_threshold)))
        else:
            resized = resize_bilinear(image, shape, rows, columns)
            threshold = F32(self.seg.mask_threshold)
        return (resized > threshold).astype(np.uint8)


def _image_size(yolo: Yolov5Config) -> tuple[int, int]:
    """Height and width in whole pixels; a size that no image has is refused before masks are resized to it."""
    sizes = (yolo.image_height, yolo.image_width)
    if not all(1 <= size <= MAX_IMAGE_EXTENT for size in sizes):  # NaN is refused too
        raise invalid(f"an image of {sizes[0]:g}x{sizes[1]:g} pixels, 1 to {MAX_IMAGE_EXTENT} are possible")
    return int(sizes[0]), int(sizes[1])


def _logit(probability: np.float32) -> float:
    """log(p / (1 - p)) with binary32 steps."""
    with np.errstate(all="ignore"):
        return float(F32(np.log(np.float64(probability / (F32(1) - probability)))))


def _crop_window(box: Float32s, shape: tuple[int, ...]) -> _Window:
    """floor of the near edges, ceil of the far ones, clipped; a box outside the image has no window to speak of."""
    height, width = shape
    window = _Window(
        int(max(np.floor(box[0] * F32(height)), F32(0))),
        int(max(np.floor(box[1] * F32(width)), F32(0))),
        min(math.ceil(box[2] * F32(height)), height),
        min(math.ceil(box[3] * F32(width)), width),
    )
    if window.height < 0 or window.width < 0:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"a box lies outside the image (rows {window.top}..{window.bottom}, columns {window.left}..{window.right}):"
            " the library would take the negative size for a huge one",
        )
    return window
