"""Random post-process ops behind the outputs of a core op: net-flow groups as the compilers write them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from emu.hef import builder, model
from emu.hef.enums import DataType, EdgeConnectionType, EdgeLayerDirection, FormatOrder, FormatType, LogitsType
from emu.hef.formats import COMPILER_FORMAT_NMS

FIRST_INPUT_PAD = 1000  # of the ops; below are the core op's output pads


def pad(index: int, name: str = "") -> model.Pad:
    return model.Pad(
        index,
        name,
        FormatOrder.AUTO,
        DataType.UINT8,
        FormatType.AUTO,
        builder.numeric_info(0.0, 0.0, 0.0, 0.0),
        None,
    )


def yolov5(pads: list[int], anchors: list[int]) -> model.AnyNmsOp:
    decoders = tuple(model.YoloBboxDecoder(tuple(anchors), tuple(anchors), 8, source) for source in pads)
    return model.YoloNmsOp(64.0, 48.0, 1, decoders)


def yolov8(pads: list[int], anchors: list[int]) -> model.AnyNmsOp:
    decoders = tuple(model.Yolov8BboxDecoder(8, reg, cls) for reg, cls in zip(pads[::2], pads[1::2], strict=False))
    return model.Yolov8NmsOp(64.0, 48.0, 1, decoders, 16)


def yolox(pads: list[int], anchors: list[int]) -> model.AnyNmsOp:
    threes = zip(pads[::3], pads[1::3], pads[2::3], strict=False)
    return model.YoloxNmsOp(64.0, 48.0, tuple(model.YoloxBboxDecoder(8, *three) for three in threes))


def ssd(pads: list[int], anchors: list[int]) -> model.AnyNmsOp:
    boxes = tuple(1 / (1 << anchor % 4) for anchor in anchors)
    pairs = zip(pads[::2], pads[1::2], strict=False)
    decoders = tuple(model.SSDBboxDecoder(boxes, boxes, reg, cls) for reg, cls in pairs)
    return model.SSDNmsOp(64.0, 48.0, 10, 5, 0, 1, 2, 3, decoders)


# by the number of detector outputs that one decoder reads
PAIRED: dict[int, list[Callable[[list[int], list[int]], model.AnyNmsOp]]] = {2: [yolov8, ssd], 3: [yolox]}
DETECTOR = "/detector"  # in the name of outputs that belong to one decoder
ANCHORS = st.lists(st.integers(1, 500), min_size=1, max_size=3)


@st.composite
def nms_ops(draw: st.DrawFn, kind: model.AnyNmsOp) -> model.NmsOp:
    may_be_bbox_only = isinstance(kind, model.YoloNmsOp | model.Yolov8NmsOp)
    return model.NmsOp(
        nms_score_th=draw(st.floats(0, 1)),
        nms_iou_th=draw(st.floats(0, 1)),
        max_proposals_per_class=draw(st.integers(1, 100)),
        classes=draw(st.integers(1, 90)),
        background_removal=draw(st.booleans()),
        background_removal_index=0,
        bbox_decoding_only=may_be_bbox_only and draw(st.booleans()),
        nms_op=kind,
    )


def _outputs(core: model.CoreOp) -> list[model.EdgeLayer]:
    first = core.partial_core_ops[0].core_op if core.partial_core_ops else core
    return [
        layer
        for context in first.contexts
        for layer in context.metadata.edge_layers
        if layer.direction is EdgeLayerDirection.DEVICE_TO_HOST
        and layer.context_switch_info.edge_connection_type is EdgeConnectionType.BOUNDARY
    ]


@st.composite
def post_processed(draw: st.DrawFn, core: model.CoreOp) -> model.NetworkGroup:
    """The core op as a net-flow group: some of its outputs go through ops, whose names replace theirs."""
    outputs = [layer for layer in _outputs(core) if isinstance(layer.edge, model.EdgeLayerInfo)]
    first = core.partial_core_ops[0].core_op if core.partial_core_ops else core
    names = list(first.sorted_outputs_order)
    ops: list[model.Op] = []
    edges: list[tuple[int, int]] = []

    def add(body: model.NmsOp | model.LogitsOp, taken: list[model.EdgeLayer]) -> None:
        name = f"{core.network_group_metadata.network_group_name}/post{len(ops)}"
        pads = [FIRST_INPUT_PAD + layer.pad_index for layer in taken]
        ops.append(model.Op(name, tuple(pad(index) for index in pads), (pad(0, name),), body))
        edges.extend((layer.pad_index, index) for layer, index in zip(taken, pads, strict=True))
        for layer in taken:
            names.remove(layer.edge.name)
            outputs.remove(layer)
        names.append(name)

    detectors = [layer for layer in outputs if DETECTOR in layer.edge.name]
    if detectors:
        kind = draw(st.sampled_from(PAIRED[len(detectors)]))
        add(draw(nms_ops(kind([layer.pad_index for layer in detectors], draw(ANCHORS)))), detectors)
    for layer in list(outputs):
        if layer.edge.edge_layer_base.format == COMPILER_FORMAT_NMS:
            bodies = st.one_of(st.none(), nms_ops(model.IOUNmsOp()))
        else:
            bodies = st.one_of(
                st.none(),
                st.builds(model.LogitsOp, st.sampled_from(LogitsType)),
                ANCHORS.flatmap(lambda anchors, source=layer.pad_index: nms_ops(yolov5([source], anchors))),
            )
        body = draw(bodies)
        if body is not None:
            add(body, [layer])
    return builder.net_flow_group(core, ops, edges, sorted_outputs=draw(st.permutations(names)))
