"""Frames between files and device streams: what `emu run` feeds a HEF and what it keeps of it (cli.md).

`FrameBridge` holds everything for one network group: `inputs_for(frame)` gives the bytes of every input stream,
`outputs(stream bytes)` the arrays of every output vstream. Inputs that are not given are seeded random, and
`input_sources` says so.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays import ArrayFile, open_array, open_arrays
from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.nms_wire import frame_from_noise
from emu.dataflow.postprocess.yolov5_seg import Yolov5Seg
from emu.dataflow.quantize import dtype_of
from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef.formats import Format, FormatOrder, FormatType
from emu.hef.infos import NetworkGroupInfo, StreamInfo

Array = NDArray[Any]

DISABLE_POST_PROCESS = "HAILO_DISABLE_PP"  # 5.2: raw device frames instead of vstreams (transforms.md 8)

# no frame of any model is near this; a forged shape must not cost memory
MAX_FRAME_BYTES = 1 << 27

# multiples of the expected size that betray an element type (known-problems.md 11)
_TYPE_HINTS = {
    1: {8: "float64 (or int64)", 4: "float32 given as raw bytes", 2: "uint16 (or float16)"},
    2: {4: "float64 (or int64)", 2: "float32 given as raw bytes"},
    4: {2: "float64"},
}


@dataclass(frozen=True, slots=True)
class InputFile:
    """Frames of one input: the vstream in the file's type, and its frames [n, bytes]."""

    vstream: InputVStream
    frames: Bytes
    source: str


@dataclass(frozen=True, slots=True)
class FrameFiles:
    """What `--input`, `--inputs` and `--device-output` named: files by vstream or stream name."""

    inputs: Mapping[str, ArrayFile] = field(default_factory=dict)
    device_outputs: Mapping[str, ArrayFile] = field(default_factory=dict)


def frame_files(
    groups: Iterable[NetworkGroupInfo],
    inputs: Iterable[str] = (),
    archive: str | None = None,
    device_outputs: Iterable[str] = (),
) -> FrameFiles:
    """Resolve the command line's NAME=FILE arguments against the names of `groups`.

    A plain FILE stands for the only input there is; NAME=FILE is one only if NAME is an input's. Unknown, missing and
    doubled names are UsageError with the names there are.
    """
    groups = tuple(groups)
    names = [vstream.name for group in groups for vstream in group.input_vstreams]
    streams = [stream.name for group in groups for stream in group.output_streams]
    found: dict[str, ArrayFile] = {}
    for argument in inputs:
        name, path = _split(argument, names)
        if name is None:
            if len(names) != 1:
                raise UsageError(
                    f"--input {argument}: the model has {len(names)} inputs, say which: NAME=FILE with {_list(names)}"
                )
            name = names[0]
        _add(found, name, open_array(Path(path)), "--input")
    if archive is not None:
        for name, file in open_arrays(Path(archive)).items():
            if name not in names:
                raise UsageError(f"--inputs {archive}: there is no input {name!r}; the inputs are {_list(names)}")
            _add(found, name, file, "--inputs")
    supplied: dict[str, ArrayFile] = {}
    for argument in device_outputs:
        name, path = _split(argument, streams)
        if name is None:
            raise UsageError(f"--device-output {argument}: NAME=FILE with the name of a stream, {_list(streams)}")
        _add(supplied, name, open_array(Path(path)), "--device-output")
    return FrameFiles(found, supplied)


def _split(argument: str, names: list[str]) -> tuple[str | None, str]:
    """(name, path); the name is None where what stands before `=` is none of `names`."""
    for name in sorted(names, key=len, reverse=True):
        if argument.startswith(f"{name}="):
            return name, argument[len(name) + 1 :]
    head, sign, _ = argument.partition("=")
    if sign and not Path(argument).exists():
        raise UsageError(f"{argument}: there is no {head!r}; the names are {_list(names)}")
    return None, argument


