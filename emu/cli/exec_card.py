"""`emu exec --card`: any program, in a process of its own, whose Hailo card is a simulated one (card.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import repeat, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.cli.exec_card_options import AUTO, KEPT, ExecCard
from emu.cli.exec_card_report import CardOutputs, Ended, path_of_card
from emu.cli.log import warn
from emu.cli.options import output_path
from emu.cli.run_options import register_trace
from emu.cli.screen import complain
from emu.errors import EmuError, ExitCode, UsageError
from emu.files import is_regular, is_there

if TYPE_CHECKING:
    from emu.card.card import Card
    from emu.card.conversation import Conversation
    from emu.host.debugger import Debugger
    from emu.hw.device import Device
    from emu.hw.faults import Fault
    from emu.trace.events import Sink
    from emu.trace.record import RecordWriter
    from emu.trace.tracer import Tracer

_NOTHING_SENT = "--check-compile: the program configured no network on the card, so there is nothing to compare"


def run(options: ExecCard, program: Sequence[str]) -> int:
    """Run a program under the supervisor; its exit code."""
    from emu.card.conversation import Conversation
    from emu.card.supervisor.start import require_support, start
    from emu.card.supervisor.supervisor import Supervisor, Told

    with ExitStack() as files:
        writer = _writer(options, files)
        put = None if writer is None else writer.put
        outputs = CardOutputs.opened(options, files)
        debuggers: list[Debugger] = []
        cards = make_cards(options, _tracers(options, files), put, debuggers.append)
        conversation = Conversation(cards, put)
        watching = _Watching(options, conversation)
        machine = require_support()
        started = time.monotonic()
        client = start(machine, program, os.environ)
        client.forward_signals()
        told = Told(watching.version, watching.hef, watching.stall, warn, client.reap)
        Supervisor(machine, client.listener, conversation, told, real_pace=options.pace == "real").serve()
        code = client.exit_code()
        wall_s = time.monotonic() - started if options.timing else None
        if writer is not None:
            writer.finish(_manifest(options, watching))
        for place in _not_reached(options, debuggers):
            warn(f"--break {place} was never reached")
        code = watching.report() or code
        ended = Ended(program, code, cards, options.seed, wall_s)
        outputs.write(ended)
        if wall_s is not None and options.json is None:
            complain(f"emu: {wall_s:.3f} s of wall-clock time, real-time factor {ended.real_time_factor:.2f}")
        return code


def _writer(options: ExecCard, files: ExitStack) -> RecordWriter | None:
    if options.record is None:
        return None
    from emu.trace.record import RecordWriter

    return files.enter_context(RecordWriter(Path(options.record)))


def _manifest(options: ExecCard, watching: _Watching) -> dict[str, Any]:
    """What `emu replay` needs to know (docs/card.md)."""
    kept = {name: getattr(options, name) for name in KEPT}
    kept["reference"] = [_absolute(argument) for argument in options.reference]
    return {
        "card": kept,
        "files": [{"path": path, "md5": digest} for path, digest in watching.hefs.items()],
        "status": "OK",
    }


def _absolute(argument: str) -> str:
    head, sign, rest = argument.partition("=")
    if sign and not is_regular(argument):
        return f"{head}={Path(rest).resolve()}"
    return str(Path(argument).resolve())


TracerFor = Callable[[str, Callable[[], int]], "Tracer"]  # of a runtime and a clock
Put = Callable[[dict[str, Any]], None]


def make_cards(
    options: ExecCard,
    tracers: Sequence[TracerFor] = (),
    put: Put | None = None,
    debugging: Callable[[Debugger], object] = lambda debugger: None,
) -> list[Card]:
    """The cards that the options describe. `tracers`: of each, where there are any; `debugging` hears of debuggers.

    `put` gets what crosses the borders of their devices, with the number of the card where there are several.
    UsageError for a device or a HailoRT that there is no card of.
    """
    from emu.card.card import Card, CardOptions
    from emu.card.networks import Networks
    from emu.chips import chips
    from emu.chips.runtimes import device_profile, runtime_profile
    from emu.hef.runtime import default_runtime, release_name

    known = device_profile(options.device)
    default = default_runtime(min(known.architectures)).name
    runtime = default if options.runtime == AUTO else release_name(options.runtime)
    if runtime_profile(runtime).buffers_by == "nothing":
        raise UsageError(f"--card: no card speaks with HailoRT {runtime}")
    if known.attachment not in runtime_profile(runtime).serves or known.integrated:
        raise UsageError(f"--card --device {options.device}: HailoRT {runtime} has no PCIe driver for it")
    if options.reference and options.compute is not None:
        raise UsageError("--compute: outputs either come from a reference or are computed")
    faults: tuple[Fault, ...] = ()
    if options.inject:
        from emu.hw.faults import Fault

        faults = tuple(Fault.parse(text) for text in options.inject)
    handlers: Mapping[Any, Any] = {}
    if options.handlers is not None:
        from emu.host.modules import load_handlers
        from emu.hw.handlers.own import handlers_with

        handlers = load_handlers(options.handlers)
        handlers_with(handlers)  # which refuses what is wrong with them, before the program starts
    reference = None
    if options.reference:
        from emu.host.references import reference_files

        reference = reference_files(options.reference)
    profile = chips.load(options.device, options.clock_mhz, options.link)
    debugger = _debugger(options, debugging)
    found = []
    for number in range(options.cards):
        watch: list[Callable[[Device], object]] = []
        if put is not None:
            watch.append(_recorder(put if options.cards == 1 else _of_card(put, number)))
        if debugger is not None:
            watch.append(debugger)
        networks = Networks(
            reference=reference,
            compute=options.compute,
            zero_outputs=options.outputs == "zeros",
            say=warn,
        )
        made = CardOptions(
            profile,
            runtime,
            seed=options.seed,
            faults=faults,
            handlers=handlers,
            stop_at_hazard=options.hazards == "stop",
            tracer_for=tracers[number] if tracers else None,
            watch=watch,
            counts=options.json is not None or options.dump_action_list is not None,
            board_location=f"0000:{number + 1:02x}:00.0",
        )
        found.append(Card(made, networks))
    return found


def _recorder(put: Put) -> Callable[[Device], object]:
    from emu.host.recording import Recorder

    return lambda device: Recorder(device.inspection, put)


def _of_card(put: Put, number: int) -> Put:
    return lambda record: put({**record, "card": number})


def _tracers(options: ExecCard, files: ExitStack) -> list[TracerFor]:
    """Of each card, where they are traced."""
    if options.trace is None:
        if options.trace_format is not None:
            raise UsageError("--trace-format needs --trace FILE")
        return []
    name, registers = register_trace(options.trace)
    if not name:
        raise UsageError("--trace registers: the terminal is the program's, registers:FILE names a file")
    paths = [path_of_card(name, number, options.cards) for number in range(options.cards)]
    return [_tracer(options, path, registers, files) for path in paths]


def _tracer(options: ExecCard, path: str, registers: bool, files: ExitStack) -> TracerFor:
    from emu.chips import chips
    from emu.output import Output
    from emu.trace.events import Header
    from emu.trace.tracer import Tracer

    # the program is the user's: it waits for a device that goes on, whoever reads how
    output = files.enter_context(Output(output_path(path), fails_at_end=True))
    profile = chips.load(options.device, options.clock_mhz, options.link)

    def sink(header: Header) -> Sink:
        if options.trace_format == "text":
            from emu.trace.sinks.text import TextSink

            return TextSink(output.text(), header)
        if options.trace_format == "perfetto":
            from emu.trace.sinks.perfetto import PerfettoSink

            return PerfettoSink(output.stream, header)
        from emu.trace.sinks.jsonl import JsonlSink

        return JsonlSink(output.stream, header)

    def tracer(runtime: str, clock: Callable[[], int]) -> Tracer:
        header = Header("a program", runtime, options.device, 1, 0, options.seed, profile.timestamp_hz / 1e6)
        return Tracer([sink(header)], clock, registers)

    return tracer


def _debugger(options: ExecCard, made: Callable[[Debugger], object]) -> Callable[[Device], object] | None:
    """What `--break` and `--step` attach to the device; commands come from a file: the terminal is the program's."""
    if not (options.breaks or options.step):
        if options.break_script is not None:
            raise UsageError("--break-script needs --break or --step")
        return None
    if options.cards > 1:
        name = "--break" if options.breaks else "--step"
        raise UsageError(f"{name} is of one card, whose commands a script gives: --cards 1")
    from emu.files import read_document
    from emu.host.debugger import Breakpoint, Debugger

    breaks = [Breakpoint.parse(text) for text in options.breaks]
    commands: Iterator[str] = repeat("continue")
    if options.break_script is not None:
        try:
            lines = read_document(Path(options.break_script)).decode().splitlines()
        except (EmuError, UnicodeDecodeError) as error:
            raise UsageError(f"--break-script {options.break_script} cannot be read: {error}") from None
        # the program is not ours to end: whoever quits looks no further
        commands = takewhile(lambda line: line.strip() not in ("q", "quit"), lines)

    def attach(device: Device) -> None:
        debugger = Debugger(device.inspection, breaks, commands, complain, steps=1 if options.step else 0)
        made(debugger)
        debugger.attach()

    return attach


