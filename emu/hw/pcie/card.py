"""What lies behind a card's registers: interrupts, mailboxes, doorbell, channels, translations (silicon-facts.md e).

The host reads and writes words of the BARs; everything else follows. An access takes no simulated time of its own
(house rule: the host's share of a frame is in its profile), but a control message takes what the firmware needs for
it: the doorbell returns when the reply lies in its mailbox.

While nobody watches, a driver that launches, hears of interrupts and asks how far a channel is in the one way that
there is may be spared the accesses: what they come to is done at once, with the same result (tests/host/test_pcie.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Protocol

from msgspec import Struct

from emu.chips.chips import BootTimes, Profile
from emu.hw.border import HostPort
from emu.hw.clock import Clock
from emu.hw.pcie import layout
from emu.hw.pcie.boot import Boot
from emu.hw.pcie.declare import ALL_ONES, WORD, Bar, Place, RegisterFaultError, written
from emu.hw.pcie.layout import CONFIG, FIRMWARE, Ring, Software
from emu.hw.pcie.mailboxes import Mailboxes
from emu.hw.probe import Access, Probe
from emu.hw.unit import Unit
from emu.hw.vdma import Channel, Vdma
from emu.wire.control import Opcode, encode_request

_ACTIVE = 0b01  # control of a channel that the firmware opened, whatever its stream waits for (silicon-facts.md c)
_MOST_COUNTED = 1 << 16  # a list of so many descriptors counts to one less


class Behind(Protocol):
    """The chip as its card needs it."""

    clock: Clock
    vdma: Vdma
    probe: Probe
    profile: Profile

    def control(self, request: bytes) -> bytes: ...

    def launch(self, packed: int, num_available: int) -> None: ...

    def num_processed(self, packed: int) -> int: ...

    def attach_host(self, host: HostPort, first_frame: int = 0) -> None: ...

    def tell_of(self, interrupt: Callable[[int, Sequence[int]], None]) -> None: ...

    def restart(self) -> None: ...


class Log:
    """The ring in which a CPU of the firmware logs: how far the host and the chip are, and nothing in it.

    What the firmware writes there is not known, so it writes nothing.
    """

    def __init__(self) -> None:
        self._host = 0

    def read(self, offset: int, size: int) -> bytes:
        return struct.pack("<II", self._host, 0).ljust(layout.PAGE, b"\0")[offset : offset + size]

    def write(self, offset: int, data: bytes) -> None:
        """The host read so far."""
        if offset or len(data) != WORD or any(data):
            raise RegisterFaultError("the host moves host_offset alone, and nothing was logged", FIRMWARE, offset)


class _Part(Struct, frozen=True):
    """A part of the control section."""

    name: str
    begin: int
    end: int


_PARTS = (
    _Part("control request", layout.REQUEST, layout.REPLY),
    _Part("control reply", layout.REPLY, layout.NOTIFICATION),
    _Part("notification", layout.NOTIFICATION, layout.PAGE),
)


class PcieCard(Unit):
    """The BARs of one chip; it is made as the driver leaves it: firmware loaded, its interrupts off.

    `vector` is what the message-signalled interrupt comes to, `spare` tells a driver whether it is spared accesses.
    `launch`, `num_processed` and `control` are what those come to.
    """

    name: ClassVar[str] = "PCIe registers"
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    def __init__(self, chip: Behind, times: BootTimes) -> None:
        self._chip = chip
        self._first_d2h = chip.profile.first_d2h_channel
        self.boot = Boot(chip.clock, times, self._boot_ended)
        self.logs = (Log(), Log())
        self.vector: Callable[[], None] | None = None
        self.spare: Callable[[bool], None] | None = None
        self.launch, self.num_processed = chip.launch, chip.num_processed
        self._host: HostPort | None = None
        self._words: dict[tuple[int, int], int] = {}
        self._mailboxes = Mailboxes()
        self._passed: dict[int, list[int]] = {}
        self._not_before = 0
        self._translate(0, layout.CONTROL_SECTION)
        self._translate(1, layout.BLOCK_SECTION)

    # -- as a unit

    def parts(self) -> Iterable[Unit]:
        return (self.boot,)

    def reset(self) -> None:
        """No reset of the chip's units reaches the bridge; `Ring.SOFT_RESET` does."""

    def state(self, now: int) -> tuple[object, ...]:
        """Between two accesses of a driver nothing is pending."""
        return (self._word(CONFIG, layout.INTERRUPT_STATUS),)

    # -- who is there

    def connect(self, vector: Callable[[], None], spare: Callable[[bool], None] | None = None) -> None:
        """A driver takes the interrupts. `spare` is called with whether it is spared accesses, at once and whenever
        that changes; a driver without it makes each of them."""
        self.vector, self.spare = vector, spare
        self._route()

    def watch(self, hook: Callable[[Access], None]) -> None:
        """Let somebody see every access from now on."""
        self._chip.probe.register_hooks.append(hook)
        self._route()

    @property
    def spared(self) -> bool:
        """Whether the driver is spared the accesses."""
        return self.spare is not None and not self._chip.probe.register_hooks

    def attach(self, host: HostPort, first_frame: int = 0) -> None:
        """Whose frames they are: what the simulation asks of the host beside all registers."""
        self._host = host
        self._chip.attach_host(host, first_frame)
        self._route()

    def _route(self) -> None:
        if self._host is not None:
            self._chip.tell_of(self._host.interrupt if self.spared else self.channel_done)
        if self.spare is not None:
            self.spare(self.spared)

    # -- accesses

    def read(self, bar: int, offset: int, size: int = WORD) -> int:
        """A word, or a part of one; RegisterFaultError where nothing is known to be."""
        window = self._bar(bar).window(offset, size)
        if window is not None:
            return int.from_bytes(self.read_block(bar, offset, size), "little")
        within = offset % WORD
        place = self._at(bar, offset - within)
        if size not in (1, 2, WORD) or within + size > WORD:
            raise RegisterFaultError(f"{place.name}: {size} bytes cannot be read", bar, offset)
        if place.register.unread:
            raise RegisterFaultError(f"{place.name} is write only", bar, offset)
        value = self._value(bar, offset - within, place)
        if self._chip.probe.register_hooks:
            self._tell(False, bar, offset - within, place.name, WORD, value, place.values(value))
        return value >> 8 * within & (1 << 8 * size) - 1

    def write(self, bar: int, offset: int, value: int, size: int = WORD) -> None:
        """A word. RegisterFaultError where nothing is known to be, and for a read-only field that would change."""
        if not 0 <= value < 1 << 8 * size:
            raise RegisterFaultError(f"{value} does not fit {size} bytes", bar, offset)
        if self._bar(bar).window(offset, size) is not None:
            self.write_block(bar, offset, value.to_bytes(size, "little"))
            return
        place = self._at(bar, offset)
        if size != WORD:
            raise RegisterFaultError(f"{place.name}: {size} bytes cannot be written", bar, offset)
        held = written(place, self._value(bar, offset, place), value, bar, offset)
        if self._chip.probe.register_hooks:
            self._tell(True, bar, offset, place.name, WORD, value, place.values(value))
        register = place.register
        if register.read is None and not register.unread:
            self._words[bar, offset] = held
        if register.write is not None:
            register.write(self, place.number, held)

    def read_block(self, bar: int, offset: int, size: int) -> bytes:
        """Bytes of a window, or words of registers one after the other."""
        window = self._bar(bar).window(offset, size)
        if window is None:
            if offset % WORD or size % WORD:
                raise RegisterFaultError(f"{size} bytes are no words", bar, offset)
            return b"".join(self.read(bar, at).to_bytes(WORD, "little") for at in range(offset, offset + size, WORD))
        data = window.read(self, offset - window.offset, size)
        if self._chip.probe.register_hooks:
            self._tell_block(False, bar, offset, window.name, data)
        return data

    def write_block(self, bar: int, offset: int, data: bytes) -> None:
        """Bytes of a window, or words of registers one after the other."""
        window = self._bar(bar).window(offset, len(data))
        if window is None:
            if offset % WORD or len(data) % WORD:
                raise RegisterFaultError(f"{len(data)} bytes are no words", bar, offset)
            for at in range(0, len(data), WORD):
                self.write(bar, offset + at, int.from_bytes(data[at : at + WORD], "little"))
            return
        if self._chip.probe.register_hooks:
            self._tell_block(True, bar, offset, window.name, data)
        window.write(self, offset - window.offset, data)

    def _bar(self, number: int) -> Bar:
        found = layout.bars(self._chip.profile.channels_per_engine, self._first_d2h).get(number)
        if found is None:
            raise RegisterFaultError("no such BAR: there are 0, 2 and 4", number, 0)
        return found

    def _at(self, bar: int, offset: int) -> Place:
        return self._bar(bar).at(offset)

    def _value(self, bar: int, offset: int, place: Place) -> int:
        register = place.register
        if register.read is not None:
            return register.read(self, place.number)
        return self._words.get((bar, offset), register.reset)

    def _word(self, bar: int, offset: int) -> int:
        return self._words.get((bar, offset), 0)

    # -- who watches

    @property
    def _ns(self) -> int:
        return max(self._chip.clock.time, self._not_before)

    def _tell(
        self, write: bool, bar: int, offset: int, name: str, size: int, value: int, fields: Mapping[str, int]
    ) -> None:
        access = Access(self._ns, "write" if write else "read", name, bar, offset, size, value, fields)
        for hook in self._chip.probe.register_hooks:
            hook(access)

    def _tell_block(self, write: bool, bar: int, offset: int, name: str, data: bytes) -> None:
        if bar == FIRMWARE and self._shows_mailboxes and offset < layout.PAGE:
            name = next(part.name for part in _PARTS if part.begin <= offset < part.end)
        access = Access(self._ns, "write" if write else "read", name, bar, offset, len(data), data=data)
        for hook in self._chip.probe.register_hooks:
            hook(access)

    # -- interrupts

    def channel_done(self, packed: int, processed_ns: Sequence[int]) -> None:
        """A descriptor of a boundary channel that asks for the host's interrupt was processed."""
        self._passed.setdefault(packed, []).extend(processed_ns)
        offset = layout.DESTINATIONS if packed >= self._first_d2h else layout.SOURCES
        self._words[CONFIG, offset] = self._word(CONFIG, offset) | 1 << packed
        self._raise(layout.group_bit(packed, self._first_d2h))

    def passed(self, packed: int) -> Sequence[int]:
        """When the frames of a channel were through of which no interrupt has told yet: of no register, for figures."""
        return self._passed.pop(packed, ())

    def notify(self, message: bytes, now: int) -> None:
        """The firmware has an event for the host; one that was not read is overwritten (driver-ioctl-4.23.md 3)."""
        if self.spared:
            return
        if layout.NOTIFICATION + layout.EVENT_HEAD.size + len(message) > layout.PAGE:
            what = f"an event of {len(message)} bytes: where its end lies is not known"
            raise RegisterFaultError(what, FIRMWARE, layout.NOTIFICATION)
        self._mailboxes.write(layout.NOTIFICATION, layout.EVENT_HEAD.pack(1, len(message)) + message)
        self._not_before = now
        self._raise(layout.software(Software.NOTIFICATION))
        self._not_before = 0

    def _raise(self, bits: int) -> None:
        status = self._words[CONFIG, layout.INTERRUPT_STATUS] = (
            self._word(CONFIG, layout.INTERRUPT_STATUS) | bits | layout.EVENT
        )
        if not self._word(CONFIG, layout.INTERRUPT_MASK) & bits or self.vector is None:
            return
        for hook in self._chip.probe.register_hooks:
            hook(Access(self._ns, "interrupt", "MSI", value=status))
        self.vector()

    # -- channels

    def _channel(self, index: int) -> Channel | None:
        """The channel that an application opened."""
        found = self._chip.vdma.channels.get(index)
        return found if found is not None and found.host_opened and found.buffer is not None else None

    def channel_base(self, index: int) -> int:
        """The base word of the host's half: who is not open has all zeros (house rule)."""
        channel = self._channel(index)
        if channel is None:
            return 0
        depth = (channel.length - 1).bit_length() % 16  # 16 is written as 0
        return channel.register << 16 | depth << 11 | _ACTIVE

    def channel_counts(self, index: int) -> int:
        """num_ongoing and num_processed; they run from 1 to the length of the list (vdma.md 2.2)."""
        channel = self._channel(index)
        if channel is None:
            return 0
        return _counted(channel.claimed, channel.length) << 16 | _counted(channel.processed, channel.length)

    def list_address(self, index: int) -> int:
        """The descriptor list of a channel."""
        channel = self._channel(index)
        return 0 if channel is None or channel.buffer is None else channel.buffer.dma_address

    # -- mailboxes

    @property
    def _target(self) -> int:
        low = layout.TRANSLATIONS + layout.TARGET
        return self._word(CONFIG, low + WORD) << 32 | self._word(CONFIG, low)

    @property
    def _shows_mailboxes(self) -> bool:
        return self.boot.running and self._target == layout.CONTROL_SECTION

    def read_section(self, offset: int, size: int) -> bytes:
        """What ATR0 shows: the mailboxes of a firmware that runs, the memory of the bootloader."""
        if self._shows_mailboxes:
            _within(offset, size)
            return self._mailboxes.read(offset, size)
        return self.boot.read(self._target + offset, size, offset)

    def write_section(self, offset: int, data: bytes) -> None:
        """As `read_section`; of the notification the host writes no more than that it has read it."""
        if not self._shows_mailboxes:
            self.boot.write(self._target + offset, data, offset)
            return
        part = _within(offset, len(data))
        if part.begin == layout.REPLY or (part.begin == layout.NOTIFICATION and (offset, data) != _READ):
            raise RegisterFaultError(f"{part.name} is read only", FIRMWARE, offset)
        self._mailboxes.write(offset, data)

    def ring(self, bits: Ring) -> None:
        """The doorbell; nobody hears it while no firmware runs."""
        if not self.boot.running:
            return
        if bits & Ring.SOFT_RESET:
            self._chip.restart()
            self._translate(0, 0)
            self._translate(1, 0)
            self.boot.soft_reset()
        elif bits & Ring.DRIVER_DOWN:
            self._chip.control(encode_request(Opcode.SIGNAL_DRIVER_DOWN))
            self._raise(layout.software(Software.DRIVER_DOWN))
        elif bits:
            self._serve()

    def control(self, request: bytes) -> bytes | None:
        """What the doorbell comes to where the firmware hears it and its interrupt reaches the driver; else None."""
        heard = self._shows_mailboxes and self._word(CONFIG, layout.INTERRUPT_MASK) & layout.software(Software.CONTROL)
        if not heard or len(request) > layout.MOST_REQUEST:
            return None
        self._mailboxes.leave(layout.REQUEST, request, bytes(-len(request) % WORD))
        reply = self._chip.control(request)
        self._mailboxes.leave(layout.REPLY, reply)
        return reply

    def _serve(self) -> None:
        mailboxes = self._mailboxes
        sum_, length = layout.HEAD.unpack(mailboxes.read(layout.REQUEST, layout.HEAD.size))
        message = mailboxes.read(layout.REQUEST + layout.HEAD.size, length)
        if length > layout.MOST_REQUEST or sum_ != layout.message_digest(message):
            what = f"a control message of {length} bytes whose MD5 or size is wrong: what comes of it is not known"
            raise RegisterFaultError(what, FIRMWARE, layout.DOORBELL)
        mailboxes.leave(layout.REPLY, self._chip.control(message))
        self._raise(layout.software(Software.CONTROL))

    # -- firmware

    def power_on(self) -> None:
        """As behind a reset of the slot: no interrupt enabled, no firmware."""
        self._words.clear()
        self._mailboxes = Mailboxes()
        self._passed.clear()
        self._chip.restart()
        self.boot.power_on()

    def _boot_ended(self, up: bool) -> None:
        if up:
            self._translate(0, layout.CONTROL_SECTION)
            self._translate(1, layout.BLOCK_SECTION)
        self._raise(layout.software(Software.NOTIFICATION | Software.CONTROL if up else Software.SOFT_RESET))

    def _translate(self, number: int, target: int) -> None:
        """An address translation, as the firmware leaves it."""
        at = layout.TRANSLATIONS + number * layout.TRANSLATION_STRIDE
        for word, value in enumerate(
            (layout.WINDOW | number << 12, 0, target, 0, layout.TRANSLATED) if target else [0] * 5
        ):
            self._words[CONFIG, at + WORD * word] = value & ALL_ONES


_READ = (layout.NOTIFICATION, bytes(2))


def _within(offset: int, size: int) -> _Part:
    for part in _PARTS:
        if part.begin <= offset and offset + size <= part.end:
            return part
    raise RegisterFaultError(f"{size} bytes lie in no one mailbox", FIRMWARE, offset)


def _counted(descriptors: int, length: int) -> int:
    if not descriptors or not length:
        return 0
    return descriptors % length if length >= _MOST_COUNTED else (descriptors - 1) % length + 1
