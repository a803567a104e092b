"""Outputs that the core computes: for which groups and streams, and what stands in the way of the others.

`--compute=strict` refuses a run in which anything is not computed, `partial` computes what depends on read layers
alone, `off` nothing; by default a network is computed that was read whole and that takes less than a second a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from emu.chips.runtimes import device_profile, runtime_profile
from emu.errors import HailoError, HailoStatus
from emu.hef import Hef
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.hef.model import CoreOp, NetworkGroup
from emu.hw.payload import Content, Payload
from emu.sequencer.compile import CompileOptions, chosen_core_ops, default_device
from emu.trace.hazards import Hazard

if TYPE_CHECKING:
    from emu.host.jobs import Outputs
    from emu.net.frames import CoreFrames
    from emu.net.reading import GroupReading
    from emu.net.shapes import Assumption
    from emu.net.units import LcuId

STRICT, PARTIAL, OFF = "strict", "partial", "off"
MODES = (STRICT, PARTIAL, OFF)
_MOST_SECONDS = 1.0  # a frame, without being asked (cli.md)


class GroupComputing(Struct, frozen=True):
    """What is computed of one network group: the output streams, and a line where there is something to say.

    `reading` is None where the file's network is not read at all; `assumed` are choices of stride and padding. `lost`:
    why streams stayed synthetic all the same, once a run has met a chip that holds something else than the file says.
    """

    streams: frozenset[str] = frozenset()
    reading: GroupReading | None = None
    note: str = ""
    assumed: Mapping[LcuId, Assumption] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)

    def model(self, told: Callable[[int, frozenset[str]], None]) -> Core | None:
        """What computes its frames, once for each application; `told` hears which streams of a frame it gave. None
        where nothing is computed."""
        if self.reading is None or not self.streams:
            return None
        from emu.net.frames import CoreFrames

        return Core(CoreFrames(self.reading, self.assumed, self.lost), told)

    def document(self) -> dict[str, Any] | None:
        """`computed` of a group (cli.md)."""
        if self.reading is None:
            return None
        unread = self.reading.unread
        return {
            "layers": self.reading.layers - len(unread),
            "streams": sorted(self.streams - self.lost.keys()),
            "unread": [{"lcu": list(lcu), "why": why} for lcu, why in unread],
            "refused": self.reading.refused | self.lost,
            "assumed": [
                {"lcu": list(lcu), "padding": "same" if one.window.padded else "valid", "why": one.why}
                for reading in self.reading.contexts
                for lcu, one in reading.geometry.items()
                if one.why
            ],
        }


class Core:
    """What the core computes of one application (`emu.hw.border.CoreModel`)."""

    def __init__(self, frames: CoreFrames, told: Callable[[int, frozenset[str]], None]) -> None:
        self._frames = frames
        self._told = told

    def __call__(
        self, number: int, context: int, arrived: Mapping[int, Content | None], held: Any
    ) -> Mapping[int, bytes]:
        there = {
            index: content.materialise() if isinstance(content, Payload) else content
            for index, content in arrived.items()
            if content is not None
        }
        found = self._frames(number, context, there, held)
        if found:
            self._told(number, self._frames.names(context, found))
        return found


class ComputedOutputs:
    """Outputs of a run or device that its core computes: what `given` says goes before (`emu.host.jobs.Outputs`)."""

    def __init__(self, groups: Sequence[GroupComputing], given: Outputs | None = None) -> None:
        self.groups = groups
        self.given = given

    @property
    def streams(self) -> frozenset[str]:
        """The streams of all groups that are computed."""
        return frozenset().union(*(group.streams - group.lost.keys() for group in self.groups))


def compute_hef(
    hef: Hef, options: CompileOptions, mode: str | None, assumed: Sequence[str] = ()
) -> list[GroupComputing]:
    """What is computed of each group that `options` compile, in the order of its program.

    Raises HailoError 7 where `mode` is strict and something is not computed, UsageError for a wrong assumption.
    """
    from emu.net.assume import parse_assumptions

    taken = parse_assumptions(assumed)
    infos = {group.name: group for group in hef_infos(hef).network_groups}
    return [
        _group(hef, core_op, infos[group.network_group_name], mode, taken) for group, core_op in _chosen(hef, options)
    ]


def agreements_of(hef: Hef, options: CompileOptions) -> list[Callable[[], list[Hazard]]]:
    """What finds the hazards of the network of each group that `options` compile, when it is asked (network.md 10)."""
    infos = {group.name: group for group in hef_infos(hef).network_groups}
    return [
        partial(_hazards, hef, core_op, infos[group.network_group_name]) for group, core_op in _chosen(hef, options)
    ]


def _chosen(hef: Hef, options: CompileOptions) -> list[tuple[NetworkGroup, CoreOp]]:
    device = device_profile(options.device or default_device(hef.header.hw_arch))
    return chosen_core_ops(hef, options, runtime_profile(hef.runtime), device)


def _hazards(hef: Hef, core_op: CoreOp, info: NetworkGroupInfo) -> list[Hazard]:
    from emu.net.checks import network_hazards
    from emu.net.load import load_networks

    try:
        networks = load_networks(hef, core_op, info)
    except HailoError as error:
        if error.status is HailoStatus.HAILO_NOT_IMPLEMENTED:  # networks that are not read have nothing to compare
            return []
        raise
    return [hazard for network in networks for hazard in network_hazards(network)]


def _group(
    hef: Hef, core_op: CoreOp, info: NetworkGroupInfo, mode: str | None, assumed: Mapping[LcuId, Assumption]
) -> GroupComputing:
    if mode == OFF:
        return GroupComputing()
    from emu.net.load import load_networks
    from emu.net.reading import read_group

    try:
        networks = load_networks(hef, core_op, info)
    except HailoError as error:
        if mode == STRICT or error.status is not HailoStatus.HAILO_NOT_IMPLEMENTED:
            raise
        return GroupComputing(note=f"{info.name}: outputs are synthetic: {error.message}" if mode else "")
    return replace(_read(read_group(networks, assumed), info, mode), assumed=assumed)


def _read(reading: GroupReading, info: NetworkGroupInfo, mode: str | None) -> GroupComputing:
    if mode == STRICT and not reading.whole:
        raise _refusal(reading, info)
    if mode is None and not reading.whole:
        unread, layers = len(reading.unread), reading.layers
        some = " (--compute=partial computes streams that need none of them)" if reading.computable else ""
        return GroupComputing(
            reading=reading, note=f"{info.name}: outputs are synthetic: {unread} of {layers} layers are not read{some}"
        )
    if mode is None and reading.seconds_a_frame >= _MOST_SECONDS:
        return GroupComputing(
            reading=reading,
            note=f"{info.name}: outputs are synthetic: computing takes about {reading.seconds_a_frame:.0f} s a frame"
            " (--compute=strict does it)",
        )
    refused = "; ".join(f"{name}: {why}" for name, why in reading.refused.items())
    if not reading.computable:
        return GroupComputing(reading=reading, note=f"{info.name}: no output stream can be computed: {refused}")
    note = f"{info.name}: these streams stay synthetic: {refused}" if refused else ""
    return GroupComputing(frozenset(reading.computable), reading, note)


def _refusal(reading: GroupReading, info: NetworkGroupInfo) -> HailoError:
    """Names the first LCU that is not read, or the first stream that cannot be computed."""
    unread = reading.unread
    where: dict[str, object] = {"network_group": info.name}
    if unread:
        lcu, why = unread[0]
        where |= {"cluster": lcu.cluster, "lcu": lcu.number}
        return HailoError(
            HailoStatus.HAILO_NOT_IMPLEMENTED, f"{len(unread)} layers are not read; the first: {why}", **where
        )
    name, why = next(iter(reading.refused.items()))
    return HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, f"stream {name} cannot be computed: {why}", **where)
