"""YOLOX: regression, objectness and class layers of their own, no anchors (netflow-nms.md 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct

from emu.dataflow.formats import Buffer
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput, exp32, invalid, passing
from emu.dataflow.postprocess.nms import Detections, NmsConfig
from emu.dataflow.postprocess.yolov5 import boxes_around
from emu.dataflow.quantize import F32
from emu.hef.formats import Format

BOX_ENTRIES = 4  # tx, ty, tw, th


class YoloxDecoder(Struct, frozen=True):
    """Stream names of one grid."""

    reg: str
    obj: str
    cls: str


class Yolox(NmsPostProcess):
    """Decoders are taken in the HEF's order; grids are normalised by their own size, strides play no part."""

    def __init__(
        self,
        inputs: Iterable[OpInput],
        config: NmsConfig,
        decoders: Iterable[YoloxDecoder],
        user: Format | None = None,
        *,
        runtime: str,
    ) -> None:
        super().__init__(inputs, config, user, runtime=runtime)
        self.decoders = [
            (self._input(one.reg, "reg"), self._input(one.obj, "obj"), self._input(one.cls, "cls")) for one in decoders
        ]
        for reg, *others in self.decoders:
            for other in others:
                require_same_grid(reg, other)
                if other.format != reg.format:
                    raise invalid(f"streams {reg.name} and {other.name} have different formats")

    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        return Detections.concatenate([self._detect_grid(*layers, frames) for layers in self.decoders])

    def _detect_grid(self, reg: OpInput, obj: OpInput, cls: OpInput, frames: Mapping[str, Buffer]) -> Detections:
        reg.require_entry(BOX_ENTRIES, "a YOLOX regression layer")
        cls.require_entry(self.config.classes, f"{self.config.classes} classes")
        obj.require_entry(1, "a YOLOX objectness layer")
        threshold = self.config.score_threshold
        objectness_codes = obj.planes(frames[obj.name])[:, 0]
        rows, columns = np.nonzero(passing(obj, objectness_codes, threshold, self.rules.prefilter))
        objectness = obj.dequantize(objectness_codes[rows, columns])
        class_codes = cls.planes(frames[cls.name])[rows, : self.config.classes, columns]
        with np.errstate(all="ignore"):
            scores = cls.dequantize(class_codes) * objectness[:, None]
            mask = scores >= F32(threshold)
            if self.rules.prefilter:
                required = F32(threshold) / objectness
                limits, cell = np.unique(required, return_inverse=True)
                codes = np.array([cls.threshold_code(float(limit)) for limit in limits], np.int64)
                mask &= class_codes >= codes[cell][:, None]
            which, classes = np.nonzero(mask)
            t = reg.dequantize(reg.planes(frames[reg.name])[rows, :BOX_ENTRIES, columns])
            grid_height, grid_width = F32(reg.shape.height), F32(reg.shape.width)
            boxes = boxes_around(
                (t[:, 0] + columns.astype(F32)) / grid_width,
                (t[:, 1] + rows.astype(F32)) / grid_height,
                exp32(t[:, 2]) / grid_width,
                exp32(t[:, 3]) / grid_height,
            )
        return Detections.of(boxes[which], scores[which, classes], classes)


def require_same_grid(reg: OpInput, other: OpInput) -> None:
    if reg.shape[:2] != other.shape[:2]:
        raise invalid(
            f"stream {other.name} is {other.shape.height}x{other.shape.width}, its regression {reg.name}"
            f" {reg.shape.height}x{reg.shape.width}"
        )
