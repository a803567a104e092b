"""Memory of the internal edges: planning, placing and programming (vdma.md 3.2 to 3.4)."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import merge
from typing import NamedTuple

from msgspec import Struct

from emu.chips.runtimes import DescriptorLimits, DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import align_up
from emu.sequencer.channels import LayerType
from emu.sequencer.host import ContinuousBuilder, HostMemory
from emu.sequencer.libstdcxx import introsort
from emu.sequencer.requirements import (
    Requirements,
    continuous_limits,
    scatter_gather_limits,
    single_transfer,
)
from emu.wire.actions import HostBufferInfo, HostBufferType

MAX_EDGES = 4096  # a limit of our own: placing takes time in the square of it


class EdgeKey(NamedTuple):
    """The producer of an edge."""

    context_index: int
    stream_index: int


class Edge(Struct):
    """An internal edge to be given memory; alive from its producer's context to its last consumer's."""

    key: EdgeKey
    type: LayerType
    name: str
    transfer_size: int
    max_transfers_in_batch: int
    start_context: int
    end_context: int


class EdgeMemory(Struct, frozen=True):
    """Where an edge lies: a scatter-gather buffer by id, or a range of a CCB buffer."""

    edge: Edge
    requirements: Requirements
    offset: int
    buffer_id: int
    continuous: ContinuousBuilder | None


class _Placement(NamedTuple):
    edge: Edge
    requirements: Requirements
    offset: int


class EdgePlanner:
    """Tries the plans in the runtime's order until every edge has memory."""

    def __init__(self, host: HostMemory, runtime: RuntimeProfile, device: DeviceProfile) -> None:
        self._host = host
        self._runtime = runtime
        self._device = device
        self._scatter_gather = scatter_gather_limits(host.settings.desc_max_page)
        self._continuous = continuous_limits(device)

    def plan(self, edges: Iterable[Edge]) -> dict[EdgeKey, EdgeMemory]:
        """Memory of every edge by its key; HAILO_CANT_MEET_BUFFER_REQUIREMENTS where no plan works."""
        waiting = sorted(edges, key=lambda edge: edge.key)
        if len(waiting) > MAX_EDGES:
            raise HailoError(
                HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS,
                f"{len(waiting)} internal edges in a network group, this planner takes {MAX_EDGES}",
            )
        placed: dict[EdgeKey, EdgeMemory] = {}
        for optimized, use_continuous in ((True, True), (True, False), (False, True), (False, False)):
            if not waiting:
                break
            waiting = self._try(waiting, optimized, use_continuous, placed)
        if waiting:
            edge = waiting[0]
            raise HailoError(
                HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS,
                f"no buffer plan holds {edge.name}: {edge.transfer_size} bytes x {edge.max_transfers_in_batch}",
                context=edge.key.context_index,
                stream=edge.key.stream_index,
            )
        return placed

    def _try(
        self,
        edges: list[Edge],
        optimized: bool,
        use_continuous: bool,
        placed: dict[EdgeKey, EdgeMemory],
    ) -> list[Edge]:
        """Execute one plan; gives the edges that are still without memory."""
        continuous = [edge for edge in edges if use_continuous and self._over_ccb(edge)]
        scattered = [edge for edge in edges if not (use_continuous and self._over_ccb(edge))]
        try:
            plans = [(True, plan) for plan in self._buffers(continuous, self._continuous, optimized)] + [
                (False, plan) for plan in self._buffers(scattered, self._scatter_gather, optimized)
            ]
        except HailoError as error:
            # the real program tries the same plan for ever here (vdma.md 3.4)
            if error.status is not HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS:
                raise
            return edges
        left: list[Edge] = []
        for is_continuous, plan in plans:
            size = max(offset + needed.buffer_size for _, needed, offset in plan)
            buffer_id, block = 0, None
            if is_continuous:
                try:
                    block = self._host.continuous(size)
                except HailoError as error:
                    if error.status is not HailoStatus.HAILO_OUT_OF_HOST_CMA_MEMORY:
                        raise
                    left += [placement.edge for placement in plan]
                    continue
            else:
                buffer_id = self._host.buffer()
            for edge, needed, offset in plan:
                placed[edge.key] = EdgeMemory(edge, needed, offset, buffer_id, block)
        return sorted(left, key=lambda edge: edge.key)

    def _over_ccb(self, edge: Edge) -> bool:
        if not self._device.integrated:
            return False
        settings = self._host.settings
        if edge.type is LayerType.INTER_CONTEXT:
            return not settings.is_on("HAILO_FORCE_INFER_CONTEXT_CHANNEL_OVER_DESC")
        return settings.is_on("HAILO_FORCE_DDR_CHANNEL_OVER_CCB")

    def requirements(self, edge: Edge, limits: DescriptorLimits) -> Requirements:
        ddr = edge.type is LayerType.DDR
        return single_transfer(
            limits,
            self._runtime,
            edge.transfer_size,
            max_page_size=limits.max_page_size,
            min_batch=edge.max_transfers_in_batch,
            max_batch=edge.max_transfers_in_batch,
            circular=ddr,
            force_batch=True,
            is_aligned=True,
            is_ddr=ddr,
        )

    def _buffers(self, edges: list[Edge], limits: DescriptorLimits, optimized: bool) -> list[list[_Placement]]:
        """The buffers of one memory type: one for all edges, or one each."""
        if not edges:
            return []
        if not optimized:
            return [[_Placement(edge, self.requirements(edge, limits), 0)] for edge in edges]
        ordered = introsort(edges, lambda left, right: left.transfer_size > right.transfer_size)
        return [_pack([(edge, self.requirements(edge, limits)) for edge in ordered])]


