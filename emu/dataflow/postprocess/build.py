"""The op of a HEF: from its description (`emu.hef.ops.OpInfo`) to the object that runs it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emu.dataflow.postprocess.argmax import Argmax
from emu.dataflow.postprocess.base import OpInput, PostProcess, invalid
from emu.dataflow.postprocess.iou import IouOnly
from emu.dataflow.postprocess.nms import NmsConfig
from emu.dataflow.postprocess.softmax import Softmax
from emu.dataflow.postprocess.ssd import Ssd, SsdConfig, SsdDecoder
from emu.dataflow.postprocess.yolov5 import Anchors, Yolov5, Yolov5BboxOnly, Yolov5Config
from emu.dataflow.postprocess.yolov5_seg import SegConfig, SegSwitches, Yolov5Seg
from emu.dataflow.postprocess.yolov8 import Yolov8, Yolov8BboxOnly, Yolov8Config, Yolov8Decoder
from emu.dataflow.postprocess.yolox import Yolox, YoloxDecoder
from emu.hef import model
from emu.hef.formats import Format
from emu.hef.layers import LayerInfo
from emu.hef.ops import OpInfo, OpKind
from emu.hef.runtime import library_rules

SWITCH_CROP = "HAILORT_YOLOV5_SEG_PP_CROP_OPT"
SWITCH_NEAREST = "HAILORT_YOLOV5_SEG_NN_RESIZE"


def seg_switches(environment: Mapping[str, str], runtime: str) -> SegSwitches:
    """The library's switches from its environment: on where the value starts with "1", where it has any."""
    if not library_rules(runtime).reads_switches:
        return SegSwitches()
    return SegSwitches(
        crop=environment.get(SWITCH_CROP, "").startswith("1"),
        nearest=environment.get(SWITCH_NEAREST, "").startswith("1"),
    )


def build_op(
    info: OpInfo, user: Format | None, *, runtime: str, environment: Mapping[str, str] | None = None
) -> PostProcess:
    """The op with its output in `user` (None or AUTO: its own format); raises what creating it raises."""
    op = info.op.op
    if isinstance(op, model.LogitsOp):
        (layer,) = info.inputs.values()
        logits = Argmax if info.kind is OpKind.ARGMAX else Softmax
        return logits(op_input(layer), user or info.format, runtime=runtime)
    assert isinstance(op, model.NmsOp)
    inputs = [op_input(layer) for layer in info.inputs.values()]
    config = NmsConfig(
        score_threshold=_binary32(op.nms_score_th),
        iou_threshold=_binary32(op.nms_iou_th),
        max_proposals_per_class=op.max_proposals_per_class,
        classes=op.classes,
        max_proposals_total=op.max_proposals_per_class * op.classes,
        background_removal=op.background_removal,
        background_removal_index=op.background_removal_index,
    )
    match op.nms_op:
        case model.YoloNmsOp() as yolo:
            yolov5 = Yolov5BboxOnly if info.kind is OpKind.YOLOV5_BBOX_ONLY else Yolov5
            return yolov5(inputs, config, _yolov5_config(yolo, info), user, runtime=runtime)
        case model.YoloSegNmsOp() as yolo:
            assert info.nms_shape is not None
            seg = SegConfig(
                yolo.proto_info.proto_layer,
                _binary32(yolo.mask_threshold),
                info.nms_shape.max_accumulated_mask_size,
            )
            switches = seg_switches(environment or {}, runtime)
            return Yolov5Seg(inputs, config, _yolov5_config(yolo, info), seg, user, runtime=runtime, switches=switches)
        case model.Yolov8NmsOp() as yolo:
            decoders = tuple(
                Yolov8Decoder(_name(info, one.reg_pad_index), _name(info, one.cls_pad_index), one.stride)
                for one in yolo.bbox_decoders
            )
            yolov8_config = Yolov8Config(decoders, _binary32(yolo.image_height), _binary32(yolo.image_width))
            yolov8 = Yolov8BboxOnly if info.kind is OpKind.YOLOV8_BBOX_ONLY else Yolov8
            return yolov8(inputs, config, yolov8_config, user, runtime=runtime)
        case model.YoloxNmsOp() as yolox:
            triples = [
                YoloxDecoder(
                    _name(info, one.reg_pad_index), _name(info, one.obj_pad_index), _name(info, one.cls_pad_index)
                )
                for one in yolox.bbox_decoders
            ]
            _refuse_bbox_only(op, info)
            return Yolox(inputs, config, triples, user, runtime=runtime)
        case model.SSDNmsOp() as ssd:
            _refuse_bbox_only(op, info)
            ssd_decoders = [
                SsdDecoder(_name(info, one.reg_pad_index), _name(info, one.cls_pad_index), one.w, one.h)
                for one in ssd.bbox_decoders
            ]
            scales = SsdConfig(
                ssd.centers_scale_factor, ssd.bbox_dimensions_scale_factor, ssd.ty, ssd.tx, ssd.th, ssd.tw
            )
            return Ssd(inputs, config, scales, ssd_decoders, user, runtime=runtime)
        case _:
            (layer,) = info.inputs.values()
            if layer.nms_info is None:
                raise invalid(f"stream {layer.name} of an IoU-only op is no on-chip NMS stream")
            return IouOnly(op_input(layer), layer.nms_info, config, user, runtime=runtime)


def op_input(layer: LayerInfo) -> OpInput:
    return OpInput(layer.name, layer.shape, layer.hw_shape, layer.format, layer.quant_info)


def _refuse_bbox_only(op: model.NmsOp, info: OpInfo) -> None:
    if op.bbox_decoding_only:
        raise invalid(f"{info.kind.op_name} cannot decode boxes only")


def _name(info: OpInfo, pad: int) -> str:
    return info.inputs_by_pad[pad].name


def _yolov5_config(yolo: model.YoloNmsOp | model.YoloSegNmsOp, info: OpInfo) -> Yolov5Config:
    # the runtime goes by its inputs: decoders of other pads are passed over, the first of two counts (hef.cpp)
    anchors: dict[str, Anchors] = {}
    for one in yolo.bbox_decoders:
        if one.pad_index in info.inputs_by_pad:
            anchors.setdefault(_name(info, one.pad_index), Anchors(one.w, one.h))
    return Yolov5Config(anchors, _binary32(yolo.image_height), _binary32(yolo.image_width))


def _binary32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))
