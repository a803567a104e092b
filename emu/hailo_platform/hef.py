"""HEF files as HailoRT's Python API shows them (pyhailort-api.md 2)."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from emu.errors import EmuError, HailoStatus
from emu.hailo_platform.enums import StreamDirection
from emu.hailo_platform.environment import environment, say_once
from emu.hailo_platform.exceptions import (
    HailoRTException,
    HailoRTHEFNotCompatibleWithDevice,
    exception_of,
    raising_as_hailort,
    raising_raw_status,
    translated,
)
from emu.hailo_platform.infos import NetworkGroupInfo, StreamInfo, VStreamInfo

if TYPE_CHECKING:
    from emu.hef import Hef
    from emu.hef import infos as inside

HefSource = str | bytes


class HEF:
    """An opened HEF, from a path (str) or its bytes.

    Raises ValueError for anything else, HailoRTException with the status of the runtime for a file it does not load,
    HailoRTHEFNotCompatibleWithDevice where only another device's runtime loads it.
    """

    def __init__(self, hef_source: HefSource) -> None:
        if not isinstance(hef_source, str | bytes):
            raise ValueError("HEF can only be created from a file path (str) or a buffer (bytes)")
        self._source = hef_source
        self._opened, self._infos = _load(hef_source)

    @property
    def path(self) -> str | None:
        return self._source if isinstance(self._source, str) else None

    @cached_property
    def _groups(self) -> dict[str, inside.NetworkGroupInfo]:
        return {group.name: group for group in self._infos.network_groups}

    def get_network_group_names(self) -> list[str]:
        return list(self._groups)

    def get_network_groups_infos(self) -> list[NetworkGroupInfo]:
        return [NetworkGroupInfo(group.name, group.is_multi_context) for group in self._infos.sorted_by_name()]

    def get_networks_names(self, network_group_name: str | None = None) -> list[str]:
        with raising_as_hailort():
            return list(self._group(network_group_name).networks)

    def get_input_vstream_infos(self, name: str | None = None) -> list[VStreamInfo]:
        return self._vstreams(name, StreamDirection.H2D)

    def get_output_vstream_infos(self, name: str | None = None) -> list[VStreamInfo]:
        return self._vstreams(name, StreamDirection.D2H)

    def get_all_vstream_infos(self, name: str | None = None) -> list[VStreamInfo]:
        return self.get_input_vstream_infos(name) + self.get_output_vstream_infos(name)

    def get_input_stream_infos(self, name: str | None = None) -> list[StreamInfo]:
        return self._streams(name, StreamDirection.H2D)

    def get_output_stream_infos(self, name: str | None = None) -> list[StreamInfo]:
        return self._streams(name, StreamDirection.D2H)

    def get_all_stream_infos(self, name: str | None = None) -> list[StreamInfo]:
        return self.get_input_stream_infos(name) + self.get_output_stream_infos(name)

    def get_sorted_output_names(self, network_group_name: str | None = None) -> list[str]:
        with raising_as_hailort():
            return list(self._group(network_group_name).sorted_output_names)

    def bottleneck_fps(self, network_group_name: str | None = None) -> float:
        """Frames a second that the slowest layer allows, as the compiler wrote it."""
        with raising_as_hailort():
            fps = self._group(network_group_name).bottleneck_fps
        if fps == 0:
            raise HailoRTException("bottleneck_fps is zero")
        return fps

    def get_vstream_name_from_original_name(self, original_name: str, network_group_name: str | None = None) -> str:
        with raising_as_hailort():
            group = self._group(network_group_name)
            for layer in group.boundary_layers():
                for leaf in layer.leaves():
                    if original_name in leaf.all_original_names():
                        return leaf.name
            raise exception_of(HailoStatus.HAILO_NOT_FOUND, f"no layer of {group.name} had the name {original_name!r}")

    def get_original_names_from_vstream_name(
        self, vstream_name: str, network_group_name: str | None = None
    ) -> list[str]:
        with raising_as_hailort():
            return list(self._group(network_group_name).original_names(vstream_name))

    def get_vstream_names_from_stream_name(self, stream_name: str, network_group_name: str | None = None) -> list[str]:
        with raising_as_hailort():
            return list(self._group(network_group_name).vstreams_of_stream(stream_name))

    def get_stream_names_from_vstream_name(self, vstream_name: str, network_group_name: str | None = None) -> list[str]:
        with raising_as_hailort():
            return streams_of_vstream(self._group(network_group_name), vstream_name)

    def _get_external_resources(self, resource_name: str | None = None) -> dict[str, bytes] | bytes:
        """All by name (4.x); of one its bytes (5.x)."""
        found: dict[str, bytes] = {}
        for one in self._opened.external_resources:
            data = self._opened.container.external_resource(one)
            if data is None:
                raise exception_of(HailoStatus.HAILO_FILE_OPERATION_FAILURE, f"{one.name} lies outside the file")
            found[one.name] = bytes(data)
        if resource_name is None:
            return found
        if resource_name not in found:
            raise exception_of(HailoStatus.HAILO_NOT_FOUND, f"no external resource {resource_name!r}")
        return found[resource_name]

    def _get_external_resource_names(self) -> list[str]:
        return [one.name for one in self._opened.external_resources]

    def _group(self, name: str | None) -> inside.NetworkGroupInfo:
        return self._infos.find(name or "")[0]

    def _vstreams(self, name: str | None, direction: StreamDirection) -> list[VStreamInfo]:
        with raising_raw_status():
            group, network = self._infos.find(name or "")
            return vstream_infos(group, network, direction)

    def _streams(self, name: str | None, direction: StreamDirection) -> list[StreamInfo]:
        with raising_raw_status():
            group, network = self._infos.find(name or "")
            return stream_infos(group, network, direction)


def vstream_infos(group: inside.NetworkGroupInfo, network: str, direction: StreamDirection) -> list[VStreamInfo]:
    """In the HEF's order; EmuError 61 for a network that is unknown or has none."""
    from emu.hef.layers import StreamDirection as Direction

    return [VStreamInfo.of(info) for info in group.vstreams_of(network, Direction[direction.name])]


