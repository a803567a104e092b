"""Config channels: they fetch CCW records from host memory and write them into the chip (hef-compile.md 4.4).

Two styles. "descriptors" (Hailo-8): each fetch makes a number of descriptors available. "bursts" (10H/15H): the
channel prefetches, each fetch lets a number of CCW records through. A fetch does not block the firmware; it is done
at an instant that is known when it starts, and MODULE_CONFIG_DONE waits for it (firmware-actions.md 8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import xxhash

from emu.hw.ccw import Run, decode_run, opaque_run
from emu.hw.hostmem import HostMemory
from emu.hw.memory import AddressSpace
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import require

NEVER = 1 << 62  # an instant that no run reaches: what a stalled channel finishes at
HOST_BUFFER_CCB = 1


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The host memory behind one activated config channel; `bursts` is how many records a capture implies."""

    buffer_type: int
    dma_address: int
    desc_page_size: int
    total_desc_count: int
    bytes_in_pattern: int


# what the device makes of the bytes of a config stream before they are decoded (fault injection)
Fetched = Callable[[int, ConfigSource, bytes], bytes]


class RunCache:
    """Decoded runs by their place in host memory: a context that is loaded again is not decoded again."""

    def __init__(self, host: HostMemory, style: str, fetched: Fetched | None = None) -> None:
        self._host = host
        self._style = style
        self._fetched = fetched
        self._runs: dict[tuple[int, int, int], Run] = {}

    def descriptors(self, stream: int, source: ConfigSource, start: int, count: int) -> Run:
        """The run behind descriptors `[start, start + count)`."""
        key = (source.dma_address, start, count)
        run = self._runs.get(key)
        if run is None:
            host_list = self._host.lists.get(source.dma_address)
            data: bytes | None = None
            size = count * source.desc_page_size
            if host_list is not None:
                data, size = host_list.read(start, count)
            run = self._runs[key] = self._decode(stream, source, data, size, key)
        return run

    def whole(self, stream: int, source: ConfigSource) -> Run:
        """Everything a prefetching channel reads: `bytes_in_pattern` bytes from the start of its buffer."""
        key = (source.dma_address, 0, -1)
        run = self._runs.get(key)
        if run is None:
            size = source.bytes_in_pattern
            data: bytes | None = None
            if source.buffer_type == HOST_BUFFER_CCB:
                found = self._host.continuous_at(source.dma_address)
                if found is not None:
                    buffer, offset = found
                    data = buffer.read(offset, min(size, buffer.size - offset))
            else:
                host_list = self._host.lists.get(source.dma_address)
                if host_list is not None:
                    data, size = host_list.read(0, min(size // source.desc_page_size, host_list.count))
            run = self._runs[key] = self._decode(stream, source, data, size, key)
        return run

    def _decode(
        self, stream: int, source: ConfigSource, data: bytes | None, size: int, key: tuple[int, int, int]
    ) -> Run:
        if data is None:
            return opaque_run(size, xxhash.xxh3_64_intdigest(repr((key, size)).encode()))
        if self._fetched is not None:
            data = self._fetched(stream, source, data)
        return decode_run(data, self._style)


@dataclass(slots=True)
class ConfigChannel:
    """One config channel between ACTIVATE_CFG_CHANNEL and DEACTIVATE_CFG_CHANNEL.

    `fetched` counts descriptors or bursts asked for, `busy_until` is when the last of them has been consumed.
    `expected_bursts` is the number a context asks for in all, by which unknown bytes are shared out.
    """

    channel: int
    config_stream_index: int
    source: ConfigSource
    expected_bursts: int
    fetched: int = 0
    busy_until: int = 0
    next_record: int = 0

    @property
    def programmed_descriptors(self) -> int:
        return -(-self.source.bytes_in_pattern // self.source.desc_page_size)


@dataclass(slots=True)
class ConfigManager:
    """All config channels of the chip. `opaque_bytes` were moved without being understood."""

    style: str
    memory: AddressSpace
    cache: RunCache
    channels: dict[int, ConfigChannel] = field(default_factory=dict)
    ccw_bytes: int = 0
    opaque_bytes: int = 0

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
            channel.fetched + count <= channel.programmed_descriptors,
            S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
            lambda: (
                f"{count} descriptors asked for, {channel.programmed_descriptors - channel.fetched} of "
                f"{channel.programmed_descriptors} left on config channel {channel.channel}"
            ),
        )
        run = self.cache.descriptors(channel.config_stream_index, channel.source, channel.fetched, count)
        channel.fetched += count
        self._load(channel, run)
        return run

    def fetch_bursts(self, channel: ConfigChannel, count: int) -> int:
        """Let `count` more records through; returns their bytes."""
        run = self.cache.whole(channel.config_stream_index, channel.source)
        if run.opaque:
            # no record boundaries are known: each burst is an equal share of the bytes
            before, total = channel.fetched, max(channel.expected_bursts, channel.fetched + count)
            channel.fetched += count
            size = run.size * channel.fetched // total - run.size * before // total
            self._load_opaque(channel, run, size)
            return size
        image = run.image(channel.next_record, count)
        channel.fetched += count
        channel.next_record += len(image.rows)
        self.ccw_bytes += image.size
        self.memory.load(image)
        return image.size

    def outstanding_bursts(self, channel: ConfigChannel) -> int:
        """Bursts asked for beyond what the buffer holds: they never arrive."""
        run = self.cache.whole(channel.config_stream_index, channel.source)
        return 0 if run.opaque else channel.fetched - channel.next_record

    def check_drained(self, channel: ConfigChannel) -> None:
        """The conditions of DEACTIVATE_CFG_CHANNEL."""
        if self.style == "descriptors":
            require(
                channel.fetched == channel.programmed_descriptors,
                S.CONTEXT_SWITCH_STATUS_MISMATCH_BETWEEN_EXPECTED_DESCRIPTOR_COUNT_AND_ACTUAL_REQUESTS,
                lambda: (
                    f"config channel {channel.channel}: {channel.fetched} of {channel.programmed_descriptors} "
                    "descriptors were fetched"
                ),
            )
            return
        outstanding = self.outstanding_bursts(channel)
        require(
            outstanding == 0,
            S.CSM_CONFIG_MANAGER_STATUS_CSM_BURST_COUNTER_NOT_ZERO,
            lambda: f"config stream {channel.config_stream_index}: {outstanding} bursts outstanding",
        )
        run = self.cache.whole(channel.config_stream_index, channel.source)
        left = channel.expected_bursts - channel.fetched if run.opaque else run.count - channel.next_record
        require(
            left == 0,
            S.CSM_CONFIG_MANAGER_STATUS_CSM_FIFO_NOT_EMPTY,
            lambda: f"config stream {channel.config_stream_index}: {left} prefetched records were never executed",
        )

    def busy_until(self) -> int:
        """When everything fetched so far has been consumed."""
        return max((channel.busy_until for channel in self.channels.values()), default=0)

    def _load(self, channel: ConfigChannel, run: Run) -> None:
        if run.opaque:
            self._load_opaque(channel, run, run.size)
            return
        self.ccw_bytes += run.size
        self.memory.load(run.image(0, run.count))

    def _load_opaque(self, channel: ConfigChannel, run: Run, size: int) -> None:
        self.ccw_bytes += size
        self.opaque_bytes += size
        # what was loaded, how far and from where still decides what the chip computes
        place = f"{channel.config_stream_index} {channel.fetched} {size} {run.digest}"
        self.memory.note_opaque(channel.config_stream_index, xxhash.xxh3_64_intdigest(place.encode()))
