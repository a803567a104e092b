"""Files to stream bytes and back: every vstream of every HEF with recorded infos, and what a wrong file is told."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from emu.arrays import open_array
from emu.dataflow.frames import (
    DEVICE,
    DISABLE_POST_PROCESS,
    SYNTHETIC,
    FrameBridge,
    FrameFiles,
    _require_one_proto_geometry,
    build_outputs,
    frame_files,
)
from emu.dataflow.postprocess.build import SWITCH_CROP, SWITCH_NEAREST, build_op
from emu.dataflow.quantize import quantize
from emu.dataflow.synthetic import DeviceLike
from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef import open_hef
from emu.hef.formats import Format, FormatOrder, FormatType, frame_size, nms_frame_size
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.sequencer.host import HostSettings
from tests.conftest import SHARED, needs_shared
from tests.dataflow.specs import vectors

CASES = vectors("hef_infos")


def groups_of(case: dict[str, Any]) -> list[NetworkGroupInfo]:
    if "hef_hex" in case:
        source: bytes | Path = bytes.fromhex(case["hef_hex"])
    else:
        source = SHARED / "hef" / case["id"]
        if not source.exists() or hashlib.sha256(source.read_bytes()).hexdigest() != case["sha256"]:
            pytest.skip(f"{case['id']} is not in the shared material")
    if case["result"].get("status", 0):
        pytest.skip("the runtime does not load this file")
    return list(hef_infos(open_hef(source, runtime=case["variant"])).network_groups)


def synthetic(name: str, runtime: str | None = None) -> tuple[NetworkGroupInfo, str]:
    """The (first) group of a made-up HEF of the vectors."""
    for param in CASES:
        case = param.values[0]
        if case is not None and case["id"] == name and runtime in (None, case["variant"]):
            return groups_of(case)[0], case["variant"]
    pytest.skip("vectors/hef_infos.json is not here")


def noise(group: NetworkGroupInfo, seed: int = 1) -> dict[str, bytes]:
    rng = np.random.default_rng(seed)
    return {
        stream.name: rng.integers(0, 256, stream.hw_frame_size, np.uint8).tobytes() for stream in group.output_streams
    }


@pytest.mark.parametrize("case", [param for param in CASES if "yolov8n_320" not in (param.id or "")])
def test_every_recorded_vstream_converts(case: dict[str, Any]) -> None:
    """Frame sizes are those the library reports, stream frames exactly hw_frame_size."""
    for group, recorded in zip(groups_of(case), case["result"]["groups"], strict=True):
        bridge = FrameBridge(group, runtime=case["variant"])
        streams = bridge.inputs_for(0)
        assert {name: len(data) for name, data in streams.items()} == {
            stream["name"]: stream["hw_frame_size"] for stream in recorded["input_streams"]
        }
        for info, wanted in zip(group.input_vstreams, recorded["input_vstreams"], strict=True):
            assert InputVStream(group, info).frame_size == wanted["default_frame_size"]
        found = bridge.outputs(noise(group))
        assert list(found) == [vstream["name"] for vstream in recorded["output_vstreams"]]
        for vstream, wanted in zip(bridge.output_vstreams, recorded["output_vstreams"], strict=True):
            assert vstream.frame_size == wanted["default_frame_size"]
            assert found[wanted["name"]].nbytes == wanted["default_frame_size"]


@pytest.mark.skipif(not (SHARED / "vectors" / "e2e_yolov8n.json").exists(), reason="the end-to-end vector is not here")
def test_a_public_model_end_to_end() -> None:
    case = json.loads((SHARED / "vectors" / "e2e_yolov8n.json").read_text())
    group = hef_infos(open_hef(SHARED / "hef" / case["hef"])).network_groups[0]
    frames = end_to_end_streams(case, group)
    (found,) = FrameBridge(group, runtime="4.23", origin=DEVICE).outputs(frames).values()
    wanted = np.frombuffer(bytes.fromhex(case["output_hex"]), "<f4")[: case["valid_bytes"] // 4]
    assert np.abs(found.view("<f4")[: wanted.size] - wanted).max() <= 1e-6
    assert not found[case["valid_bytes"] :].any()


def end_to_end_streams(case: dict[str, Any], group: NetworkGroupInfo) -> dict[str, bytes]:
    """The six device streams, made as `recipe` says."""
    rng = np.random.Generator(np.random.PCG64(case["seed"]))
    frames = {}
    for stream in sorted(group.output_streams, key=lambda stream: stream.name):
        data = rng.integers(0, 256, stream.hw_frame_size, np.uint8)
        if stream.shape.features == case["op"]["classes"]:
            hot = rng.random(stream.hw_frame_size) < 0.0006
            data = np.where(hot, data, data // 16).astype(np.uint8)
        frames[stream.name] = data.tobytes()
        assert hashlib.sha256(frames[stream.name]).hexdigest() == case["stream_sha256"][stream.name]
    return frames


# --- inputs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def group() -> NetworkGroupInfo:
    """Input `in` NHWC (8, 8, 3), outputs cls, plain, reg behind a YOLOv8 op and a plain vstream."""
    return synthetic("netflow_yolov8_and_plain_output")[0]


def bridge_with(group: NetworkGroupInfo, path: Path, frames: int = 1) -> FrameBridge:
    (name,) = (vstream.name for vstream in group.input_vstreams)
    files = FrameFiles(inputs={name: open_array(path)})
    return FrameBridge(group, runtime="5.2", files=files, frames=frames)


def saved(directory: Path, array: np.ndarray, name: str = "x.npy") -> Path:
    path = directory / name
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        path.write_bytes(array.tobytes())
    return path


def stream_of(group: NetworkGroupInfo, frame: np.ndarray) -> bytes:
    """What the input's stream must carry for a uint8 frame."""
    ((_, data),) = InputVStream(group, group.input_vstreams[0])(np.ascontiguousarray(frame)).items()
    return data.tobytes()


