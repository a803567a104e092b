"""From a case of the recorded vectors to the object it describes (vectors/README.md of the shared material)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from emu.dataflow.postprocess.argmax import Argmax
from emu.dataflow.postprocess.base import OpInput, PostProcess
from emu.dataflow.postprocess.nms import NmsConfig
from emu.dataflow.postprocess.ssd import Ssd, SsdConfig, SsdDecoder
from emu.dataflow.postprocess.yolov5 import Anchors, Yolov5, Yolov5BboxOnly, Yolov5Config
from emu.dataflow.postprocess.yolov5_seg import SegConfig, SegSwitches, Yolov5Seg
from emu.dataflow.postprocess.yolov8 import Yolov8, Yolov8BboxOnly, Yolov8Config, Yolov8Decoder
from emu.dataflow.postprocess.yolox import Yolox, YoloxDecoder
from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import (
    Format,
    FormatFlags,
    FormatOrder,
    FormatType,
    NmsBurstType,
    NmsDefuseInfo,
    NmsInfo,
    QuantInfo,
    Shape,
)
from emu.hef.layers import LayerInfo, StreamDirection
from tests.conftest import DATA, SHARED

FILL = 0xCD


def vectors(name: str) -> list[Any]:
    """The cases of one vector file as pytest parameters; from the shared material, or the copy in tests/data."""
    places = (SHARED / "vectors" / f"{name}.json", DATA / "vectors" / f"{name}.json", DATA / f"{name}.json")
    for path in places:
        if path.exists():
            cases = json.loads(path.read_text())
            return [
                pytest.param(case, id=f"{case['id']}-{case.get('variant', index)}") for index, case in enumerate(cases)
            ]
    return [pytest.param(None, marks=pytest.mark.skip(reason=f"vectors/{name}.json is not here"))]


def quant_info(qp: list[float]) -> QuantInfo:
    return QuantInfo(*(float(np.float32(value)) for value in qp))


def format_of(numbers: list[int]) -> Format:
    return Format(FormatType(numbers[0]), FormatOrder(numbers[1]), FormatFlags(numbers[2]))


def filled(size: int) -> np.ndarray:
    return np.full(size, FILL, np.uint8)


def nms_info(spec: dict[str, Any]) -> NmsInfo:
    return NmsInfo(
        number_of_classes=spec["classes"],
        max_bboxes_per_class=spec["max_per_class"],
        max_bboxes_total=spec["classes"] * spec["max_per_class"],
        bbox_size=8,
        chunks_per_frame=spec.get("chunks", 1),
        is_defused=spec.get("is_defused", False),
        defuse_info=NmsDefuseInfo(spec.get("group", 0), ""),
        burst_size=spec.get("burst_size", 1),
        burst_type=NmsBurstType(spec.get("burst_type", 0)),
    )


def nms_config(spec: dict[str, Any]) -> NmsConfig:
    return NmsConfig(
        score_threshold=float(np.float32(spec["score_th"])),
        iou_threshold=float(np.float32(spec["iou_th"])),
        max_proposals_per_class=spec["max_per_class"],
        classes=spec["classes"],
        max_proposals_total=spec.get("max_total", spec["max_per_class"] * spec["classes"]),
        background_removal=spec.get("background_removal", False),
        background_removal_index=spec.get("background_removal_index", 0),
    )


def op_inputs(spec: dict[str, Any]) -> list[OpInput]:
    return [
        OpInput(
            one["name"], Shape(*one["shape"]), Shape(*one["padded"]), format_of(one["format"]), quant_info(one["qp"])
        )
        for one in spec["inputs"]
    ]


def op_frames(spec: dict[str, Any]) -> dict[str, bytes]:
    return {one["name"]: bytes.fromhex(one["hex"]) for one in spec["inputs"]}


def post_process(spec: dict[str, Any], runtime: str, crop: bool = False, nearest: bool = False) -> PostProcess:
    """The op of a spec; raises what creating it raises."""
    kind = spec["op"]
    inputs = op_inputs(spec)
    user = format_of(spec["output"]["format"])
    if kind == "argmax":
        return Argmax(inputs[0], user, runtime=runtime)
    config = nms_config(spec["nms"])
    height, width = (float(size) for size in spec["image"])
    if kind in ("yolov8", "yolov8_bbox_only"):
        decoders = tuple(Yolov8Decoder(one["reg"], one["cls"], one["stride"]) for one in spec["decoders"])
        yolov8 = Yolov8 if kind == "yolov8" else Yolov8BboxOnly
        return yolov8(inputs, config, Yolov8Config(decoders, height, width), user, runtime=runtime)
    if kind == "yolox":
        return Yolox(inputs, config, [YoloxDecoder(**one) for one in spec["decoders"]], user, runtime=runtime)
    if kind == "ssd":
        ty, tx, th, tw = spec["order"]
        ssd = SsdConfig(spec["centers_scale"], spec["dims_scale"], ty, tx, th, tw)
        ssd_decoders = [
            SsdDecoder(one["reg"], one["cls"], tuple(one["anchors"][0::2]), tuple(one["anchors"][1::2]))
            for one in spec["decoders"]
        ]
        return Ssd(inputs, config, ssd, ssd_decoders, user, runtime=runtime)
    anchors = {name: Anchors(tuple(flat[0::2]), tuple(flat[1::2])) for name, flat in spec["anchors"].items()}
    yolov5 = Yolov5Config(anchors, height, width)
    if kind == "yolov5_seg":
        seg = SegConfig(spec["proto"], float(np.float32(spec["mask_threshold"])), spec["max_mask"])
        switches = SegSwitches(crop, nearest)
        return Yolov5Seg(inputs, config, yolov5, seg, user, runtime=runtime, switches=switches)
    return (Yolov5 if kind == "yolov5" else Yolov5BboxOnly)(inputs, config, yolov5, user, runtime=runtime)


def layer_info(spec: dict[str, Any]) -> LayerInfo:
    """The mux tree of a demux case."""
    predecessors = tuple(layer_info(one) for one in spec.get("predecessors", ()))
    return LayerInfo(
        type=EdgeConnectionType.BOUNDARY,
        direction=StreamDirection.D2H,
        name=spec["name"],
        network_name="g/g",
        network_index=0,
        context_index=0,
        stream_index=0,
        dma_engine_index=0,
        format=format_of(spec["format"]),
        shape=Shape(*spec["shape"]),
        hw_shape=Shape(*spec["hw_shape"]),
        hw_data_bytes=spec["bytes"],
        quant_info=QuantInfo(0.0, 1.0, 0.0, 0.0),
        quant_infos=(QuantInfo(0.0, 1.0, 0.0, 0.0),),
        core_hw_padding=False,
        core_bytes_per_buffer=0,
        core_buffers_per_frame=0,
        max_shmifo_size=0,
        original_names=(),
        is_mux=bool(predecessors),
        height_gcd=spec.get("height_gcd", 0),
        height_ratios=tuple(spec.get("height_ratios", ())),
        predecessors=predecessors,
    )
