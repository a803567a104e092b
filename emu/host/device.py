"""The open device: HEFs are configured on it, frames submitted and waited for, and its memory given back.

Simulated time moves only inside calls that wait (`Job.wait`, `Application.infer`) and those that talk to the firmware
(`configure`, `release`, `close`). One device and all that belongs to it are used by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from emu.chips import chips
from emu.chips.runtimes import device_profile, runtime_profile
from emu.errors import EmuError, HailoError, HailoStatus, UsageError
from emu.hef import Hef, open_hef
from emu.hef.runtime import default_runtime, release_name
from emu.host.application import Application
from emu.host.combine import relocate
from emu.host.computing import ComputedOutputs, agreements_of
from emu.host.driver import Driver
from emu.host.jobs import Agreements, Outputs
from emu.host.layout import usable_clusters
from emu.host.outputs import check_choice, outputs_of
from emu.host.pcie import port_of
from emu.host.scheduler import Scheduler
from emu.hw.device import Device
from emu.hw.handlers.own import OwnHandlers, handlers_with
from emu.hw.inspection import Inspection
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import NetworkGroupProgram, Program, opening_controls
from emu.timing.model import Flow, GroupTiming
from emu.timing.workload import program_timings
from emu.trace.tracer import Tracer
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    Response,
    change_context_switch_status,
    encode_request,
)

if TYPE_CHECKING:
    from emu.host.vstreams import UserFrames
    from emu.hw.faults import Fault
    from emu.reference.reference import Function

NOTHING_YET = "nothing was configured on the device yet"

Source = str | Path | bytes | Hef | Program


class OpenDevice:
    """A device that stays open; `open_device` makes one. `chip` is the simulated hardware, from the first configure on.

    `layout`: bitmap of the usable clusters of a device that is sold with several (None: its default); the others have
    their own clusters, and those that the first program names (`usable_clusters`). `clusters` sets them, whatever is
    named. `tracer_for` makes the tracer from the clock, `on_chip` sees the chip before anything
    is sent to it. `may_jump`: whether steady frames may be advanced in one step, which changes no result. `handlers`
    take the place of the firmware's, or serve actions of the user's own (docs/hacking.md); they see every action.
    """

    def __init__(
        self,
        profile: chips.Profile,
        runtime: str,
        *,
        layout: int | None = None,
        clusters: int | None = None,
        seed: int = 0,
        faults: Sequence[Fault] = (),
        tracer_for: Callable[[Callable[[], int]], Tracer] | None = None,
        on_chip: Callable[[Device], None] | None = None,
        may_jump: bool = True,
        host: HostSettings | None = None,
        handlers: OwnHandlers | None = None,
    ) -> None:
        self.profile = profile.with_firmware(runtime_profile(runtime).version)
        self.runtime = runtime
        self.seed = seed
        self.applications: list[Application] = []
        self._layout = layout
        self._clusters = clusters
        self._faults = tuple(faults)
        self._tracer_for = tracer_for
        self._on_chip = on_chip
        self._handlers = {} if handlers is None else handlers
        handlers_with(self._handlers)  # which refuses what is wrong with them
        self._may_jump = may_jump and not self._handlers
        self._host_settings = host or HostSettings()
        self._chip: Device | None = None
        self._driver: Driver | None = None
        self._scheduler = Scheduler()
        self._by_index: dict[int, Application] = {}
        self._slots: dict[int, tuple[Program, list[Application]]] = {}
        self._running: Application | None = None
        self._closed = False

    # -- life cycle

    def __enter__(self) -> OpenDevice:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release every application and end the trace. The device cannot be used any more."""
        try:
            if self.applications and not self._closed:
                self._release(*self.applications)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """As `close`, without a word to the device: whatever happened to it, its trace ends here."""
        if not self._closed and self._chip is not None and self._chip.probe.tracer is not None:
            self._chip.probe.tracer.close()
        self._closed = True

    @property
    def chip(self) -> Device:
        """The simulated hardware, for whoever wants to look further; UsageError before anything was configured."""
        if self._chip is None:
            raise UsageError(NOTHING_YET)
        return self._chip

    @property
    def inspection(self) -> Inspection:
        """What can be looked at of the chip; UsageError before anything was configured."""
        return self._driven.inspection

    @property
    def now_ns(self) -> int:
        """Simulated time since the device was opened."""
        return self._driver.chip.clock.time if self._driver is not None else 0

    def configure(
        self,
        source: Source,
        *,
        batch: int | None = 1,
        group: str | None = None,
        net_batch: Mapping[str, int] | None = None,
        kv_cache: bool = False,
        reference: str | Path | Function | None = None,
        compute: bool | str | None = False,
        compute_time_ns: float | None = None,
    ) -> Application:
        """Configure one network group of a HEF (path, bytes or `Hef`) or of a `Program`; others stay configured.

        `batch` None: HailoRT's default, a batch of 1 whose turn on a shared device is as long as its queue. `reference`
        gives what leaves the device in place of synthetic bytes: an ONNX, OM or MS model, or a callable
        (`emu.reference.reference.Function`; of a `Program`, which has no vstreams, `emu.host.jobs.Outputs`).
        `compute`: let the core compute them, True or "strict": all or refuse, "partial": those that it can, None: where
        the whole network is read and a frame costs less than a second (docs/network.md; `Application.computing`).
        `compute_time_ns`: measured time from the last input byte to the outputs, in place of the
        HEF's own figures.

        Raises what `open_hef` and `compile_hef` raise; UsageError for a HEF opened for another runtime, and for several
        groups where none is named; FirmwareError where the firmware refuses.
        """
        self._check_open()
        check_choice(reference, compute)
        hef: Hef | None = None
        options: CompileOptions | None = None
        if isinstance(source, Program):
            program = source
            if program.device != self.profile.device:
                raise UsageError(f"a program for {program.device} on {self.profile.device}")
        else:
            hef = source if isinstance(source, Hef) else open_hef(source, runtime=self.runtime)
            if hef.runtime != self.runtime:
                raise UsageError(f"{hef.name} was opened for runtime {hef.runtime}, the device speaks {self.runtime}")
            options = CompileOptions(
                device=self.profile.device,
                cluster_layout=self._layout,
                batch=1 if batch is None else batch,
                net_batch=dict(net_batch or {}),
                network_group=group,
                host=self._host_settings,
                kv_cache=kv_cache,
            )
            program = compile_hef(hef, options)
        names = [one.name for one in program.network_groups if group in (None, one.name)]
        if len(names) != 1:
            there = ", ".join(one.name for one in program.network_groups) or "none"
            raise UsageError(f"say which network group to configure (group=NAME): there are {there}")
        timings = program_timings(program, self.profile, compute_time_ns)
        agreements = None if hef is None or options is None else agreements_of(hef, options)
        outputs, computing = outputs_of(hef, program, options, names[0], reference, compute)
        make = None if hef is None else partial(_user_frames, hef, names[0], self.runtime, self._host_settings)
        found = self.configure_program(
            program,
            timings,
            only=names[0],
            user_frames=make,
            outputs=outputs,
            agreements=agreements,
            default_batch=batch is None,
        )
        found[0].computing = computing[found[0].position] if computing else None
        return found[0]

    def configure_program(
        self,
        program: Program,
        timings: Sequence[GroupTiming] | None = None,
        *,
        only: str | None = None,
        user_frames: Callable[[], UserFrames] | None = None,
        outputs: Outputs | ComputedOutputs | None = None,
        agreements: Sequence[Agreements] | None = None,
        default_batch: bool = False,
    ) -> list[Application]:
        """Configure the groups of a program (`only`: one of them); its host memory is mapped until all are released.

        `agreements` and `timings` of all its groups; without timings from the figures that the program carries
        (`program_timings`).
        """
        self._check_open()
        if program.runtime != self.runtime:
            raise UsageError(f"a program for runtime {program.runtime}, the device speaks {self.runtime}")
        first = self._driver is None
        driver = self._power_on(program) if self._driver is None else self._driver
        slot = next(number for number in range(len(self._slots) + 1) if number not in self._slots)
        placed = relocate(program, slot)
        driver.chip.map_memory(placed)
        made: list[Application] = []
        self._slots[slot] = placed, made
        try:
            if first:
                for message in opening_controls(program.device):
                    driver.send(message)
            else:
                self._leave()
            positions = [at for at, group in enumerate(placed.network_groups) if only in (None, group.name)]
            indices = [self._send_group(placed.network_groups[at]) for at in positions]
            if timings is None:  # a list that cannot be read is the firmware's to refuse, so not before it was sent
                timings = program_timings(program, self.profile)
            for position, index in zip(positions, indices, strict=True):
                made.append(
                    self._application(
                        placed,
                        position,
                        index,
                        timings[position],
                        user_frames,
                        outputs,
                        None if agreements is None else agreements[position],
                        default_batch,
                    )
                )
        finally:
            if not made:
                self._unmap(slot)
        self.applications += made
        return made

    def _send_group(self, group: NetworkGroupProgram) -> int:
        """Configure a group; returns its index in the device."""
        index = len(self._driven.inspection.applications)
        for message in group.controls():
            self._driven.send(message)
        return index

    def _application(
        self,
        program: Program,
        position: int,
        index: int,
        timing: GroupTiming,
        user_frames: Callable[[], UserFrames] | None,
        outputs: Outputs | ComputedOutputs | None,
        agreements: Agreements | None,
        default_batch: bool,
    ) -> Application:
        application = Application(
            self._driven,
            program,
            position,
            index,
            timing,
            seed=self.seed,
            advance=self.run_until,
            release=self._release,
            user_frames=user_frames,
            outputs=outputs,
            agreements=agreements,
            burst=None if default_batch else program.network_groups[position].batch_size,
        )
        self._by_index[index] = application
        return application

    def _release(self, *applications: Application) -> None:
        """RESET where one of them runs; with the last ones CLEAR too, as HailoRT ends (silicon-facts.md a)."""
        driver, ran = self._driven, self._running in applications
        for application in applications:
            application.released = True
            self.applications.remove(application)
            self._scheduler.forget(application)
        if not self.applications:
            self._leave(always=True)
            driver.send(encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS))
            self._by_index.clear()
        elif ran:
            self._leave()
        for application in applications:
            application.abort(HailoError(HailoStatus.HAILO_STREAM_ABORT, f"{application.name} was released"))
        for slot, (_, members) in list(self._slots.items()):
            if all(member.released for member in members):
                self._unmap(slot)

    # -- time

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Let the scheduler run applications until `condition`, or until nobody has a frame.

        What stops the device ends all frames of the application that ran; it is raised by their jobs' `wait`.
        """
        while not condition():
            if not self._step():
                return

    def run_one(self) -> bool:
        """Let one event happen, and the host do what it does then; False where it has nothing left to wait for."""
        driven = self._driven
        events = driven.inspection.events

        def happened() -> bool:
            return driven.inspection.events > events

        if self._step(happened):
            return True
        if self._running is not None:
            driven.run_until(lambda: driven.chip.resting or happened())
        return happened()

    def _step(self, pauses: Callable[[], bool] | None = None) -> bool:
        """One stretch of simulated time, which ends early where it `pauses`; False where nobody has a frame."""
        running = self._running
        if running is None or not running.on_device:
            running = self._scheduler.choose(self.applications, self.now_ns)
            if running is None:
                return False
        try:
            if not running.on_device:
                self._enter(running)
            elif not self._scheduler.contender(running, self.applications, self.now_ns):
                self._go_on(running)
            host = running.host
            assert host is not None
            host.heeded = running.first_end
            reached = partial(host.reached, running.next_end)
            self._driven.run_until(reached if pauses is None else lambda: reached() or pauses())
        except EmuError as error:
            self._running = None
            running.abort(error)
            return True
        running.collect()
        return True

    def _enter(self, application: Application) -> None:
        """Give an application its turn on the idle device."""
        contended = self._scheduler.contender(application, self.applications, self.now_ns)
        count, batch = application.portion(application.scheduling.burst if contended else None)
        if self._running is not application:
            self._leave(reset=self._driven.failed)
            self._running = application
        application.send(count, batch)

    def _go_on(self, application: Application) -> None:
        """Frames that came in meanwhile follow those under way, where their hardware batch is the same."""
        count, batch = application.portion()
        if count and batch == application.hardware_batch:
            application.send(count, batch)

    def _leave(self, always: bool = False, reset: bool = True) -> None:
        """Nobody runs any more; without `reset` another application takes over at once."""
        driver = self._driven
        if self._running is not None:
            if not driver.failed:
                driver.settle()
            self._running.left()
        if always or (reset and (self._running is not None or driver.failed)):
            driver.send(change_context_switch_status(ContextSwitchStatus.RESET))
            driver.failed = False
        self._running = None

    def deactivate(self) -> None:
        """RESET: nobody runs any more, all stay configured."""
        self._leave(always=True)

    def settle(self) -> None:
        """Let what runs come to where only the host can act: what its lists do behind the last output can fail too."""
        if self._running is not None:
            self._driven.settle()

    # -- the chip

    def send(self, message: bytes) -> Response:
        """Send one control message; FirmwareError with the status of a reply that refuses it."""
        return self._driven.send(message)

    @property
    def _driven(self) -> Driver:
        if self._driver is None:
            raise UsageError(NOTHING_YET)
        return self._driver

    def _power_on(self, program: Program) -> Driver:
        clusters = self._clusters
        if clusters is None:
            clusters, _ = usable_clusters(program, self.profile, self._layout)
        faults = None
        if self._faults:
            from emu.hw.faults import Faults

            faults = Faults(self._faults)
        chip = Device(
            self.profile,
            self.runtime,
            layout=clusters,
            seed=self.seed,
            faults=faults,
            flows=self._flow,
            own_handlers=self._handlers,
        )
        chip.probe.one_by_one |= not self._may_jump  # faults want every frame played, too
        if self._tracer_for is not None:
            chip.trace_with(self._tracer_for(lambda: chip.clock.time))
        if self._on_chip is not None:
            self._on_chip(chip)
        self._chip = chip
        self._driver = Driver(port_of(chip), chip.inspection)
        return self._driver

    def _flow(self, index: int, context: int) -> Flow | None:
        application = self._by_index.get(index)
        flows = application.timing.flows if application is not None else ()
        return flows[context] if context < len(flows) else None

    def _unmap(self, slot: int) -> None:
        program, _ = self._slots.pop(slot)
        self._driven.chip.unmap_memory(program)

    def _check_open(self) -> None:
        if self._closed:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the device was closed")


def _user_frames(hef: Hef, group: str, runtime: str, settings: HostSettings) -> UserFrames:
    # frame conversion is loaded by the first who has user frames
    from emu.host.vstreams import UserFrames

    return UserFrames.of_hef(hef, group, runtime, settings)


def open_device(
    device: str = "hailo8",
    runtime: str | None = None,
    link: str | None = None,
    layout: int | None = None,
    clock_mhz: float | None = None,
    seed: int = 0,
    *,
    faults: Sequence[str | Fault] = (),
    host: Mapping[str, str] | HostSettings | None = None,
    host_profile: str | None = None,
    **watching: Any,
) -> OpenDevice:
    """Open a simulated device; a context manager.

    `device` and `link` as in the command line (docs/reference/cli.md), `runtime` None: 4.23 for the Hailo-8 family, 5.2
    for the others; `layout`: bitmap of the usable clusters, `clock_mhz`: NN clock in MHz. `faults` as `--inject` takes
    them, `host` as `--host`, `host_profile` as `--host-profile`. `watching`: `tracer_for`, `on_chip`, `may_jump`,
    `handlers` of `OpenDevice`. UsageError for anything that does not exist.
    """
    profile = chips.load(device, clock_mhz, link, host_profile)
    if runtime is None:
        runtime = default_runtime(min(device_profile(device).architectures)).name
    settings = host if isinstance(host, HostSettings) or host is None else HostSettings.parse(host)
    return OpenDevice(
        profile,
        release_name(runtime),
        layout=layout,
        seed=seed,
        faults=_parsed(faults),
        host=settings,
        **watching,
    )


def _parsed(faults: Sequence[str | Fault]) -> Sequence[Fault]:
    if not faults:
        return ()
    from emu.hw.faults import Fault

    return [Fault.parse(fault) if isinstance(fault, str) else fault for fault in faults]