@pytest.mark.parametrize("ending", [".npy", ".bin"])
def test_frames_repeat_in_turn(group: NetworkGroupInfo, tmp_path: Path, ending: str) -> None:
    frames = np.random.default_rng(1).integers(0, 256, (2, 8, 8, 3), np.uint8)
    bridge = bridge_with(group, saved(tmp_path, frames, f"x{ending}"), frames=5)
    (stream,) = bridge.inputs_for(0)
    assert [bridge.inputs_for(at)[stream] for at in range(5)] == [stream_of(group, frames[at % 2]) for at in range(5)]
    assert str(tmp_path) in bridge.input_sources["in"]


def test_one_frame_needs_no_leading_axis_and_any_memory_order_will_do(group: NetworkGroupInfo, tmp_path: Path) -> None:
    frame = np.random.default_rng(2).integers(0, 256, (8, 8, 3), np.uint8)
    for array in (frame, frame[None], np.asfortranarray(frame)):
        bridge = bridge_with(group, saved(tmp_path, array))
        assert list(bridge.inputs_for(0).values()) == [stream_of(group, frame)]


def test_float_frames_are_quantised(group: NetworkGroupInfo, tmp_path: Path) -> None:
    frame = np.random.default_rng(3).normal(0, 5, (8, 8, 3)).astype(np.float32)
    codes = quantize(frame, group.input_vstreams[0].quant_info, np.dtype(np.uint8))
    for array in (frame, frame.astype(">f4")):
        assert list(bridge_with(group, saved(tmp_path, array)).inputs_for(0).values()) == [stream_of(group, codes)]


