"""Whether the host's side of a HEF makes sense: post-process ops against the streams they read and the picture.

The runtime decodes with whatever an op says (netflow-nms.md 3 to 8, stream-infos.md 9): numbers that do not fit give
boxes of the wrong size, or none, and no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emu.errors import EmuError
from emu.hef import model
from emu.hef.formats import FormatOrder, binary32
from emu.hef.hef import Hef
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.hef.layers import LayerInfo
from emu.hef.ops import OpInfo

_YOLOV5_ENTRIES = 5  # box and objectness
_MASK_COEFFICIENTS = 32
# the host shape of a 4:2:0 picture has half the luma's rows (transforms.md 4)
_YUV_ORDERS = frozenset({FormatOrder.NV12, FormatOrder.NV21, FormatOrder.I420})


def implausible(hef: Hef) -> list[str]:
    """One sentence per contradiction, with the numbers; empty for a sound file and for one that does not load."""
    try:
        groups = hef_infos(hef).network_groups
    except EmuError:
        return []
    return [text for group in groups for op in group.ops for text in _op(group, op)]


def _op(group: NetworkGroupInfo, op: OpInfo) -> Iterator[str]:
    body = op.op.op
    if not isinstance(body, model.NmsOp):
        return
    name = op.output_name
    kind = body.nms_op
    for what, value in (("score", body.nms_score_th), ("IoU", body.nms_iou_th)):
        if not 0 <= value <= 1:
            yield f"{name}: {what} threshold {value:g} is not within 0..1"
    if isinstance(kind, model.YoloSegNmsOp) and not 0 <= kind.mask_threshold <= 1:
        yield f"{name}: mask threshold {kind.mask_threshold:g} is not within 0..1"
    if body.max_proposals_per_class < 1 and not body.bbox_decoding_only:
        yield f"{name}: at most {body.max_proposals_per_class} boxes per class: none comes out"
    yield from _channels(op, body)
    yield from _image(group, op)


def _channels(op: OpInfo, body: model.NmsOp) -> Iterator[str]:
    """Classes, anchors and the features of the layers they are read from."""
    for pad, expected, reading in _expected_features(body):
        layer = op.inputs_by_pad.get(pad)
        if layer is not None and layer.shape.features != expected:
            yield f"{op.output_name}: {layer.name} has {layer.shape.features} channels, {reading} need {expected}"


def _expected_features(body: model.NmsOp) -> Iterator[tuple[int, int, str]]:
    """(pad, channels, what they are) of every layer of a detection op."""
    classes = body.classes
    match body.nms_op:
        case model.YoloNmsOp(bbox_decoders=anchored) | model.YoloSegNmsOp(bbox_decoders=anchored):
            extra = _MASK_COEFFICIENTS if isinstance(body.nms_op, model.YoloSegNmsOp) else 0
            for one in anchored:
                entry = _YOLOV5_ENTRIES + classes + extra
                reading = f"{len(one.w)} anchors of {entry} values ({classes} classes)"
                yield one.pad_index, len(one.w) * entry, reading
        case model.Yolov8NmsOp(bbox_decoders=pairs):
            for pair in pairs:
                yield pair.cls_pad_index, classes, f"{classes} classes"
        case model.YoloxNmsOp(bbox_decoders=triples):
            for three in triples:
                yield three.cls_pad_index, classes, f"{classes} classes"
                yield three.reg_pad_index, 4, "boxes"
                yield three.obj_pad_index, 1, "objectness values"
        case model.SSDNmsOp(bbox_decoders=boxes):
            for box in boxes:
                anchors = len(box.w)
                yield box.cls_pad_index, anchors * classes, f"{anchors} anchors of {classes} classes"
                yield box.reg_pad_index, anchors * 4, f"{anchors} anchors of 4 values"
        case _:
            return


def picture_sizes(group: NetworkGroupInfo) -> list[tuple[int, int]]:
    """(height, width) of every input that can be a picture."""
    sizes = []
    for vstream in group.input_vstreams:
        if vstream.shape is not None and min(vstream.shape.height, vstream.shape.width) > 1:
            rows = vstream.shape.height * (2 if vstream.format.order in _YUV_ORDERS else 1)
            sizes.append((rows, vstream.shape.width))
    return sizes


def _image(group: NetworkGroupInfo, op: OpInfo) -> Iterator[str]:
    """The op's picture against the network's input and the grids; YOLOX and SSD do not use it."""
    body = op.op.op
    assert isinstance(body, model.NmsOp)
    kind = body.nms_op
    if not isinstance(kind, model.YoloNmsOp | model.YoloSegNmsOp | model.Yolov8NmsOp):
        return
    height, width = binary32(kind.image_height), binary32(kind.image_width)
    if not (height > 0 and width > 0):
        yield f"{op.output_name}: a picture of {width:g} x {height:g} pixels"
        return
    sizes = picture_sizes(group)
    differs = bool(sizes) and (height, width) not in sizes
    if differs:
        yield f"{op.output_name}: {_size_text(kind, (height, width), sizes)}"
    if isinstance(kind, model.Yolov8NmsOp):
        for decoder in kind.bbox_decoders:
            layer = op.inputs_by_pad.get(decoder.cls_pad_index)
            if layer is not None and not (differs and _covers(layer, decoder.stride, sizes[0])):
                yield from _grid(op, layer, decoder.stride, (height, width))


def _size_text(
    kind: model.YoloNmsOp | model.YoloSegNmsOp | model.Yolov8NmsOp,
    image: tuple[float, float],
    sizes: Sequence[tuple[int, int]],
) -> str:
    height, width = image
    rows, columns = sizes[0]
    down, across = rows / height, columns / width
    factor = f"{across:.3g}" if abs(down - across) < 1e-6 else f"{across:.3g} (width) and {down:.3g} (height)"
    # YOLOv8 divides everything by the op's size, YOLOv5 only the anchors
    consequence = f"boxes come out {factor} times as large, "
    consequence += (
        "and nearer to the upper left corner" if isinstance(kind, model.Yolov8NmsOp) else "at the right place"
    )
    return (
        f"the op is for a picture of {width:g} x {height:g} pixels, the input has {columns} x {rows}: {consequence}, "
        "as HailoRT computes them"
    )


def _covers(layer: LayerInfo, stride: int, size: tuple[int, int]) -> bool:
    return (layer.shape.height * stride, layer.shape.width * stride) == size


def _grid(op: OpInfo, layer: LayerInfo, stride: int, image: tuple[float, float]) -> Iterator[str]:
    height, width = image
    rows, columns = layer.shape.height, layer.shape.width
    if (rows * stride, columns * stride) != (height, width):
        yield (
            f"{op.output_name}: {layer.name} has {columns} x {rows} cells of stride {stride}, that is "
            f"{columns * stride} x {rows * stride} pixels of a picture of {width:g} x {height:g}"
        )