def _pack(edges: Sequence[tuple[Edge, Requirements]]) -> list[_Placement]:
    """First fit among the edges that are alive at the same time."""
    out: list[_Placement] = []
    placed = _Placed()
    for edge, needed in edges:
        page, size = needed.page_size, needed.buffer_size
        offset = 0
        for start, stop, first, last in placed.beside(edge):
            if first > edge.end_context or last < edge.start_context:
                continue
            if offset + size <= start - start % page:
                break
            offset = max(offset, align_up(stop, page))
        out.append(_Placement(edge, needed, offset))
        placed.add((offset, offset + size, edge.start_context, edge.end_context))
    return out


_Extent = tuple[int, int, int, int]  # offset, end, first context, last context


class _Placed:
    """Edges that have a place; one that is alive for a few contexts is not held against those of all others."""

    FEW = 8

    def __init__(self) -> None:
        self._all: list[_Extent] = []
        self._long: list[_Extent] = []
        self._short: defaultdict[int, list[_Extent]] = defaultdict(list)  # by each context that they are alive in

    def add(self, extent: _Extent) -> None:
        insort(self._all, extent)
        contexts = range(extent[2], extent[3] + 1)
        if len(contexts) > self.FEW:
            insort(self._long, extent)
            return
        for context in contexts:
            self._short[context].append(extent)

    def beside(self, edge: Edge) -> Iterable[_Extent]:
        """By offset, all that are alive together with an edge, and maybe others."""
        contexts = range(edge.start_context, edge.end_context + 1)
        if len(contexts) > self.FEW:
            return self._all
        short = {extent for context in contexts for extent in self._short[context]}
        return merge(sorted(short), self._long)


def create_edge_buffer(host: HostMemory, runtime: RuntimeProfile, memory: EdgeMemory, batch: int) -> HostBufferInfo:
    """The descriptors of one edge over its memory (a new list each time, none for CCB)."""
    edge, needed, offset, block = memory.edge, memory.requirements, memory.offset, memory.continuous
    page, count = needed.page_size, needed.desc_count
    if block is not None:
        return HostBufferInfo(HostBufferType.CCB, block.dma_address + offset, page, count, edge.transfer_size)
    ddr = edge.type is LayerType.DDR
    descriptors = host.descriptor_list(needed, circular=ddr)
    if ddr:
        descriptors.program(0, count * page, memory.buffer_id, offset)
    elif runtime.programs_batches:
        descriptors.program(
            0,
            edge.transfer_size,
            memory.buffer_id,
            offset,
            device_interrupt=runtime.descriptor_interrupts,
            transfers=batch,
        )
    else:
        taken = needed.descriptors(edge.transfer_size)
        for number in range(batch):
            descriptors.program(
                number * taken,
                edge.transfer_size,
                memory.buffer_id,
                offset + number * taken * page,
                device_interrupt=runtime.descriptor_interrupts and number == batch - 1,
            )
    return HostBufferInfo(HostBufferType.EXTERNAL_DESC, descriptors.dma_address, page, count, edge.transfer_size)
