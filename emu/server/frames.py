"""Frames as HRPC carries them, user formats one after the other, to and from the bytes of device streams."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from emu.dataflow.synthetic import DeviceLike
from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType
from emu.hef.infos import NetworkGroupInfo

# INVALID_NMS_CONFIG: what a client did not set (hrpc-5.2.md part 2, 4)
UNSET_THRESHOLD, UNSET_COUNT = -1.0, 0xFFFFFFFF
# of a frame in all its streams: no model is near this, and a forged shape or limit must not cost memory
MAX_FRAME_BYTES = 1 << 27


class ModelFrames:
    """Converts the frames of one configured model.

    `inputs`, `outputs`: InferStreamParamsProto by stream, AUTO where they say nothing. `library`: the runtime whose
    data plane serves. Raises HailoError with the status of InferModel::configure for what it refuses.
    """

    def __init__(self, group: NetworkGroupInfo, inputs: Iterable[Any], outputs: Iterable[Any], library: str) -> None:
        self._synthetic = DeviceLike(group.output_streams)
        asked = _by_name(inputs, [info.name for info in group.input_vstreams])
        if any(_nms_settings(one) for one in asked.values()):
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "NMS settings of an input")
        self._inputs = [InputVStream(group, info, _format(asked.get(info.name))) for info in group.input_vstreams]
        asked = _by_name(outputs, [info.name for info in group.output_vstreams])
        self._outputs = []
        for info in group.output_vstreams:
            output = OutputVStream(group, info, _format(asked.get(info.name)), runtime=library)
            settings = _nms_settings(asked[info.name]) if info.name in asked else {}
            if settings:
                output.configure(**settings)
            self._outputs.append(output)
        self.input_sizes = [one.frame_size for one in self._inputs]
        self.output_sizes = [one.frame_size for one in self._outputs]
        self.bytes = sum(self.input_sizes) + sum(self.output_sizes)
        if self.bytes > MAX_FRAME_BYTES:
            raise HailoError(
                HailoStatus.HAILO_OUT_OF_HOST_MEMORY,
                f"frames of {self.bytes} bytes, at most {MAX_FRAME_BYTES} are served",
            )

    def to_wire(self, frame: bytes) -> dict[str, bytes]:
        """Input stream -> its bytes; `frame` holds the inputs in the order of the HEF's vstream infos."""
        streams: dict[str, bytes] = {}
        at, view = 0, memoryview(frame)
        for vstream, size in zip(self._inputs, self.input_sizes, strict=True):
            streams |= {name: data.tobytes() for name, data in vstream(view[at : at + size]).items()}
            at += size
        return streams

    def from_wire(self, streams: Mapping[str, bytes], real: Collection[str]) -> bytes:
        """The outputs in the order of the HEF's vstream infos; `real`: streams whose bytes are no synthetic ones."""
        # a frame that could not hold every mask is a frame all the same (netflow-nms.md 9)
        return b"".join(
            vstream(self._synthetic.frames(vstream, streams, real)).frame.tobytes() for vstream in self._outputs
        )


def _by_name(asked: Iterable[Any], names: Collection[str]) -> dict[str, Any]:
    found = {one.name: one for one in asked}
    unknown = [name for name in found if name not in names]
    if unknown:
        raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"no stream {unknown[0]!r}; there are {', '.join(names)}")
    return found


def _format(asked: Any) -> Format:
    if asked is None:
        return Format(FormatType.AUTO, FormatOrder.AUTO)
    try:
        return Format(FormatType(asked.format_type), FormatOrder(asked.format_order))
    except ValueError as error:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{asked.name}: {error}") from None


def _nms_settings(asked: Any) -> dict[str, Any]:
    given = {
        "score_threshold": (asked.nms_score_threshold, UNSET_THRESHOLD),
        "iou_threshold": (asked.nms_iou_threshold, UNSET_THRESHOLD),
        "max_proposals_per_class": (asked.nms_max_proposals_per_class, UNSET_COUNT),
        "max_proposals_total": (asked.nms_max_proposals_total, UNSET_COUNT),
        "max_accumulated_mask_size": (asked.nms_max_accumulated_mask_size, UNSET_COUNT),
    }
    return {name: value for name, (value, unset) in given.items() if value != unset}
