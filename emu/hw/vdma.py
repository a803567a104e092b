"""VDMA channels: circular descriptor lists, num_available and num_processed, interrupts (vdma.md 1, 2).

A channel id packs engine and index (firmware-actions.md 1). H2D channels are the lower indices, D2H the upper ones.
Counters run modulo the list length, as the registers do (silicon-facts.md c).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from emu.chips.chips import Profile
from emu.hw.hostmem import HostList, HostMemory, Stretch
from emu.hw.link import Transfer
from emu.hw.unit import Unit
from emu.sequencer.program import Direction
from emu.wire.actions import HostBufferInfo, HostBufferType, StreamRegInfo
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require
from emu.wire.wire import Wire

DESCRIPTOR_BASE_ALIGNMENT = 1 << 16
MAX_DEPTH = 1 << 16  # vdma.md 2.4
MAX_CONTINUOUS_DEPTH = 1 << 18
UNMAPPED = -1  # a channel that waits for its first CHANGE_VDMA_TO_STREAM_MAPPING


class EdgeKind(Enum):
    """What an edge layer connects the core with."""

    BOUNDARY = "boundary"
    INTER_CONTEXT = "inter-context"
    DDR = "DDR"
    CACHE = "cache"


@dataclass(eq=False, repr=False, slots=True)
class Channel(Unit):
    """One channel. `host_opened`: its host side runs, `boundary`: the host's driver opened it.

    `available`, `claimed` (by frames under way) and `processed` are absolute descriptor counts;
    `num_available` and `num_processed` what the registers
    show. `transfers` and `bytes` count what was moved in all. `descriptors` is the list at its base, None: memory that
    nobody mapped; `register` what the host wrote to num_available last; `aborted` why it moves nothing more.
    """

    KIND: ClassVar[str] = "channel"
    COUNTERS: ClassVar[tuple[str, ...]] = ("available", "claimed", "processed", "transfers", "bytes")

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
    ever_open: bool = False
    descriptors: HostList | None = None
    register: int = 0
    aborted: str = ""
    _described: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        engine = f" of engine {self.engine}" if self.engine else ""
        self._described = f"channel {self.index}{engine} ({self.direction.name})"

    @property
    def num_available(self) -> int:
        return self.available % self.length if self.length else 0

    def write_available(self, value: int) -> None:
        """The host wrote num_available: so many more descriptors as it moved on, modulo the depth."""
        if self.length:
            moved = (value - self.register) % self.length
            self.register = value % self.length
            self.available += moved or self.length

    @property
    def num_processed(self) -> int:
        return self.processed % self.length if self.length else 0

    def open(self, buffer: HostBufferInfo) -> None:
        self.buffer, self.host_opened = buffer, True
        self.ever_open = True
        self.length, self.descriptors_per_transfer = buffer.total_desc_count, buffer.descriptors_per_transfer
        self.available = self.claimed = self.processed = self.register = 0
        self.descriptors, self.aborted = None, ""
        self.paused = self.dummy = False
        self.mapped_stream = None

    def close(self) -> None:
        self.buffer, self.host_opened, self.boundary = None, False, False
        self.length, self.descriptors_per_transfer = 0, 1
        self.available = self.claimed = self.processed = self.register = 0
        self.descriptors, self.aborted = None, ""
        self.paused = self.dummy = False
        self.mapped_stream = None

    def reset(self) -> None:
        """Injected faults stay: no reset mends them."""
        self.close()
        self.transfers_per_frame = 1

    def state(self, now: int) -> tuple[object, ...]:
        return (
            self.buffer and tuple(self.buffer),
            self.host_opened,
            self.boundary,
            self.paused,
            self.dummy,
            self.mapped_stream,
            self.transfers_per_frame,
            self.stalled,
            self.slow,
            self.lost,
        )

    def levels(self) -> tuple[int, ...]:
        return self.available - self.claimed, self.claimed - self.processed

    @property
    def used(self) -> bool:
        return self.transfers > 0

    @property
    def name(self) -> str:
        return self.describe()

    def describe(self) -> str:
        return self._described

    def progress(self) -> str:
        return f"num_available {self.num_available}, num_processed {self.num_processed}"


@dataclass(eq=False, slots=True)
class Edge:
    """An activated edge layer: a channel feeding or draining a stream of the core.

    `done` counts the frames of the present pass, of which a lost descriptor allows `most`; `fetched`: FETCH_DATA
    granted its credits, `granted` of them for a `batch`: bytes on a boundary, else descriptors. `frame_bytes` is what
    one transfer moves (one frame, but for on-chip NMS, where a frame takes several `transfers`), `entries` the cache
    entries of a side, `buffered_rows` what the producer of a DDR portal is ahead at most. `plain`: a frame is one
    transfer of the host (`emu.hw.descriptors`); `claims`: descriptors of the frame that comes in. Of an output: the
    frames that are `leaving` over it, whether the first of them is `moving` or has `moved` already, since when it has
    been free; it ends `ends_ns` after its frame entered, `behind_ns` after that was in, if nothing slows it down.
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
    most: int | None = None
    granted: int = 0
    batch: int = 1
    buffered_rows: int = 0
    leaving: deque[Any] = field(default_factory=deque)
    moving: bool = False
    moved: bool = False
    free_at: int = 0
    plain: bool = True
    claims: int = 0
    behind_ns: float = 0.0
    ends_ns: float = 0.0
    transfer: Transfer = field(default_factory=Transfer)
    direction: Direction = field(init=False)
    boundary: bool = field(init=False)
    transfers: int = field(init=False)
    frame_bytes: int = field(init=False)
    descriptors_per_frame: int = field(init=False)

    def __post_init__(self) -> None:
        self.direction = self.channel.direction
        self.boundary = self.kind is EdgeKind.BOUNDARY
        self.transfers = self.channel.transfers_per_frame if self.boundary else 1
        self.transfer.waits = self.direction is Direction.D2H
        self.carry(self.entries)

    def begin(self) -> None:
        """Nothing is under way."""
        self.leaving.clear()
        self.moving = self.moved = False
        self.free_at = 0

    def carry(self, entries: int) -> None:
        """A transfer moves so many entries of a cache (1: it is none)."""
        self.entries = entries
        if self.kind is EdgeKind.DDR:
            self.frame_bytes = self.registers.core_bytes_per_buffer * self.registers.core_buffers_per_frame
            self.descriptors_per_frame = -(-self.frame_bytes // self.buffer.desc_page_size)
        else:
            self.frame_bytes = self.buffer.bytes_in_pattern * entries
            self.descriptors_per_frame = self.buffer.descriptors_per_transfer * entries

    def state(self) -> tuple[object, ...]:
        """What the rest of a run depends on."""
        return (
            self.describe(),
            self.network,
            tuple(self.registers),
            tuple(self.buffer),
            self.initial_credit_size,
            self.connected_d2h,
            self.entries,
            self.done,
            self.fetched,
        )

    def describe(self) -> str:
        return f"{self.kind.value} stream {self.stream} on {self.channel.describe()}"


@dataclass(eq=False, repr=False, slots=True)
class Engine(Unit):
    """One DMA engine and those of its channels that were ever named."""

    index: int
    channels: list[Channel] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"engine {self.index}"

    def parts(self) -> Iterable[Unit]:
        return self.channels

    def reset(self) -> None:
        """Its channels are all that it has."""


@dataclass(eq=False, repr=False, slots=True)
class Vdma(Unit):
    """All channels of the chip by packed id."""

    name: ClassVar[str] = "DMA"

    profile: Profile
    wire: Wire
    host: HostMemory
    channels: dict[int, Channel] = field(default_factory=dict)
    engines: tuple[Engine, ...] = field(init=False)
    _sound: set[tuple[HostBufferInfo, bool]] = field(default_factory=set)  # buffers that were checked

    def __post_init__(self) -> None:
        self.engines = tuple(Engine(index) for index in range(self.profile.dma_engines))

    def parts(self) -> Iterable[Unit]:
        return self.engines

    def reset(self) -> None:
        """Its engines are all that it has."""

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
        engine, index = self.wire.channel(packed)
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
        made = Channel(packed, engine, index, Direction.D2H if upper else Direction.H2D)
        self.engines[engine].channels.append(made)
        return made

    def check_buffer(self, info: HostBufferInfo, circular: bool) -> None:
        """The conditions the VDMA service puts on a host buffer (firmware-actions.md 7, silicon-facts.md d)."""
        if (info, circular) not in self._sound:
            self._check_buffer(info, circular)
            self._sound.add((info, circular))

    def _check_buffer(self, info: HostBufferInfo, circular: bool) -> None:
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
                S.VDMA_SERVICE_STATUS_CCB_BASE_ADDRESS_IS_NOT_IN_MASK,
                lambda: (
                    f"continuous buffer at 0x{info.dma_address:X} is not aligned to its page of {info.desc_page_size}"
                ),
            )
        else:
            require(
                info.dma_address % DESCRIPTOR_BASE_ALIGNMENT == 0,
                S.VDMA_SERVICE_STATUS_HOST_DESCRITPOR_BASE_ADDRESS_IS_NOT_64KB_ALIGNED,
                lambda: f"descriptor list at 0x{info.dma_address:X} is not aligned to 64 KiB",
            )
        require(info.total_desc_count > 0, S.VDMA_SERVICE_STATUS_INVALID_VDMA_CHANNEL_DEPTH, "a list of 0 descriptors")
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

    def is_mapped(self, info: HostBufferInfo) -> bool:
        """Whether the host has anything at the address of a buffer."""
        if info.buffer_type == HostBufferType.CCB:
            return self.host.continuous_at(info.dma_address) is not None
        return info.dma_address in self.host.lists

    def memory_behind(self, info: HostBufferInfo, start: int, descriptors: int, size: int) -> list[Stretch]:
        """The `size` bytes of host memory behind `descriptors` of an internal edge from number `start` on."""
        if info.buffer_type == HostBufferType.CCB:
            found = self.host.continuous_at(info.dma_address)
            if found is None:
                return []
            buffer, offset = found
            return [Stretch(buffer, offset + start * info.desc_page_size, size)]
        host_list = self.host.lists.get(info.dma_address)
        return [] if host_list is None else host_list.stretches(start, descriptors, size)
