"""The blocking pipeline of the vstream API (pyhailort-api.md 7)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.conversion import InputFrames, OutputFrames, as_bytes
from emu.hailo_platform.exceptions import HailoRTNotImplemented, exception_of, raising_as_hailort
from emu.hailo_platform.logger import default_logger
from emu.hailo_platform.network import ConfiguredNetwork
from emu.hailo_platform.outputs import OutputShape
from emu.hailo_platform.params import VStreamParams

Array = NDArray[Any]


class InferVStreams:
    """Blocking inference, as a context manager: `infer({input vstream: array with a leading frames axis})`.

    `tf_nms_format`: NMS results as one array (frames, classes, 5, boxes) in place of lists.
    """

    def __init__(
        self,
        configured_net_group: ConfiguredNetwork,
        input_vstreams_params: Mapping[str, VStreamParams],
        output_vstreams_params: Mapping[str, VStreamParams],
        tf_nms_format: bool = False,
    ) -> None:
        self._network = configured_net_group
        self._input_params = input_vstreams_params
        self._output_params = output_vstreams_params
        self._tf_nms_format = tf_nms_format
        self._open = False
        self._hw_time: float | None = None
        self._total_time: float | None = None

    def __enter__(self) -> InferVStreams:
        network = self._network
        with raising_as_hailort():
            group = network._group
            for name in (*self._input_params, *self._output_params):
                if name not in {info.name for info in group.vstreams}:
                    raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"{group.name} has no vstream {name!r}")
            formats = {name: one.user_buffer_format for name, one in self._input_params.items()}
            self._inputs = InputFrames(group, formats)
            formats = {name: one.user_buffer_format for name, one in self._output_params.items()}
            self._outputs = OutputFrames(group, formats, network._session.runtime)
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False

    def infer(self, input_data: Mapping[str, Array] | Array) -> dict[str, Any]:
        """Outputs by name, in the order of the names: arrays (frames, *shape), NMS results as lists of each frame.

        Raises ValueError without data or for different numbers of frames, KeyError for an input that is not there,
        HailoRTInvalidArgumentException for frames of another size or inputs that are missing.
        """
        begin = time.perf_counter()
        if not self._open:
            raise exception_of(HailoStatus.HAILO_INVALID_OPERATION, "infer outside of `with InferVStreams(...)`")
        arrays = self._by_name(input_data)
        count = _number_of_frames(arrays)
        with raising_as_hailort():
            session, group = self._network._session, self._network._group
            self._require_all(arrays)
            session.require_active(self._network)
            if not session.scheduled and group.is_multi_context and count % self._network._application.batch:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"{count} frames are no whole batches of {self._network._application.batch}",
                )
            columns = [self._column(name, array) for name, array in arrays.items()]
            rows = [{stream: data for column in columns for stream, data in column[at].items()} for at in range(count)]
            launched = time.perf_counter()
            found: dict[str, list[Array]] = {}
            if rows:
                outcome = session.engine.submit(self._network._application, rows)
                outcome.ended.wait()
                if outcome.error is not None:
                    raise outcome.error
                self._hw_time = time.perf_counter() - launched
                real = outcome.real
                found = {name: self._frames(name, outcome.rows, real) for name in sorted(self._outputs.vstreams)}
        shapes = {name: OutputShape(self._outputs.vstreams[name], self._network._group) for name in found}
        results = {name: shapes[name].many(frames, self._tf_nms_format) for name, frames in found.items()}
        self._total_time = time.perf_counter() - begin
        return results

    def get_hw_time(self) -> float | None:
        """Seconds that the last `infer` spent with the device (wall clock)."""
        return self._hw_time

    def get_total_time(self) -> float | None:
        """Seconds that the last `infer` took (wall clock)."""
        return self._total_time

    # -- limits of NMS ops on the host

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
            found = [one for one in self._outputs.vstreams.values() if one.is_nms]
            if not found:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "no output is made by an NMS op")
            for one in found:
                one.configure(**limits)

    # -- frames

    def _by_name(self, data: Mapping[str, Array] | Array) -> dict[str, Array]:
        inputs = self._inputs.vstreams
        if not isinstance(data, dict):
            if len(inputs) != 1:
                raise Exception(  # what HailoRT raises here
                    "when there is more than one input, the input_data should be of type dict, mapping between each"
                    f" input_name, and his input_data tensor. number of inputs: {len(inputs)}"
                )
            data = {next(iter(inputs)): np.asarray(data)}
        for name in data:
            if name not in inputs:
                raise KeyError(name)
        return data

    def _require_all(self, arrays: Mapping[str, Array]) -> None:
        missing = [name for name in self._inputs.vstreams if name not in arrays]
        if missing and len(self._network.get_networks_names()) > 1:
            raise HailoRTNotImplemented("InferVStreams of a part of the networks of a group")
        if missing:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"nothing for input {missing[0]}")
        absent = [name for name in self._outputs.vstreams if name not in self._output_params]
        if absent or any(name not in self._input_params for name in arrays):
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"no params for vstream {(absent or ['?'])[0]}")

    def _column(self, name: str, array: Array) -> list[dict[str, bytes]]:
        """The wire bytes of every frame; what HailoRT converts with a warning is converted with one."""
        vstream = self._inputs.vstreams[name]
        if array.dtype != vstream.dtype:
            default_logger().warning(
                f"Given input data dtype ({array.dtype}) is different than inferred dtype ({vstream.dtype}). "
                "conversion for every frame will reduce performance"
            )
            array = array.astype(vstream.dtype)
        if not array.flags.c_contiguous:
            default_logger().warning(f"Converting {name} numpy array to be C_CONTIGUOUS")
            array = np.ascontiguousarray(array)
        size = array.nbytes // max(len(array), 1)
        if len(array) and size != vstream.frame_size:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"input {name}: {size} bytes a frame {array.shape[1:]} given, {vstream.frame_size} of"
                f" {vstream.array_shape} {vstream.dtype} expected",
            )
        return [self._inputs.wire(name, frame) for frame in array.reshape(len(array), -1)] if len(array) else []

    def _frames(self, name: str, rows: Any, real: Any) -> list[Array]:
        found = []
        for at, row in enumerate(rows):
            data, status = self._outputs.user(name, row, real[at])
            if status is not HailoStatus.HAILO_SUCCESS:
                raise HailoError(status, f"{name}: frame {at} has more masks than its buffer holds")
            found.append(as_bytes(data))
        return found


def _number_of_frames(arrays: Mapping[str, Array]) -> int:
    if not arrays:
        raise ValueError("Input_data can't be empty")
    counts = [len(array) for array in arrays.values()]
    for count in counts:
        if count != counts[0]:
            raise ValueError(
                "The number of frames on all input_tensors should be equal! different sizes detected: "
                f"{counts[0]} != {count}"
            )
    return counts[0]
