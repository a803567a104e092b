"""The open device: what comes out depends on what went in, not on how it was submitted or what ran between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.errors import FirmwareError, HailoError, UsageError
from emu.hef import open_hef
from emu.host.application import Application
from emu.host.device import OpenDevice, open_device
from emu.sequencer.compile import CompileOptions, compile_hef
from tests.conftest import ROOT
from tests.hw.lists import Lists, act, double, single, with_ddr

TWO_CONTEXT = ROOT / "examples" / "two_context.hef"
Wire = dict[str, list[bytes]]


def frames_of(application: Application, count: int, seed: int = 0) -> Wire:
    rng = np.random.default_rng(seed)
    return {name: [rng.bytes(size) for _ in range(count)] for name, size in application.input_streams.items()}


def submitted(application: Application, frames: Wire, parts: list[int]) -> Wire:
    """The outputs of frames that are submitted and waited for in parts."""
    outputs: Wire = {name: [] for name in application.output_streams}
    at = 0
    for count in parts:
        done = application.submit_raw({name: data[at : at + count] for name, data in frames.items()}).wait()
        for name, data in done.items():
            outputs[name] += data
        at += count
    return outputs


def opened(lists: Lists) -> tuple[OpenDevice, Application]:
    device = open_device(lists.device, lists.runtime)
    return device, device.configure(lists.program())


@pytest.mark.parametrize("parts", [[1] * 8, [3, 5], [2, 1, 4, 1]])
@pytest.mark.parametrize("batch", [1, 3, 4])
def test_frames_give_the_same_bytes_however_they_are_submitted(batch: int, parts: list[int]) -> None:
    found = []
    for split in ([8], parts):
        with open_device() as device:
            application = device.configure(TWO_CONTEXT, batch=batch)
            found.append(submitted(application, frames_of(application, 8), split))
    assert found[0] == found[1]
    ((_, outputs),) = found[0].items()
    assert len(set(outputs)) == 8


@pytest.mark.parametrize("asap", [0, 1])
@pytest.mark.parametrize("make", [single, double, with_ddr])
def test_outputs_do_not_depend_on_batches_and_activations(make: Callable[..., Lists], asap: int) -> None:
    """Frame by frame, in one call, with a RESET between any two: the same frames."""

    def run(parts: list[int], leave: bool) -> Wire:
        lists = make(batch=3, asap=asap)
        if asap:
            lists.preliminary[-1:-1] = lists.dynamic[0][:6] if make is double else lists.dynamic[0][:-1]
        device, application = opened(lists)
        frames, outputs, at = frames_of(application, 7), {name: [] for name in application.output_streams}, 0
        for count in parts:
            part = {name: data[at : at + count] for name, data in frames.items()}
            for name, data in submitted(application, part, [count]).items():
                outputs[name] += data
            at += count
            if leave:
                device.deactivate()
        device.close()
        return outputs

    whole = run([7], leave=False)
    assert whole == run([1] * 7, leave=False) == run([1] * 7, leave=True) == run([4, 3], leave=True)


def test_outputs_do_not_depend_on_what_else_is_configured() -> None:
    """Another program's addresses, its registers and its turns leave no trace in the bytes."""
    with open_device() as device:
        alone = device.configure(TWO_CONTEXT)
        wanted = submitted(alone, frames_of(alone, 4), [4])
    with open_device() as device:
        other = device.configure(double().program())
        submitted(other, frames_of(other, 3), [3])
        second = device.configure(TWO_CONTEXT)
        frames = frames_of(second, 4)
        found: Wire = {name: [] for name in second.output_streams}
        for at in range(4):
            done = submitted(second, {name: data[at : at + 1] for name, data in frames.items()}, [1])
            for name, data in done.items():
                found[name] += data
            submitted(other, frames_of(other, 1), [1])
    assert found == wanted


def test_a_second_hef_gets_its_own_configuration_where_the_first_one_lay() -> None:
    """Memory is given back by release: what was decoded from it is not what the next one finds there."""
    one, other = (b"\1\0\0\0\0\0\0\x11" + bytes([fill]) * 8 for fill in (0, 1))
    with open_device("hailo8") as device:
        first = device.configure(double().program(one * 96))
        before = submitted(first, frames_of(first, 2), [2])
        keeps_it_open = device.configure(single().program())
        mapped = len(device.chip.host_memory.lists)
        first.release()
        assert len(device.chip.host_memory.lists) < mapped
        second = device.configure(double().program(other * 96))
        after = submitted(second, frames_of(second, 2), [2])
        assert not keeps_it_open.released
    assert before != after
    assert not device.chip.host_memory.lists


def test_one_frame_is_one_frame_and_many_are_a_list() -> None:
    with open_device() as device:
        application = device.configure(TWO_CONTEXT)
        frames = frames_of(application, 2)
        many = application.submit_raw(frames).wait()
    with open_device() as device:
        application = device.configure(TWO_CONTEXT)
        one = application.submit_raw({name: data[0] for name, data in frames.items()})
        assert one.frames == 1 and one.first_frame == 0 and not one.done
        assert {name: [data] for name, data in one.wait().items()} == {name: data[:1] for name, data in many.items()}


