"""A vstream's way between the user's frame and the device streams behind it (stream-infos.md 6, transforms.md 6, 7).

`InputVStream` turns a user frame into the bytes of its streams (several for planes), `OutputVStream` the bytes of its
streams into a user frame: format conversion, demultiplexing, fusing of on-chip NMS parts, or a post-process op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, InputTransform, OutputTransform, as_bytes
from emu.dataflow.mux import Demuxer
from emu.dataflow.nms_wire import NmsOutputTransform, fuse, fused_info
from emu.dataflow.postprocess.base import NmsPostProcess, OpResult, PostProcess
from emu.dataflow.postprocess.build import build_op
from emu.dataflow.postprocess.yolov5_seg import Yolov5Seg
from emu.dataflow.quantize import dtype_of
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import NMS_ORDERS, Format, FormatFlags, FormatOrder, FormatType, Shape, frame_size
from emu.hef.infos import NetworkGroupInfo, StreamInfo, VStreamInfo, ops_by_output
from emu.hef.layers import LayerInfo

AUTO = Format(FormatType.AUTO, FormatOrder.AUTO, FormatFlags.NONE)

# parts of a frame's bytes that the planes take, in sixths
_PLANE_SIXTHS = {FormatOrder.NV12: (4, 2), FormatOrder.NV21: (4, 2), FormatOrder.I420: (4, 1, 1)}


def array_shape(shape: Shape, order: FormatOrder) -> tuple[int, ...]:
    """Shape of a frame as an array, as pyhailort gives it: (F,) for NC, (H, W) for NHW, else in the order's nesting."""
    height, width, features = shape
    match order:
        case FormatOrder.NC:
            return (features,)
        case FormatOrder.NHW:
            return (height, width)
        case FormatOrder.NCHW:
            return (features, height, width)
        case FormatOrder.NHCW:
            return (height, features, width)
        case FormatOrder.RGB4:
            return (frame_size(shape, Format(FormatType.UINT8, FormatOrder.RGB4)),)
        case _:
            return (height, width, features)


class InputVStream:
    """One input vstream of a group; `user` may hold AUTO. Raises as the runtime does for a format it cannot give."""

    def __init__(self, group: NetworkGroupInfo, info: VStreamInfo, user: Format = AUTO) -> None:
        assert info.shape is not None
        self.info = info
        self.shape: Shape = info.shape
        streams = {stream.name: stream for stream in group.input_streams}
        self._transforms: dict[str, InputTransform] = {}
        if info.format.order in _PLANE_SIXTHS and len(info.streams) > 1:
            self._init_planes(streams, user)
            return
        stream = streams[info.streams[0]]
        transform = InputTransform(stream.shape, user, stream.hw_shape, stream.format, stream.quant_infos)
        self._transforms[stream.name] = transform
        self.user = transform.user
        self.frame_size = transform.user_frame_size

    def _init_planes(self, streams: Mapping[str, StreamInfo], user: Format) -> None:
        """Every plane keeps its device order: the host plane must already be in it (known-bugs.md 51)."""
        info = self.info
        if user.order not in (FormatOrder.AUTO, info.format.order):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{info.name} is made of {info.format.order.name} planes and cannot be given in {user.order.name}",
            )
        type = info.format.type if user.type is FormatType.AUTO else user.type
        self.user = Format(type, info.format.order, user.flags)
        self.frame_size = frame_size(self.shape, self.user)
        for name in info.streams:
            stream = streams[name]
            plane = Format(type, stream.format.order, user.flags)
            self._transforms[name] = InputTransform(
                stream.shape, plane, stream.hw_shape, stream.format, stream.quant_infos
            )

    @property
    def plane_sizes(self) -> tuple[int, ...]:
        """Bytes of each plane's user frame; empty where the frame is not made of planes."""
        if len(self._transforms) == 1:
            return ()
        return tuple(transform.user_frame_size for transform in self._transforms.values())

    @property
    def array_shape(self) -> tuple[int, ...]:
        return array_shape(self.shape, self.user.order)

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtype_of(self.user.type)

    def __call__(self, frame: Buffer, into: Mapping[str, Bytes] | None = None) -> dict[str, Bytes]:
        """Stream name -> the exact bytes of its frame; `frame` must have `frame_size` bytes."""
        into = into or {}
        if len(self._transforms) == 1:
            ((name, transform),) = self._transforms.items()
            return {name: transform(frame, into.get(name))}
        planes = self._split(as_bytes(frame, self.frame_size, self.info.name))
        if len(planes) != len(self._transforms):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{self.info.name}: {self.info.format.order.name} has {len(planes)} planes, the HEF"
                f" {len(self._transforms)} streams for them",
            )
        converted = {}
        for (name, transform), plane in zip(self._transforms.items(), planes, strict=True):
            if plane.size != transform.user_frame_size:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"{self.info.name}: the plane of {name} has {plane.size} of the frame's {self.frame_size} bytes,"
                    f" the stream takes {transform.user_frame_size}",
                )
            converted[name] = transform(plane, into.get(name))
        return converted

    def _split(self, frame: Bytes) -> list[Bytes]:
        sixths = _PLANE_SIXTHS[self.info.format.order]
        unit = 3 if len(sixths) == 2 else 6
        if frame.size % unit:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{self.info.name}: {frame.size} bytes do not split into {self.info.format.order.name} planes"
                f" (a multiple of {unit})",
            )
        planes, start = [], 0
        for part in sixths:
            size = frame.size * part // 6
            planes.append(frame[start : start + size])
            start += size
        return planes


