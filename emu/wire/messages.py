"""What the parameters of control messages hold: one table for requests and replies (firmware-actions.md 5).

`control` frames messages; this module names, packs and checks what is in them, each request's parameters by number and
size with the firmware's own statuses (module 3, 0x4003....). Lengths in a message are big-endian, the byte
order of a value is its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.wire.control import (
    FLAG_ACK,
    MAX_MESSAGE_SIZE,
    PARAMETER_LENGTH,
    PROTOCOL_VERSION,
    REQUEST_HEADER,
    Opcode,
    Request,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from emu.wire.layouts import Layout as Packed
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError

Value = int | bytes
OPCODES = 80  # known to the firmware, modelled or not (firmware-actions.md 5)
MAX_MEMORY_CHUNK = 1024  # of READ_MEMORY and WRITE_MEMORY; the runtime splits longer ones
BREAKPOINT_SET = b"\0"


class Kind(Enum):
    """The two halves of a control."""

    REQUEST = "request"
    RESPONSE = "response"


class Variable(Struct, frozen=True):
    """Bytes of any length, from `least` to `most`."""

    least: int = 0
    most: int = MAX_MESSAGE_SIZE - 1


class OfRuntime(Struct, frozen=True):
    """What the runtime gives: the layout of that name in its file; an empty one is no parameter at all."""

    layout: str


class OfSize(Struct, frozen=True):
    """Bytes that are no numbers here, as many as the runtime's `what` has."""

    what: str


class Parameter(NamedTuple):
    """One parameter: the values in it, how they lie there, and the firmware's status for a size that is none.

    `form` is a struct code, or where the length is free or the runtime's: Variable, OfSize, OfRuntime.
    """

    names: tuple[str, ...]
    form: str | Variable | OfSize | OfRuntime
    status: S


Layout = tuple[Parameter, ...]
_ANY = Variable()


def _p(names: str, form: str | Variable | OfSize | OfRuntime, status: S = S.SUCCESS) -> Parameter:
    return Parameter(tuple(names.split()), form, status)


_U8 = "B"
_APPLICATION = _p("application_index", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_APPLICATION_INDEX_LENGTH)
_CONTEXT_TYPE = _p("context_type", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_TYPE_LENGTH)
_DYNAMIC_BATCH = _p("dynamic_batch_size", "<H", S.CONTROL_PROTOCOL_STATUS_INVALID_DYNAMIC_BATCH_SIZE_LENGTH)
_BATCH_COUNT = _p("batch_count", "<H", S.CONTROL_PROTOCOL_STATUS_INVALID_BATCH_COUNT_LENGTH)
_BREAKPOINT_ID = _p("breakpoint_id", "<I", S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_ID_LENGTH)
_ADDRESS = _p("address", ">I", S.CONTROL_PROTOCOL_STATUS_INVALID_ADDRESS_SIZE)

