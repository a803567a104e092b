"""What config channels bring: runs of records decoded where they lie in host memory, each once while it lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import xxhash
from msgspec import Struct

from emu.hw.config.ccw import Run, decode_checked, decode_run, opaque_run
from emu.hw.config.lasting import Lasting
from emu.hw.gather import LARGE, Piece, gathered, give_back
from emu.hw.hostmem import HostBuffer, HostList, HostMemory, SourceStretch
from emu.sequencer.configuration import HAILO1XH, HAILO8
from emu.wire.actions import HostBufferInfo, HostBufferType

FAMILIES = {"descriptors": HAILO8, "bursts": HAILO1XH}  # of records, by how channels fetch them


# what the device makes of the bytes of a config stream before they are decoded (fault injection)
Fetched = Callable[[int, HostBufferInfo, bytes], bytes]

_runs: Lasting[Run] = Lasting()
_digests: Lasting[int] = Lasting()


class _Decoded(Struct, frozen=True):
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

    def descriptors(self, stream: int, source: HostBufferInfo, start: int, count: int) -> Run:
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

    def read(self, source: HostBufferInfo, start: int, count: int) -> tuple[Piece | None, int]:
        """The bytes behind descriptors `[start, start + count)` (None: unknown), and how many they are."""
        host_list = self._host.lists.get(source.dma_address)
        return (None, count * source.desc_page_size) if host_list is None else host_list.read(start, count)

    def read_whole(self, source: HostBufferInfo) -> tuple[Piece | None, int]:
        """The bytes that a prefetching channel reads (None: unknown), and how many they are."""
        pieces, size = self._whole_pieces(source)
        return (None if pieces is None else gathered(pieces, sum(map(len, pieces)))), size

    def _whole_pieces(self, source: HostBufferInfo) -> tuple[list[Piece] | None, int]:
        size = source.bytes_in_pattern
        if source.buffer_type == HostBufferType.CCB:
            continuous = self._host.continuous_at(source.dma_address)
            if continuous is None:
                return None, size
            buffer, offset = continuous
            return buffer.pieces(offset, min(size, buffer.size - offset)), size
        host_list = self._host.lists.get(source.dma_address)
        if host_list is None:
            return None, size
        return host_list.pieces(0, min(source.full_descriptors, host_list.count))

    def digest(self, source: HostBufferInfo) -> int:
        """Of all bytes that a channel can bring, in either style (0: unknown)."""
        sources = self._sources(source)
        found = None if sources is None else _digests.find(sources, None)
        if found is None:
            pieces = self._all_pieces(source)
            found = 0 if pieces is None else _digest(pieces)
            if sources is not None:
                _digests.keep(sources, None, found)
        return found

    def _all_pieces(self, source: HostBufferInfo) -> list[Piece] | None:
        if self._style == "bursts":
            return self._whole_pieces(source)[0]
        host_list = self._host.lists.get(source.dma_address)
        return None if host_list is None else host_list.pieces(0, _whole(source))[0]

    def _sources(self, source: HostBufferInfo) -> tuple[SourceStretch, ...] | None:
        """Where all bytes that a channel can bring come from; None unless they are as the buffer was filled."""
        if self._style == "bursts" and source.buffer_type == HostBufferType.CCB:
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

    def whole(self, stream: int, source: HostBufferInfo) -> Run:
        """Everything a prefetching channel reads: `bytes_in_pattern` bytes from the start of its buffer."""
        key = (source.dma_address, source.desc_page_size, 0, -1, source.bytes_in_pattern)
        continuous: tuple[HostBuffer, int] | None = None
        host_list: HostList | None = None
        if source.buffer_type == HostBufferType.CCB:
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
        source: HostBufferInfo,
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


def _whole(source: HostBufferInfo) -> int:
    """How many descriptors a channel can bring."""
    return min(source.descriptors_per_transfer, source.total_desc_count)
