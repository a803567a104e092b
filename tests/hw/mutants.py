"""Mutants of the action lists of real HEFs, and what notices them.

A mutant differs from a sound program in one action: dropped, duplicated, swapped with the next, moved elsewhere in its
list, or with one field changed. It is noticed where the run ends in a status or a stall, shows a hazard, or leaves a
trace that violates a rule; made-up bytes that differ do not count. A neutral one cannot matter (`neutral`).
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from emu.errors import EmuError
from emu.host.prepare import PreparedRun, prepare
from emu.host.session import StalledError, run_program
from emu.host.spec import RunSpec
from emu.sequencer.program import ContextType, Program
from emu.trace.invariants import check
from emu.trace.reader import TraceReader
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.tracer import Tracer
from emu.wire.actions import ACTIONS, Action, ActionType, Role, make_action
from emu.wire.lists import Repeated
from emu.wire.wire import Wire, wire_of

A = ActionType
KINDS = ("drop", "duplicate", "swap", "move", "change")
MAX_CHUNK = 1461  # firmware-actions.md 4


@dataclass(frozen=True)
class Sound:
    """A real file ready to run, its lists as actions; several contexts run with a partial last batch."""

    name: str
    prepared: PreparedRun
    lists: tuple[tuple[Action, ...], ...]

    @property
    def program(self) -> Program:
        return self.prepared.program

    @property
    def single_context(self) -> bool:
        return sum(one.context_type is ContextType.DYNAMIC for one in self.program.network_groups[0].contexts) == 1

    def title(self, position: int) -> str:
        context = self.program.network_groups[0].contexts[position]
        return f"{ContextType(context.context_type).name.lower()}_{context.index}"

    def executed(self, position: int) -> bool:
        """Whether a run executes a list: the batch-switching one of a single context never."""
        context = self.program.network_groups[0].contexts[position]
        return not (self.single_context and context.context_type is ContextType.BATCH_SWITCHING)

    def waits_only(self, position: int) -> bool:
        """Whether a list is that of a single context whose preliminary list ran as it: only its last wait is left."""
        group = self.program.network_groups[0]
        header = wire_of(self.program.runtime).header.decode(group.application_header)
        is_dynamic = group.contexts[position].context_type is ContextType.DYNAMIC
        return is_dynamic and self.single_context and bool(header.preliminary_run_asap)


class Mutant(NamedTuple):
    """`position` of the list, `at` the place of the action in it, `actions` the whole changed list."""

    sound: Sound
    kind: str
    position: int
    at: int
    action: Action
    actions: tuple[Action, ...]
    what: str

    def __str__(self) -> str:
        place = f"{self.sound.title(self.position)} {self.at} {self.action.type.name}"
        return f"{self.sound.name}: {self.kind} {place}{self.what}"


def flat(wire: Wire, data: bytes) -> tuple[Action, ...]:
    found: list[Action] = []
    for located in wire.decode(data):
        found += located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
    return tuple(found)


def load(path: Path) -> Sound:
    """A HEF with three batches of one frame; with several contexts a batch of 4 and one of 2."""
    prepared = prepare(RunSpec.of(path, frames=3, batch=1))
    if len(prepared.program.network_groups[0].contexts) > 4:
        prepared = prepare(RunSpec.of(path, frames=6, batch=4))
    wire = wire_of(prepared.program.runtime)
    contexts = prepared.program.network_groups[0].contexts
    return Sound(path.stem, prepared, tuple(flat(wire, context.action_list) for context in contexts))


# -- drawing


def draw(sounds: Sequence[Sound], count: int, seed: int) -> Iterator[Mutant]:
    """`count` mutants of all files, in turn: half drawn over all actions, half evenly over their types."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        sound = sounds[made // 2 % len(sounds)]
        places = [(p, at) for p, listed in enumerate(sound.lists) for at in range(len(listed))]
        if made % 2:
            kind = rng.choice(sorted({action.type for listed in sound.lists for action in listed}))
            places = [(p, at) for p, at in places if sound.lists[p][at].type is kind]
        position, at = rng.choice(places)
        mutant = mutate(sound, rng.choice(KINDS), position, at, rng)
        if mutant is not None:
            made += 1
            yield mutant


