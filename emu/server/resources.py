"""What clients hold on the server, by handle, and who may have a VDevice (hrpc-5.2.md part 2, 2)."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeVar

from emu.errors import HailoError, HailoStatus
from emu.hef import Hef
from emu.hef.infos import NetworkGroupInfo
from emu.host.application import Application
from emu.host.device import OpenDevice
from emu.server.frames import ModelFrames

UNIQUE_GROUP = "UNIQUE"
NOBODY = -1  # the owner of what outlives its client
WAIT_FOR_VDEVICE_SECONDS = 5.0
ASYNC_QUEUE_SIZE = 32  # as in the recorded conversations; a batch fits it in any case


class Resource:
    """What a handle stands for. `owner`: the number of the connection that made it."""

    owner: int


@dataclass(eq=False)
class DeviceHandle(Resource):
    """A Device of a client: it outlives the connection, since a client that forks goes on with it."""

    owner: int
    notifications: set[int] = field(default_factory=set)


@dataclass(eq=False)
class VDevice(Resource):
    owner: int
    device: OpenDevice
    scheduled: bool
    post_processes: bool


@dataclass(eq=False)
class InferModel(Resource):
    owner: int
    vdevice: VDevice
    hef: Hef
    size: int
    group: NetworkGroupInfo


@dataclass(eq=False)
class ConfiguredModel(Resource):
    """`idle` is set where no frame is in flight."""

    owner: int
    vdevice: VDevice
    application: Application
    frames: ModelFrames
    measures_latency: bool
    latency_ns: int | None = None
    in_flight: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    active: bool = False
    shut_down: bool = False

    def __post_init__(self) -> None:
        self.idle.set()


Kind = TypeVar("Kind", bound=Resource)


class Handles:
    """One counter for all kinds, so that no handle is ever mistaken for one of another kind."""

    def __init__(self, devices: int) -> None:
        self._resources: dict[int, Resource] = {}
        self._next = 0
        self._devices = devices

    def add(self, resource: Resource) -> int:
        """Its handle, never used before. HAILO_OUT_OF_HOST_MEMORY for too many Devices of one client."""
        if isinstance(resource, DeviceHandle) and len(self.of(DeviceHandle, resource.owner)) >= self._devices:
            raise HailoError(HailoStatus.HAILO_OUT_OF_HOST_MEMORY, f"more than {self._devices} Devices of one client")
        handle, self._next = self._next, self._next + 1
        self._resources[handle] = resource
        return handle

    def get(self, kind: type[Kind], handle: int, owner: int) -> Kind | None:
        """None for a handle of another kind, or of another client's but a Device."""
        found = self._resources.get(handle)
        if not isinstance(found, kind) or (found.owner != owner and not isinstance(found, DeviceHandle)):
            return None
        return found

    def find(self, kind: type[Kind], handle: int, owner: int) -> Kind:
        """As `get`, HAILO_NOT_FOUND in place of None."""
        found = self.get(kind, handle, owner)
        if found is None:
            raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"no {kind.__name__} has the handle {handle}")
        return found

    def of(self, kind: type[Kind], owner: int) -> list[Kind]:
        """What a client holds of a kind."""
        return [one for one in self._resources.values() if isinstance(one, kind) and one.owner == owner]

    def remove(self, *resources: Resource) -> None:
        self._resources = {handle: one for handle, one in self._resources.items() if one not in resources}

    def orphan(self, owner: int) -> None:
        """The client has gone: its Devices stay, as many of them as are worth keeping."""
        for device in self.of(DeviceHandle, owner):
            device.owner = NOBODY
        orphans = self.of(DeviceHandle, NOBODY)
        if len(orphans) > self._devices:
            self.remove(*orphans[: len(orphans) - self._devices])


class Admission:
    """Who has a VDevice: one of group UNIQUE waits until nobody else has any, in the order of the requests."""

    def __init__(self) -> None:
        self._holders: set[int] = set()
        self._waiting: deque[int] = deque()
        self._changed = asyncio.Condition()

    async def enter(self, client: int, group: str) -> None:
        """HAILO_DEVICE_IN_USE after 5 s. Groups other than UNIQUE share the device at once."""
        if group == UNIQUE_GROUP:
            self._waiting.append(client)
            try:
                async with self._changed, asyncio.timeout(WAIT_FOR_VDEVICE_SECONDS):
                    await self._changed.wait_for(lambda: not self._holders and self._waiting[0] == client)
                    self._holders.add(client)
            except TimeoutError:
                raise HailoError(HailoStatus.HAILO_DEVICE_IN_USE, "another client has the device") from None
            finally:
                self._waiting.remove(client)
                await self._tell()
        self._holders.add(client)

    async def leave(self, client: int) -> None:
        """The client has no VDevice any more."""
        self._holders.discard(client)
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
