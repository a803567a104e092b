"""Save a run at a context boundary and resume it.

The device is deterministic, so a checkpoint is the place and a fingerprint of the state there; resuming executes the
same program silently up to that place, checks the fingerprint, and traces from there on: record for record what the
uninterrupted run traces from the beginning of that context.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson
import xxhash

from emu.errors import HailoError, HailoStatus, UsageError
from emu.hw.device import Device
from emu.hw.profiles import Profile
from emu.hw.session import RunRequest, RunResult, run_program
from emu.sequencer.program import Program
from emu.trace.events import Event, Kind, Tracer

FORMAT = "emu-checkpoint"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Before the list of `context` begins for the `occurrence`th time (from 0), at `ns`."""

    context: str
    occurrence: int
    ns: int
    fingerprint: int

    def encode(self) -> bytes:
        """As a JSON document."""
        return orjson.dumps({"format": FORMAT, "version": VERSION, **asdict(self)})

    @classmethod
    def decode(cls, data: bytes) -> Checkpoint:
        """From `encode`; HAILO_INVALID_ARGUMENT for anything else."""
        try:
            found = orjson.loads(data)
            if found.pop("format") != FORMAT or found.pop("version") != VERSION:
                raise ValueError("another format or version")
            return cls(**found)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"not a checkpoint: {error}") from None


class _Reached(Exception):  # noqa: N818 - control flow, not an error
    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint)
        self.checkpoint = checkpoint


def save(program: Program, profile: Profile, request: RunRequest, context: str, occurrence: int) -> Checkpoint:
    """Run up to the `occurrence`th beginning of `context`; UsageError if the run ends before."""

    def prepare(device: Device) -> None:
        seen: Counter[str] = Counter()

        def boundary(name: str) -> None:
            if name == context and seen[name] == occurrence:
                raise _Reached(Checkpoint(context, occurrence, device.firmware.now, _fingerprint(device)))
            seen[name] += 1

        device.at_context = boundary

    try:
        run_program(program, profile, replace(request, on_device=prepare, tracer_for=None, may_jump=False))
    except _Reached as reached:
        return reached.checkpoint
    raise UsageError(f"the run never begins {context} for the {occurrence + 1}th time")


def resume(program: Program, profile: Profile, request: RunRequest, checkpoint: Checkpoint) -> RunResult:
    """Go on from a checkpoint; the trace has what the uninterrupted run's has from there on.

    HAILO_INVALID_ARGUMENT if the program, the request or the profile is not the one that was saved.
    """

    def prepare(device: Device) -> None:
        seen: Counter[str] = Counter()

        def boundary(name: str) -> None:
            is_here = name == checkpoint.context and seen[name] == checkpoint.occurrence
            if is_here and (device.firmware.now, _fingerprint(device)) != (checkpoint.ns, checkpoint.fingerprint):
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    "the checkpoint was saved from another run: the state at its place differs",
                    context=name,
                )
            seen[name] += 1

        device.at_context = boundary

    def tracer_for(clock: Callable[[], int]) -> Tracer:
        assert request.tracer_for is not None
        tracer, begun = request.tracer_for(clock), itertools.count()

        def begins(event: Event) -> bool:
            is_here = event.kind is Kind.CONTEXT_BEGIN and event.context == checkpoint.context
            return is_here and next(begun) == checkpoint.occurrence

        tracer.begin_at(begins)
        return tracer

    traced = tracer_for if request.tracer_for is not None else None
    return run_program(program, profile, replace(request, on_device=prepare, tracer_for=traced, may_jump=False))


def _fingerprint(device: Device) -> int:
    """Hash of everything that the rest of the run depends on."""
    state: Any = (
        device.firmware.now,
        device.clock.time,
        device.firmware.batch,
        device.firmware.batch_index,
        device.firmware.frames_done,
        device.memory.content_hash,
        device.memory.register_writes,
        [
            (packed, one.available, one.claimed, one.processed, one.paused, one.dummy, one.mapped_stream)
            for packed, one in sorted(device.vdma.channels.items())
        ],
        [edge.describe() for edge in device.core.edges.values()],
        sorted(device.burst.jobs),
        sorted(device.ddr.pairs),
    )
    return xxhash.xxh3_64_intdigest(repr(state).encode())
