"""Frames on the wire of HRPC hold what the default user frames of a device in process hold, for every made-up HEF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import emu
from emu.dataflow.vstreams import InputVStream
from emu.errors import EmuError
from emu.server.frames import ModelFrames


def hefs(shared: Path) -> list[Path]:
    return sorted((shared / "synth").rglob("*.hef"))


def compared(path: Path) -> int:
    """The number of outputs that were compared; 0 for a HEF that no device configures or whose frames none converts."""
    for device, runtime in (("hailo8", "4.23"), ("hailo8l", "4.23"), ("hailo15h", "5.2"), ("hailo10h", "5.2")):
        try:
            with emu.open_device(device, runtime) as opened:
                application = opened.configure(path)
                user = application.user_frames
                group = user.group
                rng = np.random.default_rng(0)
                wire = {name: rng.bytes(size) for name, size in application.input_streams.items()}
                frames = application.submit_frames(1, lambda stream, _, wire=wire: wire[stream], keep=True)
                opened.run_until(lambda frames=frames: frames.done)
                if frames.error is not None:
                    return 0
                expected = user.from_wire(frames.results)
        except EmuError:
            continue
        model = ModelFrames(group, [], [], runtime)
        given = {info.name: rng.bytes(info.frame_size) for info in group.input_vstreams}
        vstreams = [InputVStream(group, info) for info in group.input_vstreams]
        rows = {
            one.info.name: np.frombuffer(given[one.info.name], one.dtype).reshape(1, *one.array_shape)
            for one in vstreams
        }
        try:
            (wanted,) = user.to_wire(rows)
        except EmuError:
            return 0
        assert model.to_wire(b"".join(given.values())) == wanted
        arrays = [expected[info.name][0] for info in group.output_vstreams]
        assert model.output_sizes == [array.nbytes for array in arrays]
        assert model.from_wire(frames.results[0], frames.real[0]) == b"".join(array.tobytes() for array in arrays)
        return len(arrays)
    return 0


@pytest.mark.parametrize("part", range(4))
def test_outputs_are_those_of_a_device_in_process(shared: Path, part: int) -> None:
    done = [compared(path) for path in hefs(shared)[part::4]]
    assert sum(map(bool, done)) > 20
