"""Makes examples/two_context.hef: the smallest network that shows a context switch on a Hailo-8.

    python examples/make_two_context.py [FILE]

A first context runs "conv1" and leaves its result in host memory (an inter-context edge); a second one takes it up
from there, runs "conv2" and sends the answer to the host:

    host ──input 32x32x3──► context 0: cluster 0, conv1 ──16x16x16──► context 1: cluster 1, conv2 ──8x8x10──► host

The structure is that of a compiler's file: CCW records that fill memories and registers, config-done marks that the
firmware waits for, sequencers, LCUs, triggers. Weights and programs are made up, so that the chip takes them as bytes
without meaning.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import HefContents, write_hef

NAME = "two_context"
INPUT, MIDDLE_OUT, MIDDLE_IN, OUTPUT = 0, 8, 1, 9  # stream indices (sys_index)
TIMESTAMP_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z

# Addresses and the record format: ccw.md. Cluster c owns the window at 0x10000000 + c * 0x02000000.
CLUSTER_STRIDE, LCU_STRIDE = 0x02000000, 0x00020000
LCU_PROGRAM, WEIGHTS, LCU_ENABLE = 0x11400000, 0x11408000, 0x108001DC
INPUT_TABLE, OUTPUT_TABLE = 0x20200000, 0x29040000
CONFIG_DONE = 0x00200680  # beside the real register (0x00200684): what this file writes is no real configuration


def ccw(address: int, words: list[int], channel: int = 0) -> ops.ActionWriteDataCcw:
    """One CCW record: count - 1, address, words, padding to 8 bytes."""
    data = struct.pack(f"<II{len(words)}I", len(words) - 1, address, *words)
    return ops.ActionWriteDataCcw(data + bytes(-len(data) % 8), channel)


def done(module: int, channel: int = 0) -> ops.ActionWriteDataCcw:
    """The mark behind a module's configuration."""
    return ccw(CONFIG_DONE, [1 << module], channel)


def pattern(count: int, seed: int) -> list[int]:
    """Made-up words: multiples of the golden ratio in 32 bits."""
    return [(seed + index) * 2654435761 & 0xFFFFFFFF for index in range(count)]


def lcu_enable_address(cluster: int, lcu: int) -> int:
    return LCU_ENABLE + cluster * CLUSTER_STRIDE + lcu * LCU_STRIDE


def disable_lcu(cluster: int, lcu: int) -> ops.ActionDisableLcu:
    return ops.ActionDisableLcu(lcu, cluster, lcu_enable_address(cluster, lcu))


def enable_lcu(cluster: int, lcu: int) -> ops.ActionEnableLcu:
    return ops.ActionEnableLcu(
        lcu_index=lcu,
        cluster_index=cluster,
        lcu_kernel_done_address=1,
        lcu_kernel_done_count=2,
        lcu_enable_address=lcu_enable_address(cluster, lcu),
        network_index=0,
    )


def enable_sequencer(cluster: int) -> ops.ActionEnableSequencer:
    return ops.ActionEnableSequencer(
        cluster_index=cluster,
        initial_l3_legacy=0,
        initial_l3_info=ops.InitialL3(0, 0x7FC0, True),
        active_apu_bitmap=0x3,
        active_sc_bitmap=0xF,
        active_l2_bitmap=0xFF,
        active_ia_bitmap=0x1,
        l2_write_0=0,
        l2_write_1=0,
        l2_write_2=0,
        l2_write_3=0,
    )


def preliminary() -> Iterator[ops.Operation]:
    """Once per activation: every LCU off, the boundary's tables written."""
    yield builder.operation(
        ops.TriggerNone(),
        *(disable_lcu(cluster, lcu) for cluster in (0, 1) for lcu in (0, 1)),
        ccw(INPUT_TABLE, pattern(24, seed=1)),
        ccw(OUTPUT_TABLE, pattern(60, seed=2), channel=1),
        done(9),
        ops.ActionWaitForModuleConfigDone(9),
    )


