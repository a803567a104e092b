"""Mutants of captures: one action dropped, repeated, swapped with the next, or with one field changed.

A mutant that can matter must end differently: in a status or stall, the register state, the waits of the trace or the
bytes of a stream. Not counted, as they cannot matter: swaps within one repeated group, DISABLE_LCU of an LCU that was
not enabled before, and the batch-switching list in runs without a batch switch (these run with one as well).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from emu.errors import FirmwareError
from emu.hw.profiles import load
from emu.hw.session import RunRequest, StalledError, run_program
from emu.sequencer.actions import FIELD_NAMES, Action, ActionType, Entry, Repeated, decode, encode
from emu.sequencer.program import ContextType, Program
from emu.trace.events import Event, Kind, Tracer
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import layout_of, loaded

pytestmark = needs_shared

# each is run with a partial last batch, so that the batch-switching list counts
CASES = [
    ("oracle/4.23/mnist_cnn.v0.hailo8.batch8.json", 11),
    ("synth/capture/4.23/mc2_a.batch8.json", 11),
    ("synth/capture/4.23/ddr_mc_a.batch8.json", 11),
    ("synth/capture/5.2/mx2_a.batch8.json", 11),
]
A = ActionType


class _Waits:
    def __init__(self) -> None:
        self.found: list[tuple[Any, ...]] = []

    def write(self, events: list[Event]) -> None:
        self.found += [
            (e.context, e.action, tuple((e.arguments or {}).items()), e.cause)
            for e in events
            if e.kind is Kind.WAIT or (e.kind is Kind.ACTION and e.cause)
        ]

    def close(self) -> None:
        pass


def _signature(program: Program, layout: int, frames: int) -> tuple[Any, ...]:
    waits = _Waits()
    request = RunRequest(
        frames=frames, layout=layout, keep_outputs=True, tracer_for=lambda clock: Tracer([waits], clock)
    )
    try:
        result = run_program(program, load(program.device), request)
    except StalledError as error:
        stall = error.stall
        return ("stall", stall.context, stall.action, tuple(stall.arguments.items()), tuple(waits.found))
    except FirmwareError as error:
        return ("status", error.number, error.where.get("action"), tuple(waits.found))
    assert result.device is not None
    memory = tuple(result.device.memory.snapshot().items())
    streams = tuple(stream.contents for group in result.groups for stream in group.streams)
    return ("done", memory, streams, tuple(waits.found))


def _flatten(entries: list[Entry]) -> list[tuple[Action, int]]:
    """Actions with the number of the entry they belong to."""
    flat = []
    for number, entry in enumerate(entries):
        flat += [(item, number) for item in entry.items] if isinstance(entry, Repeated) else [(entry, number)]
    return flat


def _mutants(flat: list[tuple[Action, int]], enabled: set[int]) -> Iterator[tuple[str, list[Action]]]:
    actions = [action for action, _ in flat]
    running = set(enabled)
    for at, (action, group) in enumerate(flat):
        idle = action.type is A.DISABLE_LCU and action.values[0] not in running
        if action.type in (A.ENABLE_LCU_DEFAULT, A.ENABLE_LCU_NON_DEFAULT):
            running.add(action.values[0])
        name = f"{action.type.name} {at}"
        if not idle:
            yield f"drop {name}", actions[:at] + actions[at + 1 :]
            yield f"repeat {name}", [*actions[: at + 1], action, *actions[at + 1 :]]
        following = flat[at + 1 : at + 2]
        if following and following[0][1] != group and following[0][0] != action and not idle:
            swapped = [*actions[:at], following[0][0], action, *actions[at + 2 :]]
            yield f"swap {name} with {following[0][0].type.name}", swapped
        for position, field in enumerate(FIELD_NAMES[action.type]):
            if idle:
                continue
            value = action.values[position]
            changed = Action(action.type, (*action.values[:position], value ^ 1, *action.values[position + 1 :]))
            yield f"{name} {field} {value} -> {value ^ 1}", [*actions[:at], changed, *actions[at + 1 :]]


def _enabled_before(program: Program, position: int) -> set[int]:
    found: set[int] = set()
    for context in program.network_groups[0].contexts[:position]:
        for action, _ in _flatten([one.entry for one in decode(context.action_list, program.runtime)]):
            if action.type in (A.ENABLE_LCU_DEFAULT, A.ENABLE_LCU_NON_DEFAULT):
                found.add(action.values[0])
    return found


def _with_list(program: Program, position: int, actions: list[Action]) -> Program:
    group = program.network_groups[0]
    data = b"".join(encode(actions, program.runtime))
    chunks = tuple(min(1461, len(data) - at) for at in range(0, len(data), 1461)) or (0,)
    contexts = list(group.contexts)
    contexts[position] = replace(contexts[position], action_list=data, chunks=chunks)
    return replace(program, network_groups=(replace(group, contexts=tuple(contexts)),))


def survivors(name: str, frames: int) -> tuple[list[str], int]:
    """Mutants that end as the original does, and how many there were."""
    capture = loaded(SHARED / name)
    program, layout = capture.program, layout_of(capture)
    original = _signature(program, layout, frames)
    assert original[0] == "done"
    alive, count = [], 0
    for position, context in enumerate(program.network_groups[0].contexts):
        flat = _flatten([one.entry for one in decode(context.action_list, program.runtime)])
        label = f"{ContextType(context.context_type).name.lower()} {context.index}"
        for mutation, actions in _mutants(flat, _enabled_before(program, position)):
            count += 1
            if _signature(_with_list(program, position, actions), layout, frames) == original:
                alive.append(f"{label}: {mutation}")
    return alive, count


@pytest.mark.parametrize(("name", "frames"), CASES, ids=[name.split("/")[-1] for name, _ in CASES])
def test_nine_of_ten_mutants_end_differently(name: str, frames: int) -> None:
    alive, count = survivors(name, frames)
    kinds = Counter(one.split(": ")[1].split(" ")[0] for one in alive)
    assert count > 150
    assert len(alive) <= count / 10, f"{len(alive)} of {count} survive {dict(kinds)}: {alive}"
