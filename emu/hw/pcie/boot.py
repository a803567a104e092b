"""The firmware's way from reset to running: the bootloader's memory behind ATR0, the trigger, the times it takes.

silicon-facts.md b and e, vdma.md 9: the driver writes the firmware file through a window of 4 KiB to its device
addresses, sets the trigger, and the card tells when it is up. What a wrong image does is not known: here it never
comes up (house rule).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from typing import ClassVar

from msgspec import Struct

from emu.chips.chips import BootTimes
from emu.hw.clock import Clock
from emu.hw.pcie.declare import RegisterFaultError
from emu.hw.unit import Unit

BAR = 4
FIRMWARE_HEADER = struct.Struct("<6I")  # magic, version of the header, major, minor, revision, bytes of code
MAGIC = 0x1DD89DE0
MOST_APP_CODE, MOST_CORE_CODE = 0x40000, 0x20000
BOOT_STATUS, APP_HEADER, KEY_CERTIFICATE, CONTENT_CERTIFICATE = 0xE0000, 0xE0030, 0xE0048, 0xE0390
APP_CODE, CORE_HEADER, CORE_CODE = 0x60000, 0xA0000, 0xC0000
TRIGGER = 0xE0980
AWAITS_FIRMWARE = 1  # the boot status of a bootloader that waits


class BootState(Enum):
    """Where the firmware is."""

    BOOTLOADER = "waits for the firmware"
    BOOTING = "boots"
    RUNNING = "runs"
    RESETTING = "resets"


class Section(Struct, frozen=True):
    """Memory that the bootloader offers, by its device address."""

    name: str
    address: int
    size: int


SECTIONS = (
    Section("boot status", BOOT_STATUS, 4),
    Section("app header", APP_HEADER, KEY_CERTIFICATE - APP_HEADER),
    Section("key certificate", KEY_CERTIFICATE, CONTENT_CERTIFICATE - KEY_CERTIFICATE),
    Section("content certificate", CONTENT_CERTIFICATE, TRIGGER - CONTENT_CERTIFICATE),
    Section("boot trigger", TRIGGER, 4),
    Section("app code", APP_CODE, MOST_APP_CODE),
    Section("core header", CORE_HEADER, FIRMWARE_HEADER.size),
    Section("core code", CORE_CODE, MOST_CORE_CODE),
    Section("board configuration", 0x60001000, 0x500),
    Section("firmware configuration", 0x60001500, 0x500),
)


class Boot(Unit):
    """`ended` hears that a reset is done (False) or that the firmware is up (True)."""

    name: ClassVar[str] = "firmware boot"
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    def __init__(self, clock: Clock, times: BootTimes, ended: Callable[[bool], None]) -> None:
        self.phase = BootState.RUNNING
        self._clock = clock
        self._times = times
        self._ended = ended
        self._memory: dict[str, bytearray] = {}
        self._turn = 0

    def reset(self) -> None:
        """A reset of the NN core is none of the card."""

    def state(self, now: int) -> tuple[object, ...]:
        return (self.phase.value,)

    @property
    def running(self) -> bool:
        return self.phase is BootState.RUNNING

    def power_on(self) -> None:
        """Nothing is loaded, the bootloader waits."""
        self._turn += 1
        self._memory.clear()
        self.phase = BootState.BOOTLOADER

    def soft_reset(self) -> None:
        """The firmware goes down; the card says so, and the bootloader is there some time after."""
        self._turn += 1
        turn, now = self._turn, self._clock.time
        self.phase = BootState.RESETTING
        self._clock.at(now + round(self._times.soft_reset_ns), lambda: self._down(turn))

    def _down(self, turn: int) -> None:
        if turn == self._turn:
            self._clock.at(self._clock.time + round(self._times.bootloader_ns), lambda: self._waits(turn))
            self._ended(False)

    def _waits(self, turn: int) -> None:
        if turn == self._turn:
            self.power_on()

    def _up(self, turn: int) -> None:
        if turn == self._turn:
            self.phase = BootState.RUNNING
            self._ended(True)

    # -- memory by device address

    def read(self, address: int, size: int, offset: int) -> bytes:
        """Memory of the bootloader; `offset` is where in BAR4 it is asked for."""
        section = self._section(address, size, offset)
        if section.address == BOOT_STATUS:
            if self.phase not in (BootState.BOOTLOADER, BootState.RESETTING):
                raise RegisterFaultError(f"boot status of a firmware that {self.phase.value}: not known", BAR, offset)
            waits = AWAITS_FIRMWARE if self.phase is BootState.BOOTLOADER else 0
            return waits.to_bytes(4, "little")[:size]
        self._check_waiting(section, offset)
        memory = self._memory.get(section.name, bytes(section.size))
        at = address - section.address
        return bytes(memory[at : at + size])

    def write(self, address: int, data: bytes, offset: int) -> None:
        """Memory of the bootloader; 1 to the trigger starts the firmware."""
        section = self._section(address, len(data), offset)
        self._check_waiting(section, offset)
        if section.address == BOOT_STATUS:
            raise RegisterFaultError("boot status is read only", BAR, offset)
        if section.address == TRIGGER:
            if data != (1).to_bytes(4, "little"):
                raise RegisterFaultError(f"boot trigger takes 1, not {data.hex()}", BAR, offset)
            self._start()
            return
        memory = self._memory.setdefault(section.name, bytearray(section.size))
        at = address - section.address
        memory[at : at + len(data)] = data

    def _section(self, address: int, size: int, offset: int) -> Section:
        for section in SECTIONS:
            if section.address <= address and address + size <= section.address + section.size:
                return section
        raise RegisterFaultError(f"{size} bytes at device address 0x{address:X}: nothing is known there", BAR, offset)

    def _check_waiting(self, section: Section, offset: int) -> None:
        if self.phase is not BootState.BOOTLOADER:
            what = f"{section.name}: the firmware {self.phase.value}, no bootloader answers"
            raise RegisterFaultError(what, BAR, offset)

    def _start(self) -> None:
        self.phase = BootState.BOOTING
        if self._sound("app header", "app code") and self._sound("core header", "core code"):
            turn = self._turn
            self._clock.at(self._clock.time + round(self._times.boot_ns), lambda: self._up(turn))

    def _sound(self, header: str, code: str) -> bool:
        """Whether a header is one of this chip's firmware, and as much code was written as it says."""
        magic, version, *_, size = FIRMWARE_HEADER.unpack(bytes(self._memory.get(header, bytes(FIRMWARE_HEADER.size))))
        section = next(one for one in SECTIONS if one.name == code)
        return magic == MAGIC and not version and 0 < size <= section.size and code in self._memory
