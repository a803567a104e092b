"""The trace for the Perfetto UI: TrackEvent protobuf, written as it comes.

Tracks: one per context, cluster, LCU, sequencer, channel, the streams on a channel, and one for the control messages;
counters for the credits of each channel, the frames a second of each output, and what lies in each internal buffer and
in all of them. A flow leads from the action that started a unit to the action that waited for it; whether one will is
known later, so that what is written is held back until then. Field numbers are those of perfetto's
trace_packet.proto and track_event.proto; the encoder is our own because two messages a slice leave no time for
building objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import BinaryIO, NamedTuple

from emu.trace.events import Event, Header, Kind, Occurrence, Record, Subject, event_of
from emu.wire import semantics

_SEQUENCE = b"\x50\x01"  # TracePacket.trusted_packet_sequence_id = 1
_PACKET, _TIMESTAMP = b"\x0a", b"\x40"  # Trace.packet, TracePacket.timestamp
_TRACK_EVENT, _TRACK_DESCRIPTOR = b"\x5a", b"\xe2\x03"  # TracePacket.track_event, .track_descriptor
_UUID, _NAME, _PARENT, _PROCESS, _COUNTER = b"\x08", b"\x12", b"\x28", b"\x1a", b"\x42"  # of TrackDescriptor
_TYPE, _TRACK, _EVENT_NAME, _COUNTER_VALUE = b"\x48", b"\x58", b"\xba\x01", b"\xf0\x01"  # of TrackEvent
_ANNOTATION, _CATEGORY, _FLOW, _FLOW_END = b"\x22", b"\xb2\x01", b"\xf9\x02", b"\x81\x03"
_ANNOTATION_NAME, _ANNOTATION_UINT, _ANNOTATION_TEXT = b"\x52", b"\x18", b"\x32"
_BEGIN, _END, _INSTANT, _COUNT = (_TYPE + bytes([value]) for value in (1, 2, 3, 4))
_UNIT_COUNT, _UNIT_BYTES = 2, 3  # CounterDescriptor.Unit
_FLOW_BYTES = 8
_CACHE_SIZE = 1 << 14
_MOST_HELD = 1 << 16  # pieces of packets; a wait that is further behind what started its unit gets no flow
_PROCESS_ID = 1


def varint(value: int) -> bytes:
    """A base-128 varint of a value from 0 to 2**64 - 1."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# a timestamp as its low 14 bits, which change, and the rest, which seldom does (a varint may be longer than it need be)
_LOW_BITS = [bytes((value & 0x7F | 0x80, value >> 7 | 0x80)) for value in range(1 << 14)]


@lru_cache(_CACHE_SIZE)
def _head(size: int) -> bytes:
    """What a packet of so many bytes begins with."""
    return _PACKET + varint(size) + _TIMESTAMP


def _field(tag: bytes, data: bytes) -> bytes:
    return tag + varint(len(data)) + data


def _text(tag: bytes, text: str) -> bytes:
    return _field(tag, text.encode())


@lru_cache(_CACHE_SIZE)
def _body(event_type: bytes, track: int, name: str = "", category: str = "", extra: bytes = b"") -> bytes:
    """Everything of a packet but its time."""
    event = event_type + _TRACK + varint(track)
    if name:
        event += _text(_EVENT_NAME, name)
    if category:
        event += _text(_CATEGORY, category)
    return _SEQUENCE + _field(_TRACK_EVENT, event + extra)


@lru_cache(_CACHE_SIZE)
def _counter(track: int, value: int) -> bytes:
    """The packet of a counter that comes to a value."""
    return _body(_COUNT, track, extra=_COUNTER_VALUE + varint(max(0, value)))


