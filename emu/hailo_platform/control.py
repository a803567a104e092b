"""Device and Control: what is asked of the firmware (pyhailort-api.md 4).

An emulated device has neither a current sensor nor a die that warms up: power and temperature are constants, and
stderr says so once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from emu.chips.consts import EXTENDED_CONTEXT_SWITCH_BUFFER
from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.enums import (
    AveragingFactor,
    BootSource,
    DeviceArchitectureTypes,
    DvmTypes,
    MeasurementBufferIndex,
    PowerMeasurementTypes,
    SamplingPeriod,
)
from emu.hailo_platform.environment import environment, require_there, say_once
from emu.hailo_platform.exceptions import HailoRTException, HailoRTNotImplemented, raising_as_hailort

if TYPE_CHECKING:
    from emu.chips.chips import Profile

BOARD_INFO_NOT_CONFIGURED_ATTR = "<N/A>"
_FEATURES = ("ethernet", "mipi", "pcie", "current_monitoring", "mdio")  # bits 0 on (silicon-facts.md a: 2 is PCIe)


class HailoFirmwareMode(Enum):
    DEVELOP = "develop"
    RELEASE = "release"


class HailoFirmwareType(Enum):
    CORE = "core"
    APP = "app"


@dataclass(frozen=True, order=True)
class HailoFirmwareVersion:
    """`4.23.0 (release,app,extended context switch buffer)`."""

    major: int
    minor: int
    revision: int
    mode: HailoFirmwareMode = HailoFirmwareMode.RELEASE
    fw_type: HailoFirmwareType = HailoFirmwareType.APP
    extended_context_switch_buffer: bool = False

    def __str__(self) -> str:
        buffer = ",extended context switch buffer" if self.extended_context_switch_buffer else ""
        return f"{self.major}.{self.minor}.{self.revision} ({self.mode.value},{self.fw_type.value}{buffer})"


@dataclass(frozen=True, repr=False)
class BoardInformation:
    """The answer to IDENTIFY; `str()` is eight lines, `<N/A>` for what the board does not say."""

    protocol_version: int
    firmware_version: HailoFirmwareVersion
    logger_version: int
    board_name: str
    is_release: bool
    device_architecture: DeviceArchitectureTypes
    serial_number: str
    part_number: str
    product_name: str

    def __str__(self) -> str:
        rows = (
            ("Control Protocol Version", self.protocol_version),
            ("Firmware Version", self.firmware_version),
            ("Logger Version", self.logger_version),
            ("Board Name", self.board_name),
            ("Device Architecture", self.device_architecture),
            ("Serial Number", self.serial_number or BOARD_INFO_NOT_CONFIGURED_ATTR),
            ("Part Number", self.part_number or BOARD_INFO_NOT_CONFIGURED_ATTR),
            ("Product Name", self.product_name or BOARD_INFO_NOT_CONFIGURED_ATTR),
        )
        return "".join(f"{name}: {value}\n" for name, value in rows)

    __repr__ = __str__


@dataclass(frozen=True)
class CoreInformation:
    """The answer to CORE_IDENTIFY."""

    firmware_version: HailoFirmwareVersion
    is_release: bool

    def __str__(self) -> str:
        return f"Core Firmware Version: {self.firmware_version}"


@dataclass(frozen=True)
class SupportedFeatures:
    """What the board has."""

    ethernet: bool
    mipi: bool
    pcie: bool
    current_monitoring: bool
    mdio: bool

    def __str__(self) -> str:
        rows = ("Ethernet", "MIPI", "PCIE", "Current Monitoring", "MDIO")
        given = (self.ethernet, self.mipi, self.pcie, self.current_monitoring, self.mdio)
        lines = [f"{name}: {'Enabled' if has else 'Disabled'}\n" for name, has in zip(rows, given, strict=True)]
        return "Device supported features: \n" + "".join(lines)


@dataclass(frozen=True)
class ExtendedDeviceInformation:
    """The answer to GET_DEVICE_INFORMATION; the clock in Hz."""

    neural_network_core_clock_rate: int
    supported_features: SupportedFeatures
    boot_source: BootSource
    lcs: int
    soc_id: bytes
    eth_mac_address: bytes
    unit_level_tracking_id: bytes
    soc_pm_values: bytes
    gpio_mask: int

    def __str__(self) -> str:
        text = (
            f"Neural Network Core Clock Rate: {self.neural_network_core_clock_rate / 1e6}MHz\n"
            f"{self.supported_features}Boot source: {self.boot_source.name}\n"
            f"LCS: {self.lcs or BOARD_INFO_NOT_CONFIGURED_ATTR}"
        )
        if any(self.soc_id):
            text += f"\nSoC ID: {self.soc_id.hex()}"
        return text


@dataclass(frozen=True)
class TemperatureInfo:
    """Degrees Celsius of the two sensors."""

    ts0_temperature: float
    ts1_temperature: float
    sample_count: int


@dataclass(frozen=True)
class PowerMeasurementData:
    """Of a measurement that runs beside the work."""

    average_value: float
    average_time_value_milliseconds: float
    min_value: float
    max_value: float
    total_number_of_samples: int


class Control:
    """The control messages of a device."""

    def __init__(self) -> None:
        self._device = environment().device
        self._measuring: dict[MeasurementBufferIndex, PowerMeasurementTypes] = {}
        self._started = False

    @property
    def device_id(self) -> str:
        return environment().device_id

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    @property
    def _profile(self) -> Profile:
        from emu.chips import chips

        return chips.load(self._device)

    def identify(self) -> BoardInformation:
        identity = self._profile.identity
        return BoardInformation(
            identity.protocol_version,
            HailoFirmwareVersion(
                *environment().version_numbers,
                extended_context_switch_buffer=bool(identity.app_firmware_flags & EXTENDED_CONTEXT_SWITCH_BUFFER),
            ),
            identity.logger_version,
            identity.board_name,
            True,
            DeviceArchitectureTypes(identity.device_architecture),
            "",
            "",
            "",
        )

    def core_identify(self) -> CoreInformation:
        identity = self._profile.identity
        buffer = bool(identity.core_firmware_flags & EXTENDED_CONTEXT_SWITCH_BUFFER)
        version = HailoFirmwareVersion(
            *environment().version_numbers, fw_type=HailoFirmwareType.CORE, extended_context_switch_buffer=buffer
        )
        return CoreInformation(version, True)

    def get_extended_device_information(self) -> ExtendedDeviceInformation:
        profile = self._profile
        identity = profile.identity
        has = [bool(identity.supported_features >> bit & 1) for bit in range(len(_FEATURES))]
        return ExtendedDeviceInformation(
            round(profile.nn_hz),
            SupportedFeatures(*has),
            BootSource(identity.boot_source),
            identity.lcs,
            bytes(32),
            bytes(6),
            bytes(12),
            bytes(24),
            0,
        )

    # -- what is constant here

    def get_chip_temperature(self) -> TemperatureInfo:
        """The temperature of the board that was measured (silicon-facts.md a)."""
        sensors = self._profile.sensors
        celsius = sensors.temperature_c
        say_once(f"the chip's temperature is a constant, {celsius} C")
        return TemperatureInfo(celsius, celsius, sensors.temperature_samples)

    def power_measurement(
        self,
        dvm: DvmTypes = DvmTypes.AUTO,
        measurement_type: PowerMeasurementTypes = PowerMeasurementTypes.AUTO,
    ) -> float:
        """W, or mV or mA by the type."""
        return self._constant(measurement_type)

    def set_power_measurement(
        self,
        buffer_index: MeasurementBufferIndex = MeasurementBufferIndex.MEASUREMENT_BUFFER_INDEX_0,
        dvm: DvmTypes = DvmTypes.AUTO,
        measurement_type: PowerMeasurementTypes = PowerMeasurementTypes.AUTO,
    ) -> None:
        self._measuring[buffer_index] = measurement_type

    def start_power_measurement(
        self,
        averaging_factor: AveragingFactor = AveragingFactor.AVERAGE_256,
        sampling_period: SamplingPeriod = SamplingPeriod.PERIOD_1100us,
    ) -> None:
        self._started = True

    def get_power_measurement(
        self,
        buffer_index: MeasurementBufferIndex = MeasurementBufferIndex.MEASUREMENT_BUFFER_INDEX_0,
        should_clear: bool = True,
    ) -> PowerMeasurementData:
        """HailoRTInvalidOperationException for a buffer that was not set, or before the start."""
        with raising_as_hailort():
            if not self._started or buffer_index not in self._measuring:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "no power measurement was set and started")
        value = self._constant(self._measuring[buffer_index])
        return PowerMeasurementData(value, 1.0, value, value, 1)

    def stop_power_measurement(self) -> None:
        self._started = False

    def get_throttling_state(self) -> bool:
        """The simulated device is never too warm."""
        return False

    def set_notification_callback(
        self, callback_func: Callable[..., object], notification_id: Any, opaque: Any = None
    ) -> None:
        """Never called: the simulated device sends none of those that an application may ask for; stderr says so."""
        say_once("no notification of the device ever calls back")

    def remove_notification_callback(self, notification_id: Any) -> None:
        """Nothing to do."""

    def _constant(self, kind: PowerMeasurementTypes) -> float:
        watts, millivolts = self._profile.sensors.power_watts, self._profile.sensors.bus_millivolts
        say_once(f"power measurements are constants, {watts} W at {millivolts / 1000} V")
        if kind is PowerMeasurementTypes.BUS_VOLTAGE:
            return millivolts
        if kind is PowerMeasurementTypes.SHUNT_VOLTAGE:
            return 0.0
        return watts if kind is not PowerMeasurementTypes.CURRENT else watts / millivolts * 1e6

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_BUILT:
            return partial(_not_built, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_NOT_BUILT = frozenset(
    [
        "chip_reset",
        "nn_core_reset",
        "soft_reset",
        "forced_soft_reset",
        "read_memory",
        "write_memory",
        "read_user_config",
        "write_user_config",
        "read_board_config",
        "write_board_config",
        "set_fw_logger",
        "set_throttling_state",
        "read_register",
        "set_bit",
        "reset_bit",
        "firmware_update",
        "second_stage_update",
        "store_sensor_config",
        "store_isp_config",
        "get_sensor_sections_info",
        "sensor_set_generic_i2c_slave",
        "set_sensor_i2c_bus_index",
        "load_and_start_sensor",
        "reset_sensor",
        "wd_enable",
        "wd_disable",
        "wd_config",
        "previous_system_state",
        "set_pause_frames",
        "test_chip_memories",
    ]
)


def _not_built(name: str, *arguments: object, **options: object) -> NoReturn:
    raise HailoRTNotImplemented(f"Control.{name}")


class Device:
    """The device itself, for control messages; applications use `VDevice`."""

    @classmethod
    def scan(cls) -> list[str]:
        """The ids of all devices: one."""
        with raising_as_hailort():
            return [environment().device_id]

    def __init__(self, device_id: str | None = None) -> None:
        with raising_as_hailort():
            found = environment()
            require_there(() if device_id is None else (device_id,), found.device)
        self._device_id = found.device_id
        self._control: Control | None = Control()
        self._creation_pid = os.getpid()
        self.loaded_network_groups: list[Any] = []

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"Device({self._device_id!r})"

    def release(self) -> None:
        """May be called again."""
        self._control = None

    @property
    def device_id(self) -> str:
        return self._device_id

    @property
    def control(self) -> Control:
        """HailoRTException behind `release`."""
        if self._control is None:
            raise HailoRTException("the device was released")
        return self._control


class PcieDevice(Device):
    """HailoRT 4.x's older name of a device; it cannot configure."""

    @staticmethod
    def scan_devices() -> list[str]:
        return Device.scan()
