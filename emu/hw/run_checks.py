"""Hazards that only a run shows (units.md 6): what goes wrong under way, and the chip carries out all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from emu.hw.application import Context
from emu.hw.border import StreamLabel
from emu.hw.cluster import Clusters
from emu.hw.tasks import BurstJob
from emu.hw.vdma import Edge, EdgeKind
from emu.sequencer.program import ContextType
from emu.trace.hazards import Hazard
from emu.wire.actions import ActionType


def left_running(context: Context, clusters: Clusters) -> Iterator[Hazard]:
    """A list of several has come to its end: what it enabled still runs, although it disables others."""
    if context.type is not ContextType.DYNAMIC or ActionType.DISABLE_LCU not in context.actions.by_type:
        return
    for packed in context.actions.enables:
        lcu = clusters.lcu(packed)
        if lcu.enabled:
            yield Hazard("left-running", f"{context.name}, {lcu.describe()}", "enabled here, not disabled")


def not_switched(clusters: Clusters, named: Iterable[int], jobs: Iterable[BurstJob], batch: int) -> Iterator[Hazard]:
    """A batch-switching list has run: LCUs that SWITCH_LCU_BATCH named before, and inputs, that keep the old batch."""
    for job in jobs:
        if job.batch != batch:
            what = f"gets credits for a batch of {job.batch}, the new one is {batch}"
            yield Hazard("batch-not-switched", f"batch_switching, input stream {job.stream}", what)
    for packed in sorted(named):
        lcu = clusters.lcu(packed)
        if lcu.counting and lcu.target != batch:
            what = f"counts to a batch of {lcu.target}, the new one is {batch}"
            yield Hazard("batch-not-switched", f"batch_switching, {lcu.describe()}", what)


def misdirected(
    context: Context, edges: Iterable[Edge], labels: Mapping[int, StreamLabel], by_context: bool
) -> Iterator[Hazard]:
    """Frames begin to flow through a context: boundary channels that carry what the host did not ask for (there, where
    `by_context`), and streams that two channels carry."""
    carried: dict[tuple[object, int], Edge] = {}
    for edge in edges:
        what = ""
        label = labels.get(edge.channel.packed) if edge.boundary else None
        if label is not None:
            if label.stream not in (-1, edge.stream):
                what = f"the host asked for stream {label.stream}"
            elif by_context and label.context is not None and label.context != context.index:
                what = f"the stream belongs to dynamic_{label.context}"
            elif label.frame_bytes and edge.frame_bytes * edge.transfers != label.frame_bytes:
                what = f"{edge.frame_bytes * edge.transfers} bytes a frame, the host asked for {label.frame_bytes}"
        if what:
            yield Hazard("delivered-not-asked", f"{context.name}, {edge.describe()}", what)
        other = carried.setdefault((edge.direction, edge.channel.mapped_stream or edge.stream), edge)
        if other is not edge and edge.kind is not EdgeKind.DDR:
            what = f"{other.channel.describe()} carries that stream too"
            yield Hazard("delivered-not-asked", f"{context.name}, {edge.describe()}", what)