def mutate(sound: Sound, kind: str, position: int, at: int, rng: random.Random | None = None) -> Mutant | None:
    """None where that cannot be done here. `rng` says where an action moves to, and how a field changes."""
    rng = rng or random.Random(0)
    listed = sound.lists[position]
    action, what = listed[at], ""
    if kind == "drop":
        actions = listed[:at] + listed[at + 1 :]
    elif kind == "duplicate":
        actions = (*listed[: at + 1], action, *listed[at + 1 :])
    elif kind == "swap":
        if at + 1 == len(listed):
            return None
        actions = (*listed[:at], listed[at + 1], action, *listed[at + 2 :])
        what = f" with {listed[at + 1].type.name}"
    elif kind == "move":
        rest = listed[:at] + listed[at + 1 :]
        target = rng.randrange(len(listed))
        actions = (*rest[:target], action, *rest[target:])
        what = f" to {target}"
    else:
        if not action.NAMES:
            return None
        field = rng.randrange(len(action.NAMES))
        value = _other(sound, action, field, rng)
        values = (*action[:field], value, *action[field + 1 :])
        actions = (*listed[:at], make_action(action.type, values), *listed[at + 1 :])
        what = f" {action.NAMES[field]} {action[field]} -> {value}"
    return Mutant(sound, kind, position, at, action, actions, what)


def _other(sound: Sound, action: Action, field: int, rng: random.Random) -> int:
    """Another value that the file has in that field, or the same with one bit the other way."""
    seen = {a[field] for listed in sound.lists for a in listed if a.type is action.type} - {action[field]}
    if seen and rng.random() < 0.5:
        return rng.choice(sorted(seen))
    bits = 8 * {"B": 1, "H": 2, "I": 4, "Q": 8}[tuple(ACTIONS[action.type].FIELDS.values())[field].code]
    return action[field] ^ 1 << rng.randrange(bits)


# -- neutral ones

_WAITS = frozenset(kind for kind, made in ACTIONS.items() if made.role is Role.WAIT)
_IDEMPOTENT = frozenset(
    {
        A.DISABLE_LCU,
        A.RESUME_VDMA_CHANNEL,
        A.PAUSE_VDMA_CHANNEL,
        A.CHANGE_VDMA_TO_STREAM_MAPPING,
        A.BURST_CREDITS_TASK_RESET,
        A.DDR_BUFFERING_RESET,
        A.WRITE_DATA_BY_TYPE,
        A.SWITCH_LCU_BATCH,
        A.CHANGE_BOUNDARY_INPUT_BATCH,
    }
)
# waits that clear no latch: what they wait for stays so
_PURE_WAITS = frozenset(
    {
        A.LCU_INTERRUPT,
        A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
        A.WAIT_FOR_DMA_IDLE_ACTION,
        A.APPLICATION_CHANGE_INTERRUPT,
    }
)
# of one type, and yet their order counts: enables and disables agree in theirs, a fetch brings what lies next
_ORDERED = frozenset(
    {
        A.ENABLE_LCU_DEFAULT,
        A.ENABLE_LCU_NON_DEFAULT,
        A.DISABLE_LCU,
        A.FETCH_CCW_BURSTS,
        A.FETCH_CFG_CHANNEL_DESCRIPTORS,
        A.TRIGGER_SEQUENCER,
    }
)
# what only sets up one unit: such neighbours may change places where they name different ones
_SETTERS = frozenset(
    kind
    for kind, made in ACTIONS.items()
    if made.role in (Role.OPEN, Role.ACTIVATE, Role.CONFIG_CHANNEL)
    or kind in (A.SWITCH_LCU_BATCH, A.WRITE_DATA_BY_TYPE, A.DISABLE_LCU)
)


