"""The host's end of the border: control messages out, replies in, simulated time in between, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable

from emu.errors import FirmwareError, printable
from emu.host.streams import Host
from emu.host.watchdog import Stall, examine
from emu.hw.border import ChipPort
from emu.hw.inspection import Inspection
from emu.trace.events import Event, Kind
from emu.wire.control import Opcode, Response, decode_response, encode_request, opcode_name
from emu.wire.status import firmware_error


class StalledError(FirmwareError):
    """The device stalled; `stall` holds the wait-for chain."""

    def __init__(self, stall: Stall) -> None:
        error = stall.error()
        super().__init__(error.name, error.number, error.message, **error.where)
        self.stall = stall

    def line(self) -> str:
        # the message already says where, in the order of the chain
        return printable(f"{self.name}({self.number_text()}): {self.message}")


class Driver:
    """Drives one chip. `host` feeds the application that is activated (None: none is)."""

    def __init__(self, chip: ChipPort, inspection: Inspection) -> None:
        self.chip = chip
        self.inspection = inspection
        self.host: Host | None = None
        self.cache_moved: Callable[[], None] = lambda: (
            None
        )  # what the host does before it says that it moved the offset
        self.failed = False  # the chip stopped or stalled: only a reset helps

    def send(self, message: bytes) -> Response:
        """Send one control message; FirmwareError with the status of a reply that refuses it."""
        chip = self.chip
        reply = decode_response(chip.control(message))
        if reply.major_status:
            where: dict[str, object] = {"control": opcode_name(reply.opcode)}
            error = chip.error
            if error is not None and error.status == reply.major_status:
                where |= {
                    "context": error.context.name,
                    "action_index": error.action,
                    "action": error.action_name,
                }
            self.failed = True
            raise firmware_error(reply.major_status, chip.refusal, **where)
        return reply

    def settle(self) -> None:
        """Let the firmware come to where nothing goes on before the host acts: its lists can still fail or stall."""
        self.run_until(lambda: self.chip.resting)

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Let simulated time pass until `condition`.

        FirmwareError where the firmware stops with a status, StalledError where nothing can progress.
        """
        chip = self.chip
        progressed = chip.run_until(condition)
        while not progressed and not condition() and chip.awaits_cache_update:
            # the host moves the cache offset and says so (firmware-actions.md 8, WAIT_FOR_CACHE_UPDATED)
            self.cache_moved()
            self.send(encode_request(Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED))
            progressed = chip.run_until(condition)
        error = chip.error
        if error is not None and chip.failed:
            self.failed = True
            raise firmware_error(
                error.status,
                error.message,
                application=error.application,
                context=error.context.name,
                action_index=error.action,
                action=error.action_name,
                batch=error.batch,
            )
        if not progressed and not condition():
            self.failed = True
            raise StalledError(self._stall())

    def _stall(self) -> Stall:
        stall = examine(self.inspection, _missing(self.host))
        tracer = self.inspection.probe.tracer
        if tracer is not None:
            tracer.emit(
                Event(
                    stall.ns,
                    Kind.STALL,
                    stall.application,
                    stall.context,
                    stall.action_index,
                    stall.action,
                    stall.arguments,
                    cause=stall.line(),
                )
            )
        return stall


def _missing(host: Host | None) -> str:
    late = (
        [
            f"{state.stream.name}: {state.done - state.begun} of {host.wanted - state.begun} frames"
            for state in (host.outputs or host.inputs).values()
            if state.done < host.wanted
        ]
        if host is not None
        else []
    )
    return "the host still expects " + ", ".join(late) if late else "the host expects nothing more"
