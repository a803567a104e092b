"""`estimate`: what FPS and latency a HEF will have, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from emu.errors import UsageError
from emu.estimate.assumptions import Assumption, assumptions
from emu.hef import Hef
from emu.hw import profiles
from emu.hw.schedule import GroupSchedule, Schedule
from emu.hw.timing import Bound, Flow
from emu.hw.workload import assumed_clock_hz, group_timings
from emu.sequencer.compile import CompileOptions, compile_hef

NS_PER_MS = 1e6
STATUS_REQUEST_BYTES = 42  # CHANGE_CONTEXT_SWITCH_STATUS, silicon-facts.md b
LIMIT_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class ContextEstimate:
    """Where the time of one run of a context (one batch) goes; the five add up to it."""

    index: int
    config_ms: float
    compute_ms: float
    dma_ms: float
    switch_ms: float
    unexplained_ms: float


@dataclass(frozen=True, slots=True)
class BatchEstimate:
    """Figures for one batch size. `fps` is the steady, pipelined throughput; activation is in neither of the others.

    `fps` is 0 where the model finds nothing that takes time.
    """

    batch: int
    fps: float
    first_frame_latency_ms: float
    activation_ms: float
    deactivation_ms: float
    bound_by: Bound
    contexts: tuple[ContextEstimate, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of one network group of a HEF on one device."""

    model: str
    network_group: str
    runtime: str
    device: str
    link: str
    clock_hz: float
    assumed_clock_hz: float
    single_context: bool
    batch_for_90_percent: int
    batches: tuple[BatchEstimate, ...]
    assumptions: tuple[Assumption, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form of cli.md."""
        return {
            "kind": "estimate",
            "model": {"file": self.model, "network_group": self.network_group},
            "device": self.device,
            "link": self.link,
            "batch_for_90_percent": self.batch_for_90_percent,
            "batches": [
                {
                    "batch": figures.batch,
                    "fps": figures.fps,
                    "first_frame_latency_ms": figures.first_frame_latency_ms,
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
                for figures in self.batches
            ],
            "assumptions": [
                {"name": entry.name, "value": entry.value, "unit": entry.unit, "source": entry.source}
                for entry in self.assumptions
            ],
        }


def estimate(
    hef: Hef,
    options: CompileOptions | None = None,
    batches: Sequence[int] = (1,),
    *,
    clock_mhz: float | None = None,
    link: str | None = None,
    compute_time_ns: float | None = None,
) -> Estimate:
    """Estimate the first network group that `options` select, at each batch size.

    `options.batch` is ignored; `compute_time_ns` is a measured time from the last input byte to the outputs, in place
    of the HEF's own figures. Raises what `compile_hef` raises, UsageError for a clock or link that does not exist.
    """
    if not batches:
        raise UsageError("no batch size to estimate")
    options = options or CompileOptions()
    figures: list[BatchEstimate] = []
    for batch in batches:
        chosen = replace(options, batch=batch)
        program = compile_hef(hef, chosen)
        if not program.network_groups:
            raise UsageError(f"{hef.name} has no network group to estimate")
        profile = profiles.load(program.device, clock_mhz, link)
        group = program.network_groups[0]
        timing = group_timings(hef, program, chosen, profile, compute_time_ns)[0]
        model = GroupModel(profile, program, group, timing)
        figures.append(model.batch(batch))
    assumed = assumed_clock_hz(hef, profile)
    return Estimate(
        model=hef.name,
        network_group=group.name,
        runtime=program.runtime,
        device=program.device,
        link=profile.link.name,
        clock_hz=profile.nn_hz,
        assumed_clock_hz=assumed,
        single_context=model.single_context,
        batch_for_90_percent=model.batch_for_share(LIMIT_SHARE),
        batches=tuple(figures),
        assumptions=assumptions(profile, timing, model.single_context, assumed),
    )


class GroupModel(GroupSchedule):
    """A compiled network group with its timing: the figures for any batch size."""

    def batch(self, batch: int) -> BatchEstimate:
        """All figures for one batch size."""
        period = self.period_ns(batch)
        contexts = tuple(self._context(index, run, batch) for index, run in enumerate(self.runs(batch)))
        return BatchEstimate(
            batch=batch,
            fps=batch / period * 1e9 if period else 0.0,
            first_frame_latency_ms=self.latency_ns(batch) / NS_PER_MS,
            activation_ms=self._activation_ns(batch) / NS_PER_MS,
            deactivation_ms=(self._status_message_ns() + self.profile.deactivate_ns) / NS_PER_MS,
            bound_by=self._bound_by(contexts, batch, period),
            contexts=contexts,
        )

    def batch_for_share(self, share: float) -> int:
        """The smallest batch whose throughput is `share` of the limit for ever larger batches."""
        if self.single_context:
            return 1
        fixed, interval = self.line()
        limit = max(interval, self.timing.host_ns)
        # batch / (fixed + batch * interval) >= share / limit
        slack = limit / share - interval
        return max(1, -int(-fixed // slack)) if slack > 0 else 1

    def _status_message_ns(self) -> float:
        return self.profile.control_cost("CHANGE_CONTEXT_SWITCH_STATUS", STATUS_REQUEST_BYTES)

    def _activation_ns(self, batch: int) -> float:
        """ENABLE until the network waits for input: its message, the activation and the preliminary list.

        Where the preliminary list grants no input, context 0 has to be entered first.
        """
        opened = self.run(self.activation, None, batch).ready_ns
        preliminary = self.run(self.preliminary, self.timing.flows[0], batch)
        loaded = preliminary.ready_ns
        if preliminary.flow_start_ns is None:
            loaded += self.switches_ns() / len(self.dynamic) + self.runs(batch)[0].ready_ns
        return self._status_message_ns() + self.profile.enable_ns + opened + loaded

    def _context(self, index: int, run: Schedule, batch: int) -> ContextEstimate:
        flow = self.timing.flows[index]
        if self.single_context:
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
            self.profile.context_switch_ns / NS_PER_MS,
        )

    def _bound_by(self, contexts: Sequence[ContextEstimate], batch: int, period: float) -> Bound:
        flows = self.timing.flows
        if self.single_context:
            return flows[0].bound_by
        if period <= batch * self.timing.host_ns:
            return "host link"
        parts: list[tuple[float, Bound]] = [
            (sum(context.compute_ms for context in contexts), "compute"),
            (sum(context.config_ms + context.switch_ms + context.unexplained_ms for context in contexts), "config"),
        ]
        slowest = max(range(len(flows)), key=lambda index: contexts[index].dma_ms)
        if flows[slowest].bound_by != "compute":
            parts.append((sum(context.dma_ms for context in contexts), flows[slowest].bound_by))
        return max(parts, key=lambda part: part[0])[1]


def _compute_ns(flow: Flow, batch: int) -> float:
    """The core's own time for a batch: one frame in full, the others at its interval."""
    compute = flow.compute
    return compute.intake_ns + compute.after_ns + (batch - 1) * compute.interval_ns
