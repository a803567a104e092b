"""User frames of an application: arrays of vstreams on one side, wire bytes of device streams on the other."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from emu.dataflow.frames import FrameBridge
from emu.dataflow.vstreams import InputVStream
from emu.errors import UsageError
from emu.hef import Hef
from emu.hef.formats import Format, FormatOrder, FormatType
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.naming import listed, similar
from emu.sequencer.host import HostSettings


class UserFrames:
    """Converts the frames of one network group, in the default user formats."""

    def __init__(self, group: NetworkGroupInfo, runtime: str, settings: HostSettings) -> None:
        self.group = group
        self._bridge = FrameBridge(group, runtime=runtime, environment=settings.switches)
        self._inputs = {info.name: InputVStream(group, info) for info in group.input_vstreams}

    @classmethod
    def of_hef(cls, hef: Hef, group: str, runtime: str, settings: HostSettings) -> UserFrames:
        """For the group of that name; raises as the runtime does where a vstream cannot be built."""
        found = next(info for info in hef_infos(hef).network_groups if info.name == group)
        return cls(found, runtime, settings)

    def to_wire(self, inputs: Mapping[str, Any]) -> list[dict[str, bytes]]:
        """The bytes of every input stream, frame by frame; UsageError for a name, shape or dtype that does not fit."""
        unknown = [name for name in inputs if name not in self._inputs]
        missing = [name for name in self._inputs if name not in inputs]
        if unknown or missing:
            what = f"no input {unknown[0]!r}" if unknown else f"nothing for input {missing[0]!r}"
            near = similar(unknown[0], self._inputs) if unknown else ""
            raise UsageError(f"{what}; the inputs are {listed(self._inputs)}.{near}")
        columns = [self._column(name, np.asarray(array)) for name, array in inputs.items()]
        counts = sorted({len(column) for column in columns})
        if len(counts) > 1:
            raise UsageError(f"inputs with {', '.join(map(str, counts))} frames at once")
        return [
            {name: data for column in columns for name, data in column[at].items()}
            for at in range(counts[0] if counts else 1)
        ]

    def from_wire(
        self, rows: Sequence[Mapping[str, bytes]], first: int = 0, real: Sequence[Collection[str]] = ()
    ) -> dict[str, Any]:
        """Output vstream -> array with a leading frames axis; NMS results as raw uint8.

        `real` names, for each row, the streams whose bytes are no synthetic ones.
        """
        outputs: dict[str, list[Any]] = {stream.info.name: [] for stream in self._bridge.output_vstreams}
        for at, row in enumerate(rows):
            given = real[at] if at < len(real) else ()
            for name, array in self._bridge.outputs(row, first + at, real=given).items():
                outputs[name].append(array)
        return {name: np.stack(arrays) for name, arrays in outputs.items() if arrays}

    def _column(self, name: str, array: np.ndarray[Any, Any]) -> list[dict[str, bytes]]:
        vstream = self._inputs[name]
        if array.dtype == np.float32 and vstream.user.type is not FormatType.FLOAT32:
            vstream = InputVStream(self.group, vstream.info, Format(FormatType.FLOAT32, FormatOrder.AUTO))
        shape = vstream.array_shape
        if array.dtype != vstream.dtype or array.shape[1:] != shape or array.ndim != len(shape) + 1:
            raise UsageError(
                f"input {name}: {array.dtype} {array.shape}; a frames axis and {vstream.dtype} {shape} expected, or"
                f" float32 ({math.prod(shape)} elements a frame)"
            )
        frames = np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)
        return [{stream: data.tobytes() for stream, data in vstream(frame).items()} for frame in frames]
