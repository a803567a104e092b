"""Computed outputs wherever a device is reached: the open device, programs with hailo_platform, tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import emu
from emu.errors import HailoError, HailoStatus
from emu.host.spec import RunSpec
from emu.regression.run import execute
from tests.conftest import ROOT, SHARED, needs_shared
from tests.net.test_run import run_main
from tests.regression.test_plugin import run_pytest
from tests.server.client import Client, RpcError
from tests.server.serving import serving

DIGITS = ROOT / "examples" / "computed_digits.hef"
PROGRAM = """
import numpy as np
from hailo_platform import HEF, VDevice, HailoStreamInterface, ConfigureParams, InferVStreams
from hailo_platform import InputVStreamParams, OutputVStreamParams
hef = HEF({path!r})
with VDevice() as device:
    group, = device.configure(hef, ConfigureParams.create_from_hef(hef, interface=HailoStreamInterface.PCIe))
    images = np.arange(2 * 64, dtype=np.uint8).reshape(2, 8, 8, 1)
    ins, outs = InputVStreamParams.make(group), OutputVStreamParams.make(group)
    with InferVStreams(group, ins, outs) as pipeline, group.activate():
        found = pipeline.infer({{"digits/input_layer1": images}})["digits/fc2"]
print(" ".join(map(str, found.reshape(-1).tolist())))
"""


def images() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.arange(2 * 64, dtype=np.uint8).reshape(2, 8, 8, 1)


def wanted() -> list[float]:
    outputs = emu.run(DIGITS, inputs={"digits/input_layer1": images()}, compute="strict").outputs["digits/fc2"]
    return [float(code) for code in outputs.reshape(-1)]


@pytest.mark.parametrize("compute", [True, None, "partial"])
def test_an_open_device_computes_what_is_read_whole(compute: bool | str | None) -> None:
    with emu.open_device("hailo8") as device:
        application = device.configure(DIGITS, compute=compute)
        assert application.computing is not None and application.computing.streams == {"digits/fc2"}
        found = application.infer({"digits/input_layer1": images()})["digits/fc2"]
    assert found.reshape(-1).astype(float).tolist() == wanted()


def test_what_cannot_be_computed_stays_synthetic_by_default_and_is_refused_by_strict() -> None:
    two_context = ROOT / "examples" / "two_context.hef"
    with emu.open_device("hailo8") as device:
        application = device.configure(two_context, compute=None)
        assert application.computing is not None and not application.computing.streams
        with pytest.raises(HailoError, match="no whole sequencer programs"):
            device.configure(two_context, compute=True)


@pytest.mark.parametrize(("mode", "computed"), [("", True), ("strict", True), ("off", False)])
def test_programs_get_computed_outputs(tmp_path: Path, mode: str, computed: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(path=str(DIGITS)))
    environment = {**os.environ, "EMU_COMPUTE": mode}
    ended = subprocess.run(
        [sys.executable, "-m", "emu", "exec", str(program)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = [float(word) for word in ended.stdout.splitlines()[-1].split()]
    assert ("outputs are synthetic" in ended.stderr) is not computed
    assert bool(np.corrcoef(found, wanted())[0, 1] > 0.9999) is computed


def test_runs_of_tests_compute(tmp_path: Path) -> None:
    run = execute(DIGITS, RunSpec.of(DIGITS, frames=2, compute="strict"), tmp_path / "trace")
    assert run.error is None


GIVEN_1XH = ("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "scrfd_2.5g.v3.hailo1xh.hef")


@needs_shared
@pytest.mark.parametrize("name", GIVEN_1XH)
def test_networks_of_10h_and_15h_are_refused_by_strict_in_one_line(name: str) -> None:
    """Nothing is simulated before that; partial and the default run with synthetic outputs, and say why."""
    path = str(SHARED / "hef" / name)
    code, out, err = run_main(["run", path, "--compute=strict"])
    assert (code, out) == (3, "") and err.count("\n") == 1
    assert "HAILO_NOT_IMPLEMENTED" in err and "the networks of Hailo-10H and 15H files are not read" in err
    with pytest.raises(HailoError, match="Hailo-10H and 15H") as caught:
        emu.run(path, compute="strict")
    assert caught.value.where["network_group"]
    code, out, err = run_main(["run", path, "--compute=partial", "--frames=1", "--json"])
    assert code == 0 and "outputs are synthetic: the networks of Hailo-10H and 15H files are not read" in err
    with emu.open_device(json.loads(out)["device"]) as device, pytest.raises(HailoError, match="Hailo-10H and 15H"):
        device.configure(path, compute=True)


@pytest.mark.parametrize(("mode", "computed"), [(None, True), ("strict", True), ("partial", True), ("off", False)])
def test_a_server_computes(mode: str | None, computed: bool) -> None:
    frames = [image.tobytes() for image in images()]
    with serving("hailo8", compute=mode) as server, Client(server.port) as client:
        vdevice = client.vdevice("SHARED")
        model = client.infer_model(vdevice, DIGITS.read_bytes())
        configured, _ = client.configure(vdevice, model)
        answers = [client.answer(client.run(configured, model, [frame], [10])) for frame in frames]
    assert [status for status, _, _ in answers] == [0, 0]
    found = [float(code) for _, _, data in answers for code in data]
    assert (found == wanted()) is computed


def test_a_strict_server_refuses_what_it_cannot_compute() -> None:
    two_context = (ROOT / "examples" / "two_context.hef").read_bytes()
    with serving("hailo8", compute="strict") as server, Client(server.port) as client:
        vdevice = client.vdevice("SHARED")
        model = client.infer_model(vdevice, two_context)
        with pytest.raises(RpcError) as refused:
            client.configure(vdevice, model)
        assert refused.value.status == int(HailoStatus.HAILO_NOT_IMPLEMENTED)
        assert "no whole sequencer programs" in server.log


SUITE = """
def test_digits(emu_run):
    run = emu_run({digits!r}, input=({images!r},), frames=2{compute})
    assert run.error is None
    run.assert_stream("digits/fc2", contents=[bytes.fromhex(one) for one in {wanted!r}])


def test_a_made_up_file(emu_run):
    run = emu_run({made_up!r}, frames=1, compute="strict")
    assert "no whole sequencer programs" in run.error.line()
"""


@pytest.mark.parametrize(("compute", "failed"), [("", 1), (', compute="strict"', 0), (', compute="partial"', 0)])
def test_the_pytest_plugin_computes(tmp_path: Path, compute: str, failed: int) -> None:
    given = tmp_path / "images.bin"
    given.write_bytes(images().tobytes())
    codes = np.array(wanted(), np.uint8).reshape(2, -1)
    text = SUITE.format(
        digits=str(DIGITS),
        images=str(given),
        compute=compute,
        wanted=[row.tobytes().ljust(16, b"\0").hex() for row in codes],  # as they lie on the wire
        made_up=str(ROOT / "examples" / "two_context.hef"),
    )
    (tmp_path / "test_x.py").write_text(text)
    code, out = run_pytest(tmp_path)
    assert code == bool(failed), out
    assert not failed or "frame 0: byte 0: expected 0x81" in out
