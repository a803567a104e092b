"""Post-process ops of a net-flow network group: what they read, what they return, how the runtime describes them.

netflow-nms.md 1 (how an op is connected), stream-infos.md 5 (its vstream), fw-trace.md 1 (its description).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.enums import LogitsType
from emu.hef.formats import (
    IDENTITY_QUANT_INFO,
    UINT32_MAX,
    Format,
    FormatOrder,
    FormatType,
    NmsShape,
    QuantInfo,
    Shape,
    binary32,
    default_host_order,
    shortest_binary32,
)
from emu.hef.layers import LayerInfo
from emu.hef.runtime import Runtime, library_rules


class OpKind(Enum):
    """The runtime's op types: (its word for the type, its name of the op)."""

    YOLOV5 = ("YOLOV5", "YOLOv5-Post-Process")
    YOLOV5_BBOX_ONLY = ("YOLOV5", "YOLOv5Bbox-Only-Post-Process")
    YOLOV5SEG = ("YOLOV5SEG", "YOLOv5Seg-Post-Process")
    YOLOV8 = ("YOLOV8", "YOLOV8-Post-Process")
    YOLOV8_BBOX_ONLY = ("YOLOV8", "YOLOv8Bbox-Only-Post-Process")
    YOLOX = ("YOLOX", "YOLOX-Post-Process")
    SSD = ("SSD", "SSD-Post-Process")
    IOU = ("IOU", "IoU-Post-Process")
    ARGMAX = ("ARGMAX", "Argmax-Post-Process")
    SOFTMAX = ("SOFTMAX", "Softmax-Post-Process")

    @property
    def type_name(self) -> str:
        return self.value[0]

    @property
    def op_name(self) -> str:
        return self.value[1]


BBOX_ONLY_KINDS = frozenset({OpKind.YOLOV5_BBOX_ONLY, OpKind.YOLOV8_BBOX_ONLY})


class OpInfo(Struct, frozen=True):
    """One op and its output vstream.

    `inputs` are the core op's output layers by stream name, sorted by name (the runtime keeps a map); `inputs_by_pad`
    the same layers by the core-op output pad that decoders refer to. `nms_shape` is set for NMS outputs, `shape` for
    all others.
    """

    op: model.Op
    kind: OpKind
    inputs: Mapping[str, LayerInfo]
    inputs_by_pad: Mapping[int, LayerInfo]
    output_name: str
    format: Format
    shape: Shape | None
    nms_shape: NmsShape | None
    quant_info: QuantInfo
    description: str


def group_ops(group: model.NetworkGroup, outputs: Iterable[LayerInfo], runtime: Runtime) -> tuple[OpInfo, ...]:
    """The ops of a group in file order; `outputs` are the core op's boundary outputs.

    Raises HAILO_INVALID_HEF for an op that is not connected or contradicts itself, HAILO_INTERNAL_FAILURE for one of
    a kind that the runtime does not know.
    """
    by_pad: dict[int, LayerInfo] = {}
    for layer in outputs:
        if layer.pad_index is not None:
            by_pad[layer.pad_index] = layer
    sources: dict[int, int] = {}
    for edge in group.pad_edges:
        sources.setdefault(edge.dst, edge.src)  # the first entry wins
    infos = []
    for op in group.ops:
        if isinstance(op.op, model.NmsOp):
            connected = _connect(op, sources, by_pad, "NMS")
            _check_decoders(op, op.op.nms_op, by_pad, connected)
            infos.append(_nms_op(op, op.op, connected, runtime))
        elif isinstance(op.op, model.LogitsOp):
            infos.append(_logits_op(op, op.op, sources, by_pad))
        elif op.op is None:
            raise _refuse(HailoStatus.HAILO_INTERNAL_FAILURE, "an op without a type", op)
    return tuple(infos)


def _refuse(status: HailoStatus, message: str, op: model.Op) -> HailoError:
    return HailoError(status, message, op=op.name[:80])


def _invalid(message: str, op: model.Op) -> HailoError:
    return _refuse(HailoStatus.HAILO_INVALID_HEF, message, op)


def _connect(
    op: model.Op, sources: Mapping[int, int], by_pad: Mapping[int, LayerInfo], kind: str
) -> dict[int, LayerInfo]:
    """The core op's output layers that feed an op, by core-op output pad in order of the op's input pads."""
    connected: dict[int, LayerInfo] = {}
    for pad in op.input_pads:
        source = sources.get(pad.index)
        if source is None:
            raise _invalid(f"{kind} op is not connected: no pad edge leads to its input pad {pad.index}", op)
        layer = by_pad.get(source)
        if layer is None:
            raise _invalid(f"pad {source} is not connected to any core output stream", op)
        connected[source] = layer
    return connected


def _output_name(op: model.Op) -> str:
    if not op.output_pads:
        raise _invalid("an op without an output pad", op)
    return op.output_pads[0].name


def _by_name(layers: Mapping[int, LayerInfo]) -> dict[str, LayerInfo]:
    return {layer.name: layer for layer in sorted(layers.values(), key=lambda layer: layer.name.encode())}


