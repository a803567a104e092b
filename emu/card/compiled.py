"""A HEF compiled beside the client: what its network groups look like, how long they take, what leaves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from emu.card.comparison import Comparison
from emu.dataflow.formats import as_bytes
from emu.dataflow.frames import COMPUTED, SYNTHETIC
from emu.dataflow.nms_wire import class_words, device_words, frame_from_noise, unpack_words
from emu.dataflow.sparse import SCORING_ELEMENTS, sparse_scores
from emu.dataflow.vstreams import OutputVStream
from emu.errors import EmuError, UsageError
from emu.hef import Hef, open_hef
from emu.hef.formats import NmsInfo
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.host.application import label_of
from emu.host.computing import OFF, ComputedOutputs, Core, compute_hef
from emu.host.jobs import Outputs
from emu.host.references import ReferenceFor
from emu.hw.application import Application
from emu.hw.border import StreamLabel
from emu.hw.device import Device
from emu.hw.payload import Content
from emu.reference import SOURCE as REFERENCE
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import BoundaryStream, NetworkGroupProgram, Program
from emu.timing.model import GroupTiming
from emu.timing.workload import program_timings

_KEPT = 8  # files and batches whose programs are kept


class Network(Struct, dict=True):
    """One group of a HEF as it was compiled for an application; `difference`: the first from what the client sent.

    `file` is the path of the HEF.
    `outputs` gives the bytes of its output streams (`emu.host.jobs.Outputs`), None: they are made up.
    """

    hef: Hef
    program: Program
    position: int
    timing: GroupTiming
    info: NetworkGroupInfo
    options: CompileOptions
    file: str = ""
    difference: str = ""
    outputs: Outputs | ComputedOutputs | None = None
    place: int = 0  # of the group among those that `outputs` knows
    given: set[str] = field(default_factory=set)  # streams that `outputs` gave

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def group(self) -> NetworkGroupProgram:
        return self.program.network_groups[self.position]

    @property
    def contexts(self) -> int:
        return len(self.group.contexts)

    @cached_property
    def streams(self) -> dict[int, BoundaryStream]:
        """By packed channel id."""
        return {one.packed_vdma_channel_id: one for one in self.group.streams}

    @property
    def labels(self) -> dict[int, StreamLabel]:
        """What the device is told of its boundary channels."""
        return {packed: label_of(one) for packed, one in self.streams.items()}

    def compared(self, application: Application, device: Device) -> Network:
        """This network with the first difference from what was sent for an application."""
        comparison = Comparison(device.wire)
        difference = comparison.lists(application, self.group)
        difference = difference or comparison.memory(device.host_memory, self.program)
        return replace(self, difference=difference, given=set())

    def source(self, stream: str) -> str:
        """Where the bytes of an output stream come from, in a word."""
        if self.outputs is None:
            return SYNTHETIC
        if isinstance(self.outputs, ComputedOutputs):
            return COMPUTED if stream in self.outputs.streams else SYNTHETIC
        return REFERENCE

    # -- outputs

    def choose_outputs(
        self, reference: ReferenceFor | None, compute: str | None, say_once: Callable[[str], None]
    ) -> None:
        """Where its output bytes come from: a reference model, the core, or nowhere. Raises what these raise."""
        model = reference(self.hef, self.name) if reference is not None else None
        if model is not None:
            from emu.reference.choose import choose_references

            self.outputs = choose_references([self.info], {self.name: model})
        elif compute != OFF:
            groups = compute_hef(self.hef, self.options, compute)
            computing = groups[self.position]
            if computing.note:
                say_once(computing.note)
            if computing.streams:
                self.outputs, self.place = ComputedOutputs(groups), self.position

    def compute(self, number: int, arrived: Mapping[str, Content | None]) -> Mapping[str, bytes]:
        """What `outputs` make of a frame, from its inputs as they came; nothing where they are not all there.

        UsageError for bytes that do not fill the frame of a stream.
        """
        inputs = {name: data for name, data in arrived.items() if isinstance(data, bytes)}
        if self.outputs is None or isinstance(self.outputs, ComputedOutputs):
            return {}
        if not {one.name for one in self.info.input_streams} <= inputs.keys():
            return {}
        self._check(inputs)
        found = {name: bytes(data) for name, data in self.outputs(self.place, number, inputs).items()}
        self._check(found)
        self.given |= found.keys()
        return found

    def core_model(self) -> Core | None:
        """What its core computes; None where that is nothing."""
        if not isinstance(self.outputs, ComputedOutputs):
            return None
        return self.outputs.groups[self.place].model(lambda _, streams: self.given.update(streams))

    def _check(self, frames: Mapping[str, bytes]) -> None:
        for one in self.streams.values():
            size, data = one.transfer_size * one.transfers_per_frame, frames.get(one.name)
            if data is not None and len(data) != size:
                raise UsageError(f"stream {one.name}: {len(data)} bytes, a frame has {size}")

    def gives(self, channel: int) -> bool:
        """Whether a model has given frames of a channel."""
        return self.streams[channel].name in self.given

    def transfers(self, channel: int, content: bytes, made_up: bool, per_frame: int) -> list[bytes]:
        """The transfers of one output frame, as the core gives it; `made_up`: nothing computed it."""
        name = self.streams[channel].name
        size = len(content) // per_frame
        info = self._nms.get(name)
        if info is not None:
            boxes = frame_from_noise(content, info, SCORING_ELEMENTS) if made_up else np.frombuffer(content, np.uint8)
            words = device_words([unpack_words(one) for one in class_words(boxes, info)], info)
            return [words[at : at + size] for at in range(0, len(words), size)]
        op = self._ops.get(name) if made_up else None
        if op is not None:  # few cells score, so that the client is done with them in reasonable time
            content = as_bytes(sparse_scores(op, {name: content})[name], len(content), name).tobytes()
        return [content[at * size : (at + 1) * size] for at in range(per_frame)]

    @cached_property
    def _nms(self) -> dict[str, NmsInfo]:
        return {one.name: one.nms_info for one in self.info.output_streams if one.nms_info is not None}

    @cached_property
    def _ops(self) -> dict[str, Any]:
        """The detection ops of the client's library by their streams."""
        found: dict[str, Any] = {}
        for info in self.info.output_vstreams:
            try:
                vstream = OutputVStream(self.info, info, runtime=self.program.runtime)
            except EmuError:
                continue  # what this side cannot post-process the client can all the same
            if vstream.op is not None:
                found.update(dict.fromkeys(vstream.streams, vstream.op))
        return found


def compiled(
    source: Any, batch: int, device: Device, host: HostSettings | None, kept: dict[Any, list[Network]]
) -> list[Network]:
    """The groups of a HEF compiled for a device and a batch; `kept` holds those of the files compiled last.

    Raises what opening and compiling raise.
    """
    key = source, _stamp(source), batch, device.runtime
    if key in kept:
        return kept[key]
    hef = open_hef(source, runtime=device.runtime)
    options = CompileOptions(
        device=device.profile.device, cluster_layout=device.layout, batch=max(1, batch), host=host or HostSettings()
    )
    program = compile_hef(hef, options)
    timings = program_timings(program, device.profile)
    infos = {group.name: group for group in hef_infos(hef).network_groups}
    kept[key] = [
        Network(hef, program, position, timings[position], infos[group.name], options, str(source))
        for position, group in enumerate(program.network_groups)
    ]
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]
    return kept[key]


def _stamp(source: Any) -> tuple[int, ...]:
    """What tells a file from the one that stood there before."""
    if not isinstance(source, str | Path):
        return ()
    found = Path(source).stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
