"""A made-up HEF of as many contexts as wanted: the ones of examples/two_context.hef in a chain."""

from __future__ import annotations

from msgspec.structs import replace

from emu.hef import builder
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from tests.scripts import script


def many_contexts(count: int) -> bytes:
    """Context 0 takes the input, the last one gives the output, each hands its result on to the next."""
    made = script("examples/make_two_context.py")
    h2d, d2h = EdgeLayerDirection.HOST_TO_DEVICE, EdgeLayerDirection.DEVICE_TO_HOST
    inter = EdgeConnectionType.INTERMEDIATE
    first, last = made.edge_layers()
    middle = builder.layer_base(Shape(16, 16, 16), sys_index=made.MIDDLE_OUT)
    contexts = []
    for index in range(count):
        is_first, is_last = index == 0, index == count - 1
        takes = builder.edge_layer(
            builder.layer_info(f"{made.NAME}/into{index}", replace(middle, sys_index=made.MIDDLE_IN)),
            h2d,
            context_index=index,
            connection=inter,
            connected=[(index - 1, made.MIDDLE_OUT)],
        )
        gives = builder.edge_layer(
            builder.layer_info(f"{made.NAME}/from{index}", middle),
            d2h,
            context_index=index,
            connection=inter,
            connected=[(index + 1, made.MIDDLE_IN)],
        )
        layers = [first[0] if is_first else takes]
        layers.append(builder.edge_layer(last[1].edge, d2h, context_index=index) if is_last else gives)
        stream, connection = (made.INPUT, EdgeConnectionType.BOUNDARY) if is_first else (made.MIDDLE_IN, inter)
        output = made.OUTPUT if is_last else made.MIDDLE_OUT
        contexts.append(builder.context(made.operations(index % 2, stream, connection, output), layers, index=index))
    core_op = builder.core_op(
        made.NAME,
        contexts,
        preliminary=made.preliminary(),
        sorted_outputs=[f"{made.NAME}/conv2"],
        networks=[made.NAME],
        config_channels=2,
        bottleneck_fps=4000.0,
    )
    contents = builder.hef_contents(
        HwArch.HAILO8P,
        [builder.network_group(core_op)],
        extensions=[ExtensionType.IS_MULTI_CONTEXTS],
        optional_extensions=[ExtensionType.HW_PADDING],
        timestamp=made.TIMESTAMP_MS,
    )
    return write_hef(contents, version=2)