def _not_reached(options: ExecCard, debuggers: Sequence[Debugger]) -> Iterator[str]:
    """The breakpoints that no device came to, as far as they were looked for."""
    if not options.breaks or not all(one.attached for one in debuggers):
        return
    from emu.host.debugger import Breakpoint

    reached = {place for one in debuggers for place in one.reached}
    yield from (text for text in options.breaks if Breakpoint.parse(text) not in reached)


class _Watching:
    """What is said while the program runs, and at its end."""

    def __init__(self, options: ExecCard, conversation: Conversation) -> None:
        self.hefs: dict[str, str] = {}  # hash by path of those that clients opened
        self._options = options
        self._conversation = conversation
        self._cards = conversation.cards
        if options.coverage_file is not None:
            from emu.host.coverage import Coverage
            from emu.output import Output

            path = output_path(options.coverage_file)
            if is_there(path):
                Coverage.read(path)  # a foreign file is refused before anything runs
            Output(path).discard()

    def version(self, card: Card, version: str | None) -> None:
        """A client asks for the driver's version: it is that of its own library (card.md)."""
        from emu.card.errors import CallError
        from emu.chips.runtimes import runtime_profile
        from emu.hef.runtime import release_name

        if self._options.runtime != AUTO or version is None:
            return
        try:
            name = release_name(version)
        except EmuError:
            name = ""
        if not name or runtime_profile(name).buffers_by == "nothing":
            warn(f"HailoRT {version} is not served by --card")
            raise CallError(95, f"HailoRT {version}")  # EOPNOTSUPP
        major, minor, revision = map(int, version.split("."))
        self._conversation.speak(card, name, (major, minor, revision))

    def hef(self, path: str) -> None:
        self._conversation.hef(path, lambda: self._digest(path))

    def _digest(self, path: str) -> str:
        from emu.cli.run_settings import md5

        try:
            self.hefs[path] = md5(Path(path))
        except OSError:
            return ""
        return self.hefs[path]

    def stall(self, card: Card) -> None:
        from emu.host.watchdog import examine

        if card.powered:
            warn(examine(card.device.inspection, "the client still expects transfers that it launched").line())

    def report(self) -> int:
        """At the end: an exit code other than the program's, 0 where there is none."""
        code = 0
        for card in self._cards:
            code = code or self._report_of(card)
        return code

    def _report_of(self, card: Card) -> int:
        if not card.powered:
            if card.options.tracer_for is not None:
                card.options.tracer_for(card.runtime, lambda: 0).close()
            if self._options.check_compile:
                complain(f"emu: {_NOTHING_SENT}")
                return ExitCode.DIFFERENT
            return 0
        device = card.device
        if device.probe.tracer is not None:
            device.probe.tracer.close()
        if device.faults is not None:
            for fault in device.faults.idle():
                warn(f"--inject {fault} never struck")
        for hazard in device.hazards:
            warn(f"hazard: {hazard.error().line()}")
        if self._options.coverage_file is not None:
            from emu.host.coverage import Coverage, merge_into

            merge_into(Path(self._options.coverage_file), Coverage.of(device.inspection))
        if card.networks.refused is not None:
            return card.networks.refused.exit_code
        if not self._options.check_compile:
            return 0
        for name, difference in card.networks.checked:
            complain(f"emu: {name}: {difference or 'sent as it is compiled'}")
        if not card.networks.checked:
            complain(f"emu: {_NOTHING_SENT}")
            return ExitCode.DIFFERENT
        return ExitCode.DIFFERENT if any(difference for _, difference in card.networks.checked) else 0
