"""The registers of a card: what is declared, what an access does, what is a fault (silicon-facts.md e, vdma.md 9)."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import pytest

from emu.chips.chips import load
from emu.hw.device import Device
from emu.hw.pcie import layout
from emu.hw.pcie.boot import BootState
from emu.hw.pcie.card import PcieCard
from emu.hw.pcie.declare import Bar, Field, Kind, Register, RegisterFaultError, Window, written
from emu.hw.pcie.layout import CHANNELS, CONFIG, FIRMWARE
from emu.hw.probe import Access
from emu.wire.actions import HostBufferInfo
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    decode_response,
    encode_request,
)
from emu.wire.notifications import EventId, Notification
from tests.hw.lists import IN, OUT, single

IDENTIFY = encode_request(Opcode.IDENTIFY)


def card(device: str = "hailo8") -> PcieCard:
    made = Device(load(device), "4.23").pcie
    assert made is not None
    return made


def chip_of(made: PcieCard) -> Device:
    chip = made._chip
    assert isinstance(chip, Device)
    return chip


def ask(made: PcieCard, lying: bytes, whole: bytes | None = None) -> bytes:
    """Send a control message by hand (`whole`: without what fills its last word); what lies in the reply's mailbox."""
    message = lying if whole is None else whole
    made.write_block(FIRMWARE, 0, hashlib.md5(message).digest() + struct.pack("<I", len(message)) + lying)
    made.write(FIRMWARE, 0x1684, 1)
    head = made.read_block(FIRMWARE, 0x640, 20)
    (size,) = struct.unpack_from("<I", head, 16)
    reply = made.read_block(FIRMWARE, 0x640 + 20, size)
    assert head[:16] == hashlib.md5(reply).digest()
    return reply


# -- declarations


def test_places_are_those_of_silicon() -> None:
    """Typed from silicon-facts.md e: where each register lies, and what a card that the driver has probed holds."""
    made = card()
    assert made.read(CONFIG, 0x098, 2) == 0x1E60
    assert made.read(CONFIG, 0x098) == 0x28641E60
    assert made.read(CONFIG, 0x188) == made.read(CONFIG, 0x18C) == made.read(CONFIG, 0x400) == 0
    assert [made.read(CONFIG, 0x700 + 4 * at) for at in range(5)] == [0x17, 0, 0x60000000, 0, 6]
    assert [made.read(CONFIG, 0x720 + 4 * at) for at in range(5)] == [0x1017, 0, 0x200000, 0, 6]
    names = {(bar, at): place.name for bar, one in layout.bars(32, 16).items() for at, place in one.places()}
    assert names[CHANNELS, 0x210] == "channel 16 base" and names[CHANNELS, 0x040] == "channel 2 base"
    assert (
        names[CHANNELS, 0x050] == "channel 2 device half, base" and names[CHANNELS, 0x3E4 + 0x10] == "channel 31 counts"
    )
    assert sum(name.endswith("base") and "half" not in name for name in names.values()) == 32


def test_integrated_devices_have_no_registers() -> None:
    for device in ("hailo15h", "hailo10h", "hailo15l"):
        chip = Device(load(device), "5.2")
        assert chip.pcie is None and chip.bars is None


@pytest.mark.parametrize(
    ("bar", "offset", "why"),
    [
        (CONFIG, 0x0, "no register that is known"),
        (CONFIG, 0x190, "no register that is known"),
        (CONFIG, 0x714, "no register that is known"),
        (CONFIG, 0x4000, "no register that is known"),
        (CHANNELS, 0x400, "no register that is known"),
        (CHANNELS, 0x050, "channel 2 device half, base: the device's half of a channel is known from a single print"),
        (CHANNELS, 0x200, "device half"),
        (FIRMWARE, 0x1680, "no register that is known"),
        (FIRMWARE, 0x1684, "doorbell is write only"),
        (1, 0, "no such BAR"),
    ],
)
def test_what_is_not_known_cannot_be_read(bar: int, offset: int, why: str) -> None:
    with pytest.raises(RegisterFaultError, match=why) as caught:
        card().read(bar, offset)
    assert caught.value.where == {"bar": bar, "offset": f"0x{offset if bar != 1 else 0:X}"}


