"""Parameters of devices, network groups and vstreams (pyhailort-api.md 3, 4, 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.enums import FormatType, PowerMode, SchedulingAlgorithm, StreamDirection, StreamInterface
from emu.hailo_platform.exceptions import HailoRTNotImplemented, raising_as_hailort
from emu.hailo_platform.infos import HailoFormat, StreamInfo, VStreamInfo

if TYPE_CHECKING:
    from emu.hailo_platform.hef import HEF

DEFAULT_VSTREAM_TIMEOUT_MS = 10000
DEFAULT_VSTREAM_QUEUE_SIZE = 2
HAILO_DEFAULT_BATCH_SIZE = 0
HAILO_UNIQUE_VDEVICE_GROUP_ID = "UNIQUE"


class VDeviceParams:
    """What a VDevice is made with; setting `device_ids` sets `device_count` too."""

    def __init__(self) -> None:
        self.device_count = 1
        self.scheduling_algorithm = SchedulingAlgorithm.ROUND_ROBIN
        self.group_id = HAILO_UNIQUE_VDEVICE_GROUP_ID
        self.multi_process_service = False
        self._device_ids: list[str] = []

    @classmethod
    def default(cls) -> VDeviceParams:
        return cls()

    @property
    def device_ids(self) -> list[str]:
        return list(self._device_ids)

    @device_ids.setter
    def device_ids(self, ids: Sequence[str]) -> None:
        self._device_ids = list(ids)
        self.device_count = len(self._device_ids)


class ActivateNetworkGroupParams:
    """Nothing can be set."""

    @classmethod
    def default(cls) -> ActivateNetworkGroupParams:
        return cls()


class NetworkParameters:
    """`batch_size` 0: that of the network group."""

    def __init__(self) -> None:
        self.batch_size = HAILO_DEFAULT_BATCH_SIZE


class StreamParameters:
    """How a stream is configured; every interface is the simulated device's own."""

    def __init__(self, direction: StreamDirection, interface: StreamInterface) -> None:
        self.direction = direction
        self.stream_interface = interface


class ConfigureParams:
    """How one network group is configured; `create_from_hef` makes those of a HEF by the name of the group."""

    def __init__(self) -> None:
        self.batch_size = HAILO_DEFAULT_BATCH_SIZE
        self.power_mode = PowerMode.PERFORMANCE
        self.stream_params_by_name: dict[str, StreamParameters] = {}
        self.network_params_by_name: dict[str, NetworkParameters] = {}

    @classmethod
    def create_from_hef(cls, hef: HEF, interface: StreamInterface = StreamInterface.PCIe) -> dict[str, ConfigureParams]:
        found: dict[str, ConfigureParams] = {}
        for name in hef.get_network_group_names():
            params = found[name] = cls()
            for info in hef.get_all_stream_infos(name):
                params.stream_params_by_name[info.name] = StreamParameters(info.direction, interface)
            for network in hef.get_networks_names(name):
                params.network_params_by_name[network] = NetworkParameters()
        return found

    @classmethod
    def create_mipi_inputs_from_hef(cls, *arguments: object, **options: object) -> dict[str, ConfigureParams]:
        raise HailoRTNotImplemented("MIPI inputs")


class Network(Protocol):
    """What parameters of vstreams are made from: a `ConfiguredNetwork`."""

    def get_input_vstream_infos(self, network_name: str | None = None) -> list[VStreamInfo]: ...

    def get_output_vstream_infos(self, network_name: str | None = None) -> list[VStreamInfo]: ...

    def get_output_stream_infos(self, network_name: str | None = None) -> list[StreamInfo]: ...

    def get_vstream_names_from_stream_name(self, stream_name: str) -> list[str]: ...


class VStreamParams:
    """How a vstream is built: the user's format, how long a call waits, how many frames wait in it."""

    def __init__(self) -> None:
        self.user_buffer_format = HailoFormat()
        self.timeout_ms = DEFAULT_VSTREAM_TIMEOUT_MS
        self.queue_size = DEFAULT_VSTREAM_QUEUE_SIZE


def _make(
    names: Sequence[str], format_type: FormatType | None, timeout_ms: int | None, queue_size: int | None
) -> dict[str, VStreamParams]:
    """In the order of the names, as the library's map has them."""
    found: dict[str, VStreamParams] = {}
    for name in sorted(names):
        params = found[name] = VStreamParams()
        if format_type is not None:
            params.user_buffer_format.type = format_type
        if timeout_ms is not None:
            params.timeout_ms = timeout_ms
        if queue_size is not None:
            params.queue_size = queue_size
        if params.queue_size < 1:
            with raising_as_hailort():
                raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"a queue of {queue_size} frames")
    return found


class InputVStreamParams:
    """Makes parameters of input vstreams. `quantized` has no effect, as in HailoRT: the format's type decides."""

    @staticmethod
    def make(
        configured_network: Network,
        quantized: bool | None = None,
        format_type: FormatType | None = None,
        timeout_ms: int | None = None,
        queue_size: int | None = None,
        network_name: str | None = None,
    ) -> dict[str, VStreamParams]:
        infos = configured_network.get_input_vstream_infos(network_name)
        return _make([info.name for info in infos], format_type, timeout_ms, queue_size)

    make_from_network_group = make


class OutputVStreamParams:
    """Makes parameters of output vstreams, as `InputVStreamParams`."""

    @staticmethod
    def make(
        configured_network: Network,
        quantized: bool | None = None,
        format_type: FormatType | None = None,
        timeout_ms: int | None = None,
        queue_size: int | None = None,
        network_name: str | None = None,
    ) -> dict[str, VStreamParams]:
        infos = configured_network.get_output_vstream_infos(network_name)
        return _make([info.name for info in infos], format_type, timeout_ms, queue_size)

    make_from_network_group = make

    @staticmethod
    def make_groups(
        configured_network: Network,
        quantized: bool | None = None,
        format_type: FormatType | None = None,
        timeout_ms: int | None = None,
        queue_size: int | None = None,
    ) -> list[dict[str, VStreamParams]]:
        """One dict for the vstreams of each underlying stream."""
        groups: list[dict[str, VStreamParams]] = []
        seen: set[str] = set()
        for info in configured_network.get_output_stream_infos():
            names = [
                name for name in configured_network.get_vstream_names_from_stream_name(info.name) if name not in seen
            ]
            seen.update(names)
            if names:
                groups.append(_make(names, format_type, timeout_ms, queue_size))
        return groups