def test_more_frames_than_the_run_are_not_read(group: NetworkGroupInfo, tmp_path: Path) -> None:
    frames = np.random.default_rng(4).integers(0, 256, (9, 8, 8, 3), np.uint8)
    bridge = bridge_with(group, saved(tmp_path, frames), frames=2)
    assert list(bridge.inputs_for(2).values()) == [stream_of(group, frames[0])]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((8, 8, 3)), "1536 bytes given, 192 = 8·8·3·1 expected: 8x means float64"),
        (np.zeros((8, 8, 3), np.uint16), "384 bytes given, 192 = 8·8·3·1 expected: 2x means uint16"),
        (np.zeros((8, 8, 3), np.int8), "the array is int8, not uint8"),
        (np.zeros((3, 8, 8), np.uint8), "192 = 8·8·3·1 expected: NCHW, transpose it to NHWC"),
        (np.zeros((8, 3, 8), np.uint8), ": NHCW, transpose it to NHWC"),
        (np.zeros((1, 3, 8, 8), np.float32), "768 = 8·8·3·4 expected: NCHW"),
        (np.zeros((8, 8, 4), np.uint8), "256 bytes given, 192 = 8·8·3·1 expected"),
        (np.zeros((0, 8, 8, 3), np.uint8), r"0 bytes given, 192 = 8·8·3·1 expected \(file"),
        (np.zeros(192, np.uint8), r"shape \(192,\) given, \(8, 8, 3\) expected"),
        (np.zeros((2, 2, 8, 8, 3), np.uint8), "expected"),
    ],
)
def test_wrong_arrays_are_refused_with_the_arithmetic(
    group: NetworkGroupInfo, tmp_path: Path, array: np.ndarray, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        bridge_with(group, saved(tmp_path, array))
    assert refusal.value.exit_code == 2
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    assert "input in" in refusal.value.message


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (191, "191 bytes given, 192 = 8·8·3·1 expected"),
        (0, "0 bytes given"),
        (1536, r"8x means float64 \(or int64\) or 8 frames \(the run is of 1\)"),
        (768, "4x means float32 given as raw bytes"),
        (576, r": 3 frames \(the run is of 1\)"),
    ],
)
def test_wrong_raw_files_are_refused_with_the_arithmetic(
    group: NetworkGroupInfo, tmp_path: Path, size: int, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        bridge_with(group, saved(tmp_path, np.zeros(size, np.uint8), "x.bin"))


def test_missing_inputs_are_random_and_said_so(group: NetworkGroupInfo) -> None:
    one, again, other = (FrameBridge(group, runtime="5.2", seed=seed) for seed in (7, 7, 8))
    assert one.input_sources == {"in": "random (seed 7)"}
    assert one.inputs_for(0) == again.inputs_for(0)
    assert one.inputs_for(0) != one.inputs_for(1)
    assert one.inputs_for(0) != other.inputs_for(0)


def test_planes_split_the_frame() -> None:
    group, runtime = synthetic("planes_nv12")
    vstream = InputVStream(group, group.input_vstreams[0])
    frame = np.arange(48, dtype=np.uint8)
    streams = vstream(frame)
    assert list(streams) == ["y_plane", "uv_plane"]
    # one feature: rows of Y as they come; two features in device order NHCW, so the host's plane is that too
    assert streams["y_plane"].tolist() == list(range(32))
    assert streams["uv_plane"].tolist() == list(range(32, 48))
    with pytest.raises(HailoError, match="47 bytes given, 48 expected"):
        vstream(frame[:-1])
    with pytest.raises(HailoError, match="cannot be given in NHWC"):
        InputVStream(group, group.input_vstreams[0], Format(FormatType.UINT8, FormatOrder.NHWC))
    assert FrameBridge(group, runtime=runtime).inputs_for(0).keys() == streams.keys()


def test_forged_frame_sizes_cost_an_error(group: NetworkGroupInfo) -> None:
    huge = replace(group, input_vstreams=(replace(group.input_vstreams[0], frame_size=0xFFFFFFFF),))
    with pytest.raises(HailoError, match="in: a frame of 4294967295 bytes") as refusal:
        FrameBridge(huge, runtime="5.2")
    assert refusal.value.status is HailoStatus.HAILO_OUT_OF_HOST_MEMORY


# --- the command line's names ---------------------------------------------------------------------------------------


def test_names_of_files(group: NetworkGroupInfo, tmp_path: Path) -> None:
    path = saved(tmp_path, np.zeros((8, 8, 3), np.uint8))
    odd = saved(tmp_path, np.zeros((8, 8, 3), np.uint8), "in=1.npy")
    assert list(frame_files([group], [f"in={path}"]).inputs) == ["in"]
    assert list(frame_files([group], [str(path)]).inputs) == ["in"]
    assert frame_files([group], [str(odd)]).inputs["in"].name == str(odd)
    archive = tmp_path / "all.npz"
    np.savez(archive, **{"in": np.zeros((8, 8, 3), np.uint8)})
    assert list(frame_files([group], archive=str(archive)).inputs) == ["in"]
    assert list(frame_files([group], device_outputs=[f"reg={path}"]).device_outputs) == ["reg"]
    for arguments in (
        {"inputs": [f"nothing={path}"]},
        {"inputs": [f"in={path}", str(path)]},
        {"inputs": [f"in={path}"], "archive": str(archive)},
        {"inputs": [f"in={tmp_path / 'absent.npy'}"]},
        {"device_outputs": [str(path)]},
        {"device_outputs": [f"in={path}"]},
    ):
        with pytest.raises(UsageError):
            frame_files([group], **arguments)
    np.savez(archive, other=np.zeros(1))
    with pytest.raises(UsageError, match="no input 'other'; the inputs are in"):
        frame_files([group], archive=str(archive))


def test_a_plain_file_needs_a_single_input(tmp_path: Path) -> None:
    group, _ = synthetic("multi_network_multi_io_sorted")
    path = saved(tmp_path, np.zeros((4, 8, 3), np.uint8))
    with pytest.raises(UsageError, match="2 inputs, say which: NAME=FILE with i0, i1"):
        frame_files([group], [str(path)])


def test_device_bytes_take_the_place_of_synthetic_ones(group: NetworkGroupInfo, tmp_path: Path) -> None:
    (plain,) = (stream for stream in group.output_streams if stream.name == "plain")
    data = np.random.default_rng(5).integers(0, 256, (2, plain.hw_frame_size), np.uint8)
    path = saved(tmp_path, data, "plain.bin")
    files = frame_files([group], device_outputs=[f"plain={path}"])
    bridge = FrameBridge(group, runtime="5.2", files=files, frames=3)
    streams = noise(group)
    for frame in range(3):
        assert bridge.device_output("plain", frame) == data[frame % 2].tobytes()
        assert bridge.device_output("reg", frame) is None
        alone = FrameBridge(group, runtime="5.2").outputs({**streams, "plain": data[frame % 2].tobytes()})
        found = bridge.outputs(streams, frame)
        assert np.array_equal(found["plain"], alone["plain"])
    assert (bridge.origin_of("plain"), bridge.origin_of("pp_out")) == (DEVICE, SYNTHETIC)
    path.write_bytes(bytes(plain.hw_frame_size + 1))
    with pytest.raises(UsageError, match=f"{plain.hw_frame_size + 1} bytes given, a multiple of {plain.hw_frame_size}"):
        FrameBridge(group, runtime="5.2", files=frame_files([group], device_outputs=[f"plain={path}"]))


@pytest.mark.parametrize("given", [(), ("cls",), ("reg",), ("cls", "reg")])
def test_real_streams_stay_as_they_are_beside_made_up_ones(group: NetworkGroupInfo, given: tuple[str, ...]) -> None:
    """Of a detection op's streams only those that are noise are thinned out."""
    (vstream,) = (one for one in FrameBridge(group, runtime="5.2").output_vstreams if one.op is not None)
    streams = noise(group)
    found = DeviceLike(group.output_streams).frames(vstream, streams, given)
    changed = {name for name, data in found.items() if bytes(data) != streams[name]}
    assert changed == {"cls"} - set(given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16])
