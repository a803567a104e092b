"""`estimate`: what FPS and latency a HEF will have, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emu.chips import chips
from emu.errors import UsageError
from emu.hef import Hef
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.timing.assumptions import Assumption, Entries, Sensitivity, rests_on, sensitivities
from emu.timing.demand import GroupDemand
from emu.timing.model import NS, Bound, Flow
from emu.timing.programs import ProgramStarts
from emu.timing.schedule import GroupSchedule, Schedule
from emu.timing.workload import assumed_clock_hz, group_timing
from emu.wire.control import MAX_BATCH_SIZE

NS_PER_MS = 1e6
LIMIT_SHARE = 0.9


class ContextEstimate(Struct, frozen=True):
    """Where the time of one run of a context (one batch) goes; the five add up to it."""

    index: int
    config_ms: float
    compute_ms: float
    dma_ms: float
    switch_ms: float
    unexplained_ms: float


class BatchEstimate(Struct, frozen=True):
    """Figures for one batch size; the activation is in none of the others.

    `fps` is the steady, pipelined throughput, `sync_fps` that of calls which hand over a batch and wait for its
    results; both are 0 where the model finds nothing that takes time. `batch_wait_ms` is the part of
    `first_frame_latency_ms` in which the frame only waits for the others of its batch.
    """

    batch: int
    fps: float
    sync_fps: float
    first_frame_latency_ms: float
    batch_wait_ms: float
    activation_ms: float
    deactivation_ms: float
    bound_by: Bound
    contexts: tuple[ContextEstimate, ...]


class Compiled(Struct, frozen=True):
    """A HEF's network group compiled for one batch: the part of an estimate that no link, clock or host changes."""

    runtime: str
    device: str
    batch: int
    demand: GroupDemand


class Conditions(Struct, frozen=True):
    """Under which a compiled group is estimated; None: what the device has by default.

    `host` is the name of a host profile, `costs` the path of measured action costs.
    `compute_time_ns` is a measured time from the last input byte to the outputs, in place of the HEF's own figures.
    """

    clock_mhz: float | None = None
    link: str | None = None
    compute_time_ns: float | None = None
    host: str | None = None
    costs: str | None = None

    def entries(self, device: str) -> Entries:
        """The numbers of the device under these conditions."""
        return chips.quantities(device, self.host, self.costs)

    def profile(self, device: str) -> chips.Profile:
        """The device under these conditions; UsageError for a clock, link or host that does not exist."""
        return chips.load(device, self.clock_mhz, self.link, self.host, self.costs)


