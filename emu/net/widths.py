"""How many channels each layer gives: memory says it in whole groups of eight, those that read it say it exactly.

Surplus channels come last; where maps are joined each part is joined without them (network.md 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from emu.net.dataflow import Source, Stream
from emu.net.units import LcuId
from emu.net.weights import OUTPUTS, UnreadError

_MOST_PARTS = 128


class Width(NamedTuple):
    """At least and at most so many channels."""

    least: int
    most: int


class Widths:
    """The channels of layers, narrowed by what reads them. `streams`: features by sys_index."""

    def __init__(self, streams: Mapping[int, int]) -> None:
        self._streams = streams
        self._own: dict[LcuId, Width] = {}
        self._like: dict[LcuId, Source] = {}  # as many as another source
        self._parts: dict[LcuId, tuple[Source, ...]] = {}  # of joined maps
        self._slices: dict[LcuId, Source] = {}  # reads some of the channels of a source
        self._first: dict[LcuId, int] = {}
        self._flat: dict[LcuId, tuple[Source, ...]] = {}
        self._found: dict[Source, Width] = {}  # until something is narrowed

    def gives(self, lcu: LcuId, most: int, units: int) -> None:
        """A layer of `units` sub-clusters with `most` channels, each of whole groups of eight."""
        self._set(lcu, Width(most - OUTPUTS * units + 1, most))

    def passes_on(self, lcu: LcuId, source: Source) -> None:
        """A layer that gives as many as it reads."""
        self._like[lcu] = source

    def joins(self, lcu: LcuId, parts: Sequence[Source], firsts: Sequence[int] = ()) -> None:
        """A layer that gives one source behind the other; slices of one source follow each other.

        `firsts`: the first channel of each, where that is known. Raises UnreadError for more parts than any chip has
        LCUs, or for one that cannot have as many channels as it gets.
        """
        for part, first, behind in zip(parts, firsts, firsts[1:], strict=False):
            self.narrow(part, behind - first)
        flat = [
            one for part in parts for one in (self._flat.get(part, (part,)) if isinstance(part, LcuId) else (part,))
        ]
        if len(flat) > _MOST_PARTS:
            raise UnreadError(f"it joins {len(flat)} maps")
        self._parts[lcu], self._flat[lcu] = tuple(parts), tuple(flat)
        place: dict[Source, int] = {}
        for part in flat:
            source = self._slices.get(part) if isinstance(part, LcuId) else None
            if source is not None and isinstance(part, LcuId):
                self._first[part] = place.get(source, 0)
                place[source] = self._first[part] + self._own[part].most

    def takes_part(self, lcu: LcuId, source: Source, channels: int) -> None:
        """A layer with a kernel for each of so many channels: all that its source has, or some of them.

        Raises UnreadError as `narrow` does.
        """
        least, most = self.of(source)
        if channels >= least:
            if channels < most:
                self.narrow(source, channels)
            self._like[lcu] = source
        else:
            self._set(lcu, Width(channels, channels))
            self._slices[lcu] = source

    def of(self, source: Source) -> Width:
        """What is known of a source. Raises UnreadError where nothing is."""
        found = self._found.get(source)
        if found is None:
            found = self._found[source] = self._work_out(source)
        return found

    def _work_out(self, source: Source) -> Width:
        if isinstance(source, Stream):
            features = self._streams.get(source.sys_index)
            if features is None:
                raise UnreadError(f"{source} is not one of its context")
            return Width(features, features)
        if source in self._like:
            return self.of(self._like[source])
        if source in self._parts:
            parts = [self.of(part) for part in self._parts[source]]
            return Width(sum(part.least for part in parts), sum(part.most for part in parts))
        if source not in self._own:
            raise UnreadError("the number of its input channels is not known")
        return self._own[source]

    def _set(self, lcu: LcuId, width: Width) -> None:
        self._own[lcu] = width
        self._found.clear()

    def narrow(self, source: Source, channels: int) -> None:
        """A source has exactly so many. Raises UnreadError where it cannot, or its parts could in several ways."""
        least, most = self.of(source)
        if not least <= channels <= most:
            raise UnreadError(f"{channels} channels are read of {source}, which gives {least} to {most}")
        if isinstance(source, Stream) or least == most:
            return
        if source in self._like:
            self.narrow(self._like[source], channels)
        elif source in self._parts:
            parts = [self._root(part) for part in self._parts[source]]
            open_ones = [part for part in parts if self.of(part).least < self.of(part).most]
            rest = channels - sum(self.of(part).most for part in parts if part not in open_ones)
            if len(set(open_ones)) == 1 and not rest % len(open_ones):
                self.narrow(open_ones[0], rest // len(open_ones))
            elif rest == sum(self.of(part).most for part in open_ones):
                for part in open_ones:
                    self.narrow(part, self.of(part).most)
            else:
                raise UnreadError(f"{channels} channels are read of {source}: which of its parts has fewer is open")
        else:
            self._set(source, Width(channels, channels))

    def _root(self, source: Source) -> Source:
        """What a source has as many channels as, by way of layers that give as many as they read."""
        while isinstance(source, LcuId) and source in self._like:
            source = self._like[source]
        return source

    def agree(self, lcu: LcuId, source: Source) -> None:
        """A layer that gives as many as the source that it adds. Raises UnreadError where both cannot."""
        own, added = self.of(lcu), self.of(source)
        least, most = max(own.least, added.least), min(own.most, added.most)
        if least > most:
            raise UnreadError(f"it adds {added.least} to {added.most} channels to {own.least} to {own.most}")
        if added.least == added.most:
            self.narrow(lcu, added.most)
        elif own.least == own.most:
            self.narrow(source, own.most)
        else:
            self._like[lcu] = source  # whoever narrows one narrows both
            self._found.clear()

    def narrow_if_open(self, source: Source, channels: int) -> None:
        """As `narrow`, where that fits."""
        try:
            self.narrow(source, channels)
        except UnreadError:
            return

    def settle(self) -> None:
        """Slices of a source end where it does."""
        for lcu, source in self._slices.items():
            try:
                most = self.of(source).most
            except UnreadError:
                continue
            channels = min(self._own[lcu].most, max(most - self._first.get(lcu, 0), 0))
            self._set(lcu, Width(channels, channels))

    def channels(self, lcu: LcuId) -> int | None:
        """Channels that a layer gives; None where nothing is known."""
        try:
            return self.of(lcu).most
        except UnreadError:
            return None

    def first(self, lcu: LcuId) -> int:
        """The first of the channels that a layer reads of its input."""
        return self._first.get(lcu, 0)
