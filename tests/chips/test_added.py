"""A chip and a runtime that are added are one file each: made-up ones compile and run an example."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from emu import catalog
from emu.chips.chips import load
from emu.chips.runtimes import device_names, runtime_names
from emu.errors import FirmwareError, IncompatibleError, UsageError
from emu.hailo_platform.control import Control
from emu.hef import open_hef
from emu.host.session import RunRequest, run_program
from emu.hw.device import Device
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.server.identity import health, power, temperature
from emu.wire.control import Opcode, decode_response, encode_request
from emu.wire.wire import wire_of
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "two_context.hef"
CHIP = """
extends = "hailo8"

[counts]
first_d2h_channel = { value = 4, unit = "1", basis = "guessed", source = "made up" }
channels_per_engine = { value = 24, unit = "1", basis = "guessed", source = "made up" }

[clocks]
nn_hz = { value = 100e6, unit = "Hz", basis = "guessed", source = "made up" }

[sensors]
temperature_c = { value = 61.25, unit = "C", basis = "guessed", source = "made up" }
power_watts = { value = 4.75, unit = "W", basis = "guessed", source = "made up" }
"""
RUNTIME = """
extends = "4.23"

[firmware]
channel_id_shift = { value = 6, unit = "bit", basis = "guessed", source = "made up" }
max_applications = { value = 1, unit = "1", basis = "guessed", source = "made up" }

[fields]
frame_periph_size = { value = "u64", unit = "code", basis = "guessed", source = "made up" }

[layouts]
application_header = { value = "networks_count:u8 dynamic_contexts_count:u16 preliminary_run_asap:u8 \
batch_register_config:u8 can_fast_batch_switch:u8 is_abbale_supported:u8 csm_buffer_size:u16 batch_size:u16 \
external_action_list_address:u32 boundary_channels_bitmap:u32[3] config_channels_count:u8 config_channels:u8[7]", \
unit = "layout", basis = "guessed", source = "made up" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for kind, name, text in (("chips", "hailo99", CHIP), ("runtimes", "4.99", RUNTIME)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{name}.toml").write_text(text)
    catalog.add_folder(tmp_path)
    yield tmp_path
    catalog.remove_folder(tmp_path)


def test_an_added_chip_and_runtime_run_an_example(folder: Path) -> None:
    assert device_names()[-1] == "hailo99"
    assert runtime_names()[-6:] == ("4.23", "4.99", "5.0.1", "5.1.0", "5.1.1", "5.2")
    hef = open_hef(EXAMPLE, runtime="4.23")
    known = compile_hef(hef, CompileOptions(device="hailo8"))
    program = compile_hef(hef, CompileOptions(device="hailo99", runtime="4.99"))
    assert (program.runtime, program.device) == ("4.99", "hailo99")
    (group,), (usual,) = program.network_groups, known.network_groups
    assert len(group.application_header) == 35 and len(usual.application_header) == 32
    assert wire_of("4.99").header.decode(group.application_header).networks_count == 1
    grown = 4 * sum(
        action.type.name in ("FETCH_DATA_FROM_VDMA_CHANNEL", "OPEN_BOUNDARY_INPUT_CHANNEL")
        for context in usual.contexts
        for located in context.actions("4.23")
        for action in (getattr(located.entry, "items", None) or (located.entry,))
    )
    assert grown
    assert sum(len(one.action_list) for one in group.contexts) == grown + sum(
        len(one.action_list) for one in usual.contexts
    )
    outputs = {stream.packed_vdma_channel_id for stream in group.streams if stream.direction.name == "D2H"}
    assert min(outputs) == 4
    request = RunRequest(frames=3, keep_outputs=True)
    result = run_program(program, load("hailo99"), request)
    expected = run_program(known, load("hailo8"), RunRequest(frames=3, keep_outputs=True))
    assert [stream.frames for stream in result.groups[0].streams] == [
        stream.frames for stream in expected.groups[0].streams
    ]


def test_what_its_sensors_read_stands_in_its_file_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The firmware's reply, HailoRT's Python API and the served device read one number."""
    reply = decode_response(Device(load("hailo99"), "4.23").control(encode_request(Opcode.GET_CHIP_TEMPERATURE)))
    assert struct.unpack("<ffH", reply.parameters[0]) == (61.25, 61.25, 1)
    assert temperature(load("hailo99")).ts0_temperature == health(load("hailo99")).on_die_temperature == 61.25
    assert power(load("hailo99")).average_value == power(load("hailo99")).max_value == 4.75
    monkeypatch.setenv("EMU_DEVICE", "hailo99")
    control = Control()
    assert (control.get_chip_temperature().ts1_temperature, control.power_measurement()) == (61.25, 4.75)


def test_the_device_goes_by_its_runtime(folder: Path) -> None:
    """A list of one runtime on a device of another: other layouts, so a status of the firmware."""
    hef = open_hef(EXAMPLE, runtime="4.23")
    program = compile_hef(hef, CompileOptions(device="hailo8", runtime="4.99"))
    from msgspec.structs import replace

    with pytest.raises(FirmwareError, match="APP_HEADER_LENGTH"):
        run_program(replace(program, runtime="4.23"), load("hailo8"), RunRequest(frames=1))


def test_a_runtime_serves_the_devices_that_it_has_a_driver_for(folder: Path) -> None:
    hef = open_hef(EXAMPLE, runtime="4.23")
    needs = r"hailo15h needs HailoRT 4\.17\.1 to 4\.21, 5\.0\.1 to 5\.2"
    with pytest.raises(IncompatibleError, match=rf"HailoRT 4\.99 has no Hailo-15H support: {needs}"):
        compile_hef(hef, CompileOptions(device="hailo15h", runtime="4.99"))


def test_names_that_have_no_file_are_refused(folder: Path) -> None:
    catalog.remove_folder(folder)
    try:
        with pytest.raises(UsageError, match=r"unknown runtime '4\.99'; one of 4\.17\.1, .*, 5\.2"):
            wire_of("4.99")
        with pytest.raises(UsageError, match="unknown device 'hailo99'"):
            load("hailo99")
    finally:
        catalog.add_folder(folder)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[fields]\nno_such = { value = "u8", unit = "x", basis = "guessed", source = "x" }', "no_such"),
        ('[layouts]\nhw_consts = { value = "a:u9", unit = "x", basis = "guessed", source = "x" }', "a:u9"),
        ('[firmware]\nmore = { value = 1, unit = "x", basis = "guessed", source = "x" }', "more"),
        ('[sums]\nmore = { value = 1, unit = "x", basis = "guessed", source = "x" }', "sums"),
        ("[firmware]\nmax_applications = 3", "max_applications"),
    ],
)
def test_a_file_that_says_what_nothing_reads_is_refused(folder: Path, text: str, what: str) -> None:
    (folder / "runtimes" / "4.98.toml").write_text(f'extends = "4.23"\n{text}\n')
    with pytest.raises((UsageError, ValueError), match=what):
        wire_of("4.98")
