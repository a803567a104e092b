"""The control messages that ask what the device is: identity, hardware constants, temperature (silicon-facts.md a)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from msgspec.structs import asdict

from emu.hw.chip import Chip
from emu.wire.control import Opcode

Parameters = tuple[bytes, ...]

PERFORMANCE_MONITOR = bytes(24)  # pd_info: process-monitor counts and temperatures of one board (silicon-facts.md a)


class IdentityControls:
    """Serves them for one chip."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip

    def table(self) -> Mapping[int, Callable[[Parameters], Parameters]]:
        """By opcode."""
        return {
            Opcode.IDENTIFY: self._identify,
            Opcode.CORE_IDENTIFY: self._core_identify,
            Opcode.GET_CHIP_TEMPERATURE: self._get_chip_temperature,
            Opcode.GET_DEVICE_INFORMATION: self._get_device_information,
            Opcode.GET_HW_CONSTS: self._get_hw_consts,
        }

    def _identify(self, parameters: Parameters) -> Parameters:
        identity = self.chip.profile.identity
        major, minor, revision = identity.firmware_version
        return (
            _be32(identity.protocol_version),
            struct.pack("<3I", major, minor, revision | identity.app_firmware_flags),
            _be32(identity.logger_version),
            identity.board_name.encode().ljust(32, b"\0"),
            _be32(identity.device_architecture),
            bytes(16),  # serial, part number and product name: all zero on the measured board
            bytes(16),
            bytes(42),
        )

    def _core_identify(self, parameters: Parameters) -> Parameters:
        identity = self.chip.profile.identity
        major, minor, revision = identity.firmware_version
        return (struct.pack("<3I", major, minor, revision | identity.core_firmware_flags),)

    def _get_device_information(self, parameters: Parameters) -> Parameters:
        profile = self.chip.profile
        identity = profile.identity
        layout = sum(1 << cluster for cluster in self.chip.clusters.enabled)
        return (
            _be32(round(profile.nn_hz)),
            _be32(identity.supported_features) + bytes(4),
            _be32(identity.boot_source),
            bytes([identity.lcs]),
            bytes(32),  # soc_id, eth_mac and fuse_info are a unit's own
            bytes(6),
            bytes(12),
            PERFORMANCE_MONITOR,
            _be32(layout),
        )

    def _get_hw_consts(self, parameters: Parameters) -> Parameters:
        return (self.chip.wire.hw_consts.pack(asdict(self.chip.profile.identity.hw_consts)),)

    def _get_chip_temperature(self, parameters: Parameters) -> Parameters:
        sensors = self.chip.profile.sensors
        celsius = sensors.temperature_c
        return (struct.pack("<ffH", celsius, celsius, sensors.temperature_samples),)


def _be32(value: int) -> bytes:
    return value.to_bytes(4, "big")
