"""KV cache buffers (vdma.md 3.6)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from emu.chips.runtimes import RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import align_up
from emu.sequencer.host import HostMemory, ListBuilder
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.program import Cache, Direction
from emu.sequencer.requirements import Requirements, power_of_two, scatter_gather_limits, single_transfer
from emu.wire.actions import HostBufferInfo, HostBufferType


class _Side(Struct):
    """One direction of a cache: how many entries it moves per frame, and its descriptors once created."""

    length: int
    descriptors: ListBuilder | None = None


class _Cache(Struct):
    """A cache and its backing buffer; sizes in bytes, lengths in entries."""

    cache_id: int
    entry_size: int
    padded_entry_size: int
    page_size: int
    buffer_id: int
    sides: dict[Direction, _Side] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return sum(side.length for side in self.sides.values())


class CacheManager:
    """The caches of one device: the buffers belong to a cache id, whichever network group uses them."""

    def __init__(self, host: HostMemory, runtime: RuntimeProfile) -> None:
        self._host = host
        self._runtime = runtime
        self._limits = scatter_gather_limits(host.settings.desc_max_page)
        self._buffers: dict[int, tuple[int, int]] = {}
        self._length: int | None = None

    def group(self, layers: Iterable[EdgeLayer]) -> GroupCaches:
        """The caches of a network group's layers.

        Raises HAILO_INVALID_ARGUMENT for unequal lengths, HAILO_INTERNAL_FAILURE where the two sides do not match.
        """
        caches: dict[int, _Cache] = {}
        for layer in layers:
            entry = layer.hw_shape.features
            if not entry:
                raise _refuse(layer, "has no features")
            cache = caches.get(layer.cache_id)
            padded, page = self._entry(entry)
            if cache is None:
                cache = caches[layer.cache_id] = _Cache(layer.cache_id, entry, padded, page, 0)
            if layer.direction in cache.sides:
                raise _refuse(layer, f"is the second {layer.direction.name} layer of cache {layer.cache_id}")
            if cache.entry_size != entry:
                raise _refuse(layer, f"has entries of {entry} bytes, the other side {cache.entry_size}")
            cache.sides[layer.direction] = _Side(layer.hw_shape.height * layer.hw_shape.width)
        for cache in caches.values():
            if len(cache.sides) != 2:
                raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"cache {cache.cache_id} has only one direction")
            if self._length is None:
                self._length = cache.length
            if cache.length != self._length:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"cache {cache.cache_id} has {cache.length} entries, the first one {self._length}",
                )
            size = cache.length * cache.padded_entry_size
            buffer_id, held = self._buffers.setdefault(cache.cache_id, (self._host.buffer(), size))
            if held != size:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"cache {cache.cache_id} has {size} bytes, in another network group {held}",
                )
            cache.buffer_id = buffer_id
        return GroupCaches(self._host, self._runtime, caches)

    def _entry(self, entry: int) -> tuple[int, int]:
        """Padded entry size and largest page."""
        if self._runtime.cache_pages:
            page = min(power_of_two(entry, self._limits.min_page_size), self._limits.default_page_size)
            padded = align_up(entry, page)
        else:
            padded = entry if entry & (entry - 1) == 0 else power_of_two(entry, self._limits.min_page_size)
        return padded, min(padded, self._limits.max_page_size)


class GroupCaches:
    """The caches of one network group and their descriptor lists."""

    def __init__(self, host: HostMemory, runtime: RuntimeProfile, caches: dict[int, _Cache]) -> None:
        self._host = host
        self._runtime = runtime
        self._caches = caches
        self._programmed = False

    def __bool__(self) -> bool:
        return bool(self._caches)

    def buffer_info(self, layer: EdgeLayer, batch: int) -> tuple[HostBufferInfo, int]:
        """Host buffer info and entries per frame of a cache layer; the list is created on first use.

        A network batch above 1 is HAILO_INVALID_ARGUMENT.
        """
        if batch != 1:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"cache {layer.cache_id} with a batch of {batch}, it must be 1"
            )
        cache = self._caches[layer.cache_id]
        side = cache.sides[layer.direction]
        if side.descriptors is None:
            side.descriptors = self._host.descriptor_list(self._requirements(cache, side))
            self._program()
        needed = side.descriptors.requirements
        pattern = cache.entry_size * (1 if self._runtime.cache_entries else side.length)
        info = HostBufferInfo(
            HostBufferType.EXTERNAL_DESC, side.descriptors.dma_address, needed.page_size, needed.desc_count, pattern
        )
        return info, side.length

    def _requirements(self, cache: _Cache, side: _Side) -> Requirements:
        limits = scatter_gather_limits(self._host.settings.desc_max_page)
        if not self._runtime.cache_entries:
            return single_transfer(
                limits,
                self._runtime,
                cache.padded_entry_size * side.length,
                max_page_size=limits.max_page_size,
                min_batch=1,
                max_batch=1,
                is_aligned=True,
            )
        return single_transfer(
            limits,
            self._runtime,
            cache.entry_size,
            max_page_size=cache.page_size,
            min_batch=side.length,
            max_batch=side.length,
            is_aligned=True,
        )

    def _program(self) -> None:
        """For read pointer 0, once both sides of every cache have their lists: inputs first, outputs behind."""
        sides = [side for cache in self._caches.values() for side in cache.sides.values()]
        if self._programmed or any(side.descriptors is None for side in sides):
            return
        self._programmed = True
        for cache in self.programs():
            for direction, programs in zip((Direction.H2D, Direction.D2H), cache.programs(0), strict=True):
                descriptors = self._caches[cache.cache_id].sides[direction].descriptors
                assert descriptors is not None
                if cache.in_one and any(program.offset % cache.page_size for program in programs):
                    raise HailoError(
                        HailoStatus.HAILO_INTERNAL_FAILURE,
                        f"cache {cache.cache_id}: entries of {cache.padded_entry_size} bytes from an offset within a "
                        f"page of {cache.page_size}",
                    )
                descriptors.programs += programs

    def programs(self) -> tuple[Cache, ...]:
        """The caches whose lists both exist, as the program keeps them."""
        out = []
        for cache in self._caches.values():
            reads, writes = cache.sides[Direction.H2D], cache.sides[Direction.D2H]
            if reads.descriptors is None or writes.descriptors is None:
                continue
            out.append(
                Cache(
                    cache.cache_id,
                    cache.buffer_id,
                    cache.entry_size,
                    cache.padded_entry_size,
                    reads.descriptors.requirements.page_size,
                    reads.length,
                    writes.length,
                    reads.descriptors.dma_address,
                    writes.descriptors.dma_address,
                    not self._runtime.cache_entries,
                )
            )
        return tuple(out)


def _refuse(layer: EdgeLayer, message: str) -> HailoError:
    return HailoError(
        HailoStatus.HAILO_INTERNAL_FAILURE,
        f"cache layer {layer.name} {message}",
        context=layer.context_index,
        stream=layer.stream_index,
    )
