"""SSD: anchors as fractions of the image, background class, scores without objectness (netflow-nms.md 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct

from emu.dataflow.formats import Buffer
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput, exp32, invalid
from emu.dataflow.postprocess.nms import Detections, NmsConfig
from emu.dataflow.postprocess.yolox import require_same_grid
from emu.dataflow.quantize import F32
from emu.hef.formats import Format

BOX_ENTRIES = 4
_DEFAULT_ORDER = (0, 1, 2, 3)  # ty, tx, th, tw where the HEF gives no order


class SsdDecoder(Struct, frozen=True):
    """Streams of one grid and its anchors' sizes, binary32 fractions of the image."""

    reg: str
    cls: str
    widths: tuple[float, ...]
    heights: tuple[float, ...]


class SsdConfig(Struct, frozen=True):
    """Scale factors, and the position of each regression value among an anchor's four."""

    centers_scale_factor: int
    bbox_dimensions_scale_factor: int
    ty: int
    tx: int
    th: int
    tw: int

    @property
    def order(self) -> tuple[int, int, int, int]:
        order = (self.ty, self.tx, self.th, self.tw)
        return order if any(order) else _DEFAULT_ORDER


class Ssd(NmsPostProcess):
    """Decoders are taken in byte order of their regression stream's name. A scale factor of 0 divides by zero, as in
    the library (known-bugs.md 18)."""

    def __init__(
        self,
        inputs: Iterable[OpInput],
        config: NmsConfig,
        ssd: SsdConfig,
        decoders: Iterable[SsdDecoder],
        user: Format | None = None,
        *,
        runtime: str,
    ) -> None:
        super().__init__(inputs, config, user, runtime=runtime)
        self.ssd = ssd
        self.decoders = sorted(decoders, key=lambda decoder: decoder.reg.encode())
        if len(self.inputs) != 2 * len(self.decoders):
            raise invalid(f"anchors for {2 * len(self.decoders)} layers, but {len(self.inputs)} inputs")
        for decoder in self.decoders:
            require_same_grid(self._input(decoder.reg, "reg"), self._input(decoder.cls, "cls"))
        if any(not 0 <= position < BOX_ENTRIES for position in ssd.order):
            raise invalid(f"ty, tx, th, tw are {ssd.order}: they must be positions among {BOX_ENTRIES} values")

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        return Detections.concatenate([self._detect_grid(decoder, frames) for decoder in self.decoders])

    def _detect_grid(self, decoder: SsdDecoder, frames: Mapping[str, Buffer]) -> Detections:
        reg, cls = self.inputs[decoder.reg], self.inputs[decoder.cls]
        anchors, classes = len(decoder.widths), self.config.classes
        reg.require_entry(anchors * BOX_ENTRIES, f"{anchors} anchors of {BOX_ENTRIES} values")
        cls.require_entry(anchors * classes, f"{anchors} anchors of {classes} classes")
        height, width = reg.shape.height, reg.shape.width
        scores = cls.dequantize(cls.planes(frames[cls.name])).reshape(height, anchors, classes, width)
        scores = scores.transpose(0, 3, 1, 2)  # row, column, anchor, class
        mask = ~(scores < F32(self.config.score_threshold))
        if self.config.background_removal:
            mask[..., self.config.background_removal_index : self.config.background_removal_index + 1] = False
        rows, columns, anchor, class_index = np.nonzero(mask)
        values = reg.planes(frames[reg.name]).reshape(height, anchors, BOX_ENTRIES, width)
        t = reg.dequantize(values[rows, anchor, :, columns])
        ty, tx, th, tw = (t[:, position] for position in self.ssd.order)
        with np.errstate(all="ignore"):
            centre = F32(self.ssd.centers_scale_factor)
            dimension = F32(self.ssd.bbox_dimensions_scale_factor)
            step_x, step_y = F32(1) / F32(width), F32(1) / F32(height)
            anchor_x = columns.astype(F32) * step_x + F32(0.5) * step_x
            anchor_y = rows.astype(F32) * step_y + F32(0.5) * step_y
            anchor_width = np.array(decoder.widths, F32)[anchor]
            anchor_height = np.array(decoder.heights, F32)[anchor]
            half_width = exp32(tw / dimension) * anchor_width / F32(2)
            half_height = exp32(th / dimension) * anchor_height / F32(2)
            x_centre = tx / centre * anchor_width + anchor_x
            y_centre = ty / centre * anchor_height + anchor_y
            boxes = np.stack(
                [y_centre - half_height, x_centre - half_width, y_centre + half_height, x_centre + half_width], axis=1
            )
        shifted = self.config.background_removal and self.config.background_removal_index == 0
        return Detections.of(boxes, scores[mask], class_index - 1 if shifted else class_index)
