"""Frames that a user gives: arrays and raw files checked against a vstream or stream, and anything that makes frames.

What is wrong with a file is said with the arithmetic, because a wrong type or order is what most mistakes are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.arrays import ArrayFile
from emu.dataflow.formats import Bytes
from emu.dataflow.input_stats import MOST_FRAMES, InputStatistics, input_statistics
from emu.dataflow.quantize import dtype_of
from emu.dataflow.vstreams import InputVStream
from emu.dataflow.yuv import YUV_ORDERS
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef.formats import Format, FormatOrder, FormatType
from emu.hef.infos import NetworkGroupInfo, StreamInfo

# multiples of the expected size that betray an element type (known-problems.md 11)
_TYPE_HINTS = {
    1: {8: "float64 (or int64)", 4: "float32 given as raw bytes", 2: "uint16 (or float16)"},
    2: {4: "float64 (or int64)", 2: "float32 given as raw bytes"},
    4: {2: "float64"},
}


class FrameSource(Protocol):
    """Frames of an input that are made when they are asked for: pictures, arrays of a caller."""

    @property
    def source(self) -> str:
        """Where they come from, for a person."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Bytes:
        """The frame's bytes, flat, in the vstream's own type and order."""


class GivenInput(Struct, frozen=True):
    """Frames of one input: the vstream in their type, the frames (flat bytes each), and how many there are in all."""

    vstream: InputVStream
    frames: Bytes | FrameSource
    source: str
    given: int
    chosen_colours: bool = False  # whether it is known in which order the channels are

    def frame(self, number: int) -> Bytes:
        """The bytes of frame `number`; given frames repeat in turn."""
        found: Bytes = self.frames[number % len(self.frames)]
        return found

    def statistics(self, group: NetworkGroupInfo, frames: int) -> InputStatistics:
        """What the first frames of a run of `frames` look like."""
        used = min(frames, self.given)
        info, user = self.vstream.info, self.vstream.user
        streams = {stream.name: stream for stream in group.input_streams}
        stream = streams[info.streams[0]]
        return input_statistics(
            self._numbers(min(used, MOST_FRAMES)),
            stream.quant_infos[0],
            dtype_of(stream.format.type),
            given=self.given,
            used=used,
            channels_last=3
            if user.order is FormatOrder.NHWC and self.vstream.shape.features == 3 and not self.chosen_colours
            else 0,
        )

    def _numbers(self, count: int) -> Iterator[NDArray[Any]]:
        for number in range(count):
            yield self.frame(number).view(self.vstream.dtype)


def source_input(vstream: InputVStream, frames: FrameSource) -> GivenInput:
    """Frames that are made when asked for; UsageError for a source without frames."""
    require_sound_planes(vstream)
    if len(frames) < 1:
        raise UsageError(f"input {vstream.info.name}: {frames.source} holds no frame")
    return GivenInput(vstream, frames, frames.source, len(frames), chosen_colours=True)


def require_sound_planes(vstream: InputVStream) -> None:
    """Refuse frames for planes that are not the frame the HEF says: nobody can tell which of the two is meant."""
    sizes = vstream.plane_sizes
    if sizes and sum(sizes) != vstream.frame_size:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"input {vstream.info.name}: the HEF contradicts itself, a {vstream.info.format.order.name} frame has "
            f"{_expected(vstream)} bytes and its planes {' + '.join(map(str, sizes))}: no frame can be given",
        )


def load_stream(stream: StreamInfo, file: ArrayFile, frames: int) -> Bytes:
    """[n, hw_frame_size] of a `--device-output` file."""
    size = stream.hw_frame_size
    if file.shape is not None and file.dtype.newbyteorder("=") not in (np.uint8, dtype_of(stream.format.type)):
        raise UsageError(
            f"--device-output {stream.name}: an array of {file.dtype.name}, the stream carries"
            f" {dtype_of(stream.format.type).name} codes or raw bytes: {size} = {_stream_arithmetic(stream)} a frame",
            file=file.name,
        )
    if file.size == 0 or file.size % size:
        raise UsageError(
            f"--device-output {stream.name}: {file.size} bytes given, a multiple of {size} expected"
            f" ({_stream_arithmetic(stream)} a frame)",
            file=file.name,
        )
    data = np.ascontiguousarray(file.load(frames * size)).reshape(-1).view(np.uint8)
    return data[: frames * size].reshape(-1, size)