def stream_infos(group: inside.NetworkGroupInfo, network: str, direction: StreamDirection) -> list[StreamInfo]:
    """As `vstream_infos`."""
    from emu.hef.layers import StreamDirection as Direction

    return [StreamInfo.of(info) for info in group.streams_of(network, Direction[direction.name])]


def streams_of_vstream(group: inside.NetworkGroupInfo, vstream: str) -> list[str]:
    """The device streams that make a vstream or that it feeds; HailoRTNotFoundException if it is unknown."""
    for info in group.vstreams:
        if info.name == vstream:
            return list(info.streams)
    raise exception_of(HailoStatus.HAILO_NOT_FOUND, f"there is no vstream {vstream!r} in {group.name!r}")


def _load(source: HefSource) -> tuple[Hef, inside.HefInfos]:
    from emu.hef import open_hef
    from emu.hef.infos import hef_infos

    origin = Path(source) if isinstance(source, str) else source
    with raising_as_hailort():
        runtime = environment().runtime
        try:
            opened = open_hef(origin, runtime=runtime, from_memory=isinstance(source, bytes))
            return opened, hef_infos(opened)
        except EmuError as error:
            if name_the_device(source):
                raise HailoRTHEFNotCompatibleWithDevice(str(translated(error))) from error
            raise


def name_the_device(source: HefSource | Hef) -> bool:
    """Whether a HEF is for another device than EMU_DEVICE's; says once which."""
    from emu.chips.runtimes import accepted_archs, default_device, device_profile, runtime_profile
    from emu.hef import Hef, open_hef

    chosen = environment()
    try:
        opened = source if isinstance(source, Hef) else open_hef(Path(source) if isinstance(source, str) else source)
        arch = opened.header.hw_arch
    except EmuError:
        return False
    if arch in accepted_archs(runtime_profile(chosen.runtime), device_profile(chosen.device)):
        return False
    device = default_device(arch)
    if device is None or device == chosen.device:
        return False
    say_once(f"{opened.name} is for {device}, the device is {chosen.device}: set EMU_DEVICE={device}")
    return True