def _nms_op(op: model.Op, nms: model.NmsOp, connected: dict[int, LayerInfo], runtime: Runtime) -> OpInfo:
    kind = _nms_kind(op, nms)
    inputs = _by_name(connected)
    classes = nms.classes
    reported = classes - 1 if nms.background_removal else classes
    nms_shape: NmsShape | None = NmsShape(
        max(reported, 0), nms.max_proposals_per_class, nms.max_proposals_per_class * classes
    )
    shape: Shape | None = None
    output = Format(FormatType.FLOAT32, FormatOrder.HAILO_NMS_BY_CLASS)
    if kind in BBOX_ONLY_KINDS:
        nms_shape, shape = None, _bbox_only_shape(op, nms, connected)
        output = Format(FormatType.FLOAT32, FormatOrder.NHWC)
    elif isinstance(nms.nms_op, model.YoloSegNmsOp):
        # netflow-nms.md 9.3: room for the masks, and a type that says less than the layout
        rules = library_rules(runtime.name)
        mask_type = FormatType.FLOAT32 if rules.packed_floats else FormatType.UINT8
        mask_size = _image_pixels(op, nms.nms_op) * rules.mask_bytes_per_pixel
        nms_shape = NmsShape(
            max(reported, 0), nms.max_proposals_per_class, nms.max_proposals_per_class * classes, mask_size
        )
        output = Format(mask_type, FormatOrder.HAILO_NMS_WITH_BYTE_MASK)
    return OpInfo(
        op=op,
        kind=kind,
        inputs=inputs,
        inputs_by_pad=connected,
        output_name=_output_name(op),
        format=output,
        shape=shape,
        nms_shape=nms_shape,
        quant_info=IDENTITY_QUANT_INFO,
        description=_describe_nms(kind, nms),
    )


def _image_pixels(op: model.Op, nms: model.YoloSegNmsOp) -> int:
    height, width = binary32(nms.image_height), binary32(nms.image_width)
    if not (0 <= height <= UINT32_MAX and 0 <= width <= UINT32_MAX):
        raise _invalid(f"an image of {height:g} x {width:g} pixels", op)
    return int(height) * int(width)


def _nms_kind(op: model.Op, nms: model.NmsOp) -> OpKind:
    match nms.nms_op:
        case model.YoloNmsOp():
            return OpKind.YOLOV5_BBOX_ONLY if nms.bbox_decoding_only else OpKind.YOLOV5
        case model.Yolov8NmsOp():
            return OpKind.YOLOV8_BBOX_ONLY if nms.bbox_decoding_only else OpKind.YOLOV8
        case model.YoloSegNmsOp():
            return OpKind.YOLOV5SEG
        case model.YoloxNmsOp():
            return OpKind.YOLOX
        case model.SSDNmsOp():
            return OpKind.SSD
        case model.IOUNmsOp():
            return OpKind.IOU
        case _:
            raise _refuse(HailoStatus.HAILO_INTERNAL_FAILURE, "an NMS op without a kind", op)


def _check_decoders(
    op: model.Op,
    nms: model.AnyNmsOp | None,
    outputs: Mapping[int, LayerInfo],
    inputs: Mapping[int, LayerInfo],
) -> None:
    """What the runtime checks while it reads the decoders: every pad must be an output of the core op (it would throw
    from a map); whether it is an input of the op, `emu.hef.op_checks` says."""
    if isinstance(nms, model.YoloNmsOp | model.YoloSegNmsOp):
        for decoder in nms.bbox_decoders:
            if len(decoder.h) != len(decoder.w):
                raise _invalid(f"a decoder with {len(decoder.h)} anchor heights and {len(decoder.w)} anchor widths", op)
            _check_pad(op, decoder.pad_index, outputs)
    elif isinstance(nms, model.Yolov8NmsOp | model.SSDNmsOp | model.YoloxNmsOp):
        for pair in nms.bbox_decoders:
            _check_pad(op, pair.reg_pad_index, outputs)
            _check_pad(op, pair.cls_pad_index, outputs)
            if isinstance(pair, model.YoloxBboxDecoder):
                _check_pad(op, pair.obj_pad_index, outputs)
            elif isinstance(pair, model.SSDBboxDecoder) and len(pair.h) != len(pair.w):
                raise _invalid(f"a decoder with {len(pair.h)} anchor heights and {len(pair.w)} anchor widths", op)
    names = {layer.name for layer in inputs.values()}
    if isinstance(nms, model.YoloSegNmsOp) and nms.proto_info.proto_layer not in names:
        raise _invalid(f"proto_layer {nms.proto_info.proto_layer!r} is not an input of the op", op)


def _check_pad(op: model.Op, pad: int, outputs: Mapping[int, LayerInfo]) -> None:
    if pad not in outputs:
        raise _invalid(f"a decoder reads pad {pad}, the core op's outputs are pads {sorted(outputs)}", op)


