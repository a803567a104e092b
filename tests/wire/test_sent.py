"""What a run sends is the program's own list of messages, and that of the real library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.combine import combine
from emu.host.session import RunRequest, run_program
from emu.hw.device import Device
from emu.hw.vdma import Channel, Edge
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.program import Program
from emu.wire.control import Opcode, decode_request
from tests.conftest import ROOT

LISTS = (Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER, Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO)


class _Recorder:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        self.sent.append(request)

    def launch(self, channel: Channel, transfers: int) -> None:
        pass

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        pass


def _sent(program: Program) -> list[bytes]:
    recorder = _Recorder()

    def watch(device: Device) -> None:
        device.probe.observers.append(recorder)

    run_program(program, load(program.device), RunRequest(frames=1, on_device=watch))
    return recorder.sent


def _opcodes(messages: list[bytes]) -> list[int]:
    return [decode_request(message).opcode for message in messages]


def test_a_run_sends_the_controls_of_its_program() -> None:
    hef = open_hef(ROOT / "examples" / "two_context.hef")
    program = compile_hef(hef)
    sent = _sent(program)
    assert tuple(sent[: len(program.controls)]) == program.controls
    assert _opcodes(list(program.controls)).count(Opcode.GET_HW_CONSTS) > 1
    assert _opcodes(sent[len(program.controls) :]) == [37, 37, 37, 71]  # ENABLE, RESET, and RESET, CLEAR at the end


def test_two_programs_on_one_device_are_configured_after_one_another() -> None:
    program = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"))
    both = combine([program, program])
    opcodes = _opcodes(list(both.controls))
    assert opcodes.count(Opcode.IDENTIFY) == opcodes.count(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS) == 1
    assert opcodes.count(LISTS[0]) == 2
    headers = [r.parameters[0] for r in map(decode_request, both.controls) if r.opcode == LISTS[0]]
    assert headers == [group.application_header for group in both.network_groups]


@pytest.mark.parametrize(
    ("hef", "capture", "device"),
    [
        ("mnist_cnn.v0.hailo8.hef", "4.23", "hailo8"),
        ("fast_depth_ddr.v1.hailo8.hef", "4.23", "hailo8"),
        ("driving_partial.v1.hailo8l.hef", "4.23", "hailo8l"),
        ("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "5.2", "hailo15h"),
        ("scrfd_2.5g.v3.hailo1xh.hef", "5.2", "hailo15h"),
    ],
)
def test_a_run_sends_what_the_library_sends(shared: Path, hef: str, capture: str, device: str) -> None:
    """Without headers and lists, which captures keep elsewhere: from IDENTIFY to the last CLEAR."""
    document = _capture(shared / "oracle" / capture, hef, device)
    asked = [one["opcode"] for one in document["controls"] if one.get("opcode") is not None]
    program = compile_hef(open_hef(shared / "hef" / hef), CompileOptions(device=device, batch=document["batch"]))
    assert [opcode for opcode in _opcodes(_sent(program)) if opcode not in LISTS] == asked


def _capture(folder: Path, hef: str, device: str) -> dict[str, Any]:
    for path in sorted(folder.glob("*.json")):
        document: dict[str, Any] = json.loads(path.read_bytes())
        if document["hef"] == hef and document["batch"] == 1 and document["device_arch"] == device:
            return document
    raise LookupError(f"no capture of {hef} on {device}")
