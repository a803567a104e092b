"""What the parameters of control messages hold: one table for requests and replies (firmware-actions.md 5).

`control` frames messages; this module names and packs what is in them. Lengths in a message are big-endian, the byte
order of a value is its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from emu.errors import HailoError, HailoStatus
from emu.sequencer.actions import RUNTIMES
from emu.sequencer.control import (
    Opcode,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

Value = int | bytes


class Parameter(NamedTuple):
    """One parameter: the values in it and their struct code; code None for bytes of any length."""

    names: tuple[str, ...]
    code: str | None


class Kind(Enum):
    """The two halves of a control."""

    REQUEST = "request"
    RESPONSE = "response"


Layout = tuple[Parameter, ...]


def _p(names: str, code: str | None) -> Parameter:
    return Parameter(tuple(names.split()), code)


def _both(layout: Layout) -> dict[str, Layout]:
    return dict.fromkeys(RUNTIMES, layout)


_U8 = "B"
_BREAKPOINT = (
    "any_application application_index any_batch_index batch_index any_context_index context_index "
    "any_action_index action_index"
)
_HW_CONSTS = (
    "fifo_word_granularity_bytes max_periph_buffers_per_frame max_periph_bytes_per_buffer "
    "max_acceptable_bytes_per_buffer outbound_data_stream_size"
)


def _breakpoint(code: str) -> Layout:
    return (_p("breakpoint_id", "<I"), _p("breakpoint_control", _U8), _p(_BREAKPOINT, code))


REQUESTS: Mapping[Opcode, Mapping[str, Layout]] = {
    Opcode.IDENTIFY: _both(()),
    Opcode.CORE_IDENTIFY: _both(()),
    Opcode.GET_DEVICE_INFORMATION: _both(()),
    Opcode.GET_HW_CONSTS: _both(()),
    Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: _both(()),
    Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: _both(()),
    Opcode.SIGNAL_DRIVER_DOWN: _both(()),
    Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: _both(()),
    Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: _both((_p("application_header", None),)),
    Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: _both(
        (
            _p("is_first_chunk_per_context", _U8),
            _p("is_last_chunk_per_context", _U8),
            _p("context_type", _U8),
            _p("context_network_data", None),
        )
    ),
    Opcode.CHANGE_CONTEXT_SWITCH_STATUS: _both(
        (
            _p("state_machine_status", _U8),
            _p("application_index", _U8),
            _p("dynamic_batch_size", "<H"),
            _p("batch_count", "<H"),
        )
    ),
    Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: _both(
        (
            _p("network_group_id", ">I"),
            _p("context_type", _U8),
            _p("context_index", "<H"),  # not swapped, unlike its neighbours
            _p("action_list_offset", ">H"),
        )
    ),
    Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: {
        "4.23": (_p("batch_index", ">H"), _p("enable_user_configuration", _U8)),
        # 32 bits filled by a 16-bit byte swap (firmware-actions.md 5.5)
        "5.2": (_p("batch_index", ">H2x"), _p("enable_user_configuration", _U8)),
    },
    Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: {"4.23": _breakpoint("<BBBHBHBH"), "5.2": _breakpoint("<BBBIBHBH")},
    Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: _both((_p("breakpoint_id", "<I"),)),
    Opcode.CHANGE_HW_INFER_STATUS: _both(
        (
            _p("hw_infer_state", _U8),
            _p("application_index", _U8),
            _p("dynamic_batch_size", "<H"),
            _p("batch_count", "<H"),
            _p("channels_info", None),
            _p("boundary_channel_mode", _U8),
        )
    ),
}

RESPONSES: Mapping[Opcode, Mapping[str, Layout]] = {
    Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: _both(()),
    Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: _both(()),
    Opcode.CHANGE_CONTEXT_SWITCH_STATUS: _both(()),
    Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: _both(()),
    Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: _both(()),
    Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: _both(()),
    Opcode.SIGNAL_DRIVER_DOWN: _both(()),
    Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: _both(()),
    Opcode.IDENTIFY: _both(
        (
            _p("protocol_version", ">I"),
            _p("firmware_major firmware_minor firmware_revision", "<3I"),
            _p("logger_version", ">I"),
            _p("board_name", None),
            _p("device_architecture", ">I"),
            _p("serial_number", None),
            _p("part_number", None),
            _p("product_name", None),
        )
    ),
    Opcode.CORE_IDENTIFY: _both((_p("firmware_major firmware_minor firmware_revision", "<3I"),)),
    Opcode.GET_DEVICE_INFORMATION: _both(
        (
            _p("neural_network_core_clock_rate", ">I"),
            _p("supported_features", ">I4x"),  # a u64 of which one half is swapped (silicon-facts.md a)
            _p("boot_source", ">I"),
            _p("lcs", _U8),
            _p("soc_id", None),
            _p("eth_mac_address", None),
            _p("fuse_info", None),
            _p("pd_info", None),
            _p("partial_clusters_layout_bitmap", ">I"),
        )
    ),
    Opcode.GET_HW_CONSTS: {
        "4.23": (_p(f"{_HW_CONSTS} should_optimize_credits default_initial_credit_size", "<IHHHIBI"),),
        "5.2": (_p(f"{_HW_CONSTS} default_initial_credit_size", "<IHHHII"),),
    },
    Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: _both(
        (
            _p("base_address", ">I"),
            _p("is_action_list_end", _U8),
            _p("batch_counter", ">I"),
            _p("idle_time", ">I"),
            _p("action_list", None),
        )
    ),
    Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: _both((_p("breakpoint_status", _U8),)),
    Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: _both((_p("application_count_and_headers", None),)),
    Opcode.CHANGE_HW_INFER_STATUS: _both((_p("infer_done", _U8), _p("infer_cycles", "<I"))),
}
_TABLES = {Kind.REQUEST: REQUESTS, Kind.RESPONSE: RESPONSES}


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded control message; `status` is a reply's (major, minor), (0, 0) for a request."""

    opcode: Opcode
    values: Mapping[str, Value]
    status: tuple[int, int] = (0, 0)