REQUESTS: Mapping[Opcode, Layout] = {
    Opcode.IDENTIFY: (),
    Opcode.WRITE_MEMORY: (
        _ADDRESS,
        _p("data", Variable(1, MAX_MEMORY_CHUNK), S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH),
    ),
    Opcode.READ_MEMORY: (_ADDRESS, _p("data_count", ">I", S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_COUNT_SIZE)),
    Opcode.CORE_IDENTIFY: (),
    Opcode.GET_CHIP_TEMPERATURE: (),
    Opcode.GET_DEVICE_INFORMATION: (),
    Opcode.GET_HW_CONSTS: (),
    Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: (),
    Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: (),
    Opcode.SIGNAL_DRIVER_DOWN: (),
    Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: (),
    Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: (
        _p(
            "application_header",
            OfSize("application_header"),
            S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_APP_HEADER_LENGTH,
        ),
    ),
    Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: (
        _p(
            "is_first_chunk_per_context",
            _U8,
            S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_IS_FIRST_CONTROL_PER_CONTEXT_LENGTH,
        ),
        _p(
            "is_last_chunk_per_context",
            _U8,
            S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_IS_LAST_CONTROL_PER_CONTEXT_LENGTH,
        ),
        _CONTEXT_TYPE,
        _p("context_network_data", _ANY, S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH),
    ),
    Opcode.CHANGE_CONTEXT_SWITCH_STATUS: (
        _p("state_machine_status", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_STATE_MACHINE_STATUS_LENGTH),
        _APPLICATION,
        _DYNAMIC_BATCH,
        _BATCH_COUNT,
    ),
    Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: (
        _p("network_group_id", ">I", S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_NETWORK_GROUP_ID_LENGTH),
        _CONTEXT_TYPE,
        # not swapped, unlike its neighbours
        _p("context_index", "<H", S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_CONTEXT_INDEX_LENGTH),
        _p("action_list_offset", ">H", S.CONTROL_PROTOCOL_STATUS_INVALID_ACTION_LIST_OFFSET_LENGTH),
    ),
    Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: (
        _p("batch_index", OfRuntime("timestamp_batch"), S.CONTROL_PROTOCOL_STATUS_INVALID_BATCH_INDEX_LENGTH),
        _p(
            "enable_user_configuration",
            _U8,
            S.CONTROL_PROTOCOL_STATUS_INVALID_ENABLE_USER_CONFIGURATION_LENGTH,
        ),
    ),
    Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: (
        _BREAKPOINT_ID,
        _p("breakpoint_control", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_CONTROL_LENGTH),
        _p("", OfRuntime("breakpoint"), S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_DATA_LENGTH),
    ),
    Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: (_BREAKPOINT_ID,),
    Opcode.NN_CORE_LATENCY_MEASUREMENT_CONFIG: (
        # the header names no status for the size of these
        _p("latency_measurement_en", _U8, S.CONTROL_PROTOCOL_STATUS_LATENCY_CONFIG_FAILED),
        _p("inbound_start_buffer_number", ">I", S.CONTROL_PROTOCOL_STATUS_LATENCY_CONFIG_FAILED),
        _p("outbound_stop_buffer_number", ">I", S.CONTROL_PROTOCOL_STATUS_LATENCY_CONFIG_FAILED),
        _p("inbound_stream_index", ">I", S.CONTROL_PROTOCOL_STATUS_LATENCY_CONFIG_FAILED),
        _p("outbound_stream_index", ">I", S.CONTROL_PROTOCOL_STATUS_LATENCY_CONFIG_FAILED),
    ),
    Opcode.NN_CORE_LATENCY_MEASUREMENT_READ: (),
    Opcode.IDLE_TIME_SET_MEASUREMENT: (
        _p("measurement_enable", _U8, S.CONTROL_PROTOCOL_STATUS_FAILED_IDLE_TIME_SET_MEASUREMENT),
    ),
    Opcode.IDLE_TIME_GET_MEASUREMENT: (),
    Opcode.SET_DATAFLOW_INTERRUPT: (
        _p("interrupt_type", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_INTERRUPT_TYPE_LENGTH),
        _p("interrupt_index", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_INTERRUPT_INDEX_LENGTH),
        _p("interrupt_sub_index", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_INTERRUPT_SUB_INDEX_LENGTH),
    ),
    Opcode.SET_CLOCK_FREQ: (_p("clock_freq", ">I", S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH),),
    Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO: (
        _p("", OfRuntime("cache_info"), S.CONTROL_PROTOCOL_STATUS_INVALID_CACHE_INFO_LENGTH),
    ),
    Opcode.CONTEXT_SWITCH_GET_CACHE_INFO: (),
    Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET: (
        _p("read_offset_delta", "<i", S.CONTROL_PROTOCOL_STATUS_INVALID_CACHE_INFO_LENGTH),
    ),
    Opcode.CHANGE_HW_INFER_STATUS: (
        _p("hw_infer_state", _U8, S.CONTROL_PROTOCOL_STATUS_INVALID_HW_INFER_STATE_LENGTH),
        _APPLICATION,
        _DYNAMIC_BATCH,
        _BATCH_COUNT,
        _p("channels_info", OfSize("channels_info"), S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH),
        _p("", OfRuntime("hw_infer_mode"), S.CONTROL_PROTOCOL_STATUS_INVALID_BOUNDARY_CHANNELS_MODE_LENGTH),
    ),
}

