"""The driver of a card: control messages, launches and interrupts through its registers alone (silicon-facts.md e).

It does access by access what the driver of HailoRT 4.23 does (vdma.md 9). That an access needs no simulated time, and
an interrupt none to arrive, are house rules: what the host takes for a frame is a number of its profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from emu.chips.chips import Profile
from emu.errors import HailoError, HailoStatus
from emu.hw.border import Bars, ChipPort, CoreModel, HostPort, Model, StreamLabel, Surroundings
from emu.hw.clock import Clock
from emu.hw.hostmem import HostMemory
from emu.hw.notifications import RunTimeError
from emu.hw.pcie import layout
from emu.hw.pcie.layout import CHANNELS, CONFIG, FIRMWARE, Ring, Software, message_digest
from emu.sequencer.program import Program
from emu.wire.control import of_app_cpu

_LOW_WORD = 0xFFFF
_STARTED = 1


class Card(ChipPort, Protocol):
    """A chip that may have registers."""

    profile: Profile

    @property
    def bars(self) -> Bars | None: ...


def port_of(chip: Card) -> ChipPort:
    """How the host reaches a chip: through the registers of a card; one that is part of its host as it is."""
    bars = chip.bars
    return chip if bars is None else PciePort(chip, bars, chip.profile.first_d2h_channel)


class PciePort:
    """`emu.hw.border.ChipPort` over the registers of a card; `chip` is the world around them: time, memory, outcome.

    `notification` is the last event of the firmware, of which `on_notification` tells.
    """

    clock: Clock
    host_memory: HostMemory

    def __init__(self, chip: Surroundings, bars: Bars, first_d2h: int) -> None:
        self.clock, self.host_memory = chip.clock, chip.host_memory
        self.notification = b""
        self.on_notification: Callable[[], None] = _nothing
        self.launch: Callable[[int, int], None] = self._launch
        self.num_processed: Callable[[int], int] = self._num_processed
        self._chip = chip
        self.bars = bars
        self._first_d2h = first_d2h
        self._host: HostPort | None = None
        self._spared = False
        self._told = Software(0)
        self._handling = False
        bars.connect(self._interrupt, self._spare)
        self.enable_interrupts()

    def _spare(self, spared: bool) -> None:
        """Accesses that nobody watches need not be made."""
        bars = self.bars
        self._spared = spared
        self.launch, self.num_processed = (
            (bars.launch, bars.num_processed) if spared else (self._launch, self._num_processed)
        )

    # -- channels

    def _half(self, packed: int) -> int:
        return layout.host_half(packed, self._first_d2h)

    def _launch(self, packed: int, num_available: int) -> None:
        half = self._half(packed)
        base = self.bars.read(CHANNELS, half)
        self.bars.write(CHANNELS, half, base & _LOW_WORD | (num_available & _LOW_WORD) << 16)

    def _num_processed(self, packed: int) -> int:
        half = self._half(packed)
        counts, base = self.bars.read(CHANNELS, half + layout.COUNTS), self.bars.read(CHANNELS, half)
        return counts & layout.length_of(base) - 1

    def active(self, packed: int) -> bool:
        """Whether the firmware has opened a channel."""
        return bool(self.bars.read(CHANNELS, self._half(packed)) & _STARTED)

    # -- interrupts

    def attach_host(self, host: HostPort, first_frame: int = 0) -> None:
        self._host = host
        self.bars.attach(host, first_frame)

    def enable_interrupts(self) -> None:
        """Unmask them and forget what is pending."""
        bars = self.bars
        bars.write(CONFIG, layout.INTERRUPT_MASK, bars.read(CONFIG, layout.INTERRUPT_MASK) | layout.MASKED)
        for offset in (layout.INTERRUPT_STATUS, layout.DESTINATIONS, layout.SOURCES):
            bars.write(CONFIG, offset, layout.EVERYTHING)

    def disable_interrupts(self) -> None:
        self.bars.write(CONFIG, layout.INTERRUPT_MASK, 0)

    def _interrupt(self) -> None:
        """Read what it is, clear it, until nothing is left."""
        if self._handling:
            return  # whoever handles comes to it
        self._handling = True
        try:
            while status := self._cleared(layout.INTERRUPT_STATUS):
                channels = 0
                if status & layout.SOURCE_GROUPS:
                    channels |= self._cleared(layout.SOURCES)
                if status & layout.DESTINATION_GROUPS:
                    channels |= self._cleared(layout.DESTINATIONS)
                self._told |= Software(status >> 24)
                if status & layout.software(Software.NOTIFICATION):
                    self._read_notification()
                while channels:
                    lowest = channels & -channels
                    channels ^= lowest
                    self._of_channel(lowest.bit_length() - 1)
        finally:
            self._handling = False

    def _of_channel(self, packed: int) -> None:
        passed = self.bars.passed(packed)
        if self._host is not None:
            self._host.interrupt(packed, passed)

    def _cleared(self, offset: int) -> int:
        value = self.bars.read(CONFIG, offset)
        if value:
            self.bars.write(CONFIG, offset, value)
        return value

    def _read_notification(self) -> None:
        bars, at, head = self.bars, layout.NOTIFICATION, layout.EVENT_HEAD
        if not self.loaded:
            return  # the same bit tells the end of a boot, before there is any
        fresh, size = head.unpack(bars.read_block(FIRMWARE, at, head.size))
        if fresh:
            self.notification = bars.read_block(FIRMWARE, at + head.size, size)
            bars.write(FIRMWARE, at, 0, 2)
            self.on_notification()

    # -- control messages and doorbells

    @property
    def loaded(self) -> bool:
        """Whether the firmware runs: its mailboxes lie behind ATR0."""
        return self.bars.read(CONFIG, layout.TRANSLATIONS + layout.TARGET) == layout.CONTROL_SECTION

    def control(self, request: bytes) -> bytes:
        """Serve one control message. HailoError where no firmware runs, and where it does not answer."""
        bars, head = self.bars, layout.HEAD
        if self._spared and (done := bars.control(request)) is not None:
            return done
        if not self.loaded:
            raise HailoError(HailoStatus.HAILO_DRIVER_OPERATION_FAILED, "no firmware runs on the card")
        if len(request) > layout.MOST_REQUEST:
            what = f"a control message of {len(request)} bytes, the card's mailbox takes {layout.MOST_REQUEST}"
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, what)
        data = head.pack(message_digest(request), len(request)) + request
        bars.write_block(FIRMWARE, layout.REQUEST, data + bytes(-len(data) % 4))
        self.ring(Ring.APP_CPU if of_app_cpu(request) else Ring.CORE_CPU, Software.CONTROL)
        digest, size = head.unpack(bars.read_block(FIRMWARE, layout.REPLY, head.size))
        reply = bars.read_block(FIRMWARE, layout.REPLY + head.size, size)
        if message_digest(reply) != digest:
            raise HailoError(HailoStatus.HAILO_CONTROL_RESPONSE_MD5_MISMATCH, "a reply is not what its MD5 says")
        return reply

    def driver_down(self) -> None:
        """The driver goes: the firmware leaves whatever runs, and says so."""
        self.ring(Ring.DRIVER_DOWN, Software.DRIVER_DOWN)

    def ring(self, bits: Ring, answer: Software, patience_ns: int = 0) -> None:
        """Ring the doorbell, and wait for the interrupt that answers it."""
        knock = partial(self.bars.write, FIRMWARE, layout.DOORBELL, int(bits))
        self.answer_to(knock, answer, f"doorbell {bits.name}", patience_ns)

    def answer_to(self, act: Callable[[], object], answer: Software, what: str, patience_ns: int = 0) -> None:
        """Do something and wait for the software interrupt that answers it; HAILO_DRIVER_TIMEOUT where none comes."""
        self._told &= ~answer
        act()
        clock = self.clock
        if patience_ns and not self._told & answer:
            end = clock.time + patience_ns
            clock.at(end, _nothing)  # time passes, whatever else happens
            clock.run_until(lambda: bool(self._told & answer) or clock.time >= end)
        if not self._told & answer:
            raise HailoError(HailoStatus.HAILO_DRIVER_TIMEOUT, f"{what}: the card does not answer")

    # -- the world around

    def map_memory(self, program: Program) -> None:
        self._chip.map_memory(program)

    def unmap_memory(self, program: Program) -> None:
        self._chip.unmap_memory(program)

    def name_streams(self, application: int, labels: Mapping[int, StreamLabel]) -> None:
        self._chip.name_streams(application, labels)

    def compute_with(self, application: int, model: Model | None, core: CoreModel | None = None) -> None:
        self._chip.compute_with(application, model, core)

    def run_until(self, stop: Callable[[], bool]) -> bool:
        return self._chip.run_until(stop)

    @property
    def refusal(self) -> str:
        return self._chip.refusal

    @property
    def error(self) -> RunTimeError | None:
        return self._chip.error

    @property
    def failed(self) -> bool:
        return self._chip.failed

    @property
    def resting(self) -> bool:
        return self._chip.resting

    @property
    def awaits_cache_update(self) -> bool:
        return self._chip.awaits_cache_update


def _nothing() -> None:
    return None
