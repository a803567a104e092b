"""One open of the node, and how each of its calls is answered: what is general, and what is for the firmware.

driver-ioctl-4.23.md 3 has these calls, `emu.card.dma` the others; one that fails raises CallError with the driver's
errno.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from errno import ECANCELED, EFAULT, EINVAL, ENOTTY, ETIMEDOUT
from typing import Any

from emu.card.calls import CALLS, LOG_SIZE, MESSAGE_SIZE, Call, Name
from emu.card.card import Answer, Caller, Card
from emu.card.dma import DmaContext
from emu.card.errors import CallError
from emu.card.memory import PAGE
from emu.card.waiting import Handlers, Waiter, Waiters
from emu.errors import HailoError
from emu.wire.control import Opcode, decode_request

_RESETS_WITHOUT_REPLY = (2, 3)  # SOFT, FORCED_SOFT


class OpenFile:
    """One open of the node by a process. `call` answers, or returns None for a call that waits (`Card.answers`)."""

    def __init__(self, card: Card, process: int) -> None:
        self.card = card
        self.process = process
        self.dma = DmaContext(card, self)
        self._readers = Waiters()  # of notifications
        self._event = b""
        self._signals = 0  # of events, and of DISABLE_NOTIFICATION, that no reader was woken by yet
        self._notifications_disabled = False
        self._handlers: Handlers = {
            **self.dma.handlers,
            Name.QUERY_DEVICE_PROPERTIES: self._device_properties,
            Name.QUERY_DRIVER_INFO: self._driver_info,
            Name.MARK_AS_IN_USE: self._mark_as_in_use,
            Name.FW_CONTROL: self._control,
            Name.READ_NOTIFICATION: self._read_notification,
            Name.DISABLE_NOTIFICATION: self._disable_notification,
            Name.READ_LOG: self._read_log,
            Name.RESET_NN_CORE: _not_on_pcie,
            Name.WRITE_ACTION_LIST: _not_on_pcie,
        }
        card.files.append(self)

    def call(self, number: int, argument: bytes, caller: Caller) -> Answer | None:
        """Answer one call; `argument` holds as many bytes as the call's structure. None: it waits."""
        call = CALLS.get(number)
        if call is None:
            raise CallError(ENOTTY, f"call 0x{number:08X}")
        if len(argument) != call.size:
            raise CallError(call.bad_pointer, f"{len(argument)} bytes of {call.size}")
        return self._handlers[call.name](call, call.fields.unpack(argument), caller)

    # -- life

    def release(self) -> None:
        """The last descriptor is gone: give back everything."""
        self.dma.release()
        self._readers.clear()

    def forget_ticket(self, ticket: Any) -> None:
        """The caller is gone: nobody waits for this answer."""
        self.dma.waiting.forget(ticket)
        self._readers.forget(ticket)

    @property
    def tickets(self) -> list[Any]:
        """Of all calls that wait."""
        return self.dma.waiting.tickets + self._readers.tickets

    @property
    def waits_for_transfers(self) -> bool:
        """Whether a call waits for interrupts."""
        return bool(self.dma.waiting)

    def notify(self, message: bytes) -> None:
        """The device sent an event; one that was not read yet is overwritten."""
        self._event = message
        self._signals += 1

    def answers(self) -> Iterator[tuple[Any, Answer]]:
        """The calls that waited and need not wait any more."""
        while self._signals and self._readers:
            reader = self._readers.first()
            self._signals -= 1
            if self._notifications_disabled:  # for good
                yield reader.ticket, Answer(error=ECANCELED)
            else:
                self._signals = 0
                yield reader.ticket, Answer(data=reader.call.fields.pack(len(self._event), self._event))
        yield from self.dma.answers()

    # -- general

    def _driver_info(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        return Answer(data=call.fields.pack(*self.card.version))

    def _device_properties(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        # page size, board HAILO8, allocation in user space, PCIe, engines, firmware loaded
        return Answer(data=call.fields.pack(PAGE, 0, 0, 0, self.card.engines, 1))

    def _mark_as_in_use(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        return Answer(data=call.fields.pack(self.card.mark_in_use(self)))

    # -- firmware

    def _control(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        _, length, buffer, timeout, cpu = fields
        if length > MESSAGE_SIZE:
            raise CallError(EINVAL, f"a control of {length} bytes")
        message = buffer[:length]
        reply = self.card.control(message)
        if _resets_without_reply(message):
            raise CallError(ETIMEDOUT, "the device resets and does not answer")
        digest = hashlib.md5(reply, usedforsecurity=False).digest()
        return Answer(data=call.fields.pack(digest, len(reply), reply, timeout, cpu))

    def _read_notification(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer | None:
        if caller.process != self.process:
            raise CallError(EFAULT, "the file was opened by another process")
        self._readers.add(Waiter(caller.ticket, call, fields))
        return None

    def _disable_notification(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        if caller.process == self.process:
            self._notifications_disabled = True
            self._signals += 1
        return Answer()

    def _read_log(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        cpu, buffer, size, _ = fields
        if cpu not in (0, 1) or size > LOG_SIZE:
            raise CallError(EINVAL, f"{size} bytes of the log of CPU {cpu}")
        return Answer(data=call.fields.pack(cpu, buffer, size, 0))


def _resets_without_reply(message: bytes) -> bool:
    """Whether a control is a reset of the device (driver-ioctl-4.23.md 3)."""
    if int.from_bytes(message[12:16], "big") != Opcode.RESET:
        return False
    try:
        parameters = decode_request(message).parameters
    except HailoError:
        return False
    return bool(parameters) and int.from_bytes(parameters[0], "big") in _RESETS_WITHOUT_REPLY


def _not_on_pcie(call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
    raise CallError(ENOTTY, f"{call.name.name} is for integrated devices")