def test_arrays_that_are_no_device_bytes_are_refused(group: NetworkGroupInfo, tmp_path: Path, dtype: type) -> None:
    """De-quantised values of one frame have the size of four."""
    plain = next(stream for stream in group.output_streams if stream.name == "plain")
    path = saved(tmp_path, np.zeros(plain.hw_frame_size, dtype))
    with pytest.raises(UsageError, match=f"an array of {np.dtype(dtype).name}, the stream carries uint8 codes"):
        FrameBridge(group, runtime="5.2", files=frame_files([group], device_outputs=[f"plain={path}"]))


def test_outputs_of_one_name_are_refused(group: NetworkGroupInfo) -> None:
    bridge = FrameBridge(group, runtime="5.2")
    assert build_outputs([bridge]) == [info.name for info in group.output_vstreams]
    with pytest.raises(UsageError, match="two of the network groups have an output"):
        build_outputs([bridge, bridge])


# --- user formats and limits ----------------------------------------------------------------------------------------


def test_user_formats_of_an_output(group: NetworkGroupInfo) -> None:
    infos = {info.name: info for info in group.output_vstreams}
    streams = noise(group)
    plain = infos["plain"]
    codes = OutputVStream(group, plain, runtime="5.2")
    floats = OutputVStream(group, plain, Format(FormatType.FLOAT32, FormatOrder.NCHW), runtime="5.2")
    assert floats.array_shape == (3, 4, 8)
    as_codes, as_floats = (one.array(one(streams).frame) for one in (codes, floats))
    qp = plain.quant_info
    expected = (as_codes.astype(np.float32) - np.float32(qp.zp)) * np.float32(qp.scale)
    np.testing.assert_array_equal(as_floats, expected.transpose(2, 0, 1))
    with pytest.raises(HailoError) as refusal:
        OutputVStream(group, plain, Format(FormatType.UINT8, FormatOrder.RGB4), runtime="5.2")(streams)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION
    with pytest.raises(HailoError, match="no frame for stream plain"):
        codes({})


