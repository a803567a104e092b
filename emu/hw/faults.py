"""Injected faults: what goes wrong, where and when (`emu run --inject`, docs/device.md).

`KIND[:TARGET][#N][=VALUE][@CONTEXT:INDEX]`: TARGET is a packed channel id or the name of a boundary stream, a config
stream for flip-ccw and lost-config-descriptor, an LCU (packed id or CLUSTER.INDEX) for stuck-lcu; N counts frames (of
lost-config-descriptor: descriptors) from 0; CONTEXT:INDEX is the action before which the fault strikes (from the start
where it is not given).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from math import isfinite

from msgspec import Struct, field
from msgspec.structs import replace

from emu.errors import UsageError
from emu.hw.application import Context, Step
from emu.hw.clock import Clock
from emu.hw.cluster import LCUS_PER_CLUSTER_FIELD, Clusters
from emu.hw.payload import Content, Payload
from emu.hw.probe import Probe
from emu.hw.vdma import Vdma
from emu.numerals import whole_number
from emu.trace.events import Event, Kind
from emu.wire.actions import HostBufferInfo
from emu.wire.status import FirmwareStopError


class At(Enum):
    """What a fault strikes."""

    CHANNEL = "channel"
    CONFIG_STREAM = "config stream"
    LCU = "LCU"
    FIRMWARE = "firmware"


class FaultKind(Struct, frozen=True):
    """What a kind of fault does; `waits`: for a moment that comes by itself; `counts`: `#N` says which."""

    says: str
    at: At = At.CHANNEL
    waits: bool = False
    counts: bool = False
    needs_value: bool = False
    needs_place: bool = False


KINDS: Mapping[str, FaultKind] = {
    "drop-interrupt": FaultKind("the interrupt of frame N of the channel is lost", waits=True, counts=True),
    "delay-interrupt": FaultKind(
        "the host hears VALUE ns late of frame N of the channel", waits=True, counts=True, needs_value=True
    ),
    "reorder-interrupt": FaultKind(
        "the interrupt of frame N of the channel comes behind that of the next", waits=True, counts=True
    ),
    "flip-data": FaultKind(
        "bit VALUE (8 x byte + bit) of frame N is inverted on the channel", waits=True, counts=True, needs_value=True
    ),
    "flip-ccw": FaultKind(
        "bit VALUE (8 x byte + bit) of the first fetch of config stream TARGET is inverted",
        At.CONFIG_STREAM,
        waits=True,
        needs_value=True,
    ),
    "lost-config-descriptor": FaultKind(
        "what descriptor N of config stream TARGET holds never arrives", At.CONFIG_STREAM, waits=True, counts=True
    ),
    "stall-channel": FaultKind("the channel moves nothing any more"),
    "slow-channel": FaultKind("the channel is VALUE times slower", needs_value=True),
    "lose-descriptor": FaultKind("a descriptor that the channel was to work on is lost"),
    "stuck-lcu": FaultKind("the LCU lets no frame through", At.LCU),
    "reset": FaultKind("the context-switch task is reset", At.FIRMWARE, needs_place=True),
}
_SPEC = re.compile(
    r"(?P<kind>[a-z-]+)(?::(?P<target>[^#=@]+))?(?:#(?P<frame>\d+))?(?:=(?P<value>\d+(?:\.\d+)?))?"
    r"(?:@(?P<context>[a-z_]+(?:_\d+)?):(?P<index>\d+))?"
)
_LCU = re.compile(r"(\d+)\.(\d+)")
# an interrupt that another was to come before, and none did (house rule)
_LATEST_NS = 1_000_000


class Fault(Struct):
    """One fault; `name`: the stream that its channel serves, where it is not given as a number (`target`).

    `place` None: it holds from the start. `armed`: its place was reached, `struck`: it had its effect.
    """

    kind: str
    target: int = -1
    frame: int = 0
    value: float = 0.0
    place: tuple[str, int] | None = None
    name: str = ""
    armed: bool = False
    struck: bool = False

    @classmethod
    def parse(cls, text: str, streams: Sequence[str] | None = None) -> Fault:
        """From the text of `--inject`; UsageError with what there is. `streams`: all there are, None: not known yet."""
        match = _SPEC.fullmatch(text)
        if match is None or match["kind"] not in KINDS:
            raise UsageError(
                f"--inject {text:.80}: KIND[:TARGET][#N][=VALUE][@CONTEXT:INDEX], KIND one of {', '.join(KINDS)}"
            )
        name = match["kind"]
        kind = KINDS[name]
        missing = [
            word
            for word, needed, given in (
                ("TARGET", kind.at is not At.FIRMWARE, match["target"]),
                ("VALUE", kind.needs_value, match["value"]),
                ("CONTEXT:INDEX", kind.needs_place, match["context"]),
            )
            if needed and given is None
        ]
        if missing:
            raise UsageError(
                f"--inject {text:.80}: {name} needs {', '.join(missing)}: KIND[:TARGET][#N][=VALUE][@CONTEXT:INDEX]"
            )
        extra = ["#N"] * (match["frame"] is not None and not kind.counts)
        extra += ["=VALUE"] * (match["value"] is not None and not kind.needs_value)
        extra += [":TARGET"] * (match["target"] is not None and kind.at is At.FIRMWARE)
        if extra:
            raise UsageError(f"--inject {text:.80}: {', '.join(extra)} has no effect on {name}")
        if not isfinite(value := float(match["value"] or 0)):
            raise UsageError(f"--inject {text:.80}: VALUE is no finite number")
        if name.startswith("flip-") and not value.is_integer():
            raise UsageError(f"--inject {text:.80}: VALUE is a bit, a whole number")
        if name == "slow-channel" and value < 1:
            raise UsageError(f"--inject {text:.80}: {value:g} times slower would be faster: VALUE is 1 or more")

        def number(part: str) -> int:
            return whole_number(match[part], f"--inject {text:.80}: {part}")

        target, stream = _target(text, kind.at, match["target"] or "", streams)
        return cls(
            name,
            target,
            number("frame") if match["frame"] else 0,
            value,
            (match["context"], number("index")) if match["context"] else None,
            stream,
        )

    def __str__(self) -> str:
        place = f"@{self.place[0]}:{self.place[1]}" if self.place else ""
        value = f"={self.value:.15g}" if self.value else ""
        number = f"{self.target >> 4}.{self.target & 15}" if KINDS[self.kind].at is At.LCU else self.target
        target = f":{self.name or number}" if self.name or self.target >= 0 else ""
        frame = f"#{self.frame}" if KINDS[self.kind].counts else ""
        return f"{self.kind}{target}{frame}{value}{place}"


def _target(text: str, at: At, given: str, streams: Sequence[str] | None) -> tuple[int, str]:
    """The number that TARGET is, or the stream that it names."""
    if not given:
        return -1, ""
    if given.isdecimal():
        return whole_number(given, f"--inject {text:.80}: target"), ""
    lcu = _LCU.fullmatch(given)
    if at is At.LCU and lcu is not None and int(lcu[2]) < LCUS_PER_CLUSTER_FIELD:
        return int(lcu[1]) << 4 | int(lcu[2]), ""
    if at is not At.CHANNEL:
        raise UsageError(f"--inject {text:.80}: {given!r} is no {at.value}")
    if streams is not None and given not in streams:
        raise UsageError(f"--inject {text:.80}: no stream {given!r}; there are {', '.join(streams)}")
    return -1, given


class Victim(Struct, frozen=True):
    """What faults strike: the channels and LCUs of a chip, its firmware's task, and who is told."""

    clock: Clock
    vdma: Vdma
    clusters: Clusters
    probe: Probe
    reset: Callable[[], None]


