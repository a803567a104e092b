"""Made-up bytes of a device that does not compute, brought into a form that a device could send.

On-chip NMS streams become well-formed frames, of the streams of a detection op few cells score; the rest stays noise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from emu.dataflow.formats import Buffer
from emu.dataflow.nms_wire import frame_from_noise
from emu.dataflow.sparse import SCORING_ELEMENTS, sparse_scores
from emu.dataflow.vstreams import OutputVStream
from emu.hef.infos import StreamInfo


class DeviceLike:
    """For the output streams of one network group."""

    def __init__(self, streams: Iterable[StreamInfo]) -> None:
        self._nms = {stream.name: stream.nms_info for stream in streams if stream.nms_info is not None}

    def frames(self, vstream: OutputVStream, streams: Mapping[str, Buffer], real: Collection[str]) -> dict[str, Buffer]:
        """One frame of each stream behind an output vstream, as far as it is there; those among `real` as they are."""
        found = {name: streams[name] for name in vstream.streams if name in streams}
        noise = found.keys() - set(real)
        for name in noise & self._nms.keys():
            found[name] = frame_from_noise(found[name], self._nms[name], SCORING_ELEMENTS)
        if vstream.op is not None:
            found |= sparse_scores(vstream.op, {name: data for name, data in found.items() if name in noise})
        return found
