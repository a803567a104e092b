"""What a trace says of frames: transfers over edges, LCUs that are done, tasks that go idle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emu.hw.clock import Clock
from emu.hw.cluster import Lcu
from emu.hw.passes import FramePass
from emu.hw.probe import Probe
from emu.hw.vdma import Edge
from emu.trace.events import Event, Kind, Subject, frame_cause
from emu.trace.tracer import Tracer


class FrameEvents:
    """The events of one core; only called while there is a tracer."""

    def __init__(self, probe: Probe, clock: Clock) -> None:
        self._probe = probe
        self._clock = clock
        self._subjects: dict[int, dict[int, Subject]] = {}  # of LCUs that are done, by application and address

    @property
    def _tracer(self) -> Tracer:
        assert self._probe.tracer is not None
        return self._probe.tracer

    def done(self, lcus: Iterable[Lcu], frame: int, application: int) -> None:
        """LCUs have worked off what SWITCH_LCU_BATCH asked of them."""
        now, emit, cause = self._clock.time, self._tracer.emit, frame_cause(frame)
        subjects = self._subjects.setdefault(application, {})
        for lcu in lcus:
            subject = subjects.get(lcu.address)
            if subject is None:
                subject = Subject(Kind.UNIT, application, action="done", unit=lcu.describe())
                subjects[lcu.address] = subject
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