def _bbox_only_shape(op: model.Op, nms: model.NmsOp, connected: Mapping[int, LayerInfo]) -> Shape:
    """{1, proposals, values per proposal} (netflow-nms.md 4 and 7)."""
    if isinstance(nms.nms_op, model.YoloNmsOp):
        anchors: dict[int, int] = {}
        for decoder in nms.nms_op.bbox_decoders:
            anchors.setdefault(decoder.pad_index, len(decoder.w))
        proposals = 0
        for pad, layer in connected.items():
            if pad not in anchors:
                raise _invalid(f"no decoder reads its input pad {pad} (the real runtime crashes on it)", op)
            proposals += layer.shape.height * layer.shape.width * anchors[pad]
        return Shape(1, proposals, 5 + nms.classes)
    cells = sum(layer.shape.height * layer.shape.width for layer in connected.values())
    return Shape(1, cells // 2, 4 + nms.classes)  # half of the cells: every decoder has a reg and a cls layer


def _logits_op(
    op: model.Op, logits: model.LogitsOp, sources: Mapping[int, int], by_pad: Mapping[int, LayerInfo]
) -> OpInfo:
    if logits.logits_type not in (LogitsType.ARGMAX, LogitsType.SOFTMAX):
        raise _refuse(HailoStatus.HAILO_INTERNAL_FAILURE, f"logits_type {int(logits.logits_type)} is unknown", op)
    if len(op.input_pads) != 1:
        raise _invalid(f"a logits op has 1 input, this one {len(op.input_pads)}", op)
    if len(op.output_pads) != 1:
        raise _invalid(f"a logits op has 1 output, this one {len(op.output_pads)}", op)
    connected = _connect(op, sources, by_pad, "logits")
    (layer,) = connected.values()
    name = _output_name(op)
    if logits.logits_type == LogitsType.ARGMAX:
        kind, output, shape = OpKind.ARGMAX, *_argmax_output(op, layer)
    else:
        kind, shape = OpKind.SOFTMAX, layer.shape
        output = Format(FormatType.FLOAT32, default_host_order(layer.format.order))
    return OpInfo(
        op=op,
        kind=kind,
        inputs=_by_name(connected),
        inputs_by_pad=connected,
        output_name=name,
        format=output,
        shape=shape,
        nms_shape=None,
        quant_info=layer.quant_info,
        description=f"{kind.type_name} Op, Name: {kind.op_name}",
    )


def _argmax_output(op: model.Op, layer: LayerInfo) -> tuple[Format, Shape]:
    """Format from the output pad, AUTO expanded; one element per pixel."""
    pad = op.output_pads[0]
    try:
        order, kind = FormatOrder(pad.format_order), FormatType(pad.format_type)
    except ValueError:
        raise _invalid(
            f"output pad with format_order {int(pad.format_order)} and format_type {int(pad.format_type)}", op
        ) from None
    if order is FormatOrder.AUTO:
        order = FormatOrder.NC if layer.format.order is FormatOrder.NC else FormatOrder.NHW
    if kind is FormatType.AUTO:
        kind = layer.format.type
    return Format(kind, order), Shape(layer.shape.height, layer.shape.width, 1)


def _describe_nms(kind: OpKind, nms: model.NmsOp) -> str:
    head = f"Op {kind.type_name}, Name: {kind.op_name}, "
    nms_op = nms.nms_op
    if isinstance(nms_op, model.IOUNmsOp) or nms_op is None:
        return head + _describe_config(kind, nms)
    image = f"Image height: {_number(nms_op.image_height)}, Image width: {_number(nms_op.image_width)}"
    if kind in BBOX_ONLY_KINDS:
        return f"{head}Classes: {nms.classes}, {image}"
    text = f"{head}{_describe_config(kind, nms)}, {image}"
    if isinstance(nms_op, model.YoloSegNmsOp):
        text += f", Mask threshold: {binary32(nms_op.mask_threshold):.2f}"
    elif isinstance(nms_op, model.SSDNmsOp):
        text += (
            f", Centers scales factor: {nms_op.centers_scale_factor}"
            f", Bbox dimension scale factor: {nms_op.bbox_dimensions_scale_factor}, Normalize boxes: false"
        )
    return text


def _describe_config(kind: OpKind, nms: model.NmsOp) -> str:
    parts = [
        f"Score threshold: {binary32(nms.nms_score_th):.3f}",
        f"IoU threshold: {binary32(nms.nms_iou_th):.2f}",
        f"Classes: {nms.classes}",
    ]
    if kind is OpKind.YOLOV5SEG:
        parts.append(f"Max bboxes total: {nms.max_proposals_per_class * nms.classes}")
    else:
        parts.append(f"Max bboxes per class: {nms.max_proposals_per_class}")
    if nms.background_removal:
        parts.append(f"Background removal index: {nms.background_removal_index}")
    return ", ".join(parts)


def _number(value: float) -> str:
    """A float as `{}` of the fmt library prints it: the shortest binary32 decimal, without a fraction if whole."""
    value = shortest_binary32(value)
    return str(int(value)) if value.is_integer() else str(value)