def layout(opcode: int, kind: Kind, runtime: str) -> Layout:
    """The parameters of a control; HAILO_UNSUPPORTED_OPCODE for one that this table does not describe."""
    try:
        return _TABLES[kind][Opcode(opcode)][runtime]
    except (KeyError, ValueError):
        raise HailoError(
            HailoStatus.HAILO_UNSUPPORTED_OPCODE, f"the {kind.value} of control opcode {opcode} is not described"
        ) from None


def pack(opcode: Opcode, kind: Kind, runtime: str, values: Mapping[str, Value]) -> tuple[bytes, ...]:
    """The parameters that hold `values`; a missing or unknown name, or a value out of range, HAILO_INVALID_ARGUMENT."""
    parameters = layout(opcode, kind, runtime)
    known = {name for parameter in parameters for name in parameter.names}
    if known != set(values):
        raise _invalid(opcode, f"takes {sorted(known)}, not {sorted(values)}")
    out = []
    for names, code in parameters:
        if code is None:
            data = values[names[0]]
            if not isinstance(data, bytes):
                raise _invalid(opcode, f"{names[0]} is bytes, not {data!r}")
            out.append(data)
            continue
        try:
            out.append(struct.pack(code, *(values[name] for name in names)))
        except struct.error as error:
            raise _invalid(opcode, f"{', '.join(f'{name} {values[name]!r}' for name in names)}: {error}") from None
    return tuple(out)


def unpack(opcode: int, kind: Kind, runtime: str, parameters: Sequence[bytes]) -> dict[str, Value]:
    """The values in the parameters; another count or size than the table's is HAILO_INVALID_ARGUMENT."""
    expected = layout(opcode, kind, runtime)
    if len(parameters) != len(expected):
        raise _invalid(Opcode(opcode), f"{len(parameters)} parameters instead of {len(expected)}")
    out: dict[str, Value] = {}
    for (names, code), data in zip(expected, parameters, strict=True):
        if code is None:
            out[names[0]] = data
            continue
        if len(data) != struct.calcsize(code):
            raise _invalid(Opcode(opcode), f"{' '.join(names)}: {len(data)} bytes instead of {struct.calcsize(code)}")
        out.update(zip(names, struct.unpack(code, data), strict=True))
    return out


def encode_message(opcode: Opcode, kind: Kind, runtime: str, values: Mapping[str, Value]) -> bytes:
    """A whole request, or a whole successful reply."""
    parameters = pack(opcode, kind, runtime, values)
    encode = encode_request if kind is Kind.REQUEST else encode_response
    return encode(opcode, parameters)


def decode_message(data: bytes, kind: Kind, runtime: str) -> Message:
    """A request or reply with its values named; a reply that reports a failure has none."""
    if kind is Kind.REQUEST:
        request = decode_request(data)
        return Message(Opcode(request.opcode), unpack(request.opcode, kind, runtime, request.parameters))
    response = decode_response(data)
    status = (response.major_status, response.minor_status)
    if response.major_status and not response.parameters:
        layout(response.opcode, kind, runtime)
        return Message(Opcode(response.opcode), {}, status)
    return Message(Opcode(response.opcode), unpack(response.opcode, kind, runtime, response.parameters), status)


def download_action_list(
    control: Callable[[bytes], bytes], runtime: str, network_group_id: int, context_type: int, context_index: int
) -> bytes:
    """A context's action list as the device has it, asked for piece by piece (firmware-actions.md 5.4).

    `control` sends a request and gives the reply. An empty piece or a base address of 0 is
    HAILO_INVALID_CONTROL_RESPONSE, a reply with a status HAILO_FW_CONTROL_FAILURE.
    """
    return b"".join(_pieces(control, runtime, network_group_id, context_type, context_index))


def _pieces(
    control: Callable[[bytes], bytes], runtime: str, network_group_id: int, context_type: int, context_index: int
) -> Iterator[bytes]:
    opcode, offset = Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, 0
    while True:
        asked: dict[str, Value] = {
            "network_group_id": network_group_id,
            "context_type": context_type,
            "context_index": context_index,
            "action_list_offset": offset,
        }
        reply = decode_message(control(encode_message(opcode, Kind.REQUEST, runtime, asked)), Kind.RESPONSE, runtime)
        if reply.status[0]:
            raise HailoError(
                HailoStatus.HAILO_FW_CONTROL_FAILURE, f"{opcode.name} failed with status 0x{reply.status[0]:08X}"
            )
        piece = reply.values["action_list"]
        if not isinstance(piece, bytes) or not piece or not reply.values["base_address"]:
            raise HailoError(
                HailoStatus.HAILO_INVALID_CONTROL_RESPONSE,
                f"{opcode.name} at offset {offset}: an empty piece or base address 0",
            )
        yield piece
        if reply.values["is_action_list_end"]:
            return
        offset += len(piece)


def _invalid(opcode: Opcode, message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"control {opcode.name}: {message}")
