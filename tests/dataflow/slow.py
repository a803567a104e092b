"""The data plane once more, slowly: one element at a time, straight from the written rules.

Written from transforms.md and netflow-nms.md alone, sharing nothing with `emu.dataflow` but the plain records, so that
a misreading there is not repeated here.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

F = np.float32


def to_code(value: np.float32, bits: int) -> int:
    """float -> int32 -> low bits, x86-64."""
    if math.isnan(value) or abs(float(value)) >= 2**31:
        return 0
    return int(value) & ((1 << bits) - 1)


def quantize(value: float, qp: tuple[float, float, float, float], bits: int) -> int:
    zp, scale, low, high = (F(part) for part in qp)
    x = F(value)
    with np.errstate(all="ignore"):
        if scale == 1 and zp == 0:
            return to_code(np.rint(x), bits)
        if x >= high:
            x = high
        elif x <= low:
            x = low
        return to_code(np.rint(F(F(x / scale) + zp)), bits)


def deq(code: int, qp: Any) -> np.float32:
    with np.errstate(all="ignore"):
        return F(F(F(code) - F(qp.zp)) * F(qp.scale))


def threshold_code(value: np.float32, qp: Any, bits: int) -> int:
    """quant() of 5.2's pre-filters: clipped, never the identity shortcut."""
    x = F(value)
    with np.errstate(all="ignore"):
        x = F(qp.limvals_max) if x >= F(qp.limvals_max) else F(qp.limvals_min) if x <= F(qp.limvals_min) else x
        return to_code(np.rint(F(F(x / F(qp.scale)) + F(qp.zp))), bits)


# --- layouts: position of host element (r, c, k) in a device frame --------------------------------------------------


