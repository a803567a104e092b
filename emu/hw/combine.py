"""Several programs on one device: one host gives each its own addresses and application indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emu.errors import UsageError
from emu.hw.controls import MAX_APPLICATIONS
from emu.sequencer.actions import FIELD_NAMES, Action, Entry, decode, encode
from emu.sequencer.control import ApplicationHeader
from emu.sequencer.program import ActionListRecord, ContextProgram, NetworkGroupProgram, Program

# list and buffer addresses are 64 bits wide, the address of an action list in DDR is 32
ADDRESS_STRIDE = 1 << 32
ACTION_LIST_STRIDE = 1 << 24


def combine(programs: Sequence[Program]) -> Program:
    """One program with the groups of all; UsageError if they are for different devices or too many."""
    first = programs[0]
    for other in programs[1:]:
        if (other.device, other.runtime) != (first.device, first.runtime):
            raise UsageError(
                f"several HEFs run on one device: {first.device} with runtime {first.runtime} and "
                f"{other.device} with runtime {other.runtime} do not go together"
            )
    count = sum(len(program.network_groups) for program in programs)
    if count > MAX_APPLICATIONS[first.runtime]:
        raise UsageError(f"{count} network groups, runtime {first.runtime} loads {MAX_APPLICATIONS[first.runtime]}")
    groups: list[NetworkGroupProgram] = []
    moved = []
    for number, program in enumerate(programs):
        one = _moved(program, number)
        moved.append(one)
        groups += [replace(group, application_index=len(groups) + at) for at, group in enumerate(one.network_groups)]
    return replace(
        first,
        network_groups=tuple(groups),
        descriptor_lists=tuple(item for one in moved for item in one.descriptor_lists),
        continuous_buffers=tuple(item for one in moved for item in one.continuous_buffers),
    )


def _moved(program: Program, number: int) -> Program:
    if number == 0:
        return program
    shift, list_shift = number * ADDRESS_STRIDE, number * ACTION_LIST_STRIDE
    return replace(
        program,
        network_groups=tuple(_group(group, program.runtime, shift, list_shift) for group in program.network_groups),
        descriptor_lists=tuple(
            replace(item, dma_address=item.dma_address + shift) for item in program.descriptor_lists
        ),
        continuous_buffers=tuple(
            replace(item, dma_address=item.dma_address + shift) for item in program.continuous_buffers
        ),
    )


def _group(group: NetworkGroupProgram, runtime: str, shift: int, list_shift: int) -> NetworkGroupProgram:
    header = ApplicationHeader.decode(group.application_header, runtime)
    if header.external_action_list_address:
        header = replace(header, external_action_list_address=header.external_action_list_address + list_shift)
    return replace(
        group,
        application_header=header.encode(runtime),
        contexts=tuple(_context(context, runtime, shift) for context in group.contexts),
        ddr_action_list=tuple(
            ActionListRecord(record.dma_address + list_shift, _context(record.context, runtime, shift))
            for record in group.ddr_action_list
        ),
        streams=tuple(replace(stream, dma_address=stream.dma_address + shift) for stream in group.streams),
    )


def _context(context: ContextProgram, runtime: str, shift: int) -> ContextProgram:
    """The list with every dma_address moved; sizes, and so the chunks, stay."""
    entries = [_entry(located.entry, shift) for located in decode(context.action_list, runtime)]
    return replace(context, action_list=b"".join(encode(entries, runtime)))


def _entry(entry: Entry, shift: int) -> Entry:
    if not isinstance(entry, Action):
        return entry  # no repeatable action has an address
    names = FIELD_NAMES[entry.type]
    if "dma_address" not in names:
        return entry
    at = names.index("dma_address")
    return Action(entry.type, (*entry.values[:at], entry.values[at] + shift, *entry.values[at + 1 :]))
