"""The InferModel API end to end: formats, buffers, jobs, callbacks, ends of life."""

from __future__ import annotations

import gc
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.hailo_platform.exceptions import (
    HailoRTInvalidArgumentException,
    HailoRTInvalidOperationException,
    HailoRTNetworkGroupNotActivatedException,
    HailoRTNotFoundException,
    HailoRTStreamAborted,
    HailoRTTimeout,
)
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
from tests.hailo_platform.test_infer_vstreams import by_hand, sparse


def bound(configured: Any, first: int, dtype: Any = np.uint8) -> Any:
    bindings = configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, dtype)})
    bindings.input().set_buffer(frame_of(first))
    return bindings


def test_what_a_model_says_of_itself(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        model = device.create_infer_model(TWO_CONTEXT)
        assert (model.input_names, model.output_names) == ([INPUT], [OUTPUT])
        assert model.input().shape == [*SHAPE]
        assert model.output(OUTPUT).shape == [*OUT_SHAPE]
        assert [one.name for one in model.inputs + model.outputs] == [INPUT, OUTPUT]
        assert str(model.input().format.type) == "FormatType.UINT8"
        assert not model.output().is_nms
        (quant,) = model.output().quant_infos
        assert (quant.qp_zp, quant.qp_scale) == (ZERO_POINT, SCALE)
        model.output().set_format_type(hailo_platform.FormatType.FLOAT32)
        assert model.output().format.type is hailo_platform.FormatType.FLOAT32
        assert model.hef.get_network_group_names() == ["two_context"]
        with pytest.raises(HailoRTNotFoundException):
            model.input("nothing")
        with pytest.raises(HailoRTNotFoundException):
            device.create_infer_model(TWO_CONTEXT, "another group")


@pytest.mark.parametrize("source", [TWO_CONTEXT, Path(TWO_CONTEXT).read_bytes()])
def test_run(echoing: Any, source: Any) -> None:
    with echoing.VDevice() as device:
        model = device.create_infer_model(source)
        model.output().set_format_type(echoing.FormatType.FLOAT32)
        with model.configure() as configured:
            bindings = bound(configured, 40, np.float32)
            configured.run([bindings], 1000)
            assert (bindings.output().get_buffer() == (echoed(40).astype(np.float32) - ZERO_POINT) * SCALE).all()
            assert bindings._output_names == [OUTPUT]
            assert bindings._input_names == [INPUT]


def test_a_callback_for_each_job(echoing: Any) -> None:
    """Several bindings call back once, behind the last frame; the input may be used again at once."""
    told: list[Any] = []

    def done(bindings: Any, completion_info: Any) -> None:
        told.append((completion_info.exception, [one.output().get_buffer()[0, 0, 0] for one in bindings]))

    with echoing.VDevice() as device:
        model = device.create_infer_model(TWO_CONTEXT)
        model.set_batch_size(2)
        with model.configure() as configured:
            jobs = []
            for first in range(0, 8, 2):
                configured.wait_for_async_ready(timeout_ms=1000, frames_count=2)
                pair = [bound(configured, first), bound(configured, first + 1)]
                jobs.append(configured.run_async(pair, partial(done, pair)))
                pair[0].input()._buffer[:] = 255
            for job in jobs:
                job.wait(1000)
    assert told == [(None, [first, first + 1]) for first in range(0, 8, 2)]


def test_callbacks_may_submit(echoing: Any) -> None:
    """As applications do that keep a device busy from its own callbacks."""
    ended = threading.Event()
    values: list[int] = []
    with echoing.VDevice() as device:
        model = device.create_infer_model(TWO_CONTEXT)
        with model.configure() as configured:

            def submit(first: int) -> None:
                bindings = bound(configured, first)

                def done(completion_info: Any) -> None:
                    values.append(int(bindings.output().get_buffer()[0, 0, 0]))
                    if first < 5:
                        submit(first + 1)
                    else:
                        ended.set()

                configured.run_async([bindings], done)

            submit(0)
            assert ended.wait(20)
    assert values == list(range(6))


def test_buffers_that_do_not_fit(echoing: Any) -> None:
    with echoing.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        bindings = configured.create_bindings()
        with pytest.raises(echoing.HailoRTException, match="C_CONTIGUOUS"):
            bindings.input().set_buffer(np.zeros((32, 3, 32), np.uint8).transpose(0, 2, 1))
        bindings.output().set_buffer(np.zeros(OUT_SHAPE, np.uint8))
        with pytest.raises(HailoRTInvalidOperationException) as caught:
            configured.run_async([bindings])
        assert "no buffer was set for two_context/input_layer1" in caught.value.__notes__[0]
        bindings.input().set_buffer(np.zeros(SHAPE, np.float64))
        with pytest.raises(HailoRTInvalidOperationException) as caught:
            configured.run([bindings], 1000)
        assert "24576" in caught.value.__notes__[0]
        assert "3072" in caught.value.__notes__[0]
        with pytest.raises(HailoRTNotFoundException):
            bindings.input("nothing")
        bindings.input().set_buffer(frame_of(1))
        configured.run([bindings], 1000)


def test_a_timeout_is_one_of_simulated_time(echoing: Any) -> None:
    """The first frame takes about 3 ms of the device's time (1.4 ms of it the activation), however long it takes us."""
    for timeout, late in ((0.5, True), (1000, False)):
        with echoing.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
            if late:
                with pytest.raises(HailoRTTimeout):
                    configured.run([bound(configured, 1)], timeout)
            else:
                configured.run([bound(configured, 1)], timeout)


def test_the_queue_has_an_end(echoing: Any) -> None:
    with echoing.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        size = configured.get_async_queue_size()
        with pytest.raises(echoing.HailoRTException, match=r"82 \(HAILO_QUEUE_IS_FULL\)"):
            configured.run_async([bound(configured, 1)] * (size + 1))
        with pytest.raises(HailoRTTimeout):
            configured.wait_for_async_ready(timeout_ms=1, frames_count=size + 1)
        configured.run([bound(configured, at) for at in range(size)], 10_000)


def test_after_the_end(echoing: Any) -> None:
    with echoing.VDevice() as device:
        configured = device.create_infer_model(TWO_CONTEXT).configure()
        bindings = bound(configured, 1)
        configured.shutdown()
        with pytest.raises(HailoRTStreamAborted):
            configured.run_async([bindings])
        again = device.create_infer_model(TWO_CONTEXT).configure()
        again.__enter__()
        bindings = bound(again, 2)
        job = again.run_async([bindings])
        again.__exit__(None, None, None)
        job.wait(1000)
        assert bindings.output().get_buffer()[0, 0, 0] == 2
        with pytest.raises(HailoRTInvalidOperationException):
            again.run([bindings], 1000)


@pytest.mark.parametrize("first", ["model", "device", "neither"])
def test_any_order_of_release(echoing: Any, first: str) -> None:
    device = echoing.VDevice()
    model = device.create_infer_model(TWO_CONTEXT)
    configured = model.configure()
    told: list[Any] = []
    job = configured.run_async([bound(configured, 1)], lambda completion_info: told.append(completion_info.exception))
    if first == "model":
        job.wait(1000)
        del configured, model
        device.release()
    elif first == "device":
        device.release()
        with pytest.raises(echoing.HailoRTException):
            configured.run([bound(configured, 1)], 1000)
        del configured
    del device
    gc.collect()
    with echoing.VDevice() as another:  # it is free again
        assert another.get_physical_devices_ids() == echoing.Device.scan()


def test_queued_frames_end_with_the_device(echoing: Any) -> None:
    """Frames that a release finds in the queue are aborted: their callbacks are called all the same."""
    told: list[Any] = []
    ended = threading.Event()

    def done(completion_info: Any) -> None:
        told.append(completion_info.exception)
        if len(told) == 30:
            ended.set()

    with echoing.VDevice() as device:
        configured = device.create_infer_model(TWO_CONTEXT).configure()
        for at in range(30):
            configured.run_async([bound(configured, at)], done)
        configured.shutdown()
        assert ended.wait(20)
    assert all(one is None or isinstance(one, HailoRTStreamAborted) for one in told)


def test_without_the_scheduler_a_model_is_activated_first(echoing: Any) -> None:
    params = echoing.VDevice.create_params()
    params.scheduling_algorithm = echoing.HailoSchedulingAlgorithm.NONE
    with echoing.VDevice(params) as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        with pytest.raises(HailoRTNetworkGroupNotActivatedException):
            configured.run([bound(configured, 1)], 1000)
        configured.activate()
        configured.run([bound(configured, 1)], 1000)
        configured.deactivate()
        with pytest.raises(HailoRTInvalidOperationException):
            configured.set_scheduler_priority(20)
    with echoing.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        with pytest.raises(HailoRTInvalidOperationException):
            configured.activate()
        configured.set_scheduler_priority(20)
        configured.set_scheduler_timeout(100)
        configured.set_scheduler_threshold(1)
        with pytest.raises(HailoRTInvalidArgumentException):
            configured.set_scheduler_priority(32)


def test_formats_and_limits_that_are_not_possible_fail_at_configure(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        model = device.create_infer_model(TWO_CONTEXT)
        model.output().set_nms_score_threshold(0.5)
        with pytest.raises(hailo_platform.HailoRTException):
            model.configure()
        model = device.create_infer_model(TWO_CONTEXT)
        model.input().set_nms_score_threshold(0.5)
        with pytest.raises(HailoRTInvalidOperationException):
            model.configure()
        model = device.create_infer_model(TWO_CONTEXT)
        model.input().set_format_type(hailo_platform.FormatType.UINT16)
        with pytest.raises(HailoRTInvalidArgumentException):
            model.configure()


def test_a_reference_that_fails_is_heard_of(hailo_platform: Any) -> None:
    def broken(position: int, frame: int, inputs: Mapping[str, bytes]) -> Mapping[str, bytes]:
        raise ZeroDivisionError("in the reference")

    hailo_platform.install(reference=broken)
    with hailo_platform.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        with pytest.raises(hailo_platform.HailoRTException) as caught:
            configured.run([bound(configured, 1)], 1000)
        assert "ZeroDivisionError: in the reference" in caught.value.__notes__[0]
        with pytest.raises(hailo_platform.HailoRTException):
            configured.run([bound(configured, 1)], 1000)
    hailo_platform.install()
    with hailo_platform.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        configured.run([bound(configured, 1)], 1000)


def test_detections_by_class_and_by_score(hailo_platform: Any, shared: Path) -> None:
    """The same detections in both orders, and limits that are set before `configure`."""
    hailo_platform.install(reference=sparse)
    path = str(shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef")
    found: dict[str, Any] = {}
    for order in ("HAILO_NMS_BY_CLASS", "HAILO_NMS_BY_SCORE"):
        with hailo_platform.VDevice() as device:
            model = device.create_infer_model(path)
            output = model.output()
            output.set_format_order(getattr(hailo_platform.FormatOrder, order))
            if order == "HAILO_NMS_BY_CLASS":
                output.set_nms_max_proposals_per_class(3)
                assert output.shape == [110 * (1 + 5 * 3)]
                buffer = np.zeros(output.shape, np.float32)
            else:
                buffer = np.zeros(output.shape, np.uint8)
            with model.configure() as configured:
                bindings = configured.create_bindings(output_buffers={output.name: buffer})
                bindings.input().set_buffer(np.zeros((320, 320, 3), np.uint8))
                configured.run([bindings], 10_000)
                found[order] = bindings.output().get_buffer()
                assert bindings.output().get_buffer(None) is buffer
                if order == "HAILO_NMS_BY_CLASS":
                    expected = by_hand(buffer, 110)
                    assert bindings.output().get_buffer(tf_format=True).shape == (110, 5, 3)
                else:
                    with pytest.raises(hailo_platform.HailoRTException, match="tf format is unsupported"):
                        bindings.output().get_buffer(tf_format=True)
    classes, scores = found["HAILO_NMS_BY_CLASS"], found["HAILO_NMS_BY_SCORE"]
    assert all((one == other).all() for one, other in zip(classes, expected, strict=True))
    assert [one.score for one in scores] == sorted((one.score for one in scores), reverse=True)
    best = {one.class_id: one for one in reversed(scores)}
    for number, one in best.items():
        assert np.float32(one.score) in classes[number][:, 4]
