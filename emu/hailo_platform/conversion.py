"""Frames of one network group between the user's buffers and the wire, each vstream in the format it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emu.hailo_platform.infos import HailoFormat

if TYPE_CHECKING:
    from emu.dataflow.vstreams import InputVStream, OutputVStream
    from emu.errors import HailoStatus
    from emu.hef.infos import NetworkGroupInfo

Bytes = NDArray[np.uint8]
Wire = Mapping[str, bytes]


class InputFrames:
    """Input vstreams of a group; `formats` by name, AUTO for those that it leaves out.

    Raises HailoError as the runtime does for a format that a vstream cannot be given in.
    """

    def __init__(self, group: NetworkGroupInfo, formats: Mapping[str, HailoFormat]) -> None:
        from emu.dataflow.vstreams import InputVStream

        self.vstreams: dict[str, InputVStream] = {
            info.name: InputVStream(group, info, formats.get(info.name, HailoFormat()).inside())
            for info in group.input_vstreams
        }

    def wire(self, name: str, frame: NDArray[Any]) -> dict[str, bytes]:
        """The bytes of every stream that a vstream feeds; `frame` has as many bytes as the vstream's frame."""
        return {stream: data.tobytes() for stream, data in self.vstreams[name](as_bytes(frame)).items()}


class OutputFrames:
    """Output vstreams of a group, as `InputFrames`."""

    def __init__(self, group: NetworkGroupInfo, formats: Mapping[str, HailoFormat], runtime: str) -> None:
        from emu.dataflow.synthetic import DeviceLike
        from emu.dataflow.vstreams import OutputVStream

        self.vstreams: dict[str, OutputVStream] = {
            info.name: OutputVStream(group, info, formats.get(info.name, HailoFormat()).inside(), runtime=runtime)
            for info in group.output_vstreams
        }
        self._synthetic = DeviceLike(group.output_streams)
        self._lock = threading.Lock()  # an op holds what it found of a frame while it works on it

    def user(self, name: str, row: Wire, real: Collection[str], into: Bytes | None = None) -> tuple[Bytes, HailoStatus]:
        """One frame of a vstream as bytes, in `into` if given; `real`: streams whose bytes are no synthetic ones."""
        vstream = self.vstreams[name]
        frames = self._synthetic.frames(vstream, row, real)
        with self._lock:
            data, status = vstream(frames, into)
        return data, status


def as_bytes(frame: NDArray[Any]) -> Bytes:
    """The bytes of a contiguous array, no copy."""
    return frame.reshape(-1).view(np.uint8)