def neutral(mutant: Mutant) -> str:
    """Why a mutant cannot matter; empty where it can."""
    before, kind = mutant.sound.lists[mutant.position], mutant.action.type
    if mutant.actions == before:
        return "the same list"
    if not mutant.sound.executed(mutant.position):
        return "a list that is never executed"
    if mutant.kind == "duplicate" and kind in _IDEMPOTENT | _PURE_WAITS:
        return "a repeat of a pure wait or an idempotent setter"
    if mutant.kind == "drop" and _resets_nothing(mutant):
        return "a reset of what never ran"
    if mutant.kind in ("swap", "move"):
        passed = _passed(before, mutant)
        if all(_commute(mutant.action, other) for other in passed):
            return "reordering of equal, commuting or unit-disjoint actions"
        if mutant.sound.waits_only(mutant.position) and {kind, *(one.type for one in passed)} & _PURE_WAITS:
            return "a reordering in a list of which only the wait is executed"
    return ""


def _resets_nothing(mutant: Mutant) -> bool:
    if mutant.action.type is A.BURST_CREDITS_TASK_RESET:
        return mutant.sound.title(mutant.position).startswith("activation")
    if mutant.action.type is A.DDR_BUFFERING_RESET:
        return not any(action.type is A.DDR_BUFFERING_START for listed in mutant.sound.lists for action in listed)
    return False


def _passed(before: Sequence[Action], mutant: Mutant) -> Sequence[Action]:
    """The actions that the moved one changes places with."""
    after = mutant.actions
    first = next(at for at in range(len(before)) if before[at] != after[at])
    last = next(at for at in range(len(before) - 1, -1, -1) if before[at] != after[at])
    stretch = list(before[first : last + 1])
    stretch.remove(mutant.action)
    return stretch


def _units(action: Action) -> set[tuple[object, int]]:
    """What a setter names: LCUs, channels, registers."""
    named = {(field.names, action.value(name)) for name, field in action.FIELDS.items() if field.names is not None}
    return named | ({("register", action.value("address"))} if action.type is A.WRITE_DATA_BY_TYPE else set())


def _commute(one: Action, other: Action) -> bool:
    """Whether two neighbours can change places without a difference."""
    if one == other or (one.type in _WAITS and other.type in _WAITS):
        return True
    if one.type in _WAITS or other.type in _WAITS:
        return False
    if one.type is other.type:
        return one.type not in _ORDERED
    return one.type in _SETTERS and other.type in _SETTERS and _units(one).isdisjoint(_units(other))


# -- what notices them


def with_list(program: Program, position: int, actions: Sequence[Action]) -> Program:
    """The program with one list of its first group replaced."""
    group = program.network_groups[0]
    data = b"".join(wire_of(program.runtime).encode(list(actions)))
    chunks = tuple(min(MAX_CHUNK, len(data) - at) for at in range(0, len(data), MAX_CHUNK)) or (0,)
    contexts = list(group.contexts)
    contexts[position] = replace(contexts[position], action_list=data, chunks=chunks)
    return replace(program, network_groups=(replace(group, contexts=tuple(contexts)),))


def noticed(mutant: Mutant, scratch: Path) -> str:
    """What notices a mutant; empty where nothing does. `scratch` is a file for its trace."""
    sound = mutant.sound
    try:
        program = with_list(sound.program, mutant.position, mutant.actions)
    except EmuError as error:
        return f"cannot be encoded: {error.message}"
    return outcome(sound, program, scratch)


def outcome(sound: Sound, program: Program, scratch: Path) -> str:
    """What is wrong with a program, as its run shows; empty where nothing is."""
    out = io.BytesIO()
    header = sound.prepared.header(sound.name)
    request = replace(sound.prepared.request, tracer_for=lambda clock: Tracer([JsonlSink(out, header)], clock))
    try:
        result = run_program(program, sound.prepared.profile, request)
    except StalledError as error:
        return f"stall {error.stall.action}"
    except EmuError as error:
        return f"status {error.name}"
    assert result.device is not None
    for one in result.device.hazards:
        return f"hazard {one.hazard.rule}"
    scratch.write_bytes(out.getvalue())
    for violation in check(TraceReader(scratch)).violations:
        return f"rule {violation.rule}"
    return ""
