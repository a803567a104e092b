"""What a trace says of frames: transfers over edges, LCUs that are done, tasks that go idle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emu.hw.clock import Clock
from emu.hw.cluster import Lcu
from emu.hw.passes import FramePass
from emu.hw.probe import Probe
from emu.hw.vdma import Edge
from emu.trace.events import Event, Kind, Subject, Tracer


class FrameEvents:
    """The events of one core; only called while there is a tracer."""

    def __init__(self, probe: Probe, clock: Clock) -> None:
        self._probe = probe
        self._clock = clock
        self._subjects: dict[int, Subject] = {}  # of LCUs that are done, by their address

    @property
    def _tracer(self) -> Tracer:
        assert self._probe.tracer is not None
        return self._probe.tracer

    def done(self, lcus: Iterable[Lcu], cause: str, application: int) -> None:
        """LCUs have worked off what SWITCH_LCU_BATCH asked of them."""
        now, emit = self._clock.time, self._tracer.emit
        for lcu in lcus:
            subject = self._subjects.get(lcu.address)
            if subject is None or subject.application != application:
                subject = Subject(Kind.UNIT, application, action="done", unit=lcu.describe())
                self._subjects[lcu.address] = subject
            emit((now, subject, cause, "", 0, 0))

    def idle(self, task: str, cause: str, application: int) -> None:
        """A task has nothing more to do."""
        self._tracer.emit(Event(self._clock.time, Kind.UNIT, application, action="idle", unit=task, cause=cause))

    def transfer(self, one: FramePass, edge: Edge, frame: int, application: int, names: Mapping[int, str]) -> None:
        """A frame has crossed an edge; `names` are those of boundary streams."""
        channel = edge.channel
        name = names.get(channel.packed, "") if edge.boundary else ""
        self._tracer.emit(
            Event(
                self._clock.time,
                Kind.TRANSFER,
                application,
                one.context.name,
                unit=channel.describe(),
                cause=f"{edge.kind.value} stream {edge.stream}" + (f" {name}" if name else ""),
                bytes=edge.frame_bytes * edge.transfers,
                frame=one.first_frame + frame,
                arguments={
                    "available": channel.available,
                    "processed": channel.processed,
                    "transfers": edge.transfers,
                    "dma_address": edge.buffer.dma_address,
                },
            )
        )
