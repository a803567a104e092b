"""Hardware profiles: what differs between chips, as data with its provenance.

One TOML file per device. Every entry is `{value, unit, source, basis}`; a file may extend another and then inherits
what it does not say itself. `load` gives a frozen `Profile` whose attributes are plain numbers; `Profile.provenance`
holds where each of them comes from.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from emu.errors import UsageError
from emu.sequencer.control import HwConsts

DEVICES = ("hailo8", "hailo8l", "hailo15h", "hailo15m", "hailo15l", "hailo10h", "hailo12l")

Basis = Literal["documented", "measured", "fitted", "guessed"]
BASES: tuple[str, ...] = get_args(Basis)
_REQUIRED = {"value", "unit", "source", "basis"}
_LINK = re.compile(r"gen([1-5])x(1|2|4|8|16)")  # generations: as many as link.lane_bytes_per_second has


class Quantity(NamedTuple):
    """One entry of a profile with its provenance."""

    value: Any
    unit: str
    source: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Link:
    """The way between host memory and the chip; each direction has `bytes_per_second` of payload.

    `name` is `genXxY` or `integrated` (shared memory, no limit of its own); `transfer_ns` is the fixed part of one
    transfer (doorbell, descriptor read, completion).
    """

    name: str
    bytes_per_second: float
    transfer_ns: float

    @property
    def integrated(self) -> bool:
        return self.name == "integrated"


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts the device reports about itself (silicon-facts.md a)."""

    device_architecture: int
    board_name: str
    protocol_version: int
    firmware_version: tuple[int, int, int]
    app_firmware_flags: int
    core_firmware_flags: int
    logger_version: int
    supported_features: int
    boot_source: int
    lcs: int
    partial_clusters_layout_bitmap: int
    hw_consts: HwConsts


@dataclass(frozen=True, slots=True)
class Profile:
    """One device at one clock on one link. Times in nanoseconds, rates per second.

    `dma_bytes_per_second` is the chip's own limit in each direction, whatever the link. The host adds to each frame
    `host_frame_ns`, `host_stream_ns` a boundary stream, and the input bytes at `host_input_bytes_per_second`.
    `clock_scale` is nominal / actual NN clock: multiply compute times by it (a HEF's figures assume the nominal
    clock). `config_style`: config channels fetch "descriptors" or prefetch and execute "bursts";
    `config_starts_units`: LCUs and sequencers may be started by register writes. `action_ns` and `control_ns` map
    names to times; use `action_cost` and `control_cost`.
    """

    device: str
    guessed: bool
    identity: Identity
    clusters: int
    lcus_per_cluster: int
    dma_engines: int
    channels_per_engine: int
    first_d2h_channel: int
    max_operations_per_second: float
    nominal_nn_hz: float
    hailo8r_nn_hz: float
    nn_hz: float
    timestamp_hz: float
    link: Link
    config_style: str
    config_starts_units: bool
    dma_bytes_per_second: float
    host_frame_ns: float
    host_stream_ns: float
    host_input_bytes_per_second: float
    config_bytes_per_second: float
    config_fetch_ns: float
    sequencer_ns: float
    context_switch_ns: float
    enable_ns: float
    deactivate_ns: float
    action_ns: Mapping[str, float]
    control_ns: Mapping[str, float]
    provenance: Mapping[str, Quantity]

    @property
    def clock_scale(self) -> float:
        return self.nominal_nn_hz / self.nn_hz

    def action_cost(self, name: str) -> float:
        """Firmware time in ns to interpret the action called `name` (`ActionType.name`), waiting excluded."""
        return self.action_ns.get(name, self.action_ns["default"])

    def control_cost(self, name: str, request_bytes: int, *, first: bool = False) -> float:
        """Time in ns from doorbell to reply of a control message.

        `name` is the opcode without its CONTEXT_SWITCH_ prefix, `request_bytes` the whole request payload. Messages
        without an entry of their own are core-CPU messages, whose time grows with the request (silicon-facts.md b).
        `first`: the first message of its kind since the device was opened.
        """
        own = self.control_ns.get(f"{name}_first") if first else None
        if own is None:
            own = self.control_ns.get(name)
        if own is not None:
            return own
        return self.control_ns["core_message_ns"] + self.control_ns["core_request_byte_ns"] * request_bytes


