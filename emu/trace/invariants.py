"""What holds in every trace: named rules, each checked on the way through the records in constant memory.

A rule is a class: its docstring says what holds, `check` gets each record and yields what is wrong with it. Rules
know only what the trace says, not the program behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emu.errors import HailoError, HailoStatus
from emu.trace import semantics
from emu.trace.events import Kind
from emu.trace.reader import Record, TraceReader

MAX_VIOLATIONS = 100
_STATUS_CHANGE = "CHANGE_CONTEXT_SWITCH_STATUS"


class Violation(NamedTuple):
    """`line` of the file (the header is line 1)."""

    rule: str
    line: int
    ns: int
    context: str
    action_index: int
    message: str


@dataclass(slots=True)
class Result:
    """The first MAX_VIOLATIONS violations; `more` counts the rest."""

    events: int = 0
    violations: list[Violation] = field(default_factory=list)
    more: int = 0


class Rule:
    """One invariant. `name` is what `emu check --trace` prints, `kinds` the records it looks at (none: all)."""

    name = ""
    kinds: tuple[str, ...] = ()

    def __init__(self, runtime: str) -> None:
        self.runtime = runtime

    @classmethod
    def says(cls) -> str:
        """The rule in a sentence."""
        return " ".join((cls.__doc__ or "").split())

    def check(self, record: Record) -> Iterator[str]:
        raise NotImplementedError

    def _channel(self, arguments: dict[str, Any]) -> str:
        return semantics.channel_name(arguments["packed_vdma_channel_id"], self.runtime)


def _application_begins(record: Record) -> bool:
    """A new application starts from nothing: channels are closed, units off."""
    return record["kind"] == "context_begin" and record.get("context") == "activation"


class TimeOrder(Rule):
    """Simulated time never goes back from one record to the next, and no action takes negative time."""

    name = "time-order"

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last = 0

    def check(self, record: Record) -> Iterator[str]:
        if record["ns"] < self._last:
            yield f"{record['ns']} ns comes behind {self._last} ns"
        if record.get("duration", 0) < 0:
            yield f"a duration of {record['duration']} ns"
        self._last = record["ns"]


class ContextOrder(Rule):
    """Contexts run in legal order: activation, preliminary, then the dynamic contexts in turn for each batch; batch
    switching only while an application runs; a context ends before the next begins, unless the batch size changes."""

    name = "context-order"
    kinds = ("context_begin", "context_end", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._open: list[str] = []
        self._last = ""
        self._count: int | None = None

    def check(self, record: Record) -> Iterator[str]:
        kind, context = record["kind"], record.get("context", "")
        if kind == "context_begin":
            yield from self._begins(context)
        elif kind == "context_end":
            if not self._open or self._open[-1] != context:
                yield f"{context} ends, but {self._open[-1] if self._open else 'none'} is open"
            else:
                self._open.pop()
        elif kind == "action" and (not self._open or self._open[-1] != context):
            yield f"an action of {context} while {self._open[-1] if self._open else 'none'} is open"

    def _begins(self, context: str) -> Iterator[str]:
        if context == "activation":
            self._open, self._last, self._count = [context], context, None
            return
        if context == "preliminary":
            if self._last not in ("activation", "batch_switching") and not self._last.startswith("dynamic_"):
                yield f"preliminary begins after {self._last or 'nothing'}"
            self._open, self._last = [context], context
            return
        if context == "batch_switching":
            if not self._last.startswith(("dynamic_", "preliminary")):
                yield f"batch_switching begins after {self._last or 'nothing'}"
            self._open.append(context)
            return
        if self._open:
            yield f"{context} begins while {self._open[-1]} is open"
        yield from self._dynamic(context)
        self._open, self._last = [context], context

    def _dynamic(self, context: str) -> Iterator[str]:
        index = int(context.removeprefix("dynamic_"))
        if self._last.startswith("dynamic_"):
            before = int(self._last.removeprefix("dynamic_"))
            if index == 0:
                if self._count is not None and before + 1 != self._count:
                    yield f"dynamic_0 begins after dynamic_{before}, of {self._count} contexts"
                self._count = before + 1
            elif index != before + 1:
                yield f"{context} begins after {self._last}"
            elif self._count is not None and index >= self._count:
                yield f"{context} begins, but there were {self._count} dynamic contexts"
        elif self._last != "preliminary":
            yield f"{context} begins after {self._last or 'nothing'}"


class ActionOrder(Rule):
    """Within one run of a context the indices of its actions only grow."""

    name = "action-order"
    kinds = ("context_begin", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last: dict[str, int] = {}

    def check(self, record: Record) -> Iterator[str]:
        context = record.get("context", "")
        if record["kind"] == "context_begin":
            self._last[context] = -1
        elif record["kind"] == "action":
            index = record.get("action_index", -1)
            if index <= self._last.get(context, -1):
                yield f"action {index} runs after action {self._last[context]}"
            self._last[context] = index


class ConfigureBeforeData(Rule):
    """No data before configuration: a frame passes a channel only after an ACTIVATE action configured its stream, and
    a boundary channel only after it was opened."""

    name = "configure-before-data"
    kinds = ("context_begin", "action", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._configured: set[str] = set()
        self._opened: set[str] = set()

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "context_begin":
            if _application_begins(record):
                self._configured.clear()
                self._opened.clear()
        elif record["kind"] == "action":
            if record["action"] in semantics.ACTIVATES:
                self._configured.add(self._channel(record["arguments"]))
            elif record["action"] in semantics.OPENS:
                self._opened.add(self._channel(record["arguments"]))
        else:
            channel = semantics.channel_of(record.get("unit", ""))
            if channel not in self._configured:
                yield f"frame {record.get('frame')} passes {channel}, which no action has activated"
            elif record.get("cause", "").startswith("boundary") and channel not in self._opened:
                yield f"frame {record.get('frame')} passes {channel}, which was never opened"


class CreditsBeforeInput(Rule):
    """An input moves frames only after FETCH_DATA or a batch switch granted it credits (a DDR portal: after its pair
    was added), a boundary input only after BURST_CREDITS_TASK_START."""

    name = "credits-before-input"
    kinds = ("context_begin", "action", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._started = False
        self._granted: set[str] = set()

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "action":
            action, arguments = record["action"], record.get("arguments", {})
            if action == "BURST_CREDITS_TASK_START":
                self._started = True
            elif action in ("FETCH_DATA_FROM_VDMA_CHANNEL", "CHANGE_BOUNDARY_INPUT_BATCH"):
                self._granted.add(self._channel(arguments))
            elif action == "ADD_DDR_PAIR_INFO":
                self._granted.add(semantics.channel_name(arguments["h2d_packed_vdma_channel_id"], self.runtime))
        elif record["kind"] == "transfer":
            yield from self._transfer(record)
        elif _application_begins(record):
            self._started = False
            self._granted.clear()

    def _transfer(self, record: Record) -> Iterator[str]:
        unit, edge = record.get("unit", ""), record.get("cause", "")
        if not unit.endswith("(H2D)"):
            return
        # the pair of a DDR portal in continuous buffers is linked in hardware (vdma.md 3.3)
        if semantics.channel_of(unit) not in self._granted and not edge.startswith("DDR"):
            yield f"frame {record.get('frame')} enters {unit}, which no action has granted credits"
        elif edge.startswith("boundary") and not self._started:
            yield f"frame {record.get('frame')} enters {unit} before BURST_CREDITS_TASK_START"


class WaitHasCause(Rule):
    """Each wait that ended has its cause: the LCU it names was enabled and then done, the sequencer was triggered and
    done in this context (or started by configuration bursts), the channel moved a frame in it, the configuration that
    a module waits for was fetched."""

    name = "wait-has-cause"
    kinds = ("context_begin", "unit", "transfer", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._done: set[str] = set()
        self._triggered: set[str] = set()
        self._enabled: set[str] = set()
        self._fetched: set[str] = set()

    def check(self, record: Record) -> Iterator[str]:
        kind = record["kind"]
        if kind == "action":
            yield from self._action(record["action"], record.get("arguments", {}))
        elif kind == "unit":
            self._done.add(record.get("unit", ""))
        elif kind == "transfer":
            self._done.add(semantics.channel_of(record.get("unit", "")))
        elif record.get("context") != "batch_switching":
            self._done.clear()
            self._triggered.clear()
            if _application_begins(record):
                self._enabled.clear()
                self._fetched.clear()

    def _action(self, action: str, arguments: dict[str, Any]) -> Iterator[str]:
        if action == "TRIGGER_SEQUENCER":
            self._triggered.add(semantics.sequencer_name(arguments["cluster_index"]))
        elif action in semantics.ENABLES_LCU:
            self._enabled.add(semantics.lcu_name(arguments["packed_lcu_id"]))
        elif action in semantics.CONFIG_FETCHES:
            self._fetched.add(action)
        unit = semantics.awaited(action, arguments, self.runtime)
        if not unit or unit == "NMS":
            return
        if unit == "config bus":
            if not self._fetched:
                yield f"{action} ended although nothing was fetched"
        elif action == "SEQUENCER_DONE_INTERRUPT" and unit not in self._triggered:
            # by bursts: started by register writes among the configuration (ccw.md)
            if "FETCH_CCW_BURSTS" not in self._fetched:
                yield f"{action} ended although no action triggered {unit} in this context"
        elif action == "LCU_INTERRUPT" and unit not in self._enabled:
            yield f"{action} ended although no action enabled {unit}"
        elif unit not in self._done:
            yield f"{action} ended although {unit} was never done in this context"


class WaitEnds(Rule):
    """An action that began to wait is the next one of its context to end."""

    name = "wait-ends"
    kinds = ("context_begin", "context_end", "action", "wait")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._waiting: dict[str, int] = {}

    def check(self, record: Record) -> Iterator[str]:
        context = record.get("context", "")
        if record["kind"] == "wait":
            self._waiting[context] = record.get("action_index", -1)
        elif record["kind"] == "context_begin":
            self._waiting.pop(context, None)
        elif record["kind"] == "action" and context in self._waiting:
            waiting = self._waiting.pop(context)
            if record.get("action_index") != waiting:
                yield f"action {record.get('action_index')} ends while action {waiting} waits"
        elif record["kind"] == "context_end" and context in self._waiting:
            yield f"{context} ends while its action {self._waiting.pop(context)} waits"


class ClosedChannel(Rule):
    """No channel between contexts is used after DEACTIVATE_VDMA_CHANNEL, no config channel after
    DEACTIVATE_CFG_CHANNEL, unless it was activated again."""

    name = "closed-channel"
    kinds = ("context_begin", "transfer", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._closed: set[str] = set()

    def check(self, record: Record) -> Iterator[str]:
        kind, arguments = record["kind"], record.get("arguments", {})
        if _application_begins(record):
            self._closed.clear()
        elif kind == "transfer":
            channel = semantics.channel_of(record.get("unit", ""))
            if channel in self._closed:
                yield f"frame {record.get('frame')} passes {channel}, which is closed"
        elif kind == "action":
            yield from self._action(record["action"], arguments)

    def _action(self, action: str, arguments: dict[str, Any]) -> Iterator[str]:
        stream = f"config stream {arguments.get('config_stream_index')}"
        if action == "FETCH_CCW_BURSTS":
            if stream in self._closed:
                yield f"{action} on {stream}, which is closed"
            return
        if "packed_vdma_channel_id" not in arguments:
            return
        channel = self._channel(arguments)
        if action in ("DEACTIVATE_VDMA_CHANNEL", "DEACTIVATE_CFG_CHANNEL"):
            if channel in self._closed:
                yield f"{action} on {channel}, which is closed"
            self._closed.add(channel)
            if action == "DEACTIVATE_CFG_CHANNEL":
                self._closed.add(stream)
        elif action in semantics.ACTIVATES or action == "ACTIVATE_CFG_CHANNEL":
            self._closed -= {channel, stream}
        elif channel in self._closed and action in _NEEDS_ACTIVE:
            yield f"{action} on {channel}, which is closed"


_NEEDS_ACTIVE = frozenset(
    {
        "FETCH_DATA_FROM_VDMA_CHANNEL",
        "FETCH_CFG_CHANNEL_DESCRIPTORS",
        "VALIDATE_VDMA_CHANNEL",
        "INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
        "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
        "WAIT_FOR_DMA_IDLE_ACTION",
    }
)


class CreditsConserved(Rule):
    """Credits are conserved: a boundary channel never processes more descriptors than the host made available, both
    counts only grow while it is open, and only a launch makes descriptors available."""

    name = "credits-conserved"
    kinds = ("action", "launch", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._counters: dict[str, tuple[int, int]] = {}

    def check(self, record: Record) -> Iterator[str]:
        kind, arguments = record["kind"], record.get("arguments", {})
        if kind == "action" and record["action"] in semantics.OPENS:
            self._counters.pop(self._channel(arguments), None)
        elif kind == "launch" or (kind == "transfer" and record.get("cause", "").startswith("boundary")):
            channel = semantics.channel_of(record.get("unit", ""))
            now = arguments["available"], arguments["processed"]
            before = self._counters.get(channel, (0, 0))
            self._counters[channel] = now
            # an on-chip NMS frame is many transfers, queued again one by one while it passes
            if kind == "transfer" and now[1] > now[0] and arguments.get("transfers", 1) == 1:
                yield f"{channel} processed {now[1]} descriptors, {now[0]} were available"
            if now[0] < before[0] or now[1] < before[1]:
                yield f"{channel} went back from {before} to {now} (available, processed)"
            if kind == "transfer" and now[0] != before[0]:
                yield f"{channel}: a transfer changed what is available from {before[0]} to {now[0]}"
            if kind == "launch" and now[1] != before[1]:
                yield f"{channel}: a launch changed what is processed from {before[1]} to {now[1]}"


class ReadWasWritten(Rule):
    """Every frame that a context reads from a buffer between contexts was written there before."""

    name = "read-was-written"
    kinds = ("context_begin", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._written: dict[int, range] = {}

    def check(self, record: Record) -> Iterator[str]:
        if _application_begins(record):
            self._written.clear()
        elif record["kind"] == "transfer" and record.get("cause", "").startswith("inter-context"):
            address, frame = record["arguments"]["dma_address"], record.get("frame", -1)
            written = self._written.get(address, range(0))
            if record["unit"].endswith("(D2H)"):
                first = written.start if frame == written.stop else frame
                self._written[address] = range(first, frame + 1)
            elif frame not in written:
                yield f"frame {frame} is read from the buffer at 0x{address:X}, where it was never written"


class FramesInOrder(Rule):
    """Within a context the frames of a channel pass in order, none twice and none left out, while its application
    stays enabled."""

    name = "frames-in-order"
    kinds = ("context_begin", "control", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last: dict[tuple[str, str], int] = {}

    def check(self, record: Record) -> Iterator[str]:
        # a batch switch drops what is under way, and the frames after it count on from what was delivered
        if _application_begins(record) or (record["kind"] == "control" and record.get("action") == _STATUS_CHANGE):
            self._last.clear()
        elif record["kind"] == "transfer":
            place, frame = (record.get("context", ""), record.get("unit", "")), record.get("frame", -1)
            before = self._last.get(place)
            if before is not None and frame != before + 1:
                yield f"frame {frame} passes {place[1]} after frame {before}"
            self._last[place] = frame


class NoStall(Rule):
    """The device never stalls: something can always progress until the host has what it asked for."""

    name = "no-stall"
    kinds = ("stall",)

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "stall":
            yield str(record.get("cause", "the device stalled"))


RULES: tuple[type[Rule], ...] = (
    TimeOrder,
    ContextOrder,
    ActionOrder,
    ConfigureBeforeData,
    CreditsBeforeInput,
    WaitHasCause,
    WaitEnds,
    ClosedChannel,
    CreditsConserved,
    ReadWasWritten,
    FramesInOrder,
    NoStall,
)


def check(trace: TraceReader) -> Result:
    """Check every record against every rule; HAILO_INVALID_ARGUMENT for a trace that cannot be read."""
    rules = [rule(trace.header.runtime) for rule in RULES]
    by_kind = {kind.value: [rule for rule in rules if not rule.kinds or kind.value in rule.kinds] for kind in Kind}
    of_any_kind = [rule for rule in rules if not rule.kinds]  # kinds of a later emu are passed over
    result = Result()
    for line, record in enumerate(trace, 2):
        result.events += 1
        try:
            for rule in by_kind.get(record["kind"], of_any_kind):
                for message in rule.check(record):
                    _report(result, Violation(rule.name, line, record["ns"], *_place(record), message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"the record does not say what it has to ({type(error).__name__} {error})",
                file=trace.name,
                line=line,
            ) from None
    return result


def _place(record: Record) -> tuple[str, int]:
    return record.get("context", ""), record.get("action_index", -1)


def _report(result: Result, violation: Violation) -> None:
    if len(result.violations) < MAX_VIOLATIONS:
        result.violations.append(violation)
    else:
        result.more += 1
