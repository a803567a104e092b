"""Makes examples/configured.hef: its configuration is well formed, so that the device executes it (docs/chip.md).

    python examples/make_configured.py [FILE]

One context on cluster 4 of a Hailo-8: two LCUs, a compressed sequencer program in L3, a data block, the registers of an
input and an output stream, the crossbar between them, and the config-done records that the firmware waits for. What the
LCUs' instructions say is made up.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import HefContents, write_hef
from emu.hw.config import build
from emu.sequencer.configuration import HAILO8

NAME = "configured"
CLUSTER, CHANNEL, SYSTEM_CHANNEL = 4, 1, 0  # clusters 4 to 7 are configured by channel 1 (chip-config.md 4)
LCUS = (0, 3)
INPUT, OUTPUT = 1, 0  # sys_index
WIDTH, HEIGHT, FEATURES, CLASSES = 16, 8, 4, 10
TIMESTAMP_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z
PROGRAM_BLOCK, START_BLOCK, DATA_BLOCK = 0, 2, 16
NOTHING = 0x3F  # in a table of the crossbar


def ccw(records: Iterable[bytes], channel: int) -> list[ops.Action]:
    """Each record in an action of its own."""
    return [ops.ActionWriteDataCcw(record, channel) for record in records]


def await_done(*interrupts: int, channel: int) -> list[ops.Action]:
    """Raise config-dones, and wait for them."""
    raises = ccw([build.raised(HAILO8, interrupt) for interrupt in interrupts], channel)
    return [*raises, *(ops.ActionWaitForModuleConfigDone(interrupt) for interrupt in interrupts)]


def words(count: int, seed: int) -> list[int]:
    """Made-up words: multiples of the golden ratio in 32 bits."""
    return [(seed + index) * 2654435761 & 0xFFFFFFFF for index in range(count)]


def program_writes() -> Iterator[tuple[int, list[int]] | build.Scatter]:
    """What the cluster's program does: control, units over their bitmaps, buffers, then each LCU."""
    yield 0xE00000, words(64, 1)
    yield build.Scatter(1, 0x000000, words(2 * 7, 2))  # sub-clusters 0 and 1
    yield build.Scatter(2, 0xC00000, words(2 * 43, 3))  # APUs 0 and 1
    yield build.Scatter(4, 0x400000, words(2 * 6, 4))  # input aligners 0 and 1
    yield 0xA00000, words(8, 5)  # input buffer 0
    yield 0xB00000, words(8, 6)  # output buffer 0
    for lcu in LCUS:
        rows = [struct.pack("<15B", *((lcu + 7 * row + 3 * byte) % 256 for byte in range(15))) for row in range(400)]
        yield from ((address, list(data)) for address, data in build.lcu_writes(lcu, rows))


def crossbar() -> list[bytes]:
    """Input stream 1 to input buffer 4.0, output buffer 4.0 to output stream 0 (chip-config.md 7)."""
    tables = [[NOTHING] * 38 + [0] * 22 for _ in range(4)]
    # cluster 4 stands in table 2, a stream in table (sys_index modulo 4); links lead round the ring of tables
    source, sink, here = INPUT % 4, OUTPUT % 4, CLUSTER // 2
    tables[source][16] = 34 + INPUT // 4  # stream 1 enters table 1
    tables[here][0] = 24  # input buffer 4.0 reads the link that table 1 feeds
    tables[here][16] = 0  # output buffer 4.0 feeds the link that table 3 reads
    tables[3][16] = 24
    tables[sink][34] = 24
    return [
        build.record(HAILO8, 0x29040000 + 0x4000 * number, struct.pack("<60I", *table))
        for number, table in enumerate(tables)
    ]


def stream_registers() -> list[bytes]:
    """Geometry and rows of both streams, and which are in use (chip-config.md 7)."""
    block = [0] * 179
    block[INPUT] = HEIGHT << 16 | WIDTH * FEATURES
    block[OUTPUT] = 1 << 16 | 16
    return [
        build.record(HAILO8, 0x30000000, struct.pack("<179I", *block)),
        build.register(HAILO8, 0x202408E4, 1 << (INPUT >> 1) | 1 << (OUTPUT >> 1)),
    ]


def lcu_enable_address(lcu: int) -> int:
    return 0x108001DC + CLUSTER * 0x02000000 + lcu * 0x00020000


