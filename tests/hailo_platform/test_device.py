"""One card: who has it, which HEFs it takes, what it says of itself, how time passes on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.hailo_platform.conftest import OUT_SHAPE, OUTPUT, TWO_CONTEXT, frame_of

IN_USE = r"error: 73 \(HAILO_DEVICE_IN_USE\)"


def test_a_second_user_is_refused(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        assert device.get_physical_devices_ids() == ["0000:01:00.0"]
        with pytest.raises(hailo_platform.HailoRTException, match=IN_USE):
            hailo_platform.VDevice()
        program = "import emu; emu.hailo_platform.install().VDevice()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 1
        assert "HAILO_DEVICE_IN_USE" in done.stderr
        elsewhere = os.environ | {"EMU_CARD": f"another-{os.getpid()}"}
        assert subprocess.run([sys.executable, "-c", program], env=elsewhere, cwd=ROOT).returncode == 0
    with hailo_platform.VDevice():
        pass


def test_a_group_shares_the_device(hailo_platform: Any) -> None:
    params = hailo_platform.VDevice.create_params()
    params.group_id = "SHARED"
    params.multi_process_service = True
    with hailo_platform.VDevice(params) as first:
        with hailo_platform.VDevice(params) as second:
            for device in (first, second):
                with device.create_infer_model(TWO_CONTEXT).configure() as configured:
                    bindings = configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
                    bindings.input().set_buffer(frame_of(1))
                    configured.run([bindings], 1000)
            with pytest.raises(hailo_platform.HailoRTException, match=IN_USE):
                hailo_platform.VDevice()
        with pytest.raises(hailo_platform.HailoRTException, match=IN_USE):
            hailo_platform.VDevice()


def test_ids(hailo_platform: Any) -> None:
    (there,) = hailo_platform.Device.scan()
    with hailo_platform.VDevice(device_ids=[there]) as device:
        assert [one.device_id for one in device.get_physical_devices()] == [there]
    for ids in (["0000:99:00.0"], ["127.0.0.1"]):
        with pytest.raises(hailo_platform.HailoRTException, match="Invalid argument"):
            hailo_platform.VDevice(device_ids=ids)
    params = hailo_platform.VDevice.create_params()
    params.device_count = 2
    with pytest.raises(hailo_platform.HailoRTException, match="error: 74"):
        hailo_platform.VDevice(params)


def test_after_the_release(hailo_platform: Any) -> None:
    device = hailo_platform.VDevice()
    network = device.configure(hailo_platform.HEF(TWO_CONTEXT))[0]
    device.release()
    device.release()
    with pytest.raises(hailo_platform.HailoRTException):
        device.configure(hailo_platform.HEF(TWO_CONTEXT))
    with pytest.raises(hailo_platform.HailoRTException):
        network.set_scheduler_priority(1)
    assert network.name == "two_context"


def test_a_hef_of_another_device(
    hailo_platform: Any, shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which device it is for stands on stderr; there it runs, through both families of calls."""
    from hailo_platform.pyhailort.pyhailort import HailoRTHEFNotCompatibleWithDevice

    from emu.hailo_platform import environment

    environment._said.clear()
    path = str(shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef")
    with hailo_platform.VDevice() as device, pytest.raises(HailoRTHEFNotCompatibleWithDevice):
        device.configure(hailo_platform.HEF(path))
    assert "EMU_DEVICE=hailo15h" in capsys.readouterr().err
    monkeypatch.setenv("EMU_DEVICE", "hailo10h")
    assert hailo_platform.__version__ == "5.2.0"
    with hailo_platform.VDevice() as device:
        hef = hailo_platform.HEF(path)
        network = device.configure(hef)[0]
        (info,) = hef.get_input_vstream_infos()
        inputs = hailo_platform.InputVStreamParams.make(network)
        outputs = hailo_platform.OutputVStreamParams.make(network, format_type=hailo_platform.FormatType.FLOAT32)
        with hailo_platform.InferVStreams(network, inputs, outputs) as pipeline:
            found = pipeline.infer(np.zeros((1, *info.shape), np.uint8))
    assert list(found) == sorted(found)
    assert found["face_landmarks_lite/conv22"].shape == (1, 1, 1, 1404)
    with hailo_platform.VDevice() as device, pytest.raises(HailoRTHEFNotCompatibleWithDevice):
        device.configure(hailo_platform.HEF(TWO_CONTEXT))


@pytest.mark.parametrize(
    ("variable", "value"), [("EMU_DEVICE", "hailo9"), ("EMU_RUNTIME", "9.9"), ("EMU_PACE", "slow")]
)
def test_an_environment_that_makes_no_sense(
    hailo_platform: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(hailo_platform.HailoRTException) as caught:
        hailo_platform.VDevice()
    assert f"{variable}={value}" in caught.value.__notes__[0]


def test_identity(hailo_platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The eight lines of a board without serial number (docs/reference/silicon-facts.md a)."""
    monkeypatch.setenv("EMU_DEVICE", "hailo8l")
    with hailo_platform.Device() as device:
        board = device.control.identify()
        assert str(board) == (
            "Control Protocol Version: 2\n"
            "Firmware Version: 4.23.0 (release,app,extended context switch buffer)\n"
            "Logger Version: 0\n"
            "Board Name: Hailo-8\n"
            "Device Architecture: HAILO8L\n"
            "Serial Number: <N/A>\n"
            "Part Number: <N/A>\n"
            "Product Name: <N/A>\n"
        )
        assert str(device.control.core_identify()).startswith("Core Firmware Version: 4.23.0 (release,core")
        extended = device.control.get_extended_device_information()
        assert extended.neural_network_core_clock_rate == 400_000_000
        assert (extended.supported_features.pcie, extended.supported_features.ethernet) == (True, False)
        assert (extended.boot_source.name, extended.lcs) == ("PCIE", 3)
        assert repr(device) == "Device('0000:01:00.0')"
    with pytest.raises(hailo_platform.HailoRTException):
        _ = device.control


def test_constants_are_said_once(hailo_platform: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from hailo_platform.pyhailort.pyhailort import HailoRTNotImplemented

    from emu.hailo_platform import environment

    environment._said.clear()
    control = hailo_platform.Device().control
    for _ in range(2):
        assert control.get_chip_temperature().ts0_temperature == pytest.approx(35.7)  # silicon-facts.md a
        assert control.power_measurement() > 0
    control.set_power_measurement(hailo_platform.MeasurementBufferIndex.MEASUREMENT_BUFFER_INDEX_0)
    with pytest.raises(hailo_platform.HailoRTException):
        control.get_power_measurement()
    control.start_power_measurement(hailo_platform.AveragingFactor.AVERAGE_1)
    assert control.get_power_measurement().average_value == control.power_measurement()
    control.stop_power_measurement()
    kinds = hailo_platform.PowerMeasurementTypes
    power, volts, amperes = (
        control.power_measurement(measurement_type=kind) for kind in (kinds.POWER, kinds.BUS_VOLTAGE, kinds.CURRENT)
    )
    assert power * 1e6 == pytest.approx(volts * amperes)
    error = capsys.readouterr().err
    assert error.count("temperature") == 1
    assert error.count("power") == 1
    with pytest.raises(HailoRTNotImplemented, match=r"Control\.chip_reset"):
        control.chip_reset()
    with pytest.raises(AttributeError):
        _ = control.nothing


def test_the_pace_of_the_device(hailo_platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes its simulated time, and no less."""
    monkeypatch.setenv("EMU_PACE", "real")
    with hailo_platform.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        bindings = [
            configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)}) for _ in range(30)
        ]
        for one in bindings:
            one.input().set_buffer(frame_of(1))
        begin, simulated = time.monotonic(), hailo_platform.clock()
        configured.run(bindings, 10_000)
        wall, simulated = time.monotonic() - begin, hailo_platform.clock() - simulated
    assert 0.02 < simulated <= wall


