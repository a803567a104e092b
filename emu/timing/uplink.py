"""Several devices that share one way to the host: what all of them together get.

Every device runs the same network on frames of its own. Behind a PCIe uplink each direction has its own budget; a plain
number of bytes a second is what both directions share, as it is measured where a host or a switch is the limit
(silicon-facts.md f: 14.9 Gbit/s in all behind one switch).
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal

from msgspec import Struct

from emu.chips import chips
from emu.errors import UsageError
from emu.timing.estimate import Estimate, rate
from emu.timing.schedule import GroupSchedule

_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?(?:e[0-9]{1,2})?")
MAX_DEVICES = 64
MAX_RATE = 1e13  # bytes a second: beyond any link there is


class Uplink(Struct, frozen=True):
    """Bytes a second: of each direction, and of both in all."""

    name: str
    each_way: float
    in_all: float


class Fleet(Struct, frozen=True):
    """What `devices` devices behind an uplink do in all, and which of the two is the limit.

    The uplink is, too, where it is slower than a device's own link and keeps each device waiting for configuration.
    """

    batch: int
    devices: int
    uplink: str
    fps_all: float
    bound_by: Literal["devices", "uplink"]

    def document(self) -> dict[str, Any]:
        """What the JSON of a batch has besides the figures of one device."""
        return {
            "devices": self.devices,
            "uplink": self.uplink,
            "fps_all": self.fps_all,
            "fps_all_bound_by": self.bound_by,
        }


def parse_uplink(text: str, device: str) -> Uplink:
    """`genXxY`, whose rate is that of the links of `device`, or BYTES_PER_S; UsageError for anything else."""
    if _NUMBER.fullmatch(text):
        if not 0 < (rate := float(text)) <= MAX_RATE:
            raise UsageError(f"--uplink {text} is no number of bytes a second")
        return Uplink(text, math.inf, rate)
    if text == "integrated":
        raise UsageError("--uplink takes genXxY or BYTES_PER_S: integrated devices share none")
    return Uplink(text, chips.load(device, link=text).link.bytes_per_second, math.inf)


def fleets(result: Estimate, devices: int, text: str) -> tuple[Fleet, ...]:
    """For each batch size of an estimate; UsageError for an uplink that does not exist or devices that share none."""
    if not 1 <= devices <= MAX_DEVICES:
        raise UsageError(f"--devices {devices} is out of range (1 to {MAX_DEVICES})")
    if result.link == "integrated":
        raise UsageError(f"--devices: {result.device} is integrated and shares no uplink (--link gives it one)")
    uplink = parse_uplink(text, result.device)
    found = []
    for position, figures in enumerate(result.batches):
        model = result.schedule(position, at_most=min(uplink.each_way, uplink.in_all))
        fps = min(devices * rate(model, figures.batch), uplink_fps(model, figures.batch, uplink))
        bound: Literal["devices", "uplink"] = "uplink" if fps < devices * figures.fps else "devices"
        found.append(Fleet(figures.batch, devices, text, fps, bound))
    return tuple(found)


def uplink_fps(model: GroupSchedule, batch: int, uplink: Uplink) -> float:
    """Frames a second that fit through: with what stays in host memory between contexts, and the configuration."""
    h2d = float(sum(flow.traffic.h2d_bytes for flow in model.timing.flows))
    d2h = float(sum(flow.traffic.d2h_bytes for flow in model.timing.flows))
    if not model.single_context:
        h2d += sum(context.config_bytes for context in model.demand.dynamic) / batch
    seconds = max(max(h2d, d2h) / uplink.each_way, (h2d + d2h) / uplink.in_all)
    return 1 / seconds if seconds else math.inf
