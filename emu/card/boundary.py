"""The host's side of the boundary channels: the DMA reads and fills launched buffers, and interrupts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Protocol

from emu.card.activity import Activity
from emu.card.channels import HostChannel, Transfer
from emu.card.lists import DescriptorList
from emu.hw.border import ChipPort
from emu.hw.device import Device
from emu.hw.payload import Content, Payload


class OutputBytes(Protocol):
    """What makes transfers of output frames (`emu.card.networks`)."""

    def transfers(self, application: int, channel: int, content: bytes, made_up: bool, per_frame: int) -> list[bytes]:
        """The transfers of one output frame, by the channel's packed id; `content` is what the core gives."""


class Boundary:
    """`emu.hw.border.HostPort` of a card. `channels`: by packed id, `frames`: frames delivered, by application.

    Launches and interrupts go through `port`, the registers. `activity` counts for the application that is enabled.
    """

    keeps_outputs = True

    def __init__(
        self, device: Device, port: ChipPort, channels: Mapping[int, HostChannel], outputs: OutputBytes
    ) -> None:
        self.frames: dict[int, int] = {}
        self.activity: Activity | None = None
        self._device = device
        self._port = port
        self._channels = channels
        self._outputs = outputs
        port.attach_host(self)

    def application_left(self) -> None:
        """Another application, or none, runs from now on."""
        for channel in self._channels.values():
            channel.opened()

    def batch_switched(self) -> None:
        """ENABLE over ENABLE: the firmware begins anew with the channels that the driver has disabled meanwhile.

        HailoRT counts their descriptors from 0 again, as the driver does since it enabled them.
        """
        for channel in self._channels.values():
            if not channel.orphaned:
                continue
            hardware = self._device.vdma.channels.get(channel.packed)
            if hardware is not None and hardware.claimed == hardware.processed:
                hardware.available = hardware.claimed = hardware.processed = hardware.register = 0
                channel.reopened()

    def launch(self, channel: HostChannel, descriptors: DescriptorList, transfer: Transfer) -> None:
        """A transfer is launched: its descriptors are written, and num_available; what waits for it goes there."""
        if channel.to_device:
            transfer.taken = partial(self._taken, channel)
        else:
            transfer.arrive = partial(self._arrive, channel)
        channel.bind(descriptors, transfer)
        self._port.launch(channel.packed, channel.num_available)
        if channel.early:
            transfer.fill(channel.early.popleft())
            hardware = self._device.vdma.channels[channel.packed]
            hardware.claimed += transfer.descriptors
            hardware.processed = hardware.claimed
            self.interrupt(channel.packed)

    def _taken(self, channel: HostChannel, transfer: Transfer) -> None:
        """The device reads a frame through the descriptors of a transfer: as many as its buffers made."""
        edge = self._device.core.edge_of_channel(channel.packed)
        if edge is not None and edge.plain:
            more = transfer.descriptors - edge.descriptors_per_frame
            edge.claims += more
            edge.channel.claimed += more

    def _arrive(self, channel: HostChannel, transfer: Transfer, offset: int, content: Content) -> None:
        """The device writes through the descriptors of a transfer: a frame, which may go on in those behind it."""
        edge = self._device.core.edge_of_channel(channel.packed)
        data = content.materialise() if isinstance(content, Payload) else content
        if edge is None or offset or len(data) != edge.frame_bytes * edge.transfers:
            transfer.put(offset, data)  # a stretch of a frame, where list and stream do not agree
            return
        application = self._device.core.application
        channel.frames += 1
        number = self._device.first_frame + channel.frames
        self.frames[application] = max(self.frames.get(application, 0), number)
        self._passed(channel, len(data))
        made_up = isinstance(content, Payload)
        parts = self._outputs.transfers(application, channel.packed, data, made_up, edge.transfers)
        first = channel.sent.index(transfer)
        buffers = list(islice(channel.sent, first, first + len(parts)))
        for buffer, part in zip(buffers, parts, strict=False):
            buffer.fill(part)
        channel.early.extend(parts[len(buffers) :])
        if edge.plain:
            # a frame of on-chip NMS has as many transfers as it has words, and only those that are launched are through
            used = sum(buffer.descriptors for buffer in buffers)
            edge.channel.claimed += used - edge.descriptors_per_frame * edge.transfers

    # -- what the device asks and tells

    def interrupt(self, packed: int, processed_ns: Sequence[int] = ()) -> None:
        channel = self._channels.get(packed)
        if channel is not None and not channel.orphaned:
            size = channel.progress(self._port.num_processed(packed), self._device.clock.time)
            if channel.to_device:
                self._passed(channel, size)
            channel.interrupted = True

    def _passed(self, channel: HostChannel, size: int) -> None:
        edge = self._device.core.edge_of_channel(channel.packed)
        if self.activity is not None and edge is not None and size:
            whole = edge.frame_bytes * edge.transfers
            self.activity.passed(channel.packed, channel.to_device, size, whole, self._device.clock.time)

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        """None: each frame is the client's."""
        return 0

    def free_batches(self, batch: int) -> int:
        return 0

    def at_once(self, batch: int, ns: int, first: int, last: int) -> bool:
        return False

    def counters(self) -> Iterable[tuple[object, str]]:
        return ()

    def skip(self, descriptors: Mapping[int, int]) -> Mapping[int, int]:
        raise AssertionError("no frame of a client is skipped")
