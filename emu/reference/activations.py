"""Activations that the compiler moved into the chip: the tensor of the model lacks what the stream's values have.

YOLOv8, YOLOX and YOLOv5 heads are named after a convolution, whose output in every model is logits, while the chip
sends probabilities: zero point 0, range 0..1. A model script says the same in words (`change_output_activation`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from emu.dataflow.edges import OutputEdge
from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.ops import OpInfo, OpKind
from emu.reference.tensors import Array, TensorInfo

SIGMOID = "sigmoid"
_SIGMOID_OPS = frozenset({"sigmoid", "hardsigmoid", "softmax"})
_SLACK = 1e-6  # of a probability, for sums in another order


def sigmoid(values: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    wide = values.astype(np.float64)
    small = np.exp(-np.abs(wide))
    found: Array = (np.where(wide >= 0, 1.0, small) / (1.0 + small)).astype(np.float32)
    return found


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    SIGMOID: sigmoid,
    "relu": lambda values: np.maximum(values, 0),
    "tanh": np.tanh,
    "linear": lambda values: values,
}


def activation_named(name: str, layer: str) -> str:
    """A model script's activation; HAILO_NOT_IMPLEMENTED for one that is not built."""
    if name not in ACTIVATIONS:
        raise HailoError(
            HailoStatus.HAILO_NOT_IMPLEMENTED,
            f"change_output_activation({layer}, {name}): only {', '.join(ACTIVATIONS)} are built",
        )
    return name


def probability_streams(op: OpInfo) -> frozenset[str]:
    """The inputs of a detection op that hold probabilities: class and objectness layers, YOLOv5's whole."""
    body = op.op.op
    if not isinstance(body, model.NmsOp):
        return frozenset()
    pads: list[int] = []
    match body.nms_op:
        case model.Yolov8NmsOp(bbox_decoders=decoders):
            pads = [one.cls_pad_index for one in decoders]
        case model.YoloxNmsOp(bbox_decoders=triples):
            pads = [pad for one in triples for pad in (one.cls_pad_index, one.obj_pad_index)]
        case model.YoloNmsOp(bbox_decoders=anchored) if op.kind is not OpKind.YOLOV5SEG:
            pads = [one.pad_index for one in anchored]
        case _:
            pass
    return frozenset(op.inputs_by_pad[pad].name for pad in pads if pad in op.inputs_by_pad)


def stream_range(edge: OutputEdge) -> tuple[float, float]:
    """The real numbers that the codes of an edge stand for, lowest and highest."""
    highest_code = 255 if edge.layer.hw_data_bytes == 1 else 65535
    qps = edge.quant_infos
    ends = [((code - qp.zp) * qp.scale) for qp in qps for code in (0, highest_code)]
    return min(ends), max(ends)


def holds_probabilities(edge: OutputEdge) -> bool:
    """Whether an edge is a head of probabilities: of a detection op, zero point 0, values up to 1."""
    if edge.op is None or edge.layer.name not in probability_streams(edge.op):
        return False
    qp = edge.quant_infos[0]
    highest_code = 255 if edge.layer.hw_data_bytes == 1 else 65535
    highest = highest_code * qp.scale
    if qp.limvals_max > qp.limvals_min:
        highest = min(highest, qp.limvals_max)
    return qp.zp == 0 and 0 < highest <= 1.0 + max(qp.scale, _SLACK)


def moved_sigmoid(edge: OutputEdge, tensor: TensorInfo, lowest: float, highest: float) -> bool:
    """Whether the sigmoid of a head is in the chip: the edge holds probabilities, the tensor leaves 0..1."""
    if not holds_probabilities(edge) or tensor.op.lower() in _SIGMOID_OPS:
        return False
    return lowest < -_SLACK or highest > 1.0 + _SLACK


def is_sigmoid(tensor: TensorInfo) -> bool:
    return tensor.op.lower() == SIGMOID