@pytest.mark.parametrize(
    ("bar", "offset", "value", "why"),
    [
        (CONFIG, 0x098, 0, "vendor word: vendor is read only, 7776 cannot become 0"),
        (CHANNELS, 0x040, 0x00002801, "channel 2 base: control is read only, 0 cannot become 1"),
        (CHANNELS, 0x040, 0x00008000, "reserved is read only"),
        (CHANNELS, 0x044, 1, "channel 2 counts: num_processed is read only"),
        (CHANNELS, 0x04C, 1, "channel 2 address high: address_63_32 is read only"),
        (CHANNELS, 0x050, 0, "device half"),
        (FIRMWARE, 0x1684, 0x10, "bits 0x00000010 mean nothing"),
        (FIRMWARE, 0x1684, -1, "does not fit"),
        (FIRMWARE, 0x1684, 1 << 32, "does not fit"),
        (FIRMWARE, 0x640, 1, "control reply is read only"),
        (FIRMWARE, 0xC80, 1, "notification is read only"),
        (FIRMWARE, 0x2004, 1, "host_offset alone"),
        (CONFIG, 0x008, 1, "no register that is known"),
    ],
)
def test_what_may_not_change_cannot_be_written(bar: int, offset: int, value: int, why: str) -> None:
    with pytest.raises(RegisterFaultError, match=why):
        card().write(bar, offset, value)


def test_accesses_have_sizes() -> None:
    made = card()
    assert made.read(CONFIG, 0x09A, 2) == 0x2864
    for act in (
        lambda: made.read(CONFIG, 0x09B, 2),
        lambda: made.read(CONFIG, 0x188, 8),
        lambda: made.write(CONFIG, 0x188, 1, 2),
        lambda: made.read_block(CONFIG, 0x188, 6),
        lambda: made.write_block(CONFIG, 0x188, b"\1"),
        lambda: made.read_block(FIRMWARE, 0x63C, 8),
        lambda: made.read_block(FIRMWARE, 0xFFC, 8),
        lambda: made.read_block(FIRMWARE, 0x3FFC, 8),
    ):
        with pytest.raises(RegisterFaultError):
            act()


def test_fields_take_what_their_kind_says() -> None:
    fields = tuple(Field(kind.name, 8 * at, 8, kind) for at, kind in enumerate(Kind))
    bar = Bar(CONFIG, 16, (Register("word", 4, fields),))
    place = bar.at(4)
    old = 0x44332211
    assert written(place, old, 0x0F_30_22_99, CONFIG, 4) == 0x0F_03_22_99
    with pytest.raises(RegisterFaultError, match="FIXED is read only"):
        written(place, old, 0x0F_30_23_99, CONFIG, 4)


def test_declarations_that_overlap_are_refused() -> None:
    window = Window("window", 0, 8, lambda card, at, size: b"", lambda card, at, data: None)
    for declared in (
        (Register("one", 0), Register("row", 0, count=2)),
        (window, Register("one", 4)),
        (Register("one", 14),),
        (Register("one", 16),),
        (Register("row", 8, count=3),),
    ):
        with pytest.raises(ValueError, match="BAR0"):
            Bar(CONFIG, 16, declared)


# -- interrupts


def test_interrupts_are_masked_raised_and_cleared() -> None:
    made = card()
    sent: list[int] = []
    made.connect(lambda: sent.append(made.read(CONFIG, 0x18C)))
    made.channel_done(17, (5,))
    assert not sent and made.read(CONFIG, 0x18C) == 0x00801000 and made.read(CONFIG, 0x500) == 1 << 17
    made.write(CONFIG, 0x188, 0xFF00FFFF)
    made.channel_done(2, (7, 9))
    made.channel_done(3, ())
    assert sent == [0x00801001, 0x00801001]
    assert made.read(CONFIG, 0x400) == 0b1100
    made.write(CONFIG, 0x400, 0b0100)
    assert made.read(CONFIG, 0x400) == 0b1000
    made.write(CONFIG, 0x18C, 0x00801000)
    assert made.read(CONFIG, 0x18C) == 0x00000001
    made.write(CONFIG, 0x18C, 0xFFFFFFFF)
    assert made.read(CONFIG, 0x18C) == 0
    assert list(made.passed(2)) == [7, 9] and not made.passed(2)


GROUPS = {0: 0x1, 2: 0x1, 7: 0x2, 15: 0x8, 16: 0x1000, 20: 0x2000, 24: 0x4000, 31: 0x8000}


@pytest.mark.parametrize(("index", "bits"), GROUPS.items())
def test_four_channels_share_a_bit(index: int, bits: int) -> None:
    assert layout.group_bit(index, 16) == bits


# -- mailboxes


def test_a_control_message_through_the_mailbox() -> None:
    made, other = card("hailo8l"), Device(load("hailo8l"), "4.23")
    told: list[int] = []
    made.connect(lambda: told.append(made.read(CONFIG, 0x18C)))
    made.write(CONFIG, 0x188, 0xFF00FFFF)
    assert ask(made, IDENTIFY) == other.control(IDENTIFY)
    assert chip_of(made).clock.time == other.clock.time > 0
    assert told == [0x04800000]


