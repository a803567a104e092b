"""Which VDMA channel a layer gets (vdma.md 1.1)."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from emu.chips.runtimes import DeviceProfile
from emu.errors import HailoError, HailoStatus
from emu.sequencer.program import Direction


class LayerType(IntEnum):
    """LayerType of libhailort; the values are its own numbering (firmware never sees them)."""

    NOT_SET = 0
    BOUNDARY = 1
    INTER_CONTEXT = 2
    DDR = 3
    CFG = 4
    CACHE = 5


class LayerIdentifier(Struct, frozen=True):
    """The key under which a channel is allocated (hef-compile.md 3)."""

    type: LayerType
    direction: Direction
    name: str
    stream_index: int


class ChannelId(Struct, frozen=True):
    """A channel of an engine."""

    engine: int
    channel: int

    def packed(self, shift: int) -> int:
        """packed_vdma_channel_id (firmware-actions.md 1)."""
        return self.channel | self.engine << shift


class ChannelAllocator:
    """The channels of one configured network group."""

    def __init__(self, device: DeviceProfile) -> None:
        self._device = device
        self._allocated: dict[LayerIdentifier, ChannelId] = {}
        self._taken: set[ChannelId] = set()
        self._ever_internal: set[ChannelId] = set()

    def allocate(self, identifier: LayerIdentifier, engine: int) -> ChannelId:
        """The lowest free channel of the direction; the one the identifier already holds, if it does.

        Raises HAILO_INVALID_ARGUMENT for an engine the device lacks, HAILO_INTERNAL_FAILURE when none is free.
        """
        if engine >= self._device.engines:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"engine {engine} of {identifier.name or 'layer'}: {self._device.name} has {self._device.engines}",
            )
        held = self._allocated.get(identifier)
        if held is not None:
            if held.engine != engine:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"layer {identifier.name} asks for engine {engine}, it holds a channel of {held.engine}",
                )
            return held
        h2d = identifier.direction is Direction.H2D
        boundary = identifier.type is LayerType.BOUNDARY
        for index in self._device.h2d_channels if h2d else self._device.d2h_channels:
            channel = ChannelId(engine, index)
            if channel in self._taken or (boundary and channel in self._ever_internal):
                continue
            self._allocated[identifier] = channel
            self._taken.add(channel)
            if not boundary:
                self._ever_internal.add(channel)
            return channel
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"no {identifier.direction.name} channel of engine {engine} is left for {identifier.name} "
            f"(stream {identifier.stream_index})",
        )

    def free(self, identifier: LayerIdentifier) -> None:
        """Give an internal layer's channel back (HAILO_INTERNAL_FAILURE for a boundary or unknown layer)."""
        channel = self._allocated.pop(identifier, None)
        if channel is None or identifier.type is LayerType.BOUNDARY:
            raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"channel of {identifier.name} cannot be freed")
        self._taken.discard(channel)
