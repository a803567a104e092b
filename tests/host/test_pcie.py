"""A card is driven through its registers alone; watched or not, the same comes of it at the same instants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from emu.chips.chips import load
from emu.errors import FirmwareError, HailoError, HailoStatus
from emu.host import device as open_devices
from emu.host import pcie_boot
from emu.host.device import open_device
from emu.host.driver import StalledError
from emu.host.pcie import PciePort, port_of
from emu.host.pcie_boot import Image, load_firmware
from emu.host.session import RunRequest, run_program
from emu.hw.border import Bars, ChipPort, Surroundings
from emu.hw.device import Device
from emu.hw.faults import Fault
from emu.hw.pcie import boot
from emu.hw.pcie.boot import BootState
from emu.hw.probe import Access
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.actions import HostBufferInfo
from emu.wire.control import Opcode, decode_response, encode_request
from tests.conftest import SHARED, needs_shared
from tests.host.test_border import Narrow, _frames
from tests.hw.captures import layout_of, loaded
from tests.hw.lists import IN, Lists, act, double, single, with_ddr

OF_REGISTERS = (Kind.REGISTER, Kind.INTERRUPT)


class Kept:
    """A sink that keeps all."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        """Nothing to end."""


# -- the registers are the border


def through_registers(chip: Device) -> ChipPort:
    """The driver over what `Bars` and `Surroundings` name, and nothing else of the chip."""
    parts: tuple[Any, Any] = Narrow(chip, Surroundings), Narrow(chip.bars, Bars)
    return PciePort(*parts, chip.profile.first_d2h_channel)


@pytest.mark.parametrize("watched", [False, True])
def test_a_card_works_through_its_registers_alone(monkeypatch: pytest.MonkeyPatch, watched: bool) -> None:
    """Two applications, their switches, a release: the same bytes at the same instants as by direct calls."""
    hefs = ("two_context.hef", "digits.hef")
    monkeypatch.setattr(open_devices, "port_of", lambda chip: chip)
    with open_device() as device:
        expected, ns = _frames(device, hefs), device.now_ns
    monkeypatch.setattr(open_devices, "port_of", through_registers)
    seen: list[Any] = []

    def watch(chip: Device) -> None:
        if watched and chip.pcie is not None:
            chip.pcie.watch(seen.append)

    with open_device(on_chip=watch) as device:
        assert _frames(device, hefs) == expected
        assert device.now_ns == ns
    assert bool(seen) == watched


def test_a_device_that_is_part_of_its_host_keeps_its_own_port() -> None:
    chip = Device(load("hailo15h"), "5.2")
    assert port_of(chip) is chip
    assert isinstance(port_of(Device(load("hailo8l"), "4.23")), PciePort)


# -- watched or not


def ended(run: Callable[[Callable[[Callable[[], int]], Tracer]], Any], registers: bool) -> tuple[list[Event], str]:
    """The events of a run, those of registers apart, and how it ended."""
    sink = Kept()
    try:
        run(lambda clock: Tracer([sink], clock, registers))
        how = "through"
    except (FirmwareError, StalledError) as error:
        how = error.line()
    others = [event for event in sink.events if event.kind not in OF_REGISTERS]
    assert (len(others) < len(sink.events)) == registers
    return others, how


def compare(run: Callable[[Callable[[Callable[[], int]], Tracer]], Any]) -> str:
    spared, how = ended(run, registers=False)
    watched, and_how = ended(run, registers=True)
    assert watched == spared and and_how == how
    return how


def nms() -> Lists:
    """An output of several transfers a frame."""
    lists = single()
    lists.preliminary.append(act("ENABLE_NMS", number_of_classes=3, burst_size=8))
    return lists


@pytest.mark.parametrize("make", [single, double, with_ddr, nms])
@pytest.mark.parametrize("batch", [1, 3])
def test_whoever_watches_changes_nothing(make: Callable[..., Lists], batch: int) -> None:
    lists = make() if make is nms else make(batch=batch)
    how = compare(lambda tracer: lists.run(7 * batch, tracer_for=tracer))
    assert how == "through"


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        ("drop-interrupt:16#3", "through"),
        ("delay-interrupt:16#2=500000", "through"),
        ("reorder-interrupt:16#1", "through"),
        ("drop-interrupt:16#8", "stalled"),
        ("stall-channel:16", "stalled"),
        (f"lose-descriptor:{IN}@dynamic_0:0", "stalled"),
        ("reset@dynamic_0:1", "stalled"),
    ],
)
def test_faults_strike_alike(fault: str, end: str) -> None:
    """An interrupt that is lost sets no status: the next one of its channel tells of both frames, by num_processed."""
    faults = [Fault.parse(fault)]
    how = compare(lambda tracer: single().run(9, tracer_for=tracer, faults=faults))
    assert end in how


def test_a_run_time_error_is_told_through_the_notification() -> None:
    lists = single()
    lists.dynamic[0].insert(0, act("DISABLE_LCU", packed_lcu_id=0xFF))
    assert "INVALID_CLUSTER_INDEX" in compare(lambda tracer: lists.run(1, tracer_for=tracer))
    sink = Kept()
    with pytest.raises(FirmwareError):
        lists.run(1, tracer_for=lambda clock: Tracer([sink], clock, True))
    of_events = [event.action for event in sink.events if event.unit == "notification"]
    assert of_events == ["read", "read", "write"]  # its head, its bytes, that they were read
    sent = [event.arguments or {} for event in sink.events if event.kind is Kind.INTERRUPT]
    assert {one["value"] for one in sent} == {0x04800000, 0x02800000}


CAPTURES = [
    "oracle/4.23/mnist_cnn.v0.hailo8.batch8.json",
    "oracle/4.23/fast_depth_ddr.v1.hailo8.json",
    "oracle/4.23/yolov8n_320_nms.v2.hailo8.json",
    "synth/capture/4.23/mc3_io.batch8.json",
    "synth/capture/4.23/onms_h8_burst.json",
    "silicon/yolov6n.json",
]


@needs_shared
@pytest.mark.parametrize("name", CAPTURES, ids=[Path(name).stem for name in CAPTURES])
def test_whoever_watches_changes_nothing_of_real_lists(name: str) -> None:
    capture = loaded(SHARED / name)
    request = {"frames": 2 * capture.program.batch, "layout": layout_of(capture)}

    def run(tracer: Any) -> None:
        run_program(capture.program, load(capture.program.device), RunRequest(**request, tracer_for=tracer))

    compare(run)


def test_a_driver_makes_the_accesses_of_the_real_one() -> None:
    """Launch: one read-modify-write. Completion: status read and cleared, channels too, then both words of each."""
    sink = Kept()
    single().run(3, tracer_for=lambda clock: Tracer([sink], clock, True))
    accesses = [(event.action, event.unit) for event in sink.events if event.kind in OF_REGISTERS]
    base, counts = f"channel {IN} base", f"channel {IN} counts"
    launched = accesses.index(("write", base))
    assert accesses[launched - 1] == ("read", base)
    first = accesses.index(("MSI", ""), launched)
    assert accesses[first : first + 7] == [
        ("MSI", ""),
        ("read", "ISTATUS_HOST"),
        ("write", "ISTATUS_HOST"),
        ("read", "source channels"),
        ("write", "source channels"),
        ("read", counts),
        ("read", base),
    ]


def test_whoever_watches_sees_every_frame() -> None:
    """Steady frames are added up where nobody watches, and played where somebody does."""
    seen: list[Access] = []

    def watch(chip: Device) -> None:
        assert chip.pcie is not None
        chip.pcie.watch(seen.append)

    lists, frames = single(), 200
    assert lists.run(frames, on_device=watch).device.core.jumps == 0  # type: ignore[union-attr]
    launches = [one for one in seen if one.what == "write" and one.name == f"channel {IN} base"]
    assert len(launches) == frames
    assert lists.run(frames).device.core.jumps > 0  # type: ignore[union-attr]


def test_a_driver_that_comes_later_is_told_whether_it_is_spared() -> None:
    driver, chip = port()
    assert chip.pcie is not None
    assert driver.launch == chip.launch and chip.pcie.spared
    chip.pcie.watch(lambda access: None)
    assert driver.launch != chip.launch and not chip.pcie.spared


def test_num_processed_is_modulo_the_length_of_the_list() -> None:
    """The register counts from 1 to the length (vdma.md 2.2), the driver from 0."""
    driver, chip = port()
    assert chip.pcie is not None
    chip.pcie.watch(lambda access: None)
    channel = chip.vdma.channel(16)
    channel.open(HostBufferInfo(0, 0, 512, 32, 512))
    for processed in (0, 1, 31, 32, 33, 64):
        channel.processed = processed
        assert driver.num_processed(16) == processed % 32
    assert driver.active(16) and not driver.active(17)


# -- control messages


def port(device: str = "hailo8") -> tuple[PciePort, Device]:
    chip = Device(load(device), "4.23")
    assert chip.bars is not None
    return PciePort(chip, chip.bars, 16), chip


def test_a_message_that_no_mailbox_takes() -> None:
    with pytest.raises(HailoError, match="1581 bytes, the card's mailbox takes 1580"):
        port()[0].control(bytes(1581))


def test_a_card_whose_interrupts_are_off_does_not_answer() -> None:
    driver, _ = port()
    driver.disable_interrupts()
    with pytest.raises(HailoError, match="the card does not answer") as caught:
        driver.control(encode_request(Opcode.IDENTIFY))
    assert caught.value.status is HailoStatus.HAILO_DRIVER_TIMEOUT
    driver.enable_interrupts()
    assert not decode_response(driver.control(encode_request(Opcode.IDENTIFY))).major_status


# -- the way there


def image(code: int = 600, magic: int = 0x1DD89DE0, key: int = 0x100, behind: bytes = b"") -> bytes:
    """A file that is made as a firmware is."""
    header = struct.pack("<6I", magic, 0, 4, 23, 0, code)
    core = struct.pack("<6I", 0x1DD89DE0, 0, 4, 23, 0, 5000)
    certificates = struct.pack("<2I", key, 0x40) + bytes(key + 0x40)
    return header + bytes(range(256)) * (code // 256) + bytes(code % 256) + certificates + core + bytes(5000) + behind


def test_the_firmware_is_loaded_through_the_registers() -> None:
    driver, chip = port()
    assert chip.pcie is not None and chip.profile.boot is not None
    data = image(code=9000)
    load_firmware(driver, data, chip.profile.boot)
    assert chip.pcie.boot.phase is BootState.RUNNING and driver.loaded
    upload = round(len(data) / chip.profile.boot.upload_bytes_per_second * 1e9)
    # the reset's interrupt, five looks for the bootloader a millisecond apart, the file, the boot (silicon-facts.md b)
    assert chip.clock.time == 1_200_000 + 5_000_000 + upload + 115_760_000
    assert not decode_response(driver.control(encode_request(Opcode.IDENTIFY))).major_status


def test_a_cold_card_has_no_firmware_until_it_is_loaded() -> None:
    driver, chip = port("hailo8l")
    assert chip.pcie is not None and chip.profile.boot is not None
    chip.pcie.power_on()
    with pytest.raises(HailoError, match="no firmware runs"):
        driver.control(encode_request(Opcode.IDENTIFY))
    driver.enable_interrupts()
    load_firmware(driver, image(), chip.profile.boot)
    assert not decode_response(driver.control(encode_request(Opcode.IDENTIFY))).major_status


def test_a_boot_ends_where_the_power_goes() -> None:
    driver, chip = port()
    assert chip.pcie is not None and chip.profile.boot is not None
    card = chip.pcie
    chip.clock.at(30_000_000, card.power_on)  # the boot takes 115 ms
    with pytest.raises(HailoError, match="boot trigger: the card does not answer"):
        load_firmware(driver, image(), chip.profile.boot)
    assert chip.clock.time > 5_000_000_000 and card.boot.phase is BootState.BOOTLOADER and not driver.loaded


def test_what_was_not_loaded_whole_does_not_come_up() -> None:
    driver, chip = port()
    assert chip.pcie is not None and chip.profile.boot is not None
    chip.pcie.power_on()
    driver.enable_interrupts()
    parts = Image.read(image())
    pcie_boot.write_memory(driver, boot.APP_HEADER, parts.app_header)
    pcie_boot.write_memory(driver, boot.APP_CODE, parts.app_code)
    trigger = struct.pack("<I", 1)
    with pytest.raises(HailoError, match="does not answer"):
        driver.answer_to(
            lambda: pcie_boot.write_memory(driver, boot.TRIGGER, trigger),
            pcie_boot.Software.NOTIFICATION,
            "boot",
            10**9,
        )
    assert chip.clock.time == 10**9 and chip.pcie.boot.phase is BootState.BOOTING


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (image(magic=0x1DD89DE1), HailoStatus.HAILO_INVALID_FIRMWARE_MAGIC),
        (image(code=0x40001), HailoStatus.HAILO_INVALID_FIRMWARE_CODE_SIZE),
        (image(code=79), HailoStatus.HAILO_INVALID_FIRMWARE_CODE_SIZE),
        (image(key=0x1001), HailoStatus.HAILO_INVALID_KEY_CERTIFICATE_SIZE),
        (image(behind=b"x"), HailoStatus.HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES),
        (image()[:-1], HailoStatus.HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES),
        (b"", HailoStatus.HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES),
    ],
)
def test_what_is_no_firmware_is_not_written(data: bytes, status: HailoStatus) -> None:
    driver, chip = port()
    assert chip.profile.boot is not None
    with pytest.raises(HailoError) as caught:
        load_firmware(driver, data, chip.profile.boot)
    assert caught.value.status is status and driver.loaded and not chip.clock.time


def test_the_driver_goes() -> None:
    session = single().session()
    driver = session.device._driven.chip
    assert isinstance(driver, PciePort)
    driver.driver_down()
    assert session.chip.firmware.application is None
