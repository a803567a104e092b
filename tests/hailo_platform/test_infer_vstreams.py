"""InferVStreams end to end, against values computed by hand and a reference that tells its input."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.hailo_platform import exceptions
from tests.hailo_platform.conftest import (
    INPUT,
    OUT_SHAPE,
    OUTPUT,
    SCALE,
    SHAPE,
    TWO_CONTEXT,
    ZERO_POINT,
    echoed,
    frame_of,
)


def configured(hp: Any, device: Any, hef: Any = TWO_CONTEXT, batch: int = 0) -> Any:
    opened = hp.HEF(str(hef))
    params = hp.ConfigureParams.create_from_hef(hef=opened, interface=hp.HailoStreamInterface.PCIe)
    for one in params.values():
        one.batch_size = batch
    return device.configure(opened, params)[0]


def params_of(hp: Any, network: Any, input_type: str = "AUTO", output_type: str = "AUTO") -> tuple[Any, Any]:
    return (
        hp.InputVStreamParams.make(network, format_type=getattr(hp.FormatType, input_type)),
        hp.OutputVStreamParams.make_from_network_group(
            network, quantized=False, format_type=getattr(hp.FormatType, output_type)
        ),
    )


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_results_belong_to_their_frames(echoing: Any, batch: int) -> None:
    frames = np.stack([frame_of(first) for first in (3, 200, 17, 96)])
    with echoing.VDevice() as device:
        network = configured(echoing, device, batch=batch)
        with echoing.InferVStreams(network, *params_of(echoing, network)) as pipeline:
            found = pipeline.infer({INPUT: frames})
    assert set(found) == {OUTPUT}
    assert found[OUTPUT].dtype == np.uint8
    assert found[OUTPUT].shape == (4, *OUT_SHAPE)
    assert (found[OUTPUT] == np.stack([echoed(first) for first in (3, 200, 17, 96)])).all()


def test_float_frames_are_quantised_and_dequantised(echoing: Any) -> None:
    """1/255 a step in, (code - 128) / 16 out (examples/make_two_context.py)."""
    real = np.full((1, *SHAPE), 100 / 255, np.float32)
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        with echoing.InferVStreams(network, *params_of(echoing, network, "FLOAT32", "FLOAT32")) as pipeline:
            found = pipeline.infer({INPUT: real})[OUTPUT]
            assert pipeline.get_hw_time() > 0
            assert pipeline.get_total_time() >= pipeline.get_hw_time()
    assert found.dtype == np.float32
    assert (found[0] == (echoed(100).astype(np.float32) - ZERO_POINT) * SCALE).all()


def test_other_types_and_orders_in_memory_are_converted_with_a_warning(
    echoing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        with echoing.InferVStreams(network, *params_of(echoing, network)) as pipeline:
            wide = np.full((1, *SHAPE), 9, np.float64)
            assert (pipeline.infer({INPUT: wide})[OUTPUT][0] == echoed(9)).all()
            strided = np.full((1, 32, 64, 3), 9, np.uint8)[:, :, ::2]
            assert (pipeline.infer(strided)[OUTPUT][0] == echoed(9)).all()
    text = capsys.readouterr().out
    assert "Given input data dtype (float64) is different than inferred dtype (uint8)" in text
    assert "C_CONTIGUOUS" in text


def test_synthetic_outputs_repeat_and_are_said_once(hailo_platform: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from emu.hailo_platform import environment

    environment._said.clear()

    def once() -> Any:
        with hailo_platform.VDevice() as device:
            network = configured(hailo_platform, device)
            with hailo_platform.InferVStreams(network, *params_of(hailo_platform, network)) as pipeline:
                return pipeline.infer({INPUT: np.stack([frame_of(1), frame_of(2)])})[OUTPUT]

    first, second = once(), once()
    assert (first == second).all()
    assert (first[0] != first[1]).any()
    assert capsys.readouterr().err.count("synthetic") == 1


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ({}, ValueError, "can't be empty"),
        ({"nothing": np.zeros((1, *SHAPE), np.uint8)}, KeyError, "nothing"),
        ({INPUT: np.zeros((1, 32, 32, 4), np.uint8)}, "HailoRTInvalidArgumentException", "4096 bytes"),
        ({INPUT: np.zeros((1, 31, 32, 3), np.float32)}, "HailoRTInvalidArgumentException", "2976 bytes"),
    ],
)
def test_data_that_do_not_fit(echoing: Any, data: Any, error: Any, text: str) -> None:
    kind = getattr(exceptions, error) if isinstance(error, str) else error
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        with (
            echoing.InferVStreams(network, *params_of(echoing, network)) as pipeline,
            pytest.raises(kind) as caught,
        ):
            pipeline.infer(data)
    assert text in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_without_the_scheduler_a_network_is_activated_first(echoing: Any) -> None:
    from hailo_platform.pyhailort.pyhailort import (
        HailoRTInvalidArgumentException,
        HailoRTInvalidOperationException,
        HailoRTNetworkGroupNotActivatedException,
    )

    params = echoing.VDevice.create_params()
    params.scheduling_algorithm = echoing.HailoSchedulingAlgorithm.NONE
    frames = np.stack([frame_of(first) for first in (5, 6)])
    with echoing.VDevice(params) as device:
        network, other = configured(echoing, device, batch=2), configured(echoing, device)
        with echoing.InferVStreams(network, *params_of(echoing, network)) as pipeline:
            with pytest.raises(HailoRTNetworkGroupNotActivatedException):
                pipeline.infer({INPUT: frames})
            with network.activate(network.create_params()) as activated:
                network.wait_for_activation(10)
                assert activated.name == "two_context"
                assert (pipeline.infer({INPUT: frames})[OUTPUT][1] == echoed(6)).all()
                with pytest.raises(HailoRTInvalidArgumentException):
                    pipeline.infer({INPUT: frames[:1]})  # no whole batch
                with pytest.raises(HailoRTInvalidOperationException):
                    other.activate()
                activated.validate_all_frames_are_valid()
            with pytest.raises(HailoRTInvalidOperationException):
                network.set_scheduler_priority(17)
            with other.activate():
                pass


def test_with_the_scheduler_activate_only_warns(echoing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        with network.activate() as activated:
            assert activated is None
    assert "deprecated" in capsys.readouterr().out


def test_parameters_have_the_defaults_of_the_reference(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        network = configured(hailo_platform, device)
        made = hailo_platform.InputVStreamParams.make(network)[INPUT]
        assert (made.timeout_ms, made.queue_size) == (10000, 2)
        assert made.user_buffer_format.type is hailo_platform.FormatType.AUTO
        assert made.user_buffer_format.order is hailo_platform.FormatOrder.AUTO
        groups = hailo_platform.OutputVStreamParams.make_groups(network, timeout_ms=5)
        assert [list(one) for one in groups] == [[OUTPUT]]
        assert groups[0][OUTPUT].timeout_ms == 5
    params = hailo_platform.VDevice.create_params()
    assert params.group_id == "UNIQUE"
    assert params.device_count == 1
    assert params.device_ids == []
    assert params.multi_process_service is False
    params.device_ids = ["a", "b"]
    assert params.device_count == 2


def by_hand(frame: Any, classes: int) -> list[Any]:
    """A BY_CLASS frame taken apart with struct alone."""
    data, at, found = frame.tobytes(), 0, []
    for _ in range(classes):
        (count,) = struct.unpack_from("<f", data, at)
        at += 4
        boxes = [struct.unpack_from("<5f", data, at + 20 * index) for index in range(int(count))]
        at += 20 * int(count)
        found.append(np.array(boxes, np.float32).reshape(-1, 5))
    return found


def sparse(position: int, frame: int, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    """yolov8n_320_nms: a few sure detections in each frame, boxes of any size."""
    rng = np.random.default_rng(frame)
    found = {}
    for name, size in YOLO_STREAMS.items():
        codes = rng.integers(0, 256, size, np.uint8)
        if name.split("conv")[1][:2] in ("42", "53", "63"):  # scores of classes
            codes[:] = 0
            codes[rng.integers(0, size, 12)] = 255
        found[name] = codes.tobytes()
    return found


YOLO_STREAMS = {
    f"yolov8n/conv{number}_97": size
    for number, size in ((42, 176000), (41, 102400), (53, 52800), (52, 30720), (63, 17600), (62, 10240))
}


def test_nms_by_class_in_both_shapes(hailo_platform: Any, shared: Path) -> None:
    """Against the raw frames of the open device, taken apart by hand."""
    import emu

    path = shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    frames = np.zeros((2, 320, 320, 3), np.uint8)
    with emu.open_device("hailo8") as device:
        application = device.configure(str(path), reference=sparse)
        ((name, raw),) = application.infer({"yolov8n/input_layer1": frames}).items()
    expected = [by_hand(frame, 110) for frame in raw]
    assert all(0 < sum(len(one) for one in classes) <= 36 for classes in expected)
    hailo_platform.install(reference=sparse)
    results = []
    for tf_nms_format in (False, True):
        with hailo_platform.VDevice() as device:
            network = configured(hailo_platform, device, path)
            params = params_of(hailo_platform, network)
            with hailo_platform.InferVStreams(network, *params, tf_nms_format=tf_nms_format) as pipeline:
                results.append(pipeline.infer(frames)[name])
    found, array = results
    assert len(found) == 2
    for frame, classes in zip(found, expected, strict=True):
        assert [one.shape for one in frame] == [one.shape for one in classes]
        assert all((one == other).all() for one, other in zip(frame, classes, strict=True))
    assert array.shape == (2, 110, 5, 100)
    for at, classes in enumerate(expected):
        for index, boxes in enumerate(classes):
            assert (boxes == array[at, index, :, : len(boxes)].T).all()
            assert (array[at, index, :, len(boxes) :] == 0).all()


def test_nms_on_the_chip(hailo_platform: Any, shared: Path) -> None:
    """Synthetic bytes are brought into the stream's form first: so many boxes as the HEF allows, no more."""
    with hailo_platform.VDevice() as device:
        network = configured(hailo_platform, device, shared / "synth" / "hef" / "onms_h8_burst.hef")
        (info,), (output,) = network.get_input_vstream_infos(), network.get_output_vstream_infos()
        classes, _, boxes = output.shape
        with hailo_platform.InferVStreams(network, *params_of(hailo_platform, network)) as pipeline:
            (found,) = pipeline.infer(np.zeros((1, *info.shape), np.uint8))[output.name]
    assert len(found) == classes
    assert all(one.shape[0] <= boxes and one.shape[1] == 5 for one in found)


