"""The configuration bytes of a capture, which holds none: from the HEF that was running when it was taken.

The HEF is compiled as the capture's runtime and device would; what it puts into each config channel of each context
takes the place of the bytes that the capture lacks. Nothing else is taken: lists, addresses and streams stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from emu.errors import HailoError, HailoStatus
from emu.hef import Hef
from emu.host.capture import CapturedRun
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import ContextProgram, ContinuousBuffer, DescriptorList, NetworkGroupProgram, Program
from emu.wire.actions import ActionType
from emu.wire.lists import Repeated
from emu.wire.wire import wire_of

_Place = tuple[int, int, int]  # context type, its index, config stream
_GEOMETRY = ("desc_page_size", "total_desc_count", "bytes_in_pattern")


def with_configuration(capture: CapturedRun, hef: Hef, host: HostSettings | None = None) -> Program:
    """The program of a capture with the configuration bytes of `hef`, which was opened for the capture's runtime.

    `host`: the settings of the host that was captured, where they were not the usual ones.

    HAILO_INVALID_ARGUMENT where the two do not belong together: another number of network groups, a config channel that
    the HEF has none for, or one of another size. Raises what `compile_hef` raises.
    """
    program = capture.program
    options = CompileOptions(
        device=program.device, cluster_layout=capture.layout, batch=program.batch, host=host or HostSettings()
    )
    compiled = compile_hef(hef, options)
    if len(compiled.network_groups) != len(program.network_groups):
        raise _mismatch(
            capture, hef, f"{len(program.network_groups)} network groups, the HEF has {len(compiled.network_groups)}"
        )
    lists = {one.dma_address: one for one in compiled.descriptor_lists}
    buffers = {one.dma_address: one for one in compiled.continuous_buffers}
    filled_lists: dict[int, DescriptorList] = {}
    filled_buffers: dict[int, ContinuousBuffer] = {}
    for group, source in zip(program.network_groups, compiled.network_groups, strict=True):
        sources = dict(_channels(source, compiled.runtime))
        for place, wanted in _channels(group, program.runtime):
            found = sources.get(place)
            if found is None:
                raise _mismatch(capture, hef, f"no config stream {place[2]} in context {place[0]}.{place[1]}")
            for name in _GEOMETRY:
                own, other = getattr(wanted, name), getattr(found, name)
                if own != other:
                    what = f"config stream {place[2]} of context {place[0]}.{place[1]}: {name} {own}, the HEF's {other}"
                    raise _mismatch(capture, hef, what)
            if found.dma_address in lists:
                filled_lists[wanted.dma_address] = lists[found.dma_address]
            else:
                filled_buffers[wanted.dma_address] = buffers[found.dma_address]
    return replace(
        program,
        descriptor_lists=tuple(
            replace(one, programs=filled_lists[one.dma_address].programs) if one.dma_address in filled_lists else one
            for one in program.descriptor_lists
        ),
        continuous_buffers=tuple(
            replace(one, segments=filled_buffers[one.dma_address].segments)
            if one.dma_address in filled_buffers
            else one
            for one in program.continuous_buffers
        ),
    )


def _channels(group: NetworkGroupProgram, runtime: str) -> Iterator[tuple[_Place, Any]]:
    """Every ACTIVATE_CFG_CHANNEL of a group by its place."""
    contexts: list[ContextProgram] = list(group.contexts) or [one.context for one in group.ddr_action_list]
    for context in contexts:
        for located in wire_of(runtime).decode(context.action_list):
            items = located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
            for action in items:
                if action.type is ActionType.ACTIVATE_CFG_CHANNEL:
                    stream = action.value("config_stream_index")
                    yield (int(context.context_type), context.index, stream), action


def _mismatch(capture: CapturedRun, hef: Hef, what: str) -> HailoError:
    return HailoError(
        HailoStatus.HAILO_INVALID_ARGUMENT, f"{hef.name} is not what was captured: {what}", file=capture.source
    )
