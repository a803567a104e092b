"""What the runtime checks about a post-process op once it has found its inputs (validate_params of each op metadata).

All of it is HAILO_INVALID_ARGUMENT, and happens at load: op after op, in file order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.layers import LayerInfo
from emu.hef.ops import OpInfo


def check_op(info: OpInfo) -> None:
    """HAILO_INVALID_ARGUMENT for an op whose decoders do not fit its inputs."""
    nms = info.op.op
    if not isinstance(nms, model.NmsOp):
        return
    kind = nms.nms_op
    if nms.bbox_decoding_only and isinstance(kind, model.YoloSegNmsOp | model.YoloxNmsOp | model.SSDNmsOp):
        _refuse(info, f"bbox_decoding_only does not exist for {info.kind.type_name}")
    if isinstance(kind, model.SSDNmsOp):
        _check_anchors(info, kind)
    if isinstance(kind, model.Yolov8NmsOp | model.YoloxNmsOp | model.SSDNmsOp):
        for decoder in kind.bbox_decoders:
            layers = list(_layers(info, decoder))
            _check_shapes(info, layers)
            if not isinstance(decoder, model.SSDBboxDecoder):
                _check_formats(info, layers)
            if isinstance(decoder, model.Yolov8BboxDecoder) and layers[0].shape.features % 4:
                _refuse(
                    info, f"regression layer {layers[0].name} has {layers[0].shape.features} features, no multiple of 4"
                )


def _layers(
    info: OpInfo, decoder: model.Yolov8BboxDecoder | model.YoloxBboxDecoder | model.SSDBboxDecoder
) -> Iterator[LayerInfo]:
    """The inputs a decoder reads: regression, classes and, for YOLOX, objectness."""
    pads = [decoder.reg_pad_index, decoder.cls_pad_index]
    if isinstance(decoder, model.YoloxBboxDecoder):
        pads.append(decoder.obj_pad_index)
    for pad in pads:
        layer = info.inputs_by_pad.get(pad)
        if layer is None:
            _refuse(info, f"a decoder reads pad {pad}, the op's inputs are pads {sorted(info.inputs_by_pad)}")
        yield layer


def _check_shapes(info: OpInfo, layers: list[LayerInfo]) -> None:
    first = layers[0]
    for other in layers[1:]:
        if (first.shape.height, first.shape.width) != (other.shape.height, other.shape.width):
            _refuse(
                info,
                f"layers {first.name} and {other.name} of one decoder have {first.shape.height}x{first.shape.width} "
                f"and {other.shape.height}x{other.shape.width} cells",
            )


def _check_formats(info: OpInfo, layers: list[LayerInfo]) -> None:
    first = layers[0]
    for other in layers[1:]:
        if first.format != other.format:
            _refuse(info, f"layers {first.name} and {other.name} of one decoder have different formats")


def _check_anchors(info: OpInfo, ssd: model.SSDNmsOp) -> None:
    """The runtime keeps one list of anchors per layer, the first: two decoders must not disagree about a layer."""
    anchors: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    for decoder in ssd.bbox_decoders:
        anchors.setdefault(decoder.reg_pad_index, (decoder.w, decoder.h))
        anchors.setdefault(decoder.cls_pad_index, (decoder.w, decoder.h))
    for decoder in ssd.bbox_decoders:
        reg, cls = anchors[decoder.reg_pad_index], anchors[decoder.cls_pad_index]
        if reg != cls:
            _refuse(
                info, f"pads {decoder.reg_pad_index} and {decoder.cls_pad_index} of one decoder have different anchors"
            )


def _refuse(info: OpInfo, message: str) -> NoReturn:
    raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, message, op=info.op.name[:80])
