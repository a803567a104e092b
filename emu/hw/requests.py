"""What a request must look like before it is served: parameters by number and size, each with its own status.

Sizes follow firmware-actions.md 5; the statuses are those of the firmware's control module (0x4003....).
"""

from __future__ import annotations

import struct

from emu.hw.status import FirmwareStatus as S
from emu.hw.status import require
from emu.sequencer.control import FLAG_ACK, MAX_MESSAGE_SIZE, PROTOCOL_VERSION, Opcode

OPCODES = 80  # known to the firmware, modelled or not (firmware-actions.md 5)
MAX_MEMORY_CHUNK = 1024  # of READ_MEMORY and WRITE_MEMORY; the runtime splits longer ones
BREAKPOINT_SET = b"\0"

_REQUEST = struct.Struct(">5I")
_LENGTH = struct.Struct(">I")

# sizes that a parameter may have, and the status of any other
Parameter = tuple[range, S]


def _exactly(size: int) -> range:
    return range(size, size + 1)


_APPLICATION: Parameter = (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_APPLICATION_INDEX_LENGTH)
_CONTEXT_TYPE: Parameter = (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_TYPE_LENGTH)
_DYNAMIC_BATCH: Parameter = (_exactly(2), S.CONTROL_PROTOCOL_STATUS_INVALID_DYNAMIC_BATCH_SIZE_LENGTH)
_BATCH_COUNT: Parameter = (_exactly(2), S.CONTROL_PROTOCOL_STATUS_INVALID_BATCH_COUNT_LENGTH)
_BREAKPOINT_ID: Parameter = (_exactly(4), S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_ID_LENGTH)
_ADDRESS: Parameter = (_exactly(4), S.CONTROL_PROTOCOL_STATUS_INVALID_ADDRESS_SIZE)


def _by_runtime(batch: int, breakpoint_data: int, channels: int, header: int) -> dict[int, tuple[Parameter, ...]]:
    return {
        Opcode.IDENTIFY: (),
        Opcode.WRITE_MEMORY: (
            _ADDRESS,
            (range(1, MAX_MEMORY_CHUNK + 1), S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH),
        ),
        Opcode.READ_MEMORY: (_ADDRESS, (_exactly(4), S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_COUNT_SIZE)),
        Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: (
            (_exactly(header), S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_APP_HEADER_LENGTH),
        ),
        Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: (
            (
                _exactly(1),
                S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_IS_FIRST_CONTROL_PER_CONTEXT_LENGTH,
            ),
            (
                _exactly(1),
                S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_IS_LAST_CONTROL_PER_CONTEXT_LENGTH,
            ),
            _CONTEXT_TYPE,
            (range(MAX_MESSAGE_SIZE), S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH),
        ),
        Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: (
            (_exactly(4), S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_NETWORK_GROUP_ID_LENGTH),
            _CONTEXT_TYPE,
            (_exactly(2), S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_INDEX_LENGTH),
            (_exactly(2), S.CONTROL_PROTOCOL_STATUS_INVALID_ACTION_LIST_OFFSET_LENGTH),
        ),
        Opcode.CHANGE_CONTEXT_SWITCH_STATUS: (
            (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_STATE_MACHINE_STATUS_LENGTH),
            _APPLICATION,
            _DYNAMIC_BATCH,
            _BATCH_COUNT,
        ),
        Opcode.CORE_IDENTIFY: (),
        Opcode.GET_CHIP_TEMPERATURE: (),
        Opcode.GET_DEVICE_INFORMATION: (),
        Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: (
            _BREAKPOINT_ID,
            (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_CONTROL_LENGTH),
            (_exactly(breakpoint_data), S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_DATA_LENGTH),
        ),
        Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: (_BREAKPOINT_ID,),
        Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: (),
        Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: (
            (_exactly(batch), S.CONTROL_PROTOCOL_STATUS_INVALID_BATCH_INDEX_LENGTH),
            (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_ENABLE_USER_CONFIGURATION_LENGTH),
        ),
        Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: (),
        Opcode.GET_HW_CONSTS: (),
        Opcode.CHANGE_HW_INFER_STATUS: (
            (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_HW_INFER_STATE_LENGTH),
            _APPLICATION,
            _DYNAMIC_BATCH,
            _BATCH_COUNT,
            (_exactly(channels), S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH),
            (_exactly(1), S.CONTROL_PROTOCOL_STATUS_INVALID_BOUNDARY_CHANNELS_MODE_LENGTH),
        ),
        Opcode.SIGNAL_DRIVER_DOWN: (),
        Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: (),
    }


PARAMETERS = {"4.23": _by_runtime(2, 11, 385, 32), "5.2": _by_runtime(4, 13, 481, 53)}


def damage(data: bytes) -> S | None:
    """What is wrong with the framing of a request; None where it can be read to its last byte."""
    if len(data) < _REQUEST.size:
        return S.CONTROL_STATUS_OVERRUN_BEFORE_PARAMETERS
    if len(data) > MAX_MESSAGE_SIZE:
        return S.CONTROL_PROTOCOL_STATUS_REQUEST_LENGTH_OVERFLOW
    version, flags, _, _, count = _REQUEST.unpack_from(data)
    if version != PROTOCOL_VERSION:
        return S.CONTROL_STATUS_INVALID_VERSION
    if flags & FLAG_ACK:
        return S.CONTROL_STATUS_CONTROL_ACK_RECEIVED
    position = _REQUEST.size
    for _ in range(count):
        if len(data) - position < _LENGTH.size:
            return S.CONTROL_PROTOCOL_STATUS_OVERRUN_AT_PARAMETER
        position += _LENGTH.size + _LENGTH.unpack_from(data, position)[0]
        if position > len(data):
            return S.CONTROL_PROTOCOL_STATUS_OVERRUN_AT_PARAMETER
    return None if position == len(data) else S.CONTROL_PROTOCOL_PART_OF_THE_MESSAGE_NOT_PARSED


def check_parameters(opcode: int, parameters: tuple[bytes, ...], runtime: str) -> None:
    """FirmwareStopError where a request has other parameters than its opcode takes."""
    expected = PARAMETERS[runtime].get(opcode)
    if expected is None:
        return
    is_breakpoint = opcode == Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT
    if is_breakpoint and parameters[1:2] != (BREAKPOINT_SET,) and not any(parameters[2:]):
        # where to stop is of no matter to CONTINUE and CLEAR
        parameters, expected = parameters[:2], expected[:2]
    require(
        len(parameters) == len(expected),
        S.CONTROL_PROTOCOL_STATUS_INCORRECT_PARAMETER_COUNT,
        f"{len(parameters)} parameters, expected {len(expected)}",
    )
    for number, (data, (sizes, status)) in enumerate(zip(parameters, expected, strict=True)):
        least, most = sizes.start, sizes.stop - 1
        wanted = str(least) if least == most else f"{least} to {most}"
        require(len(data) in sizes, status, f"parameter {number} of {len(data)} bytes, expected {wanted}")
