"""What `emu run` says about a run of HEFs: the JSON document and the text (cli.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu.hw.coverage import Coverage
from emu.hw.memory import AddressSpace
from emu.hw.session import GroupResult, RunRequest, RunResult
from emu.sequencer.program import Direction, Program

SYNTHETIC = "synthetic"


@dataclass(slots=True)
class Outcome:
    """A finished run. `sources` names where each input vstream came from, `supplied` streams given with
    --device-output, `kept` the outputs that were written, `model_of_group` the model behind each group."""

    name: str
    program: Program
    request: RunRequest
    result: RunResult
    wall_s: float
    models: list[dict[str, Any]] = field(default_factory=list)
    model_of_group: list[int] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    supplied: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)

    def data(self, name: str, direction: Direction) -> str:
        """Where the bytes of a stream come from."""
        if direction is Direction.D2H:
            return "given with --device-output" if name in self.supplied else SYNTHETIC
        return self.sources.get(name, f"random (seed {self.request.seed})")

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
        "inputs": [{"name": name, "source": source} for name, source in outcome.sources.items()],
        "network_groups": groups,
        "events": result.events,
    }
    if result.switches:
        found["switches"] = [
            {"from": switch.leaving, "to": switch.entering, "simulated_ns": switch.ns} for switch in result.switches
        ]
    if coverage and result.device is not None:
        found["coverage"] = Coverage.of(result.device).document()
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
            "regions": [
                {"name": use.region.name, "base": use.region.base, "bytes_written": use.bytes_written}
                for use in group.regions
            ],
        },
    }


def text(outcome: Outcome, timing: bool, coverage: bool) -> Iterator[str]:
    """The summary for a person."""
    program, result = outcome.program, outcome.result
    yield (
        f"{outcome.name} on {program.device}, runtime {program.runtime}, batch {program.batch}, "
        f"{_count(outcome.request.frames, 'frame')}\n"
    )
    for group in result.groups:
        yield from _group_text(outcome, group)
    yield from _switches_text(result)
    if outcome.kept:
        yield "\n"
    for line in outcome.kept:
        yield f"{line}\n"
    yield f"\n{result.events:,} discrete events\n"
    if coverage and result.device is not None:
        yield from Coverage.of(result.device).text()
    if timing:
        yield f"{outcome.wall_s:.3f} s of wall-clock time, real-time factor {outcome.real_time_factor:.2f}\n"


def _group_text(outcome: Outcome, group: GroupResult) -> Iterator[str]:
    yield f"\nnetwork group {group.name}\n"
    yield f"  {'context':<18}{'runs':>7}{'actions':>9}{'time ms':>13}{'config bytes':>15}{'data bytes':>15}\n"
    for context in group.contexts:
        label = context.context_type + (f" {context.index}" if context.context_type == "dynamic" else "")
        yield (
            f"  {label:<18} {context.runs:>6} {sum(context.actions.values()):>8}"
            f" {context.simulated_ns / 1e6:>12.3f} {context.config_bytes:>14,} {context.data_bytes:>14,}\n"
        )
    yield (
        f"  {group.fps:,.2f} FPS, latency {group.latency_ns / 1e6:.3f} ms, activated in "
        f"{group.activation_ns / 1e6:.3f} ms, {group.simulated_ns / 1e6:.3f} ms in all (simulated)\n"
    )
    for stream in group.streams:
        word = "input " if stream.direction is Direction.H2D else "output"
        data = outcome.data(stream.name, stream.direction)
        yield f"  {word} {stream.name}: {_count(stream.frames, 'frame')}, {stream.size:,} bytes, {data}\n"
    opaque = ""
    if group.opaque_bytes:
        opaque = f", {group.opaque_bytes:,} of them opaque: their content is unknown, they wrote no register"
    yield f"  memory: {group.register_writes:,} register writes, {group.ccw_bytes:,} bytes of CCW{opaque}\n"


def _switches_text(result: RunResult) -> Iterator[str]:
    if not result.switches:
        return
    yield f"\n{_count(len(result.switches), 'application change')}\n"
    pairs: dict[tuple[str, str], list[int]] = {}
    for switch in result.switches:
        pairs.setdefault((switch.leaving, switch.entering), []).append(switch.ns)
    for (leaving, entering), times in pairs.items():
        yield f"  {leaving} -> {entering}: {len(times)} x {sum(times) / len(times) / 1e6:.3f} ms\n"


def write_dump(memory: AddressSpace, path: Path) -> None:
    """The chip's memory as JSON: regions, then every written address with its bytes (`--dump-memory`)."""
    import orjson

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
            {"address": address, "region": memory.region_of(address).name, "data": data.hex()}
            for address, data in memory.snapshot().items()
        ],
        "read_before_write": memory.read_before_write,
    }
    path.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
