"""Control messages that few clients send: measurements, clock, self-test, HW-only inference, caches of old releases."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from emu.hw.application import Application
from emu.hw.chip import Chip
from emu.hw.firmware import Firmware
from emu.hw.hw_infer import HwInfer, channels_of
from emu.hw.measurements import IdleTime, Latency, LatencyRequest
from emu.wire.control import Opcode
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

Parameters = tuple[bytes, ...]
Enable = Callable[[Application, int, int], None]
_START, _STOP = range(2)


class RareControls:
    """Serves them for the firmware of one chip. `enable` activates an application, with a batch and a batch count."""

    def __init__(self, chip: Chip, firmware: Firmware, enable: Enable) -> None:
        self.device = chip
        self.firmware = firmware
        self._enable = enable
        self._latency = Latency(chip)
        self._idle = IdleTime(chip)
        self._hw_infer = HwInfer(chip)
        self._cache: dict[str, int] = {}

    def table(self) -> Mapping[int, Callable[[Parameters], Parameters]]:
        """By opcode, those that the runtime's firmware has."""
        found: dict[int, Callable[[Parameters], Parameters]] = {
            Opcode.NN_CORE_LATENCY_MEASUREMENT_CONFIG: self._configure_latency,
            Opcode.NN_CORE_LATENCY_MEASUREMENT_READ: self._read_latency,
            Opcode.IDLE_TIME_SET_MEASUREMENT: self._set_idle_time,
            Opcode.IDLE_TIME_GET_MEASUREMENT: self._get_idle_time,
            Opcode.SET_DATAFLOW_INTERRUPT: self._set_dataflow_interrupt,
            Opcode.SET_CLOCK_FREQ: self._set_clock,
            Opcode.RUN_BIST_TEST: self._run_bist_test,
            Opcode.CHANGE_HW_INFER_STATUS: self._change_hw_infer_status,
        }
        if self.device.wire.cache_info.names:
            found |= {
                Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO: self._init_cache,
                Opcode.CONTEXT_SWITCH_GET_CACHE_INFO: self._get_cache,
                Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET: self._update_cache,
            }
        return found

    def left(self) -> None:
        """The application that ran is gone: its frames too."""
        self._idle.abandon()
        self._hw_infer.abandon()

    def forget(self) -> None:
        """RESET of the chip."""
        self.left()
        self._latency.configure(None)
        self._idle.watch(False)
        self._idle = IdleTime(self.device)
        self._cache = {}

    # -- measurements

    def _configure_latency(self, parameters: Parameters) -> Parameters:
        inbound_buffer, outbound_buffer, inbound, outbound = (int.from_bytes(one, "big") for one in parameters[1:])
        wanted = LatencyRequest(inbound, inbound_buffer, outbound, outbound_buffer)
        self._latency.configure(wanted if any(parameters[0]) else None)
        return ()

    def _read_latency(self, parameters: Parameters) -> Parameters:
        return (self._latency.read().to_bytes(4, "big"),)

    def _set_idle_time(self, parameters: Parameters) -> Parameters:
        self._idle.set(any(parameters[0]))
        return ()

    def _get_idle_time(self, parameters: Parameters) -> Parameters:
        return (self._idle.get().to_bytes(8, "big"),)

    # -- what is not modelled, or only in part

    def _set_dataflow_interrupt(self, parameters: Parameters) -> Parameters:
        # which interrupts there are, and what becomes of one that is set, no source tells
        raise FirmwareStopError(S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE, "interrupts cannot be set from outside")

    def _set_clock(self, parameters: Parameters) -> Parameters:
        wanted, clock = int.from_bytes(parameters[0], "big"), round(self.device.profile.nn_hz)
        require(
            wanted == clock,
            S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE,
            f"{wanted} Hz: the clock is {clock} Hz from power-on (clock_mhz); which others are allowed no source tells",
        )
        return ()

    def _run_bist_test(self, parameters: Parameters) -> Parameters:
        # which blocks may be tested is not public; seen for one that may not (silicon-facts.md d)
        raise FirmwareStopError(S.CONTROL_PROTOCOL_STATUS_INVALID_BYPASS_SELECTION, "self-test is not modelled")

    # -- HW-only inference

    def _change_hw_infer_status(self, parameters: Parameters) -> Parameters:
        state, index = parameters[0][0], parameters[1][0]
        dynamic_batch, batch_count = (int.from_bytes(one, "little") for one in parameters[2:4])
        if state == _STOP:
            found = self._hw_infer.stop()
            self.firmware.reset()
            return (struct.pack("<BI", *found),)
        require(state == _START, S.HW_INFER_MANAGER_STATUS_INVALID_STATE, f"state {state}")
        require(any(parameters[4]), S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH, "no channels are named")
        mode = parameters[5][0] if len(parameters) > 5 else 0
        application = self._hw_infer.check(self.firmware.applications, index, mode)
        self._enable(application, dynamic_batch, batch_count)
        self._hw_infer.start(channels_of(parameters[4], self.device.wire.channel_id_shift))
        return (struct.pack("<BI", *self._hw_infer.results),)

    # -- caches of 4.18 and 4.19

    def _init_cache(self, parameters: Parameters) -> Parameters:
        size, offset, delta = struct.unpack("<3I", parameters[0])
        require(
            size > 0 and offset < size,
            S.CONTEXT_SWITCH_STATUS_INVALID_CACHE_SIZE,
            f"a cache of {size} entries, read from {offset} on",
        )
        self._cache = {"cache_size": size, "current_read_offset": offset, "write_offset_delta": delta}
        return ()

    def _get_cache(self, parameters: Parameters) -> Parameters:
        layout = self.device.wire.cache_info
        return (layout.pack(self._cache or dict.fromkeys(layout.names, 0)),)

    def _update_cache(self, parameters: Parameters) -> Parameters:
        require(bool(self._cache), S.CONTEXT_SWITCH_STATUS_INVALID_CACHE_SIZE, "no cache was described")
        moved = self._cache["current_read_offset"] + int.from_bytes(parameters[0], "little", signed=True)
        self._cache["current_read_offset"] = moved % self._cache["cache_size"]
        return ()
