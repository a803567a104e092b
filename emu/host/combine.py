"""Several programs on one device: one host gives each its own addresses and application indices."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from emu.errors import HailoError, HailoStatus, UsageError
from emu.sequencer.program import ActionListRecord, ContextProgram, NetworkGroupProgram, Program
from emu.wire.actions import Action, make_action
from emu.wire.lists import Entry
from emu.wire.wire import Wire, wire_of

# list and buffer addresses are 64 bits wide, the address of an action list in DDR is 32
ADDRESS_STRIDE = 1 << 32
ACTION_LIST_STRIDE = 1 << 24
MAX_PLACES = (1 << 31) // ACTION_LIST_STRIDE  # the lists of the first begin at half of the 32 bits


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
    most = wire_of(first.runtime).runtime.max_applications
    if count > most:
        raise UsageError(f"{count} network groups, runtime {first.runtime} loads {most}")
    groups: list[NetworkGroupProgram] = []
    moved = []
    for number, program in enumerate(programs):
        one = relocate(program, number)
        moved.append(one)
        groups += [replace(group, application_index=len(groups) + at) for at, group in enumerate(one.network_groups)]
    return replace(
        first,
        network_groups=tuple(groups),
        descriptor_lists=tuple(item for one in moved for item in one.descriptor_lists),
        continuous_buffers=tuple(item for one in moved for item in one.continuous_buffers),
    )


def relocate(program: Program, number: int) -> Program:
    """The program with its host memory in place `number`: programs of different places share no address."""
    if number == 0:
        return program
    wire = wire_of(program.runtime)
    if number >= MAX_PLACES:
        raise HailoError(
            HailoStatus.HAILO_OUT_OF_HOST_MEMORY,
            f"{number} programs are mapped, {MAX_PLACES} have addresses of their own",
        )
    shift, list_shift = number * ADDRESS_STRIDE, number * ACTION_LIST_STRIDE
    return replace(
        program,
        network_groups=tuple(_group(group, wire, shift, list_shift) for group in program.network_groups),
        descriptor_lists=tuple(
            replace(item, dma_address=item.dma_address + shift) for item in program.descriptor_lists
        ),
        continuous_buffers=tuple(
            replace(item, dma_address=item.dma_address + shift) for item in program.continuous_buffers
        ),
    )


def _group(group: NetworkGroupProgram, wire: Wire, shift: int, list_shift: int) -> NetworkGroupProgram:
    header = wire.header.decode(group.application_header)
    if header.external_action_list_address:
        header = header._replace(external_action_list_address=header.external_action_list_address + list_shift)
    return replace(
        group,
        application_header=wire.header.encode(header),
        contexts=tuple(_context(context, wire, shift) for context in group.contexts),
        ddr_action_list=tuple(
            ActionListRecord(record.dma_address + list_shift, _context(record.context, wire, shift))
            for record in group.ddr_action_list
        ),
        streams=tuple(replace(stream, dma_address=stream.dma_address + shift) for stream in group.streams),
        caches=tuple(
            replace(
                cache,
                input_dma_address=cache.input_dma_address + shift,
                output_dma_address=cache.output_dma_address + shift,
            )
            for cache in group.caches
        ),
    )


def _context(context: ContextProgram, wire: Wire, shift: int) -> ContextProgram:
    """The list with every dma_address moved; sizes, and so the chunks, stay."""
    entries = [_entry(located.entry, shift) for located in wire.decode(context.action_list)]
    return replace(context, action_list=b"".join(wire.encode(entries)))


def _entry(entry: Entry, shift: int) -> Entry:
    if not isinstance(entry, Action):
        return entry  # no repeatable action has an address
    if "dma_address" not in entry.NAMES:
        return entry
    at = entry.NAMES.index("dma_address")
    return make_action(entry.type, (*entry[:at], entry[at] + shift, *entry[at + 1 :]))
