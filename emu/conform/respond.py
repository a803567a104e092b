"""The right answerer of the protocol: the simulated device behind it (`emu respond`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import BinaryIO

from emu.catalog import names
from emu.chips import chips
from emu.conform.frames import GivenFrames
from emu.conform.memory import GivenMemory
from emu.conform.protocol import (
    LENGTH,
    LONGEST_SHOWN,
    MAGIC,
    MOST_READ,
    REGISTERS_SINCE,
    VERSION,
    Kind,
    Message,
    ProtocolError,
    Watch,
    Why,
    decode,
    encode,
    length_of,
    message,
)
from emu.errors import EmuError
from emu.host.recording import Recorder
from emu.hw.device import Device
from emu.hw.handlers.own import OwnHandlers, handlers_with
from emu.hw.pcie.card import PcieCard
from emu.sequencer.program import Direction
from emu.wire.control import ContextSwitchStatus, status_change

NAME = "emu"
TELLS = Watch.TRANSFERS | Watch.HAZARDS | Watch.ACCESSES | Watch.CONTENTS | Watch.LISTS | Watch.REGISTERS


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """What the host asks for cannot be done; the text says why."""


class Responder:
    """Answers one host; `answer` takes a message without its length and gives those of the answer, the same way.

    `handlers` as of `OpenDevice`.
    """

    def __init__(self, handlers: OwnHandlers | None = None) -> None:
        self._handlers = handlers or {}
        self._device: Device | None = None
        self._frames: GivenFrames | None = None
        self._card: PcieCard | None = None
        self._memory = GivenMemory()
        self._watch = Watch(0)
        self._events: list[Message] = []
        self._told = self._found = self._counted = 0
        self._serving: dict[Kind, Callable[[Message], Message]] = {
            Kind.HELLO: self._hello,
            Kind.POWER: self._power,
            Kind.CONTROL: self._control,
            Kind.BUFFER: self._remember,
            Kind.LIST: self._remember,
            Kind.CONTINUOUS: self._remember,
            Kind.ACTION_LIST: self._remember,
            Kind.STREAM: self._stream,
            Kind.FRAMES: self._first_frame,
            Kind.LAUNCH: self._launch,
            Kind.RUN: self._run,
            Kind.SET_REGISTER: self._set_register,
            Kind.GET_REGISTER: self._get_register,
            Kind.QUEUE: self._queue,
        }

    def answer(self, body: bytes) -> list[bytes]:
        """The events, then the closing answer; a message that cannot be read or served is REFUSED."""
        self._events = []
        try:
            received = decode(body)
            serve = self._serving.get(received.kind)
            if serve is None:
                raise Refused(f"{received.kind.name} is nothing that a host asks")
            closing = serve(received)
        except (Refused, ProtocolError) as error:
            closing = message(Kind.REFUSED, why=error.message if isinstance(error, EmuError) else str(error))
        except EmuError as error:
            closing = message(Kind.REFUSED, why=error.line())
        self._tell_news()
        return [encode(one)[LENGTH.size :] for one in (*self._events, closing)]

    # -- messages

    def _hello(self, asked: Message) -> Message:
        if asked["magic"] != MAGIC:
            raise Refused("this is no host that speaks the protocol")
        version = min(max(1, asked["version"]), VERSION)
        tells = TELLS if version >= REGISTERS_SINCE else TELLS & ~Watch.REGISTERS
        return message(Kind.READY, version=version, watch=int(tells), name=NAME)

    def _power(self, asked: Message) -> Message:
        device, _, runtime = asked["names"].partition("\0")
        for name, there in ((device, names("chips")), (runtime, names("runtimes"))):
            if name not in there:
                raise Refused(f"no {name!r:.40} here, there are {', '.join(there)}")
        layout, seed = asked["clusters"] or None, asked["seed"]
        chip = self._device = Device(chips.load(device), runtime, layout=layout, seed=seed, own_handlers=self._handlers)
        chip.probe.one_by_one = True
        self._memory = GivenMemory()
        self._watch = Watch(asked["watch"] & int(TELLS))
        self._told = self._found = self._counted = 0
        card = None
        if self._watch & Watch.REGISTERS:
            card = chip.pcie
            if card is None:
                raise Refused(f"{device} is part of its host, only cards have registers")
            card.connect(_nothing)
        if self._watch & (Watch.TRANSFERS | Watch.ACCESSES | Watch.REGISTERS):
            Recorder(chip.inspection, self._recorded, card)
        self._frames, self._card = GivenFrames(chip, card), card
        return _done()

    def _control(self, asked: Message) -> Message:
        chip, request = self._chip, asked["request"]
        self._memory.map_into(chip)
        reply = chip.control(request)
        if self._card is None:  # else `_recorded` sees it, as all that go through the mailbox
            self._changed(request)
        return message(Kind.REPLY, reply=reply)

    def _set_register(self, asked: Message) -> Message:
        card = self._registers
        self._memory.map_into(self._chip)
        card.write_block(asked["bar"], asked["offset"], asked["data"])
        return _done()

    def _get_register(self, asked: Message) -> Message:
        size = asked["size"]
        if not 0 < size <= MOST_READ:
            raise Refused(f"{size} bytes of registers: a read has 1 to {MOST_READ}")
        return message(Kind.VALUE, data=self._registers.read_block(asked["bar"], asked["offset"], size))

    def _queue(self, asked: Message) -> Message:
        why = self._given.launch(asked, write=False)
        if why:
            raise Refused(why)
        return _done()

    @property
    def _registers(self) -> PcieCard:
        if self._card is None:
            raise Refused("no registers were asked for: POWER says so")
        return self._card

    def _remember(self, asked: Message) -> Message:
        self._memory.take(asked)
        return _done()

    def _stream(self, asked: Message) -> Message:
        self._given.name(asked)
        return _done()

    def _first_frame(self, asked: Message) -> Message:
        self._given.begin(asked["first"])
        return _done()

    def _launch(self, asked: Message) -> Message:
        why = self._given.launch(asked)
        if why:
            raise Refused(why)
        return _done()

    def _run(self, asked: Message) -> Message:
        chip, wanted = self._chip, asked["events"]
        end = time.monotonic() + asked["wait_ms"] / 1000
        late = False

        def stop() -> bool:
            nonlocal late
            late = time.monotonic() > end
            return late or bool(0 < wanted <= self._counted + len(chip.notifications) - self._told)

        self._counted = 0
        went_on = chip.run_until(stop)
        why = Why.IDLE if not went_on else Why.TIME if late else Why.ENOUGH
        return message(Kind.DONE, why=int(why))

    @property
    def _chip(self) -> Device:
        if self._device is None:
            raise Refused("there is no device: POWER comes first")
        return self._device

    @property
    def _given(self) -> GivenFrames:
        if self._frames is None:
            raise Refused("there is no device: POWER comes first")
        return self._frames

    # -- events

    def _recorded(self, record: dict[str, object]) -> None:
        kind, watch = record["kind"], self._watch
        if kind == "interrupt":
            self._counted += 1
            self._events.append(message(Kind.INTERRUPT, value=record["value"]))
        if kind == "control" and self._card is not None:
            self._changed(bytes.fromhex(str(record["request"])))
        if kind == "transfer" and watch & Watch.TRANSFERS:
            self._counted += 1
            self._events.append(
                message(
                    Kind.TRANSFER,
                    channel=record["channel"],
                    stream=record["stream"],
                    direction=int(Direction[str(record["direction"]).upper()]),
                    frame=record["frame"],
                    num_processed=record["num_processed"],
                    digest=bytes.fromhex(str(record["digest"])),
                )
            )
        elif kind == "write" and watch & Watch.ACCESSES:
            data = bytes.fromhex(str(record.get("data", record.get("digest"))))
            size = record["bytes"] if "bytes" in record else len(data)
            assert isinstance(size, int) and (size > LONGEST_SHOWN) == ("digest" in record)
            self._events.append(message(Kind.WRITE, address=record["address"], size=size, data=data))
        elif kind == "read" and watch & Watch.ACCESSES:
            self._events.append(message(Kind.READ, address=record["address"], size=record["bytes"]))

    def _changed(self, request: bytes) -> None:
        """What a control message means for what is queued."""
        change = status_change(request) or {}
        if change.get("state_machine_status") == ContextSwitchStatus.ENABLED:
            self._given.enable(change.get("application_index", 0))
        elif change.get("state_machine_status") == ContextSwitchStatus.RESET:
            self._given.begin()  # what was queued is lost with the channels

    def _tell_news(self) -> None:
        """What came up meanwhile besides transfers and accesses."""
        chip = self._device
        if chip is None:
            return
        sent = chip.notifications
        self._events += [message(Kind.NOTIFICATION, data=one.encode()) for one in sent[self._told :]]
        self._told = len(sent)
        if self._watch & Watch.HAZARDS:
            found = list(chip.hazards)[self._found :]
            self._events += [message(Kind.HAZARD, finding=str(one.hazard)) for one in found]
            self._found += len(found)


def serve(reading: BinaryIO, writing: BinaryIO, handlers: OwnHandlers | None = None) -> None:
    """Answer on a pair of streams until the host says goodbye or has gone. `handlers` as of `OpenDevice`.

    ProtocolError for a length that no message has, behind which nothing can be read; UsageError for wrong handlers.
    """
    handlers_with(handlers or {})
    responder = Responder(handlers)
    while True:
        head = reading.read(LENGTH.size)
        if not head:
            return
        if len(head) < LENGTH.size:
            raise ProtocolError("the host stopped within a message")
        length = length_of(head)
        body = reading.read(length)
        if len(body) < length:
            raise ProtocolError("the host stopped within a message")
        if body[0] == Kind.BYE:
            return
        for one in responder.answer(body):
            writing.write(LENGTH.pack(len(one)) + one)
        writing.flush()


def _nothing() -> None:
    return None


def _done() -> Message:
    return message(Kind.DONE, why=int(Why.DONE))