def test_real_files_through_both_ends(hailo_platform: Any, shared: Path) -> None:
    with hailo_platform.VDevice() as device:
        for name in ("mnist_cnn.v0.hailo8", "yolov8n_320_nms.v2.hailo8"):
            network = configured(hailo_platform, device, shared / "hef" / f"{name}.hef")
            (info,) = network.get_input_vstream_infos()
            inputs, outputs = params_of(hailo_platform, network, "UINT8", "FLOAT32")
            with hailo_platform.InferVStreams(network, inputs, outputs) as pipeline:
                (found,) = pipeline.infer({info.name: np.zeros((1, *info.shape), np.uint8)}).values()
            if name.startswith("mnist"):
                assert found.shape == (1, 4, 4, 16)
                assert found.dtype == np.float32
            else:
                assert [len(found), len(found[0])] == [1, 110]
                assert found[0][0].shape[1] == 5


def test_features_with_scales_of_their_own(hailo_platform: Any, shared: Path) -> None:
    """qp_a: every feature is dequantised with its own zero point and scale."""
    from emu.hef import open_hef
    from emu.hef.infos import hef_infos

    path = shared / "synth" / "hef" / "qp_a.hef"
    group = hef_infos(open_hef(path)).network_groups[0]
    stream = next(one for one in group.output_streams if len(one.quant_infos) > 1)
    hailo_platform.install(
        reference=lambda position, frame, inputs: {
            one.name: (np.arange(one.hw_frame_size) % 251).astype(np.uint8).tobytes() for one in group.output_streams
        }
    )
    with hailo_platform.VDevice() as device:
        network = configured(hailo_platform, device, path)
        frames = {one.name: np.zeros((1, *one.shape), np.uint8) for one in network.get_input_vstream_infos()}
        results = []
        for kind in ("AUTO", "FLOAT32"):
            with hailo_platform.InferVStreams(network, *params_of(hailo_platform, network, "AUTO", kind)) as pipeline:
                results.append(pipeline.infer(dict(frames))[stream.name][0])
    codes, real = results
    zps = np.array([one.zp for one in stream.quant_infos], np.float32)
    scales = np.array([one.scale for one in stream.quant_infos], np.float32)
    assert len(set(scales.tolist())) > 1
    assert (real == (codes.astype(np.float32) - zps) * scales).all()