RESPONSES: Mapping[Opcode, Layout] = {
    Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: (),
    Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: (),
    Opcode.CHANGE_CONTEXT_SWITCH_STATUS: (),
    Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: (),
    Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: (),
    Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: (),
    Opcode.SIGNAL_DRIVER_DOWN: (),
    Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: (),
    Opcode.WRITE_MEMORY: (),
    Opcode.READ_MEMORY: (_p("data", _ANY),),
    Opcode.IDENTIFY: (
        _p("protocol_version", ">I"),
        _p("firmware_major firmware_minor firmware_revision", "<3I"),
        _p("logger_version", ">I"),
        _p("board_name", _ANY),
        _p("device_architecture", ">I"),
        _p("serial_number", _ANY),
        _p("part_number", _ANY),
        _p("product_name", _ANY),
    ),
    Opcode.CORE_IDENTIFY: (_p("firmware_major firmware_minor firmware_revision", "<3I"),),
    Opcode.GET_DEVICE_INFORMATION: (
        _p("neural_network_core_clock_rate", ">I"),
        _p("supported_features", ">I4x"),  # a u64 of which one half is swapped (silicon-facts.md a)
        _p("boot_source", ">I"),
        _p("lcs", _U8),
        _p("soc_id", _ANY),
        _p("eth_mac_address", _ANY),
        _p("fuse_info", _ANY),
        _p("pd_info", _ANY),
        _p("partial_clusters_layout_bitmap", ">I"),
    ),
    Opcode.GET_HW_CONSTS: (_p("", OfRuntime("hw_consts")),),
    Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: (
        _p("base_address", ">I"),
        _p("is_action_list_end", _U8),
        _p("batch_counter", ">I"),
        _p("idle_time", ">I"),
        _p("action_list", _ANY),
    ),
    Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: (_p("breakpoint_status", _U8),),
    Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: (_p("application_count_and_headers", _ANY),),
    Opcode.CHANGE_HW_INFER_STATUS: (_p("infer_done infer_cycles", "<BI"),),
    Opcode.GET_CHIP_TEMPERATURE: (_p("temperature_info", _ANY),),
    Opcode.NN_CORE_LATENCY_MEASUREMENT_CONFIG: (),
    Opcode.NN_CORE_LATENCY_MEASUREMENT_READ: (_p("inbound_to_outbound_latency_nsec", ">I"),),
    Opcode.IDLE_TIME_SET_MEASUREMENT: (),
    Opcode.IDLE_TIME_GET_MEASUREMENT: (_p("idle_time_ns", ">Q"),),
    Opcode.SET_CLOCK_FREQ: (),
    Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO: (),
    Opcode.CONTEXT_SWITCH_GET_CACHE_INFO: (_p("", OfRuntime("cache_info")),),
    Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET: (),
}


OF_CACHES = frozenset(
    {
        Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO,
        Opcode.CONTEXT_SWITCH_GET_CACHE_INFO,
        Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET,
    }
)
"""The controls that a firmware serves only where its runtime's file says how a cache is described."""


class Message(Struct, frozen=True):
    """A decoded control message; `status` is a reply's (major, minor), (0, 0) for a request."""

    opcode: Opcode
    values: Mapping[str, Value]
    status: tuple[int, int] = (0, 0)


class Field(NamedTuple):
    """A parameter as one runtime has it: `code` None for bytes; `sizes` that it may have, the status of any other."""

    names: tuple[str, ...]
    code: str | None
    sizes: range
    status: S


