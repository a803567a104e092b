"""Every numeric case recorded from the real library, bit for bit; the few tolerances are those of vectors/README.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.dataflow.formats import InputTransform, OutputTransform
from emu.dataflow.mux import Demuxer
from emu.dataflow.nms_wire import NmsOutputTransform, fuse, nms_transfer_size, read_nms_frame
from emu.dataflow.postprocess.base import PostProcess
from emu.dataflow.postprocess.iou import parse_by_class
from emu.dataflow.postprocess.nms import Detections, NmsConfig, fill_by_class, fill_by_score, remove_overlapping
from emu.dataflow.postprocess.softmax import softmax
from emu.dataflow.quantize import dequantize, quantize
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    Format,
    FormatOrder,
    FormatType,
    Shape,
    nms_hw_frame_size,
)
from emu.hef.runtime import library_rules
from tests.dataflow import slow
from tests.dataflow.specs import (
    filled,
    format_of,
    layer_info,
    nms_info,
    op_frames,
    post_process,
    quant_info,
    vectors,
)

Case = dict[str, Any]
AUTO = Format(FormatType.AUTO, FormatOrder.AUTO)
YOLOV8_TOLERANCE = 1e-6  # Eigen's vectorised exp and sums (netflow-nms.md 12)


def expected(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), np.uint8)


@pytest.mark.parametrize("case", vectors("quant"))
def test_quantisation(case: Case) -> None:
    qp = quant_info(case["qp"])
    dtype = np.dtype(np.uint8 if case["bits"] == 8 else np.uint16)
    if case["id"] == "dequantize":
        assert dequantize(np.array(case["codes"], dtype), qp).tobytes().hex() == case["hex"]
        return
    values = np.array([float(text) for text in case["input"]], np.float32)
    assert quantize(values, qp, dtype).tolist() == case["values"]
    finite = ~np.isnan(values)
    wanted = [code for code, keep in zip(case["values"], finite, strict=True) if keep]
    assert quantize(values[finite], qp, dtype).tolist() == wanted


def transform(spec: Case) -> InputTransform | OutputTransform | NmsOutputTransform:
    user, device = format_of(spec["format"]), format_of(spec["hw_format"])
    qps = [quant_info(qp) for qp in spec["qps"]]
    if "nms_info" in spec:
        return NmsOutputTransform(user, device, qps, nms_info(spec["nms_info"]))
    make = InputTransform if spec["kind"] == "h2d" else OutputTransform
    return make(Shape(*spec["shape"]), user, Shape(*spec["hw_shape"]), device, qps)


def run_transform(case: Case) -> None:
    spec = case["spec"]
    data = bytes.fromhex(spec["hex"])
    if case["status"] == 0:
        made = transform(spec)
        size = made.hw_frame_size if spec["kind"] == "h2d" else made.user_frame_size
        assert made(data, filled(size)).tobytes().hex() == (case["hex"] if "hex" in case else case["output_hex"])
        if "description" in case:
            assert isinstance(made, InputTransform)
            assert made.description == case["description"]
        if "required" in case:
            assert not isinstance(made, NmsOutputTransform)
            assert made.required == case["required"]
        return
    with pytest.raises(HailoError) as refusal:
        transform(spec)(data)
    assert refusal.value.status == case["status"]


@pytest.mark.parametrize("case", vectors("transforms"))
def test_transform(case: Case) -> None:
    run_transform(case)


@pytest.mark.parametrize("case", vectors("checks"))
def test_check(case: Case) -> None:
    spec = case["spec"]
    if spec["kind"] != "op":
        run_transform(case)
    elif case["status"] == 0:
        compare_op(case)
    else:
        with pytest.raises(HailoError) as refusal:
            op = post_process(spec, case["variant"])
            op(op_frames(spec))
        assert refusal.value.status == case["status"]


@pytest.mark.parametrize("case", vectors("onchip_nms"))
def test_on_chip_nms(case: Case) -> None:
    if "buffers" in case:
        infos = [nms_info(part["nms_info"]) for part in case["buffers"]]
        frames = [
            np.concatenate([part, np.zeros(nms_hw_frame_size(info) - part.size, np.uint8)])
            for part, info in zip((expected(part["hex"]) for part in case["buffers"]), infos, strict=True)
        ]
        assert fuse(frames, infos, filled(case["dst_size"])).tobytes().hex() == case["hex"]
        return
    info = nms_info(case["nms_info"])
    assert nms_transfer_size(info) == case["transfer_size"]
    assert nms_hw_frame_size(info) == case["hw_frame_size"]
    read = read_nms_frame(bytes.fromhex(case["device_hex"]), info, filled(case["hw_frame_size"]))
    assert read.consumed == case["consumed"]
    # the words that the transfers leave behind the valid ones included
    assert read.frame.tobytes().hex() == case["host_hex"]
    convert = NmsOutputTransform(
        AUTO, Format(FormatType.UINT16, FormatOrder.HAILO_NMS_ON_CHIP), [quant_info(case["qp"])], info
    )
    assert convert(read.frame, filled(convert.user_frame_size)).tobytes().hex() == case["by_class_hex"]


@pytest.mark.parametrize("case", vectors("demux"))
def test_demux(case: Case) -> None:
    demux = Demuxer(layer_info(case["spec"]["layer"]))
    edges = demux(bytes.fromhex(case["spec"]["hex"]), [filled(size) for size in demux.edge_sizes])
    found = [
        {"hex": data.tobytes().hex(), "hw_frame_size": data.size, "name": edge.name}
        for edge, data in zip(demux.edges, edges, strict=True)
    ]
    assert found == case["result"]["edges"]


def run_op(case: Case) -> tuple[PostProcess, np.ndarray]:
    spec = case["spec"]
    op = post_process(spec, case.get("variant", "4.23"))
    for _ in range(spec.get("frames", 1)):
        frame, status = op(op_frames(spec), filled(op.frame_size))
    assert status == case.get("status", 0)
    assert op.frame_size == spec["output"].get("size", len(case["output_hex"]) // 2)
    return op, frame


def compare_op(case: Case) -> None:
    op, frame = run_op(case)
    wanted = expected(case["output_hex"])
    if not case["spec"]["op"].startswith("yolov8"):
        assert frame.tobytes() == wanted.tobytes()
        return
    if op.user.order is FormatOrder.HAILO_NMS_BY_SCORE:
        assert frame[:2].tobytes() == wanted[:2].tobytes()
        count = min(int(frame[:2].view("<u2")[0]), (frame.size - 2) // 22)
        records = np.dtype([("numbers", "<f4", 5), ("class_id", "<u2")])
        mine, theirs = (data[2 : 2 + 22 * count].view(records) for data in (frame, wanted))
        assert np.array_equal(mine["class_id"], theirs["class_id"])
        assert np.abs(mine["numbers"] - theirs["numbers"]).max() <= YOLOV8_TOLERANCE
        assert frame[2 + 22 * count :].tobytes() == wanted[2 + 22 * count :].tobytes()
        return
    assert np.abs(frame.view("<f4").astype(float) - wanted.view("<f4")).max() <= YOLOV8_TOLERANCE


@pytest.mark.parametrize("case", vectors("ops"))
def test_op(case: Case) -> None:
    compare_op(case)


def seg_pointer_bytes(frame: np.ndarray, runtime: str) -> set[int]:
    """The `mask` pointers of the records: an address in the process that made the vector."""
    header, offset, found = library_rules(runtime).mask_header_bytes, 2, set()
    for _ in range(int(frame[:2].view("<u2")[0])):
        if offset + header > frame.size:
            break
        found |= set(range(offset + 30, offset + 38))
        offset += header + int.from_bytes(frame[offset + 22 : offset + 30].tobytes(), "little")
    return found


def compare_seg(case: Case, crop: bool, nearest: bool) -> None:
    spec = case["spec"]
    op = post_process(spec, case["variant"], crop, nearest)
    wanted = expected(case["output_hex"])
    frame, status = op(op_frames(spec), filled(wanted.size))
    assert status == case.get("status", 0)
    ignored = set(case.get("do_not_compare_bytes", ())) | seg_pointer_bytes(wanted, case["variant"])
    assert set(np.flatnonzero(frame != wanted).tolist()) <= ignored


@pytest.mark.parametrize("case", vectors("seg"))
def test_seg(case: Case) -> None:
    compare_seg(case, crop=False, nearest=False)


@pytest.mark.parametrize("case", vectors("seg_env"))
def test_seg_switches(case: Case) -> None:
    compare_seg(case, crop=bool(case["crop"]), nearest=bool(case["nn"]))


@pytest.mark.parametrize("case", vectors("seg_limvals"))
def test_seg_limvals(case: Case) -> None:
    op = post_process(case["spec"], case["variant"])
    frame, _ = op(op_frames(case["spec"]))
    assert int(frame[:2].view("<u2")[0]) == case["count"]


@pytest.mark.parametrize("case", vectors("nms_core"))
def test_nms_core(case: Case) -> None:
    if "pairs" in case:
        for pair, value in zip(case["pairs"], case["values"], strict=True):
            (overlap,) = np.frombuffer(bytes.fromhex(value["hex"]), np.float32)
            boxes = np.array(pair, np.float32)
            assert slow.iou(*boxes).tobytes().hex() == value["hex"]
            for threshold in (np.float64(overlap), np.nextafter(np.float64(overlap), 2)):
                two = Detections.of(boxes, np.array([0.9, 0.8], np.float32), np.zeros(2, np.intp))
                _, counts = remove_overlapping(two, 1, float(threshold))
                assert counts.tolist() == [2 - (overlap >= threshold)], (pair, threshold)
        return
    spec = case["spec"]
    rows = np.array(spec["dets"], np.float64).reshape(-1, 6)
    boxes, scores = rows[:, :4].astype(np.float32), rows[:, 4].astype(np.float32)
    result, counts = remove_overlapping(
        Detections.of(boxes, scores, rows[:, 5].astype(np.intp)), spec["classes"], spec["iou_th"]
    )
    assert [
        [*box.tolist(), float(score), int(cls)]
        for box, score, cls in zip(result.boxes, result.scores, result.classes, strict=True)
    ] == case["sorted_after"]
    config = NmsConfig(
        0.0, spec["iou_th"], spec["max_per_class"], spec["classes"], spec["max_per_class"] * spec["classes"]
    )
    frame = filled(spec["size"])
    if spec["order"] == "by_class":
        fill_by_class(result, counts, config, frame)
    else:
        fill_by_score(result, config, frame)
    assert frame.tobytes().hex() == case["hex"]


@pytest.mark.parametrize("case", vectors("misc"))
def test_misc(case: Case) -> None:
    match case["id"]:
        case name if name.startswith("softmax"):
            values = expected(case["input_hex"]).view("<f4")
            np.testing.assert_allclose(
                softmax(values), expected(case["output_hex"]).view("<f4"), rtol=0, atol=1e-6, equal_nan=True
            )
        case "iou_only_by_score":
            check_iou_by_score(case)
        case "demux_nested_gcd2":
            test_demux(case)
        case "seg_env" | "seg_limvals":
            env = case.get("env", {})
            compare_seg(
                {"variant": "5.2", **case},
                crop="HAILORT_YOLOV5_SEG_PP_CROP_OPT" in env,
                nearest="HAILORT_YOLOV5_SEG_NN_RESIZE" in env,
            )
        case _:
            compare_op(case)


def check_iou_by_score(case: Case) -> None:
    """The op's own functions, which the pipeline never combines with BY_SCORE."""
    info = nms_info(case["nms_info"])
    convert = NmsOutputTransform(
        AUTO, Format(FormatType.UINT16, FormatOrder.HAILO_NMS_ON_CHIP), [quant_info(case["qp"])], info
    )
    device = expected(case["device_host_hex"])
    device = np.concatenate([device, np.zeros(convert.hw_frame_size - device.size, np.uint8)])
    frame = convert(device, filled(convert.user_frame_size))
    assert frame.tobytes().hex() == case["by_class_before_hex"]
    result, _ = remove_overlapping(parse_by_class(frame, 2), 2, float(np.float32(case["iou_th"])))
    out = filled(len(case["output_hex"]) // 2)
    fill_by_score(result, NmsConfig(0.0, case["iou_th"], 6, 2, 12), out, sort_again=True)
    assert out.tobytes().hex() == case["output_hex"]


def test_every_status_is_one_of_the_runtime() -> None:
    cases = [param.values[0] for name in ("checks", "transforms") for param in vectors(name)]
    assert {case["status"] for case in cases if case} <= {int(status) for status in HailoStatus}
