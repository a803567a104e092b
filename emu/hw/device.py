"""The device: a chip whose firmware takes control messages as bytes and runs applications in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from emu.hw.application import Application
from emu.hw.border import Bars, CoreModel, HostPort, Model, StreamLabel
from emu.hw.chip import Chip
from emu.hw.controls import Controls
from emu.hw.execution import State
from emu.hw.firmware import Firmware
from emu.hw.inspection import Inspection
from emu.hw.notifications import RunTimeError
from emu.hw.pcie.card import PcieCard
from emu.hw.pcie.told import tell_of_access
from emu.hw.periodic import TurnLoop
from emu.hw.probe import ActionHook, Observer, Probe
from emu.hw.unit import Unit
from emu.sequencer.program import Program
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.actions import ActionType
from emu.wire.control import status_change
from emu.wire.notifications import Notification

__all__ = ["ActionHook", "Device", "Observer", "Probe", "StreamLabel"]


@dataclass(eq=False, repr=False)
class Device(Chip):
    """One chip with its firmware: what a host reaches (`emu.hw.border.ChipPort`). `probe` holds all who watch it.

    A card is reached through its registers (`bars`); what it does then is the same. `inspection` is for those who look
    at it from outside.
    """

    name: ClassVar[str] = "device"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.firmware = Firmware(self)
        self.controls = Controls(self, self.firmware)
        self.inspection = Inspection(self, self.firmware)
        self.pcie = None if self.profile.boot is None else PcieCard(self, self.profile.boot)
        if self.faults is not None:
            from emu.hw.faults import Victim

            self.faults.start(Victim(self.clock, self.vdma, self.clusters, self.probe, self.firmware.reset))

    def parts(self) -> Iterable[Unit]:
        return (*super().parts(), self.firmware, *(() if self.pcie is None else (self.pcie,)))

    @property
    def applications(self) -> list[Application]:
        """The network groups that were configured, by their index."""
        return self.firmware.applications

    @property
    def notifications(self) -> list[Notification]:
        """What the device told the host unasked."""
        return self.posted.sent

    @property
    def action_index(self) -> int:
        step = self.firmware.step
        return -1 if step is None else step.number

    @property
    def batch_size(self) -> int:
        return self.firmware.batch

    def trace_with(self, tracer: Tracer) -> None:
        """Let a tracer watch, accesses to the registers of a card included where it wants them."""
        self.probe.tracer = tracer
        if tracer.registers and self.pcie is not None:
            self.pcie.watch(partial(tell_of_access, tracer, self.core))

    # -- the host's side

    @property
    def bars(self) -> Bars | None:
        """The registers of a card; None for a device that is part of its host."""
        return self.pcie

    def map_memory(self, program: Program) -> None:
        """The buffers of a program are where its lists say."""
        self.host_memory.map(program)

    def unmap_memory(self, program: Program) -> None:
        """They are no longer there, and nothing that was read from them is known any more."""
        self.host_memory.unmap(program)
        self.config.cache.forget()

    def name_streams(self, application: int, labels: Mapping[int, StreamLabel]) -> None:
        """The boundary channels of an application by their packed ids."""
        self.labels[application] = labels
        if self.faults is not None:
            self.faults.learn({packed: label.name for packed, label in labels.items()})

    def compute_with(self, application: int, model: Model | None, core: CoreModel | None = None) -> None:
        """What gives the outputs of an application's frames."""
        self.models[application] = model, core

    def attach_host(self, host: HostPort, first_frame: int = 0) -> None:
        """Connect the host that queues and collects frames, counted from `first_frame` at the next ENABLE."""
        self.core.host = host
        self.core.tell = host.interrupt
        self.first_frame = first_frame

    def tell_of(self, interrupt: Callable[[int, Sequence[int]], None]) -> None:
        """Where the interrupts of the channels go from now on."""
        self.core.tell = interrupt

    def notify(self, notification: Notification, now: int) -> None:
        """Tell the host."""
        super().notify(notification, now)
        if self.pcie is not None:
            self.pcie.notify(self.posted.sent[-1].encode(), now)

    def restart(self) -> None:
        """Begin anew, without anything that was configured."""
        self.controls.restart()

    def control(self, request: bytes) -> bytes:
        """Serve one control message and return the reply; simulated time passes meanwhile."""
        started, tracer = self.clock.time, self.probe.tracer
        if tracer is not None:
            tracer.lasting = started
        try:
            reply, name, status = self.controls.serve(request)
        finally:
            if tracer is not None:
                tracer.lasting = None
        for observer in self.probe.observers:
            observer.control(started, request, reply)
        if tracer is not None:
            tracer.emit(
                Event(
                    started,
                    Kind.CONTROL,
                    action=name,
                    arguments=status_change(request),
                    cause=status,
                    bytes=len(request),
                    unit="control",
                )
            )
        return reply

    @property
    def refusal(self) -> str:
        """Why the last control message that was refused was, in words."""
        fault = self.controls.last_fault
        return "control refused" if fault is None else fault.message

    def launch(self, packed: int, num_available: int) -> None:
        """The host wrote descriptors of one transfer, and num_available of their channel."""
        channel = self.vdma.channels.get(packed)
        if channel is None or channel.buffer is None or not channel.host_opened:
            return  # a register of a channel that nobody started
        channel.write_available(num_available)
        if channel.lost:
            channel.available -= channel.lost
            channel.lost = 0
        for observer in self.probe.observers:
            observer.launch(channel, 1)
        if self.probe.tracer is not None:
            self.core.told.launch(channel, channel.buffer.bytes_in_pattern, self.core.application)
        self.core.supplied()

    def num_processed(self, packed: int) -> int:
        """The register of a channel: how far its DMA is, modulo its depth."""
        return self.vdma.channels[packed].num_processed

    @property
    def spared(self) -> bool:
        """Whether the host leaves out the accesses to a card's registers that nobody watches."""
        return self.pcie is None or self.pcie.spared

    def turn_loop(self) -> TurnLoop:
        """For a host that lets the configured applications take turns: it may add up rounds that repeat."""
        return TurnLoop(self, self.firmware, self.applications)

    def run_until(self, stop: Callable[[], bool]) -> bool:
        """Let simulated time pass until `stop()`; False if nothing can progress before that."""
        firmware = self.firmware
        return self.clock.run_until(lambda: firmware.error is not None or stop())

    @property
    def error(self) -> RunTimeError | None:
        """What stopped the application that was enabled last; None: nothing did."""
        return self.firmware.error

    @property
    def failed(self) -> bool:
        """Whether it stands there, until a RESET."""
        return self.firmware.phase is State.FAILED

    @property
    def resting(self) -> bool:
        """Whether nothing goes on before the host acts."""
        return self.firmware.resting

    @property
    def awaits_cache_update(self) -> bool:
        """Whether the firmware stands in WAIT_FOR_CACHE_UPDATED."""
        step = self.firmware.step
        return (
            self.firmware.waiting is not None
            and step is not None
            and step.type is ActionType.WAIT_FOR_CACHE_UPDATED
            and self.cache.signals < self.cache.awaited
        )
