"""Hardware profiles: what differs between chips, as data with its provenance.

One TOML file per device. Every entry is `{value, unit, source, basis}`; a file may extend another and then inherits
what it does not say itself (`emu.catalog`). `load` gives a frozen `Profile` whose attributes
are plain numbers; `Profile.provenance` holds where each of them comes from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emu import catalog
from emu.catalog import Quantity
from emu.chips.consts import HwConsts
from emu.chips.costs import read_costs
from emu.errors import UsageError

_LINK = re.compile(r"gen([1-5])x(1|2|4|8|16)")  # generations: as many as link.lane_bytes_per_second has


class Link(Struct, frozen=True):
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


class Identity(Struct, frozen=True):
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


class Sensors(Struct, frozen=True):
    """What the device measures of itself: constants, for nothing of it is simulated."""

    temperature_c: float
    temperature_samples: int
    power_watts: float
    bus_millivolts: float
    core_millivolts: int


class BootTimes(Struct, frozen=True):
    """How long the firmware of a card takes, in ns (silicon-facts.md b).

    From the doorbell of a soft reset until the card says so, and on until its bootloader waits; from the trigger until
    the firmware is up. The host writes the firmware at `upload_bytes_per_second`.
    """

    soft_reset_ns: float
    bootloader_ns: float
    boot_ns: float
    upload_bytes_per_second: float


class Profile(Struct, frozen=True):
    """One device at one clock on one link. Times in nanoseconds, rates per second.

    `dma_bytes_per_second` is the chip's own limit in each direction, whatever the link. The host adds to each frame
    `host_frame_ns`, `host_stream_ns` a boundary stream, and its input and output bytes at `host_bytes_per_second`.
    `host` names the host profile.
    `clock_scale` is nominal / actual NN clock: multiply compute times by it (a HEF's figures assume the nominal
    clock). `kernel_rows`: rows of its own that an output lies behind the data it is made of. `config_style`: config
    channels fetch "descriptors" or prefetch and execute "bursts"; `config_starts_units`: LCUs and sequencers may be
    started by register writes. `action_ns` and `control_ns` map names to times; use `action_cost` and `control_cost`.
    `boot`: of a card; None: the device is part of its host.
    """

    device: str
    guessed: bool
    identity: Identity
    sensors: Sensors
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
    kernel_rows: float
    link: Link
    host: str
    config_style: str
    config_starts_units: bool
    dma_bytes_per_second: float
    host_frame_ns: float
    host_stream_ns: float
    host_bytes_per_second: float
    config_bytes_per_second: float
    config_fetch_ns: float
    sequencer_ns: float
    program_cycles_a_word: float
    context_switch_ns: float
    enable_ns: float
    deactivate_ns: float
    action_ns: Mapping[str, float]
    control_ns: Mapping[str, float]
    boot: BootTimes | None
    provenance: Mapping[str, Quantity]

    @property
    def clock_scale(self) -> float:
        return self.nominal_nn_hz / self.nn_hz

    def with_firmware(self, version: tuple[int, int, int]) -> Profile:
        """With the firmware of another release: a library takes none but its own (driver-ioctl-4.23.md 2)."""
        return replace(self, identity=replace(self.identity, firmware_version=version))

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


def load(
    device: str,
    clock_mhz: float | None = None,
    link: str | None = None,
    host: str | None = None,
    costs: str | None = None,
) -> Profile:
    """The profile of `device`, by the name of its file.

    `clock_mhz`: NN clock, by default the chip's own, which is its highest; `host`: the profile of the host that it is
    in (`host_names`), default the one that the device names; `link`: `genXxY` or `integrated`, default that of the host
    or device; `costs`: a file of measured action costs. An unknown device or host, a clock or link out of range, costs
    of another device are a UsageError.
    """
    entries = quantities(device, host, costs)
    nominal_mhz = entries["clocks.nn_hz"].value / 1e6
    if clock_mhz is not None and not 1 <= clock_mhz <= nominal_mhz:
        raise UsageError(f"NN clock {clock_mhz:g} MHz is out of range: {device} runs at 1 to {nominal_mhz:g} MHz")
    return profile_of(device, entries, clock_mhz, link)


def profile_of(
    device: str, entries: Mapping[str, Quantity], clock_mhz: float | None = None, link: str | None = None
) -> Profile:
    """As `load`, of numbers that need not be those of the file; UsageError for a link that does not exist."""
    value = {name: entry.value for name, entry in entries.items()}
    sections = _sections(value)
    nominal = float(value["clocks.nn_hz"])
    clock = nominal if clock_mhz is None else clock_mhz * 1e6
    return Profile(
        device=device,
        guessed=bool(catalog.document("chips", device).get("guessed", False)),
        identity=_identity(sections["identity"]),
        sensors=Sensors(**sections["sensors"]),
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
        kernel_rows=value["compute.kernel_rows"],
        link=_link(value["link.default"] if link is None else link, value),
        host=value["host.profile"],
        config_style=value["config.style"],
        config_starts_units=value["config.starts_units"],
        dma_bytes_per_second=value["dma.bytes_per_second"],
        host_frame_ns=value["host.frame_ns"],
        host_stream_ns=value["host.stream_ns"],
        host_bytes_per_second=value["host.bytes_per_second"],
        config_bytes_per_second=value["config.bytes_per_second"],
        config_fetch_ns=value["config.fetch_ns"],
        sequencer_ns=value["config.sequencer_ns"],
        program_cycles_a_word=value["config.program_cycles_a_word"],
        context_switch_ns=value["firmware.context_switch_ns"],
        enable_ns=value["firmware.enable_ns"],
        deactivate_ns=value["firmware.deactivate_ns"],
        action_ns=MappingProxyType(sections.get("action_ns", {})),
        control_ns=MappingProxyType(sections.get("control", {})),
        boot=BootTimes(**sections["boot"]) if value["host.reach"] == "driver" else None,
        provenance=entries,
    )


def quantities(device: str, host: str | None = None, costs: str | None = None) -> Mapping[str, Quantity]:
    """All entries of a device in a host as `section.name` -> Quantity, inherited ones included and marked.

    `costs`: a file of measured action costs, in place of those of the chip. UsageError for a device or host that does
    not exist, for a host that reaches such a device in no way, and for costs of another device.
    """
    entries = catalog.quantities("chips", device)
    assumed, reached = entries["host.profile"], entries["host.reach"].value
    named = assumed if host is None else assumed._replace(value=host)
    of_host: Mapping[str, Quantity] = catalog.quantities("hosts", named.value)
    if of_host["host.reach"].value != reached:
        able = [name for name in host_names() if catalog.quantities("hosts", name)["host.reach"].value == reached]
        raise UsageError(f"--host-profile {host} is no host of {device}; one of {', '.join(able)}")
    if assumed.basis == "guessed":  # so is then what it costs
        of_host = {
            name: entry._replace(basis="guessed", source=f"taken to be the host of this device: {entry.source}")
            for name, entry in of_host.items()
        }
    entries = MappingProxyType({**entries, **of_host, "host.profile": named})
    return entries if costs is None else MappingProxyType({**entries, **read_costs(costs, device)})


def host_names() -> tuple[str, ...]:
    """The hosts that there are numbers of."""
    return catalog.names("hosts")


def _identity(section: Mapping[str, Any]) -> Identity:
    facts = dict(section)
    major, minor, revision = facts.pop("firmware_version")
    return Identity(
        **facts | {"firmware_version": (major, minor, revision), "hw_consts": HwConsts(*facts["hw_consts"])}
    )


def _sections(value: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """`section.name` as section -> name; a sweep asks for each link."""
    found: dict[str, dict[str, Any]] = {}
    for whole, entry in value.items():
        section, _, name = whole.partition(".")
        found.setdefault(section, {})[name] = entry
    return found


def _link(name: str, value: Mapping[str, Any]) -> Link:
    rate = math.inf
    if name != "integrated":
        match = _LINK.fullmatch(name)
        if match is None:
            raise UsageError(f"unknown link {name!r}; genXxY (gen1 to gen5; 1, 2, 4, 8 or 16 lanes) or integrated")
        lane = value["link.lane_bytes_per_second"][int(match[1]) - 1]
        rate = lane * int(match[2]) * value["link.pcie_efficiency"]
    return Link(name, rate, value["link.transfer_ns"])