def _stream_arithmetic(stream: StreamInfo) -> str:
    if stream.nms_info is not None:
        return f"{stream.hw_frame_size} bytes of on-chip NMS"
    height, width, features = stream.hw_shape
    product = f"{height}·{width}·{features}·{stream.hw_data_bytes}"
    unpadded = height * width * features * stream.hw_data_bytes
    return product if unpadded == stream.hw_frame_size else f"{product} padded to {stream.hw_frame_size}"


def load_input(group: NetworkGroupInfo, vstream: InputVStream, file: ArrayFile, frames: int) -> GivenInput:
    """Check type, shape and size against the vstream, then read the frames the run needs."""
    require_sound_planes(vstream)
    if file.shape is None:
        count = _raw_frames(vstream, file, frames)
    else:
        given = file.dtype.newbyteorder("=")
        if given == np.float32 and vstream.user.type is not FormatType.FLOAT32:
            vstream = InputVStream(group, vstream.info, Format(FormatType.FLOAT32, FormatOrder.AUTO))
        if given != vstream.dtype.newbyteorder("="):
            raise _wrong_type(vstream, file)
        count = _array_frames(vstream, file)
    wanted = min(count, frames)
    data = file.load(wanted * vstream.frame_size)
    if file.shape is not None:
        data = data.astype(vstream.dtype, copy=False)
    flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)[: wanted * vstream.frame_size]
    return GivenInput(vstream, flat.reshape(wanted, vstream.frame_size), file.name, count)


def _expected(vstream: InputVStream, size: int | None = None) -> str:
    """`1228800 = 640·640·3·1`"""
    factors = (*vstream.array_shape, vstream.dtype.itemsize)
    return f"{math.prod(factors) if size is None else size} = {'·'.join(str(factor) for factor in factors)}"


def _hint(vstream: InputVStream, given: int) -> str:
    times, rest = divmod(given, vstream.frame_size)
    hint = _TYPE_HINTS[vstream.dtype.itemsize].get(times) if rest == 0 else None
    return "" if hint is None else f": {times}x means {hint}"


def _refuse(vstream: InputVStream, file: ArrayFile, message: str) -> UsageError:
    return UsageError(f"input {vstream.info.name}: {message}", file=file.name)


def _raw_frames(vstream: InputVStream, file: ArrayFile, frames: int) -> int:
    count, rest = divmod(file.size, vstream.frame_size)
    if rest or count == 0 or count > frames:
        hint = _hint(vstream, file.size)
        if count > frames and not rest:
            hint = f"{hint} or {count} frames" if hint else f": {count} frames"
            hint += f" (the run is of {frames})"
        raise _refuse(vstream, file, f"{file.size} bytes given, {_expected(vstream)} expected{hint}")
    return count


def _wrong_type(vstream: InputVStream, file: ArrayFile) -> UsageError:
    message = (
        f"{file.size} bytes given, {_expected(vstream)} expected{_hint(vstream, file.size)};"
        f" the array is {file.dtype.name}, not {vstream.dtype.name}"
    )
    return _refuse(vstream, file, message + " (or float32, which is quantised)")


def _array_frames(vstream: InputVStream, file: ArrayFile) -> int:
    """Frames in an array of the vstream's shape, or of such frames on a leading axis."""
    shape = file.shape
    assert shape is not None
    for frame_shape in _frame_shapes(vstream):
        if shape == frame_shape:
            return 1
        if shape[1:] == frame_shape and shape[0] > 0:
            return shape[0]
    raise _refuse(
        vstream,
        file,
        f"shape {shape} given, {vstream.array_shape} expected (with or without a leading frames axis):"
        f" {file.size} bytes given, {_expected(vstream)} expected{_order_hint(vstream, shape)}",
    )


def _frame_shapes(vstream: InputVStream) -> Iterator[tuple[int, ...]]:
    """The shapes that one frame may have: 4:2:0 pictures also as OpenCV has them, and flat."""
    yield vstream.array_shape
    yield tuple(vstream.shape)
    if vstream.user.order in YUV_ORDERS:
        height, width, features = vstream.shape
        yield (height * features, width)
        yield (height * features * width,)


def _order_hint(vstream: InputVStream, shape: tuple[int, ...]) -> str:
    """What an array of the right size but another shape probably is."""
    height, width, features = vstream.shape
    for candidate in (shape, shape[1:]):
        if candidate == (features, height, width):
            return ": NCHW, transpose it to NHWC"
        if candidate == (height, features, width):
            return ": NHCW, transpose it to NHWC"
        if candidate == (width, height, features) and width != height:
            return ": height and width are exchanged"
    return ""
