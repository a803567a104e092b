"""What a core-op says about configuring the chip, in the order of its operations (units.md, chip-config.md).

The compiled action lists hold the same in another order (records of one run go channel by channel) and behind
descriptors; here nothing is compiled, so that the contents of the chip can be worked out from the file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from emu.hef import operations as ops
from emu.hef.devices import ARCH_DEVICES
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, WriteDataType
from emu.hef.hef import Hef
from emu.hef.model import Context, CoreOp, EdgeLayer, EdgeLayerPlanes

HAILO8, HAILO1XH = "Hailo-8", "1xh"  # the two families of config records (ccw.md)
BOUNDARY = EdgeConnectionType.BOUNDARY


class CcwRecords(NamedTuple):
    """The bytes of one CCW action on one config channel: one record, as compilers write it."""

    channel: int
    data: memoryview


class WaitConfigDone(Struct, frozen=True):
    """wait_for_module_config_done."""

    interrupt: int


class TriggerSequencer(Struct, frozen=True):
    """enable_sequencer; `l2_write` are l2_write_0..3, the bitmaps one bit a unit (chip-config.md 5)."""

    cluster: int
    l3_index: int
    l3_offset: int
    active_sc: int
    active_apu: int
    active_ia: int
    active_l2: int
    l2_write: tuple[int, int, int, int]


class WaitSequencer(Struct, frozen=True):
    """wait_for_seqeuncer."""

    cluster: int


class EnableLcu(Struct, frozen=True):
    """enable_lcu."""

    cluster: int
    lcu: int


class DisableLcu(Struct, frozen=True):
    """disable_lcu."""

    cluster: int
    lcu: int


class SwitchLcuBatch(Struct, frozen=True):
    """switch_lcu_batch."""

    cluster: int
    lcu: int


class LcuInterrupt(Struct, frozen=True):
    """The trigger of an operation: an LCU has done its batch."""

    cluster: int
    lcu: int


class WriteData(Struct, frozen=True):
    """write_data and write_data_by_type; `data` is None where the runtime fills in the value."""

    address: int
    data: bytes | None


Step = (
    CcwRecords
    | WaitConfigDone
    | TriggerSequencer
    | WaitSequencer
    | EnableLcu
    | DisableLcu
    | SwitchLcuBatch
    | LcuInterrupt
    | WriteData
)


class StreamEdge(Struct, frozen=True):
    """One stream at the border of a context, with what its registers are made from (chip-config.md 7).

    Shapes are the padded ones, in elements; `format` is the compiler's code of the order, None where only the size of
    buffers is known.
    """

    name: str
    is_input: bool
    connection: EdgeConnectionType | int
    sys_index: int
    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    width: int
    features: int
    data_bytes: int
    format: int | None


class ConfigurationList(Struct, frozen=True):
    """One list of operations: `context` is None for the preliminary one; `streams` are those of the context."""

    name: str
    context: int | None
    steps: tuple[Step, ...]
    streams: tuple[StreamEdge, ...]


class Configuration(Struct, frozen=True):
    """All lists of one core-op, the preliminary one first.

    `family` says which records they hold; `hw_padding`, `periph_in_hailort`: the extensions of the file that decide
    what stream registers hold (None: not known).
    """

    family: str
    lists: tuple[ConfigurationList, ...]
    hw_padding: bool | None
    periph_in_hailort: bool | None

    @property
    def contexts(self) -> int:
        """The number of dynamic contexts."""
        return len(self.lists) - 1


def family_of(hef: Hef) -> str:
    """The family of config records of a file, by its architecture."""
    return family_of_arch(hef.header.hw_arch)


def family_of_arch(hw_arch: int) -> str:
    """The family of config records of an architecture."""
    return HAILO8 if ARCH_DEVICES.get(hw_arch, ("",))[0].startswith("HAILO8") else HAILO1XH


def read_configuration(hef: Hef, core_op: CoreOp) -> Configuration:
    """The configuration of a core-op of `hef`.

    Raises HailoError 14 for a CCW pointer outside of the file.
    """
    lists = [ConfigurationList("preliminary", None, _steps(hef, core_op.preliminary_config.operation), ())]
    lists += [
        ConfigurationList(f"dynamic {number}", number, _steps(hef, context.operations), _streams(context))
        for number, context in enumerate(core_op.contexts)
    ]
    features = hef.features
    return Configuration(
        family_of(hef), tuple(lists), features.core_hw_padding_config_in_dfc, features.periph_calculation_in_hailort
    )


_STEPS: dict[type[Any], Callable[[Any], Step | None]] = {
    ops.ActionWriteData: lambda a: WriteData(a.address, a.data),
    ops.ActionWriteDataByType: lambda a: WriteData(
        a.address, a.data if a.data_type == WriteDataType.DATA_FROM_ACTION else None
    ),
    ops.ActionEnableSequencer: lambda a: _trigger(a),
    ops.ActionWaitForSequencer: lambda a: WaitSequencer(a.cluster_index),
    ops.ActionDisableLcu: lambda a: DisableLcu(a.cluster_index, a.lcu_index),
    ops.ActionEnableLcu: lambda a: EnableLcu(a.cluster_index, a.lcu_index),
    ops.ActionSwitchLcuBatch: lambda a: SwitchLcuBatch(a.cluster_index, a.lcu_index),
    ops.ActionWaitForModuleConfigDone: lambda a: WaitConfigDone(a.index),
    ops.ActionWriteDataCcw: lambda a: CcwRecords(a.cfg_channel_index, memoryview(a.data)),
}


def _trigger(action: ops.ActionEnableSequencer) -> TriggerSequencer:
    info = action.initial_l3_info
    if info.includes_initial_l3_info:
        index, offset = info.initial_l3_index, info.initial_l3_offset
    else:
        index, offset = action.initial_l3_legacy & 0x7F, action.initial_l3_legacy >> 7 << 3 & 0xFFFF
    return TriggerSequencer(
        action.cluster_index,
        index,
        offset,
        action.active_sc_bitmap,
        action.active_apu_bitmap,
        action.active_ia_bitmap,
        action.active_l2_bitmap,
        (action.l2_write_0, action.l2_write_1, action.l2_write_2, action.l2_write_3),
    )


def _steps(hef: Hef, operations: Iterable[ops.Operation]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for operation in operations:
        trigger = operation.trigger
        if isinstance(trigger, ops.TriggerLcu):
            steps.append(LcuInterrupt(trigger.cluster_index, trigger.lcu_index))
        for action in operation.actions:
            if isinstance(action, ops.ActionWriteDataCcwPtr):
                steps.append(CcwRecords(action.cfg_channel_index, hef.ccw(action.offset, action.size)))
                continue
            make = _STEPS.get(action.__class__)
            step = None if make is None else make(action)
            if step is not None:
                steps.append(step)
    return tuple(steps)


def _streams(context: Context) -> tuple[StreamEdge, ...]:
    return tuple(edge for layer in context.metadata.edge_layers for edge in _stream_edges(layer))


def _stream_edges(layer: EdgeLayer) -> Iterator[StreamEdge]:
    edges = layer.edge.planes if isinstance(layer.edge, EdgeLayerPlanes) else (layer.edge,)
    for edge in edges:
        if edge is None or isinstance(edge, EdgeLayerPlanes):
            continue
        base = edge.edge_layer_base
        yield StreamEdge(
            edge.name,
            layer.direction == EdgeLayerDirection.HOST_TO_DEVICE,
            layer.context_switch_info.edge_connection_type,
            base.sys_index,
            base.core_bytes_per_buffer,
            base.core_buffers_per_frame,
            base.padded_width,
            base.padded_features,
            base.data_bytes,
            base.format,
        )
