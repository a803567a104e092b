"""The card: one simulated device behind one node, and what its driver keeps for all open files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from errno import EINVAL, EIO
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from emu.card.calls import CHANNELS
from emu.card.errors import CallError
from emu.card.networks import Networks
from emu.chips.chips import Profile
from emu.chips.runtimes import runtime_profile
from emu.errors import EmuError
from emu.wire.control import ContextSwitchStatus, status_change

if TYPE_CHECKING:
    from emu.card.activity import Activity
    from emu.card.boundary import Boundary
    from emu.card.channels import HostChannel
    from emu.card.memory import ClientMemory
    from emu.host.pcie import PciePort
    from emu.hw.application import Application
    from emu.hw.device import Device
    from emu.hw.faults import Fault
    from emu.hw.handlers.own import OwnHandlers
    from emu.trace.tracer import Tracer
    from emu.wire.notifications import Notification

Version = tuple[int, int, int]
_MOST_ACTIVITIES = 1024


class Answer(NamedTuple):
    """What a call gives: its value, and the argument as it is written back; or `error`, an errno."""

    value: int = 0
    data: bytes | None = None
    error: int = 0


class File(Protocol):
    """An open file, as the card needs it (`emu.card.open_file`)."""

    def release(self) -> None:
        """Give back everything that it holds."""

    def notify(self, message: bytes) -> None:
        """The device sent an event."""

    def answers(self) -> Iterator[tuple[Any, Answer]]:
        """The calls that waited and need not wait any more."""

    @property
    def waits_for_transfers(self) -> bool:
        """Whether a call waits for interrupts."""


class Caller(NamedTuple):
    """Who calls: the process, its memory, and what the answer to a call that waits is given back with."""

    process: int
    memory: ClientMemory
    ticket: Any = None


@dataclass(frozen=True, slots=True)
class CardOptions:
    """What the card is, as the command line says it. `profile`: the device on its link, `runtime`: whose firmware.

    `layout`: bitmap of its clusters (None: its default). `tracer_for` makes the tracer from the runtime, once it is
    known which is spoken, and the clock. `watch` sees the device before anything is sent to it. `counts`: keep what its
    applications did (`Card.activities`). `handlers` as of `OpenDevice`.
    """

    profile: Profile
    runtime: str
    seed: int = 0
    layout: int | None = None
    faults: Sequence[Fault] = ()
    handlers: OwnHandlers = field(default_factory=dict)
    stop_at_hazard: bool = False
    tracer_for: Callable[[str, Callable[[], int]], Tracer] | None = None
    watch: Sequence[Callable[[Device], object]] = ()
    counts: bool = False
    board_location: str = "0000:01:00.0"


class Card:
    """Answers the calls of all files that are open on one node; nobody else moves the simulated time of its device.

    A call is answered before anything happens because of it: `advance` lets the device go on, `answers` then gives what
    calls wait for.
    """

    def __init__(self, options: CardOptions, networks: Networks | None = None) -> None:
        self.options = options
        self.runtime = options.runtime
        self.version: Version = runtime_profile(options.runtime).version  # of driver and firmware
        self.networks = networks or Networks()
        self.files: list[File] = []
        self.in_use_by: File | None = None
        self.engines = options.profile.dma_engines
        self.errors: list[str] = []  # what went wrong on this side, for whoever reports it
        self.activities: list[Activity] = []  # of the applications that were enabled last, in that order
        self._places = 0  # taken by descriptor lists
        self._next_place = 0
        self._device: Device | None = None
        self._port: PciePort | None = None
        self._boundary: Boundary | None = None
        self._told = 0  # notifications that all files have heard of

    # -- the device

    @cached_property
    def channels(self) -> dict[int, HostChannel]:
        """All channels by packed id."""
        from emu.card.channels import HostChannel

        first = self.options.profile.first_d2h_channel
        return {packed: HostChannel(packed, packed % CHANNELS < first) for packed in range(self.engines * CHANNELS)}

    @property
    def device(self) -> Device:
        """The simulated hardware; it is powered on by the first who needs it."""
        return self._device if self._device is not None else self._power_on()

    @property
    def powered(self) -> bool:
        """Whether anybody has needed the device yet."""
        return self._device is not None

    @property
    def boundary(self) -> Boundary:
        """Where the frames of the device go."""
        if self._boundary is None:
            self._power_on()
        assert self._boundary is not None
        return self._boundary

    def speak(self, runtime: str, version: Version) -> None:
        """A client of another release opened the card: driver and firmware are that one's, unless they run already."""
        if self._device is None:
            self.runtime, self.version = runtime, version

    @property
    def next_event_ns(self) -> int | None:
        """When something happens next in simulated time; None: nothing will."""
        if self._device is None or self._device.clock.quiet:
            return None
        return int(self._device.clock.peek())

    def _power_on(self) -> Device:
        # the simulated hardware is loaded by the first who needs it
        from emu.card.boundary import Boundary
        from emu.host.pcie import PciePort
        from emu.hw.device import Device
        from emu.hw.faults import Faults

        options = self.options
        device = Device(
            options.profile.with_firmware(self.version),
            self.runtime,
            seed=options.seed,
            layout=options.layout,
            faults=Faults(options.faults) if options.faults else None,
            own_handlers=options.handlers,
        )
        if options.tracer_for is not None:
            device.trace_with(options.tracer_for(self.runtime, lambda: device.clock.time))
        for watch in options.watch:
            watch(device)
        device.probe.one_by_one |= bool(options.handlers)  # they see every action
        device.probe.stop_at_hazard = options.stop_at_hazard
        device.flows = self.networks.flow
        assert device.bars is not None  # of no other device is a card made
        self._device = device
        self._port = PciePort(device, device.bars, device.profile.first_d2h_channel)
        self._boundary = Boundary(device, self._port, self.channels, self.networks)
        return device

    @property
    def port(self) -> PciePort:
        """The registers of the device, through which it is driven."""
        if self._port is None:
            self._power_on()
        assert self._port is not None
        return self._port

    # -- files

    def closed(self, file: File) -> None:
        """The last descriptor of an open file is gone: everything is given back (driver-ioctl-4.23.md 1.1)."""
        if file not in self.files:
            return
        self.files.remove(file)
        file.release()
        if self.in_use_by is file:
            self.in_use_by = None
            if self._device is not None:
                self._told_down()
        if not self.files and self._device is not None and not self._device.applications:
            self.networks.forget_clients()

    def settle(self) -> None:
        """Whatever is enabled still is counted up to now."""
        if self._boundary is not None and self._device is not None and self._boundary.activity is not None:
            self._boundary.activity.leave(self._device.inspection)
            self._boundary.activity = None

    def _enter(self, application: Application) -> None:
        from emu.card.activity import Activity

        self.settle()
        found = next((one for one in self.activities if one.application is application), None)
        if found is None:
            found = Activity(application)
            self.activities.append(found)
            del self.activities[:-_MOST_ACTIVITIES]
        found.enter(self.networks.network_of(application.index), self.device.clock.time)
        self.boundary.activity = found

    def _told_down(self) -> None:
        self.settle()
        self.port.driver_down()
        self.boundary.application_left()

    def mark_in_use(self, file: File) -> bool:
        """MARK_AS_IN_USE; whether another file has it."""
        if self.in_use_by is None:
            self.in_use_by = file
        return self.in_use_by is not file

    def take_place(self) -> int:
        """A place for a descriptor list: they count on until there is no list left at all.

        What is made up depends on addresses, which therefore are the same for whoever has the card to itself.
        """
        self._places += 1
        self._next_place += 1
        return self._next_place - 1

    def give_place(self) -> None:
        """A descriptor list is gone."""
        self._places -= 1
        if not self._places:
            self._next_place = 0

    def channel(self, engine: int, index: int) -> HostChannel:
        """CallError(EINVAL) for a channel that there is not."""
        if engine >= self.engines or index >= CHANNELS:
            raise CallError(EINVAL, f"channel {index} of engine {engine}")
        return self.channels[engine * CHANNELS + index]

    def runs(self, channel: HostChannel) -> bool:
        """Whether the firmware has opened it."""
        if self._device is None:
            return False
        return self.port.active(channel.packed)

    # -- what happens

    def control(self, message: bytes) -> bytes:
        """One control message; its reply. CallError(EIO) where the simulation itself fails."""
        from emu.hw.execution import State

        device, boundary = self.device, self.boundary
        asked = status_change(message)
        fresh = entering = False
        if asked is not None:
            index = asked.get("application_index", 0)
            entering = asked.get("state_machine_status") == ContextSwitchStatus.ENABLED
            applications = device.applications
            application = applications[index] if entering and index < len(applications) else None
            firmware = device.firmware
            fresh = not (entering and firmware.phase is State.RUNNING and firmware.application is application)
            if fresh and application is not None and application.complete:
                self.networks.bind(application, device)
                if self.options.counts:
                    self._enter(application)
                boundary.application_left()
                self.port.attach_host(boundary, boundary.frames.get(index, 0))
            elif not fresh:
                boundary.batch_switched()
        if fresh and asked is not None and not entering:
            self.settle()
        try:
            reply = self.port.control(message)
        except EmuError as error:
            self.errors.append(error.line())
            raise CallError(EIO, error.line()) from None
        if fresh and asked is not None and asked.get("state_machine_status") == ContextSwitchStatus.RESET:
            boundary.application_left()
        if not device.applications and boundary.frames:
            boundary.frames.clear()
        return reply

    def advance(self, until_ns: int | None = None) -> None:
        """Let the device go on until nothing can move, or until an instant of simulated time."""
        device = self._device
        if device is None:
            return
        try:
            if until_ns is None:
                device.run_until(_never)
            elif until_ns >= device.clock.time:
                device.run_until(lambda: device.clock.peek() > until_ns)
                if device.firmware.error is None and device.clock.peek() > until_ns:
                    device.clock.run_to(until_ns)
        except EmuError as error:
            self.errors.append(error.line())

    def answers(self) -> Iterator[tuple[Any, Answer]]:
        """(ticket, answer) of each call that waited and need not wait any more."""
        self._spread_notifications()
        for file in self.files:
            yield from file.answers()

    def _spread_notifications(self) -> None:
        if self._device is None:
            return
        sent: list[Notification] = self._device.notifications
        if len(sent) > self._told:
            for notification in sent[self._told :]:
                message = notification.encode()
                for file in self.files:
                    file.notify(message)
            self._told = len(sent)

    @property
    def owes(self) -> bool:
        """Whether a client waits for transfers that it launched."""
        return any(file.waits_for_transfers for file in self.files) and any(
            channel.sent for channel in self.channels.values()
        )


def _never() -> bool:
    return False
