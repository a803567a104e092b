"""What happened: plain records with a versioned schema (docs/trace-schema.md).

Sinks receive events in batches, in the order of simulated time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from operator import itemgetter
from typing import NamedTuple, Protocol

SCHEMA = "emu-trace"
SCHEMA_VERSION = 1
_FRAME = "frame "
END = "end"  # kind of the last record of a file; a trace without it is cut off


class Kind(Enum):
    """What an event tells."""

    CONTROL = "control"  # a control message: action = opcode, cause = reply status
    CONTEXT_BEGIN = "context_begin"
    CONTEXT_END = "context_end"
    ACTION = "action"  # an action is done; cause = what woke it if it had to wait, woke = what it started
    WAIT = "wait"  # an action began to wait; cause = what it waits for
    LAUNCH = "launch"  # the host made descriptors of a channel available; arguments = its counters
    TRANSFER = "transfer"  # a frame passed a channel; arguments = its counters and the list it lies behind
    UNIT = "unit"  # a unit became done or idle: LCU, sequencer, burst-credits task
    NOTIFICATION = "notification"  # a D2H event
    REGISTER = "register"  # the host read or wrote a register or window of its card: action, unit = its name
    INTERRUPT = "interrupt"  # the card sent its interrupt; arguments = ISTATUS_HOST
    FAULT = "fault"  # an injected fault took effect
    HAZARD = "hazard"  # what the chip carries out with wrong results: action = the rule, unit = where, cause = what
    STALL = "stall"  # nothing can progress any more


class Event(NamedTuple):
    """One record. `ns` is simulated time (of an action: when it was done, having begun `duration` before); empty
    strings, -1 and 0 mean that a field does not apply.

    `context` is `activation`, `batch_switching`, `preliminary` or `dynamic_N`; `action_index` counts sub-actions
    from 0.
    `cause` is what woke the action, what it waits for, or what the event was caused by. `woke` names what it woke.
    """

    ns: int
    kind: Kind
    application: int = -1
    context: str = ""
    action_index: int = -1
    action: str = ""
    arguments: Mapping[str, int] | None = None
    unit: str = ""
    cause: str = ""
    woke: str = ""
    bytes: int = 0
    frame: int = -1
    duration: int = 0


class Subject:
    """What the records of one thing have in common: everything of an event that no time changes.

    Whoever tells of the same action, unit or channel again and again makes it once, and sinks write it out once.
    `counted` names the arguments that are each record's own.
    """

    __slots__ = ("action", "action_index", "application", "arguments", "context", "counted", "kind", "unit")

    def __init__(
        self,
        kind: Kind,
        application: int = -1,
        context: str = "",
        action_index: int = -1,
        action: str = "",
        arguments: Mapping[str, int] | None = None,
        unit: str = "",
        counted: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.application = application
        self.context = context
        self.action_index = action_index
        self.action = action
        self.arguments = arguments
        self.unit = unit
        self.counted = counted


Numbers = tuple[int, ...]
Occurrence = tuple[int, Subject, str, str, int, int, Numbers]
"""An event of a subject as it is made by the ten thousands: ns, subject, cause, woke, bytes, duration, numbers.

`numbers` are none, or its frame and what the subject's `counted` name.
"""

Record = Event | Occurrence


def event_of(record: Record) -> Event:
    """A record in full."""
    if isinstance(record, Event):
        return record
    ns, it, cause, woke, size, duration, numbers = record
    frame, arguments = -1, it.arguments
    if numbers:
        frame, arguments = numbers[0], dict(zip(it.counted, numbers[1:], strict=True))
    place = (it.application, it.context, it.action_index, it.action, arguments, it.unit)
    return Event(ns, it.kind, *place, cause, woke, size, frame, duration)


time_of: Callable[[Record], int] = itemgetter(Event._fields.index("ns"))


def frame_cause(number: int) -> str:
    """The cause of what comes of a frame that is through."""
    return f"{_FRAME}{number}"


def frame_of_cause(cause: str) -> int:
    """The number of the frame that a cause is; -1: it is none."""
    number = cause.removeprefix(_FRAME)
    return int(number) if number is not cause and number.isdecimal() else -1


class Header(NamedTuple):
    """First record of a trace: what ran, where, how."""

    model: str
    runtime: str
    device: str
    batch: int
    frames: int
    seed: int
    timestamp_mhz: float


class Sink(Protocol):
    """A consumer of events. `write` gets a batch in time order; `close` ends the trace.

    A sink with `write_records`, which is as `write` but for occurrences among the events, gets its batches there.
    """

    def write(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...
