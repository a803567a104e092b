"""One run of a HEF or a capture for a test: its trace, its outcome and what can be asserted of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu.errors import EmuError, UsageError
from emu.host.coverage import Coverage
from emu.host.door import input_contents, user_outputs
from emu.host.prepare import PreparedRun, prepare
from emu.host.session import GroupResult, RunResult, StreamResult, run_program
from emu.host.spec import RunSpec
from emu.hw.device import Device
from emu.output import Output
from emu.regression.golden import check_golden
from emu.regression.status import OK, check_status
from emu.sequencer.program import Direction
from emu.trace.hazards import HAZARDS, FoundHazard
from emu.trace.reader import TraceReader
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.tracer import Tracer


@dataclass(slots=True)
class Run:
    """A finished run. `error` is what stopped it (None: it ran to its end), `trace` the file of its trace.

    The assertions raise AssertionError with what differs; damaged golden files and wrong names raise EmuError.
    """

    model: Path
    spec: RunSpec
    trace: Path
    error: EmuError | None = None
    result: RunResult | None = field(default=None, repr=False)
    device: Device | None = field(default=None, repr=False)
    prepared: PreparedRun | None = field(default=None, repr=False)
    update: bool = False
    base: Path = field(default_factory=Path)

    # -- assertions

    def assert_golden(self, golden: str | Path, *, tolerance: float | None = None) -> Run:
        """The trace equals the golden one in meaning (and in time, within `tolerance` percent).

        With `--emu-update` the golden file is written instead; one of another model is never overwritten.
        """
        __tracebackhide__ = True
        self._fail_unless_traced()
        check_golden(self.base / golden, self.trace, update=self.update, tolerance=tolerance)
        return self

    def assert_actions(
        self, expected: Sequence[str] | Mapping[str, int], *, context: str | None = None, run: int = 0
    ) -> Run:
        """The actions of one run of a context: all of them in order (a sequence), or how often some occur (a mapping).

        `context` None: of the whole trace, for counts only.
        """
        __tracebackhide__ = True
        self._fail_unless_traced()
        if isinstance(expected, Mapping):
            counts = Counter(action for where, action in self._actions(run) if context in (None, where))
            wrong = {name: (count, counts[name]) for name, count in expected.items() if counts[name] != count}
            lines = [f"{name}: expected {want}, executed {have}" for name, (want, have) in wrong.items()]
            self._fail_if(lines, f"actions of {context or 'the run'}")
            return self
        found = [action for where, action in self._actions(run) if where == context]
        lines = []
        for index in range(max(len(expected), len(found))):
            want = expected[index] if index < len(expected) else "nothing"
            have = found[index] if index < len(found) else "nothing"
            if want != have:
                lines = [f"action {index}: expected {want}, executed {have}"]
                break
        self._fail_if(lines, f"actions of {context}")
        return self

    def assert_outputs(self, expected: str | Path | Mapping[str, Any], *, atol: float = 0.0, rtol: float = 0.0) -> Run:
        """The output vstreams, each an array with a leading frames axis, are those of an .npz file beside the test or
        of a mapping, within `atol` + `rtol` * expected. With `--emu-update` the file is written instead.

        Synthetic outputs mean nothing and fail: `keep_outputs=True` computes them where the network is read, else
        `reference` or `device_output` gives them.
        """
        __tracebackhide__ = True
        from emu.regression.outputs import check_outputs

        if made_up := self.synthetic_streams:
            raise AssertionError(
                f"{self.model.name}: {', '.join(made_up)} synthetic, which no expectation can be of: compute them "
                "(keep_outputs=True, compute=...), or give a reference or device_output"
            )
        target = expected if isinstance(expected, Mapping) else self.base / expected
        check_outputs(self.model.name, target, self.outputs, update=self.update, atol=atol, rtol=rtol)
        return self

    def assert_memory(self, expected: Mapping[int, int | bytes]) -> Run:
        """Registers and memory of the chip at the end, by address: words as int, blocks as bytes."""
        __tracebackhide__ = True
        self._fail_unless_traced()
        assert self.device is not None
        lines = []
        memory = self.device.memory
        content = memory.snapshot()
        for address, want in sorted(expected.items()):
            have: int | bytes | None = memory.peek(address) if isinstance(want, int) else content.get(address)
            if have != want:
                lines.append(f"0x{address:08X}: expected {_value(want)}, found {_value(have)}")
        self._fail_if(lines, "memory")
        return self

    def assert_stream(
        self, name: str, *, frames: int | None = None, size: int | None = None, contents: Sequence[bytes] | None = None
    ) -> Run:
        """A boundary stream: frames and bytes that passed, and the (synthetic) contents of an output's frames."""
        __tracebackhide__ = True
        stream = self.stream(name)
        lines = [
            f"{what}: expected {want:,}, passed {have:,}"
            for what, want, have in (("frames", frames, stream.frames), ("bytes", size, stream.size))
            if want is not None and want != have
        ]
        if contents is not None:
            for number, (want_bytes, have_bytes) in enumerate(zip(contents, stream.contents, strict=False)):
                if want_bytes != have_bytes:
                    lines.append(f"frame {number}: {_first_difference(want_bytes, have_bytes)}")
            if len(contents) != len(stream.contents):
                lines.append(f"expected {len(contents)} frames, {len(stream.contents)} came out")
        self._fail_if(lines, f"stream {name}")
        return self

    def assert_status(self, expected: str | int = OK) -> Run:
        """How the run ended: `OK`, or the name or number of the hailo_status or firmware status."""
        __tracebackhide__ = True
        check_status(self.model.name, self.error, expected)
        return self

    def assert_fps(self, expected: float, *, within: float = 0.05, network_group: str | None = None) -> Run:
        """The simulated FPS of a network group (default: the first), within a share of what is expected."""
        __tracebackhide__ = True
        group = self.group(network_group)
        if not abs(group.fps - expected) <= within * abs(expected):  # not-a-number is within nothing
            off = (group.fps / expected - 1) * 100 if expected else float("inf")
            raise AssertionError(
                f"{self.model.name}: {group.name} runs at {group.fps:.2f} FPS, expected {expected:.2f} within "
                f"{within * 100:g} %: {off:+.2f} %"
            )
        return self

    def assert_hazards(self, *, allowed: Collection[str] = ()) -> Run:
        """No hazard of a rule that is not `allowed` (units.md 6); `emu_run` asserts it of every run."""
        __tracebackhide__ = True
        unknown = sorted(set(allowed) - HAZARDS.keys())
        if unknown:
            raise UsageError(f"{', '.join(unknown)}: no hazard that is looked for; there are {', '.join(HAZARDS)}")
        lines = [one.line() for one in self.hazards if one.hazard.rule not in allowed]
        if lines:
            raise AssertionError("\n  ".join([f"{self.model.name}: {len(lines)} hazards", *lines]))
        return self

    # -- what there is

    @property
    def hazards(self) -> tuple[FoundHazard, ...]:
        """All that were found, also where the run did not come to its end."""
        return () if self.device is None else tuple(self.device.hazards)

    @property
    def outputs(self) -> dict[str, Any]:
        """Output vstream -> array with a leading frames axis, as `emu run --outputs` keeps them."""
        groups = self._groups()
        if self.prepared is None or not self.prepared.hefs:
            raise AssertionError(f"{self.model.name}: a capture has no vstreams")
        return user_outputs(self.prepared, groups)

    @property
    def synthetic_streams(self) -> list[str]:
        """Output streams of which at least one frame was neither computed nor given."""
        found = []
        for group in self._groups():
            for stream in group.streams:
                frames = range(len(stream.contents)) if stream.direction is Direction.D2H else ()
                if any(at >= len(group.real) or stream.name not in group.real[at] for at in frames):
                    found.append(stream.name)
        return found

    def group(self, name: str | None = None) -> GroupResult:
        """The result of a network group, by default of the first."""
        groups = self._groups()
        for group in groups:
            if name in (None, group.name):
                return group
        raise AssertionError(f"{self.model.name} has no network group {name!r}: {', '.join(g.name for g in groups)}")

    def stream(self, name: str) -> StreamResult:
        """A boundary stream by its name."""
        streams = [stream for group in self._groups() for stream in group.streams]
        for stream in streams:
            if stream.name == name:
                return stream
        raise AssertionError(f"{self.model.name} has no stream {name!r}: {', '.join(s.name for s in streams)}")

    @property
    def coverage(self) -> Coverage:
        """What the run touched."""
        return Coverage() if self.device is None else Coverage.of(self.device.inspection)

    def _groups(self) -> list[GroupResult]:
        if self.result is None:
            raise AssertionError(f"{self.model.name} did not run to its end: {self.error}")
        return self.result.groups

    def _actions(self, run: int) -> list[tuple[str, str]]:
        """(context, action) of the run number `run` of each context."""
        runs: Counter[str] = Counter()
        found = []
        for record in TraceReader(self.trace):
            if record["kind"] == "context_begin":
                runs[record["context"]] += 1
            elif record["kind"] == "action" and runs[record["context"]] == run + 1:
                found.append((record["context"], record["action"]))
        return found

    def _fail_unless_traced(self) -> None:
        __tracebackhide__ = True
        if self.device is None:
            raise AssertionError(f"{self.model.name}: the run never reached a device: {self.error}")

    def _fail_if(self, lines: Sequence[str], what: str) -> None:
        __tracebackhide__ = True
        if lines:
            raise AssertionError("\n  ".join([f"{self.model.name}: {what} differ", *lines]))