@pytest.mark.parametrize("spared", [False, True])
def test_messages_lie_in_their_mailboxes_over_what_was_there(spared: bool) -> None:
    """A driver that is spared the accesses leaves what accesses leave: of longer messages before, the end shows."""
    made = card()
    made.connect(lambda: None, lambda spared: None)
    made.write(CONFIG, 0x188, 0xFF00FFFF)
    expected = bytearray(0x1000)
    sizes = [1490, 4, 701, 701, 33, 250, 2]
    for number, size in enumerate(sizes):
        message = encode_request(200, (bytes([number + 1]) * size,)) if number else IDENTIFY
        lying = message + bytes(-len(message) % 4)
        if spared:
            reply = made.control(message)
            assert reply is not None
        else:
            reply = ask(made, lying, whole=message)
        for at, what, laid in ((0, message, lying), (0x640, reply, reply)):
            expected[at : at + 20 + len(laid)] = hashlib.md5(what).digest() + struct.pack("<I", len(what)) + laid
        if number in (0, 4, len(sizes) - 1):  # in between nobody looks
            assert made.read_block(FIRMWARE, 0, 0x640) == expected[:0x640]
            assert made.read_block(FIRMWARE, 0x640, 0x640) == expected[0x640:0xC80]


@pytest.mark.parametrize("message", [b"", b"\0" * 19, b"\0" * 1501, b"\0" * 1580])
def test_a_damaged_message_is_the_firmwares_to_refuse(message: bytes) -> None:
    assert decode_response(ask(card(), message)).major_status


@pytest.mark.parametrize(("length", "digest"), [(1581, None), (0xFFFFFFFF, None), (20, bytes(16))])
def test_what_the_firmware_makes_of_a_wrong_digest_is_not_known(length: int, digest: bytes | None) -> None:
    made = card()
    made.write_block(FIRMWARE, 0, (digest or bytes(16)) + struct.pack("<I", length) + IDENTIFY)
    with pytest.raises(RegisterFaultError, match="not known"):
        made.write(FIRMWARE, 0x1684, 2)


def test_an_event_lies_in_its_mailbox_until_it_is_read() -> None:
    made = card()
    event = Notification(EventId.CONTEXT_SWITCH_BREAKPOINT_REACHED, 1, b"\1\2\3\4", "")
    chip_of(made).notify(event, 1234)
    assert made.read(CONFIG, 0x18C) == 0x02800000
    assert made.read(FIRMWARE, 0xC80, 2) == 1 and made.read(FIRMWARE, 0xC82, 2) == 32
    assert made.read_block(FIRMWARE, 0xC84, 32) == event.encode()
    made.write(FIRMWARE, 0xC80, 0, 2)
    assert made.read(FIRMWARE, 0xC80, 2) == 0


def test_the_logs_are_empty_rings() -> None:
    made = card()
    for at in (0x2000, 0x3000):
        assert made.read_block(FIRMWARE, at, 0x1000) == bytes(0x1000)
        made.write(FIRMWARE, at, 0)


def test_driver_down_is_answered_after_50_us() -> None:
    session = single().session()
    made = session.chip.pcie
    assert made is not None
    made.connect(lambda: None)
    before = session.chip.clock.time
    made.write(FIRMWARE, 0x1684, 4)
    assert made.read(CONFIG, 0x18C) == 0x08800000
    assert session.chip.clock.time - before == 50_000  # silicon-facts.md b: 50, 50, 54


# -- channels


def test_a_channel_that_nobody_opened_is_all_zeros() -> None:
    made = card()
    assert made.read_block(CHANNELS, 0x040, 16) == bytes(16)
    made.write(CHANNELS, 0x040, 0x00050000)  # as a launch on it: without effect
    assert made.read(CHANNELS, 0x040) == 0


def test_a_channel_shows_its_list_and_counts_from_1_to_its_length() -> None:
    made = card()
    channel = chip_of(made).vdma.channel(16)
    channel.open(HostBufferInfo(0, 0x12_3457_0000, 512, 32, 784))
    assert made.read_block(CHANNELS, 0x210, 16) == struct.pack("<4I", 0x00002801, 0, 0x34570000, 0x12)
    channel.register, channel.available, channel.claimed, channel.processed = 8, 40, 34, 32
    assert made.read(CHANNELS, 0x210) == 0x00082801
    assert made.read(CHANNELS, 0x214) == 2 << 16 | 32
    channel.open(HostBufferInfo(0, 0, 512, 1 << 16, 784))
    channel.claimed = channel.processed = 1 << 16
    assert made.read(CHANNELS, 0x210) == 1 and made.read(CHANNELS, 0x214) == 0
    assert layout.length_of(0x2801) == 32 and layout.length_of(0x1) == 1 << 16


# -- who watches