def test_a_forked_child_cannot_use_the_device(hailo_platform: Any) -> None:
    with hailo_platform.VDevice() as device:
        configured = device.create_infer_model(TWO_CONTEXT).configure()
        bindings = configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
        bindings.input().set_buffer(frame_of(1))
        configured.run([bindings], 1000)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                configured.run([bindings], 1000)
            except hailo_platform.HailoRTNotImplemented:
                try:
                    device.create_infer_model(TWO_CONTEXT)
                except hailo_platform.HailoRTException:
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        configured.run([bindings], 1000)


def test_a_device_that_stalls_is_a_timeout(hailo_platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame never comes; the note says who waits for what. The next frame meets a device that was reset."""
    from functools import partial

    from hailo_platform.pyhailort.pyhailort import HailoRTTimeout

    from emu.host import device as host_device

    monkeypatch.setattr(host_device, "open_device", partial(host_device.open_device, faults=("stall-channel:16",)))
    told: list[Any] = []
    with hailo_platform.VDevice() as device, device.create_infer_model(TWO_CONTEXT).configure() as configured:
        bindings = configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
        bindings.input().set_buffer(frame_of(1))
        job = configured.run_async([bindings], lambda completion_info: told.append(completion_info.exception))
        with pytest.raises(HailoRTTimeout) as caught:
            job.wait(1000)
    assert told == [caught.value]
    assert "emu: " in caught.value.__notes__[0]


def test_a_card_that_cannot_be_locked(hailo_platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link laid where the lock would be is not followed."""
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("EMU_CARD", "../name")
    (tmp_path / f"emu-card-{os.getuid()}-.._name").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(hailo_platform.HailoRTException, match="ioctl"):
        hailo_platform.VDevice()
    assert not (tmp_path / "elsewhere").exists()


def test_the_release_waits_for_callbacks(echoing: Any) -> None:
    told: list[int] = []

    def slow(completion_info: Any) -> None:
        time.sleep(0.05)
        told.append(1)

    with echoing.VDevice() as device:
        configured = device.create_infer_model(TWO_CONTEXT).configure()
        for _ in range(4):
            bindings = configured.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
            bindings.input().set_buffer(frame_of(1))
            configured.run_async([bindings], slow)
    assert len(told) == 4
