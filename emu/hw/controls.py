"""The control messages the device serves, one method an opcode (firmware-actions.md 5, silicon-facts.md a, b, d)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC, MAX_CONTEXTS, Application, Context
from emu.hw.breakpoints import BreakpointStatus, decode_place
from emu.hw.firmware import State
from emu.hw.memory import CLUSTER_BASE, CLUSTER_STRIDE
from emu.hw.requests import MAX_MEMORY_CHUNK, OPCODES, check_parameters, damage
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import FirmwareStopError, require
from emu.sequencer.control import (
    ApplicationHeader,
    ContextSwitchStatus,
    Opcode,
    application_header_size,
    decode_request,
    encode_response,
)
from emu.sequencer.program import ContextType

if TYPE_CHECKING:
    from emu.hw.device import Device

Parameters = tuple[bytes, ...]

UNKNOWN_OPCODE = 0xFFFFFFFF
# the second status of a reply where the real device was seen to set one (silicon-facts.md d)
MINOR = {S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH: S.STATUS_UNINITIALIZED}
MAX_APPLICATIONS = {"4.23": 32, "5.2": 26}
ACTION_LIST_SRAM = {"4.23": 75 << 10, "5.2": 55 << 10}
# 4.23 counts channels beyond the four that its header holds: as many as there are inputs (firmware-actions.md 5.1)
MAX_CONFIG_CHANNELS = {"4.23": 16, "5.2": 24}
MAX_DOWNLOAD_SIZE = 1439
MAX_CONTEXT_SIZE = 0xFFFF  # the offset of a download is a u16
PERFORMANCE_MONITOR = bytes(24)  # pd_info: process-monitor counts and temperatures of one board (silicon-facts.md a)
TEMPERATURE_C = 35.7  # the measured board's (silicon-facts.md a)
TEMPERATURE_SAMPLES = 1
_BREAKPOINT_SET, _BREAKPOINT_CONTINUE, _BREAKPOINT_CLEAR = range(3)


class Controls:
    """Serves requests for one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._seen: set[str] = set()
        self._partial: tuple[int, bytes] | None = None  # type and bytes of a context whose chunks still arrive
        self._table: dict[int, Callable[[Parameters], Parameters]] = {
            Opcode.IDENTIFY: self._identify,
            Opcode.WRITE_MEMORY: self._write_memory,
            Opcode.READ_MEMORY: self._read_memory,
            Opcode.RESET: self._reset,
            Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: self._set_network_group_header,
            Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: self._set_context_info,
            Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: self._download_context_action_list,
            Opcode.CHANGE_CONTEXT_SWITCH_STATUS: self._change_context_switch_status,
            Opcode.CORE_IDENTIFY: self._core_identify,
            Opcode.GET_CHIP_TEMPERATURE: self._get_chip_temperature,
            Opcode.GET_DEVICE_INFORMATION: self._get_device_information,
            Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: self._config_breakpoint,
            Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: self._breakpoint_status,
            Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: self._main_header,
            Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: self._config_timestamp,
            Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: self._clear_configured_apps,
            Opcode.RUN_BIST_TEST: self._run_bist_test,
            Opcode.GET_HW_CONSTS: self._get_hw_consts,
            Opcode.SIGNAL_DRIVER_DOWN: self._signal_driver_down,
            Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: self._signal_cache_updated,
            Opcode.CHANGE_HW_INFER_STATUS: self._change_hw_infer_status,
        }

    def serve(self, data: bytes) -> tuple[bytes, str, str]:
        """(reply, name of the opcode, status text). Simulated time advances by the message's cost."""
        framing = damage(data)
        if framing is not None:
            # the opcode does not come back (silicon-facts.md d, CONFIG_STREAM malformed)
            failed = S.CONTROL_PROTOCOL_STATUS_PARSE_COMMAND_FAILED
            self._count(failed)
            self._count(framing)
            return encode_response(UNKNOWN_OPCODE, (), failed, framing), "?", f"{failed.name}: {framing.name}"
        request = decode_request(data)
        name = opcode_name(request.opcode)
        self._spend(name, len(data))
        handler = self._table.get(request.opcode)
        try:
            if handler is None:
                known = request.opcode < OPCODES
                raise FirmwareStopError(
                    S.CONTROL_STATUS_UNSUPPORTED_OPCODE if known else S.CONTROL_STATUS_INVALID_OPCODE, name
                )
            check_parameters(request.opcode, request.parameters, self.device.runtime)
            parameters = handler(request.parameters)
        except FirmwareStopError as fault:
            minor = fault.status if fault.status is S.RESTRICTED_MEMORY_ACCESS else MINOR.get(fault.status, 0)
            self._count(fault.status)
            self.last_fault = fault
            reply = encode_response(request.opcode, (), fault.status, minor, request.sequence)
            return reply, name, f"{fault.status.name}(0x{fault.status:08X}): {fault.message}"
        return encode_response(request.opcode, parameters, sequence=request.sequence), name, "OK"

    last_fault: FirmwareStopError | None = None

    def _count(self, status: S) -> None:
        self.device.statuses[status] = self.device.statuses.get(status, 0) + 1

    def _spend(self, name: str, size: int) -> None:
        short = name.removeprefix("CONTEXT_SWITCH_")
        clock = self.device.clock
        cost = self.device.profile.control_cost(short, size, first=name not in self._seen)
        self._seen.add(name)
        clock.run_to(clock.time + round(cost))

    # -- identity

    def _identify(self, parameters: Parameters) -> Parameters:
        identity = self.device.profile.identity
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
        identity = self.device.profile.identity
        major, minor, revision = identity.firmware_version
        return (struct.pack("<3I", major, minor, revision | identity.core_firmware_flags),)

    def _get_device_information(self, parameters: Parameters) -> Parameters:
        profile = self.device.profile
        identity = profile.identity
        layout = sum(1 << cluster for cluster in self.device.clusters.enabled)
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
        consts = self.device.profile.identity.hw_consts
        fixed = (
            consts.fifo_word_granularity,
            consts.max_periph_buffers_per_frame,
            consts.max_periph_bytes_per_buffer,
            consts.max_acceptable_bytes_per_buffer,
            consts.outbound_data_stream_size,
        )
        if self.device.runtime == "4.23":
            optimize, credit = consts.should_optimize_credits, consts.default_initial_credit_size
            return (struct.pack("<IHHHIBI", *fixed, optimize, credit),)
        return (struct.pack("<IHHHII", *fixed, consts.default_initial_credit_size),)

    def _get_chip_temperature(self, parameters: Parameters) -> Parameters:
        return (struct.pack("<ffH", TEMPERATURE_C, TEMPERATURE_C, TEMPERATURE_SAMPLES),)

    # -- memory

    def _read_memory(self, parameters: Parameters) -> Parameters:
        address, length = (int.from_bytes(parameter, "big") for parameter in parameters)
        require(
            length <= MAX_MEMORY_CHUNK,
            S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH,
            f"{length} bytes to read, at most {MAX_MEMORY_CHUNK} fit a reply",
        )
        self._check_memory(address, length)
        words = (self.device.memory.read_word(address + at) for at in range(0, length, 4))
        return (b"".join(word.to_bytes(4, "little") for word in words)[:length],)

    def _write_memory(self, parameters: Parameters) -> Parameters:
        address, data = int.from_bytes(parameters[0], "big"), parameters[1]
        self._check_memory(address, len(data))
        require(
            not (address - CLUSTER_BASE) & (CLUSTER_STRIDE >> 1),
            S.CONTROL_PROTOCOL_STATUS_ACCESS_RESTRICTED_MEMORY_AREA,
            f"0x{address:08X} is configuration memory",
        )
        for at in range(0, len(data), 4):
            self.device.memory.write_word(address + at, int.from_bytes(data[at : at + 4], "little"))
        return ()

    def _check_memory(self, address: int, length: int) -> None:
        end = CLUSTER_BASE + self.device.profile.clusters * CLUSTER_STRIDE
        require(
            address >= CLUSTER_BASE and address + length <= end and address % 4 == 0,
            S.RESTRICTED_MEMORY_ACCESS,
            f"{length} bytes at 0x{address:08X} lie outside the accessible memory",
        )

    # -- context switch

    def _set_network_group_header(self, parameters: Parameters) -> Parameters:
        device = self.device
        (data,) = parameters
        self._check_inactive()
        header = ApplicationHeader.decode(data, device.runtime)
        limit = MAX_APPLICATIONS[device.runtime]
        require(
            len(device.applications) < limit,
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"more than {limit} applications",
        )
        require(
            1 <= header.dynamic_contexts_count <= MAX_CONTEXTS - FIRST_DYNAMIC,
            S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT,
            f"{header.dynamic_contexts_count} dynamic contexts",
        )
        channels = MAX_CONFIG_CHANNELS[device.runtime]
        require(
            header.config_channels_count <= channels,
            S.CONTEXT_SWITCH_STATUS_INVALID_CFG_CHANNELS_COUNT,
            f"{header.config_channels_count} config channels, at most {channels}",
        )
        require(header.batch_size > 0, S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE, f"batch size {header.batch_size}")
        application = Application(len(device.applications), header, data)
        device.applications.append(application)
        if header.external_action_list_address:
            self._load_external(application)
        return ()

    def _load_external(self, application: Application) -> None:
        address = application.header.external_action_list_address
        for kind, data in self.device.host_memory.action_lists_from(address):
            if application.complete:
                break
            self._store_context(application, kind, data)
        require(
            application.complete,
            S.CONTEXT_SWITCH_STATUS_INVALID_EXTERNAL_ACTION_LIST_ADDRESS,
            f"{len(application.contexts)} of {application.expected_contexts} contexts found at 0x{address:X}",
        )

    def _set_context_info(self, parameters: Parameters) -> Parameters:
        device = self.device
        is_first, is_last, kind, data = parameters
        self._check_inactive()
        require(
            bool(device.applications),
            S.CONTEXT_SWITCH_TASK_STATUS_USER_SENT_CONTEXT_CONTROL_BEFORE_MAIN_HEADER_CONTROL,
            "a context before any network-group header",
        )
        application = device.applications[-1]
        if is_first != b"\0":
            self._partial = None
            self._check_context_type(application, kind[0])
            self._partial = (kind[0], b"")
        if self._partial is None or self._partial[0] != kind[0]:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER, "a chunk that goes on with no context begun before"
            )
        whole = self._partial[1] + data
        require(
            len(whole) <= MAX_CONTEXT_SIZE,
            S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL,
            f"a context of {len(whole)} bytes, {MAX_CONTEXT_SIZE} fit",
        )
        self._partial = (kind[0], whole)
        if is_last != b"\0":
            self._partial = None
            self._store_context(application, kind[0], whole)
        return ()

    def _check_context_type(self, application: Application, kind: int) -> None:
        require(kind in CONTEXT_TYPES, S.CONTEXT_SWITCH_STATUS_INVALID_CONTEXT_TYPE, f"context type {kind}")
        require(
            not application.complete,
            S.CONTEXT_SWITCH_STATUS_CONTEXT_INFO_RECEIVED_TOO_MANY_CONTEXTS,
            f"more than {application.expected_contexts} contexts",
        )
        expected = application.next_type()
        require(
            kind == expected,
            S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER,
            f"a {ContextType(kind).name.lower()} context where {expected.name.lower()} has to come",
        )

    def _store_context(self, application: Application, kind: int, data: bytes) -> None:
        self._check_context_type(application, kind)
        context = Context(ContextType(kind), application.next_index(), data)
        context.parse(self.device.runtime, self.device.profile.config_style)
        self._check_sram(len(data))
        application.contexts.append(context)

    def _check_sram(self, size: int) -> None:
        """Integrated devices keep the lists in a small memory, larger ones go through DDR (firmware-actions.md 4)."""
        device = self.device
        if device.applications[-1].header.external_action_list_address or device.profile.config_style != "bursts":
            return
        used = sum(len(context.action_list) for one in device.applications for context in one.contexts)
        limit = ACTION_LIST_SRAM[device.runtime]
        require(
            used + size <= limit,
            S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL,
            f"{used + size} bytes of action lists, {limit} fit",
        )

    def _check_inactive(self) -> None:
        require(
            self.device.firmware.state in (State.RESET, State.FAILED, State.STOPPED),
            S.CONTEXT_SWITCH_STATUS_CANT_CONFIGURE_HEF_WHILE_ACTIVATED,
            "an application is active",
        )

    def _change_context_switch_status(self, parameters: Parameters) -> Parameters:
        device = self.device
        status, index = parameters[:2]
        dynamic_batch, batch_count = (int.from_bytes(parameter, "little") for parameter in parameters[2:])
        if status == bytes([ContextSwitchStatus.RESET]):
            if device.firmware.state is not State.RESET:
                device.clock.run_to(device.clock.time + round(device.profile.deactivate_ns))
            device.firmware.reset()
            return ()
        require(
            status == bytes([ContextSwitchStatus.ENABLED]),
            S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS,
            f"state machine status {status.hex()}",
        )
        require(
            index[0] < len(device.applications),
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"application {index.hex()} of {len(device.applications)}",
        )
        application = device.applications[index[0]]
        require(
            application.complete,
            S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT,
            f"{len(application.contexts)} of {application.expected_contexts} contexts were sent",
        )
        require(
            dynamic_batch <= application.header.batch_size,
            S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE,
            f"dynamic batch {dynamic_batch} exceeds the configured {application.header.batch_size}",
        )
        self._enable(application, dynamic_batch, batch_count)
        return ()

    def _enable(self, application: Application, dynamic_batch: int, batch_count: int) -> None:
        # the reply comes once the activation context has run, the rest goes on behind it (silicon-facts.md b)
        firmware, device = self.device.firmware, self.device
        if firmware.application not in (None, application):
            device.clock.run_to(device.clock.time + round(device.profile.deactivate_ns))
        firmware.enable(application, dynamic_batch, batch_count)
        device.clock.run_until(lambda: firmware.state is not State.ACTIVATING)
        if firmware.state is State.FAILED and firmware.error is not None:
            raise FirmwareStopError(firmware.error.status, firmware.error.message)

    def _download_context_action_list(self, parameters: Parameters) -> Parameters:
        group, kind = int.from_bytes(parameters[0], "big"), parameters[1][0]
        index = int.from_bytes(parameters[2], "little")  # not swapped (firmware-actions.md 5.4)
        offset = int.from_bytes(parameters[3], "big")
        device = self.device
        require(
            group < len(device.applications),
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"application {group} of {len(device.applications)}",
        )
        require(kind in CONTEXT_TYPES, S.CONTEXT_SWITCH_STATUS_INVALID_CONTEXT_TYPE, f"context type {kind}")
        application = device.applications[group]
        contexts = [one for one in application.contexts if one.type == kind]
        require(
            index < len(contexts),
            S.CONTEXT_SWITCH_STATUS_DOWNLOAD_ACTION_LIST_INVALID_CONTEXT_INDEX,
            f"context {index} of {len(contexts)}",
        )
        data = contexts[index].stamped()
        part = data[offset : offset + MAX_DOWNLOAD_SIZE]
        position = CONTEXT_ORDER.index(contexts[index].type) if kind != ContextType.DYNAMIC else FIRST_DYNAMIC + index
        return (
            _be32(ACTION_LIST_BASE + position * ACTION_LIST_STRIDE),
            bytes([offset + len(part) >= len(data)]),
            _be32(device.firmware.batch_index),
            _be32(0),
            part,
        )

    def _main_header(self, parameters: Parameters) -> Parameters:
        runtime = self.device.runtime
        headers = b"".join(application.header_bytes for application in self.device.applications)
        size = application_header_size(runtime) * MAX_APPLICATIONS[runtime]
        return (bytes([len(self.device.applications)]) + headers.ljust(size, b"\0"),)

    def _config_timestamp(self, parameters: Parameters) -> Parameters:
        enabled = parameters[1] != b"\0"
        # 5.2 widens the field but still swaps only 16 bits of it (firmware-actions.md 5.5)
        batch = int.from_bytes(parameters[0][:2], "big")
        self.device.timestamp_batch = batch if enabled else None
        return ()

    def _clear_configured_apps(self, parameters: Parameters) -> Parameters:
        self._check_inactive()
        self.device.firmware.reset()
        self.device.applications.clear()
        self._partial = None
        return ()

    def _config_breakpoint(self, parameters: Parameters) -> Parameters:
        breakpoints = self.device.breakpoints
        number, control = int.from_bytes(parameters[0], "little"), parameters[1][0]
        if control == _BREAKPOINT_SET:
            require(
                breakpoints.status(number) is not BreakpointStatus.WAITING_FOR_BREAKPOINT,
                S.CONTEXT_SWITCH_STATUS_USER_MUST_CLEAR_OR_REACH_BREAKPOINT_BEFORE_SETTING_NEW_ONE,
                f"breakpoint {number} is set already",
            )
            breakpoints.places[number] = decode_place(parameters[2], self.device.runtime)
        elif control == _BREAKPOINT_CONTINUE:
            require(
                breakpoints.status(number) is BreakpointStatus.REACHED_BREAKPOINT,
                S.CONTEXT_SWITCH_STATUS_USER_CANT_CONTINUE_WHEN_BREAKPOINT_IS_CLEARED_OR_NOT_REACHED_YET,
                f"breakpoint {number} is {breakpoints.status(number).name}",
            )
            breakpoints.proceed(number)
        elif control == _BREAKPOINT_CLEAR:
            breakpoints.clear(number)
        else:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_STATUS_RECEIVED_INVALID_BREAKPOINT_CONTROL, f"breakpoint control {control}"
            )
        self.device.core.changed.notify()
        return ()

    def _breakpoint_status(self, parameters: Parameters) -> Parameters:
        number = int.from_bytes(parameters[0], "little")
        return (bytes([self.device.breakpoints.status(number)]),)

    def _signal_cache_updated(self, parameters: Parameters) -> Parameters:
        self.device.cache_signals += 1
        self.device.core.changed.notify()
        return ()

    def _change_hw_infer_status(self, parameters: Parameters) -> Parameters:
        require(any(parameters[4]), S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH, "no channels are named")
        raise FirmwareStopError(S.CONTROL_STATUS_UNSUPPORTED_OPCODE, "hw-infer is not modelled")

    def _run_bist_test(self, parameters: Parameters) -> Parameters:
        # which blocks may be tested is not public; seen for one that may not (silicon-facts.md d)
        raise FirmwareStopError(S.CONTROL_PROTOCOL_STATUS_INVALID_BYPASS_SELECTION, "self-test is not modelled")

    # -- others

    def _reset(self, parameters: Parameters) -> Parameters:
        self.device.soft_reset()
        self._partial = None
        return ()

    def _signal_driver_down(self, parameters: Parameters) -> Parameters:
        self.device.firmware.reset()
        return ()


CONTEXT_TYPES = frozenset(int(kind) for kind in ContextType)
ACTION_LIST_BASE = 0x000A0000  # where the lists lie in the core's memory is not public; any non-zero base will do
ACTION_LIST_STRIDE = 0x1000


def opcode_name(opcode: int) -> str:
    """The name of an opcode, also where it has none."""
    try:
        return Opcode(opcode).name
    except ValueError:
        return f"opcode {opcode}"


def _be32(value: int) -> bytes:
    return value.to_bytes(4, "big")
