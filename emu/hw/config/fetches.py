"""Fetches of bursts that follow one another in a list, worked out once and done at once.

What a fetch brings depends on how far its channel is in what it reads. Lists that run again find their channels where
they found them before, and what they bring is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from emu.hw.config.ccw import Image, Run
from emu.hw.config.channels import Bus, ConfigChannel, ConfigManager


class Place(NamedTuple):
    """How far a channel is: bursts that were asked for, the next record, bursts that its list asks for in all."""

    fetched: int
    next_record: int
    expected_bursts: int


class Fetches(Struct, frozen=True):
    """Several fetches of bursts, and what they come to where their channels stand as in `channels`.

    `channels` are (stream, how far it is before, what it reads, how far it is behind). `each` is (instant behind the
    first, bytes, the stream whose last one it is or None); of all of them `size` bytes are either written (`images`) or
    only `noted`.
    """

    channels: tuple[tuple[int, Place, Run, Place], ...]
    each: tuple[tuple[int, int, int | None], ...]
    size: int
    images: tuple[Image, ...]
    noted: tuple[tuple[int, int], ...]

    @classmethod
    def foreseen(cls, config: ConfigManager, bursts: Sequence[tuple[int, int, int]]) -> Fetches | None:
        """Of fetches of (instant, stream, bursts); None where one fails, or in a mixture of both kinds."""
        streams = dict.fromkeys(stream for _, stream, _ in bursts)
        if any(stream not in config.channels for stream in streams):
            return None
        channels = {stream: config.channels[stream] for stream in streams}
        runs = {stream: config.prefetched(channel) for stream, channel in channels.items()}
        before = {stream: _place(channel) for stream, channel in channels.items()}
        behind, last = dict(before), {stream: number for number, (_, stream, _) in enumerate(bursts)}
        each, images, noted = [], [], []
        for number, (instant, stream, count) in enumerate(bursts):
            run, (fetched, record, expected) = runs[stream], behind[stream]
            if run.opaque:
                size, place = config.share(channels[stream], run, fetched, count)
                noted.append(place)
            else:
                image = run.image(record, count)
                images.append(image)
                size, record = image.size, min(record + count, run.count)
            each.append((instant, size, stream if last[stream] == number else None))
            behind[stream] = Place(fetched + count, record, expected)
        if images and noted:
            return None  # the order of both among one another counts
        places = tuple((stream, before[stream], runs[stream], behind[stream]) for stream in streams)
        return cls(places, tuple(each), sum(size for _, size, _ in each), tuple(images), tuple(noted))

    def hold(self, config: ConfigManager) -> bool:
        """Whether the channels are where they were, and read the same."""
        channels = config.channels
        for stream, (fetched, record, expected), run, _ in self.channels:
            channel = channels.get(stream)
            if channel is None or channel.fetched != fetched or channel.next_record != record:
                return False
            if channel.expected_bursts != expected or (channel.prefetched or config.prefetched(channel)) is not run:
                return False
        return True

    def carry_out(self, config: ConfigManager, bus: Bus, begun: int) -> None:
        """Do all of them, the first one `begun` then."""
        done = bus.fetch_all(begun, self.each)
        config.ccw_bytes += self.size
        if self.noted:
            config.opaque_bytes += self.size
            config.memory.note_all(self.noted)
        for image in self.images:
            config.memory.load(image)
        for stream, _, _, (fetched, record, _) in self.channels:
            channel = config.channels[stream]
            channel.fetched, channel.next_record, channel.busy_until = fetched, record, done[stream]


def _place(channel: ConfigChannel) -> Place:
    return Place(channel.fetched, channel.next_record, channel.expected_bursts)