def operations(cluster: int, stream: int, connection: EdgeConnectionType, output: int) -> Iterator[ops.Operation]:
    """A context: configure one cluster, let the data in, wait for its two LCUs and for the last output byte."""
    window = cluster * CLUSTER_STRIDE
    yield builder.operation(
        ops.TriggerNone(),
        ccw(LCU_PROGRAM + window, pattern(62, seed=10 + cluster)),
        ccw(WEIGHTS + window, pattern(288, seed=20 + cluster), channel=1),
        done(10),
        done(11, channel=1),
        ops.ActionWaitForModuleConfigDone(10),
        ops.ActionWaitForModuleConfigDone(11),
        enable_sequencer(cluster),
        ops.ActionWaitForSequencer(cluster),
        enable_lcu(cluster, 0),
        enable_lcu(cluster, 1),
        ops.ActionAllowInputDataflow(stream, connection),
    )
    for lcu in (0, 1):
        yield builder.operation(ops.TriggerLcu(cluster, lcu), disable_lcu(cluster, lcu))
    yield builder.operation(ops.TriggerAllDataWasSentToHostPCIe(output))


def edge_layers() -> tuple[list[model.EdgeLayer], list[model.EdgeLayer]]:
    """The layers of both contexts; the middle one stands in both, as output and as input."""
    h2d, d2h = EdgeLayerDirection.HOST_TO_DEVICE, EdgeLayerDirection.DEVICE_TO_HOST
    inter = EdgeConnectionType.INTERMEDIATE
    pixels = builder.numeric_info(zp=0.0, scale=1 / 255, limvals_max=1.0)
    logits = builder.numeric_info(zp=128.0, scale=0.0625, limvals_min=-8.0, limvals_max=7.9375)
    first = builder.layer_info(
        f"{NAME}/input_layer1",
        builder.layer_base(Shape(32, 32, 3), sys_index=INPUT),
        pixels,
        original_names=["images"],
    )
    middle = builder.layer_base(Shape(16, 16, 16), sys_index=MIDDLE_OUT)
    last = builder.layer_info(
        f"{NAME}/conv2",
        builder.layer_base(Shape(8, 8, 10), sys_index=OUTPUT),
        logits,
        original_names=["conv2", "logits"],
    )
    return (
        [
            builder.edge_layer(first, h2d),
            builder.edge_layer(
                builder.layer_info(f"{NAME}/conv1", middle), d2h, connection=inter, connected=[(1, MIDDLE_IN)]
            ),
        ],
        [
            builder.edge_layer(
                builder.layer_info(f"{NAME}/conv1_to_conv2", replace(middle, sys_index=MIDDLE_IN)),
                h2d,
                context_index=1,
                connection=inter,
                connected=[(0, MIDDLE_OUT)],
            ),
            builder.edge_layer(last, d2h, context_index=1),
        ],
    )


def contents() -> HefContents:
    first_layers, second_layers = edge_layers()
    boundary, inter = EdgeConnectionType.BOUNDARY, EdgeConnectionType.INTERMEDIATE
    core_op = builder.core_op(
        NAME,
        [
            builder.context(operations(0, INPUT, boundary, MIDDLE_OUT), first_layers, index=0),
            builder.context(operations(1, MIDDLE_IN, inter, OUTPUT), second_layers, index=1),
        ],
        preliminary=preliminary(),
        sorted_outputs=[f"{NAME}/conv2"],
        networks=[NAME],
        config_channels=2,
        bottleneck_fps=4000.0,
    )
    return builder.hef_contents(
        HwArch.HAILO8P,
        [builder.network_group(core_op)],
        extensions=[ExtensionType.IS_MULTI_CONTEXTS],
        optional_extensions=[ExtensionType.HW_PADDING],
        timestamp=TIMESTAMP_MS,
    )


def main(argv: list[str]) -> None:
    path = Path(argv[1]) if len(argv) > 1 else Path(__file__).with_name(f"{NAME}.hef")
    path.write_bytes(write_hef(contents(), version=2))


if __name__ == "__main__":
    main(sys.argv)