def test_limits_of_an_output(group: NetworkGroupInfo) -> None:
    infos = {info.name: info for info in group.output_vstreams}
    output = OutputVStream(group, infos["pp_out"], runtime="5.2")
    before = output.frame_size
    output.configure(max_proposals_per_class=1, score_threshold=0.9, iou_threshold=0.1)
    assert output.frame_size < before
    assert output(noise(group)).frame.size == output.frame_size
    for refused in ({"max_accumulated_mask_size": 5}, {"max_proposals_total": 5}):
        with pytest.raises(HailoError) as refusal:
            output.configure(**refused)
        assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    with pytest.raises(HailoError) as refusal:
        OutputVStream(group, infos["plain"], runtime="5.2").configure(iou_threshold=0.5)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_mask_room_changes_the_frame() -> None:
    group, runtime = synthetic("netflow_yolov5_seg")
    output = OutputVStream(group, group.output_vstreams[0], runtime=runtime)
    before = output.frame_size
    output.configure(max_accumulated_mask_size=10, score_threshold=0.0)
    assert output.frame_size < before
    bridge = FrameBridge(group, runtime=runtime)
    bridge.output_vstreams[0].configure(max_accumulated_mask_size=0, max_proposals_total=1, score_threshold=0.5)
    assert bridge.outputs(noise(group, 3))
    assert bridge.notes and bridge.notes[0].startswith("HAILO_INSUFFICIENT_BUFFER(5): frame 0 of pp_out")


def test_masks_of_two_sizes_in_one_process_are_refused() -> None:
    """known-bugs.md 25"""
    group, runtime = synthetic("netflow_yolov5_seg")
    bridge = FrameBridge(group, runtime=runtime)
    (output,) = bridge.output_vstreams
    other = FrameBridge(group, runtime=runtime).output_vstreams[0]
    _require_one_proto_geometry([output, other])
    other.op._proto = replace(other.op._proto, shape=other.op._proto.shape._replace(width=1))
    with pytest.raises(HailoError, match="prototypes of"):
        _require_one_proto_geometry([output, other])


def test_what_is_not_built_says_so(group: NetworkGroupInfo) -> None:
    with pytest.raises(HailoError, match="HAILO_DISABLE_PP=1 is not built") as refusal:
        FrameBridge(group, runtime="5.2", environment={"HAILO_DISABLE_PP": "1"})
    assert refusal.value.status is HailoStatus.HAILO_NOT_IMPLEMENTED
    FrameBridge(group, runtime="4.23", environment={"HAILO_DISABLE_PP": "1"})


@pytest.mark.parametrize("switch", [DISABLE_POST_PROCESS, SWITCH_CROP, SWITCH_NEAREST])
def test_every_switch_of_the_data_plane_can_be_given(switch: str) -> None:
    assert HostSettings.parse({switch: "1"}).switches == {switch: "1"}


# --- ops out of HEFs ------------------------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
@pytest.mark.parametrize("name", ["yolov5", "yolov5_bbox", "yolov5_seg", "yolov8", "yolov8_bbox", "yolox", "ssd"])
def test_every_kind_of_op_is_built_from_its_hef(name: str, runtime: str) -> None:
    """The made-up HEFs give their ops streams in FCR, which an op refuses; as NHCW they run."""
    group = hef_infos(open_hef(SHARED / "synth" / "hef" / f"nf_{name}.hef", runtime=runtime)).network_groups[0]
    (info,) = group.ops
    with pytest.raises(HailoError, match="is FCR, an NMS op reads NHCW") as refusal:
        build_op(info, None, runtime=runtime)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    as_nhcw = {
        stream: replace(layer, format=replace(layer.format, order=FormatOrder.NHCW))
        for stream, layer in info.inputs.items()
    }
    op = build_op(replace(info, inputs=as_nhcw), None, runtime=runtime)
    assert set(op.inputs) == set(info.inputs)
    if info.nms_shape is not None:
        assert op.frame_size == nms_frame_size(info.nms_shape, info.format.order, runtime)
    else:
        assert op.frame_size == frame_size(info.shape, info.format)
    assert op.user.order is info.format.order and op.user.type is info.format.type
    if name != "yolov5_seg":  # its noise puts boxes outside the image, which is refused
        try:
            frame, _ = op({stream: bytes(layer.frame_size) for stream, layer in op.inputs.items()})
        except HailoError as error:
            assert "has frames of" in error.message  # the layers are narrower than the op's entries
        else:
            assert frame.size == op.frame_size