def enable(lcu: int) -> ops.Action:
    return ops.ActionEnableLcu(lcu, CLUSTER, 1, 2, lcu_enable_address(lcu), 0)


def preliminary() -> Iterator[ops.Operation]:
    """Everything that is configured, in the order in which compilers do it."""
    contents = build.program([PROGRAM_BLOCK], program_writes())
    symbols = build.symbols_for(b"".join(contents.values()))
    data = {DATA_BLOCK: struct.pack("<256I", *words(256, 7))}
    yield builder.operation(
        ops.TriggerNone(),
        *(ops.ActionDisableLcu(lcu, CLUSTER, lcu_enable_address(lcu)) for lcu in reversed(LCUS)),
        *ccw(build.symbol_tables(HAILO8, symbols)[:1], SYSTEM_CHANNEL),
        *ccw(build.symbol_tables(HAILO8, symbols)[1:], CHANNEL),
        *ccw(build.l3_records(CLUSTER, contents, symbols), CHANNEL),
        *ccw([build.start_record(CLUSTER, START_BLOCK, PROGRAM_BLOCK)], CHANNEL),
        *await_done(5 + CLUSTER, channel=CHANNEL),
        ops.ActionEnableSequencer(
            cluster_index=CLUSTER,
            initial_l3_legacy=0,
            initial_l3_info=ops.InitialL3(START_BLOCK, 0x7FC0, True),
            active_apu_bitmap=0x3,
            active_sc_bitmap=0x3,
            active_l2_bitmap=0,
            active_ia_bitmap=0x3,
            l2_write_0=0,
            l2_write_1=0,
            l2_write_2=0,
            l2_write_3=0,
        ),
        ops.ActionWaitForSequencer(CLUSTER),
    )
    yield builder.operation(
        ops.TriggerNone(),
        *ccw([*crossbar(), *stream_registers()], SYSTEM_CHANNEL),
        *ccw(build.l3_records(CLUSTER, data), CHANNEL),
        *await_done(18, 19, 17, channel=SYSTEM_CHANNEL),
        enable(LCUS[0]),
        *await_done(20, 21, channel=SYSTEM_CHANNEL),
        enable(LCUS[1]),
        *await_done(13, 14, channel=SYSTEM_CHANNEL),
    )


def edge_layers() -> list[model.EdgeLayer]:
    pixels = builder.numeric_info(zp=0.0, scale=1 / 255, limvals_max=1.0)
    logits = builder.numeric_info(zp=128.0, scale=0.0625, limvals_min=-8.0, limvals_max=7.9375)
    images = builder.layer_info(
        f"{NAME}/input_layer1", builder.layer_base(Shape(HEIGHT, WIDTH, FEATURES), sys_index=INPUT), pixels
    )
    base = builder.layer_base(
        Shape(1, 1, CLASSES),
        padded=Shape(1, 1, 16),
        format=builder.COMPILER_FORMAT_NC,
        sys_index=OUTPUT,
        core_bytes_per_buffer=16,
        core_buffers_per_frame=1,
    )
    classes = builder.layer_info(f"{NAME}/fc1", base, logits, original_names=["classes"])
    return [
        builder.edge_layer(images, EdgeLayerDirection.HOST_TO_DEVICE),
        builder.edge_layer(classes, EdgeLayerDirection.DEVICE_TO_HOST),
    ]


def contents() -> HefContents:
    boundary = EdgeConnectionType.BOUNDARY
    flow = [
        builder.operation(ops.TriggerNone(), ops.ActionAllowInputDataflow(INPUT, boundary)),
        builder.operation(ops.TriggerAllDataWasSentToHostPCIe(OUTPUT)),
    ]
    core_op = builder.core_op(
        NAME,
        [builder.context(flow, edge_layers())],
        preliminary=preliminary(),
        sorted_outputs=[f"{NAME}/fc1"],
        networks=[NAME],
        config_channels=2,
        bottleneck_fps=5000.0,
    )
    return builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core_op)], timestamp=TIMESTAMP_MS)


def main(argv: list[str]) -> None:
    path = Path(argv[1]) if len(argv) > 1 else Path(__file__).with_name(f"{NAME}.hef")
    path.write_bytes(write_hef(contents(), version=2))


if __name__ == "__main__":
    main(sys.argv)