class PerfettoSink:
    """Writes a perfetto trace to a binary stream. Memory grows with the number of tracks, not of events."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        self._stream = stream
        self._runtime = header.runtime
        self._tracks: dict[str, int] = {}
        self._out: list[bytes] = []
        self._actions: dict[tuple[Subject, str, str, int], _Action] = {}
        self._started: dict[str, tuple[int, _Action]] = {}
        self._flows = 0
        self._open: dict[str, str] = {}
        self._fill: dict[int, int] = {}
        self._contexts_open: dict[int, int] = {}
        self._arrived: dict[str, tuple[int, int]] = {}
        self._lcus_on: dict[str, set[str]] = {}
        self._last_ns = 0
        self._high, self._high_bytes = 0, b"\0"
        self._beside_body = len(_TIMESTAMP) + 2 + len(self._high_bytes)
        name = f"{header.model} on {header.device}, runtime {header.runtime}"
        process = varint(_PROCESS_ID)
        self._root = self._describe("process", _field(_PROCESS, b"\x08" + process + _text(b"\x32", name)), "")

    # -- Sink

    def write(self, events: Sequence[Event]) -> None:
        self.write_records(events)

    def write_records(self, records: Sequence[Record]) -> None:
        for record in records:
            if not isinstance(record, Event) and record[1].kind is Kind.ACTION:
                self._action(record)
            else:
                event = event_of(record)
                _WRITERS[event.kind](self, event)
        self._last_ns = records[-1][0]
        self._hand_on()
        if len(self._actions) > _CACHE_SIZE:
            self._actions.clear()

    def close(self) -> None:
        for track in list(self._open):
            self._close(track, self._last_ns)
        for context, count in self._contexts_open.items():
            for _ in range(count):  # the device stands in it for ever
                self._emit(self._last_ns, _body(_END, context))
        self._started.clear()
        self._hand_on()
        self._stream.flush()

    def _hand_on(self) -> None:
        """Write out everything before the first action whose unit may still be waited for."""
        out, oldest = self._out, len(self._out) - _MOST_HELD
        if oldest > 0:
            self._started = {unit: start for unit, start in self._started.items() if start[0] >= oldest}
        done = min((at for at, _ in self._started.values()), default=len(out))
        self._stream.write(b"".join(out[:done]))
        del out[:done]
        self._started = {unit: (at - done, action) for unit, (at, action) in self._started.items()}

    # -- tracks

    def _track(self, key: str, parent: str = "", counter: int = 0, name: str = "") -> int:
        """The uuid of a track, described on first use; `name` where others are called the same."""
        found = self._tracks.get(key)
        if found is not None:
            return found
        kind = _field(_COUNTER, b"\x18" + varint(counter)) if counter else b""
        return self._describe(key, _text(_NAME, name or key) + kind, parent)

    def _context(self, event: Event | Subject) -> int:
        """The track of a context; those of further applications say whose they are."""
        if event.application <= 0:
            return self._track(event.context)
        return self._track(f"{event.context} of application {event.application}")

    def _stream_track(self, event: Event, channel: str) -> tuple[str, str]:
        """(key, name) of the track of a stream on its channel: as the HEF names it, else what it is and its number."""
        _, _, name = event.cause.removeprefix("boundary stream ").partition(" ")
        found = name if name and event.cause.startswith("boundary") else event.cause
        if event.application > 0:
            found = f"{found} of application {event.application}"
        key = f"{channel} {found}"
        self._track(key, channel, name=found)
        return key, found

    def _describe(self, key: str, body: bytes, parent: str) -> int:
        uuid = self._tracks[key] = len(self._tracks) + 1
        above = b"" if key == "process" else _PARENT + varint(self._track(parent) if parent else self._root)
        descriptor = _field(_TRACK_DESCRIPTOR, _UUID + varint(uuid) + body + above)
        self._out.append(_field(_PACKET, _SEQUENCE + descriptor))
        return uuid

    # -- packets

    def _emit(self, ns: int, body: bytes) -> None:
        high = ns >> 14
        if high != self._high:
            self._high, self._high_bytes = high, varint(high)
            self._beside_body = len(_TIMESTAMP) + 2 + len(self._high_bytes)
        self._out += (_head(self._beside_body + len(body)), _LOW_BITS[ns & 0x3FFF], self._high_bytes, body)

    def _slice(self, begun: int, ended: int, body: bytes, end: bytes) -> None:
        """Two packets; most slices lie within what the high bits of a time say."""
        if begun >> 14 != self._high or ended >> 14 != self._high:
            self._emit(begun, body)
            self._emit(ended, end)
            return
        beside, high = self._beside_body, self._high_bytes
        self._out += (
            _head(beside + len(body)),
            _LOW_BITS[begun & 0x3FFF],
            high,
            body,
            _head(beside + len(end)),
            _LOW_BITS[ended & 0x3FFF],
            high,
            end,
        )

    def _replace(self, at: int, body: bytes) -> None:
        """Give the packet whose pieces begin at `at` another body."""
        self._out[at] = _head(len(_TIMESTAMP) + 2 + len(self._out[at + 2]) + len(body))
        self._out[at + 3] = body

    def _count(self, ns: int, key: str, value: int, parent: str, unit: int, name: str = "") -> None:
        track = self._track(key, parent, unit, name)
        self._emit(ns, _counter(track, value))

    def _instant(self, ns: int, track: int, name: str, category: str, extra: bytes = b"") -> None:
        self._emit(ns, _body(_INSTANT, track, name, category, extra))

    def _begin(self, track: str, name: str, category: str, parent: str, ns: int) -> None:
        """Open the one slice that a unit's track holds at a time."""
        uuid = self._track(track, parent)
        if track in self._open:
            self._close(track, ns)
        self._open[track] = name
        self._emit(ns, _body(_BEGIN, uuid, name, category))

    def _close(self, track: str, ns: int) -> None:
        if self._open.pop(track, None) is not None:
            self._emit(ns, _body(_END, self._tracks[track]))

    # -- events

    def _action_event(self, event: Event) -> None:
        subject = Subject(
            event.kind, event.application, event.context, event.action_index, event.action, event.arguments
        )
        self._action((event.ns, subject, event.cause, event.woke, event.bytes, event.duration, ()))

    def _action(self, record: Occurrence) -> None:
        ns, subject, cause, woke, size, duration, _ = record
        key = (subject, cause, woke, size)
        action = self._actions.get(key)
        if action is None:
            action = self._actions[key] = self._prepared(subject, cause, woke, size)
        body = action.body
        if action.starts:
            self._started[action.starts] = len(self._out), action
        elif action.ends and action.ends in self._started:
            body = self._with_flow(action)
        self._slice(ns - duration, ns, body, action.end)
        if action.effect is not None:
            action.effect(ns)

    def _prepared(self, subject: Subject, cause: str, woke: str, size: int) -> _Action:
        arguments, track = subject.arguments or {}, self._context(subject)
        numbers = {"action_index": subject.action_index, **arguments}
        if size:
            numbers["bytes"] = size
        texts = {"woken_by": cause, "woke": woke}
        parts = [_BEGIN, _TRACK, varint(track), _text(_EVENT_NAME, subject.action), _text(_CATEGORY, "action")]
        parts += [_annotation(name, value) for name, value in numbers.items()]
        parts += [_annotation(name, text) for name, text in texts.items() if text]
        event = b"".join(parts)
        starts = semantics.started(subject.action, arguments, self._runtime)
        ends = "" if starts else semantics.awaited(subject.action, arguments, self._runtime)
        flow = _FLOW if starts else _FLOW_END
        size = len(event) + len(flow) + _FLOW_BYTES
        return _Action(
            _SEQUENCE + _field(_TRACK_EVENT, event),
            _SEQUENCE + _TRACK_EVENT + varint(size) + event + flow,
            _body(_END, track),
            starts,
            ends,
            self._effect(subject.action, arguments) if subject.action in _UNIT_ACTIONS else None,
        )

    def _with_flow(self, action: _Action) -> bytes:
        """The packet of a wait with the flow that ends at it; the packet of what it waited for gets its other end."""
        at, start = self._started.pop(action.ends)
        self._flows += 1
        number = self._flows.to_bytes(_FLOW_BYTES, "little")
        self._replace(at, start.flowing + number)
        return action.flowing + number

    def _effect(self, action: str, arguments: semantics.Arguments) -> Callable[[int], None]:
        """What an action does, at a time, to the tracks of units."""
        if "packed_lcu_id" in arguments:
            packed = arguments["packed_lcu_id"]
            place = f"cluster {packed >> 4}", semantics.lcu_name(packed)
            return (
                partial(self._lcu_off, *place)
                if action in semantics.DISABLES_LCU
                else partial(self._lcu_on, action, *place)
            )
        if action in semantics.TRIGGERS_SEQUENCER:
            cluster = f"cluster {arguments['cluster_index']}"
            return partial(self._begin, f"{cluster} sequencer", action, "unit", cluster)
        channel = semantics.channel_name(arguments["packed_vdma_channel_id"], self._runtime)
        if action in semantics.CLOSES:
            return partial(self._close, channel)
        return partial(self._begin, channel, action, "channel", "")

    def _lcu_on(self, action: str, cluster: str, lcu: str, ns: int) -> None:
        self._begin(lcu, action, "unit", cluster, ns)
        self._lcus_on.setdefault(cluster, set()).add(lcu)
        self._count_lcus(cluster, ns)

    def _lcu_off(self, cluster: str, lcu: str, ns: int) -> None:
        self._close(lcu, ns)
        self._lcus_on.setdefault(cluster, set()).discard(lcu)
        self._count_lcus(cluster, ns)

    def _count_lcus(self, cluster: str, ns: int) -> None:
        self._count(ns, f"{cluster} LCUs on", len(self._lcus_on[cluster]), cluster, _UNIT_COUNT)

    def _context_begin(self, event: Event) -> None:
        track = self._context(event)
        note = _annotation("application", max(0, event.application))
        self._emit(event.ns, _body(_BEGIN, track, event.context, "context", note))
        self._contexts_open[track] = self._contexts_open.get(track, 0) + 1

    def _context_end(self, event: Event) -> None:
        track = self._context(event)
        self._emit(event.ns, _body(_END, track))
        self._contexts_open[track] = self._contexts_open.get(track, 0) - 1

    def _control(self, event: Event) -> None:
        extra = _annotation("bytes", event.bytes) + _annotation("reply", event.cause)
        extra += b"".join(_annotation(name, value) for name, value in (event.arguments or {}).items())
        self._instant(event.ns, self._track("control"), event.action, "control", extra)

    def _credits(self, event: Event, channel: str) -> None:
        arguments = event.arguments or {}
        free = arguments.get("available", 0) - arguments.get("processed", 0)
        self._count(event.ns, f"{channel} credits (descriptors)", free, channel, _UNIT_COUNT)

    def _launch(self, event: Event) -> None:
        channel = semantics.channel_of(event.unit)
        self._instant(event.ns, self._track(channel), "launch", "channel", _annotation("bytes", event.bytes))
        self._credits(event, channel)

    def _transfer(self, event: Event) -> None:
        channel = semantics.channel_of(event.unit)
        key, stream = self._stream_track(event, channel)
        extra = _annotation("bytes", event.bytes) + _annotation("stream", event.cause)
        self._instant(event.ns, self._tracks[key], f"frame {event.frame}", "channel", extra)
        if event.cause.startswith("boundary"):
            self._credits(event, channel)
            if event.unit.endswith("(D2H)"):
                self._rate(event, key, stream)
            return
        address = (event.arguments or {}).get("dma_address", 0)
        change = event.bytes if event.unit.endswith("(D2H)") else -event.bytes
        self._fill[address] = max(0, self._fill.get(address, 0) + change)
        self._count(event.ns, f"buffer 0x{address:X} fill", self._fill[address], "", _UNIT_BYTES)
        self._count(event.ns, "DDR occupancy", sum(self._fill.values()), "", _UNIT_BYTES)

    def _rate(self, event: Event, key: str, stream: str) -> None:
        """Frames a second of an output: those of an instant over the time until the next one's."""
        since, frames = self._arrived.get(key, (event.ns, 0))
        if event.ns > since:
            fps = round(frames * 1e9 / (event.ns - since))
            self._count(event.ns, f"{key} FPS", fps, key, _UNIT_COUNT, f"{stream} FPS")
            since, frames = event.ns, 0
        self._arrived[key] = since, frames + 1

    def _unit(self, event: Event) -> None:
        track = self._track(event.unit)
        self._instant(event.ns, track, event.action, "unit", _annotation("cause", event.cause))
        if event.unit.endswith("sequencer"):
            self._close(event.unit, event.ns)

    def _note(self, event: Event) -> None:
        self._instant(event.ns, self._track(event.kind.value), event.action or event.kind.value, event.kind.value,
                      _annotation("cause", event.cause))  # fmt: skip

    def _register(self, event: Event) -> None:
        place = f"{event.action} {event.unit}"
        self._instant(event.ns, self._track("registers"), place, "register",
                      _annotation("value", f"0x{(event.arguments or {}).get('value', 0):08X}"))  # fmt: skip

    def _nothing(self, event: Event) -> None:
        """A wait is the length of its action's slice."""


