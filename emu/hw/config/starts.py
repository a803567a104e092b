"""Which sequencer programs the lists of a compiled group start, and how many words each writes.

This is what an estimate needs to know of the configuration (emu.timing.programs); the device finds out as it runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import xxhash
from msgspec.structs import astuple

from emu.chips import chips
from emu.hw.config.execute import Executor
from emu.hw.config.lists import numbered_steps
from emu.hw.config.records import is_well_formed, read_records
from emu.hw.config.runs import FAMILIES, RunCache
from emu.hw.hostmem import HostMemory
from emu.sequencer.configuration import CcwRecords, Step, TriggerSequencer
from emu.sequencer.program import ContextType, NetworkGroupProgram, Program
from emu.timing.demand import contexts_of, plain_actions
from emu.timing.programs import Start, Starts

Steps: TypeAlias = list[tuple[int, Step]]  # each with the number of its action

_PART_BYTES = 4 << 20
_MOST_KEPT = 16
_kept: OrderedDict[int, Sequence[Starts] | None] = OrderedDict()


def program_starts(program: Program, group: NetworkGroupProgram) -> Sequence[Starts] | None:
    """The starts of each context of a group, in their order; None where the configuration is not well formed."""
    style = chips.load(program.device).config_style
    family = FAMILIES[style]
    host = HostMemory()
    host.map(program)
    cache = RunCache(host, style)
    contexts = contexts_of(group)
    lists = [
        list(numbered_steps(plain_actions(context.actions(program.runtime)), cache, family))
        if context.context_type in (ContextType.PRELIMINARY, ContextType.DYNAMIC)
        else []
        for context in contexts
    ]
    key = _digest(family, lists)
    if key in _kept:
        _kept.move_to_end(key)
    else:
        _kept[key] = _starts(family, lists)
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return _kept[key]


def _digest(family: str, lists: Sequence[Steps]) -> int:
    """All that the starts follow from: the same for every batch size, link and clock."""
    found = xxhash.xxh3_128(family.encode())
    for steps in lists:
        found.update(b"list")
        for number, step in steps:
            if isinstance(step, CcwRecords):
                found.update(f"{number} {step.channel} {len(step.data)} ".encode())
                found.update(step.data)
            elif isinstance(step, TriggerSequencer):
                found.update(f"{number} {astuple(step)} ".encode())
    return found.intdigest()


def _starts(family: str, lists: Sequence[Steps]) -> Sequence[Starts] | None:
    if not any(is_well_formed(family, [step for _, step in steps]) for steps in lists):
        return None
    executor = Executor(family, keeps_words=False)
    found: list[Starts] = []
    for steps in lists:
        starts: dict[int, list[Start]] = {}
        outcome = executor.begin()
        for part in _parts(steps):
            # many at once: what checks a record costs more than a record of a burst
            records, first = read_records(family, [step for _, step in part]), 0
            for place, (number, step) in enumerate(part):
                before = len(outcome.runs)
                if isinstance(step, CcwRecords):
                    first = executor.feed_step(records, first, place)
                elif isinstance(step, TriggerSequencer):
                    executor.trigger(step, 0)
                for run in outcome.runs[before:]:
                    starts.setdefault(number, []).append(Start(run.cluster, run.program.words, run.ends_sequence))
        found.append(starts)
    return found


def _parts(steps: Steps) -> Iterator[Steps]:
    """The steps of a list in their order, as many at a time as bring some megabytes of records."""
    part: Steps = []
    held = 0
    for numbered in steps:
        part.append(numbered)
        held += len(numbered[1].data) if isinstance(numbered[1], CcwRecords) else 0
        if held >= _PART_BYTES:
            yield part
            part, held = [], 0
    if part:
        yield part