class OutputVStream:
    """One output vstream of a group.

    `environment` holds the library's switches by name (5.2's YOLOv5-seg options). Call it with the frames of (at
    least) its streams.
    """

    def __init__(
        self,
        group: NetworkGroupInfo,
        info: VStreamInfo,
        user: Format = AUTO,
        *,
        runtime: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.info = info
        self.streams = info.streams
        self.op: PostProcess | None = None
        streams = {stream.name: stream for stream in group.output_streams}
        layers = [streams[name].layer for name in info.streams]
        op = ops_by_output(group).get(info.name)
        if op is not None:
            self.op = build_op(op, user, runtime=runtime, environment=environment)
            self.user = self.op.user
            self._run: Callable[[Mapping[str, Buffer], Bytes | None], OpResult] = self.op
            return
        convert: OutputTransform | NmsOutputTransform
        if layers[0].is_mux:
            convert, read = self._from_mux(layers[0], user)
        elif layers[0].fused_nms_layer is not None:
            convert, read = self._from_fused(layers, user)
        else:
            convert, read = self._from_layer(layers[0], user)
        self.user = convert.user
        self._frame_size = convert.user_frame_size

        def run(frames: Mapping[str, Buffer], into: Bytes | None) -> OpResult:
            return OpResult(convert(read(frames), into))

        self._run = run

    def _from_layer(
        self, layer: LayerInfo, user: Format
    ) -> tuple[OutputTransform | NmsOutputTransform, Callable[[Mapping[str, Buffer]], Buffer]]:
        name = layer.name
        convert: OutputTransform | NmsOutputTransform
        if layer.nms_info is not None:
            convert = NmsOutputTransform(user, layer.format, layer.quant_infos, layer.nms_info)
        else:
            convert = OutputTransform(layer.shape, user, layer.hw_shape, layer.format, layer.quant_infos)
        return convert, lambda frames: frames[name]

    def _from_mux(
        self, mux: LayerInfo, user: Format
    ) -> tuple[OutputTransform, Callable[[Mapping[str, Buffer]], Buffer]]:
        demux = Demuxer(mux)
        index = next(index for index, edge in enumerate(demux.edges) if edge.name == self.info.name)
        edge = demux.edges[index]
        convert = OutputTransform(edge.shape, user, edge.hw_shape, edge.format, [edge.quant_info])
        return convert, lambda frames: demux(frames[mux.name])[index]

    def _from_fused(
        self, parts: list[LayerInfo], user: Format
    ) -> tuple[NmsOutputTransform, Callable[[Mapping[str, Buffer]], Buffer]]:
        infos = [part.nms_info for part in parts if part.nms_info is not None]
        # the quant info is that of the part that comes last (netflow-nms.md 10)
        convert = NmsOutputTransform(user, parts[-1].format, parts[-1].quant_infos, fused_info(infos))
        return convert, lambda frames: fuse([frames[part.name] for part in parts], infos)

    @property
    def frame_size(self) -> int:
        """Bytes of a frame in the user's format, after changes of limits too."""
        return self.op.frame_size if self.op is not None else self._frame_size

    @property
    def is_nms(self) -> bool:
        return self.user.order in NMS_ORDERS

    @property
    def array_shape(self) -> tuple[int, ...]:
        """Shape of `array`'s result; NMS frames are their raw bytes."""
        if self.is_nms or self.info.shape is None:
            return (self.frame_size,)
        return array_shape(self.info.shape, self.user.order)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8) if self.is_nms else dtype_of(self.user.type)

    def __call__(self, frames: Mapping[str, Buffer], into: Bytes | None = None) -> OpResult:
        """The user's frame as bytes, and HAILO_INSUFFICIENT_BUFFER where it could not hold every mask."""
        missing = [name for name in self.streams if name not in frames]
        if missing:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{self.info.name}: no frame for stream {missing[0]}")
        return self._run(frames, into)

    def array(self, frame: Bytes) -> NDArray[Any]:
        """A user frame's bytes as an array."""
        return frame.view(self.dtype).reshape(self.array_shape)

    def configure(
        self,
        *,
        score_threshold: float | None = None,
        iou_threshold: float | None = None,
        max_proposals_per_class: int | None = None,
        max_proposals_total: int | None = None,
        max_accumulated_mask_size: int | None = None,
    ) -> None:
        """Change thresholds and limits; HAILO_INVALID_ARGUMENT where the output has none (netflow-nms.md 9.3)."""
        if not isinstance(self.op, NmsPostProcess):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"{self.info.name} is no output of an NMS op: nothing to set"
            )
        if max_accumulated_mask_size is not None:
            if not isinstance(self.op, Yolov5Seg):
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT, f"{self.info.name} has no masks: max_accumulated_mask_size"
                )
            self.op.set_max_accumulated_mask_size(max_accumulated_mask_size)
        self.op.configure(
            score_threshold=score_threshold,
            iou_threshold=iou_threshold,
            max_proposals_per_class=max_proposals_per_class,
            max_proposals_total=max_proposals_total,
        )
