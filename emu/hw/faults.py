"""Injected faults: what goes wrong, where and when (`emu run --inject`, docs/device.md).

`KIND[:TARGET][#N][=VALUE][@CONTEXT:INDEX]`: TARGET is a packed channel id, or a config stream for flip-ccw; N counts
frames from 0; CONTEXT:INDEX is the action before which the fault strikes (from the start where it is not given).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from emu.errors import UsageError
from emu.hw.status import FirmwareStopError
from emu.trace.events import Event, Kind

if TYPE_CHECKING:
    from emu.hw.application import Context, Step
    from emu.hw.config import ConfigSource
    from emu.hw.device import Device

KINDS = {
    "drop-interrupt": "the host never hears of frame N of the channel",
    "delay-interrupt": "the host hears VALUE ns late of frame N of the channel",
    "flip-ccw": "bit VALUE (8 x byte + bit) of the first fetch of config stream TARGET is inverted",
    "stall-channel": "the channel moves nothing any more",
    "slow-channel": "the channel is VALUE times slower",
    "lose-descriptor": "a descriptor of the channel that the host made available is lost",
    "reset": "the context-switch task is reset",
}
_SPEC = re.compile(
    r"(?P<kind>[a-z-]+)(?::(?P<target>\d+))?(?:#(?P<frame>\d+))?(?:=(?P<value>\d+(?:\.\d+)?))?"
    r"(?:@(?P<context>[a-z_]+(?:_\d+)?):(?P<index>\d+))?"
)
_NEEDS_TARGET = frozenset(KINDS) - {"reset"}
_NEEDS_VALUE = frozenset({"delay-interrupt", "flip-ccw", "slow-channel"})
_NEEDS_PLACE = frozenset({"reset"})
_INTERRUPTS = frozenset({"drop-interrupt", "delay-interrupt"})
_WAIT_FOR_THEIR_MOMENT = _INTERRUPTS | {"flip-ccw"}


@dataclass(slots=True)
class Fault:
    """One fault; `place` None: it holds from the start. `armed`: its place was reached, `struck`: it had its effect."""

    kind: str
    target: int = -1
    frame: int = 0
    value: float = 0.0
    place: tuple[str, int] | None = None
    armed: bool = False
    struck: bool = False

    @classmethod
    def parse(cls, text: str) -> Fault:
        """From the text of `--inject`; UsageError with what there is."""
        match = _SPEC.fullmatch(text)
        if match is None or match["kind"] not in KINDS:
            raise UsageError(
                f"--inject {text}: KIND[:TARGET][#N][=VALUE][@CONTEXT:INDEX], KIND one of {', '.join(KINDS)}"
            )
        kind = match["kind"]
        missing = [
            word
            for word, needed, given in (
                ("TARGET", _NEEDS_TARGET, match["target"]),
                ("VALUE", _NEEDS_VALUE, match["value"]),
                ("CONTEXT:INDEX", _NEEDS_PLACE, match["context"]),
            )
            if kind in needed and given is None
        ]
        if missing:
            raise UsageError(f"--inject {text}: {kind} needs {', '.join(missing)}")
        return cls(
            kind,
            int(match["target"] or -1),
            int(match["frame"] or 0),
            float(match["value"] or 0),
            (match["context"], int(match["index"])) if match["context"] else None,
        )

    def __str__(self) -> str:
        place = f"@{self.place[0]}:{self.place[1]}" if self.place else ""
        value = f"={self.value:.15g}" if self.value else ""
        target = f":{self.target}" if self.target >= 0 else ""
        frame = f"#{self.frame}" if self.kind in _INTERRUPTS else ""
        return f"{self.kind}{target}{frame}{value}{place}"


@dataclass(slots=True)
class Faults:
    """The faults of one run. The device asks at its hooks whether one strikes."""

    faults: Sequence[Fault]
    delivered: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # each run has its own: they remember that they struck
        self.faults = [replace(fault, armed=False, struck=False) for fault in self.faults]

    def start(self, device: Device) -> None:
        """Faults without a place strike before anything runs; UsageError for a channel that there is none of."""
        for fault in self.faults:
            if fault.kind in _NEEDS_TARGET - {"flip-ccw"}:
                try:
                    device.vdma.channel(fault.target)
                except FirmwareStopError as error:
                    raise UsageError(f"--inject {fault}: {error.message}") from None
            if fault.place is None:
                self._strike(device, fault)

    def before(self, device: Device, context: Context, step: Step) -> None:
        """An action is about to run."""
        for fault in self.faults:
            if not fault.armed and fault.place == (context.name, step.number):
                self._strike(device, fault)

    def _strike(self, device: Device, fault: Fault) -> None:
        fault.armed = True
        if fault.kind in _WAIT_FOR_THEIR_MOMENT:
            return  # asked for where it matters
        fault.struck = True
        self._tell(device, fault)
        if fault.kind == "reset":
            device.firmware.reset()
            return
        channel = device.vdma.channel(fault.target)
        if fault.kind == "stall-channel":
            channel.stalled = True
        elif fault.kind == "slow-channel":
            channel.slow = max(1.0, fault.value)
        else:
            channel.lost += 1

    def interrupt(self, device: Device, packed: int, deliver: Callable[[], None]) -> None:
        """A transfer of a channel is done and the host is to hear of it."""
        number = self.delivered.get(packed, 0)
        self.delivered[packed] = number + 1
        for fault in self.faults:
            if fault.struck or not fault.armed or fault.target != packed or fault.frame != number:
                continue
            if fault.kind == "drop-interrupt":
                fault.struck = True
                self._tell(device, fault)
                return
            if fault.kind == "delay-interrupt":
                fault.struck = True
                self._tell(device, fault)
                device.clock.at(device.clock.time + round(fault.value), deliver)
                return
        deliver()

    def corrupt(self, device: Device, stream: int, source: ConfigSource, data: bytes) -> bytes:
        """Bytes that a config stream fetches."""
        for fault in self.faults:
            if fault.kind == "flip-ccw" and fault.target == stream and fault.armed and not fault.struck:
                fault.struck = True
                self._tell(device, fault)
                at, bit = divmod(int(fault.value), 8)
                if at < len(data):
                    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        return data

    def _tell(self, device: Device, fault: Fault) -> None:
        if device.tracer is not None:
            device.tracer.emit(Event(device.clock.time, Kind.FAULT, unit=str(fault), cause=KINDS[fault.kind]))

    def idle(self) -> list[str]:
        """The faults that had no effect: their place, frame or fetch never came."""
        return [str(fault) for fault in self.faults if not fault.struck]

    def describe(self) -> list[str]:
        """The faults that struck, for a stall's report."""
        return [f"injected: {fault}" for fault in self.faults if fault.struck]
