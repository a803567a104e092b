"""VDevice: what applications open (pyhailort-api.md 4)."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.card import Claim
from emu.hailo_platform.control import Device
from emu.hailo_platform.engine import Engine
from emu.hailo_platform.enums import SchedulingAlgorithm
from emu.hailo_platform.environment import environment, reference_for
from emu.hailo_platform.exceptions import HailoRTException, exception_of, raising_as_hailort
from emu.hailo_platform.hef import HEF, HefSource
from emu.hailo_platform.infer_model import InferModel
from emu.hailo_platform.network import ConfiguredNetwork, configure_networks
from emu.hailo_platform.params import HAILO_UNIQUE_VDEVICE_GROUP_ID, ConfigureParams, VDeviceParams
from emu.hailo_platform.session import Session


class _Shared:
    """A device that all VDevices of a group use."""

    def __init__(self, session: Session, claim: Claim) -> None:
        self.session = session
        self.claim = claim
        self.users = 0


_groups: dict[str, _Shared] = {}
_lock = threading.RLock()  # a VDevice may be collected, and release, while another is made


class VDevice:
    """The simulated device. `params`: `create_params()`; with `device_ids` they are dropped, as in HailoRT.

    VDevices of one `group_id` (but "UNIQUE") share it. Raises HailoRTException 73 where another has it, 74 for more
    devices than there are, HailoRTInvalidArgumentException for ids that are none.
    """

    def __init__(self, params: VDeviceParams | None = None, *, device_ids: Sequence[str] | None = None) -> None:
        self._shared: _Shared | None = None
        self._networks: list[ConfiguredNetwork] = []
        self._models: list[InferModel] = []
        self._creation_pid = os.getpid()
        if params is None or device_ids:
            params = VDeviceParams()
        self._params = params
        with raising_as_hailort():
            chosen = environment()
            reference_for()  # a model that is not there is refused at once
            ids = list(device_ids or params.device_ids)
            unknown = [one for one in ids if one != chosen.device_id]
            if unknown:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT, f"no device {unknown[0]!r}, there is {chosen.device_id}"
                )
            if len(ids) > 1 or params.device_count != 1:
                raise HailoError(HailoStatus.HAILO_OUT_OF_PHYSICAL_DEVICES, "there is one device")
            self._group = params.group_id
            with _lock:
                shared = None if self._group == HAILO_UNIQUE_VDEVICE_GROUP_ID else _groups.get(self._group)
                if shared is None:
                    claim = Claim()
                    scheduled = params.scheduling_algorithm is not SchedulingAlgorithm.NONE
                    shared = _groups[self._group] = _Shared(Session(Engine(chosen), scheduled), claim)
                shared.users += 1
            self._shared = shared

    @staticmethod
    def create_params() -> VDeviceParams:
        return VDeviceParams.default()

    def __enter__(self) -> VDevice:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        self._release(wait=False)

    def release(self) -> None:
        """Give the device back; what was configured on it ends. May be called again, and in any order."""
        self._release(wait=True)

    def _release(self, wait: bool) -> None:
        shared, self._shared = self._shared, None
        if shared is None or os.getpid() != self._creation_pid:
            return
        for network in self._networks:
            network._release()
        for model in self._models:
            model._release()
        with _lock:
            shared.users -= 1
            last = shared.users == 0
            if last and _groups.get(self._group) is shared:
                del _groups[self._group]
        if last:
            shared.session.engine.close(wait)
            shared.claim.release()

    def configure(
        self, hef: HEF, configure_params_by_name: Mapping[str, ConfigureParams] | None = None
    ) -> list[ConfiguredNetwork]:
        """Configure every network group of a HEF; HailoRTHEFNotCompatibleWithDevice for one of another device."""
        if os.getpid() != self._creation_pid:
            raise HailoRTException("VDevice can only be configured from the process it was created in.")
        made = configure_networks(self._session, hef, configure_params_by_name)
        self._networks += made
        return made

    def create_infer_model(self, hef_source: HefSource, name: str = "") -> InferModel:
        """The model of a HEF (path or bytes). `name`: of the network group, "" the first."""
        if os.getpid() != self._creation_pid:
            raise HailoRTException("InferModel can be created only from the process VDevice was created in.")
        model = InferModel(self._session, hef_source, name)
        self._models.append(model)
        return model

    def get_physical_devices_ids(self) -> list[str]:
        return [self._session.engine.environment.device_id]

    def get_physical_devices(self) -> list[Device]:
        return [Device(one) for one in self.get_physical_devices_ids()]

    @property
    def loaded_network_groups(self) -> list[ConfiguredNetwork]:
        return self._networks

    @property
    def _loaded_network_group(self) -> ConfiguredNetwork:
        if len(self._networks) != 1:
            raise HailoRTException(
                "Access to network group is only allowed when there is a single loaded network group"
            )
        return self._networks[0]

    @property
    def _session(self) -> Session:
        if self._shared is None:
            raise exception_of(HailoStatus.HAILO_INVALID_OPERATION, "the VDevice was released")
        return self._shared.session


def release_all() -> None:
    """Close what is still open, whoever holds it."""
    for shared in list(_groups.values()):
        shared.session.engine.close()
        shared.claim.release()
    _groups.clear()
