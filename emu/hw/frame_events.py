"""What a trace says of frames: launches and transfers of channels, LCUs that are done, tasks that go idle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emu.hw.clock import Clock
from emu.hw.cluster import Lcu
from emu.hw.passes import FramePass
from emu.hw.probe import Probe
from emu.hw.vdma import Channel, Edge
from emu.trace.events import Event, Kind, Subject, frame_cause
from emu.trace.tracer import Tracer

_LAUNCHED = ("transfers", "available", "processed")
_TRANSFERRED = ("available", "processed", "transfers", "dma_address")
_Crossing = tuple[int, str, str, str, int, str]
"""An edge of a context: application, context, channel, kind, stream, name."""


class FrameEvents:
    """The events of one core; only called while there is a tracer."""

    def __init__(self, probe: Probe, clock: Clock) -> None:
        self._probe = probe
        self._clock = clock
        self._subjects: dict[int, dict[int, Subject]] = {}  # of LCUs that are done, by application and address
        self._launches: dict[tuple[int, str], Subject] = {}  # by application and channel
        self._transfers: dict[_Crossing, tuple[Subject, str]] = {}

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
            emit((now, subject, cause, "", 0, 0, ()))

    def idle(self, task: str, cause: str, application: int) -> None:
        """A task has nothing more to do."""
        self._tracer.emit(Event(self._clock.time, Kind.UNIT, application, action="idle", unit=task, cause=cause))

    def launch(self, channel: Channel, size: int, application: int) -> None:
        """The host made descriptors of one transfer of `size` bytes available."""
        key = application, channel.describe()
        subject = self._launches.get(key)
        if subject is None:
            subject = self._launches[key] = Subject(Kind.LAUNCH, application, unit=key[1], counted=_LAUNCHED)
        self._tracer.emit((self._clock.time, subject, "", "", size, 0, (-1, 1, channel.available, channel.processed)))

    def transfer(self, one: FramePass, edge: Edge, frame: int, application: int, names: Mapping[int, str]) -> None:
        """A frame has crossed an edge; `names` are those of boundary streams."""
        channel = edge.channel
        name = names.get(channel.packed, "") if edge.boundary else ""
        key = application, one.context.name, channel.describe(), edge.kind.value, edge.stream, name
        found = self._transfers.get(key)
        if found is None:
            found = self._transfers[key] = _transfer(*key)
        subject, cause = found
        numbers = (
            one.first_frame + frame,
            channel.available,
            channel.processed,
            edge.transfers,
            edge.buffer.dma_address,
        )
        self._tracer.emit((self._clock.time, subject, cause, "", edge.frame_bytes * edge.transfers, 0, numbers))


def _transfer(application: int, context: str, channel: str, kind: str, stream: int, name: str) -> tuple[Subject, str]:
    """What the transfers over an edge have in common, and their cause."""
    cause = f"{kind} stream {stream}" + (f" {name}" if name else "")
    return Subject(Kind.TRANSFER, application, context, unit=channel, counted=_TRANSFERRED), cause