class _Action(NamedTuple):
    """What the occurrences of an action have in common: its packet without time, without and with the tag of a flow,
    the packet that ends it, what starts or ends flows there, and what it does to the tracks of units."""

    body: bytes
    flowing: bytes
    end: bytes
    starts: str
    ends: str
    effect: Callable[[int], None] | None


@lru_cache(_CACHE_SIZE)
def _annotation(name: str, value: int | str) -> bytes:
    if isinstance(value, str):
        return _field(_ANNOTATION, _text(_ANNOTATION_NAME, name) + _text(_ANNOTATION_TEXT, value))
    return _field(_ANNOTATION, _text(_ANNOTATION_NAME, name) + _ANNOTATION_UINT + varint(value))


_UNIT_ACTIONS = (
    semantics.ENABLES_LCU
    | semantics.DISABLES_LCU
    | semantics.TRIGGERS_SEQUENCER
    | semantics.OPENS
    | semantics.ACTIVATES
    | semantics.OPENS_CONFIG
    | semantics.CLOSES
)
_WRITERS = {
    Kind.ACTION: PerfettoSink._action_event,
    Kind.CONTEXT_BEGIN: PerfettoSink._context_begin,
    Kind.CONTEXT_END: PerfettoSink._context_end,
    Kind.CONTROL: PerfettoSink._control,
    Kind.LAUNCH: PerfettoSink._launch,
    Kind.TRANSFER: PerfettoSink._transfer,
    Kind.UNIT: PerfettoSink._unit,
    Kind.NOTIFICATION: PerfettoSink._note,
    Kind.REGISTER: PerfettoSink._register,
    Kind.INTERRUPT: PerfettoSink._note,
    Kind.FAULT: PerfettoSink._note,
    Kind.HAZARD: PerfettoSink._note,
    Kind.STALL: PerfettoSink._note,
    Kind.WAIT: PerfettoSink._nothing,
}
