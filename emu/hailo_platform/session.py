"""A VDevice from the inside: its engine, whether it schedules, and who is activated where it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hailo_platform.engine import Engine, Outcome
from emu.hailo_platform.environment import reference_for, say_once
from emu.hailo_platform.hef import name_the_device

if TYPE_CHECKING:
    from emu.hef import Hef
    from emu.host.application import Application


class Session:
    """One device as the VDevices that share it see it."""

    def __init__(self, engine: Engine, scheduled: bool) -> None:
        self.engine = engine
        self.scheduled = scheduled
        self._active: object | None = None
        self._changed = threading.Condition()

    @property
    def runtime(self) -> str:
        return self.engine.environment.runtime

    def configure(self, hef: Hef, batch: int, group: str, net_batch: Mapping[str, int]) -> Application:
        """One network group; `batch` 0: HailoRT's default. Raises as `OpenDevice.configure`."""
        bound = reference_for()(hef, group)
        try:
            application = self.engine.configure(
                hef,
                batch=batch or None,
                group=group,
                net_batch=dict(net_batch),
                reference=bound,
                compute=False if bound is not None else self.engine.environment.compute,
            )
        except EmuError as error:
            if error.number == HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE:
                name_the_device(hef)
            raise
        if bound is None:
            _say_where_from(application)
        return application

    # -- activation, where nothing schedules

    def activate(self, who: object) -> None:
        """HAILO_INVALID_OPERATION with the scheduler, or where another is activated."""
        with self._changed:
            if self.scheduled:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the scheduler activates network groups itself")
            if self._active is not None:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "another network group is activated")
            self._active = who
            self._changed.notify_all()

    def deactivate(self, who: object) -> None:
        """Nothing happens for one that is not activated."""
        with self._changed:
            if self._active is not who:
                return
            self._active = None
        try:
            self.engine.deactivate()
        except EmuError:
            return  # nothing was ever configured, or the device was released before

    def require_active(self, who: object) -> None:
        """HAILO_NETWORK_GROUP_NOT_ACTIVATED where it would have to be activated first."""
        if not self.scheduled and self._active is not who:
            raise HailoError(HailoStatus.HAILO_NETWORK_GROUP_NOT_ACTIVATED, "the network group is not activated")

    def wait_for_activation(self, who: object, timeout_ms: int | None) -> None:
        """HAILO_TIMEOUT where it does not come."""
        seconds = None if timeout_ms is None else timeout_ms / 1000
        with self._changed:
            if not self.scheduled and not self._changed.wait_for(lambda: self._active is who, seconds):
                raise HailoError(HailoStatus.HAILO_TIMEOUT, f"not activated within {timeout_ms} ms")

    # -- waiting

    def wait(self, outcome: Outcome, timeout_ms: float, since_ns: int) -> None:
        """Wait until frames have ended. HAILO_TIMEOUT where that takes longer than `timeout_ms` of simulated time from
        `since_ns` on: how fast this machine computes has no say. At EMU_PACE=real the wall clock decides as well."""
        late = HailoError(HailoStatus.HAILO_TIMEOUT, f"not done within {timeout_ms:g} ms")
        if self.engine.environment.real_pace:
            if not outcome.ended.wait(timeout_ms / 1000):
                raise late
            return
        outcome.ended.wait()
        if outcome.ended_ns > since_ns and outcome.ended_ns - since_ns > timeout_ms * 1e6:
            raise late

    def wait_until(
        self, changed: threading.Condition, ready: Callable[[], bool], busy: Callable[[], bool], timeout_ms: float
    ) -> None:
        """Wait, holding `changed`, until `ready`. HAILO_TIMEOUT after `timeout_ms` in which nothing was under way; at
        EMU_PACE=real what is under way takes its time like all else."""
        deadline = time.monotonic() + timeout_ms / 1000
        while not ready():
            left = deadline - time.monotonic()
            working = busy() and not self.engine.environment.real_pace
            if left <= 0 and not working:
                raise HailoError(HailoStatus.HAILO_TIMEOUT, f"not ready within {timeout_ms:g} ms")
            changed.wait(None if working else left)
            if working:
                deadline = time.monotonic() + timeout_ms / 1000


def _say_where_from(application: Application) -> None:
    """Outputs that nothing computes mean nothing, and why that is so."""
    computing = application.computing
    if computing is not None and computing.note:
        say_once(computing.note)
    if computing is None or not set(application.output_streams) <= computing.streams:
        say_once("outputs are synthetic: the same input gives the same bytes, which mean nothing")
