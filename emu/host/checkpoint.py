"""Save a run at a context boundary and resume it.

The device is deterministic, so a checkpoint is the place and a fingerprint of the state there; resuming executes the
same program silently up to that place, checks the fingerprint, and traces from there on: record for record what the
uninterrupted run traces from the beginning of that context.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import orjson
import xxhash
from msgspec import Struct
from msgspec.structs import asdict, replace

from emu.chips.chips import Profile
from emu.errors import HailoError, HailoStatus, UsageError
from emu.host.session import RunRequest, RunResult, run_program
from emu.hw.inspection import Inspected, Inspection
from emu.sequencer.program import Program
from emu.trace.events import Event, Kind, Tracer

FORMAT = "emu-checkpoint"
VERSION = 2  # 1 hashed fewer units


class Checkpoint(Struct, frozen=True):
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

    def prepare(device: Inspected) -> None:
        seen, chip = Counter[str](), device.inspection

        def boundary(name: str) -> None:
            if name == context and seen[name] == occurrence:
                raise _Reached(Checkpoint(context, occurrence, chip.now, _fingerprint(chip)))
            seen[name] += 1

        chip.probe.context_hooks.append(boundary)

    try:
        run_program(program, profile, replace(request, on_device=prepare, tracer_for=None, may_jump=False))
    except _Reached as reached:
        return reached.checkpoint
    raise UsageError(f"the run never begins {context} for the {occurrence + 1}th time")


def resume(program: Program, profile: Profile, request: RunRequest, checkpoint: Checkpoint) -> RunResult:
    """Go on from a checkpoint; the trace has what the uninterrupted run's has from there on.

    HAILO_INVALID_ARGUMENT if the program, the request or the profile is not the one that was saved.
    """

    def prepare(device: Inspected) -> None:
        seen, chip = Counter[str](), device.inspection

        def boundary(name: str) -> None:
            is_here = name == checkpoint.context and seen[name] == checkpoint.occurrence
            if is_here and (chip.now, _fingerprint(chip)) != (checkpoint.ns, checkpoint.fingerprint):
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    "the checkpoint was saved from another run: the state at its place differs",
                    context=name,
                )
            seen[name] += 1

        chip.probe.context_hooks.append(boundary)

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


def _fingerprint(chip: Inspection) -> int:
    """Hash of everything that the rest of the run depends on."""
    now = chip.now
    state = [(unit.name, unit.state(now), sorted(unit.counters().items())) for unit in chip.units()]
    return xxhash.xxh3_64_intdigest(repr((now, chip.time, state)).encode())
