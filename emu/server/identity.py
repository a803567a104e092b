"""What the simulated device says about itself over HRPC (hrpc-5.2.md part 2, 4: bounds that protect the client)."""

from __future__ import annotations

from typing import Any, cast

from emu.chips.chips import Profile
from emu.chips.consts import EXTENDED_CONTEXT_SWITCH_BUFFER
from emu.schemas import hrpc_pb2 as messages

# the client copies these into arrays without a check
MAX_BOARD_NAME, MAX_PRODUCT_NAME = 31, 41
# and reads these arrays to their full length
SOC_ID, MAC_ADDRESS, UNIT_LEVEL_TRACKING_ID, SOC_PM_VALUES = 32, 6, 12, 24

RAM_BYTES = 8 << 30  # guessed: the memory of an AI HAT+ 2

_ETHERNET, _MIPI, _PCIE, _CURRENT_MONITORING, _MDIO = (1 << bit for bit in range(5))  # eth-control.md, opcode 51


def identity(profile: Profile) -> messages.DeviceIdentityProto:
    """Serial and part number stay empty: the device is none of a series, and their lengths must be equal."""
    facts = profile.identity
    major, minor, revision = facts.firmware_version
    return messages.DeviceIdentityProto(
        protocol_version=facts.protocol_version,
        fw_version=messages.FirmwareVersionProto(major_value=major, minor_value=minor, revision_value=revision),
        logger_version=facts.logger_version,
        board_name=_bounded(facts.board_name, MAX_BOARD_NAME),
        is_release=True,
        extended_context_switch_buffer=bool(facts.app_firmware_flags & EXTENDED_CONTEXT_SWITCH_BUFFER),
        device_architecture=cast(Any, facts.device_architecture),
        product_name=_bounded(f"EMULATED {facts.board_name.upper()}", MAX_PRODUCT_NAME),
    )


def extended_info(profile: Profile) -> messages.Device_ExtendedInfo_Reply:
    """What is a unit's own is zero."""
    facts = profile.identity
    features = facts.supported_features
    return messages.Device_ExtendedInfo_Reply(
        neural_network_core_clock_rate=round(profile.nn_hz),
        supported_features=messages.DeviceSupportedFeaturesProto(
            ethernet=bool(features & _ETHERNET),
            mipi=bool(features & _MIPI),
            pcie=bool(features & _PCIE),
            current_monitoring=bool(features & _CURRENT_MONITORING),
            mdio=bool(features & _MDIO),
        ),
        boot_source=cast(Any, facts.boot_source),
        soc_id=[0] * SOC_ID,
        lcs=facts.lcs,
        eth_mac_address=[0] * MAC_ADDRESS,
        unit_level_tracking_id=[0] * UNIT_LEVEL_TRACKING_ID,
        soc_pm_values=[0] * SOC_PM_VALUES,
    )


def temperature(profile: Profile) -> messages.Device_GetChipTemperature_Reply:
    sensors = profile.sensors
    return messages.Device_GetChipTemperature_Reply(
        ts0_temperature=sensors.temperature_c,
        ts1_temperature=sensors.temperature_c,
        sample_count=sensors.temperature_samples,
    )


def power(profile: Profile) -> messages.HailoPowerMeasurementData:
    watts = profile.sensors.power_watts
    return messages.HailoPowerMeasurementData(
        average_value=watts,
        average_time_value_milliseconds=1.0,
        min_value=watts,
        max_value=watts,
        total_number_of_samples=1,
    )


def health(profile: Profile) -> messages.Device_QueryHealthStats_Reply:
    sensors = profile.sensors
    return messages.Device_QueryHealthStats_Reply(
        on_die_temperature=sensors.temperature_c, on_die_voltage=sensors.core_millivolts
    )


def performance() -> messages.Device_QueryPerformanceStats_Reply:
    return messages.Device_QueryPerformanceStats_Reply(ram_size_total=RAM_BYTES, ram_size_used=RAM_BYTES // 8)


def _bounded(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