def test_arrays_in_arrays_out() -> None:
    with open_device() as device:
        application = device.configure(TWO_CONTEXT)
        (name,) = (info.name for info in application.user_frames.group.input_vstreams)
        shape = application.user_frames.group.input_vstreams[0].shape
        image = np.random.default_rng(1).integers(0, 256, (5, *shape), np.uint8)
        outputs = application.infer({name: image})
        assert [len(array) for array in outputs.values()] == [5]
        with pytest.raises(UsageError, match=r"int16 .* expected"):
            application.infer({name: image.astype(np.int16)})
        with pytest.raises(UsageError, match="no input 'nobody'"):
            application.infer({"nobody": image})
        with pytest.raises(UsageError, match="nothing for input"):
            application.infer({})


def test_jobs_end_in_order_and_call_back_inside_the_wait() -> None:
    ended: list[int] = []
    with open_device() as device:
        application = device.configure(TWO_CONTEXT, batch=2)
        frames = frames_of(application, 1)
        jobs = [application.submit_raw(frames) for _ in range(5)]
        for job in jobs:
            job.add_done_callback(lambda done: ended.append(done.first_frame))
        assert not ended and device.now_ns == jobs[0].first_frame + device.now_ns
        jobs[3].wait()
        assert ended == [0, 1, 2, 3]
        jobs[4].wait()
        jobs[0].add_done_callback(lambda done: ended.append(-1))
    assert ended == [0, 1, 2, 3, 4, -1]


def test_a_callback_may_submit_more() -> None:
    left = [4]
    with open_device() as device:
        application = device.configure(TWO_CONTEXT)
        frames = frames_of(application, 1)
        seen = []

        def again(done: Any) -> None:
            seen.append(done.first_frame)
            if left[0]:
                left[0] -= 1
                application.submit_raw(frames).add_done_callback(again)

        application.submit_raw(frames).add_done_callback(again)
        device.run_until(lambda: len(seen) == 5)
    assert seen == [0, 1, 2, 3, 4]


def test_release_ends_what_is_queued_with_stream_abort() -> None:
    with open_device() as device:
        application = device.configure(TWO_CONTEXT)
        job = application.submit_raw(frames_of(application, 2))
        application.release()
        with pytest.raises(HailoError, match="was released") as caught:
            job.wait()
        assert caught.value.number == 63
        with pytest.raises(HailoError, match="was released"):
            application.submit_raw({})
        application.release()  # once more is no harm


def test_a_hook_gives_the_outputs() -> None:
    """It gets each frame's number and its inputs as they are on the wire; what it leaves out stays synthetic."""
    seen: list[tuple[int, int, dict[str, bytes]]] = []

    def outputs(group: int, frame: int, inputs: Mapping[str, bytes]) -> Mapping[str, bytes]:
        seen.append((group, frame, dict(inputs)))
        return {name: bytes([frame]) * size for name, size in application.output_streams.items()} if frame else {}

    with open_device() as device:
        application = device.configure(TWO_CONTEXT, reference=outputs)
        frames = frames_of(application, 3)
        found = submitted(application, frames, [2, 1])
    with open_device() as device:
        plain = device.configure(TWO_CONTEXT)
        synthetic = submitted(plain, frames, [3])
    for name, size in plain.output_streams.items():
        assert found[name] == [synthetic[name][0], b"\1" * size, b"\2" * size]
    assert seen == [(0, at, {name: data[at] for name, data in frames.items()}) for at in range(3)]


def test_a_hook_that_gives_another_size_is_refused() -> None:
    with open_device() as device:
        application = device.configure(TWO_CONTEXT, reference=lambda *_: {"nobody": b""})
        with pytest.raises(UsageError, match="no stream 'nobody'"):
            application.submit_raw(frames_of(application, 1)).wait()


def test_an_application_that_stops_leaves_the_device_usable() -> None:
    broken = double()
    broken.dynamic[1].insert(0, act("HALT"))
    with open_device() as device:
        bad, good = device.configure(broken.program()), device.configure(TWO_CONTEXT)
        first, second = bad.submit_raw(frames_of(bad, 1)), bad.submit_raw(frames_of(bad, 1))
        other = good.submit_raw(frames_of(good, 1))
        with pytest.raises(FirmwareError, match="HALT"):
            first.wait()
        assert second.done and second.error is first.error
        assert other.wait()
        with pytest.raises(FirmwareError, match="HALT"):
            bad.submit_raw(frames_of(bad, 1)).wait()
        assert good.submit_raw(frames_of(good, 1)).wait()


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    hef = open_hef(TWO_CONTEXT)
    with open_device("hailo15h") as device, pytest.raises(UsageError, match="the device speaks 5"):
        device.configure(hef)
    with open_device("hailo8l") as device, pytest.raises(UsageError, match="a program for hailo8 on hailo8l"):
        device.configure(compile_hef(hef, CompileOptions()))
    with pytest.raises(UsageError, match="device 'hailo9'"):
        open_device("hailo9")
    with open_device() as device:
        with pytest.raises(UsageError, match="nothing was configured"):
            _ = device.chip
        application = device.configure(hef)
        for wrong in ({}, {"x": b""}, dict.fromkeys(application.input_streams, b"")):
            with pytest.raises(UsageError):
                application.submit_raw(wrong)
    with pytest.raises(HailoError, match="was closed"):
        device.configure(hef)
