"""The control messages the device serves, one method an opcode (firmware-actions.md 5, silicon-facts.md a, b, d)."""

from __future__ import annotations

from collections.abc import Callable

from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC, Application, Context
from emu.hw.chip import Chip
from emu.hw.config.addresses import CLUSTER_BASE, CLUSTER_STRIDE
from emu.hw.controls_identity import IdentityControls
from emu.hw.controls_rare import RareControls
from emu.hw.execution import State
from emu.hw.firmware import Firmware
from emu.hw.handlers import HANDLERS
from emu.sequencer.program import MAX_CONTEXTS, ContextType
from emu.wire.actions import ACTIONS
from emu.wire.breakpoints import BreakpointStatus
from emu.wire.control import (
    IGNORE_APPLICATION_INDEX,
    ContextSwitchStatus,
    Opcode,
    encode_response,
    opcode_name,
)
from emu.wire.messages import MAX_MEMORY_CHUNK, OPCODES, read_request
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

Parameters = tuple[bytes, ...]

UNKNOWN_OPCODE = 0xFFFFFFFF
# the second status of a reply where the real device was seen to set one (silicon-facts.md d)
MINOR = {S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH: S.HAILO_STATUS_UNINITIALIZED}
MAX_DOWNLOAD_SIZE = 1439
MAX_CONTEXT_SIZE = 0xFFFF  # the offset of a download is a u16
_BREAKPOINT_SET, _BREAKPOINT_CONTINUE, _BREAKPOINT_CLEAR = range(3)