class Messages:
    """The control messages of one runtime: `layouts` are those of its file, `sizes` of parameters that hold bytes."""

    def __init__(self, layouts: Mapping[str, Packed], sizes: Mapping[str, int]) -> None:
        def resolve(table: Mapping[Opcode, Layout]) -> dict[Opcode, tuple[Field, ...]]:
            return {
                opcode: tuple(
                    _resolved(parameter, layouts, sizes)
                    for parameter in parameters
                    if not isinstance(parameter.form, OfRuntime) or layouts[parameter.form.layout].names
                )
                for opcode, parameters in table.items()
            }

        self._tables = {Kind.REQUEST: resolve(REQUESTS), Kind.RESPONSE: resolve(RESPONSES)}
        self.requests: Mapping[Opcode, tuple[Field, ...]] = self._tables[Kind.REQUEST]
        self._of_opcode: Mapping[int, tuple[Field, ...]] = {int(one): what for one, what in self.requests.items()}

    def layout(self, opcode: int, kind: Kind) -> tuple[Field, ...]:
        """The parameters of a control; HAILO_UNSUPPORTED_OPCODE for one that is not described."""
        try:
            return self._tables[kind][Opcode(opcode)]
        except (KeyError, ValueError):
            raise HailoError(
                HailoStatus.HAILO_UNSUPPORTED_OPCODE, f"the {kind.value} of control opcode {opcode} is not described"
            ) from None

    def pack(self, opcode: Opcode, kind: Kind, values: Mapping[str, Value]) -> tuple[bytes, ...]:
        """The parameters that hold `values`.

        HAILO_INVALID_ARGUMENT for a missing or unknown name and for a value out of range.
        """
        parameters = self.layout(opcode, kind)
        known = {name for parameter in parameters for name in parameter.names}
        if known != set(values):
            raise _invalid(opcode, f"takes {sorted(known)}, not {sorted(values)}")
        out = []
        for names, code, _, _ in parameters:
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

    def unpack(self, opcode: int, kind: Kind, parameters: Sequence[bytes]) -> dict[str, Value]:
        """The values in the parameters; another count or size than the table's is HAILO_INVALID_ARGUMENT."""
        expected = self.layout(opcode, kind)
        if len(parameters) != len(expected):
            raise _invalid(Opcode(opcode), f"{len(parameters)} parameters instead of {len(expected)}")
        out: dict[str, Value] = {}
        for (names, code, sizes, _), data in zip(expected, parameters, strict=True):
            if code is None:
                out[names[0]] = data
                continue
            if len(data) not in sizes:
                raise _invalid(Opcode(opcode), f"{' '.join(names)}: {len(data)} bytes instead of {sizes.start}")
            out.update(zip(names, struct.unpack(code, data), strict=True))
        return out

    def encode(self, opcode: Opcode, kind: Kind, values: Mapping[str, Value]) -> bytes:
        """A whole request, or a whole successful reply."""
        framed = encode_request if kind is Kind.REQUEST else encode_response
        return framed(opcode, self.pack(opcode, kind, values))

    def decode(self, data: bytes, kind: Kind) -> Message:
        """A request or reply with its values named; a reply that reports a failure has none."""
        if kind is Kind.REQUEST:
            request = decode_request(data)
            return Message(Opcode(request.opcode), self.unpack(request.opcode, kind, request.parameters))
        response = decode_response(data)
        status = (response.major_status, response.minor_status)
        if response.major_status and not response.parameters:
            self.layout(response.opcode, kind)
            return Message(Opcode(response.opcode), {}, status)
        return Message(Opcode(response.opcode), self.unpack(response.opcode, kind, response.parameters), status)

    def check(self, opcode: int, parameters: tuple[bytes, ...]) -> None:
        """FirmwareStopError where a request has other parameters than its opcode takes."""
        expected = self._of_opcode.get(opcode)
        if expected is None:
            return
        is_breakpoint = opcode == Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT
        if is_breakpoint and parameters[1:2] != (BREAKPOINT_SET,) and not any(parameters[2:]):
            # where to stop is of no matter to CONTINUE and CLEAR
            parameters, expected = parameters[:2], expected[:2]
        if len(parameters) != len(expected):
            what = f"{len(parameters)} parameters, expected {len(expected)}"
            raise FirmwareStopError(S.CONTROL_PROTOCOL_STATUS_INCORRECT_PARAMETER_COUNT, what)
        for number, (data, (_, _, sizes, status)) in enumerate(zip(parameters, expected, strict=True)):
            if len(data) not in sizes:
                least, most = sizes.start, sizes.stop - 1
                wanted = str(least) if least == most else f"{least} to {most}"
                raise FirmwareStopError(status, f"parameter {number} of {len(data)} bytes, expected {wanted}")

    def download_action_list(
        self, control: Callable[[bytes], bytes], network_group_id: int, context_type: int, context_index: int
    ) -> bytes:
        """A context's action list as the device has it, asked for piece by piece (firmware-actions.md 5.4).

        `control` sends a request and gives the reply. An empty piece or a base address of 0 is
        HAILO_INVALID_CONTROL_RESPONSE, a reply with a status HAILO_FW_CONTROL_FAILURE.
        """
        return b"".join(self._pieces(control, network_group_id, context_type, context_index))

    def _pieces(
        self, control: Callable[[bytes], bytes], network_group_id: int, context_type: int, context_index: int
    ) -> Iterator[bytes]:
        opcode, offset = Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, 0
        while True:
            asked: dict[str, Value] = {
                "network_group_id": network_group_id,
                "context_type": context_type,
                "context_index": context_index,
                "action_list_offset": offset,
            }
            reply = self.decode(control(self.encode(opcode, Kind.REQUEST, asked)), Kind.RESPONSE)
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


