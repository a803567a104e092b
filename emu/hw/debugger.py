"""Stopping a run at an action or a register write, and looking around (docs/regression.md).

The firmware waits inside its task while a person types: simulated time stands still, nothing changes by looking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from emu.errors import UsageError
from emu.hw.application import Context, Step
from emu.hw.device import Device
from emu.hw.vdma import EdgeKind
from emu.trace.sinks.text import arguments_text

_ACTION = re.compile(r"(?P<context>activation|preliminary|batch_switching|dynamic_[0-9]+):(?P<index>[0-9]+)")
_WRITE = re.compile(r"write:(?P<address>0[xX][0-9a-fA-F]+|[0-9]+)")
_SHOWN_AHEAD = 5
_MOST_WORDS = 4096

HELP = """\
continue (c)          run on to the next breakpoint
step (s) [N]          execute N actions (1)
where (w)             the action that comes next, and those behind it
queues                the contexts with their actions, which have run, where the firmware stands
channels              DMA and config channels: counters, what they serve
lcus                  LCUs that count and sequencers
memory ADDRESS [N]    N words (4) from an address on
waits                 what the firmware and the frames wait for
break PLACE           CONTEXT:INDEX or write:ADDRESS
breaks                all breakpoints
delete N              one of them
quit (q)              end the run"""


class DebuggerQuit(Exception):  # noqa: N818 - what the user wants, not an error
    """The run is to end here."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
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


@dataclass(slots=True)
class Debugger:
    """Commands come from `commands`, line by line, what there is to see goes to `show`.

    When there are no more commands the run goes on to its end.
    """

    device: Device
    breaks: list[Breakpoint]
    commands: Iterator[str]
    show: Callable[[str], None]
    steps: int = 0
    attached: bool = True
    reached: set[Breakpoint] = field(default_factory=set)

    def attach(self) -> None:
        """Watch the device from now on."""
        self.device.action_hooks.append(self.before)
        self.device.memory.write_hooks.append(self._written)
        self.device.core.may_jump = False

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
        if stepped or here:
            self._stop(f"before {_described(context, step)}")

    def _written(self, address: int, data: bytes) -> None:
        end = address + len(data)
        if not self.attached:
            return
        here = [one for one in self.breaks if one.address is not None and address <= one.address < end]
        self.reached.update(here)
        if here:
            self._stop(f"0x{address:08X} = {self._value(data)} is written{self._by()}")

    def _value(self, data: bytes) -> str:
        if len(data) == 4:
            return f"0x{int.from_bytes(data, 'little'):08X}"
        return f"{len(data)} bytes"

    def _by(self) -> str:
        firmware = self.device.firmware
        if firmware.context is None or firmware.step is None:
            return " by the host"
        return f" by {_described(firmware.context, firmware.step)}"

    def _stop(self, why: str) -> None:
        self.steps = 0
        self.show(f"[{self.device.firmware.now / 1000:.3f} us] {why}")
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
        firmware = self.device.firmware
        if firmware.context is None or firmware.step is None:
            yield "no context runs"
            return
        ahead = firmware.context.steps[firmware.step.number :]
        yield f"application {self.device.core.application}, batch {firmware.batch_index}, {firmware.context.name}"
        for step in ahead[: _SHOWN_AHEAD + 1]:
            yield f"  {'>' if step is firmware.step else ' '} {_described(firmware.context, step)}"

    def _queues(self) -> Iterator[str]:
        firmware = self.device.firmware
        for application in self.device.applications:
            for context in application.contexts:
                here = ""
                if context is firmware.context and firmware.step is not None:
                    here = f", at action {firmware.step.number}"
                yield (
                    f"application {application.index} {context.name:<16} {len(context.steps):>5} actions, "
                    f"{context.runs} runs{here}"
                )

    def _channels(self) -> Iterator[str]:
        device = self.device
        for packed in sorted(device.vdma.channels):
            channel = device.vdma.channels[packed]
            edge = device.core.edge_of_channel(packed)
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
                f"{channel.describe()}: {what}, {channel.counters()}, {channel.transfers} transfers, "
                f"{channel.bytes} bytes{''.join(f', {flag}' for flag in flags)}"
            )
        for stream in sorted(device.config.channels):
            config = device.config.channels[stream]
            yield f"config stream {stream} on channel {config.channel}: {config.fetched} {device.config.style} fetched"

    def _lcus(self) -> Iterator[str]:
        clusters = self.device.clusters
        for lcu in clusters.running():
            state = "done" if lcu.done else f"{lcu.frames} of {lcu.target} frames"
            yield (
                f"{lcu.describe()}: network {lcu.network}, {state}, kernel done {lcu.kernel_done_count} x at "
                f"{lcu.kernel_done_address}"
            )
        for sequencer in clusters.sequencers.values():
            if sequencer.arguments:
                when = (
                    "not triggered in this context" if sequencer.done_at is None else f"done at {sequencer.done_at} ns"
                )
                yield f"cluster {sequencer.cluster} sequencer: {when}, {arguments_text(sequencer.arguments)}"

    def _waits(self) -> Iterator[str]:
        firmware = self.device.firmware
        if firmware.waiting is not None:
            yield f"the firmware waits for {firmware.waiting.what}"
            yield from firmware.waiting.chain()
        for one in self.device.core.passes:
            total = "endless" if one.limit is None else one.limit
            yield f"frames of {one.context.name}: {one.launched} launched, {one.completed} of {total} delivered"
            if one.blocked:
                yield one.blocked
        if firmware.waiting is None and not self.device.core.passes:
            yield "nothing waits"

    def _memory(self, address: int, words: int) -> Iterator[str]:
        memory = self.device.memory
        for at in range(address, min(address + 4 * min(words, _MOST_WORDS), 1 << 32), 4):
            value = memory.peek(at)
            text = "not written" if value is None else f"0x{value:08X}"
            yield f"0x{at:08X} ({memory.region_of(at).name}): {text}"


def _described(context: Context, step: Step) -> str:
    return f"{context.name} #{step.number} {step.type.name} {arguments_text(step.arguments._asdict())}".rstrip()


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is no number") from None
    if not 0 <= value < 1 << 32:
        raise UsageError(f"{text} is no address or count of 32 bits")
    return value