def device_position(order: str, r: int, c: int, k: int, w: int, f: int, hw_w: int, hw_f: int) -> int:
    match order:
        case "NHCW":
            return r * hw_w * hw_f + k * hw_w + c
        case "FCR":
            return r * hw_w * hw_f + c * hw_f + k
        case "F8CR":
            return r * hw_w * hw_f + (k // 8) * 8 * hw_w + c * 8 + k % 8
        case "NHWC":  # host to device: features are not interleaved
            return r * hw_w * hw_f + c * f + k
        case "RGB888":
            return r * hw_w * hw_f + c * hw_f + (2 - k)
    raise AssertionError(order)


def zero_positions(order: str, h: int, w: int, f: int, hw_w: int, hw_f: int) -> set[int]:
    """Elements of the device frame that the host writes as padding."""
    zeros: set[int] = set()
    for r in range(h):
        row = r * hw_w * hw_f
        if order == "NHCW":
            zeros |= {row + k * hw_w + c for k in range(f) for c in range(w, hw_w)}
        elif order == "FCR":
            zeros |= {row + c * hw_f + k for c in range(w) for k in range(f, hw_f)}
        elif order == "F8CR":
            top = -(-f // 8) * 8
            zeros |= {row + (k // 8) * 8 * hw_w + c * 8 + k % 8 for c in range(w) for k in range(f, top)}
        elif order == "NHWC":
            zeros |= {row + w * f + i for i in range((hw_w - w) * hw_f)}
        elif order == "RGB888":
            zeros |= {row + c * hw_f + 3 for c in range(w)} | {row + i for i in range(w * hw_f, hw_w * hw_f)}
    return zeros


# --- NMS ------------------------------------------------------------------------------------------------------------


def iou(a: Any, b: Any) -> np.float32:
    """a, b: (y_min, x_min, y_max, x_max) float32."""

    def smaller(x: np.float32, y: np.float32) -> np.float32:
        return y if y < x else x

    def larger(x: np.float32, y: np.float32) -> np.float32:
        return y if x < y else x

    with np.errstate(all="ignore"):
        w = smaller(a[3], b[3]) - larger(a[1], b[1])
        h = smaller(a[2], b[2]) - larger(a[0], b[0])
        if w <= 0 or h <= 0:
            return F(0)
        inter = w * h
        area_a = (a[2] - a[0]) * (a[3] - a[1])
        area_b = (b[2] - b[0]) * (b[3] - b[1])
        return inter / (area_a + area_b - inter)


def suppress(dets: list[list[Any]], iou_th: float) -> list[int]:
    """dets: [box, score, class] sorted by score; sets removed scores to 0, returns the classes they had."""
    removed = []
    for i, (box, score, cls) in enumerate(dets):
        if score == 0:
            continue
        for other in dets[i + 1 :]:
            if other[1] != 0 and other[2] == cls and float(iou(box, other[0])) >= iou_th:
                other[1] = F(0)
                removed.append(cls)
    return removed


def by_class(dets: list[list[Any]], counts: list[int], max_per_class: int, size: int, fill: int) -> bytes:
    frame = bytearray([fill]) * (size + 64)
    kept = [min(count, max_per_class) for count in counts]
    offset = 0
    for cls, count in enumerate(kept):
        struct.pack_into("<f", frame, offset, count)
        at = offset + 4
        left = count
        for box, score, found in dets:
            if found == cls and score != 0 and left:
                struct.pack_into("<5f", frame, at, *box, score)
                at += 20
                left -= 1
        offset += 4 + 20 * count
    return bytes(frame[:size])


def by_score(dets: list[list[Any]], max_total: int, size: int, fill: int) -> bytes:
    frame = bytearray([fill]) * (size + 64)
    count = 0
    for box, score, cls in dets:
        if score == 0:
            continue
        if count > max_total:
            break
        struct.pack_into("<5fH", frame, 2 + 22 * count, *box, score, cls)
        count += 1
    struct.pack_into("<H", frame, 0, count)
    return bytes(frame[:size])


def exp(value: np.float32) -> np.float32:
    with np.errstate(all="ignore"):
        return F(np.exp(np.float64(value)))


class Nhcw:
    """A device frame by element."""

    def __init__(self, layer: Any, data: bytes) -> None:
        self.bits = 8 * layer.format.type.element_bytes
        self.codes = np.frombuffer(data, np.uint8 if self.bits == 8 else np.uint16)
        self.layer = layer

    def code(self, r: int, k: int, c: int) -> int:
        padded = self.layer.padded_shape
        return int(self.codes[r * padded.width * padded.features + k * padded.width + c])

    def value(self, r: int, k: int, c: int) -> np.float32:
        return deq(self.code(r, k, c), self.layer.quant_info)


def yolo_box(tx: Any, ty: Any, bw: Any, bh: Any) -> list[np.float32]:
    x_min, y_min = tx - bw / F(2), ty - bh / F(2)
    return [y_min, x_min, y_min + bh, x_min + bw]


def yolov5(op: Any, frames: dict[str, bytes], new_rules: bool) -> list[list[Any]]:
    dets = []
    config = op.config
    th = F(config.score_threshold)
    for name in sorted(op.yolo.anchors, key=lambda text: text.encode()):
        layer = op.inputs[name]
        grid = Nhcw(layer, frames[name])
        anchors = op.yolo.anchors[name]
        entry = 5 + config.classes
        limit = threshold_code(th, layer.quant_info, grid.bits) if new_rules else 0
        h, w, _ = layer.shape
        cells = [(r, c, a) for r in range(h) for c in range(w) for a in range(len(anchors.widths))]
        if new_rules:
            cells.sort(key=lambda cell: (cell[0], cell[2], cell[1]))
        for r, c, a in cells:
            base = a * entry
            objectness = grid.value(r, base + 4, c)
            if grid.code(r, base + 4, c) < limit or objectness < th:
                continue
            tx, ty, tw, tth = (grid.value(r, base + k, c) for k in range(4))
            with np.errstate(all="ignore"):
                bw = (F(2) * tw) * (F(2) * tw) * F(anchors.widths[a]) / F(op.yolo.image_width)
                bh = (F(2) * tth) * (F(2) * tth) * F(anchors.heights[a]) / F(op.yolo.image_height)
                box = yolo_box((tx * F(2) - F(0.5) + F(c)) / F(w), (ty * F(2) - F(0.5) + F(r)) / F(h), bw, bh)
                for k in range(config.classes):
                    score = grid.value(r, base + 5 + k, c) * objectness
                    if grid.code(r, base + 5 + k, c) >= limit and score >= th:
                        dets.append([box, score, k])
    return dets


def yolox(op: Any, frames: dict[str, bytes], new_rules: bool) -> list[list[Any]]:
    dets = []
    th = F(op.config.score_threshold)
    for reg_in, obj_in, cls_in in op.decoders:
        reg, obj, cls = (Nhcw(layer, frames[layer.name]) for layer in (reg_in, obj_in, cls_in))
        h, w, _ = reg_in.shape
        for r in range(h):
            for c in range(w):
                objectness = obj.value(r, 0, c)
                if new_rules and obj.code(r, 0, c) < threshold_code(th, obj_in.quant_info, obj.bits):
                    continue
                if objectness < th:
                    continue
                tx, ty, tw, tth = (reg.value(r, k, c) for k in range(4))
                with np.errstate(all="ignore"):
                    box = yolo_box((tx + F(c)) / F(w), (ty + F(r)) / F(h), exp(tw) / F(w), exp(tth) / F(h))
                    required = th / objectness
                for k in range(op.config.classes):
                    if new_rules and cls.code(r, k, c) < threshold_code(required, cls_in.quant_info, cls.bits):
                        continue
                    score = cls.value(r, k, c) * objectness
                    if score >= th:
                        dets.append([box, score, k])
    return dets


def ssd(op: Any, frames: dict[str, bytes]) -> list[list[Any]]:
    dets = []
    config, scales = op.config, op.ssd
    ty_at, tx_at, th_at, tw_at = scales.order
    for decoder in sorted(op.decoders, key=lambda one: one.reg.encode()):
        reg, cls = (Nhcw(op.inputs[name], frames[name]) for name in (decoder.reg, decoder.cls))
        h, w, _ = op.inputs[decoder.reg].shape
        for r in range(h):
            for c in range(w):
                for a, (wa, ha) in enumerate(zip(decoder.widths, decoder.heights, strict=True)):
                    t = [reg.value(r, a * 4 + k, c) for k in range(4)]
                    with np.errstate(all="ignore"):
                        sx, sy = F(1) / F(w), F(1) / F(h)
                        xa, ya = F(c) * sx + F(0.5) * sx, F(r) * sy + F(0.5) * sy
                        xc = t[tx_at] / F(scales.centers_scale_factor) * F(wa) + xa
                        yc = t[ty_at] / F(scales.centers_scale_factor) * F(ha) + ya
                        bw = exp(t[tw_at] / F(scales.bbox_dimensions_scale_factor)) * F(wa)
                        bh = exp(t[th_at] / F(scales.bbox_dimensions_scale_factor)) * F(ha)
                        box = [yc - bh / F(2), xc - bw / F(2), yc + bh / F(2), xc + bw / F(2)]
                    for k in range(config.classes):
                        if config.background_removal and k == config.background_removal_index:
                            continue
                        shift = config.background_removal and config.background_removal_index == 0
                        score = cls.value(r, a * config.classes + k, c)
                        if not score < F(config.score_threshold):
                            dets.append([box, score, k - 1 if shift else k])
    return dets


def yolov8(op: Any, frames: dict[str, bytes], new_rules: bool) -> list[list[Any]]:
    dets = []
    config = op.config
    th = F(config.score_threshold)
    for decoder in op.yolo.decoders:
        reg_in, cls_in = op.inputs[decoder.reg], op.inputs[decoder.cls]
        reg, cls = Nhcw(reg_in, frames[decoder.reg]), Nhcw(cls_in, frames[decoder.cls])
        h, w, features = reg_in.shape
        length = features // 4
        found = []
        for r in range(h):
            for c in range(w):
                for k in range(config.classes):
                    if new_rules and cls.code(r, k, c) < threshold_code(th, cls_in.quant_info, cls.bits):
                        continue
                    if cls.value(r, k, c) >= th:
                        found.append((r, c, k))
        if new_rules:
            found.sort(key=lambda one: (one[0], one[2], one[1]))
        for r, c, k in found:
            distance = []
            for side in range(4):
                e = [math.exp(float(reg.value(r, side * length + i, c))) for i in range(length)]
                distance.append(sum(i * value for i, value in enumerate(e)) / sum(e))
            stride = decoder.stride
            xc, yc = (c + 0.5) * stride / op.yolo.image_width, (r + 0.5) * stride / op.yolo.image_height
            box = [
                yc - distance[1] * stride / op.yolo.image_height,
                xc - distance[0] * stride / op.yolo.image_width,
                yc + distance[3] * stride / op.yolo.image_height,
                xc + distance[2] * stride / op.yolo.image_width,
            ]
            dets.append([[F(edge) for edge in box], cls.value(r, k, c), k])
    return dets
