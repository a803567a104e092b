"""Control messages on the wire: framing, opcodes, and the parameters of the context-switch controls.

firmware-actions.md 5: header fields and parameter lengths are big-endian, parameter data is raw. A request is the
16-byte common header, parameter_count, then `u32 length | data` per parameter; a reply has major and minor status
before its parameter_count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

from msgspec import Struct

from emu.errors import HailoError, HailoStatus

PROTOCOL_VERSION = 2
FLAG_ACK = 1
MAX_MESSAGE_SIZE = 1500
MAX_BATCH_SIZE = 63  # HAILO_MAX_BATCH_SIZE, vdma.md 3.1
IGNORE_APPLICATION_INDEX = 0xFF

REQUEST_HEADER = struct.Struct(">5I")
_RESPONSE = struct.Struct(">7I")
PARAMETER_LENGTH = struct.Struct(">I")


class Opcode(IntEnum):
    """Opcodes by their names without the CONTROL_OPCODE__HAILO prefixes (firmware-actions.md 5)."""

    IDENTIFY = 0
    WRITE_MEMORY = 1
    READ_MEMORY = 2
    CONFIG_STREAM = 3
    RESET = 7
    NN_CORE_LATENCY_MEASUREMENT_CONFIG = 24
    NN_CORE_LATENCY_MEASUREMENT_READ = 25
    CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER = 32
    CONTEXT_SWITCH_SET_CONTEXT_INFO = 33
    IDLE_TIME_SET_MEASUREMENT = 34
    IDLE_TIME_GET_MEASUREMENT = 35
    DOWNLOAD_CONTEXT_ACTION_LIST = 36
    CHANGE_CONTEXT_SWITCH_STATUS = 37
    SET_DATAFLOW_INTERRUPT = 41
    CORE_IDENTIFY = 42
    GET_CHIP_TEMPERATURE = 46
    GET_DEVICE_INFORMATION = 51
    CONFIG_CONTEXT_SWITCH_BREAKPOINT = 52
    GET_CONTEXT_SWITCH_BREAKPOINT_STATUS = 53
    GET_CONTEXT_SWITCH_MAIN_HEADER = 54
    CONFIG_CONTEXT_SWITCH_TIMESTAMP = 59
    RUN_BIST_TEST = 60
    SET_CLOCK_FREQ = 61
    CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS = 71
    GET_HW_CONSTS = 72
    CHANGE_HW_INFER_STATUS = 74
    SIGNAL_DRIVER_DOWN = 75
    CONTEXT_SWITCH_INIT_CACHE_INFO = 76
    CONTEXT_SWITCH_GET_CACHE_INFO = 77
    CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET = 78
    CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED = 79


_APP_CPU = frozenset({0, 1, 2, 3, 7, 9, 18, 24, 25, 34, 35, 46, 51, 60, 61})


def of_app_cpu(message: bytes) -> bool:
    """Whether HailoRT sends a request to the app CPU, not to the core CPU (firmware-actions.md 5, driver-ioctl-4.23.md
    3)."""
    return int.from_bytes(message[12:16], "big") in _APP_CPU


_NAMES: Mapping[int, str] = {int(one): one.name for one in Opcode}


def opcode_name(opcode: int) -> str:
    """The name of an opcode, also where it has none."""
    return _NAMES.get(opcode) or f"opcode {opcode}"


class ContextSwitchStatus(IntEnum):
    """state_machine_status of CHANGE_CONTEXT_SWITCH_STATUS (firmware-actions.md 5.3)."""

    RESET = 0
    ENABLED = 1
    PAUSED = 2  # 4.x


class Request(Struct, frozen=True):
    opcode: int
    parameters: tuple[bytes, ...] = ()
    sequence: int = 0
    version: int = PROTOCOL_VERSION


class Response(Struct, frozen=True):
    opcode: int
    parameters: tuple[bytes, ...] = ()
    major_status: int = 0
    minor_status: int = 0
    sequence: int = 0
    version: int = PROTOCOL_VERSION


def encode_request(opcode: int, parameters: Sequence[bytes] = (), sequence: int = 0) -> bytes:
    """A whole request message; HailoRT always sends sequence 0 (silicon-facts.md a)."""
    head = REQUEST_HEADER.pack(PROTOCOL_VERSION, 0, sequence, opcode, len(parameters))
    return head + _encode_parameters(parameters)


def decode_request(data: bytes) -> Request:
    """Parse a request; a damaged one is HAILO_INVALID_ARGUMENT with its byte offset."""
    if len(data) < REQUEST_HEADER.size:
        raise _damaged(f"a request has at least {REQUEST_HEADER.size} bytes, this one {len(data)}", len(data))
    if len(data) > MAX_MESSAGE_SIZE:
        raise _damaged(f"a message has at most {MAX_MESSAGE_SIZE} bytes, this one {len(data)}", 0)
    version, _, sequence, opcode, count = REQUEST_HEADER.unpack_from(data)
    return Request(opcode, _decode_parameters(data, REQUEST_HEADER.size, count), sequence, version)


def encode_response(
    opcode: int,
    parameters: Sequence[bytes] = (),
    major_status: int = 0,
    minor_status: int = 0,
    sequence: int = 0,
) -> bytes:
    """A whole reply; without parameters it is 28 bytes (silicon-facts.md a)."""
    head = _RESPONSE.pack(PROTOCOL_VERSION, FLAG_ACK, sequence, opcode, major_status, minor_status, len(parameters))
    return head + _encode_parameters(parameters)


def decode_response(data: bytes) -> Response:
    """Parse a reply; a damaged one is HAILO_INVALID_ARGUMENT with its byte offset."""
    if len(data) < _RESPONSE.size:
        raise _damaged(f"a reply has at least {_RESPONSE.size} bytes, this one {len(data)}", len(data))
    version, _, sequence, opcode, major, minor, count = _RESPONSE.unpack_from(data)
    parameters = _decode_parameters(data, _RESPONSE.size, count)
    return Response(opcode, parameters, major, minor, sequence, version)


def _encode_parameters(parameters: Sequence[bytes]) -> bytes:
    return b"".join([PARAMETER_LENGTH.pack(len(parameter)) + parameter for parameter in parameters])


def _decode_parameters(data: bytes, offset: int, count: int) -> tuple[bytes, ...]:
    found = []
    for _ in range(count):
        if len(data) - offset < PARAMETER_LENGTH.size:
            raise _damaged(f"{len(data) - offset} bytes left for a parameter length", offset)
        (length,) = PARAMETER_LENGTH.unpack_from(data, offset)
        offset += PARAMETER_LENGTH.size
        if len(data) - offset < length:
            raise _damaged(f"a parameter of {length} bytes, {len(data) - offset} left", offset)
        found.append(data[offset : offset + length])
        offset += length
    if offset != len(data):
        raise _damaged(f"{len(data) - offset} bytes behind the last parameter", offset)
    return tuple(found)


def _damaged(message: str, offset: int) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"damaged control message: {message}", offset=offset)


def set_network_group_header(application_header: bytes) -> bytes:
    return encode_request(Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER, (application_header,))


def set_context_info(context_type: int, action_list: bytes, chunks: Sequence[int]) -> Iterator[bytes]:
    """One message per chunk (firmware-actions.md 4, 5.2)."""
    offset = 0
    for number, size in enumerate(chunks):
        parameters = (
            bytes([number == 0]),
            bytes([number == len(chunks) - 1]),
            bytes([context_type]),
            action_list[offset : offset + size],
        )
        yield encode_request(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, parameters)
        offset += size


def change_context_switch_status(
    status: ContextSwitchStatus,
    application_index: int = IGNORE_APPLICATION_INDEX,
    dynamic_batch_size: int = 0,
    batch_count: int = 0,
) -> bytes:
    """ENABLE of an application, or RESET (firmware-actions.md 5.3)."""
    parameters = (
        bytes([status]),
        bytes([application_index]),
        struct.pack("<H", dynamic_batch_size),
        struct.pack("<H", batch_count),
    )
    return encode_request(Opcode.CHANGE_CONTEXT_SWITCH_STATUS, parameters)


def status_change(request: bytes) -> dict[str, int] | None:
    """What a CHANGE_CONTEXT_SWITCH_STATUS asks for, by the field names of 5.3; None for every other message."""
    if int.from_bytes(request[12:16], "big") != Opcode.CHANGE_CONTEXT_SWITCH_STATUS:
        return None
    try:
        parameters = decode_request(request).parameters
    except HailoError:
        return None
    names = ("state_machine_status", "application_index", "dynamic_batch_size", "batch_count")
    return {name: int.from_bytes(data, "little") for name, data in zip(names, parameters, strict=False)}