def _list(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


def _add(files: dict[str, ArrayFile], name: str, file: ArrayFile, option: str) -> None:
    if name in files:
        raise UsageError(f"{option} {name}: given twice ({files[name].name}, {file.name})")
    files[name] = file


class FrameBridge:
    """Frames of one network group.

    `frames` is the number of frames to run, `environment` the library's switches. Raises UsageError for a file that
    does not fit its input, HailoError as the runtime does where a vstream cannot be built.
    """

    def __init__(
        self,
        group: NetworkGroupInfo,
        *,
        runtime: str,
        files: FrameFiles | None = None,
        frames: int = 1,
        seed: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if runtime != "4.23" and (environment or {}).get(DISABLE_POST_PROCESS, "").startswith("1"):
            raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, f"{DISABLE_POST_PROCESS}=1 is not built yet")
        self.group = group
        self.seed = seed
        self.notes: list[str] = []  # statuses that came with a usable frame
        self._runtime = runtime
        self._environment = environment
        files = files or FrameFiles()
        for stream in group.streams:
            _require_size(stream.name, stream.hw_frame_size)
        self._inputs: list[InputVStream | InputFile] = []
        for info in group.input_vstreams:
            _require_size(info.name, info.frame_size)
            vstream = InputVStream(group, info)
            file = files.inputs.get(info.name)
            self._inputs.append(vstream if file is None else _load_input(group, vstream, file, frames))
        self._supplied = {
            stream.name: _load_stream(stream, files.device_outputs[stream.name], frames)
            for stream in group.output_streams
            if stream.name in files.device_outputs
        }
        self._outputs: list[OutputVStream] | None = None

    @property
    def input_sources(self) -> dict[str, str]:
        """Input vstream -> the file it comes from, or `random (seed N)`."""
        return {
            (one.vstream.info.name if isinstance(one, InputFile) else one.info.name): (
                one.source if isinstance(one, InputFile) else f"random (seed {self.seed})"
            )
            for one in self._inputs
        }

    @property
    def output_vstreams(self) -> list[OutputVStream]:
        """Built on first use, so that a run that keeps no outputs never needs them."""
        if self._outputs is None:
            for info in self.group.output_vstreams:
                _require_size(info.name, info.frame_size)
            self._outputs = [
                OutputVStream(self.group, info, runtime=self._runtime, environment=self._environment)
                for info in self.group.output_vstreams
            ]
            _require_one_proto_geometry(self._outputs)
        return self._outputs

    def inputs_for(self, frame: int) -> dict[str, bytes]:
        """Input stream -> the `hw_frame_size` bytes of frame number `frame`; given frames repeat in turn."""
        streams: dict[str, bytes] = {}
        for one in self._inputs:
            if isinstance(one, InputFile):
                converted = one.vstream(one.frames[frame % len(one.frames)])
            else:
                converted = self._random_streams(one, frame)
            streams.update((name, data.tobytes()) for name, data in converted.items())
        return streams

    def device_output(self, stream: str, frame: int) -> bytes | None:
        """The bytes `--device-output` supplies for a stream; None where the device's synthetic ones stand."""
        supplied = self._supplied.get(stream)
        return None if supplied is None else supplied[frame % len(supplied)].tobytes()

    def outputs(self, streams: Mapping[str, Buffer], frame: int = 0) -> dict[str, Array]:
        """Output vstream -> its array for one frame: NMS results raw uint8, all others in the vstream's shape.

        `streams` holds what the device gave for every output stream; bytes supplied by `--device-output` take their
        place. On-chip NMS frames made of synthetic bytes are first brought into that stream's form.
        """
        frames: dict[str, Buffer] = {}
        for stream in self.group.output_streams:
            supplied = self.device_output(stream.name, frame)
            if supplied is not None:
                frames[stream.name] = supplied
            elif stream.name in streams:
                data = streams[stream.name]
                frames[stream.name] = data if stream.nms_info is None else frame_from_noise(data, stream.nms_info)
        results: dict[str, Array] = {}
        for vstream in self.output_vstreams:
            data, status = vstream(frames)
            if status is not HailoStatus.HAILO_SUCCESS:
                self.notes.append(
                    f"{status}: frame {frame} of {vstream.info.name} holds only the best detections, {data.size} bytes"
                    " have no room for more masks"
                )
            results[vstream.info.name] = vstream.array(data)
        return results

    def is_synthetic(self, vstream: str) -> bool:
        """Whether any stream behind an output vstream carries the device's synthetic bytes."""
        info = next(info for info in self.group.output_vstreams if info.name == vstream)
        return any(stream not in self._supplied for stream in info.streams)

    def _random_streams(self, vstream: InputVStream, frame: int) -> dict[str, Bytes]:
        """A frame in which every code is equally likely, from (seed, name, frame).

        Where the runtime could not convert any frame for these streams, their bytes themselves are made up.
        """
        rng = np.random.default_rng([self.seed, zlib.crc32(vstream.info.name.encode()), frame])
        try:
            return vstream(rng.integers(0, 256, vstream.frame_size, np.uint8))
        except HailoError:
            sizes = {stream.name: stream.hw_frame_size for stream in self.group.input_streams}
            return {name: rng.integers(0, 256, sizes[name], np.uint8) for name in vstream.info.streams}


def build_outputs(bridges: Iterable[FrameBridge]) -> list[str]:
    """Names of all outputs, in the order they are kept.

    Raises what `outputs` would raise for any frame, and UsageError where two groups' outputs have one name: only one
    of them could be kept.
    """
    names: list[str] = []
    for bridge in bridges:
        for vstream in bridge.output_vstreams:
            if vstream.info.name in names:
                raise UsageError(
                    f"two of the network groups have an output {vstream.info.name}: run them one by one to keep both"
                )
            names.append(vstream.info.name)
    return names


def _require_size(name: str, size: int) -> None:
    if size > MAX_FRAME_BYTES:
        raise HailoError(
            HailoStatus.HAILO_OUT_OF_HOST_MEMORY,
            f"{name}: a frame of {size} bytes, more than the {MAX_FRAME_BYTES} that are converted",
        )


def _require_one_proto_geometry(outputs: Iterable[OutputVStream]) -> None:
    """The library keeps the first YOLOv5-seg op's proto size for all later ones of the process (known-bugs.md 25)."""
    sizes = {output.op.proto_size for output in outputs if isinstance(output.op, Yolov5Seg)}
    if len(sizes) > 1:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"YOLOv5-seg ops with mask prototypes of {' and '.join(f'{h}x{w}' for h, w in sorted(sizes))} in one"
            " process: the library would use the first's size for all",
        )


def _load_stream(stream: StreamInfo, file: ArrayFile, frames: int) -> Bytes:
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


def _load_input(group: NetworkGroupInfo, vstream: InputVStream, file: ArrayFile, frames: int) -> InputFile:
    """Check type, shape and size against the vstream, then read the frames the run needs."""
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
    return InputFile(vstream, flat.reshape(wanted, vstream.frame_size), file.name)


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
    for frame_shape in (vstream.array_shape, tuple(vstream.shape)):
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