class Faults(Struct):
    """The faults of one run. The device asks at its hooks whether one strikes."""

    faults: Sequence[Fault]
    delivered: dict[int, int] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)
    fetched: dict[int, int] = field(default_factory=dict)
    _held: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    _victim: Victim | None = None

    def __post_init__(self) -> None:
        # each run has its own: they remember that they struck
        self.faults = [replace(fault, armed=False, struck=False) for fault in self.faults]

    @property
    def victim(self) -> Victim:
        assert self._victim is not None, "the faults belong to no device"
        return self._victim

    @property
    def flips(self) -> bool:
        """Whether contents of frames have to be known."""
        return any(fault.kind == "flip-data" for fault in self.faults)

    @property
    def harms_configuration(self) -> bool:
        """Whether the chip may hold something else than its lists say."""
        return any(KINDS[fault.kind].at is At.CONFIG_STREAM for fault in self.faults)

    def start(self, victim: Victim) -> None:
        """Faults without a place strike before anything runs; UsageError for a channel or LCU that there is none of."""
        self._victim = victim
        victim.probe.one_by_one = True
        for fault in self.faults:
            if not fault.name:
                self._found(fault)

    def learn(self, names: Mapping[int, str]) -> None:
        """The streams of a network group by their channels: faults that name one know their target now."""
        for fault in self.faults:
            if fault.name and fault.target < 0:
                fault.target = next((packed for packed, name in names.items() if name == fault.name), -1)
                if fault.target >= 0:
                    self._found(fault)

    def _found(self, fault: Fault) -> None:
        """Its target is known."""
        victim, at = self.victim, KINDS[fault.kind].at
        try:
            if at is At.CHANNEL:
                victim.vdma.channel(fault.target)
            elif at is At.LCU:
                victim.clusters.check_cluster(fault.target >> 4)
        except FirmwareStopError as error:
            raise UsageError(f"--inject {fault}: {error.message}") from None
        if fault.place is None:
            self._strike(fault)

    def before(self, context: Context, step: Step) -> None:
        """An action is about to run."""
        for fault in self.faults:
            if not fault.armed and fault.place == (context.name, step.number):
                self._strike(fault)

    def _strike(self, fault: Fault) -> None:
        kind = KINDS[fault.kind]
        if kind.at is not At.FIRMWARE and fault.target < 0:
            return  # the stream that it names is of no group that is configured
        fault.armed = True
        if kind.waits:
            return  # asked for where it matters
        fault.struck = True
        self._tell(fault)
        victim = self.victim
        if fault.kind == "reset":
            victim.reset()
        elif fault.kind == "stuck-lcu":
            victim.clusters.stick(fault.target)
        elif fault.kind == "stall-channel":
            victim.vdma.channel(fault.target).stalled = True
        elif fault.kind == "slow-channel":
            victim.vdma.channel(fault.target).slow = fault.value
        else:
            victim.vdma.channel(fault.target).lost += 1

    # -- where they strike by themselves

    def interrupt(self, packed: int, deliver: Callable[[], None]) -> None:
        """A transfer of a channel is done and the host is to hear of it.

        One that was lost is made good by the channel's next: the host sees by num_processed how far it has come.
        """
        number = self.delivered.get(packed, 0)
        self.delivered[packed] = number + 1
        fault = next(self._due(packed, number, "drop-interrupt", "delay-interrupt", "reorder-interrupt"), None)
        if fault is None:
            self._deliver(packed, deliver)
            return
        self._struck(fault)
        clock = self.victim.clock
        if fault.kind == "delay-interrupt":
            clock.at(clock.time + round(fault.value), deliver)
            return
        self._held.setdefault(packed, []).append(deliver)
        if fault.kind == "reorder-interrupt":
            clock.at(clock.time + _LATEST_NS, partial(self._release, packed, deliver))

    def _deliver(self, packed: int, deliver: Callable[[], None]) -> None:
        for missed in self._held.pop(packed, ()):
            missed()
        deliver()

    def _release(self, packed: int, deliver: Callable[[], None]) -> None:
        """An interrupt comes at last, if no later one was ahead of it."""
        if deliver in self._held.get(packed, ()):
            self._held[packed].remove(deliver)
            deliver()

    def carried(self, packed: int, content: Content | None) -> Content | None:
        """A frame passes a channel; what it holds on the other side."""
        number = self.passed.get(packed, 0)
        self.passed[packed] = number + 1
        for fault in self._due(packed, number, "flip-data"):
            # of a frame whose bytes nobody knows any bit is one of it
            data = b"\0" if content is None else content.materialise() if isinstance(content, Payload) else content
            at, bit = divmod(int(fault.value), 8)
            if content is None:
                at = 0
            if at < len(data):
                self._struck(fault)
                content = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        return content

    def corrupt(self, stream: int, source: HostBufferInfo, data: bytes) -> bytes:
        """Bytes that a config stream fetches."""
        first = self.fetched.get(stream, 0)
        page = source.desc_page_size
        count = -(-len(data) // page)
        self.fetched[stream] = first + count
        for fault in self.faults:
            if fault.target != stream or not fault.armed or fault.struck:
                continue
            if fault.kind == "flip-ccw":
                at, bit = divmod(int(fault.value), 8)
                if at < len(data):
                    self._struck(fault)
                    data = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            elif fault.kind == "lost-config-descriptor" and first <= fault.frame < first + count:
                self._struck(fault)
                at = (fault.frame - first) * page
                data = data[:at] + data[at + page :]
        return data

    def _due(self, target: int, number: int, *kinds: str) -> Iterator[Fault]:
        """The faults of these kinds that are to strike number `number` of a channel."""
        for fault in self.faults:
            due = fault.armed and not fault.struck and (fault.target, fault.frame) == (target, number)
            if due and fault.kind in kinds:
                yield fault

    def _struck(self, fault: Fault) -> None:
        fault.struck = True
        self._tell(fault)

    def _tell(self, fault: Fault) -> None:
        victim = self.victim
        if victim.probe.tracer is not None:
            told = Event(victim.clock.time, Kind.FAULT, unit=str(fault), cause=KINDS[fault.kind].says)
            victim.probe.tracer.emit(told)

    # -- what came of them

    def idle(self) -> list[str]:
        """The faults that had no effect: their place, frame or fetch never came, nothing used their channel or LCU."""
        return [str(fault) for fault in self.faults if not fault.struck or not self._had_effect(fault)]

    def _had_effect(self, fault: Fault) -> bool:
        kind, victim = KINDS[fault.kind], self.victim
        if kind.waits or kind.at is At.FIRMWARE:
            return True
        if kind.at is At.LCU:
            return victim.clusters.ever_named(fault.target)
        return victim.vdma.channel(fault.target).ever_open

    def describe(self) -> list[str]:
        """The faults that struck, for a stall's report."""
        return [f"injected: {fault}" for fault in self.faults if fault.struck]
