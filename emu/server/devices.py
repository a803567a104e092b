"""What a client asks of its Devices, answered (hrpc-5.2.md part 2, 4)."""

from __future__ import annotations

from typing import Any

from emu.errors import HailoError, HailoStatus
from emu.schemas import hrpc_pb2 as messages
from emu.server import identity
from emu.server.actions import Action
from emu.server.replies import Handler, Reply, encoded
from emu.server.resources import NOBODY, DeviceHandle
from emu.server.service import Service

# what a client may be notified of (hrpc-5.2.md part 2, 4); nothing in a simulated device gives rise to any of them
NOTIFICATION_IDS = frozenset({1, 3, 13, 14})


class DeviceActions:
    """The handlers of one client's Devices."""

    def __init__(self, service: Service, client: int) -> None:
        self.service = service
        self.client = client
        self.handlers: dict[Action, Handler] = {
            Action.DEVICE__CREATE: self._create_device,
            Action.DEVICE__DESTROY: self._destroy_device,
            Action.DEVICE__IDENTIFY: self._identify,
            Action.DEVICE__EXTENDED_INFO: self._extended_info,
            Action.DEVICE__GET_CHIP_TEMPERATURE: self._temperature,
            Action.DEVICE__POWER_MEASUREMENT: self._power,
            Action.DEVICE__SET_POWER_MEASUREMENT: self._accept,
            Action.DEVICE__GET_POWER_MEASUREMENT: self._power_data,
            Action.DEVICE__START_POWER_MEASUREMENT: self._accept,
            Action.DEVICE__STOP_POWER_MEASUREMENT: self._accept,
            Action.DEVICE__QUERY_HEALTH_STATS: self._health,
            Action.DEVICE__QUERY_PERFORMANCE_STATS: self._performance,
            Action.DEVICE__GET_ARCHITECTURE: self._architecture,
            Action.DEVICE__SET_NOTIFICATION_CALLBACK: self._set_notification,
            Action.DEVICE__REMOVE_NOTIFICATION_CALLBACK: self._remove_notification,
            Action.DEVICE__FETCH_LOGS: self._fetch_logs,
            Action.DEVICE__ECHO_BUFFER: self._echo,
            Action.SYSTEM__RESET: self._reset,
        }

    async def _create_device(self, body: Any, data: bytes) -> Reply:
        handle = messages.HailoObjectHandle(id=self.service.handles.add(DeviceHandle(self.client)))
        return encoded(messages.Device_Create_Reply(device_handle=handle))

    async def _destroy_device(self, body: Any, data: bytes) -> Reply:
        device = self.service.handles.get(DeviceHandle, body.device_handle.id, self.client)
        # another living client's Device stays: only after a fork is it somebody else who destroys it
        if device is not None and device.owner in (self.client, NOBODY):
            self.service.handles.remove(device)
        return Reply()

    async def _identify(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        return encoded(messages.Device_Identify_Reply(identity=identity.identity(self.service.profile)))

    async def _extended_info(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        return encoded(identity.extended_info(self.service.profile))

    async def _architecture(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        architecture = self.service.profile.identity.device_architecture
        return encoded(messages.Device_GetArchitecture_Reply(device_architecture=architecture))

    async def _temperature(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        self.service.made_up("temperature")
        return encoded(identity.temperature(self.service.profile))

    async def _power(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        self.service.made_up("power")
        return encoded(messages.Device_PowerMeasurement_Reply(power=self.service.profile.sensors.power_watts))

    async def _power_data(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        self.service.made_up("power")
        return encoded(messages.Device_GetPowerMeasurement_Reply(data=identity.power(self.service.profile)))

    async def _health(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        self.service.made_up("temperature")
        return encoded(identity.health(self.service.profile))

    async def _performance(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        self.service.made_up("load")
        return encoded(identity.performance())

    async def _accept(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        return Reply()

    async def _set_notification(self, body: Any, data: bytes) -> Reply:
        device = self._device(body)
        if body.notification_id not in NOTIFICATION_IDS:
            raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, f"no notification {body.notification_id}")
        device.notifications.add(body.notification_id)
        return Reply()

    async def _remove_notification(self, body: Any, data: bytes) -> Reply:
        self._device(body).notifications.discard(body.notification_id)
        return Reply()

    async def _fetch_logs(self, body: Any, data: bytes) -> Reply:
        self._device(body)
        text = "".join(f"{line}\n" for line in self.service.device_log).encode()
        # the newest lines; the client takes as many bytes as it asked for, whatever log_size says
        text = text[max(0, len(text) - body.buffer_size) :]
        return encoded(messages.Device_FetchLogs_Reply(log_size=len(text)), text.ljust(body.buffer_size, b"\0"))

    async def _echo(self, body: Any, data: bytes) -> Reply:
        return Reply(data=data)

    async def _reset(self, body: Any, data: bytes) -> Reply:
        """There is no system to reset; each VDevice's own device is left to its client."""
        return Reply()

    def _device(self, body: Any) -> DeviceHandle:
        return self.service.handles.find(DeviceHandle, body.device_handle.id, self.client)
