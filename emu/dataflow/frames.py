"""Frames between files and device streams: what `emu run` feeds a HEF and what it keeps of it (cli.md).

`FrameBridge` holds everything for one network group: `inputs_for(frame)` gives the bytes of every input stream,
`outputs(stream bytes)` the arrays of every output vstream. Inputs that are not given are seeded random, and
`input_sources` says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from emu.arrays import ArrayFile, open_array, open_arrays
from emu.dataflow.edges import input_edges
from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.given import FrameSource, GivenInput, load_input, load_stream, source_input
from emu.dataflow.input_stats import InputStatistics
from emu.dataflow.postprocess.base import NmsPostProcess
from emu.dataflow.postprocess.yolov5_seg import Yolov5Seg
from emu.dataflow.synthetic import DeviceLike
from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import is_there
from emu.hef.formats import FormatOrder, FormatType
from emu.hef.infos import NetworkGroupInfo, VStreamInfo
from emu.hef.runtime import library_rules
from emu.naming import full_name, listed, similar
from emu.noise import noise

Array = NDArray[Any]

DISABLE_POST_PROCESS = "HAILO_DISABLE_PP"  # 5.2: raw device frames instead of vstreams (transforms.md 8)

# no frame of any model is near this; a forged shape must not cost memory
MAX_FRAME_BYTES = 1 << 27

SYNTHETIC, COMPUTED, DEVICE = "synthetic", "computed", "device"
"""Where the numbers of an output come from: made up, the core, `--device-output`; a run may name others."""


class FrameFiles(Struct, frozen=True):
    """What was given by name: files of inputs and of device streams, and inputs that make their frames."""

    inputs: Mapping[str, ArrayFile] = field(default_factory=dict)
    device_outputs: Mapping[str, ArrayFile] = field(default_factory=dict)
    sources: Mapping[str, FrameSource] = field(default_factory=dict)


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
        name, path = split_argument(argument, names)
        if name is None:
            if len(names) != 1:
                raise UsageError(
                    f"--input {argument}: the model has {len(names)} inputs, say which: NAME=FILE with {listed(names)}"
                )
            name = names[0]
        _add(found, name, open_array(Path(path)), "--input")
    if archive is not None:
        for name, file in open_arrays(Path(archive)).items():
            whole = full_name(name, names)
            if whole is None:
                what = f"there is no input {name!r}; the inputs are {listed(names)}.{similar(name, names)}"
                raise UsageError(f"--inputs {archive}: {what}")
            _add(found, whole, file, "--inputs")
    supplied: dict[str, ArrayFile] = {}
    for argument in device_outputs:
        name, path = split_argument(argument, streams)
        if name is None:
            raise UsageError(f"--device-output {argument}: NAME=FILE with the name of a stream, {listed(streams)}")
        _add(supplied, name, open_array(Path(path)), "--device-output")
    return FrameFiles(found, supplied)


def split_argument(argument: str, names: list[str]) -> tuple[str | None, str]:
    """(name, path) of `[NAME=]FILE`, NAME one of `names` or the end of only one; None: there is no NAME."""
    for name in sorted(names, key=len, reverse=True):
        if argument.startswith(f"{name}="):
            return name, argument[len(name) + 1 :]
    head, sign, path = argument.partition("=")
    if sign and not is_there(argument):
        whole = full_name(head, names)
        if whole is None:
            what = f"there is no {head!r}; the names are {listed(names)}.{similar(head, names)}"
            raise UsageError(f"{argument}: {what}")
        return whole, path
    return None, argument


def _add(files: dict[str, ArrayFile], name: str, file: ArrayFile, option: str) -> None:
    if name in files:
        raise UsageError(f"{option} {name}: given twice ({files[name].name}, {file.name})")
    files[name] = file


class FrameBridge:
    """Frames of one network group.

    `frames` is the number of frames to run, `environment` the library's switches, `origin` what computes the output
    streams that no file supplies. Raises UsageError for a file that does not fit its input, HailoError as the runtime
    does where a vstream cannot be built.
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
        origin: str = SYNTHETIC,
    ) -> None:
        if library_rules(runtime).reads_switches and (environment or {}).get(DISABLE_POST_PROCESS, "").startswith("1"):
            raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, f"{DISABLE_POST_PROCESS}=1 is not built yet")
        self.group = group
        self.seed = seed
        self.origin = origin
        self.computed: frozenset[str] = frozenset()  # output streams that the core computes (docs/network.md)
        self.notes: list[str] = []  # statuses that came with a usable frame
        self._runtime = runtime
        self._environment = environment
        files = files or FrameFiles()
        for stream in group.streams:
            _require_size(stream.name, stream.hw_frame_size)
        self._frames = frames
        self._inputs: list[InputVStream | GivenInput] = []
        for info in group.input_vstreams:
            _require_size(info.name, info.frame_size)
            vstream = InputVStream(group, info)
            file, source = files.inputs.get(info.name), files.sources.get(info.name)
            if source is not None:
                self._inputs.append(source_input(vstream, source))
            else:
                self._inputs.append(vstream if file is None else load_input(group, vstream, file, frames))
        self._supplied = {
            stream.name: load_stream(stream, files.device_outputs[stream.name], frames)
            for stream in group.output_streams
            if stream.name in files.device_outputs
        }
        self._outputs: list[OutputVStream] | None = None
        self._synthetic = DeviceLike(group.output_streams)

    @property
    def input_sources(self) -> dict[str, str]:
        """Input vstream -> the file it comes from, or `random (seed N)`."""
        return {
            info.name: given.source if given is not None else f"random (seed {self.seed})"
            for info, given in self.given.values()
        }

    @property
    def stream_sources(self) -> dict[str, str]:
        """As `input_sources` by input stream; planes have the source of their vstream."""
        sources = self.input_sources
        return {stream: sources[info.name] for info, _ in self.given.values() for stream in info.streams}

    @property
    def given(self) -> dict[str, tuple[VStreamInfo, GivenInput | None]]:
        """Every input vstream by name, with its frames if some were given."""
        found: dict[str, tuple[VStreamInfo, GivenInput | None]] = {}
        for one in self._inputs:
            given = one if isinstance(one, GivenInput) else None
            info = one.vstream.info if isinstance(one, GivenInput) else one.info
            found[info.name] = (info, given)
        return found

    def statistics(self) -> dict[str, InputStatistics | None]:
        """What the frames of every input look like; None for random ones."""
        return {
            name: None if given is None else given.statistics(self.group, self._frames)
            for name, (_, given) in self.given.items()
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
            if isinstance(one, GivenInput):
                converted = one.vstream(one.frame(frame))
            else:
                converted = self._random_streams(one, frame)
            streams.update((name, data.tobytes()) for name, data in converted.items())
        return streams

    def input_pixels(self, vstream: str, frame: int) -> NDArray[np.uint8] | None:
        """A frame of an input as an RGB picture where it is one of bytes in three colours or grey; else None."""
        info, _ = self.given[vstream]
        if info.shape is None or info.shape.features not in (1, 3) or len(info.streams) != 1:
            return None
        if info.format.order not in (FormatOrder.NHWC, FormatOrder.FCR) or info.format.type is not FormatType.UINT8:
            return None
        edge = next(one for one in input_edges(self.group) if one.info.name == vstream)
        codes = edge.codes(self.inputs_for(frame)).reshape(info.shape)
        return np.ascontiguousarray(np.broadcast_to(codes, (info.shape.height, info.shape.width, 3)))

    def device_output(self, stream: str, frame: int) -> bytes | None:
        """The bytes `--device-output` supplies for a stream; None where the device's synthetic ones stand."""
        supplied = self._supplied.get(stream)
        return None if supplied is None else supplied[frame % len(supplied)].tobytes()

    def outputs(self, streams: Mapping[str, Buffer], frame: int = 0, real: Collection[str] = ()) -> dict[str, Array]:
        """Output vstream -> its array for one frame: NMS results raw uint8, all others in the vstream's shape.

        `streams` holds what the device gave for every output stream; bytes supplied by `--device-output` take their
        place. Synthetic ones (of streams not among `real`, where `origin` is synthetic) are first brought into a form
        that a device could send (`emu.dataflow.synthetic`).
        """
        known = (
            {stream.name for stream in self.group.output_streams}
            if self.origin != SYNTHETIC
            else {*real, *self.computed}
        )
        known |= self._supplied.keys()
        frames = {**streams, **{name: supplied[frame % len(supplied)] for name, supplied in self._supplied.items()}}
        results: dict[str, Array] = {}
        for vstream in self.output_vstreams:
            data, status = vstream(self._synthetic.frames(vstream, frames, known))
            if status is not HailoStatus.HAILO_SUCCESS:
                self.notes.append(
                    f"{status}: frame {frame} of {vstream.info.name} holds only the best detections, {data.size} bytes"
                    " have no room for more masks"
                )
            results[vstream.info.name] = vstream.array(data)
        return results

    @property
    def supplied(self) -> frozenset[str]:
        """The streams whose bytes `--device-output` gives."""
        return frozenset(self._supplied)

    def origin_of(self, vstream: str) -> str:
        """Where an output's numbers come from: `device` if every stream behind it was supplied, `computed` if the core
        computed the others, else `origin`."""
        info = next(info for info in self.group.output_vstreams if info.name == vstream)
        if all(stream in self._supplied for stream in info.streams):
            return DEVICE
        real = {*self._supplied, *self.computed}
        return COMPUTED if self.origin == SYNTHETIC and real.issuperset(info.streams) else self.origin

    def configure(
        self,
        *,
        score_threshold: float | None = None,
        iou_threshold: float | None = None,
        max_boxes: int | None = None,
    ) -> bool:
        """Change the thresholds and the boxes per class of every detection op; False where there is none."""
        ops = [vstream for vstream in self.output_vstreams if isinstance(vstream.op, NmsPostProcess)]
        for vstream in ops:
            total = vstream.user.order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK
            vstream.configure(
                score_threshold=score_threshold,
                iou_threshold=iou_threshold,
                max_proposals_per_class=None if total else max_boxes,
                max_proposals_total=max_boxes if total else None,
            )
        return bool(ops)

    def _random_streams(self, vstream: InputVStream, frame: int) -> dict[str, Bytes]:
        """A frame in which every code is equally likely, from (seed, name, frame).

        Where the runtime could not convert any frame for these streams, their bytes themselves are made up.
        """
        key = f"{self.seed} {frame} ".encode()
        try:
            return vstream(noise(key + vstream.info.name.encode(), vstream.frame_size))
        except HailoError:
            sizes = {stream.name: stream.hw_frame_size for stream in self.group.input_streams}
            return {
                name: np.frombuffer(noise(key + name.encode(), sizes[name]), np.uint8) for name in vstream.info.streams
            }


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