def execute(model: Path, spec: RunSpec, trace: Path, inputs: Mapping[str, Any] | None = None) -> Run:
    """Run what a recipe says and keep its trace in `trace`; `model` names it. What stops it is in `Run.error`.

    `inputs`: {input vstream: array with a leading frames axis}, in the place of files.
    """
    run = Run(model, spec, trace)
    with Output(trace) as output:
        try:
            prepared = prepare(spec)
            run.prepared, request = prepared, prepared.request
            request.keep_outputs = True
            if inputs is not None:
                request.inputs = input_contents(prepared, inputs)
            request.tracer_for = _tracer(JsonlSink(output.stream, prepared.header(model.name)))
            request.on_device = lambda device: setattr(run, "device", device)
            run.result = run_program(prepared.program, prepared.profile, request)
        except EmuError as error:
            run.error = error
    return run


def _tracer(sink: JsonlSink) -> Callable[[Callable[[], int]], Tracer]:
    return lambda clock: Tracer([sink], clock)


def _value(value: Any) -> str:
    if value is None:
        return "nothing written"
    return f"0x{value:08X}" if isinstance(value, int) else bytes(value).hex()


def _first_difference(want: bytes, have: bytes) -> str:
    for place, (one, other) in enumerate(zip(want, have, strict=False)):
        if one != other:
            return f"byte {place}: expected 0x{one:02X}, came out 0x{other:02X}"
    return f"expected {len(want)} bytes, came out {len(have)}"
