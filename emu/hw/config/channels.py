"""Config channels: they fetch CCW records from host memory and write them into the chip (hef-compile.md 4.4).

Two styles. "descriptors" (Hailo-8): each fetch makes a number of descriptors available. "bursts" (10H/15H): the
channel prefetches, each fetch lets a number of CCW records through. A fetch does not block the firmware; it is done
at an instant that is known when it starts, and MODULE_CONFIG_DONE waits for it (firmware-actions.md 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import xxhash
from msgspec import Struct

from emu.hw.config.ccw import Image, Run, decode_checked, decode_run, opaque_run
from emu.hw.config.lasting import Lasting
from emu.hw.gather import LARGE, Piece, gathered, give_back
from emu.hw.hostmem import HostBuffer, HostList, HostMemory, SourceStretch
from emu.hw.unit import Unit, passed
from emu.sequencer.configuration import HAILO1XH, HAILO8
from emu.timing.model import ConfigBus
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

if TYPE_CHECKING:
    from emu.hw.memory import AddressSpace

HOST_BUFFER_CCB = 1
_OPAQUE_KEY = 1 << 32  # above every address: bytes of unknown meaning, by config stream, which only the hash knows of
FAMILIES = {"descriptors": HAILO8, "bursts": HAILO1XH}  # of records, by how channels fetch them


class ConfigSource(Struct, frozen=True):
    """The host memory behind one activated config channel; `bursts` is how many records a capture implies."""

    buffer_type: int
    dma_address: int
    desc_page_size: int
    total_desc_count: int
    bytes_in_pattern: int

    @property
    def programmed_descriptors(self) -> int:
        """That its bytes take; none of pages of zero bytes, which are refused when the channel is activated."""
        return -(-self.bytes_in_pattern // self.desc_page_size) if self.desc_page_size else 0

    @property
    def full_descriptors(self) -> int:
        """That its bytes fill; none of pages of zero bytes."""
        return self.bytes_in_pattern // self.desc_page_size if self.desc_page_size else 0


Place = tuple[int, int, int, int]  # channel id, bursts that were asked for, the next record, bursts to come in all

# what the device makes of the bytes of a config stream before they are decoded (fault injection)
Fetched = Callable[[int, ConfigSource, bytes], bytes]

_runs: Lasting[Run] = Lasting()
_digests: Lasting[int] = Lasting()


class _Decoded(NamedTuple):
    """A run, and what shows that its place in host memory still holds the same bytes."""

    run: Run
    place: HostList | HostBuffer | None
    extents: int
    buffers: Sequence[tuple[HostBuffer, int]]

    def holds(self, place: HostList | HostBuffer | None) -> bool:
        if place is not self.place or (isinstance(place, HostList) and len(place.extents) != self.extents):
            return False
        return not [buffer for buffer, version in self.buffers if buffer.version != version]


def _decoded(run: Run, place: HostList | HostBuffer | None, start: int, count: int) -> _Decoded:
    extents, buffers = 0, [place] if isinstance(place, HostBuffer) else []
    if isinstance(place, HostList):
        extents, buffers = len(place.extents), place.buffers(start, count)
    return _Decoded(run, place, extents, [(buffer, buffer.version) for buffer in buffers])


class RunCache:
    """Decoded runs by their place in host memory: a context that is loaded again is not decoded again.

    What is mapped anew, programmed anew or written over is decoded anew.
    """

    def __init__(self, host: HostMemory, style: str, fetched: Callable[[], Fetched | None] | None = None) -> None:
        self._host = host
        self._style = style
        self._fetched = fetched
        # by address, page size, first descriptor and their number (-1: all), and the bytes of the pattern
        self._runs: dict[tuple[int, int, int, int, int], _Decoded] = {}
        self.checked = False

    def check_records(self, checked: bool) -> None:
        """Whether records are checked before they are written: where the configuration is well formed (units.md 0)."""
        if checked != self.checked:
            self.checked = checked
            self._runs.clear()

    def clear(self) -> None:
        self._runs.clear()

    def forget(self) -> None:
        """Host memory was mapped anew: an address may hold other bytes now."""
        self._runs.clear()

    def descriptors(self, stream: int, source: ConfigSource, start: int, count: int) -> Run:
        """The run behind descriptors `[start, start + count)`."""
        key = (source.dma_address, source.desc_page_size, start, count, 0)
        host_list = self._host.lists.get(source.dma_address)
        found = self._runs.get(key)
        if found is not None and found.holds(host_list):
            return found.run
        sources = None if host_list is None else host_list.sources(start, count)
        place = source.dma_address, start, count
        run = self._decode(stream, source, sources, lambda: self.read(source, start, count), place)
        self._runs[key] = _decoded(run, host_list, start, count)
        return run

    def read(self, source: ConfigSource, start: int, count: int) -> tuple[Piece | None, int]:
        """The bytes behind descriptors `[start, start + count)` (None: unknown), and how many they are."""
        host_list = self._host.lists.get(source.dma_address)
        return (None, count * source.desc_page_size) if host_list is None else host_list.read(start, count)

    def read_whole(self, source: ConfigSource) -> tuple[Piece | None, int]:
        """The bytes that a prefetching channel reads (None: unknown), and how many they are."""
        pieces, size = self._whole_pieces(source)
        return (None if pieces is None else gathered(pieces, sum(map(len, pieces)))), size

    def _whole_pieces(self, source: ConfigSource) -> tuple[list[Piece] | None, int]:
        size = source.bytes_in_pattern
        if source.buffer_type == HOST_BUFFER_CCB:
            continuous = self._host.continuous_at(source.dma_address)
            if continuous is None:
                return None, size
            buffer, offset = continuous
            return buffer.pieces(offset, min(size, buffer.size - offset)), size
        host_list = self._host.lists.get(source.dma_address)
        if host_list is None:
            return None, size
        return host_list.pieces(0, min(source.full_descriptors, host_list.count))

    def digest(self, source: ConfigSource) -> int:
        """Of all bytes that a channel can bring, in either style (0: unknown)."""
        sources = self._sources(source)
        found = None if sources is None else _digests.find(sources, None)
        if found is None:
            pieces = self._all_pieces(source)
            found = 0 if pieces is None else _digest(pieces)
            if sources is not None:
                _digests.keep(sources, None, found)
        return found

    def _all_pieces(self, source: ConfigSource) -> list[Piece] | None:
        if self._style == "bursts":
            return self._whole_pieces(source)[0]
        host_list = self._host.lists.get(source.dma_address)
        return None if host_list is None else host_list.pieces(0, _whole(source))[0]

    def _sources(self, source: ConfigSource) -> tuple[SourceStretch, ...] | None:
        """Where all bytes that a channel can bring come from; None unless they are as the buffer was filled."""
        if self._style == "bursts" and source.buffer_type == HOST_BUFFER_CCB:
            continuous = self._host.continuous_at(source.dma_address)
            if continuous is None:
                return None
            buffer, offset = continuous
            stretch = buffer.source(offset, min(source.bytes_in_pattern, buffer.size - offset))
            return None if stretch is None else (stretch,)
        host_list = self._host.lists.get(source.dma_address)
        if host_list is None:
            return None
        if self._style == "bursts":
            return host_list.sources(0, min(source.full_descriptors, host_list.count))
        return host_list.sources(0, _whole(source))

    def near(self, address: int) -> list[Piece]:
        """Configuration that the host holds for the program that an address belongs to, whoever fetches it."""
        return list(self._host.filled_near(address))

    def whole(self, stream: int, source: ConfigSource) -> Run:
        """Everything a prefetching channel reads: `bytes_in_pattern` bytes from the start of its buffer."""
        key = (source.dma_address, source.desc_page_size, 0, -1, source.bytes_in_pattern)
        continuous: tuple[HostBuffer, int] | None = None
        host_list: HostList | None = None
        if source.buffer_type == HOST_BUFFER_CCB:
            continuous = self._host.continuous_at(source.dma_address)
        else:
            host_list = self._host.lists.get(source.dma_address)
        place = continuous[0] if continuous is not None else host_list
        found = self._runs.get(key)
        if found is not None and found.holds(place):
            return found.run
        count = 0 if host_list is None else min(source.full_descriptors, host_list.count)
        place_read = source.dma_address, 0, -1
        run = self._decode(stream, source, self._sources(source), lambda: self.read_whole(source), place_read)
        self._runs[key] = _decoded(run, place, 0, count)
        return run

    def _decode(
        self,
        stream: int,
        source: ConfigSource,
        sources: tuple[SourceStretch, ...] | None,
        read: Callable[[], tuple[Piece | None, int]],
        place: tuple[int, int, int],
    ) -> Run:
        fetched = None if self._fetched is None else self._fetched()
        if fetched is not None:
            sources = None  # what arrives may be something else than what lies there
        which = self._style, stream
        found = None if sources is None or not self.checked else _runs.find(sources, which)
        if found is not None:
            return found
        data, size = read()
        if data is None:
            return opaque_run(size, xxhash.xxh3_64_intdigest(repr((place, size)).encode()))
        if fetched is not None:
            data = fetched(stream, source, bytes(data))
        if not self.checked:
            return decode_run(data, self._style)
        run = decode_checked(data, FAMILIES[self._style], stream)
        if sources is not None:
            _runs.keep(sources, which, run)
        return run


def _digest(pieces: Sequence[Piece]) -> int:
    state = xxhash.xxh3_64()
    size = 0
    for piece in pieces:
        state.update(piece)
        size += len(piece)
    if size >= LARGE:
        give_back(pieces)
    return state.intdigest()


def _whole(source: ConfigSource) -> int:
    """How many descriptors a channel can bring."""
    return min(source.programmed_descriptors, source.total_desc_count)


@dataclass(slots=True)
class ConfigChannel:
    """One config channel between ACTIVATE_CFG_CHANNEL and DEACTIVATE_CFG_CHANNEL.

    `fetched` counts descriptors or bursts asked for, `busy_until` is when the last of them has been consumed.
    `expected_bursts` is the number a context asks for in all, by which unknown bytes are shared out. `prefetched` is
    what a channel read that reads ahead.
    """

    channel: int
    config_stream_index: int
    source: ConfigSource
    expected_bursts: int
    fetched: int = 0
    busy_until: int = 0
    next_record: int = 0
    prefetched: Run | None = None

    @property
    def place(self) -> Place:
        """Which one it is, and how far."""
        return self.channel, self.fetched, self.next_record, self.expected_bursts

    def again(self) -> ConfigChannel:
        """Another one that is as far as this one."""
        programmed = self.channel, self.config_stream_index, self.source, self.expected_bursts
        return ConfigChannel(*programmed, self.fetched, self.busy_until, self.next_record, self.prefetched)


# of several that follow one another: instant behind a common one, bytes, the stream whose last one it is, if it is one
Fetch = tuple[int, int, int | None]


class Bus(ConfigBus, Unit):
    """The config bus of the chip: fetches are served in order."""

    name = "config bus"
    OUTLIVES_APPLICATIONS = True
    _begun_at = 0.0

    def fetch(self, now: float, size: float) -> float:
        begins = self.idle_at
        if now > begins:
            begins = self._begun_at = now
        self.idle_at = done = begins + self._fetch_ns + size * self._byte_ns
        return done

    def fetch_all(self, begun: int, fetches: Iterable[Fetch]) -> dict[int, int]:
        """As `fetch` of each; returns when the last one of each stream is consumed, in whole ns."""
        done: dict[int, int] = {}
        idle_at, fetch_ns, byte_ns = self.idle_at, self._fetch_ns, self._byte_ns
        for behind, size, last_of in fetches:
            now = begun + behind
            if now > idle_at:
                idle_at = self._begun_at = now
            idle_at = idle_at + fetch_ns + size * byte_ns
            if last_of is not None:
                done[last_of] = round(idle_at)
        self.idle_at = idle_at
        return done

    def busy(self, now: int) -> tuple[float, float]:
        """From when to when the fetches that are queued at `now` move, or moved last."""
        return self._begun_at, self.idle_at

    def reset(self) -> None:
        self.idle_at = self._begun_at = 0.0

    def state(self, now: int) -> tuple[object, ...]:
        return (passed(self.idle_at, now),)


@dataclass(slots=True)
class ConfigManager(Unit):
    """All config channels of the chip. `opaque_bytes` were moved without being understood."""

    name: ClassVar[str] = "configuration"
    COUNTERS: ClassVar[tuple[str, ...]] = ("ccw_bytes", "opaque_bytes")

    style: str
    memory: AddressSpace
    cache: RunCache
    channels: dict[int, ConfigChannel] = field(default_factory=dict)
    ccw_bytes: int = 0
    opaque_bytes: int = 0
    _places: dict[tuple[int, int, int, int], tuple[int, int]] = field(default_factory=dict)
    # bytes of a fetch and what is noted of it, by stream, bursts before and after it, expected bursts and their digest
    _shares: dict[tuple[int, int, int, int, int], tuple[int, tuple[int, int]]] = field(default_factory=dict)

    def reset(self) -> None:
        self.channels.clear()

    def state(self, now: int) -> tuple[object, ...]:
        return tuple(
            (stream, one.channel, one.fetched, one.next_record, passed(one.busy_until, now))
            for stream, one in self.channels.items()
        )

    def activate(self, stream: int, channel: ConfigChannel) -> None:
        require(
            stream not in self.channels,
            S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
            lambda: f"config stream {stream} is already active",
        )
        self.channels[stream] = channel

    def fetch_descriptors(self, channel: ConfigChannel, count: int) -> Run:
        """Consume `count` more descriptors and write what they hold; returns the run."""
        require(
            channel.fetched + count <= channel.source.programmed_descriptors,
            S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
            lambda: (
                f"{count} descriptors asked for, {channel.source.programmed_descriptors - channel.fetched} of "
                f"{channel.source.programmed_descriptors} left on config channel {channel.channel}"
            ),
        )
        run = self.cache.descriptors(channel.config_stream_index, channel.source, channel.fetched, count)
        channel.fetched += count
        self._load(channel, run)
        return run

    def fetch_bursts(self, channel: ConfigChannel, count: int) -> int:
        """Let `count` more records through; returns their bytes."""
        size, brought = self.next_bursts(channel, count)
        self.ccw_bytes += size
        if isinstance(brought, Image):
            self.memory.load(brought)
        else:
            self.opaque_bytes += size
            self.memory.note(brought)
        return size

    def next_bursts(self, channel: ConfigChannel, count: int) -> tuple[int, Image | tuple[int, int]]:
        """Go on by `count` records; returns their bytes, and what they write or, of unknown meaning, what is noted."""
        run = channel.prefetched or self.prefetched(channel)
        before = channel.fetched
        channel.fetched += count
        if run.opaque:
            return self._share(channel, run, before)
        image = run.image(channel.next_record, count)
        # a record that is not written is let through, too
        channel.next_record = min(channel.next_record + count, run.count)
        return image.size, image

    def outstanding_bursts(self, channel: ConfigChannel) -> int:
        """Bursts asked for beyond what the buffer holds: they never arrive; 0 where descriptors are asked for."""
        if self.style == "descriptors":
            return 0
        run = self.prefetched(channel)
        return 0 if run.opaque else channel.fetched - channel.next_record

    def check_drained(self, channel: ConfigChannel) -> None:
        """The conditions of DEACTIVATE_CFG_CHANNEL."""
        if self.style == "descriptors":
            require(
                channel.fetched == channel.source.programmed_descriptors,
                S.CONTEXT_SWITCH_STATUS_MISMATCH_BETWEEN_EXPECTED_DESCRIPTOR_COUNT_AND_ACTUAL_REQUESTS,
                lambda: (
                    f"config channel {channel.channel}: {channel.fetched} of {channel.source.programmed_descriptors} "
                    "descriptors were fetched"
                ),
            )
            return
        outstanding = self.outstanding_bursts(channel)
        require(
            outstanding == 0,
            S.CSM_CONFIG_MANAGER_STATUS_CSM_BURST_COUNTER_IS_NOT_ZERO,
            lambda: f"config stream {channel.config_stream_index}: {outstanding} bursts outstanding",
        )
        run = self.prefetched(channel)
        left = channel.expected_bursts - channel.fetched if run.opaque else run.count - channel.next_record
        require(
            left == 0,
            S.CSM_CONFIG_MANAGER_STATUS_CSM_FIFO_NOT_EMPTY,
            lambda: f"config stream {channel.config_stream_index}: {left} prefetched records were never executed",
        )

    def busy_until(self) -> int:
        """When everything fetched so far has been consumed."""
        return max((channel.busy_until for channel in self.channels.values()), default=0)

    def prefetched(self, channel: ConfigChannel) -> Run:
        """What a channel reads ahead."""
        if channel.prefetched is None:
            channel.prefetched = self.cache.whole(channel.config_stream_index, channel.source)
        return channel.prefetched

    def _load(self, channel: ConfigChannel, run: Run) -> None:
        if run.opaque:
            self._load_opaque(channel, run, run.size)
            return
        self.ccw_bytes += run.size
        self.memory.load(run.image(0, run.count))

    def _load_opaque(self, channel: ConfigChannel, run: Run, size: int) -> None:
        self.ccw_bytes += size
        self.opaque_bytes += size
        self.memory.note(self._place(channel, run, channel.fetched, size))

    def _share(self, channel: ConfigChannel, run: Run, before: int) -> tuple[int, tuple[int, int]]:
        """Bytes of the bursts behind `before` of a run of unknown meaning, and what is noted of them."""
        fetched = channel.fetched
        share = channel.config_stream_index, before, fetched, channel.expected_bursts, run.digest
        found = self._shares.get(share)
        if found is None:
            # no record boundaries are known: each burst is an equal share of the bytes
            total = max(channel.expected_bursts, fetched)
            size = run.size * fetched // total - run.size * before // total
            found = self._shares[share] = size, self._place(channel, run, fetched, size)
        return found

    def _place(self, channel: ConfigChannel, run: Run, fetched: int, size: int) -> tuple[int, int]:
        """What is noted of bytes of unknown meaning, the last of `fetched` descriptors or bursts.

        What was loaded, how far and from where still decides what the chip computes.
        """
        place = channel.config_stream_index, fetched, size, run.digest
        found = self._places.get(place)
        if found is None:
            text = " ".join(map(str, place))
            key = _OPAQUE_KEY + channel.config_stream_index
            found = self._places[place] = key, xxhash.xxh3_64_intdigest(text.encode())
        return found
