"""The lists of a stored application as configuration steps: what it will do to the chip, before it runs.

Records of a run come channel by channel here, as the compiled lists fetch them; of streams only the sizes of buffers
are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from emu.hw.config.records import read_run_once
from emu.hw.config.runs import FAMILIES, RunCache
from emu.hw.gather import Piece
from emu.sequencer.configuration import (
    CcwRecords,
    Configuration,
    ConfigurationList,
    DisableLcu,
    EnableLcu,
    LcuInterrupt,
    Step,
    StreamEdge,
    SwitchLcuBatch,
    TriggerSequencer,
    WaitConfigDone,
    WaitSequencer,
    WriteData,
)
from emu.sequencer.program import ContextType
from emu.wire.actions import DATA_FROM_ACTION, ActionType, HostBufferInfo, Role, having

if TYPE_CHECKING:
    from emu.hw.application import Application, Context

_MASK32 = 0xFFFFFFFF
_OPENS = having(role=Role.OPEN)
_UNKNOWN = -1  # connection of an edge layer


def lists_of(application: Application, cache: RunCache, style: str) -> Configuration:
    """The preliminary list and the dynamic ones, in their order."""
    contexts = [application.context(ContextType.PRELIMINARY), *application.dynamic]
    lists = [
        ConfigurationList(
            context.name,
            None if number == 0 else number - 1,
            tuple(_steps(context, cache, FAMILIES[style])),
            tuple(_streams(context)) if number else (),
        )
        for number, context in enumerate(contexts)
    ]
    return Configuration(FAMILIES[style], tuple(lists), None, None)


def _streams(context: Context) -> Iterator[StreamEdge]:
    """What a list activates; stream_index is the sys_index of the edge layer (hef-compile.md 5)."""
    for step in context.actions.steps:
        a: Any = step.arguments
        if a.role is Role.ACTIVATE and "core_bytes_per_buffer" in a.FIELDS:
            size, count = a.core_bytes_per_buffer, a.core_buffers_per_frame
            yield StreamEdge(step.type.name, a.inward, _UNKNOWN, a.stream_index, size, count, 0, 0, 0, None)


def sources_of(context: Context) -> Iterator[HostBufferInfo]:
    """The host memory behind each config channel that a list activates."""
    for step in context.actions.by_type.get(ActionType.ACTIVATE_CFG_CHANNEL, ()):
        yield HostBufferInfo.of(step.arguments)


def unfetched(application: Application, cache: RunCache, family: str) -> list[CcwRecords]:
    """What the host holds for an application that activates no config channel at all: it should have been loaded."""
    lists = [context.actions for context in application.contexts]
    if any(ActionType.ACTIVATE_CFG_CHANNEL in actions.by_type for actions in lists):
        return []
    opens = [step.arguments for actions in lists for step in actions.steps if step.type in _OPENS]
    if not opens:
        return []
    address, found = opens[0].dma_address, list[CcwRecords]()
    for stream, data in enumerate(cache.near(address)):
        places = _borders(family, data, stream)[1]
        found += [CcwRecords(stream, memoryview(data)[offset : offset + size]) for offset, size in places]
    return found


def trigger_of(a: Any) -> TriggerSequencer:
    """TRIGGER_SEQUENCER's arguments as a step."""
    low, high = a.l2_offset_0, a.l2_offset_1
    return TriggerSequencer(
        a.cluster_index,
        a.initial_l3_cut,
        a.initial_l3_offset,
        a.active_sc,
        a.active_apu,
        a.active_ia,
        a.active_l2,
        (low & _MASK32, low >> 32, high & _MASK32, high >> 32),
    )


def _steps(context: Context, cache: RunCache, family: str) -> Iterator[Step]:
    return (step for _, step in numbered_steps((one.arguments for one in context.actions.steps), cache, family))


def numbered_steps(actions: Iterable[Any], cache: RunCache, family: str) -> Iterator[tuple[int, Step]]:
    """What the actions of a list do to the chip, each step with the number of its action."""
    sources: dict[int, tuple[int, HostBufferInfo]] = {}
    taken: dict[int, int] = {}
    borders: dict[int, tuple[Piece, list[tuple[int, int]]]] = {}
    for number, a in enumerate(actions):
        kind = a.type
        if kind is ActionType.ACTIVATE_CFG_CHANNEL:
            sources[a.config_stream_index] = a.packed_vdma_channel_id, HostBufferInfo.of(a)
            taken[a.config_stream_index] = 0
            borders.pop(a.config_stream_index, None)
        elif kind is ActionType.FETCH_CFG_CHANNEL_DESCRIPTORS:
            stream = next((s for s, (packed, _) in sources.items() if packed == a.packed_vdma_channel_id), None)
            if stream is not None and a.descriptors_count:
                data, _ = cache.read(sources[stream][1], taken[stream], a.descriptors_count)
                taken[stream] += a.descriptors_count
                if data is not None:
                    yield number, CcwRecords(stream, memoryview(data))
        elif kind is ActionType.FETCH_CCW_BURSTS:
            stream = a.config_stream_index
            if stream not in sources:
                continue
            if stream not in borders:
                borders[stream] = _borders(family, cache.read_whole(sources[stream][1])[0] or b"", stream)
            data, places = borders[stream]
            for offset, size in places[taken[stream] : taken[stream] + a.ccw_bursts]:
                yield number, CcwRecords(stream, memoryview(data)[offset : offset + size])
            taken[stream] += a.ccw_bursts
        else:
            yield from ((number, step) for step in _unit_steps(kind, a))


def _borders(family: str, data: Piece, stream: int) -> tuple[Piece, list[tuple[int, int]]]:
    records = read_run_once(family, data, stream)
    return data, list(zip(records.offset.tolist(), records.size.tolist(), strict=True))


def _unit_steps(kind: ActionType, a: Any) -> Iterable[Step]:
    if kind is ActionType.TRIGGER_SEQUENCER:
        yield trigger_of(a)
    elif kind is ActionType.MODULE_CONFIG_DONE_INTERRUPT:
        yield WaitConfigDone(a.module_index)
    elif kind is ActionType.SEQUENCER_DONE_INTERRUPT:
        yield WaitSequencer(a.sequencer_index)
    elif kind in (ActionType.ENABLE_LCU_DEFAULT, ActionType.ENABLE_LCU_NON_DEFAULT):
        yield EnableLcu(a.packed_lcu_id >> 4, a.packed_lcu_id & 15)
    elif kind is ActionType.DISABLE_LCU:
        yield DisableLcu(a.packed_lcu_id >> 4, a.packed_lcu_id & 15)
    elif kind is ActionType.SWITCH_LCU_BATCH:
        yield SwitchLcuBatch(a.packed_lcu_id >> 4, a.packed_lcu_id & 15)
    elif kind is ActionType.LCU_INTERRUPT:
        yield LcuInterrupt(a.packed_lcu_id >> 4, a.packed_lcu_id & 15)
    elif kind is ActionType.WRITE_DATA_BY_TYPE:
        known = a.data_type == DATA_FROM_ACTION and not a.shift and a.mask == _MASK32
        yield WriteData(a.address, (a.data & _MASK32).to_bytes(4, "little") if known else None)
