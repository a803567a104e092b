"""What a stretch of straight-line actions comes to: carried out as one, wherever what it follows from is as it was.

What such actions do to config channels, sequencers and registers follows from where the config channels stand when the
stretch begins, and lists that run again find them where they found them before: only instants are worked out anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from emu.hw.cluster import FrameCount, Sequencer
from emu.hw.config.ccw import Image, Run
from emu.hw.config.channels import ConfigChannel, Fetch, Place
from emu.hw.execution import Execution
from emu.hw.memory import Writes
from emu.wire.actions import ActionType, HostBufferInfo

# what has an instant: bytes are queued on the config bus, a sequencer is triggered; or is waited for: that sequencer,
# the last bytes of a config stream, all bytes
FETCHED, TRIGGERED, SEQUENCER_AWAITED, STREAM_AWAITED, CONFIG_AWAITED = range(5)
# which of them, ns behind the one before, cluster or config stream, fetches
Instant = tuple[int, int, int, tuple[Fetch, ...]]


class ChannelUse(NamedTuple):
    """A config channel in a stretch: its place `before` (None: it is opened in between), what it reads (None: nobody
    looks), and what is `left` of it (None: it is closed)."""

    stream: int
    source: HostBufferInfo
    before: Place | None
    run: Run | None
    left: ConfigChannel | None


class Stretch(Struct):
    """The actions of a list up to `end`.

    `awaited` are the LCUs that have to be done (packed), `counts` how many actions there are of each kind, `ns` passes
    behind the last of the `instants`. `channels` are all config channels, `before` of them open; `moves`: it rests on
    them or changes some. `size` bytes of configuration come, of which `opaque` are of unknown meaning.
    """

    end: int
    awaited: tuple[int, ...]
    counts: tuple[tuple[ActionType, int], ...]
    instants: tuple[Instant, ...]
    ns: int
    moves: bool
    before: int
    channels: tuple[ChannelUse, ...]
    triggered: tuple[tuple[Sequencer, Mapping[str, int]], ...]
    writes: tuple[Writes | Image, ...]
    size: int
    opaque: int
    writes_memory: bool
    among: list[FrameCount] | None = None  # all counts when those of the LCUs were looked up
    seen: list[FrameCount] | None = None

    def stands_alone(self, fw: Execution) -> bool:
        """Whether it waits for no frame, slows nobody, and nobody has to see its parts."""
        device = fw.device
        if self.awaited:
            counts = device.clusters.frame_counts()
            if counts is not self.among:
                self.among, self.seen = counts, device.clusters.counts_of(self.awaited)
            if self.seen is None:
                return False
            for one in self.seen:
                if one.frames < one.target:
                    return False
        if self.moves and device.moves_beside_configuration:
            return False
        return not self.writes_memory or not (device.memory.registers.act or fw.probe.write_hooks)

    def repeats(self, fw: Execution) -> bool:
        """Whether the config channels are where they were, and read the same."""
        if not self.moves:
            return True
        config = fw.device.config
        channels = config.channels
        if len(channels) != self.before:
            return False
        for stream, source, before, run, _ in self.channels:
            if before is None:
                if run is not None and config.cache.whole(stream, source) is not run:
                    return False
                continue
            channel = channels.get(stream)
            if channel is None or channel.place != before:
                return False
            if run is not None and (channel.prefetched or config.prefetched(channel)) is not run:
                return False
        return True

    def carry_out(self, fw: Execution) -> None:
        """Do all of it, from the present instant on."""
        device = fw.device
        done, consumed = self._pass_time(fw)
        if self.moves:
            config = device.config
            for stream, _, before, _, left in self.channels:
                if left is None:
                    config.channels.pop(stream, None)
                    continue
                if before is None:
                    channel = config.channels[stream] = left.again()
                else:
                    channel = config.channels[stream]
                    channel.fetched, channel.next_record = left.fetched, left.next_record
                if stream in consumed:
                    channel.busy_until = consumed[stream]
            if self.size:
                assert fw.context is not None
                fw.context.config_bytes += self.size
                config.ccw_bytes += self.size
                config.opaque_bytes += self.opaque
        for sequencer, arguments in self.triggered:
            sequencer.start(arguments, done[sequencer.cluster])
        for writes in self.writes:
            if isinstance(writes, Writes):
                device.memory.write_all(writes)
            else:
                device.memory.load(writes)
        executed = fw.probe.actions.counts
        for kind, count in self.counts:
            executed[kind] = executed.get(kind, 0) + count

    def _pass_time(self, fw: Execution) -> tuple[dict[int, int], dict[int, int]]:
        """Let its time pass; returns when each sequencer is done, and when each stream's last bytes are consumed."""
        done: dict[int, int] = {}
        consumed: dict[int, int] = {}
        now, bus, sequencer_ns = fw.now, fw.device.bus, fw.device.clusters.sequencer_ns
        for what, ns, which, fetches in self.instants:
            now += ns
            if what == FETCHED:
                consumed |= bus.fetch_all(now, fetches)
            elif what == TRIGGERED:
                done[which] = max(now, round(bus.idle_at)) + sequencer_ns
            else:
                if what == SEQUENCER_AWAITED:
                    at = done[which]
                else:
                    at = consumed[which] if what == STREAM_AWAITED else round(bus.idle_at)
                if at > now:
                    now = at
        fw.now = now + self.ns
        return done, consumed
