"""Vstreams that are written and read frame by frame, and the infos of networks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.hailo_platform.exceptions import (
    HailoRTInvalidArgumentException,
    HailoRTNetworkGroupNotActivatedException,
    HailoRTNotFoundException,
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
from tests.hailo_platform.test_infer_vstreams import configured, params_of


def test_send_and_recv_in_one_thread(echoing: Any) -> None:
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        inputs, outputs = params_of(echoing, network, "AUTO", "FLOAT32")
        with echoing.InputVStreams(network, inputs) as sources, echoing.OutputVStreams(network, outputs) as sinks:
            source, sink = sources.get(), sinks.get(OUTPUT)
            assert (source.name, source.shape, source.dtype) == (INPUT, SHAPE, np.uint8)
            assert (sink.name, tuple(sink.shape), sink.dtype) == (OUTPUT, OUT_SHAPE, np.float32)
            assert [one.name for one in sources] == [INPUT]
            assert source.network_name == "two_context/two_context"
            source.send(np.stack([frame_of(7), frame_of(8)]))
            source.flush()
            for first in (7, 8):
                found = sink.recv()
                assert found.shape == OUT_SHAPE
                assert (found == (echoed(first).astype(np.float32) - ZERO_POINT) * SCALE).all()


def test_a_writer_and_a_reader(echoing: Any) -> None:
    """The writer is held up by the queues, the reader by the writer; frames keep their order."""
    count = 60
    found: list[int] = []
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        inputs, outputs = params_of(echoing, network)
        with echoing.InputVStreams(network, inputs) as sources, echoing.OutputVStreams(network, outputs) as sinks:

            def write() -> None:
                for at in range(count):
                    sources.get().send(frame_of(at)[None])

            def read() -> None:
                found.extend(int(sinks.get().recv()[0, 0, 0]) for _ in range(count))

            threads = [threading.Thread(target=one) for one in (write, read)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
    assert found == list(range(count))


def test_nobody_reads_and_nobody_writes(echoing: Any) -> None:
    with echoing.VDevice() as device:
        network = configured(echoing, device)
        inputs = echoing.InputVStreamParams.make(network, timeout_ms=50, queue_size=1)
        outputs = echoing.OutputVStreamParams.make(network, timeout_ms=50, queue_size=1)
        with echoing.InputVStreams(network, inputs) as sources, echoing.OutputVStreams(network, outputs) as sinks:
            with pytest.raises(HailoRTTimeout):
                sinks.get().recv()
            with pytest.raises(HailoRTTimeout):
                sources.get().send(np.stack([frame_of(at) for at in range(40)]))
            assert sinks.get().recv()[0, 0, 0] == 0
            with pytest.raises(HailoRTInvalidArgumentException):
                sources.get().send(np.zeros((1, 32, 32, 1), np.uint8))


def test_streams_need_an_activated_network_without_the_scheduler(echoing: Any) -> None:
    params = echoing.VDevice.create_params()
    params.scheduling_algorithm = echoing.HailoSchedulingAlgorithm.NONE
    with echoing.VDevice(params) as device:
        network = configured(echoing, device)
        inputs, outputs = params_of(echoing, network)
        with echoing.InputVStreams(network, inputs) as sources, echoing.OutputVStreams(network, outputs) as sinks:
            with pytest.raises(HailoRTNetworkGroupNotActivatedException):
                sources.get().send(frame_of(1)[None])
            with pytest.raises(HailoRTTimeout):
                network.wait_for_activation(10)
            with network.activate():
                sources.get().send(frame_of(1)[None])
                assert sinks.get().recv()[0, 0, 0] == 1


def test_networks_of_a_group(hailo_platform: Any, shared: Path) -> None:
    """net2_a has two networks: their vstreams by name, and both are fed."""
    with hailo_platform.VDevice() as device:
        network = configured(hailo_platform, device, shared / "synth" / "hef" / "net2_a.hef")
        names = network.get_networks_names()
        assert len(names) == 2
        apart = [one.name for name in names for one in network.get_input_vstream_infos(name)]
        assert sorted(apart) == sorted(one.name for one in network.get_input_vstream_infos())
        frames = {one.name: np.zeros((2, *one.shape), np.uint8) for one in network.get_input_vstream_infos()}
        with hailo_platform.InferVStreams(network, *params_of(hailo_platform, network)) as pipeline:
            found = pipeline.infer(frames)
            assert list(found) == sorted(one.name for one in network.get_output_vstream_infos())
            with pytest.raises(Exception, match="number of inputs: 2"):
                pipeline.infer(np.zeros((1, 8, 8, 8), np.uint8))


def test_infos(hailo_platform: Any) -> None:
    import pickle

    from hailo_platform.pyhailort._pyhailort import HailoRTStatusException

    hef = hailo_platform.HEF(TWO_CONTEXT)
    assert hef.path == TWO_CONTEXT
    assert hef.get_network_group_names() == ["two_context"]
    assert [(one.name, one.is_multi_context) for one in hef.get_network_groups_infos()] == [("two_context", True)]
    assert hef.get_networks_names() == ["two_context/two_context"]
    assert hef.get_sorted_output_names() == [OUTPUT]
    assert hef.bottleneck_fps() == 4000  # examples/make_two_context.py
    assert hef._get_external_resource_names() == []
    (info,) = hef.get_input_vstream_infos()
    assert repr(info) == f'VStreamInfo("{INPUT}")'
    assert pickle.loads(pickle.dumps(info)) == info
    assert (info.quant_info.qp_scale, info.shape) == (np.float32(1 / 255), SHAPE)
    with pytest.raises(hailo_platform.HailoRTException, match="nms_shape"):
        _ = info.nms_shape
    (stream,) = hef.get_output_stream_infos("two_context")
    assert (stream.name, stream.shape, stream.data_bytes) == (OUTPUT, OUT_SHAPE, 1)
    assert str(stream.format.order) == "FormatOrder.NHCW"
    assert [one.name for one in hef.get_all_vstream_infos()] == [INPUT, OUTPUT]
    assert hef.get_stream_names_from_vstream_name(INPUT) == [INPUT]
    assert hef.get_vstream_names_from_stream_name(OUTPUT) == [OUTPUT]
    for name in hef.get_original_names_from_vstream_name(OUTPUT):
        assert hef.get_vstream_name_from_original_name(name) == OUTPUT
    with pytest.raises(HailoRTStatusException, match="61"):
        hef.get_input_vstream_infos("nothing")
    with pytest.raises(HailoRTNotFoundException):
        hef.get_networks_names("nothing")
    with pytest.raises(HailoRTNotFoundException):
        hef.get_stream_names_from_vstream_name("nothing")


@pytest.mark.parametrize(
    ("source", "status"), [("/nonexistent", 13), (b"abc", 91), (b"", 91), (b"\x01HEF" + bytes(8), 91)]
)
def test_files_that_are_none(hailo_platform: Any, source: Any, status: int) -> None:
    with pytest.raises(hailo_platform.HailoRTException, match=rf"error: {status} \("):
        hailo_platform.HEF(source)


@pytest.mark.parametrize("source", [None, Path("x.hef"), 7])
def test_sources_that_are_none(hailo_platform: Any, source: Any) -> None:
    with pytest.raises(ValueError, match=r"HEF can only be created from a file path \(str\) or a buffer \(bytes\)"):
        hailo_platform.HEF(source)


def test_what_a_network_says(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        network = configured(hailo_platform, device)
        assert device.loaded_network_groups == [network]
        assert device._loaded_network_group is network
        assert network.get_output_shapes() == (OUT_SHAPE,)
        assert [one.name for one in network.get_all_stream_infos()] == [INPUT, OUTPUT]
        network.set_scheduler_timeout(10)
        network.set_scheduler_threshold(1)
        network.set_scheduler_priority(31)
        with pytest.raises(HailoRTInvalidArgumentException):
            network.set_scheduler_priority(32)
        with pytest.raises(HailoRTInvalidArgumentException):
            device.configure(hailo_platform.HEF(TWO_CONTEXT), {"nothing": None})
        from hailo_platform.pyhailort.pyhailort import HailoRTNotImplemented

        with pytest.raises(HailoRTNotImplemented, match="caches"):
            network.get_cache_ids()
