"""What all connections of a server share: the kind of device, who holds what, and the thread of the devices."""

from __future__ import annotations

from collections import deque
from typing import Any

from emu.chips import chips
from emu.chips.runtimes import accepted_archs, device_profile, runtime_profile
from emu.errors import UsageError
from emu.hef import Hef, open_hef
from emu.hef.infos import HefInfos, hef_infos
from emu.hef.runtime import default_runtime
from emu.host.application import Application
from emu.host.device import OpenDevice, open_device
from emu.host.references import ReferenceFor
from emu.hw.handlers.own import OwnHandlers
from emu.sequencer.compatibility import check_compatible
from emu.server.actions import V5_1_1, Numbering
from emu.server.engine import Engine
from emu.server.limits import Limits
from emu.server.resources import Admission, Handles

DEVICE_LOG_LINES = 1000
MOST_PEERS = 1024


class Service:
    """`runtime` None: that of the device's family. UsageError for a device or runtime that does not exist."""

    def __init__(
        self,
        device: str,
        runtime: str | None,
        *,
        seed: int = 0,
        limits: Limits | None = None,
        reference_for: ReferenceFor | None = None,
        compute: str | None = None,
        handlers: OwnHandlers | None = None,
        log: Any,
    ) -> None:
        self.device = device
        self.runtime = runtime or default_runtime(min(device_profile(device).architectures)).name
        self.profile = chips.load(device).with_firmware(runtime_profile(self.runtime).version)
        if not accepted_archs(runtime_profile(self.runtime), device_profile(device)):
            raise UsageError(f"HailoRT {self.runtime} has no driver for {device}")
        self.limits = limits or Limits()
        self.log = log
        self.engine = Engine()
        self.handles = Handles(self.limits.devices)
        self.admission = Admission()
        self.reference_for = reference_for
        self.compute = compute
        self._handlers = handlers
        self.device_log: deque[str] = deque(maxlen=DEVICE_LOG_LINES)
        self._seed = seed
        self._made_up: set[str] = set()
        self._numberings: dict[str, Numbering] = {}

    def say_what_is_computed(self, application: Application) -> None:
        """Log why outputs of a group are not computed, once."""
        computing = application.computing
        if computing is not None and computing.note and computing.note not in self._made_up:
            self._made_up.add(computing.note)
            self.log.info("outputs", note=computing.note)

    def open_device(self) -> OpenDevice:
        """A simulated device of its own for a VDevice."""
        return open_device(self.device, self.runtime, seed=self._seed, handlers=self._handlers)

    def open_hef(self, data: bytes) -> tuple[Hef, HefInfos]:
        """A client's HEF; raises with the status that the runtime refuses it with, 93 for another device."""
        hef = open_hef(data, runtime=self.runtime, from_memory=True)
        check_compatible(hef, runtime_profile(self.runtime), device_profile(self.device))
        return hef, hef_infos(hef)

    def made_up(self, what: str) -> None:
        """Say once that no device measured this."""
        if what not in self._made_up:
            self._made_up.add(what)
            self.log.warning("made_up", message=f"the {what} is made up: an emulated device has none")

    def numbering_of(self, host: str) -> Numbering:
        """What a peer spoke last, without padding (hrpc-5.2.md part 2, 1: after a fork)."""
        return self._numberings.get(host, V5_1_1)

    def remember(self, host: str, numbering: Numbering) -> None:
        if not numbering.padded and (host in self._numberings or len(self._numberings) < MOST_PEERS):
            self._numberings[host] = numbering