class Controls:
    """Serves requests for the firmware of one chip."""

    def __init__(self, chip: Chip, firmware: Firmware) -> None:
        self.device = chip
        self.firmware = firmware
        self._seen: set[str] = set()
        self._partial: tuple[int, bytes] | None = None  # type and bytes of a context whose chunks still arrive
        self._table: dict[int, Callable[[Parameters], Parameters]] = {
            Opcode.WRITE_MEMORY: self._write_memory,
            Opcode.READ_MEMORY: self._read_memory,
            Opcode.RESET: self._reset,
            Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER: self._set_network_group_header,
            Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO: self._set_context_info,
            Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: self._download_context_action_list,
            Opcode.CHANGE_CONTEXT_SWITCH_STATUS: self._change_context_switch_status,
            Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT: self._config_breakpoint,
            Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS: self._breakpoint_status,
            Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER: self._main_header,
            Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP: self._config_timestamp,
            Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS: self._clear_configured_apps,
            Opcode.SIGNAL_DRIVER_DOWN: self._signal_driver_down,
            Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED: self._signal_cache_updated,
        }
        self._rare = RareControls(chip, firmware, self._activate)
        self._table |= IdentityControls(chip).table()
        self._table |= self._rare.table()

    def serve(self, data: bytes) -> tuple[bytes, str, str]:
        """(reply, name of the opcode, status text). Simulated time advances by the message's cost."""
        request = read_request(data)
        if isinstance(request, S):
            # the opcode does not come back (silicon-facts.md d, CONFIG_STREAM malformed)
            failed = S.CONTROL_PROTOCOL_STATUS_PARSE_COMMAND_FAILED
            self._count(failed)
            self._count(request)
            return encode_response(UNKNOWN_OPCODE, (), failed, request), "?", f"{failed.name}: {request.name}"
        name = opcode_name(request.opcode)
        self._spend(name, len(data))
        handler = self._table.get(request.opcode)
        try:
            if handler is None:
                known = request.opcode < OPCODES
                raise FirmwareStopError(
                    S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE if known else S.HAILO_CONTROL_STATUS_INVALID_OPCODE, name
                )
            self.device.wire.messages.check(request.opcode, request.parameters)
            parameters = handler(request.parameters)
        except FirmwareStopError as fault:
            minor = fault.minor or MINOR.get(fault.status, S.SUCCESS)
            if fault.status is S.RESTRICTED_MEMORY_ACCESS:
                minor = fault.status
            self._count(fault.status)
            self.last_fault = fault
            reply = encode_response(request.opcode, (), fault.status, minor, request.sequence)
            return reply, name, f"{fault.status.name}(0x{fault.status:08X}): {fault.message}"
        return encode_response(request.opcode, parameters, sequence=request.sequence), name, "OK"

    last_fault: FirmwareStopError | None = None

    def _count(self, status: S) -> None:
        self.device.probe.statuses.count(status)

    def _spend(self, name: str, size: int) -> None:
        short = name.removeprefix("CONTEXT_SWITCH_")
        clock = self.device.clock
        cost = self.device.profile.control_cost(short, size, first=name not in self._seen)
        self._seen.add(name)
        clock.run_to(clock.time + round(cost))

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
        header = device.wire.header.decode(data)
        limit = device.wire.runtime.max_applications
        require(
            len(self.firmware.applications) < limit,
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"more than {limit} applications",
        )
        require(
            1 <= header.dynamic_contexts_count <= MAX_CONTEXTS - FIRST_DYNAMIC,
            S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT,
            lambda: f"{header.dynamic_contexts_count} dynamic contexts",
        )
        channels = device.wire.runtime.max_config_channels
        require(
            (header.config_channels_count or 0) <= channels,
            S.CONTEXT_SWITCH_STATUS_INVALID_CFG_CHANNELS_COUNT,
            lambda: f"{header.config_channels_count} config channels, at most {channels}",
        )
        require(header.batch_size > 0, S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE, f"batch size {header.batch_size}")
        application = Application(len(self.firmware.applications), header, data)
        self.firmware.applications.append(application)
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
        is_first, is_last, kind, data = parameters
        self._check_inactive()
        require(
            bool(self.firmware.applications),
            S.CONTEXT_SWITCH_TASK_STATUS_USER_SENT_CONTEXT_CONTROL_BEFORE_MAIN_HEADER_CONTROL,
            "a context before any network-group header",
        )
        application = self.firmware.applications[-1]
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
            lambda: f"a context of {len(whole)} bytes, {MAX_CONTEXT_SIZE} fit",
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
            S.CONTEXT_SWITCH_TASK_STATUS_CONTEXT_INFO_RECEIVED_TOO_MANY_CONTEXTS,
            lambda: f"more than {application.expected_contexts} contexts",
        )
        expected = application.next_type()
        require(
            kind == expected,
            S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER,
            lambda: f"a {ContextType(kind).name.lower()} context where {expected.name.lower()} has to come",
        )

    def _store_context(self, application: Application, kind: int, data: bytes) -> None:
        self._check_context_type(application, kind)
        device = self.device
        context = Context.read(
            ContextType(kind), application.next_index(), data, device.wire, device.profile.config_style
        )
        self._check_known(context)
        self._check_sram(len(data))
        application.contexts.append(context)

    def _check_known(self, context: Context) -> None:
        """An action that a user added is known where it has a handler."""
        for step in context.actions.steps if self.device.own_handlers or len(ACTIONS) > len(HANDLERS) else ():
            require(
                step.type in self.firmware.handlers,
                S.CONTEXT_SWITCH_STATUS_READ_INVALID_ACTION_TYPE,
                f"nothing serves the action {step.type.name}",
            )

    def _check_sram(self, size: int) -> None:
        """Integrated devices keep the lists in a small memory, larger ones go through DDR (firmware-actions.md 4)."""
        device = self.device
        header = self.firmware.applications[-1].header
        if header.external_action_list_address or device.profile.config_style != "bursts":
            return
        used = sum(len(context.actions.data) for one in self.firmware.applications for context in one.contexts)
        limit = device.wire.runtime.action_list_sram
        require(
            used + size <= limit,
            S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL,
            f"{used + size} bytes of action lists, {limit} fit",
        )

    def _check_inactive(self) -> None:
        require(
            self.firmware.phase in (State.RESET, State.FAILED, State.STOPPED),
            S.CONTEXT_SWITCH_STATUS_CANT_CONFIGURE_HEF_WHILE_ACTIVATED,
            "an application is active",
        )

    def _change_context_switch_status(self, parameters: Parameters) -> Parameters:
        device = self.device
        status, index = parameters[:2]
        dynamic_batch, batch_count = (int.from_bytes(parameter, "little") for parameter in parameters[2:])
        if status == bytes([ContextSwitchStatus.RESET]):
            if self.firmware.phase is not State.RESET:
                device.clock.run_to(device.clock.time + round(device.profile.deactivate_ns))
            self._leave()
            return ()
        if status == bytes([ContextSwitchStatus.PAUSED]) and device.wire.runtime.pauses:
            self._pause(index[0])
            return ()
        require(
            status == bytes([ContextSwitchStatus.ENABLED]),
            S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS,
            lambda: f"state machine status {status.hex()}",
        )
        require(
            index[0] < len(self.firmware.applications),
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            lambda: f"application {index.hex()} of {len(self.firmware.applications)}",
        )
        application = self.firmware.applications[index[0]]
        require(
            application.complete,
            S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT,
            lambda: f"{len(application.contexts)} of {application.expected_contexts} contexts were sent",
        )
        require(
            dynamic_batch <= application.header.batch_size,
            S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE,
            lambda: f"dynamic batch {dynamic_batch} exceeds the configured {application.header.batch_size}",
        )
        if application is self.firmware.application:
            self._hold(False)
        self._activate(application, dynamic_batch, batch_count)
        return ()

    def _leave(self) -> None:
        self.firmware.reset()
        self.device.burst.held = False
        self._rare.left()

    def _pause(self, index: int) -> None:
        """Hold inputs back until the next ENABLE; what is inside comes out (firmware-actions.md 5.3, house rule)."""
        application = self.firmware.application
        require(
            self.firmware.phase is State.RUNNING and application is not None,
            S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS,
            "nothing runs that could be paused",
        )
        assert application is not None
        require(
            index in (application.index, IGNORE_APPLICATION_INDEX),
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"application {index} does not run",
        )
        self._hold(True)

    def _hold(self, held: bool) -> None:
        device = self.device
        if device.burst.held != held:
            device.burst.held = held
            device.core.supplied()

    def _activate(self, application: Application, dynamic_batch: int, batch_count: int) -> None:
        # the reply comes once the activation context has run, the rest goes on behind it (silicon-facts.md b)
        firmware, device = self.firmware, self.device
        if firmware.application not in (None, application):
            self._rare.left()
            device.burst.held = False
            device.clock.run_to(device.clock.time + round(device.profile.deactivate_ns))
        firmware.enable(application, dynamic_batch, batch_count)
        device.clock.run_until(lambda: firmware.phase is not State.ACTIVATING)
        if firmware.phase is State.FAILED and firmware.error is not None:
            raise FirmwareStopError(firmware.error.status, firmware.error.message)

    def _download_context_action_list(self, parameters: Parameters) -> Parameters:
        group, kind = int.from_bytes(parameters[0], "big"), parameters[1][0]
        index = int.from_bytes(parameters[2], "little")  # not swapped (firmware-actions.md 5.4)
        offset = int.from_bytes(parameters[3], "big")
        require(
            group < len(self.firmware.applications),
            S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX,
            f"application {group} of {len(self.firmware.applications)}",
        )
        require(kind in CONTEXT_TYPES, S.CONTEXT_SWITCH_STATUS_INVALID_CONTEXT_TYPE, f"context type {kind}")
        application = self.firmware.applications[group]
        contexts = [one for one in application.contexts if one.type == kind]
        require(
            index < len(contexts),
            S.CONTEXT_SWITCH_TASK_STATUS_DOWNLOAD_ACTION_LIST_INVALID_CONTEXT_INDEX,
            f"context {index} of {len(contexts)}",
        )
        data = contexts[index].stamped()
        part = data[offset : offset + MAX_DOWNLOAD_SIZE]
        position = CONTEXT_ORDER.index(contexts[index].type) if kind != ContextType.DYNAMIC else FIRST_DYNAMIC + index
        return (
            _be32(ACTION_LIST_BASE + position * ACTION_LIST_STRIDE),
            bytes([offset + len(part) >= len(data)]),
            _be32(self.firmware.batch_index),
            _be32(0),
            part,
        )

    def _main_header(self, parameters: Parameters) -> Parameters:
        wire = self.device.wire
        headers = b"".join(application.header_bytes for application in self.firmware.applications)
        size = wire.header.size * wire.runtime.max_applications
        return (bytes([len(self.firmware.applications)]) + headers.ljust(size, b"\0"),)

    def _config_timestamp(self, parameters: Parameters) -> Parameters:
        enabled = parameters[1] != b"\0"
        # 5.2 widens the field but still swaps only 16 bits of it (firmware-actions.md 5.5)
        batch = int.from_bytes(parameters[0][:2], "big")
        self.device.probe.timestamp_batch = batch if enabled else None
        return ()

    def _clear_configured_apps(self, parameters: Parameters) -> Parameters:
        self._check_inactive()
        self._leave()
        self.firmware.forget_applications()
        self._partial = None
        return ()

    def _config_breakpoint(self, parameters: Parameters) -> Parameters:
        breakpoints = self.device.probe.breakpoints
        number, control = int.from_bytes(parameters[0], "little"), parameters[1][0]
        if control == _BREAKPOINT_SET:
            require(
                breakpoints.status(number) is not BreakpointStatus.WAITING_FOR_BREAKPOINT,
                S.CONTEXT_SWITCH_STATUS_USER_MUST_CLEAR_OR_REACH_BREAKPOINT_BEFORE_SETTING_NEW_ONE,
                f"breakpoint {number} is set already",
            )
            breakpoints.places[number] = self.device.wire.breakpoint.decode(parameters[2])
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
        return (bytes([self.device.probe.breakpoints.status(number)]),)

    def _signal_cache_updated(self, parameters: Parameters) -> Parameters:
        self.device.cache.signals += 1
        self.device.core.changed.notify()
        return ()

    # -- others

    def _reset(self, parameters: Parameters) -> Parameters:
        self.restart()
        return ()

    def restart(self) -> None:
        """The whole chip begins anew."""
        self.firmware.restart()
        self.device.burst.held = False
        self._rare.forget()
        self._partial = None

    def _signal_driver_down(self, parameters: Parameters) -> Parameters:
        self._leave()
        return ()


CONTEXT_TYPES = frozenset(int(kind) for kind in ContextType)
ACTION_LIST_BASE = 0x000A0000  # where the lists lie in the core's memory is not public; any non-zero base will do
ACTION_LIST_STRIDE = 0x1000


def _be32(value: int) -> bytes:
    return value.to_bytes(4, "big")