class Estimate(Struct, frozen=True, dict=True):
    """An estimate of one network group of a HEF on one device.

    `batch_for_90_percent`: the smallest batch that reaches 90 % of what ever larger ones would; None: the runtime
    allows none so large.
    """

    model: str
    network_group: str
    runtime: str
    device: str
    link: str
    host: str
    clock_hz: float
    assumed_clock_hz: float
    single_context: bool
    batch_for_90_percent: int | None
    batches: tuple[BatchEstimate, ...]
    compiled: tuple[Compiled, ...]
    conditions: Conditions

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Every number that the figures rest on, and no other; the compute time of the network first."""
        return tuple(_assumptions(self))

    @cached_property
    def guesses(self) -> list[Sensitivity]:
        """What the FPS hang on that nobody knows, what matters most at the first batch size first."""
        entries = self.conditions.entries(self.device)
        return sensitivities(entries, lambda altered: _rates(self.compiled, self.conditions, altered))

    @cached_property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """(low, high) FPS of each batch size: what any one of the guesses makes of it, half or twice as large."""
        spans = [[(figures.fps, figures.fps) for figures in self.batches], *(guess.spans for guess in self.guesses)]
        return tuple(
            (min(low for low, _ in of_batch), max(high for _, high in of_batch))
            for of_batch in zip(*spans, strict=True)
        )

    def schedule(self, position: int, at_most: float = inf) -> GroupSchedule:
        """The model behind the figures of a batch size, by its position; `at_most`: bytes a second of a slower way."""
        profile = self.conditions.profile(self.device)
        if at_most < profile.link.bytes_per_second:
            profile = replace(profile, link=replace(profile.link, bytes_per_second=at_most))
        return _model(self.compiled[position], profile, self.conditions)

    def document(self) -> dict[str, Any]:
        """The JSON form of cli.md."""
        return {
            "kind": "estimate",
            "model": {"file": self.model, "network_group": self.network_group},
            "device": self.device,
            "link": self.link,
            "host_profile": self.host,
            "batch_for_90_percent": self.batch_for_90_percent,
            "batches": self.batch_documents(),
            "assumptions": [
                {"name": entry.name, "value": entry.value, "unit": entry.unit, "source": entry.source}
                for entry in self.assumptions
            ],
        }

    def batch_documents(self) -> list[dict[str, Any]]:
        """What the JSON form says of each batch size."""
        return [
            {
                "batch": figures.batch,
                "fps": figures.fps,
                "fps_interval": list(interval),
                "sync_fps": figures.sync_fps,
                "first_frame_latency_ms": figures.first_frame_latency_ms,
                "batch_wait_ms": figures.batch_wait_ms,
                "activation_ms": figures.activation_ms,
                "deactivation_ms": figures.deactivation_ms,
                "bound_by": figures.bound_by,
                "contexts": [
                    {
                        "index": context.index,
                        "config_ms": context.config_ms,
                        "compute_ms": context.compute_ms,
                        "dma_ms": context.dma_ms,
                        "switch_ms": context.switch_ms,
                        "unexplained_ms": context.unexplained_ms,
                    }
                    for context in figures.contexts
                ],
            }
            for figures, interval in zip(self.batches, self.intervals, strict=True)
        ]


def compile_batch(hef: Hef, options: CompileOptions, batch: int, starts: ProgramStarts | None = None) -> Compiled:
    """The first network group that `options` select, for one batch size; raises what `compile_hef` raises."""
    program = compile_hef(hef, replace(options, batch=batch))
    if not program.network_groups:
        raise UsageError(f"{hef.name} has no network group to estimate")
    return Compiled(program.runtime, program.device, batch, GroupDemand(program, program.network_groups[0], starts))


def estimate_compiled(hef: Hef, compiled: Sequence[Compiled], conditions: Conditions) -> Estimate:
    """The estimate of a group compiled for several batch sizes; UsageError for a clock or link that does not exist."""
    if not compiled:
        raise UsageError("no batch size to estimate")
    last = compiled[-1]
    profile = conditions.profile(last.device)
    models = [_model(one, profile, conditions) for one in compiled]
    return Estimate(
        model=hef.name,
        network_group=last.demand.name,
        runtime=last.runtime,
        device=last.device,
        link=profile.link.name,
        host=profile.host,
        clock_hz=profile.nn_hz,
        assumed_clock_hz=assumed_clock_hz(hef, profile),
        single_context=last.demand.single_context,
        batch_for_90_percent=models[-1].batch_for_share(LIMIT_SHARE, MAX_BATCH_SIZE),
        batches=tuple(figures_of(model, one.batch) for model, one in zip(models, compiled, strict=True)),
        compiled=tuple(compiled),
        conditions=conditions,
    )


def figures_of(model: GroupSchedule, batch: int) -> BatchEstimate:
    """All figures for one batch size."""
    sync = model.sync_period_ns(batch)
    runs = enumerate(model.runs(batch))
    return BatchEstimate(
        batch=batch,
        fps=rate(model, batch),
        sync_fps=batch / sync * NS if sync else 0.0,
        first_frame_latency_ms=model.latency_ns(batch) / NS_PER_MS,
        batch_wait_ms=model.batch_wait_ns(batch) / NS_PER_MS,
        activation_ms=model.activation_ns(batch) / NS_PER_MS,
        deactivation_ms=model.deactivation_ns() / NS_PER_MS,
        bound_by=model.bound_by(batch),
        contexts=tuple(_context(model, index, run, batch) for index, run in runs),
    )


def _model(one: Compiled, profile: chips.Profile, conditions: Conditions) -> GroupSchedule:
    return GroupSchedule(profile, one.demand, group_timing(one.demand, profile, conditions.compute_time_ns))


def _figures(compiled: Sequence[Compiled], conditions: Conditions, entries: Entries) -> Iterator[BatchEstimate]:
    """The figures on a device with other numbers."""
    profile = chips.profile_of(compiled[0].device, entries, conditions.clock_mhz, conditions.link)
    return (figures_of(_model(one, profile, conditions), one.batch) for one in compiled)


def _rates(compiled: Sequence[Compiled], conditions: Conditions, entries: Entries) -> list[float]:
    """The FPS at each batch size on a device with other numbers."""
    profile = chips.profile_of(compiled[0].device, entries, conditions.clock_mhz, conditions.link)
    return [rate(_model(one, profile, conditions), one.batch) for one in compiled]


def rate(model: GroupSchedule, batch: int) -> float:
    """Frames a second in steady state; 0 where nothing takes time."""
    period = model.period_ns(batch)
    return batch / period * NS if period else 0.0


def _assumptions(result: Estimate) -> list[Assumption]:
    conditions, last = result.conditions, result.compiled[-1]
    profile = conditions.profile(result.device)
    timing = group_timing(last.demand, profile, conditions.compute_time_ns)
    compute = timing.compute
    found = [
        Assumption("compute.interval_ns", compute.interval_ns, "ns", compute.source),
        Assumption("compute.latency_ns", compute.intake_ns + compute.after_ns, "ns", compute.source),
    ]
    if not result.single_context:
        shares = [
            flow.compute.interval_ns / compute.interval_ns if compute.interval_ns else 0.0 for flow in timing.flows
        ]
        source = "guessed: compute time divided among contexts by their configuration bytes, the HEF states the sum"
        found.append(Assumption("compute.share", shares, "ratio", source))

    entries = conditions.entries(result.device)
    for name in rests_on(entries, lambda altered: _figures(result.compiled, conditions, altered)):
        value, unit, source, basis = entries[name]
        found.append(Assumption(name, value, unit, f"{basis}: {source}"))
    if conditions.clock_mhz is not None:
        found.append(Assumption("clock", profile.nn_hz, "Hz", "given with --clock-mhz"))
    if profile.guessed:
        found.append(Assumption("device", profile.device, "device", "guessed: no public figures of this chip exist"))
    return found


def _context(model: GroupSchedule, index: int, run: Schedule, batch: int) -> ContextEstimate:
    flow = model.timing.flows[index]
    if model.single_context:
        whole, compute = batch * flow.interval_ns, batch * flow.compute.interval_ns
        return ContextEstimate(index, 0.0, compute / NS_PER_MS, (whole - compute) / NS_PER_MS, 0.0, 0.0)
    compute = _compute_ns(flow, batch)
    dma = flow.output_done_ns(batch - 1) - compute
    switch = run.total_ns - run.config_ns - compute - dma
    return ContextEstimate(
        index,
        run.config_ns / NS_PER_MS,
        compute / NS_PER_MS,
        dma / NS_PER_MS,
        switch / NS_PER_MS,
        model.profile.context_switch_ns / NS_PER_MS,
    )


def _compute_ns(flow: Flow, batch: int) -> float:
    """The core's own time for a batch: one frame in full, the others at its interval."""
    compute = flow.compute
    return compute.intake_ns + compute.after_ns + (batch - 1) * compute.interval_ns
