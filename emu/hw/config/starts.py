"""Which sequencer programs the lists of a compiled group start, and how many words each writes.

This is what an estimate needs to know of the configuration (emu.timing.programs); the device finds out as it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.chips import chips
from emu.hw.config.channels import FAMILIES, RunCache
from emu.hw.config.execute import Executor
from emu.hw.config.lists import numbered_steps
from emu.hw.config.records import is_well_formed, read_records
from emu.hw.hostmem import HostMemory
from emu.sequencer.configuration import CcwRecords, TriggerSequencer
from emu.sequencer.program import ContextType, NetworkGroupProgram, Program
from emu.timing.demand import contexts_of, plain_actions
from emu.timing.programs import Start, Starts


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
    if not any(is_well_formed(family, [step for _, step in steps]) for steps in lists):
        return None
    executor = Executor(family, keeps_words=False)
    found: list[Starts] = []
    for steps in lists:
        starts: dict[int, list[Start]] = {}
        outcome = executor.begin()
        for number, step in steps:
            before = len(outcome.runs)
            if isinstance(step, CcwRecords):
                records = read_records(family, [step])
                executor.feed(records, 0, len(records))
            elif isinstance(step, TriggerSequencer):
                executor.trigger(step, 0)
            for run in outcome.runs[before:]:
                starts.setdefault(number, []).append(Start(run.cluster, run.program.words, run.ends_sequence))
        found.append(starts)
    return found
