"""What `emu run` says about a run of HEFs: the JSON document and the text (cli.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from emu.host.computing import ComputedOutputs, GroupComputing
from emu.host.session import GroupResult, RunRequest, RunResult
from emu.hw.device import Device
from emu.output import Output
from emu.reference import SOURCE
from emu.sequencer.program import Direction, Program

if TYPE_CHECKING:
    from emu.cli.results import Output as ShownOutput

SYNTHETIC = "synthetic"
_BASIS = {
    "steady": "",
    "one_batch": " within the one batch",
    "one_frame": " of the one frame, waited for",
    "one_round": " of one round of the contexts",
    "turns": " in its turns, activations included",
}


class Outcome(Struct):
    """A finished run.

    `stream_sources` names where each input stream's frames came from, `supplied` the streams given with
    --device-output, `referenced` those that a reference model computed, `computing` what the core computes of each
    group, `kept` the outputs that were written, `model_of_group` the model behind each group; `inputs` are the
    documents of the input vstreams.
    """

    name: str
    program: Program
    request: RunRequest
    result: RunResult
    wall_s: float
    models: list[dict[str, Any]] = field(default_factory=list)
    model_of_group: list[int] = field(default_factory=list)
    stream_sources: dict[str, str] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    supplied: set[str] = field(default_factory=set)
    referenced: set[str] = field(default_factory=set)
    outputs: list[ShownOutput] = field(default_factory=list)
    described: list[dict[str, Any]] = field(default_factory=list)  # outputs of which no frame was asked for
    kept: list[str] = field(default_factory=list)
    computing: list[GroupComputing] = field(default_factory=list)
    could_compute: bool = False  # nobody asked for it, of a chip whose networks are read

    def data(self, name: str, direction: Direction) -> str:
        """Where the bytes of a stream come from."""
        if direction is Direction.D2H:
            if name in self.supplied:
                return "given with --device-output"
            if name in ComputedOutputs(self.computing).streams:
                from emu.dataflow.frames import COMPUTED

                return COMPUTED
            return SOURCE if name in self.referenced else SYNTHETIC
        return self.stream_sources.get(name, f"random (seed {self.request.seed})")

    @property
    def real_time_factor(self) -> float:
        """Simulated time over wall-clock time."""
        simulated = sum(group.simulated_ns for group in self.result.groups) / 1e9
        return simulated / self.wall_s if self.wall_s else 0.0


def document(outcome: Outcome, timing: bool, coverage: bool) -> dict[str, Any]:
    """The JSON document; wall-clock figures only with `--timing`."""
    program, result = outcome.program, outcome.result
    several = len(outcome.models) > 1
    groups = []
    for position, group in enumerate(result.groups):
        described = _group_document(outcome, group)
        computed = outcome.computing[position].document() if outcome.computing else None
        if computed is not None:
            described["computed"] = computed
        if several:
            described["model_index"] = outcome.model_of_group[position]
        groups.append(described)
    found: dict[str, Any] = {
        "model": outcome.models if several else outcome.models[0],
        "runtime": program.runtime,
        "device": program.device,
        "batch": program.batch,
        "frames": outcome.request.frames,
        "seed": outcome.request.seed,
        "inputs": outcome.inputs,
        "outputs": [*(output.document() for output in outcome.outputs), *outcome.described],
        "network_groups": groups,
        **({"wall_ns": result.wall_ns} if len(groups) > 1 else {}),
        "events": result.events,
    }
    if result.switches:
        found["switches"] = [
            {"from": switch.leaving, "to": switch.entering, "simulated_ns": switch.ns} for switch in result.switches
        ]
    if coverage and result.device is not None:
        from emu.host.coverage import Coverage

        found["coverage"] = Coverage.of(result.device.inspection).document()
    if timing:
        found["wall_s"] = outcome.wall_s
        found["real_time_factor"] = outcome.real_time_factor
    return found


def _group_document(outcome: Outcome, group: GroupResult) -> dict[str, Any]:
    return {
        "name": group.name,
        "simulated_ns": group.simulated_ns,
        "activation_ns": group.activation_ns,
        "fps": group.fps,
        "fps_basis": group.fps_basis,
        **({} if group.wall_fps is None else {"wall_fps": group.wall_fps}),
        "latency_ns": group.latency_ns,
        "contexts": [
            {
                "context_type": context.context_type,
                "index": context.index,
                "runs": context.runs,
                "simulated_ns": context.simulated_ns,
                "actions": context.actions,
                "config_bytes": context.config_bytes,
                "data_bytes": context.data_bytes,
            }
            for context in group.contexts
        ],
        "streams": [
            {
                "name": stream.name,
                "direction": stream.direction.name.lower(),
                "frames": stream.frames,
                "bytes": stream.size,
                "data": outcome.data(stream.name, stream.direction),
            }
            for stream in group.streams
        ],
        "memory": {
            "register_writes": group.register_writes,
            "ccw_bytes": group.ccw_bytes,
            "opaque_bytes": group.opaque_bytes,
            "regions": [use.document() for use in group.regions],
        },
        "hazards": [one.document() for one in group.hazards],
        "rules": list(group.rules),
    }


def text(outcome: Outcome, timing: bool, coverage: bool, rules: bool = False) -> Iterator[str]:
    """The summary for a person; `rules`: with the house rules that each group rested on."""
    program, result = outcome.program, outcome.result
    yield (
        f"{outcome.name} on {program.device}, runtime {program.runtime}, batch {program.batch}, "
        f"{_count(outcome.request.frames, 'frame')}"
    )
    for group in result.groups:
        yield from _group_text(outcome, group)
        if rules:
            yield from _rules_text(group)
    yield from _switches_text(result)
    for output in outcome.outputs:
        yield from output.text()
    if outcome.kept:
        yield ""
    yield from outcome.kept
    yield from ("", f"{result.events:,} discrete events")
    if coverage and result.device is not None:
        from emu.host.coverage import Coverage

        yield from Coverage.of(result.device.inspection).text()
    if timing:
        yield f"{outcome.wall_s:.3f} s of wall-clock time, real-time factor {outcome.real_time_factor:.2f}"


def _group_text(outcome: Outcome, group: GroupResult) -> Iterator[str]:
    yield from ("", f"network group {group.name}")
    yield f"  {'context':<18}{'runs':>7}{'actions':>9}{'time ms':>13}{'config bytes':>15}{'data bytes':>15}"
    for context in group.contexts:
        label = context.context_type + (f" {context.index}" if context.context_type == "dynamic" else "")
        yield (
            f"  {label:<18} {context.runs:>6} {sum(context.actions.values()):>8}"
            f" {context.simulated_ns / 1e6:>12.3f} {context.config_bytes:>14,} {context.data_bytes:>14,}"
        )
    yield (
        f"  {group.fps:,.2f} FPS{_BASIS[group.fps_basis]}, latency {group.latency_ns / 1e6:.3f} ms, activated in "
        f"{group.activation_ns / 1e6:.3f} ms, {group.simulated_ns / 1e6:.3f} ms in all (simulated)"
    )
    if group.wall_fps is not None:
        yield f"  {group.wall_fps:,.2f} FPS over the {outcome.result.wall_ns / 1e6:.3f} ms of the whole run"
    for stream in group.streams:
        word = "input " if stream.direction is Direction.H2D else "output"
        data = outcome.data(stream.name, stream.direction)
        yield f"  {word} {stream.name}: {_count(stream.frames, 'frame')}, {stream.size:,} bytes, {data}"
    if outcome.could_compute and group.well_formed and not outcome.supplied:
        yield "  synthetic outputs: --compute computes the network's own from the HEF, so do --outputs and --output-dir"
    opaque = ""
    if group.opaque_bytes:
        opaque = f", {group.opaque_bytes:,} of them opaque: their content is unknown, they wrote no register"
    yield f"  memory: {group.register_writes:,} register writes, {group.ccw_bytes:,} bytes of CCW{opaque}"
    for one in group.hazards:
        yield f"  hazard: {one.line()}"


def _rules_text(group: GroupResult) -> Iterator[str]:
    from emu.hw.house_rules import HOUSE_RULES

    yield "  house rules (docs/reference):\n"
    for name in group.rules:
        yield f"    {name:<24} {HOUSE_RULES[name][0]}\n"


def _switches_text(result: RunResult) -> Iterator[str]:
    if not result.switches:
        return
    yield from ("", _count(len(result.switches), "application change"))
    pairs: dict[tuple[str, str], list[int]] = {}
    for switch in result.switches:
        pairs.setdefault((switch.leaving, switch.entering), []).append(switch.ns)
    for (leaving, entering), times in pairs.items():
        yield f"  {leaving} -> {entering}: {len(times)} x {sum(times) / len(times) / 1e6:.3f} ms"


def write_dump(device: Device, output: Output) -> None:
    """The chip's memory as JSON: regions, then every written address with its name and bytes (`--dump-memory`)."""
    import orjson

    from emu.hw.config.addresses import MAPS
    from emu.hw.config.runs import FAMILIES

    memory, chip = device.memory, MAPS[FAMILIES[device.profile.config_style]]
    found = {
        "regions": [
            {
                "name": use.region.name,
                "base": use.region.base,
                "size": use.region.size,
                "bytes_written": use.bytes_written,
                "writes": use.writes,
            }
            for use in memory.use
            if use.writes
        ],
        "content": [
            {
                "address": address,
                "region": memory.region_of(address).name,
                "place": chip.name(address),
                "data": data.hex(),
            }
            for address, data in memory.snapshot().items()
        ],
        "read_before_write": memory.read_before_write,
    }
    with output:
        output.stream.write(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