def test_each_access_is_told_once_with_its_fields() -> None:
    made = card()
    seen: list[Access] = []
    made.watch(seen.append)
    made.write(CONFIG, 0x188, 0x01000002)
    made.read(CONFIG, 0x188, 1)
    made.write_block(FIRMWARE, 0, b"abcd")
    made.read_block(CONFIG, 0x708, 8)
    said = [(one.what, one.name, one.bar, one.offset, one.value, one.data) for one in seen]
    assert said == [
        ("write", "IMASK_HOST", 0, 0x188, 0x01000002, b""),
        ("read", "IMASK_HOST", 0, 0x188, 0x01000002, b""),
        ("write", "control request", 4, 0, 0, b"abcd"),
        ("read", "ATR0 target low", 0, 0x708, 0x60000000, b""),
        ("read", "ATR0 target high", 0, 0x70C, 0, b""),
    ]
    assert dict(seen[0].fields) == {"sources": 2, "destinations": 0, "unnamed": 0, "event": 0, "software": 1}


# -- boot


def test_the_bootloaders_memory_is_there_while_it_waits() -> None:
    made = card()
    with pytest.raises(RegisterFaultError, match="nothing is known there"):
        _at(made, 0x12345000, lambda: made.read_block(FIRMWARE, 0, 4))
    with pytest.raises(RegisterFaultError, match="the firmware runs, no bootloader answers"):
        _at(made, 0xC0000, lambda: made.read_block(FIRMWARE, 0, 4))
    with pytest.raises(RegisterFaultError, match="boot status of a firmware that runs: not known"):
        _at(made, 0xE0000, lambda: made.read_block(FIRMWARE, 0, 4))
    made.power_on()
    assert made.boot.phase is BootState.BOOTLOADER and made.read(CONFIG, 0x708) == 0
    assert _at(made, 0xE0000, lambda: made.read_block(FIRMWARE, 0, 4)) == b"\1\0\0\0"
    _at(made, 0xC0000, lambda: made.write_block(FIRMWARE, 0x10, b"code"))
    assert _at(made, 0xC0000, lambda: made.read_block(FIRMWARE, 0x0E, 8)) == b"\0\0code\0\0"
    for address, data, why in ((0xE0000, b"\0" * 4, "read only"), (0xE0980 - 0x980, b"\2\0\0\0", "takes 1")):
        at = 0x980 if why == "takes 1" else 0
        with pytest.raises(RegisterFaultError, match=why):
            _at(made, address, lambda at=at, data=data: made.write_block(FIRMWARE, at, data))  # type: ignore[misc]


def test_what_was_under_way_is_forgotten_at_power_on() -> None:
    """A reset that began before does not end behind it."""
    made = card()
    made.write(FIRMWARE, 0x1684, 8)
    made.power_on()
    clock = chip_of(made).clock
    clock.run_to(10_000_000)
    assert made.read(CONFIG, 0x18C) == 0 and made.boot.phase is BootState.BOOTLOADER


def test_nobody_hears_the_doorbell_without_a_firmware() -> None:
    made = card()
    made.power_on()
    before = chip_of(made).clock.time
    for bell in (1, 2, 4, 8):
        made.write(FIRMWARE, 0x1684, bell)
    assert made.read(CONFIG, 0x18C) == 0 and chip_of(made).clock.time == before


def _at(made: PcieCard, target: int, act: Callable[[], Any]) -> Any:
    """With the window of ATR0 on a device address."""
    before = made.read(CONFIG, 0x708)
    made.write(CONFIG, 0x708, target)
    try:
        return act()
    finally:
        made.write(CONFIG, 0x708, before)


def test_a_soft_reset_takes_its_time_and_forgets_all() -> None:
    session = single().session()
    chip, made = session.chip, session.chip.pcie
    assert made is not None and chip.applications
    began = chip.clock.time
    made.connect(lambda: None)
    made.write(CONFIG, 0x18C, 0xFFFFFFFF)
    made.write(FIRMWARE, 0x1684, 8)
    assert not chip.applications and made.read(CONFIG, 0x708) == 0
    chip.clock.run_until(lambda: bool(made.read(CONFIG, 0x18C)))
    assert made.read(CONFIG, 0x18C) == 0x01800000
    assert chip.clock.time - began == 1_200_000  # silicon-facts.md b: within 1.2 ms
    chip.clock.run_until(lambda: made.boot.phase is BootState.BOOTLOADER)
    assert chip.clock.time - began == 1_200_000 + 4_700_000


def test_streams_of_a_card_are_those_of_its_list() -> None:
    """Behind the ENABLE of an application its channels stand as silicon shows them (silicon-facts.md c)."""
    session = single().session()
    made = session.chip.pcie
    assert made is not None
    session.chip.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    for index in (IN, OUT):
        channel = session.chip.vdma.channels[index]
        base = made.read(CHANNELS, layout.host_half(index, 16))
        assert base == (channel.length.bit_length() - 1) << 11 | 1
        assert made.read(CHANNELS, layout.host_half(index, 16) + 4) == 0
