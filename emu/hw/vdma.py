"""VDMA channels: circular descriptor lists, num_available and num_processed, interrupts (vdma.md 1, 2).

A channel id packs engine and index (firmware-actions.md 1). H2D channels are the lower indices, D2H the upper ones.
Counters run modulo the list length, as the registers do (silicon-facts.md c).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

from emu.hw.hostmem import HostBuffer, HostMemory
from emu.hw.profiles import Profile
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import require
from emu.sequencer.actions import StreamRegInfo
from emu.sequencer.program import Direction

ENGINE_SHIFT = {"4.23": 5, "5.2": 6}
DESCRIPTOR_BASE_ALIGNMENT = 1 << 16
MAX_DEPTH = 1 << 16  # vdma.md 2.4
MAX_CONTINUOUS_DEPTH = 1 << 18


class HostBufferType(IntEnum):
    """host_buffer_type (firmware-actions.md 1)."""

    EXTERNAL_DESC = 0
    CCB = 1


class EdgeKind(Enum):
    """What an edge layer connects the core with."""

    BOUNDARY = "boundary"
    INTER_CONTEXT = "inter-context"
    DDR = "DDR"
    CACHE = "cache"


class HostBufferInfo(NamedTuple):
    """host_buffer_info (firmware-actions.md 1.1)."""

    buffer_type: int
    dma_address: int
    desc_page_size: int
    total_desc_count: int
    bytes_in_pattern: int

    @property
    def descriptors_per_transfer(self) -> int:
        return -(-self.bytes_in_pattern // self.desc_page_size)


@dataclass(slots=True)
class Channel:
    """One channel. `host_opened`: its host side runs, `boundary`: the host's driver opened it.

    `available`, `claimed` (by frames under way) and `processed` are absolute descriptor counts;
    `num_available` and `num_processed` what the registers
    show. `transfers` and `bytes` count what was moved in all.
    """

    packed: int
    engine: int
    index: int
    direction: Direction
    buffer: HostBufferInfo | None = None
    host_opened: bool = False
    boundary: bool = False
    paused: bool = False
    dummy: bool = False
    mapped_stream: int | None = None
    available: int = 0
    claimed: int = 0
    processed: int = 0
    length: int = 0
    descriptors_per_transfer: int = 1
    transfers_per_frame: int = 1
    transfers: int = 0
    bytes: int = 0
    stalled: bool = False
    slow: float = 1.0
    lost: int = 0

    @property
    def num_available(self) -> int:
        return self.available % self.length if self.length else 0

    @property
    def num_processed(self) -> int:
        return self.processed % self.length if self.length else 0

    def open(self, buffer: HostBufferInfo) -> None:
        self.buffer, self.host_opened = buffer, True
        self.length, self.descriptors_per_transfer = buffer.total_desc_count, buffer.descriptors_per_transfer
        self.available = self.claimed = self.processed = 0
        self.paused = self.dummy = False
        self.mapped_stream = None

    def close(self) -> None:
        self.buffer, self.host_opened, self.boundary = None, False, False
        self.length, self.descriptors_per_transfer = 0, 1
        self.available = self.claimed = self.processed = 0
        self.paused = self.dummy = False
        self.mapped_stream = None

    def describe(self) -> str:
        engine = f" of engine {self.engine}" if self.engine else ""
        return f"channel {self.index}{engine} ({self.direction.name})"

    def counters(self) -> str:
        return f"num_available {self.num_available}, num_processed {self.num_processed}"


@dataclass(slots=True)
class Edge:
    """An activated edge layer: a channel feeding or draining a stream of the core.

    `done` counts the frames of the present pass; `fetched`: FETCH_DATA granted its credits. `frame_bytes` is what one
    transfer moves (one frame, but for on-chip NMS, where a frame takes several `transfers`), `entries` the cache
    entries of a side.
    """

    kind: EdgeKind
    channel: Channel
    stream: int
    network: int
    registers: StreamRegInfo
    buffer: HostBufferInfo
    initial_credit_size: int = 0
    connected_d2h: int | None = None
    entries: int = 1
    done: int = 0
    fetched: bool = False
    boundary: bool = field(init=False)
    transfers: int = field(init=False)
    frame_bytes: int = field(init=False)
    descriptors_per_frame: int = field(init=False)

    def __post_init__(self) -> None:
        self.boundary = self.kind is EdgeKind.BOUNDARY
        self.transfers = self.channel.transfers_per_frame if self.boundary else 1
        self.carry(self.entries)

    def carry(self, entries: int) -> None:
        """A transfer moves so many entries of a cache (1: it is none)."""
        self.entries = entries
        if self.kind is EdgeKind.DDR:
            self.frame_bytes = self.registers.core_bytes_per_buffer * self.registers.core_buffers_per_frame
            self.descriptors_per_frame = -(-self.frame_bytes // self.buffer.desc_page_size)
        else:
            self.frame_bytes = self.buffer.bytes_in_pattern * entries
            self.descriptors_per_frame = self.buffer.descriptors_per_transfer * entries

    @property
    def direction(self) -> Direction:
        return self.channel.direction

    def describe(self) -> str:
        return f"{self.kind.value} stream {self.stream} on {self.channel.describe()}"


@dataclass(slots=True)
class Vdma:
    """All channels of the chip by packed id."""

    profile: Profile
    runtime: str
    host: HostMemory
    channels: dict[int, Channel] = field(default_factory=dict)
    on_change: Callable[[], None] | None = None

    def channel(self, packed: int, direction: Direction | None = None) -> Channel:
        """The channel of a packed id; checks engine, index and direction."""
        found = self.channels.get(packed)
        if found is None:
            found = self.channels[packed] = self._make(packed)
        if direction is not None:
            require(
                found.direction is direction,
                S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
                lambda: f"{found.describe()} cannot be used as {direction.name}",
            )
        return found

    def _make(self, packed: int) -> Channel:
        shift = ENGINE_SHIFT[self.runtime]
        engine, index = packed >> shift, packed & ((1 << shift) - 1)
        require(
            engine < self.profile.dma_engines,
            S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
            lambda: f"engine {engine}: this device has {self.profile.dma_engines}",
        )
        require(
            index < self.profile.channels_per_engine,
            S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_INDEX,
            lambda: f"channel {index}: an engine has {self.profile.channels_per_engine}",
        )
        upper = index >= self.profile.first_d2h_channel
        return Channel(packed, engine, index, Direction.D2H if upper else Direction.H2D)

    def check_buffer(self, info: HostBufferInfo, circular: bool) -> None:
        """The conditions the VDMA service puts on a host buffer (firmware-actions.md 7, silicon-facts.md d)."""
        require(
            info.buffer_type in (HostBufferType.EXTERNAL_DESC, HostBufferType.CCB),
            S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
            lambda: f"host buffer type {info.buffer_type}",
        )
        require(
            info.desc_page_size > 0 and info.desc_page_size & (info.desc_page_size - 1) == 0,
            S.VDMA_SERVICE_STATUS_DESC_PAGE_SIZE_MUST_BE_POWER_OF_2,
            lambda: f"descriptor page size {info.desc_page_size}",
        )
        continuous = info.buffer_type == HostBufferType.CCB
        if continuous:
            require(
                not self._over_pcie(),
                S.VDMA_SERVICE_STATUS_CCB_NOT_IMPLEMENTED_OVER_PCIE,
                "a continuous buffer on a PCIe device",
            )
            require(
                info.dma_address % info.desc_page_size == 0,
                S.VDMA_SERVICE_STATUS_CCB_BASE_ADDRESS_NOT_IN_MASK,
                lambda: (
                    f"continuous buffer at 0x{info.dma_address:X} is not aligned to its page of {info.desc_page_size}"
                ),
            )
        else:
            require(
                info.dma_address % DESCRIPTOR_BASE_ALIGNMENT == 0,
                S.VDMA_SERVICE_STATUS_HOST_DESCRIPTOR_BASE_ADDRESS_IS_NOT_64KB_ALIGNED,
                lambda: f"descriptor list at 0x{info.dma_address:X} is not aligned to 64 KiB",
            )
        require(info.total_desc_count > 0, S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_DEPTH, "a list of 0 descriptors")
        depth = MAX_CONTINUOUS_DEPTH if continuous else MAX_DEPTH
        require(
            info.total_desc_count <= depth,
            S.VDMA_SERVICE_STATUS_TOO_MANY_DESCRIPTORS,
            lambda: f"a list of {info.total_desc_count} descriptors, at most {depth}",
        )
        if circular and not continuous:
            require(
                info.total_desc_count & (info.total_desc_count - 1) == 0,
                S.VDMA_SERVICE_STATUS_EXTERNAL_DESC_COUNT_MUST_BE_POWER_OF_2,
                lambda: f"a circular list of {info.total_desc_count} descriptors",
            )
        require(
            info.bytes_in_pattern <= info.total_desc_count * info.desc_page_size,
            S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN,
            lambda: f"{info.bytes_in_pattern} bytes in a list of {info.total_desc_count} x {info.desc_page_size}",
        )

    def _over_pcie(self) -> bool:
        return self.profile.config_style == "descriptors"

    def memory_behind(self, info: HostBufferInfo, frame: int, descriptors: int) -> tuple[HostBuffer, int] | None:
        """The host buffer and offset that frame `frame` of an internal edge uses."""
        if info.buffer_type == HostBufferType.CCB:
            found = self.host.continuous_at(info.dma_address)
            if found is None:
                return None
            buffer, offset = found
            return buffer, offset + frame * descriptors * info.desc_page_size
        host_list = self.host.lists.get(info.dma_address)
        return None if host_list is None else host_list.buffer_at(frame * descriptors)

    def reset(self) -> None:
        for channel in self.channels.values():
            channel.close()