def read_request(data: bytes) -> Request | S:
    """A request as the firmware reads it; where it cannot read it to its last byte, what it says of the framing."""
    size = len(data)
    if size < REQUEST_HEADER.size:
        return S.HAILO_CONTROL_STATUS_OVERRUN_BEFORE_PARAMETERS
    if size > MAX_MESSAGE_SIZE:
        return S.CONTROL_PROTOCOL_STATUS_REQUSET_LENGTH_OVERFLOW
    version, flags, sequence, opcode, count = REQUEST_HEADER.unpack_from(data)
    if version != PROTOCOL_VERSION:
        return S.HAILO_CONTROL_STATUS_INVALID_VERSION
    if flags & FLAG_ACK:
        return S.HAILO_CONTROL_STATUS_CONTROL_ACK_RECEIVED
    parameters, position = [], REQUEST_HEADER.size
    for _ in range(count):
        start = position + PARAMETER_LENGTH.size
        if start > size:
            return S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER
        position = start + PARAMETER_LENGTH.unpack_from(data, position)[0]
        if position > size:
            return S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER
        parameters.append(data[start:position])
    if position != size:
        return S.CONTROL_PROTOCOL_PART_OF_THE_MESSAGE_NOT_PARSED
    return Request(opcode, tuple(parameters), sequence, version)


def _resolved(parameter: Parameter, layouts: Mapping[str, Packed], sizes: Mapping[str, int]) -> Field:
    names, form, status = parameter
    if isinstance(form, str):
        size = struct.calcsize(form)
        return Field(names, form, range(size, size + 1), status)
    if isinstance(form, OfRuntime):
        packed = layouts[form.layout]
        return Field(packed.names, packed.code, range(packed.size, packed.size + 1), status)
    if isinstance(form, OfSize):
        size = sizes[form.what]
        return Field(names, None, range(size, size + 1), status)
    return Field(names, None, range(form.least, form.most + 1), status)


def _invalid(opcode: Opcode, message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"control {opcode.name}: {message}")
