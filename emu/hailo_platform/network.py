"""Configured network groups of the vstream API (pyhailort-api.md 5)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hailo_platform.enums import StreamDirection
from emu.hailo_platform.exceptions import (
    HailoRTException,
    HailoRTNotImplemented,
    raising_as_hailort,
    raising_raw_status,
)
from emu.hailo_platform.hef import HEF, stream_infos, streams_of_vstream, vstream_infos
from emu.hailo_platform.infos import StreamInfo, VStreamInfo
from emu.hailo_platform.logger import default_logger
from emu.hailo_platform.params import ActivateNetworkGroupParams, ConfigureParams
from emu.hailo_platform.pipeline import Pipeline
from emu.hailo_platform.session import Session

if TYPE_CHECKING:
    from emu.hef import infos as inside
    from emu.host.application import Application


class ConfiguredNetwork:
    """A network group on the device. `VDevice.configure` makes it."""

    def __init__(self, session: Session, group: inside.NetworkGroupInfo, application: Application) -> None:
        self._session = session
        self._group = group
        self._application = application
        self._pipeline: Pipeline | None = None  # of the vstreams that are open
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        return self._group.name

    def get_networks_names(self) -> list[str]:
        return list(self._group.networks)

    # -- activation

    @staticmethod
    def create_params() -> ActivateNetworkGroupParams:
        return ActivateNetworkGroupParams.default()

    def activate(
        self, network_group_params: ActivateNetworkGroupParams | None = None
    ) -> ActivatedNetworkContextManager:
        """A context manager that gives the activated network; with the scheduler it gives None and warns."""
        if self._session.scheduled:
            default_logger().warning(
                "Calls to `activate()` when working with scheduler are deprecated! "
                "On future versions this call will raise an error."
            )
            return ActivatedNetworkContextManager(self, None)
        with raising_as_hailort():
            self._session.activate(self)
        return ActivatedNetworkContextManager(self, ActivatedNetwork(self))

    def wait_for_activation(self, timeout_ms: int | None = None) -> None:
        """HailoRTTimeout where nobody activates it within `timeout_ms` (None: wait on)."""
        with raising_as_hailort():
            self._session.wait_for_activation(self, timeout_ms)

    # -- infos

    def get_sorted_output_names(self) -> list[str]:
        return list(self._group.sorted_output_names)

    def get_output_shapes(self) -> tuple[tuple[int, ...], ...]:
        shapes = {info.name: info.shape for info in self.get_output_vstream_infos()}
        return tuple(shapes[name] for name in self.get_sorted_output_names())

    def get_input_vstream_infos(self, network_name: str | None = None) -> list[VStreamInfo]:
        with raising_raw_status():
            return vstream_infos(self._group, network_name or "", StreamDirection.H2D)

    def get_output_vstream_infos(self, network_name: str | None = None) -> list[VStreamInfo]:
        with raising_raw_status():
            return vstream_infos(self._group, network_name or "", StreamDirection.D2H)

    def get_all_vstream_infos(self, network_name: str | None = None) -> list[VStreamInfo]:
        return self.get_input_vstream_infos(network_name) + self.get_output_vstream_infos(network_name)

    def get_input_stream_infos(self, network_name: str | None = None) -> list[StreamInfo]:
        with raising_raw_status():
            return stream_infos(self._group, network_name or "", StreamDirection.H2D)

    def get_output_stream_infos(self, network_name: str | None = None) -> list[StreamInfo]:
        with raising_raw_status():
            return stream_infos(self._group, network_name or "", StreamDirection.D2H)

    def get_all_stream_infos(self, network_name: str | None = None) -> list[StreamInfo]:
        return self.get_input_stream_infos(network_name) + self.get_output_stream_infos(network_name)

    def get_stream_names_from_vstream_name(self, vstream_name: str) -> list[str]:
        with raising_as_hailort():
            return streams_of_vstream(self._group, vstream_name)

    def get_vstream_names_from_stream_name(self, stream_name: str) -> list[str]:
        with raising_as_hailort():
            return list(self._group.vstreams_of_stream(stream_name))

    # -- scheduler

    def set_scheduler_timeout(self, timeout_ms: int, network_name: str | None = None) -> None:
        self._schedule(timeout_ms=timeout_ms)

    def set_scheduler_threshold(self, threshold: int, network_name: str | None = None) -> None:
        self._schedule(threshold=threshold)

    def set_scheduler_priority(self, priority: int, network_name: str | None = None) -> None:
        self._schedule(priority=priority)

    def _schedule(self, **change: Any) -> None:
        with raising_as_hailort():
            if not self._session.scheduled:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the VDevice was made without a scheduler")
            self._session.engine.call(lambda: self._application.set_scheduler(**change))

    # -- caches

    def init_cache(self, read_offset: int) -> None:
        raise HailoRTNotImplemented("caches (init_cache)")

    def update_cache_offset(self, offset_delta_entries: int) -> None:
        raise HailoRTNotImplemented("caches (update_cache_offset)")

    def get_cache_ids(self) -> list[int]:
        raise HailoRTNotImplemented("caches (get_cache_ids)")

    def read_cache_buffer(self, cache_id: int) -> bytes:
        raise HailoRTNotImplemented("caches (read_cache_buffer)")

    def write_cache_buffer(self, cache_id: int, buffer: bytes) -> None:
        raise HailoRTNotImplemented("caches (write_cache_buffer)")

    def _release(self) -> None:
        self._session.engine.release(self._application)

    def _open_pipeline(self) -> Pipeline:
        with self._opening:
            if self._pipeline is None:
                self._pipeline = Pipeline(self._session, self._group, self._application, self)
            return self._pipeline

    def _close_pipeline(self) -> None:
        with self._opening:
            if self._pipeline is not None and not self._pipeline.is_open:
                self._pipeline = None


class ActivatedNetwork:
    """What `activate` gives without the scheduler."""

    def __init__(self, network: ConfiguredNetwork) -> None:
        self._network = network

    @property
    def name(self) -> str:
        return self._network.name

    def get_number_of_invalid_frames(self, clear: bool = True) -> int:
        """The simulated link loses none."""
        return 0

    def validate_all_frames_are_valid(self) -> None:
        count = self.get_number_of_invalid_frames()
        if count:
            raise HailoRTException(f"There are {count} invalid frames.")

    def get_sorted_output_names(self) -> list[str]:
        return self._network.get_sorted_output_names()

    def _get_intermediate_buffer(self, src_context_index: int, src_stream_index: int) -> bytes:
        raise HailoRTNotImplemented("buffers between contexts (_get_intermediate_buffer)")


class ActivatedNetworkContextManager:
    """Activated from its creation to the end of `with`."""

    def __init__(self, network: ConfiguredNetwork, activated: ActivatedNetwork | None) -> None:
        self._network = network
        self._activated = activated

    def __enter__(self) -> ActivatedNetwork | None:
        return self._activated

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._activated is not None:
            self._network._session.deactivate(self._network)


def configure_networks(
    session: Session, hef: HEF, params: Mapping[str, ConfigureParams] | None
) -> list[ConfiguredNetwork]:
    """Every network group of a HEF, with its parameters by name where there are any."""
    unknown = [name for name in params or {} if name not in hef._groups]
    made: list[ConfiguredNetwork] = []
    with raising_as_hailort():
        if unknown:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"the HEF has no network group {unknown[0]!r}")
        try:
            for group in hef._groups.values():
                given = (params or {}).get(group.name)
                batch = given.batch_size if given is not None else 0
                networks = given.network_params_by_name if given is not None else {}
                net_batch = {name: one.batch_size for name, one in networks.items() if one.batch_size}
                application = session.configure(hef._opened, batch, group.name, net_batch)
                made.append(ConfiguredNetwork(session, group, application))
        except EmuError:
            for one in made:
                one._release()
            raise
    return made
