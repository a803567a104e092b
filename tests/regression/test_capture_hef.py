"""`emu run --actions CAPTURE --hef FILE`: a capture's lists with the bytes of the HEF that was captured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emu.chips.chips import load
from emu.errors import HailoError, UsageError
from emu.hef import open_hef
from emu.host.capture import load_capture
from emu.host.capture_hef import with_configuration
from emu.host.prepare import prepare
from emu.host.session import RunRequest, run_program
from emu.host.spec import RunSpec
from emu.sequencer.host import HostSettings
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import capture_files, layout_of
from tests.trace.helpers import Cli

MNIST = "mnist_cnn.v0.hailo8"


def model_of(capture: Path, folder: str = "hef") -> Path:
    """The HEF that a capture names."""
    stem = re.match(r"(.*?)(?:\.batch\d+|\.nets|\.kv|\.mem|\.plain|\.on-|\.json).*", capture.name)
    assert stem is not None
    return SHARED / folder / f"{stem[1]}.hef"


def captures_of_real_files() -> list[Path]:
    return [path for path in capture_files() if model_of(path).exists()]


@needs_shared
def test_every_capture_of_a_real_file_runs_as_strictly_as_the_file() -> None:
    ran = 0
    for path in captures_of_real_files():
        capture = load_capture(path)
        program = with_configuration(capture, open_hef(model_of(path), runtime=capture.program.runtime))
        device = run_program(program, load(program.device), RunRequest(frames=3, layout=layout_of(capture))).device
        assert device is not None and device.logic.active and not device.hazards, path.name
        assert device.config.opaque_bytes == 0 < device.config.ccw_bytes
        ran += 1
    assert ran >= 20


@needs_shared
def test_the_bytes_are_those_of_the_hef(shared: Path) -> None:
    """What a capture with its HEF leaves in the chip is what the HEF itself leaves there."""
    capture, hef = shared / "oracle" / "4.23" / f"{MNIST}.json", shared / "hef" / f"{MNIST}.hef"
    memories = []
    for spec in (RunSpec.of(capture, hef=str(hef)), RunSpec.of(hef)):
        run = prepare(spec)
        device = run_program(run.program, run.profile, run.request).device
        assert device is not None
        memories.append(device.memory.snapshot())
    assert memories[0] == memories[1]


@needs_shared
def test_another_hef_is_refused(shared: Path, cli: Cli) -> None:
    capture, other = shared / "oracle" / "4.23" / f"{MNIST}.json", shared / "hef" / "behaviour_cnn.v2.hailo8.hef"
    with pytest.raises(HailoError, match="is not what was captured: config stream 0"):
        prepare(RunSpec.of(capture, hef=str(other)))
    assert cli("run", "--actions", capture, "--hef", other) == 3
    assert cli("run", "--actions", capture, "--hef", shared / "hef" / f"{MNIST}.hef") == 0
    assert "synthetic" in cli.out and "opaque" not in cli.out


@needs_shared
def test_a_capture_of_another_host_needs_its_settings(shared: Path) -> None:
    path = shared / "synth" / "capture" / "4.23" / "env_page128_a.json"
    capture = load_capture(path)
    hef = open_hef(model_of(path, "synth/hef"), runtime=capture.program.runtime)
    with pytest.raises(HailoError, match="desc_page_size 128"):
        with_configuration(capture, hef)
    with_configuration(capture, hef, HostSettings.parse({"desc_max_page": "128"}))


def test_a_hef_alone_has_no_use_for_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--hef: for --actions"):
        prepare(RunSpec.of("model.hef", hef="other.hef"))
