"""Vstreams that are written and read frame by frame (pyhailort-api.md 7: InputVStreams, OutputVStreams)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.conversion import InputFrames, OutputFrames, as_bytes
from emu.hailo_platform.enums import FormatOrder
from emu.hailo_platform.exceptions import HailoRTException, raising_as_hailort
from emu.hailo_platform.infos import VStreamInfo
from emu.hailo_platform.logger import default_logger
from emu.hailo_platform.network import ConfiguredNetwork
from emu.hailo_platform.outputs import OutputShape
from emu.hailo_platform.params import VStreamParams
from emu.hailo_platform.pipeline import Pipeline

Array = NDArray[Any]
VStream = TypeVar("VStream")


class InputVStream:
    """One input."""

    def __init__(self, pipeline: Pipeline, frames: InputFrames, name: str, params: VStreamParams) -> None:
        self._pipeline = pipeline
        self._frames = frames
        self._vstream = frames.vstreams[name]
        self._params = params

    @property
    def name(self) -> str:
        return self._vstream.info.name

    @property
    def network_name(self) -> str:
        return self._vstream.info.network_name

    @property
    def shape(self) -> tuple[int, ...]:
        return self._vstream.array_shape

    @property
    def dtype(self) -> Any:
        return self._vstream.dtype

    @property
    def info(self) -> VStreamInfo:
        return VStreamInfo.of(self._vstream.info)

    def send(self, input_data: Array) -> None:
        """Frames on a leading axis, one after another.

        HailoRTInvalidArgumentException for a frame of another size, HailoRTTimeout where nobody reads the outputs.
        """
        if input_data.dtype != self._vstream.dtype:
            input_data = input_data.astype(self._vstream.dtype)
        if not input_data.flags.c_contiguous:
            default_logger().warning("Warning - Converting input numpy array to be C_CONTIGUOUS")
            input_data = np.ascontiguousarray(input_data)
        with raising_as_hailort():
            for frame in input_data:
                if frame.nbytes != self._vstream.frame_size:
                    raise HailoError(
                        HailoStatus.HAILO_INVALID_ARGUMENT,
                        f"{self.name}: {frame.nbytes} bytes {frame.shape} given, {self._vstream.frame_size} of"
                        f" {self.shape} {self.dtype} expected",
                    )
                wire = self._frames.wire(self.name, np.ascontiguousarray(frame))
                self._pipeline.write(self.name, wire, self._params.timeout_ms)

    def flush(self) -> None:
        """Wait until the device has taken every frame."""
        with raising_as_hailort():
            self._pipeline.flush(self._params.timeout_ms)


class OutputVStream:
    """One output."""

    def __init__(
        self,
        pipeline: Pipeline,
        frames: OutputFrames,
        name: str,
        params: VStreamParams,
        network: ConfiguredNetwork,
        tf_nms_format: bool,
    ) -> None:
        self._pipeline = pipeline
        self._frames = frames
        self._vstream = frames.vstreams[name]
        self._params = params
        self._network = network
        self._tf_nms_format = tf_nms_format

    @property
    def name(self) -> str:
        return self._vstream.info.name

    @property
    def network_name(self) -> str:
        return self._vstream.info.network_name

    @property
    def output_order(self) -> FormatOrder:
        return self._shape.order

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape.shape

    @property
    def dtype(self) -> Any:
        return self._shape.dtype

    @property
    def info(self) -> VStreamInfo:
        return VStreamInfo.of(self._vstream.info)

    @property
    def _shape(self) -> OutputShape:
        """It changes with the limits of NMS."""
        return OutputShape(self._vstream, self._network._group)

    def recv(self) -> Any:
        """The next frame, without a frames axis; NMS results as `InferVStreams` gives them. HailoRTTimeout."""
        with raising_as_hailort():
            row, real = self._pipeline.read(self.name, self._params.timeout_ms)
            data, status = self._frames.user(self.name, row, real)
            if status is not HailoStatus.HAILO_SUCCESS:
                raise HailoError(status, f"{self.name}: the frame has more masks than its buffer holds")
        return self._shape.one(as_bytes(data), self._tf_nms_format)

    def set_nms_score_threshold(self, threshold: float) -> None:
        self._configure(score_threshold=threshold)

    def set_nms_iou_threshold(self, threshold: float) -> None:
        self._configure(iou_threshold=threshold)

    def set_nms_max_proposals_per_class(self, max_proposals_per_class: int) -> None:
        self._configure(max_proposals_per_class=max_proposals_per_class)

    def set_nms_max_accumulated_mask_size(self, max_accumulated_mask_size: int) -> None:
        self._configure(max_accumulated_mask_size=max_accumulated_mask_size)

    def _configure(self, **limits: Any) -> None:
        with raising_as_hailort():
            self._vstream.configure(**limits)


class _VStreams(Generic[VStream]):
    """The vstreams of one direction, as a context manager; iterable."""

    _direction: ClassVar[str]

    def __init__(self, network: ConfiguredNetwork, params: Mapping[str, VStreamParams]) -> None:
        self._network = network
        self._params = params
        self._vstreams: dict[str, VStream] = {}

    def get(self, name: str | None = None) -> VStream:
        """HailoRTException without a name where there is not exactly one."""
        if name is None:
            if len(self._vstreams) != 1:
                raise HailoRTException(f"There is no single {self._direction} vStream. You must give a name")
            return next(iter(self._vstreams.values()))
        return self._vstreams[name]

    def __iter__(self) -> Iterator[VStream]:
        return iter(self._vstreams.values())


class InputVStreams(_VStreams[InputVStream]):
    """Inputs to write to, as a context manager; iterable."""

    _direction = "input"

    def __init__(self, configured_network: ConfiguredNetwork, input_vstreams_params: Mapping[str, VStreamParams]):
        super().__init__(configured_network, input_vstreams_params)

    def __enter__(self) -> InputVStreams:
        network, params = self._network, self._params
        with raising_as_hailort():
            _require_known(params, {info.name for info in network._group.input_vstreams}, network.name)
            frames = InputFrames(network._group, {name: one.user_buffer_format for name, one in params.items()})
        self._pipeline = network._open_pipeline()
        self._pipeline.open_inputs(params)
        self._vstreams = {name: InputVStream(self._pipeline, frames, name, one) for name, one in params.items()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipeline.close_inputs()
        self._network._close_pipeline()

    def clear(self) -> None:
        """Forget frames that the device has not taken."""
        self._pipeline.clear_inputs()


class OutputVStreams(_VStreams[OutputVStream]):
    """Outputs to read from, as a context manager; iterable. `tf_nms_format` as `InferVStreams`."""

    _direction = "output"

    def __init__(
        self,
        configured_network: ConfiguredNetwork,
        output_vstreams_params: Mapping[str, VStreamParams],
        tf_nms_format: bool = False,
    ) -> None:
        super().__init__(configured_network, output_vstreams_params)
        self._tf_nms_format = tf_nms_format

    def __enter__(self) -> OutputVStreams:
        network, params = self._network, self._params
        with raising_as_hailort():
            _require_known(params, {info.name for info in network._group.output_vstreams}, network.name)
            formats = {name: one.user_buffer_format for name, one in params.items()}
            frames = OutputFrames(network._group, formats, network._session.runtime)
        self._pipeline = network._open_pipeline()
        self._pipeline.open_outputs(params)
        self._vstreams = {
            name: OutputVStream(self._pipeline, frames, name, one, network, self._tf_nms_format)
            for name, one in params.items()
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipeline.close_outputs()
        self._network._close_pipeline()

    def clear(self) -> None:
        """Forget frames that were not read."""
        self._pipeline.clear_outputs()


def _require_known(params: Mapping[str, VStreamParams], names: set[str], network: str) -> None:
    for name in params:
        if name not in names:
            raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"{network} has no vstream {name!r}")
