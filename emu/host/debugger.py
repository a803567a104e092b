"""Stopping a run at an action or a register write, and looking around (docs/regression.md).

The firmware waits inside its task while a person types: simulated time stands still, nothing changes by looking.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from emu.errors import UsageError
from emu.host.watches import FIELDS, Watch
from emu.hw.application import Context, Step
from emu.hw.inspection import Inspection
from emu.hw.vdma import Channel, Edge, EdgeKind
from emu.numerals import whole_number
from emu.trace.sinks.text import arguments_text

_ACTION = re.compile(r"(?P<context>activation|preliminary|batch_switching|dynamic_[0-9]+):(?P<index>[0-9]+)")
_WRITE = re.compile(r"write:(?P<address>0[xX][0-9a-fA-F]+|[0-9]+)")
_SHOWN_AHEAD = 5
_MOST_REMEMBERED = 1000
COMMANDS = (
    "continue",
    "step",
    "where",
    "queues",
    "channels",
    "lcus",
    "memory",
    "streams",
    "waits",
    "trace",
    "explain",
    "break",
    "breaks",
    "delete",
    "watch",
    "watches",
    "unwatch",
    "quit",
    "help",
)
_MOST_WORDS = 4096

HELP = """\
continue (c)          run on to the next breakpoint
step (s) [N]          execute N actions (1)
where (w)             the action that comes next, and those behind it
queues                the contexts with their actions, which have run, where the firmware stands
channels              DMA and config channels: counters, what they serve
lcus                  LCUs that count and sequencers
memory ADDRESS [N]    N words (4) from an address on
streams               edge layers: channel, frames, buffers
waits                 what the firmware and the frames wait for
trace [N]             the last N actions that were begun (10)
explain [THING]       the next action, or a status, field, register, rule …
break PLACE           CONTEXT:INDEX or write:ADDRESS
breaks                all breakpoints
delete N              one of them
watch EXPRESSION      stop when ADDRESS, ADDRESS & MASK or channel N.FIELD changes, or becomes == != >= <= > < a number
watches               all watch expressions
unwatch N             one of them
quit (q)              end the run"""


class DebuggerQuit(Exception):  # noqa: N818 - what the user wants, not an error
    """The run is to end here."""


class Breakpoint(Struct, frozen=True):
    """An action (sub-actions counted), or a write to an address."""

    context: str | None
    index: int
    address: int | None

    @classmethod
    def parse(cls, text: str) -> Breakpoint:
        """From `CONTEXT:INDEX` or `write:ADDRESS`; UsageError for anything else."""
        action, write = _ACTION.fullmatch(text), _WRITE.fullmatch(text)
        if action is not None:
            return cls(action["context"], _number(action["index"]), None)
        if write is not None:
            return cls(None, -1, _number(write["address"]))
        raise UsageError(
            f"breakpoint {text!r}: CONTEXT:INDEX (activation, preliminary, batch_switching, dynamic_N) or write:ADDRESS"
        )

    def __str__(self) -> str:
        return f"write:0x{self.address:08X}" if self.address is not None else f"{self.context}:{self.index}"


class Debugger(Struct, eq=False):
    """Commands come from `commands`, line by line, what there is to see goes to `show`.

    When there are no more commands the run goes on to its end.
    """

    chip: Inspection
    breaks: list[Breakpoint]
    commands: Iterator[str]
    show: Callable[[str], None]
    steps: int = 0
    attached: bool = True
    reached: set[Breakpoint] = field(default_factory=set)
    watches: list[Watch] = field(default_factory=list)
    recent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_MOST_REMEMBERED))

    def attach(self) -> None:
        """Watch the chip from now on."""
        self.chip.probe.action_hooks.append(self.before)
        self.chip.probe.write_hooks.append(self._written)

    # an observer (emu.hw.probe), from the first watch of a channel on: its counters move between actions too

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        """A control message moves no counter that is not looked at before the next action."""

    def launch(self, channel: Channel, transfers: int) -> None:
        """The host has offered descriptors."""
        self._look_at_watches()

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        """A frame has passed a channel."""
        self._look_at_watches()

    def complete(self, line: str) -> list[str]:
        """What the last word of a command line may go on as: commands, places, channels."""
        words = line.split()
        if not words or (len(words) == 1 and not line.endswith(" ")):
            known: list[str] = list(COMMANDS)
        elif words[0] == "break":
            contexts = (context.name for application in self.chip.applications for context in application.contexts)
            known = [*(f"{name}:" for name in dict.fromkeys(contexts)), "write:"]
        elif words[0] == "watch":
            known = ["channel", *(f"{one.packed}.{name}" for one, _ in self.chip.channels() for name in FIELDS)]
        else:
            known = []
        begun = "" if not words or line.endswith(" ") else words[-1]
        return [one for one in known if one.startswith(begun)]

    def before(self, context: Context, step: Step) -> None:
        """An action is about to be executed."""
        if not self.attached:
            return
        stepped = False
        if self.steps:
            self.steps -= 1
            stepped = not self.steps
        here = [one for one in self.breaks if one.context == context.name and one.index == step.number]
        self.reached.update(here)
        if not self._look_at_watches() and (stepped or here):
            self._stop(f"before {_described(context, step)}")
        self.recent.append((self.chip.now, _described(context, step)))

    def _look_at_watches(self) -> bool:
        """Stop where one strikes."""
        if not self.attached:
            return False
        found = [why for one in self.watches if (why := one.strikes(self.chip))]
        if found:
            step = self.chip.step
            during = "" if step is None or self.chip.context is None else f" at {_described(self.chip.context, step)}"
            self._stop("; ".join(found) + during)
        return bool(found)

    def _written(self, address: int, data: bytes) -> None:
        end = address + len(data)
        if not self.attached:
            return
        here = [one for one in self.breaks if one.address is not None and address <= one.address < end]
        self.reached.update(here)
        if here:
            self._stop(f"0x{address:08X} = {self._value(data)} is written{self._by()}")
        self._look_at_watches()

    def _value(self, data: bytes) -> str:
        if len(data) == 4:
            return f"0x{int.from_bytes(data, 'little'):08X}"
        return f"{len(data)} bytes"

    def _by(self) -> str:
        chip = self.chip
        if chip.context is None or chip.step is None:
            return " by the host"
        return f" by {_described(chip.context, chip.step)}"

    def _stop(self, why: str) -> None:
        self.steps = 0
        self.show(f"[{self.chip.now / 1000:.3f} us] {why}")
        for line in self.commands:
            words = line.split()
            if words and not words[0].startswith("#") and not self._obey(words):
                return
        self.attached = False

    def _obey(self, words: list[str]) -> bool:
        """Execute one command; False where the run goes on."""
        name, arguments = words[0], words[1:]
        if name in ("continue", "c"):
            return False
        if name in ("quit", "q"):
            raise DebuggerQuit
        try:
            if name in ("step", "s"):
                self.steps = _number(arguments[0]) or 1 if arguments else 1
                return False
            lines = self._answer(name, arguments)
        except UsageError as error:
            lines = [error.message]
        for line in lines:
            self.show(line)
        return True

    def _answer(self, name: str, arguments: list[str]) -> list[str]:
        if name in ("where", "w"):
            return list(self._where())
        if name == "queues":
            return list(self._queues())
        if name == "channels":
            return list(self._channels())
        if name == "lcus":
            return list(self._lcus())
        if name == "waits":
            return list(self._waits())
        if name == "streams":
            return list(self._streams())
        if name == "trace":
            count = _number(arguments[0]) if arguments else 10
            begun = list(self.recent)[-count:] if count else []
            return [f"[{ns / 1000:.3f} us] {what}" for ns, what in begun] or ["no action was begun"]
        if name == "explain":
            return list(self._explain(" ".join(arguments)))
        if name in ("watch", "watches", "unwatch"):
            return self._watch(name, arguments)
        if name == "memory" and arguments:
            return list(self._memory(_number(arguments[0]), _number(arguments[1]) if len(arguments) > 1 else 4))
        if name == "break" and arguments:
            self.breaks.append(Breakpoint.parse(arguments[0]))
            return [f"breakpoint {len(self.breaks)} at {self.breaks[-1]}"]
        if name == "breaks":
            return [f"{number} {one}" for number, one in enumerate(self.breaks, 1)] or ["no breakpoints"]
        if name == "delete" and arguments:
            number = _number(arguments[0])
            if not 1 <= number <= len(self.breaks):
                raise UsageError(f"there are {len(self.breaks)} breakpoints")
            return [f"{self.breaks.pop(number - 1)} is gone"]
        unknown = [] if name in ("help", "h", "?") else [f"{' '.join([name, *arguments])}: not understood"]
        return [*unknown, *HELP.splitlines()]

    def _where(self) -> Iterator[str]:
        chip = self.chip
        if chip.context is None or chip.step is None:
            yield "no context runs"
            return
        ahead = chip.context.actions.steps[chip.step.number :]
        yield f"application {chip.application}, batch {chip.batch}, {chip.context.name}"
        for step in ahead[: _SHOWN_AHEAD + 1]:
            yield f"  {'>' if step is chip.step else ' '} {_described(chip.context, step)}"

    def _queues(self) -> Iterator[str]:
        chip = self.chip
        for application in chip.applications:
            for context in application.contexts:
                here = ""
                if context is chip.context and chip.step is not None:
                    here = f", at action {chip.step.number}"
                yield (
                    f"application {application.index} {context.name:<16} {len(context.actions.steps):>5} actions, "
                    f"{context.runs} runs{here}"
                )

    def _channels(self) -> Iterator[str]:
        for channel, edge in self.chip.channels():
            what = f"{edge.kind.value} stream {edge.stream}" if edge is not None else "no stream"
            flags = [
                word
                for word, holds in (
                    ("open", channel.host_opened and (edge is None or edge.kind is EdgeKind.BOUNDARY)),
                    ("paused", channel.paused),
                    ("dummy", channel.dummy),
                    ("stalled", channel.stalled),
                )
                if holds
            ]
            yield (
                f"{channel.describe()}: {what}, {channel.progress()}, {channel.transfers} transfers, "
                f"{channel.bytes} bytes{''.join(f', {flag}' for flag in flags)}"
            )
        style = self.chip.config_style
        for stream, config in self.chip.config_channels():
            yield f"config stream {stream} on channel {config.channel}: {config.fetched} {style} fetched"

    def _lcus(self) -> Iterator[str]:
        for lcu in self.chip.lcus():
            state = "done" if lcu.done else f"{lcu.frames} of {lcu.target} frames"
            yield (
                f"{lcu.describe()}: network {lcu.network}, {state}, kernel done {lcu.kernel_done_count} x at "
                f"{lcu.kernel_done_address}"
            )
        for sequencer in self.chip.sequencers():
            if sequencer.arguments:
                when = (
                    "not triggered in this context" if sequencer.done_at is None else f"done at {sequencer.done_at} ns"
                )
                yield f"cluster {sequencer.cluster} sequencer: {when}, {arguments_text(sequencer.arguments)}"

    def _streams(self) -> Iterator[str]:
        for channel, edge in self.chip.channels():
            if edge is not None:
                core = edge.registers
                yield (
                    f"stream {edge.stream} ({edge.kind.value}), {channel.describe()}, network {edge.network}: "
                    f"{edge.done} frames in this pass, {channel.transfers} transfers of {edge.frame_bytes} bytes, "
                    f"{core.core_buffers_per_frame} core buffers of {core.core_bytes_per_buffer} bytes a frame"
                )

    def _explain(self, thing: str) -> Iterator[str]:
        from emu.explain.find import explain

        if not thing:
            if self.chip.step is None:
                yield "no action runs"
                return
            thing = self.chip.step.type.name
        for one in explain(thing):
            yield f"{one.name}: {one.kind}"
            for title, text in (("", one.text), ("when: ", one.when), ("do: ", one.do)):
                if text:
                    yield f"  {title}{text}"
            yield from (f"  {title}: {text}" for title, text in one.details)

    def _watch(self, name: str, arguments: list[str]) -> list[str]:
        if name == "watch" and arguments:
            watch = Watch.parse(" ".join(arguments), self.chip)
            if watch.address is None and self not in self.chip.probe.observers:
                self.chip.probe.observers.append(self)
            self.watches.append(watch)
            return [f"watch {len(self.watches)}: {watch.line(self.chip)}"]
        if name == "unwatch" and arguments:
            number = _number(arguments[0])
            if not 1 <= number <= len(self.watches):
                raise UsageError(f"there are {len(self.watches)} watches")
            return [f"{self.watches.pop(number - 1).text} is gone"]
        return [f"{number} {one.line(self.chip)}" for number, one in enumerate(self.watches, 1)] or ["no watches"]

    def _waits(self) -> Iterator[str]:
        waiting = self.chip.waiting
        if waiting is not None:
            yield f"the firmware waits for {waiting.what}"
            yield from waiting.chain()
        for one in self.chip.passes:
            total = "endless" if one.limit is None else one.limit
            yield f"frames of {one.context.name}: {one.launched} launched, {one.completed} of {total} delivered"
            if one.blocked:
                yield one.blocked
        if waiting is None and not self.chip.passes:
            yield "nothing waits"

    def _memory(self, address: int, words: int) -> Iterator[str]:
        chip = self.chip
        for at in range(address, min(address + 4 * min(words, _MOST_WORDS), 1 << 32), 4):
            value = chip.peek(at)
            text = "not written" if value is None else f"0x{value:08X}"
            yield f"0x{at:08X} ({chip.region_of(at).name}): {text}"


def _described(context: Context, step: Step) -> str:
    return f"{context.name} #{step.number} {step.type.name} {arguments_text(step.arguments.arguments())}".rstrip()


def _number(text: str) -> int:
    return whole_number(text, "an address or count", 0, (1 << 32) - 1, hexadecimal=True)
