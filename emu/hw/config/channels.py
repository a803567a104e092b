"""Config channels: they fetch CCW records from host memory and write them into the chip (hef-compile.md 4.4).

Two styles. "descriptors" (Hailo-8): each fetch makes a number of descriptors available. "bursts" (10H/15H): the
channel prefetches, each fetch lets a number of CCW records through. A fetch does not block the firmware; it is done
at an instant that is known when it starts, and MODULE_CONFIG_DONE waits for it (firmware-actions.md 8).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import xxhash

from emu.hw.config.ccw import Image, Run
from emu.hw.config.runs import RunCache
from emu.hw.unit import Unit, passed
from emu.timing.model import ConfigBus
from emu.wire.actions import HostBufferInfo
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

if TYPE_CHECKING:
    from emu.hw.memory import AddressSpace

_OPAQUE_KEY = 1 << 32  # above every address: bytes of unknown meaning, by config stream, which only the hash knows of

Place = tuple[int, int, int, int]  # channel id, bursts that were asked for, the next record, bursts to come in all


@dataclass(eq=False, slots=True)
class ConfigChannel:
    """One config channel between ACTIVATE_CFG_CHANNEL and DEACTIVATE_CFG_CHANNEL.

    `fetched` counts descriptors or bursts asked for, `busy_until` is when the last of them has been consumed.
    `expected_bursts` is the number a context asks for in all, by which unknown bytes are shared out. `prefetched` is
    what a channel read that reads ahead.
    """

    channel: int
    config_stream_index: int
    source: HostBufferInfo
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


@dataclass(eq=False, repr=False, slots=True)
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
            channel.fetched + count <= channel.source.descriptors_per_transfer,
            S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
            lambda: (
                f"{count} descriptors asked for, {channel.source.descriptors_per_transfer - channel.fetched} of "
                f"{channel.source.descriptors_per_transfer} left on config channel {channel.channel}"
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
                channel.fetched == channel.source.descriptors_per_transfer,
                S.CONTEXT_SWITCH_STATUS_MISMATCH_BETWEEN_EXPECTED_DESCRIPTOR_COUNT_AND_ACTUAL_REQUESTS,
                lambda: (
                    f"config channel {channel.channel}: {channel.fetched} of {channel.source.descriptors_per_transfer} "
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