def load(device: str, clock_mhz: float | None = None, link: str | None = None) -> Profile:
    """The profile of `device`, one of `DEVICES`.

    `clock_mhz`: NN clock, default the chip's own; `link`: `genXxY` or `integrated`, default the device's own.
    An unknown device, a clock or link out of range is a UsageError.
    """
    entries = quantities(device)
    value = {name: entry.value for name, entry in entries.items()}
    nominal = float(value["clocks.nn_hz"])
    clock = nominal if clock_mhz is None else clock_mhz * 1e6
    if not 1e6 <= clock <= 10e9:
        raise UsageError(f"NN clock {clock_mhz} MHz is out of range 1 to 10000")
    return Profile(
        device=device,
        guessed=bool(_document(device).get("guessed", False)),
        identity=_identity(value),
        clusters=value["counts.clusters"],
        lcus_per_cluster=value["counts.lcus_per_cluster"],
        dma_engines=value["counts.dma_engines"],
        channels_per_engine=value["counts.channels_per_engine"],
        first_d2h_channel=value["counts.first_d2h_channel"],
        max_operations_per_second=value["counts.max_operations_per_second"],
        nominal_nn_hz=nominal,
        hailo8r_nn_hz=value["clocks.hailo8r_nn_hz"],
        nn_hz=clock,
        timestamp_hz=clock / 2 if value["clocks.timestamp_follows_nn"] else value["clocks.timestamp_hz"],
        link=_link(value["link.default"] if link is None else link, value),
        config_style=value["config.style"],
        config_starts_units=value["config.starts_units"],
        dma_bytes_per_second=value["dma.bytes_per_second"],
        host_frame_ns=value["host.frame_ns"],
        host_stream_ns=value["host.stream_ns"],
        host_input_bytes_per_second=value["host.input_bytes_per_second"],
        config_bytes_per_second=value["config.bytes_per_second"],
        config_fetch_ns=value["config.fetch_ns"],
        sequencer_ns=value["config.sequencer_ns"],
        context_switch_ns=value["firmware.context_switch_ns"],
        enable_ns=value["firmware.enable_ns"],
        deactivate_ns=value["firmware.deactivate_ns"],
        action_ns=_section(value, "action_ns"),
        control_ns=_section(value, "control"),
        provenance=entries,
    )


@cache
def quantities(device: str) -> Mapping[str, Quantity]:
    """All entries of a device as `section.name` -> Quantity, inherited ones included and marked."""
    document = _document(device)
    entries: dict[str, Quantity] = {}
    if "extends" in document:
        inherited = quantities(document["extends"])
        note = document.get("inherited")
        entries.update(
            {
                name: entry if note is None else entry._replace(basis="guessed", source=f"{note}: {entry.source}")
                for name, entry in inherited.items()
            }
        )
    for section, members in document.items():
        if not isinstance(members, dict):
            continue
        for name, entry in members.items():
            if not isinstance(entry, dict) or set(entry) != _REQUIRED or entry["basis"] not in BASES:
                raise ValueError(f"profile {device}: {section}.{name} needs {sorted(_REQUIRED)}, basis one of {BASES}")
            entries[f"{section}.{name}"] = Quantity(**entry)
    return MappingProxyType(entries)


@cache
def _document(device: str) -> dict[str, Any]:
    if device not in DEVICES:
        raise UsageError(f"unknown device {device!r}; one of {', '.join(DEVICES)}")
    text = resources.files(__package__).joinpath(f"{device}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _identity(value: Mapping[str, Any]) -> Identity:
    facts = dict(_section(value, "identity"))
    major, minor, revision = facts.pop("firmware_version")
    return Identity(
        **facts | {"firmware_version": (major, minor, revision), "hw_consts": HwConsts(*facts["hw_consts"])}
    )


def _section(value: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    prefix = f"{section}."
    return MappingProxyType(
        {name.removeprefix(prefix): entry for name, entry in value.items() if name.startswith(prefix)}
    )


def _link(name: str, value: Mapping[str, Any]) -> Link:
    rate = math.inf
    if name != "integrated":
        match = _LINK.fullmatch(name)
        if match is None:
            raise UsageError(f"unknown link {name!r}; genXxY (gen1 to gen5; 1, 2, 4, 8 or 16 lanes) or integrated")
        lane = value["link.lane_bytes_per_second"][int(match[1]) - 1]
        rate = lane * int(match[2]) * value["link.pcie_efficiency"]
    return Link(name, rate, value["link.transfer_ns"])
