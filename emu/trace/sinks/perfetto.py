"""The trace for the Perfetto UI: TrackEvent protobuf, written as it comes.

Tracks: one per context, cluster, LCU, sequencer, channel, and one for the control messages; counters for the credits
of each channel and for what lies in each internal buffer. A flow leads from the action that started a unit to the
action that waited for it. Field numbers are those of perfetto's trace_packet.proto and track_event.proto; the encoder
is our own because two messages a slice leave no time for building objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from emu.trace import semantics
from emu.trace.events import Event, Header, Kind

_SEQUENCE = b"\x50\x01"  # TracePacket.trusted_packet_sequence_id = 1
_PACKET, _TIMESTAMP = b"\x0a", b"\x40"  # Trace.packet, TracePacket.timestamp
_TRACK_EVENT, _TRACK_DESCRIPTOR = b"\x5a", b"\xe2\x03"  # TracePacket.track_event, .track_descriptor
_UUID, _NAME, _PARENT, _PROCESS, _COUNTER = b"\x08", b"\x12", b"\x28", b"\x1a", b"\x42"  # of TrackDescriptor
_TYPE, _TRACK, _EVENT_NAME, _COUNTER_VALUE = b"\x48", b"\x58", b"\xba\x01", b"\xf0\x01"  # of TrackEvent
_ANNOTATION, _CATEGORY, _FLOW, _FLOW_END = b"\x22", b"\xb2\x01", b"\xf9\x02", b"\x81\x03"
_ANNOTATION_NAME, _ANNOTATION_UINT, _ANNOTATION_TEXT = b"\x52", b"\x18", b"\x32"
_BEGIN, _END, _INSTANT, _COUNT = (_TYPE + bytes([value]) for value in (1, 2, 3, 4))
_UNIT_COUNT, _UNIT_BYTES = 2, 3  # CounterDescriptor.Unit
_CACHE_SIZE = 1 << 14
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
_SIZES = [varint(size) for size in range(1 << 10)]


def _field(tag: bytes, data: bytes) -> bytes:
    return tag + varint(len(data)) + data


def _text(tag: bytes, text: str) -> bytes:
    return _field(tag, text.encode())


class PerfettoSink:
    """Writes a perfetto trace to a binary stream. Memory grows with the number of tracks, not of events."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        self._stream = stream
        self._runtime = header.runtime
        self._tracks: dict[str, int] = {}
        self._out: list[bytes] = []
        self._ends: dict[int, bytes] = {}
        self._actions: dict[object, tuple[bytes, str, str]] = {}
        self._flows: dict[str, int] = {}
        self._next_flow = 1
        self._open: dict[str, str] = {}
        self._fill: dict[int, int] = {}
        self._lcus_on: dict[str, set[str]] = {}
        self._last_ns = 0
        self._high, self._high_bytes = 0, b"\0"
        name = f"{header.model} on {header.device}, runtime {header.runtime}"
        process = varint(_PROCESS_ID)
        self._root = self._describe("process", _field(_PROCESS, b"\x08" + process + _text(b"\x32", name)), "")

    # -- Sink

    def write(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind is Kind.ACTION:
                self._action(event)
            else:
                _WRITERS[event.kind](self, event)
        self._last_ns = events[-1].ns
        self._stream.write(b"".join(self._out))
        self._out.clear()

    def close(self) -> None:
        for track in list(self._open):
            self._close(track, self._last_ns)
        self._stream.write(b"".join(self._out))
        self._out.clear()
        self._stream.flush()

    # -- tracks

    def _track(self, name: str, parent: str = "", counter: int = 0) -> int:
        """The uuid of a track, described on first use."""
        found = self._tracks.get(name)
        if found is not None:
            return found
        kind = _field(_COUNTER, b"\x18" + varint(counter)) if counter else b""
        return self._describe(name, _text(_NAME, name) + kind, parent)

    def _context(self, event: Event) -> int:
        """The track of a context; those of further applications say whose they are."""
        if event.application <= 0:
            return self._track(event.context)
        return self._track(f"{event.context} of application {event.application}")

    def _describe(self, name: str, body: bytes, parent: str) -> int:
        uuid = self._tracks[name] = len(self._tracks) + 1
        above = b"" if name == "process" else _PARENT + varint(self._track(parent) if parent else self._root)
        descriptor = _field(_TRACK_DESCRIPTOR, _UUID + varint(uuid) + body + above)
        self._out.append(_field(_PACKET, _SEQUENCE + descriptor))
        return uuid

    # -- packets

    def _emit(self, ns: int, body: bytes) -> None:
        high = ns >> 14
        if high != self._high:
            self._high, self._high_bytes = high, varint(high)
        stamp = _TIMESTAMP + _LOW_BITS[ns & 0x3FFF] + self._high_bytes
        size = len(stamp) + len(body)
        self._out.append(_PACKET + (_SIZES[size] if size < len(_SIZES) else varint(size)) + stamp + body)

    def _body(self, event_type: bytes, track: int, name: str, category: str = "", extra: bytes = b"") -> bytes:
        """Everything of a packet but its time."""
        event = event_type + _TRACK + varint(track)
        if name:
            event += _text(_EVENT_NAME, name)
        if category:
            event += _text(_CATEGORY, category)
        return _SEQUENCE + _field(_TRACK_EVENT, event + extra)

    def _end(self, track: int) -> bytes:
        body = self._ends.get(track)
        if body is None:
            body = self._ends[track] = self._body(_END, track, "")
        return body

    def _count(self, ns: int, name: str, value: int, parent: str, unit: int) -> None:
        track = self._track(name, parent, unit)
        self._emit(ns, self._body(_COUNT, track, "", extra=_COUNTER_VALUE + varint(max(0, value))))

    def _instant(self, ns: int, track: int, name: str, category: str, extra: bytes = b"") -> None:
        self._emit(ns, self._body(_INSTANT, track, name, category, extra))

    def _begin(self, track: str, ns: int, name: str, category: str, parent: str = "") -> None:
        """Open the one slice that a unit's track holds at a time."""
        uuid = self._track(track, parent)
        if track in self._open:
            self._close(track, ns)
        self._open[track] = name
        self._emit(ns, self._body(_BEGIN, uuid, name, category))

    def _close(self, track: str, ns: int) -> None:
        if self._open.pop(track, None) is not None:
            self._emit(ns, self._end(self._tracks[track]))

    # -- events

    def _action(self, event: Event) -> None:
        action = event.action
        arguments = event.arguments or {}
        track = self._context(event)
        key = (track, action, event.action_index, event.bytes, event.cause, event.woke, *arguments.values())
        known = self._actions.get(key)
        if known is None:
            if len(self._actions) > _CACHE_SIZE:
                self._actions.clear()
            known = self._actions[key] = (
                self._action_event(event, track),
                semantics.started(action, arguments, self._runtime),
                semantics.awaited(action, arguments, self._runtime),
            )
        body, started, awaited = known
        if started or awaited:
            body += self._flow_of(started, awaited)
        self._emit(event.ns - event.duration, _SEQUENCE + _TRACK_EVENT + varint(len(body)) + body)
        self._emit(event.ns, self._end(track))
        if action in _UNIT_ACTIONS:
            self._units(event, action, arguments)

    def _action_event(self, event: Event, track: int) -> bytes:
        """The TrackEvent of an action without its flows."""
        numbers = {"action_index": event.action_index, **(event.arguments or {})}
        if event.bytes:
            numbers["bytes"] = event.bytes
        texts = {"woken_by": event.cause, "woke": event.woke}
        parts = [_BEGIN, _TRACK, varint(track), _text(_EVENT_NAME, event.action), _text(_CATEGORY, "action")]
        parts += [_annotation(name, value) for name, value in numbers.items()]
        parts += [_annotation(name, text) for name, text in texts.items() if text]
        return b"".join(parts)

    def _flow_of(self, started: str, awaited: str) -> bytes:
        """The flow that starts at an action, or the one that ends at it."""
        if started:
            self._flows[started] = number = self._next_flow
            self._next_flow += 1
            return _FLOW + number.to_bytes(8, "little")
        ended = self._flows.pop(awaited, 0)
        return _FLOW_END + ended.to_bytes(8, "little") if ended else b""

    def _units(self, event: Event, action: str, arguments: semantics.Arguments) -> None:
        """What the action does to the tracks of units."""
        ns = event.ns
        if "packed_lcu_id" in arguments:
            lcu = semantics.lcu_name(arguments["packed_lcu_id"])
            cluster = f"cluster {arguments['packed_lcu_id'] >> 4}"
            on = self._lcus_on.setdefault(cluster, set())
            if action == "DISABLE_LCU":
                self._close(lcu, ns)
                on.discard(lcu)
            else:
                self._begin(lcu, ns, action, "unit", cluster)
                on.add(lcu)
            self._count(ns, f"{cluster} LCUs on", len(on), cluster, _UNIT_COUNT)
        elif action == "TRIGGER_SEQUENCER":
            cluster = f"cluster {arguments['cluster_index']}"
            self._begin(f"{cluster} sequencer", ns, action, "unit", cluster)
        else:
            channel = semantics.channel_name(arguments["packed_vdma_channel_id"], self._runtime)
            if action in ("DEACTIVATE_VDMA_CHANNEL", "DEACTIVATE_CFG_CHANNEL"):
                self._close(channel, ns)
            else:
                self._begin(channel, ns, action, "channel")

    def _context_begin(self, event: Event) -> None:
        track = self._context(event)
        note = _annotation("application", max(0, event.application))
        self._emit(event.ns, self._body(_BEGIN, track, event.context, "context", note))

    def _context_end(self, event: Event) -> None:
        self._emit(event.ns, self._end(self._context(event)))

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
        extra = _annotation("bytes", event.bytes) + _annotation("stream", event.cause)
        self._instant(event.ns, self._track(channel), f"frame {event.frame}", "channel", extra)
        if event.cause.startswith("boundary"):
            self._credits(event, channel)
            return
        address = (event.arguments or {}).get("dma_address", 0)
        change = event.bytes if event.unit.endswith("(D2H)") else -event.bytes
        self._fill[address] = max(0, self._fill.get(address, 0) + change)
        self._count(event.ns, f"buffer 0x{address:X} fill", self._fill[address], "", _UNIT_BYTES)

    def _unit(self, event: Event) -> None:
        track = self._track(event.unit)
        self._instant(event.ns, track, event.action, "unit", _annotation("cause", event.cause))
        if event.unit.endswith("sequencer"):
            self._close(event.unit, event.ns)

    def _note(self, event: Event) -> None:
        self._instant(event.ns, self._track(event.kind.value), event.action or event.kind.value, event.kind.value,
                      _annotation("cause", event.cause))  # fmt: skip

    def _nothing(self, event: Event) -> None:
        """A wait is the length of its action's slice."""


def _annotation(name: str, value: int | str) -> bytes:
    if isinstance(value, str):
        return _field(_ANNOTATION, _text(_ANNOTATION_NAME, name) + _text(_ANNOTATION_TEXT, value))
    return _field(_ANNOTATION, _text(_ANNOTATION_NAME, name) + _ANNOTATION_UINT + varint(value))


_UNIT_ACTIONS = (
    semantics.ENABLES_LCU
    | semantics.OPENS
    | semantics.ACTIVATES
    | {"DISABLE_LCU", "TRIGGER_SEQUENCER", "DEACTIVATE_VDMA_CHANNEL", "ACTIVATE_CFG_CHANNEL", "DEACTIVATE_CFG_CHANNEL"}
)
_WRITERS = {
    Kind.CONTEXT_BEGIN: PerfettoSink._context_begin,
    Kind.CONTEXT_END: PerfettoSink._context_end,
    Kind.CONTROL: PerfettoSink._control,
    Kind.LAUNCH: PerfettoSink._launch,
    Kind.TRANSFER: PerfettoSink._transfer,
    Kind.UNIT: PerfettoSink._unit,
    Kind.NOTIFICATION: PerfettoSink._note,
    Kind.FAULT: PerfettoSink._note,
    Kind.STALL: PerfettoSink._note,
    Kind.WAIT: PerfettoSink._nothing,
}
