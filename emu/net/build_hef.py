"""Writes chains of integer layers, one a context, as a Hailo-8 HEF that the device configures and computes.

Every context configures the same cluster, over what the one before left there, and takes its frames from the host or
from the context before.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import HefContents
from emu.hw.config import build
from emu.hw.config.routing import NOTHING
from emu.net.build import IntegerLayer, cluster_writes
from emu.net.weights import OUTPUTS
from emu.sequencer.configuration import HAILO8

_START_BLOCK, _FIRST_BLOCK, _BLOCKS = 64, 0, 32  # of L3: where the trigger starts, and the program
_CLUSTER, _CHANNEL, _SYSTEM_CHANNEL = 4, 1, 0  # clusters 4 to 7 are configured by channel 1 (chip-config.md 4)
_HOST_INPUT, _HOST_OUTPUT, _TAKEN, _LEFT = 1, 0, 5, 4  # sys_index: of the host, and of frames between contexts
_LINKED = 2  # the table of clusters 4 and 5: inputs come by the table before it, outputs go by that behind it


@dataclass(frozen=True, slots=True)
class Quantised:
    """A stream: shape in elements, zero point and scale of its codes."""

    name: str
    shape: Shape
    zero_point: int
    scale: float


@dataclass(frozen=True, slots=True)
class _Stage:
    """One context: its layers, and the streams that it reads and gives, each with its index in the system."""

    number: int
    layers: Sequence[IntegerLayer]
    source: Quantised
    source_index: int
    result: Quantised
    result_index: int
    disabled: int  # LCUs of the cluster that any context uses
    kernel_done_count: int  # a frame; LCUs that switch_lcu_batch names count to none (hef-compile.md 2.2)


def hef_contents(
    name: str, contexts: Sequence[Sequence[IntegerLayer]], streams: Sequence[Quantised], timestamp: int
) -> HefContents:
    """A Hailo-8 HEF that holds a chain of layers in each context.

    `streams` has one more element than `contexts`: what the host gives, what goes from each context to the next, what
    the host gets. `timestamp` in ms. ValueError for a chain that does not fit a cluster, or another number of streams.
    """
    if not contexts or len(streams) != len(contexts) + 1:
        raise ValueError(f"{len(contexts)} contexts and {len(streams)} streams: there is one between each two")
    last, most = len(contexts) - 1, max(len(layers) for layers in contexts)
    stages = [
        _Stage(
            number,
            layers,
            streams[number],
            _TAKEN if number else _HOST_INPUT,
            streams[number + 1],
            _HOST_OUTPUT if number == last else _LEFT,
            most,
            0 if last else 2,
        )
        for number, layers in enumerate(contexts)
    ]
    first = stages[0]
    core_op = builder.core_op(
        name,
        [
            builder.context(list(_flow(stage, configures=last > 0)), _edges(stage, last), index=stage.number)
            for stage in stages
        ],
        preliminary=[_switched_off(most)] if last else list(_configured(first)),
        sorted_outputs=[streams[-1].name],
        networks=[name],
        config_channels=2,
        bottleneck_fps=5000.0,
    )
    return builder.hef_contents(
        HwArch.HAILO8P,
        [builder.network_group(core_op)],
        extensions=[ExtensionType.IS_MULTI_CONTEXTS] if last else [],
        timestamp=timestamp,
    )


# --- operations -------------------------------------------------------------------------------------------------------


def _flow(stage: _Stage, configures: bool) -> Iterator[ops.Operation]:
    """The dynamic list of a context; of several each configures the chip."""
    if configures:
        yield from _configured(stage)
    connection = EdgeConnectionType.INTERMEDIATE if stage.number else EdgeConnectionType.BOUNDARY
    yield builder.operation(ops.TriggerNone(), ops.ActionAllowInputDataflow(stage.source_index, connection))
    # of several contexts each leaves its LCUs disabled
    left = _disabled(len(stage.layers)) if configures else []
    yield builder.operation(ops.TriggerAllDataWasSentToHostPCIe(stage.result_index), *left)


def _configured(stage: _Stage) -> Iterator[ops.Operation]:
    """Everything that is configured, in the order in which compilers do it (chip-config.md 4, 6)."""
    count = len(stage.layers)
    contents = build.program(range(_FIRST_BLOCK, _BLOCKS), cluster_writes(stage.layers))
    symbols = build.symbols_for(b"".join(contents.values()))
    tables = build.symbol_tables(HAILO8, symbols)
    active = (1 << count) - 1
    yield builder.operation(
        ops.TriggerNone(),
        *_disabled(stage.disabled),
        *_ccw(tables[:1], _SYSTEM_CHANNEL),
        *_ccw(tables[1:], _CHANNEL),
        *_ccw(build.l3_records(_CLUSTER, contents, symbols), _CHANNEL),
        *_ccw([build.start_record(_CLUSTER, _START_BLOCK, _FIRST_BLOCK)], _CHANNEL),
        *_done(5 + _CLUSTER, channel=_CHANNEL),
        ops.ActionEnableSequencer(
            cluster_index=_CLUSTER,
            initial_l3_legacy=0,
            initial_l3_info=ops.InitialL3(_START_BLOCK, 0x7FC0, True),
            active_apu_bitmap=active,
            active_sc_bitmap=active,
            active_l2_bitmap=0,
            active_ia_bitmap=active,
            l2_write_0=0,
            l2_write_1=0,
            l2_write_2=0,
            l2_write_3=0,
        ),
        ops.ActionWaitForSequencer(_CLUSTER),
    )
    group = -(-count // 4)
    steps: list[ops.Action] = [*_ccw([*_crossbar(stage), *_stream_registers(stage)], _SYSTEM_CHANNEL)]
    for number, waits in enumerate(((18, 19, 17), (20, 21), (22, 23), (24, 25))[: -(-count // group)]):
        steps += _done(*waits, channel=_SYSTEM_CHANNEL)
        steps += [
            ops.ActionEnableLcu(lcu, _CLUSTER, 1, stage.kernel_done_count, _enable_address(lcu), 0)
            for lcu in range(number * group, min((number + 1) * group, count))
        ]
    yield builder.operation(ops.TriggerNone(), *steps, *_done(13, 14, channel=_SYSTEM_CHANNEL))


def _switched_off(count: int) -> ops.Operation:
    """The preliminary list of several contexts: all LCUs off, and named for batches."""
    named = (ops.ActionSwitchLcuBatch(lcu, _CLUSTER, 0) for lcu in range(count))
    return builder.operation(ops.TriggerNone(), *_disabled(count), *named)


def _disabled(count: int) -> list[ops.Action]:
    return [ops.ActionDisableLcu(lcu, _CLUSTER, _enable_address(lcu)) for lcu in reversed(range(count))]


def _ccw(records: Iterable[bytes], channel: int) -> list[ops.Action]:
    """Each record in an action of its own."""
    return [ops.ActionWriteDataCcw(record, channel) for record in records]


def _done(*interrupts: int, channel: int) -> list[ops.Action]:
    """Raise config-dones, and wait for them."""
    raises = _ccw([build.raised(HAILO8, interrupt) for interrupt in interrupts], channel)
    return [*raises, *(ops.ActionWaitForModuleConfigDone(interrupt) for interrupt in interrupts)]


def _enable_address(lcu: int) -> int:
    return 0x108001DC + _CLUSTER * 0x02000000 + lcu * 0x00020000


# --- streams ----------------------------------------------------------------------------------------------------------


def _crossbar(stage: _Stage) -> list[bytes]:
    """The input stream to input buffer 4.0, output buffer 4.0 to the output stream (chip-config.md 7)."""
    tables = [[NOTHING] * 38 + [0] * 22 for _ in range(4)]
    tables[stage.source_index % 4][16] = 34 + stage.source_index // 4
    tables[_LINKED][0] = 24  # reads the link that table 1 feeds
    tables[_LINKED][16] = 0  # feeds the link that table 3 reads
    tables[3][16] = 24
    tables[stage.result_index % 4][34 + stage.result_index // 4] = 24
    return [
        build.record(HAILO8, 0x29040000 + 0x4000 * number, struct.pack("<60I", *table))
        for number, table in enumerate(tables)
    ]


def _stream_registers(stage: _Stage) -> list[bytes]:
    block = [0] * 179
    used = 0
    for base in (_input_base(stage), _output_base(stage.result, stage.result_index)):
        block[base.sys_index] = base.core_buffers_per_frame << 16 | base.core_bytes_per_buffer
        used |= 1 << (base.sys_index >> 1)
    return [
        build.record(HAILO8, 0x30000000, struct.pack("<179I", *block)),
        build.register(HAILO8, 0x202408E4, used),
    ]


def _input_base(stage: _Stage) -> model.EdgeLayerBase:
    if not stage.number:
        return builder.layer_base(stage.source.shape, sys_index=stage.source_index)
    return _output_base(stage.source, stage.source_index)  # as the context before left it


def _output_base(stream: Quantised, sys_index: int) -> model.EdgeLayerBase:
    """A vector in one buffer, a map row by row; features filled up to whole groups of eight."""
    shape = stream.shape
    features = -(-shape.features // OUTPUTS) * OUTPUTS
    if shape.height == shape.width == 1:
        return builder.layer_base(
            shape,
            padded=Shape(1, 1, features),
            format=builder.COMPILER_FORMAT_NC,
            sys_index=sys_index,
            core_bytes_per_buffer=features,
            core_buffers_per_frame=1,
        )
    padded = Shape(shape.height, -(-shape.width // 8) * 8, features)
    return builder.layer_base(shape, padded=padded, sys_index=sys_index)


def _edges(stage: _Stage, last: int) -> list[model.EdgeLayer]:
    number = stage.number
    name = f"{stage.source.name}_taken" if number else stage.source.name
    source = builder.layer_info(name, _input_base(stage), _quantisation(stage.source))
    base = _output_base(stage.result, stage.result_index)
    result = builder.layer_info(stage.result.name, base, _quantisation(stage.result))
    between = EdgeConnectionType.INTERMEDIATE
    into, out = EdgeLayerDirection.HOST_TO_DEVICE, EdgeLayerDirection.DEVICE_TO_HOST
    return [
        builder.edge_layer(source, into, context_index=number, connection=between, connected=[(number - 1, _LEFT)])
        if number
        else builder.edge_layer(source, into),
        builder.edge_layer(result, out, context_index=number, connection=between, connected=[(number + 1, _TAKEN)])
        if number < last
        else builder.edge_layer(result, out, context_index=number),
    ]


def _quantisation(stream: Quantised) -> model.EdgeLayerNumericInfo:
    low, high = -stream.zero_point * stream.scale, (255 - stream.zero_point) * stream.scale
    return builder.numeric_info(zp=float(stream.zero_point), scale=stream.scale, limvals_min=low, limvals_max=high)
